#include "daemon/engine/members/next_state.h"

#include "common/text.h"
#include "daemon/engine/memory/alarm.h"
#include "tasks/proto/retries.h"

#include <stdio.h>
#include <string.h>

/* The end of an attempt, in its effect on the member alone. */
enum end_class {
    END_VOID, /* nothing */
    END_DONE,
    END_AT_RUNG,
    END_FURTHER,        /* it was out of time, or ended from outside, and left a newer checkpoint */
    END_KILLED_FURTHER, /* it was killed, and left a newer checkpoint */
    END_STALLED,        /* it was out of time and left none: the next one is likely to do the same */
    END_KILLED,         /* it was killed, or started too late, and left none */
    END_LOST,           /* it was told to end, or its runner is gone, and it left none */
    END_FAULT,          /* by an error of its own, or by a walltime that is too short */
    END_FINAL,          /* no other attempt could do better */
    END_COUNT
};

/* The plans for the member at that time. */
enum standing {
    STANDING_WANTED,
    STANDING_LAST,    /* its ensemble is ending: there are no retries */
    STANDING_EARLY,   /* its ensemble is ending, since its training needs nothing more */
    STANDING_FAILED,  /* its ensemble has failed */
    STANDING_OVER,    /* its ensemble was cancelled */
    STANDING_RULED,   /* the rule of early stopping had the attempt ended */
    STANDING_DROPPED, /* somebody cancelled this member */
    STANDING_COUNT
};

enum verdict {
    AGAIN,      /* pending, at once */
    RETRY,      /* pending after a while, or failed if it has had enough attempts */
    GO_ON,      /* pending or unfinished, with the checkpoint */
    UNFINISHED, /* with the checkpoint */
    SUCCEEDED,
    STOPPED,
    FAILED,
    CANCELLED
};

/* clang-format off */
static const enum verdict verdicts[END_COUNT][STANDING_COUNT] = {
    /*                      WANTED     LAST        EARLY      FAILED     OVER       RULED      DROPPED   */
    [END_VOID]           = {AGAIN,     CANCELLED,  CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    [END_DONE]           = {SUCCEEDED, SUCCEEDED,  SUCCEEDED, SUCCEEDED, SUCCEEDED, SUCCEEDED, SUCCEEDED},
    [END_AT_RUNG]        = {STOPPED,   STOPPED,    CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    [END_FURTHER]        = {GO_ON,     UNFINISHED, CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    [END_KILLED_FURTHER] = {AGAIN,     FAILED,     CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    [END_STALLED]        = {RETRY,     FAILED,     CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    [END_KILLED]         = {RETRY,     FAILED,     CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    [END_LOST]           = {RETRY,     CANCELLED,  CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    [END_FAULT]          = {RETRY,     FAILED,     CANCELLED, CANCELLED, CANCELLED, STOPPED,   CANCELLED},
    /* jobs that the scheduler refuses together have all failed, although the first of them ended the ensemble */
    [END_FINAL]          = {FAILED,    FAILED,     CANCELLED, FAILED,    CANCELLED, STOPPED,   CANCELLED},
};
/* clang-format on */

static enum end_class class_of(const struct next_case *c)
{
    bool killed = c->end->how == ATTEMPT_KILLED, further = c->progress->made;

    if (c->is_void)
        return END_VOID;
    switch (c->end->outcome) {
    case ATTEMPT_SUCCEEDED: return END_DONE;
    case ATTEMPT_REACHED: return END_AT_RUNG;
    case ATTEMPT_CANCELLED: /* somebody else ended the runner: preemption, a drain */
    case ATTEMPT_LOST: return further ? END_FURTHER : END_LOST;
    case ATTEMPT_TIMEOUT:
        if (c->checkpoints)
            return further ? END_FURTHER : c->end->late ? END_KILLED : END_STALLED;
        break;
    default: break;
    }
    if (killed)
        return further ? END_KILLED_FURTHER : END_KILLED;
    return c->end->final || c->end->outcome == ATTEMPT_DIVERGED ? END_FINAL : END_FAULT;
}

bool next_is_by_rule(const struct next_case *c)
{
    return c->order == SLOT_STOPPED && c->end->outcome != ATTEMPT_SUCCEEDED && c->end->outcome != ATTEMPT_DIVERGED &&
           !ensemble_is_stopped(c->ensemble);
}

static enum standing standing_of(const struct next_case *c)
{
    if (c->order == SLOT_CANCELLED)
        return STANDING_DROPPED;
    if (ensemble_is_stopped(c->ensemble))
        return c->ensemble->state == ENSEMBLE_FAILED ? STANDING_FAILED : STANDING_OVER;
    if (next_is_by_rule(c))
        return STANDING_RULED;
    if (!ensemble_is_ending(c->ensemble))
        return STANDING_WANTED;
    return c->ends_early ? STANDING_EARLY : STANDING_LAST;
}

static bool count_retry(struct member_row *member, const struct next_case *c, enum retries_end end)
{
    return retries_count(end, c->retries, &member->failures, &member->losses);
}

/* Counts the end. Returns whether another attempt may follow. Losses and stalls cost no retry, but each has a limit. A
 * member without checkpoints that ran out of its walltime would do so again, so that costs a retry. */
static bool count_attempt_end(struct member_row *member, const struct next_case *c, enum end_class class)
{
    bool ran = c->end->how == ATTEMPT_KILLED || (c->end->outcome == ATTEMPT_LOST && c->end->started_ms != 0);

    if (c->progress->made && class != END_VOID && class != END_DONE)
        member->stalls = 0;
    switch (class) {
    case END_AT_RUNG:
    case END_FURTHER: member->losses = member->stalls = 0; return true;
    case END_KILLED_FURTHER: member->losses = 0; return true;
    case END_STALLED:
        member->stalls++;
        member->losses = 0;
        return member->stalls < c->stalls;
    case END_KILLED:
    case END_LOST: return count_retry(member, c, ran ? RETRIES_LOST : RETRIES_TOLD);
    case END_FAULT: return count_retry(member, c, RETRIES_OWN_FAULT);
    case END_FINAL: count_retry(member, c, RETRIES_OWN_FAULT); return false;
    default: return true;
    }
}

/* Returns how many such ends there were in a row: the wait before the next attempt grows with them. */
static int64_t in_a_row(const struct member_row *member, enum end_class class)
{
    return class == END_STALLED ? member->stalls : member->losses > 0 ? member->losses : member->failures;
}

static void name_newest_checkpoint(struct member_row *member, const struct next_case *c)
{
    size_t len = strlen(member->reason);

    snprintf(member->reason + len, sizeof member->reason - len, "; its checkpoint is %s", c->progress->newest);
}

static void member_fail(struct member_row *member, const struct next_case *c, enum end_class class)
{
    const char *newest = c->progress->newest;

    member->state = MEMBER_FAILED;
    if (class == END_STALLED && member->stalls >= c->stalls)
        snprintf(member->reason, sizeof member->reason,
                 "stalled: %lld attempts in a row left no %scheckpoint%s%s; the last %.200s", (long long)member->stalls,
                 newest[0] ? "newer " : "", newest[0] ? " than " : "", newest, c->end->reason);
}

void next_state(struct member_row *member, const struct next_case *c)
{
    enum end_class class = class_of(c);
    bool may = count_attempt_end(member, c, class);
    enum verdict verdict = verdicts[class][standing_of(c)];

    text_copy(member->reason, sizeof member->reason, c->end->reason);
    member->not_before_ms = MEMBER_AT_ONCE;
    member->rung = 0;
    if (verdict == RETRY && may)
        member->not_before_ms = c->now_ms + engine_backoff(in_a_row(member, class));
    switch (verdict) {
    case AGAIN: member->state = MEMBER_PENDING; break;
    case RETRY:
        if (may)
            member->state = MEMBER_PENDING;
        else
            member_fail(member, c, class);
        break;
    case GO_ON:
        member->state = c->goes_on ? MEMBER_PENDING : MEMBER_UNFINISHED;
        name_newest_checkpoint(member, c);
        break;
    case UNFINISHED:
        member->state = MEMBER_UNFINISHED;
        name_newest_checkpoint(member, c);
        break;
    case SUCCEEDED:
        member->state = MEMBER_SUCCEEDED;
        member->reason[0] = '\0';
        break;
    case STOPPED:
        member->state = MEMBER_STOPPED;
        member->losses = member->stalls = 0;
        break;
    case FAILED: member_fail(member, c, class); break;
    case CANCELLED: member->state = MEMBER_CANCELLED; break;
    }
}

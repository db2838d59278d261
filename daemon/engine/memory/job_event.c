#include "daemon/engine/memory/job_event.h"

#include "common/stretto_assert.h"

enum { SAME = -1, IMPOSSIBLE = -2 };

#define o SAME
#define _ IMPOSSIBLE

/* what its scheduler is believed to have */
#define U BELIEF_UNASKED
#define D BELIEF_DOUBT
#define A BELIEF_ABSENT
#define Q BELIEF_QUEUED
#define R BELIEF_RUNNING
#define E BELIEF_ENDED
#define F BELIEF_FORGOTTEN
#define X BELIEF_RETURNED
/* its row in the store */
#define i JOB_INTENT
#define s JOB_SUBMITTED
#define r JOB_RUNNING
#define e JOB_ENDED
/* what the run directory proves: nothing (n), or */
#define c PROOF_CLAIMED
#define f PROOF_FENCED
#define d PROOF_SEALED /* by the daemon */
/* whether it was sent: 0 never, 1 now, 2 before */

/* the operation */
#define BEGINS(operation) PENDING_NONE, PENDING_##operation
#define ENDS(operation) PENDING_##operation, PENDING_NONE
#define IDLE PENDING_NONE, SAME /* none may be under way */
#define ANY SAME, SAME

/* The states after each event, by those before it: `o` is the same as before, `_` is impossible.
 *
 * A job is sent only if it is absent, or the scheduler has told of an earlier submission since the intent to send it
 * again. A job that is unasked or in doubt stays so until its scheduler, or the whole journal of its pilot, has told
 * what it has of the job. While a submission is under way, a late answer may be about an earlier one. An order to
 * cancel a job changes none of its states: only what comes of it does. */
/* clang-format off */
static const struct job_change {
    signed char belief[BELIEF_COUNT], row[JOB_ENDED + 1], proof[PROOF_COUNT], sent[SENT_COUNT], pending, next;
} changes[EVENT_COUNT] = {
    /*                         believed                    row           proved        sent       operation */
    /*                         U  D  A  Q  R  E  F  X      i  s  r  e    n  c  f  d    0  1  2              */
    [EVENT_COMMITTING]     = {{_, _, o, _, _, _, _, _}, {o, _, _, _}, {o, _, _, _}, {o, o, o}, BEGINS(COMMIT)},
    [EVENT_WRITING]        = {{_, _, o, o, o, o, o, _}, {o, o, o, _}, {o, o, o, _}, {o, o, o}, BEGINS(WRITE)},
    [EVENT_SENDING]        = {{_, _, o, o, o, o, o, _}, {o, o, o, _}, {o, o, o, _}, {1, 2, 2}, BEGINS(SUBMIT)},
    [EVENT_COLLECTING]     = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, BEGINS(COLLECT)},
    [EVENT_SEALING]        = {{_, _, o, o, o, o, o, o}, {o, o, o, _}, {o, _, _, _}, {_, o, o}, BEGINS(CLAIM)},
    [EVENT_FENCING]        = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {_, o, _, _}, {_, o, o}, BEGINS(CLAIM)},
    [EVENT_SEARCHING]      = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, BEGINS(CHECKPOINTS)},
    [EVENT_SWEEPING]       = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, BEGINS(SWEEP)},

    [EVENT_COMMITTED]      = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ENDS(COMMIT)},
    [EVENT_WRITTEN]        = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ENDS(WRITE)},
    [EVENT_ACCEPTED]       = {{o, o, Q, o, o, o, o, o}, {s, o, o, _}, {o, o, o, o}, {o, o, o}, ENDS(SUBMIT)},
    [EVENT_NOT_TAKEN]      = {{_, _, o, _, _, _, _, _}, {o, o, o, _}, {o, o, o, o}, {_, 0, _}, ENDS(SUBMIT)},
    [EVENT_REFUSED]        = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {_, 0, o}, ENDS(SUBMIT)},
    [EVENT_UNANSWERED]     = {{_, _, D, D, D, D, D, _}, {o, o, o, _}, {o, o, o, o}, {_, 2, 2}, ENDS(SUBMIT)},
    [EVENT_NOT_HANDED]     = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ENDS(SUBMIT)},
    [EVENT_COLLECTED]      = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ENDS(COLLECT)},
    [EVENT_SEALED]         = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {d, _, _, _}, {o, o, o}, ENDS(CLAIM)},
    [EVENT_NOT_SEALED]     = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, _, _, _}, {o, o, o}, ENDS(CLAIM)},
    [EVENT_FENCE_WRITTEN]  = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {_, o, _, _}, {o, o, o}, ENDS(CLAIM)},
    [EVENT_SEARCHED]       = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ENDS(CHECKPOINTS)},
    [EVENT_SWEPT]          = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ENDS(SWEEP)},

    [EVENT_TOLD_QUEUED]    = {{Q, Q, Q, o, Q, Q, Q, _}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ANY},
    [EVENT_TOLD_RUNNING]   = {{R, R, R, R, o, R, R, _}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ANY},
    [EVENT_TOLD_ENDED]     = {{E, E, E, E, E, o, E, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ANY},
    [EVENT_TOLD_ABSENT]    = {{A, A, o, _, _, _, _, _}, {o, _, _, _}, {o, o, o, o}, {o, o, o}, ANY},
    [EVENT_TOLD_FORGOTTEN] = {{F, F, _, F, F, F, o, _}, {_, o, o, _}, {o, o, o, o}, {o, o, o}, ANY},
    [EVENT_RETURNED]       = {{X, X, X, X, X, X, X, o}, {o, o, o, _}, {o, o, o, o}, {0, 0, 0}, ANY},
    [EVENT_TAKEN]          = {{o, o, Q, o, o, o, o, o}, {s, _, _, _}, {o, o, o, o}, {o, o, o}, ANY},

    [EVENT_CLAIM]          = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {c, o, o, _}, {o, o, o}, IDLE},
    [EVENT_SEAL]           = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {d, d, d, o}, {o, o, o}, IDLE},
    [EVENT_FENCED]         = {{o, o, o, o, o, o, o, o}, {o, o, o, _}, {f, f, o, f}, {o, o, o}, IDLE},

    [EVENT_TIMER]          = {{o, U, o, o, o, o, o, o}, {o, o, o, _}, {o, o, o, o}, {o, o, o}, ANY},
    [EVENT_STARTED]        = {{o, o, o, o, o, o, o, o}, {r, r, o, _}, {o, o, o, o}, {o, o, o}, ANY},
    [EVENT_AGAIN]          = {{_, _, _, _, _, _, A, _}, {_, i, i, _}, {o, _, _, _}, {o, o, o}, IDLE},
    [EVENT_NOT_THERE]      = {{A, A, _, _, _, _, _, _}, {o, i, i, _}, {o, o, o, o}, {o, o, o}, IDLE},
    [EVENT_ORPHANED]       = {{_, _, _, _, _, o, o, _}, {s, _, _, _}, {o, o, o, o}, {_, o, o}, ANY},
    [EVENT_OVER]           = {{o, o, o, o, o, o, o, o}, {e, e, e, _}, {o, o, o, o}, {o, o, o}, IDLE},
};
/* clang-format on */

static int job_state_after(int before, int cell)
{
    stretto_assert(cell != IMPOSSIBLE);
    return cell < 0 ? before : cell;
}

void job_states_init(struct job_states *states, bool loaded)
{
    *states = (struct job_states){.belief = loaded ? BELIEF_UNASKED : BELIEF_ABSENT,
                                  .sent = loaded ? SENT_BEFORE : SENT_NEVER};
}

void job_states_change(struct job_states *states, enum job_state *row, enum job_event event)
{
    const struct job_change *change = &changes[event];

    stretto_assert(change->pending == SAME || states->pending == (enum job_pending)change->pending);
    states->belief = (enum job_belief)job_state_after(states->belief, change->belief[states->belief]);
    states->proof = (enum job_proof)job_state_after(states->proof, change->proof[states->proof]);
    states->sent = (enum job_sent)job_state_after(states->sent, change->sent[states->sent]);
    states->pending = (enum job_pending)job_state_after(states->pending, change->next);
    *row = (enum job_state)job_state_after(*row, change->row[*row]);
}

/* The next state of a member when an attempt of it has ended: each end, with every other wish about the member. */
#include <config.h>

#include "daemon/engine/members/next_state.h"
#include "daemon/engine/memory/alarm.h"
#include "tasks/proto/retries.h"
#include "tests/unit/unit.h"

#define NOW 1700000000000
#define STALLS 2

/* The ends of an attempt. */
static const struct {
    const char *what;
    enum attempt_outcome outcome;
    enum attempt_how how;
    bool final, late, further, started, is_void;
} ends[] = {
    {"succeeded", .outcome = ATTEMPT_SUCCEEDED, .started = true},
    {"reached its rung", .outcome = ATTEMPT_REACHED, .started = true},
    {"failed", .outcome = ATTEMPT_FAILED, .started = true},
    {"can never run", .outcome = ATTEMPT_FAILED, .final = true},
    {"diverged", .outcome = ATTEMPT_DIVERGED, .started = true},
    {"killed", .outcome = ATTEMPT_FAILED, .how = ATTEMPT_KILLED, .started = true},
    {"killed, but got further", .outcome = ATTEMPT_FAILED, .how = ATTEMPT_KILLED, .further = true, .started = true},
    {"out of time", .outcome = ATTEMPT_TIMEOUT, .started = true},
    {"out of time, but got further", .outcome = ATTEMPT_TIMEOUT, .further = true, .started = true},
    {"began too late", .outcome = ATTEMPT_TIMEOUT, .late = true, .started = true},
    {"lost", .outcome = ATTEMPT_LOST, .started = true},
    {"lost before it ran", .outcome = ATTEMPT_LOST},
    {"told to end, but got further", .outcome = ATTEMPT_CANCELLED, .further = true, .started = true},
    {"stopped by the engine", .outcome = ATTEMPT_CANCELLED, .started = true, .is_void = true},
};

/* The wishes about the member, and its next state after each of those ends: P pending, F failed, U unfinished, S
 * succeeded, T stopped early, C cancelled. */
static const struct {
    const char *what;
    enum slot_order order;
    enum ensemble_state ensemble;
    bool ending, early, goes_on, checkpoints;
    int64_t retries;
    const char *states;
} wishes[] = {
    {"it is to go on, with a retry", .checkpoints = true, .retries = 1, .states = "STPFFPPPUPPPUP"},
    {"it is to go on, without a retry", .checkpoints = true, .states = "STFFFPPPUPPPUP"},
    {"its spec has no checkpoints", .retries = 1, .states = "STPFFPPPPPPPUP"},
    {"a training waits for it", .checkpoints = true, .goes_on = true, .retries = 1, .states = "STPFFPPPPPPPPP"},
    {"its ensemble is paused", .ensemble = ENSEMBLE_PAUSED, .checkpoints = true, .retries = 1,
     .states = "STPFFPPPUPPPUP"},
    {"its ensemble is ending", .ending = true, .checkpoints = true, .retries = 1, .states = "STFFFFFFUFCCUC"},
    {"its training needs no more", .ending = true, .early = true, .checkpoints = true, .retries = 1,
     .states = "SCCCCCCCCCCCCC"},
    {"its ensemble was cancelled", .ensemble = ENSEMBLE_CANCELLED, .checkpoints = true, .retries = 1,
     .states = "SCCCCCCCCCCCCC"},
    {"its ensemble has failed", .ensemble = ENSEMBLE_FAILED, .checkpoints = true, .retries = 1,
     .states = "SCCFFCCCCCCCCC"},
    {"the rule of early stopping had it ended", .order = SLOT_STOPPED, .goes_on = true, .checkpoints = true,
     .retries = 1, .states = "STTTFTTTTTTTTT"},
    {"the rule, in an ensemble that is ending", .order = SLOT_STOPPED, .ending = true, .checkpoints = true,
     .retries = 1, .states = "STTTFTTTTTTTTT"},
    {"the rule, in an ensemble that was cancelled", .order = SLOT_STOPPED, .ensemble = ENSEMBLE_CANCELLED,
     .checkpoints = true, .retries = 1, .states = "SCCCCCCCCCCCCC"},
    {"somebody cancelled it", .order = SLOT_CANCELLED, .goes_on = true, .checkpoints = true, .retries = 1,
     .states = "SCCCCCCCCCCCCC"},
};

static char letter_of(enum member_state state)
{
    static const char letters[MEMBER_STATE_COUNT] = {
        [MEMBER_PENDING] = 'P',    [MEMBER_SUCCEEDED] = 'S', [MEMBER_FAILED] = 'F',
        [MEMBER_UNFINISHED] = 'U', [MEMBER_CANCELLED] = 'C', [MEMBER_STOPPED] = 'T'};

    return letters[state];
}

static struct member_row after(size_t end, size_t wish, struct member_row member)
{
    struct attempt_end e = {.outcome = ends[end].outcome,
                            .how = ends[end].how,
                            .final = ends[end].final,
                            .late = ends[end].late,
                            .started_ms = ends[end].started ? NOW - 1000 : 0,
                            .reason = "why"};
    struct progress progress = {.made = ends[end].further && wishes[wish].checkpoints, .newest = "c/7"};
    struct ensemble_row ensemble = {.state = wishes[wish].ensemble};

    if (ends[end].further && ends[end].outcome == ATTEMPT_CANCELLED)
        progress.made = true;
    snprintf(ensemble.reason, sizeof ensemble.reason, "%s", wishes[wish].ending ? "too many failed" : "");
    next_state(&member, &(struct next_case){.end = &e,
                                            .progress = &progress,
                                            .order = wishes[wish].order,
                                            .is_void = ends[end].is_void,
                                            .ensemble = &ensemble,
                                            .ends_early = wishes[wish].early,
                                            .goes_on = wishes[wish].goes_on,
                                            .checkpoints = wishes[wish].checkpoints,
                                            .retries = wishes[wish].retries,
                                            .stalls = STALLS,
                                            .now_ms = NOW});
    return member;
}

static void each_end_leads_to_one_state(void **state)
{
    for (size_t w = 0; w < sizeof wishes / sizeof *wishes; w++) {
        assert_int_equal(strlen(wishes[w].states), sizeof ends / sizeof *ends);
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            char is = letter_of(after(e, w, (struct member_row){.attempts = 1}).state);

            if (is != wishes[w].states[e])
                fail_msg("%s, and %s: it is %c, not %c", ends[e].what, wishes[w].what, is, wishes[w].states[e]);
        }
    }
}

static size_t end_named(const char *what)
{
    size_t i = 0;

    while (strcmp(ends[i].what, what) != 0)
        i++;
    return i;
}

/* Ends the member again and again in the same way, and returns how many attempts it had. */
static int attempts_until_failed(const char *end, struct member_row *member)
{
    int n = 0;

    *member = (struct member_row){.attempts = 1};
    do {
        *member = after(end_named(end), 0, *member);
        n++;
    } while (member->state == MEMBER_PENDING && n < 100);
    return n;
}

static void each_kind_of_end_has_its_limit(void **state)
{
    struct member_row member;

    assert_int_equal(attempts_until_failed("failed", &member), 2); /* one retry */
    assert_int_equal(attempts_until_failed("out of time", &member), STALLS);
    assert_non_null(
        strstr(member.reason, "stalled: 2 attempts in a row left no newer checkpoint than c/7; the last why"));
    assert_int_equal(member.failures, 0);
    assert_int_equal(attempts_until_failed("lost before it ran", &member), LOSSES_MAX + 1);
    assert_int_equal(member.failures, 0);
    /* nobody knows whether its own task has killed the runner: after some, each costs a retry */
    assert_int_equal(attempts_until_failed("lost", &member), LOSSES_FREE + 2);
    assert_int_equal(attempts_until_failed("killed", &member), LOSSES_FREE + 2);
    assert_int_equal(attempts_until_failed("killed, but got further", &member), 100);
}

static void waits_grow_only_where_nothing_is_gained(void **state)
{
    struct member_row member = {.attempts = 1};

    member = after(end_named("lost before it ran"), 0, member);
    assert_int_equal(member.not_before_ms, NOW + engine_backoff(1));
    member = after(end_named("lost before it ran"), 0, member);
    assert_int_equal(member.not_before_ms, NOW + engine_backoff(2));
    member = after(end_named("killed, but got further"), 0, member);
    assert_int_equal(member.not_before_ms, MEMBER_AT_ONCE);
    assert_int_equal(member.losses, 0);
    member = after(end_named("stopped by the engine"), 0, member);
    assert_int_equal(member.not_before_ms, MEMBER_AT_ONCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_leads_to_one_state),
        cmocka_unit_test(each_kind_of_end_has_its_limit),
        cmocka_unit_test(waits_grow_only_where_nothing_is_gained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

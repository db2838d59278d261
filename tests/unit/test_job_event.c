/* The table of a job's states and events. Promises that hold in each of its lines, and walks through it. */
#include "common/stretto_assert.h"
#undef stretto_assert
#define stretto_assert(condition) ((void)sizeof(condition)) /* an impossible event is tried, too, and must not end the test */
#include "daemon/engine/memory/job_event.c"

#undef o
#undef _
#undef U
#undef D
#undef A
#undef Q
#undef R
#undef E
#undef F
#undef X
#undef i
#undef s
#undef r
#undef e
#undef c
#undef f
#undef d

#include "tests/unit/unit.h"

#define EACH(event) (int event = 0; event < EVENT_COUNT; event++)

static void every_event_has_a_line(void **unused)
{
    for EACH (event)
        assert_true(changes[event].pending == SAME || changes[event].next == SAME ||
                    changes[event].pending != changes[event].next);
}

static void every_operation_begins_while_none_is_under_way_and_ends(void **unused)
{
    int begun[PENDING_SWEEP + 1] = {0}, ended[PENDING_SWEEP + 1] = {0};

    for EACH (event) {
        if (changes[event].next == SAME)
            continue;
        assert_true(changes[event].pending == PENDING_NONE || changes[event].next == PENDING_NONE);
        begun[changes[event].next]++;
        ended[changes[event].pending]++;
    }
    for (int operation = PENDING_COMMIT; operation <= PENDING_SWEEP; operation++)
        assert_true(begun[operation] > 0 && ended[operation] > 0);
}

static void a_proof_is_never_taken_back(void **unused)
{
    for EACH (event) {
        for (int proof = PROOF_CLAIMED; proof < PROOF_COUNT; proof++)
            assert_int_not_equal(changes[event].proof[proof], PROOF_NONE);
        assert_int_not_equal(changes[event].proof[PROOF_FENCED], PROOF_CLAIMED);
        assert_int_not_equal(changes[event].proof[PROOF_SEALED], PROOF_CLAIMED);
    }
}

static void only_what_was_read_or_claimed_proves_anything(void **unused)
{
    for EACH (event)
        if (event != EVENT_CLAIM && event != EVENT_SEAL && event != EVENT_SEALED && event != EVENT_FENCED)
            for (int proof = 0; proof < PROOF_COUNT; proof++)
                assert_true(changes[event].proof[proof] < 0);
}

static void what_may_have_been_sent_is_not_forgotten_unless_the_pilot_says_that_it_never_starts_it(void **unused)
{
    for EACH (event) {
        int sent = changes[event].sent[SENT_BEFORE];

        assert_true(event == EVENT_RETURNED || sent < 0 || sent == SENT_BEFORE);
    }
}

static void a_job_in_doubt_is_not_sent(void **unused)
{
    assert_int_equal(changes[EVENT_SENDING].belief[BELIEF_UNASKED], IMPOSSIBLE);
    assert_int_equal(changes[EVENT_SENDING].belief[BELIEF_DOUBT], IMPOSSIBLE);
    assert_int_equal(changes[EVENT_COMMITTING].belief[BELIEF_UNASKED], IMPOSSIBLE);
    assert_int_equal(changes[EVENT_COMMITTING].belief[BELIEF_DOUBT], IMPOSSIBLE);
}

static void what_has_ended_stays_so_and_is_told_of_nothing(void **unused)
{
    for EACH (event)
        assert_int_equal(changes[event].row[JOB_ENDED], IMPOSSIBLE);
}

/* Posts the events, one after the other. */
static void walk(struct job_states *states, enum job_state *row, const enum job_event *events, size_t n)
{
    for (size_t at = 0; at < n; at++)
        job_states_change(states, row, events[at]);
}

#define WALK(...) \
    walk(&states, &row, (const enum job_event[]){__VA_ARGS__}, \
         sizeof(const enum job_event[]){__VA_ARGS__} / sizeof(enum job_event))

static void a_job_goes_from_its_intent_to_its_end(void **unused)
{
    struct job_states states;
    enum job_state row = JOB_INTENT;

    job_states_init(&states, false);
    WALK(EVENT_COMMITTING, EVENT_COMMITTED, EVENT_WRITING, EVENT_WRITTEN, EVENT_SENDING);
    assert_int_equal(states.pending, PENDING_SUBMIT);
    assert_int_equal(states.sent, SENT_NOW);
    WALK(EVENT_ACCEPTED);
    assert_int_equal(states.belief, BELIEF_QUEUED);
    assert_int_equal(row, JOB_SUBMITTED);
    WALK(EVENT_TOLD_RUNNING, EVENT_STARTED, EVENT_COLLECTING, EVENT_COLLECTED, EVENT_CLAIM);
    assert_int_equal(row, JOB_RUNNING);
    assert_int_equal(states.proof, PROOF_CLAIMED);
    WALK(EVENT_TOLD_ENDED, EVENT_COLLECTING, EVENT_COLLECTED, EVENT_OVER);
    assert_int_equal(states.belief, BELIEF_ENDED);
    assert_int_equal(row, JOB_ENDED);
}

static void a_submission_without_an_answer_is_looked_up_before_it_is_sent_again(void **unused)
{
    struct job_states states;
    enum job_state row = JOB_INTENT;

    job_states_init(&states, false);
    WALK(EVENT_COMMITTING, EVENT_COMMITTED, EVENT_SENDING, EVENT_UNANSWERED);
    assert_int_equal(states.belief, BELIEF_DOUBT);
    assert_int_equal(states.sent, SENT_BEFORE);
    WALK(EVENT_TIMER);
    assert_int_equal(states.belief, BELIEF_UNASKED);
    WALK(EVENT_TOLD_ABSENT, EVENT_SENDING, EVENT_REFUSED);
    assert_int_equal(states.sent, SENT_BEFORE); /* the first one may come yet */
}

static void a_start_that_is_known_before_the_answer_outlives_it(void **unused)
{
    struct job_states states;
    enum job_state row = JOB_INTENT;

    job_states_init(&states, false);
    WALK(EVENT_COMMITTING, EVENT_COMMITTED, EVENT_SENDING, EVENT_STARTED, EVENT_ACCEPTED);
    assert_int_equal(row, JOB_RUNNING);
    assert_int_equal(states.pending, PENDING_NONE);
}

static void an_impossible_event_changes_nothing_in_the_state_in_which_it_is_impossible(void **unused)
{
    struct job_states states;
    enum job_state row = JOB_ENDED;

    job_states_init(&states, true);
    states.proof = PROOF_SEALED;
    WALK(EVENT_CLAIM, EVENT_TOLD_FORGOTTEN, EVENT_SEALED);
    assert_int_equal(states.proof, PROOF_SEALED);
    assert_int_equal(states.belief, BELIEF_FORGOTTEN);
    assert_int_equal(row, JOB_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_has_a_line),
        cmocka_unit_test(every_operation_begins_while_none_is_under_way_and_ends),
        cmocka_unit_test(a_proof_is_never_taken_back),
        cmocka_unit_test(only_what_was_read_or_claimed_proves_anything),
        cmocka_unit_test(what_may_have_been_sent_is_not_forgotten_unless_the_pilot_says_that_it_never_starts_it),
        cmocka_unit_test(a_job_in_doubt_is_not_sent),
        cmocka_unit_test(what_has_ended_stays_so_and_is_told_of_nothing),
        cmocka_unit_test(a_job_goes_from_its_intent_to_its_end),
        cmocka_unit_test(a_submission_without_an_answer_is_looked_up_before_it_is_sent_again),
        cmocka_unit_test(a_start_that_is_known_before_the_answer_outlives_it),
        cmocka_unit_test(an_impossible_event_changes_nothing_in_the_state_in_which_it_is_impossible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table of a training's states and events. Promises that hold in each of its lines, and walks through it. */
#include "common/stretto_assert.h"
#undef stretto_assert
#define stretto_assert(condition) ((void)sizeof(condition)) /* an impossible event is tried, too, and must not end the test */
#include "daemon/engine/memory/training_event.c"

#undef o
#undef _
#undef p
#undef s
#undef r
#undef d
#undef f
#undef c

#include "tests/unit/unit.h"

#define EACH(event) (int event = 0; event < LIFE_COUNT; event++)

static bool changes_any(const signed char *cells, int n)
{
    for (int at = 0; at < n; at++)
        if (cells[at] >= 0)
            return true;
    return false;
}

static int possible(const signed char *cells, int n)
{
    int count = 0;

    for (int at = 0; at < n; at++)
        count += cells[at] != IMPOSSIBLE;
    return count;
}

/* A line that was forgotten has only zeros: so it would lead from every state to the first one. */
static void every_event_has_a_line(void **unused)
{
    for EACH (event)
        assert_in_range(possible(changes[event].row, TRAINING_CANCELLED + 1), 1, TRAINING_CANCELLED);
}

static void a_training_that_is_over_is_only_resubmitted_or_gets_an_answer_that_was_late(void **unused)
{
    for EACH (event)
        for (int state = TRAINING_DONE; state <= TRAINING_CANCELLED; state++) {
            bool answer =
                event == LIFE_TOLD || event == LIFE_NOT_TOLD || event == LIFE_ASKED || event == LIFE_NOT_ASKED;

            assert_int_equal(changes[event].row[state],
                             event == LIFE_RESUBMITTED ? TRAINING_PENDING : answer ? SAME : IMPOSSIBLE);
        }
}

static void a_training_ends_or_is_renewed_only_when_all_is_read(void **unused)
{
    static const int ends[] = {LIFE_DONE, LIFE_FAILED, LIFE_CANCELLED, LIFE_RENEWED};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct training_change *by = &changes[ends[i]];

        assert_int_equal(possible(by->stage, STAGE_COUNT), 1);
        assert_int_not_equal(by->stage[STAGE_ALL_READ], IMPOSSIBLE);
        assert_int_equal(possible(by->reading, READING_COUNT), 1);
        assert_int_not_equal(by->reading[READING_NONE], IMPOSSIBLE);
    }
    assert_int_equal(possible(changes[LIFE_ALL_READ].reading, READING_COUNT), 1);
    assert_int_equal(changes[LIFE_ALL_READ].reading[READING_NONE], SAME);
}

static void what_is_begun_ends_in_one_of_two_ways(void **unused)
{
    for EACH (event) {
        const struct training_change *by = &changes[event];

        assert_int_equal(changes_any(by->reception, RECEPTION_COUNT), event == LIFE_TELLING || event == LIFE_TOLD ||
                                                                          event == LIFE_NOT_TOLD ||
                                                                          event == LIFE_RENEWED);
        assert_int_equal(changes_any(by->ending, ENDING_COUNT), event == LIFE_ASKING || event == LIFE_ASKED ||
                                                                    event == LIFE_NOT_ASKED || event == LIFE_RENEWED);
        assert_int_equal(changes_any(by->reading, READING_COUNT),
                         event == LIFE_LOOK || event == LIFE_READ || event == LIFE_COUNTING || event == LIFE_COUNTED);
    }
}

/* A generation that begins has no job, and nobody reads, writes or says anything of it: each other state is impossible
 * then. */
static void each_event_of_ranks_is_impossible_while_they_have_no_job(void **unused)
{
    for EACH (event)
        if (event != LIFE_SUBMITTED && event != LIFE_DROPPED)
            assert_int_equal(changes[event].row[TRAINING_PENDING], IMPOSSIBLE);
}

/* Posts the events, one after the other. */
static void walk(struct training *training, const enum training_event *events, size_t n)
{
    for (size_t at = 0; at < n; at++)
        training_event(training, events[at]);
}

#define WALK(...) \
    walk(&training, (const enum training_event[]){__VA_ARGS__}, \
         sizeof(const enum training_event[]){__VA_ARGS__} / sizeof(enum training_event))

static void a_training_goes_from_its_submission_to_its_end(void **unused)
{
    struct training training = {.ensemble = NULL};

    WALK(LIFE_SUBMITTED, LIFE_LOOK, LIFE_REACHED, LIFE_READ);
    assert_int_equal(training.row.state, TRAINING_RUNNING);
    assert_int_equal(training.state.reading, READING_NONE);
    WALK(LIFE_TELLING, LIFE_LOOK, LIFE_TOLD, LIFE_READ);
    assert_int_equal(training.state.reception, RECEPTION_TOLD);
    WALK(LIFE_JOB_OVER, LIFE_LOOK, LIFE_READ, LIFE_COUNTING);
    assert_int_equal(training.state.reading, READING_STEPS);
    WALK(LIFE_COUNTED, LIFE_ALL_READ, LIFE_DONE);
    assert_int_equal(training.row.state, TRAINING_DONE);
}

static void news_while_files_are_being_read_has_them_read_once_more(void **unused)
{
    struct training training = {.ensemble = NULL};

    WALK(LIFE_SUBMITTED, LIFE_LOOK);
    assert_int_equal(training.state.reading, READING_ONCE);
    WALK(LIFE_LOOK);
    assert_int_equal(training.state.reading, READING_TWICE);
    WALK(LIFE_LOOK);
    assert_int_equal(training.state.reading, READING_TWICE);
    WALK(LIFE_READ);
    assert_int_equal(training.state.reading, READING_NONE);
}

static void the_next_generation_was_told_and_asked_and_has_said_nothing(void **unused)
{
    static const struct training_states none = {.stage = STAGE_OPEN};
    struct training training = {.ensemble = NULL};

    WALK(LIFE_SUBMITTED, LIFE_LOOK, LIFE_REACHED, LIFE_ENOUGH, LIFE_TELLING, LIFE_READ, LIFE_TOLD, LIFE_ASKING,
         LIFE_ASKED, LIFE_JOB_OVER, LIFE_ALL_READ, LIFE_RENEWED);
    assert_int_equal(training.row.state, TRAINING_PENDING);
    assert_memory_equal(&training.state, &none, sizeof none);
    WALK(LIFE_SUBMITTED, LIFE_ASKING);
    assert_int_equal(training.state.ending, ENDING_ASKING);
}

static void what_could_not_be_told_or_asked_is_told_or_asked_again(void **unused)
{
    struct training training = {.row.wanted = 2, .job = (struct live_job *)&training};

    WALK(LIFE_SUBMITTED);
    assert_true(training_is_to_be_told(&training) && training_is_to_be_asked(&training));
    WALK(LIFE_TELLING, LIFE_ASKING);
    assert_false(training_is_to_be_told(&training) || training_is_to_be_asked(&training));
    WALK(LIFE_NOT_TOLD, LIFE_NOT_ASKED);
    assert_true(training_is_to_be_told(&training) && training_is_to_be_asked(&training));
    WALK(LIFE_JOB_OVER);
    assert_false(training_is_to_be_asked(&training));
}

static void a_training_goes_on_until_its_ranks_are_told_or_asked_or_need_no_more(void **unused)
{
    struct training training = {.ensemble = NULL};

    WALK(LIFE_SUBMITTED, LIFE_LOOK);
    assert_false(training_goes_on(&training));
    WALK(LIFE_REACHED);
    assert_true(training_goes_on(&training));
    WALK(LIFE_ENOUGH);
    assert_false(training_goes_on(&training));
    training.state.need = NEED_SAMPLES;
    training.row.wanted = 2;
    assert_false(training_goes_on(&training));
    training.row.wanted = 0;
    WALK(LIFE_TELLING);
    assert_false(training_goes_on(&training));
}

static void a_training_without_a_job_is_read_only_after_the_end_of_its_job(void **unused)
{
    struct training training = {.ensemble = NULL};

    assert_false(training_is_to_be_read(&training));
    WALK(LIFE_SUBMITTED);
    assert_false(training_is_to_be_read(&training));
    WALK(LIFE_JOB_OVER);
    assert_true(training_is_to_be_read(&training));
    WALK(LIFE_ALL_READ);
    assert_false(training_is_to_be_read(&training));
}

static void a_training_is_dropped_only_while_it_waits_and_resubmitted_only_when_it_is_over(void **unused)
{
    for (enum training_state state = TRAINING_PENDING; state <= TRAINING_CANCELLED; state++) {
        struct training_row dropped = {.state = state}, again = {.state = state};

        training_row_event(&dropped, LIFE_DROPPED);
        assert_int_equal(dropped.state, state == TRAINING_PENDING ? TRAINING_CANCELLED : state);
        training_row_event(&again, LIFE_RESUBMITTED);
        assert_int_equal(again.state, training_is_over(&(struct training_row){.state = state}) ? TRAINING_PENDING : state);
    }
}

static void an_impossible_event_changes_nothing_in_the_state_in_which_it_is_impossible(void **unused)
{
    struct training training = {.row.state = TRAINING_DONE, .state.stage = STAGE_ALL_READ};

    WALK(LIFE_SUBMITTED, LIFE_JOB_OVER, LIFE_RENEWED, LIFE_LOOK, LIFE_TOLD, LIFE_FAILED);
    assert_int_equal(training.row.state, TRAINING_DONE);
    assert_int_equal(training.state.reception, RECEPTION_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_has_a_line),
        cmocka_unit_test(a_training_that_is_over_is_only_resubmitted_or_gets_an_answer_that_was_late),
        cmocka_unit_test(a_training_ends_or_is_renewed_only_when_all_is_read),
        cmocka_unit_test(what_is_begun_ends_in_one_of_two_ways),
        cmocka_unit_test(each_event_of_ranks_is_impossible_while_they_have_no_job),
        cmocka_unit_test(a_training_goes_from_its_submission_to_its_end),
        cmocka_unit_test(news_while_files_are_being_read_has_them_read_once_more),
        cmocka_unit_test(the_next_generation_was_told_and_asked_and_has_said_nothing),
        cmocka_unit_test(what_could_not_be_told_or_asked_is_told_or_asked_again),
        cmocka_unit_test(a_training_goes_on_until_its_ranks_are_told_or_asked_or_need_no_more),
        cmocka_unit_test(a_training_without_a_job_is_read_only_after_the_end_of_its_job),
        cmocka_unit_test(a_training_is_dropped_only_while_it_waits_and_resubmitted_only_when_it_is_over),
        cmocka_unit_test(an_impossible_event_changes_nothing_in_the_state_in_which_it_is_impossible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

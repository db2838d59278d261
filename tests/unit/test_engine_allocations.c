/* Allocations that are asked for, or not, on the simulated cluster: one thing at a time. */
#include "common/log.h"
#include "tests/unit/engine_case.h"

#include <stdlib.h>

/* The training is taken on after the end, and its only member waits to run again until it has started. The member is
 * cancelled so many steps after the training was submitted; false: it had started before. */
static bool is_cancelled_after(int steps)
{
    static const struct sim_faults calm = {0};
    const struct engine_resubmission afresh = {.afresh = true};
    json_t *more = training(0);
    bool in_time, cancelled;

    json_object_update_new(more, allocation());
    json_object_set_new(more, "start", json_string("members-first"));
    begin(1, calm);
    submit(1, 1, more);
    until_over();
    if (engine_resubmit_training(sim_engine(sim), sim_number(sim, "SELECT id FROM training"), &afresh,
                                 &sim_left_training, &err) < 0)
        fail_msg("%s", err.text);
    until("SELECT state = 'submitted' FROM training");
    while (steps-- > 0)
        step();
    in_time = sim_number(sim, "SELECT state = 'submitted' FROM training") == 1;
    if (in_time) {
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'pending'"), 1);
        assert_int_equal(engine_cancel_member(sim_engine(sim), id, 0, &cancelled, &sim_left, &err), 0);
    }
    until_over();
    assert_int_equal(sim_number(sim, "SELECT generation = 2 AND started IS NOT NULL FROM training"), 1);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'pilot'"), in_time ? 1 : 2);
    end();
    return in_time;
}

/* SIM_SEED=8006449, where the training had just started. */
static void none_is_asked_for_after_the_only_member_that_waited_was_cancelled(void **state)
{
    int steps = 0;

    while (is_cancelled_after(steps))
        steps++;
    assert_in_range(steps, 3, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_asked_for_after_the_only_member_that_waited_was_cancelled),
    };

    test_limit(300); /* what wakes itself never comes back */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

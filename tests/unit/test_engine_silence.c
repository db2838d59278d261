/* A scheduler that is silent for ten minutes, in virtual time, while members wait, run and are submitted: nothing is
 * lost, failed or run twice, it is asked less and less often, and afterwards all is caught up. */
#include "common/log.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MINUTE_MS 60000
#define START_MS INT64_C(1700000000000) /* when simulations begin */
#define MEMBERS 60
#define STEPS_MAX 100000

static char dir[64];

static int64_t submit(struct sim *sim)
{
    json_t *spec = json_pack("{s:s, s:s, s:i, s:{s:[s], s:i, s:{s:s, s:i, s:{s:[ff]}}}}", "name", "silence", "adapter",
                             sim_adapters[0], "width", 12, "members", "command", "x", "retries", 0, "parameters",
                             "method", "halton", "count", MEMBERS, "space", "p", 0.0, 1.0);
    struct error err;
    int64_t id;

    assert_int_equal(sim_submit(sim, spec, &id, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    json_decref(spec);
    return id;
}

static int64_t succeeded(struct sim *sim)
{
    return sim_number(sim, "SELECT sum(n) FROM tally WHERE state = 'succeeded'");
}

static void nothing_comes_of_silence(void **state)
{
    struct sim_faults faults = {.queue_ms = 60000, .run_ms = 240000, .forget_ms = 300000, .disk_ms = 50, .answer_ms = 500,
                                .nudge_lost = 500, .silent_from = START_MS + 2 * MINUTE_MS,
                                .silent_until = START_MS + 12 * MINUTE_MS};
    bool told = false;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct engine_adapter adapter;
        struct sim *sim = sim_create(seed, &faults, dir);
        int steps = 0;

        sim_boot(sim);
        submit(sim);
        while (!sim_is_over(sim) && sim_violation(sim) == NULL && sim_step(sim) && ++steps < STEPS_MAX) {
            bool silent = sim_now(sim) > faults.silent_from + MINUTE_MS && sim_now(sim) < faults.silent_until;

            assert_true(engine_adapter(sim_engine(sim), sim_adapters[0], &adapter));
            if (silent) {
                assert_true(adapter.failing_since_ms >= faults.silent_from);
                assert_true(adapter.failing_since_ms <= faults.silent_from + MINUTE_MS);
                told = true;
            } else if (sim_now(sim) > faults.silent_until + 3 * MINUTE_MS) {
                assert_true(adapter.failing_since_ms == 0);
            }
        }
        assert_true(told);
        watch_end(sim);
        watch_calm(sim);
        if (sim_violation(sim) != NULL)
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, sim_violation(sim));
        assert_null(sim_violation(sim));
        assert_true(succeeded(sim) == MEMBERS);
        assert_true(sim_number(sim, "SELECT count(*) FROM attempt") == MEMBERS);
        /* each takes half a minute to fail, and the waits grow to a minute */
        assert_in_range(sim_polls_in_silence(sim), 3, 16);
        sim_destroy(sim);
        sim_remove_state(dir);
    }
}

static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "%s/stretto-silence-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int drop_dir(void **state)
{
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(nothing_comes_of_silence, make_dir, drop_dir)};

    log_init("silence", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

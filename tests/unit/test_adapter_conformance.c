/* The conformance suite of adapters, tests/unit/conformance.h, for the local one; for a plugin by
 * STRETTO_ADAPTER_PLUGIN, for another that is built in by STRETTO_ADAPTER, with the settings in
 * STRETTO_ADAPTER_CONFIG. */
#include "common/log.h"
#include "scheduler-adapters/plugin.h"
#include "tests/unit/adapter_named.h"
#include "tests/unit/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct adapter_ops *ops;
struct harness h;
char line[256];

/* An adapter's settings for so many CPU slots: STRETTO_ADAPTER_CONFIG with %d in it. */
static void open_with(int slots)
{
    const char *given = getenv("STRETTO_ADAPTER_CONFIG"), *config = given ? given : "{\"slots\": %d, \"gpus\": 0}";
    const char *number = strstr(config, "%d");
    char text[1024];

    snprintf(text, sizeof text, "%.*s%d%s", number ? (int)(number - config) : (int)strlen(config), config, slots,
             number ? number + 2 : "");
    if (number == NULL)
        snprintf(text, sizeof text, "%s", config);
    harness_open(&h, ops, text);
}

static int open_with_3(void **state)
{
    open_with(3);
    return 0;
}

static int open_with_1(void **state)
{
    open_with(1);
    return 0;
}

static int close_all(void **state)
{
    harness_close(&h);
    return 0;
}

bool is_there(const char *dir, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void wrong_configuration_is_refused(void **state)
{
    static const char *const wrong[] = {"{\"slots\": 0}",         "{\"slots\": \"2\"}",     "{\"gpus\": -1}",
                                        "{\"cpus\": 2}",          "{\"gpus\": [0, -1]}",   "{\"gpus\": [0, \"0\"]}",
                                        "{\"gpus\": [\"a,b\"]}",  "{\"gpus\": [\"\"]}",    "{\"gpus\": true}",
                                        "{\"memory\": \"much\"}"};
    struct adapter_host host = h.host;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *config = json_loads(wrong[i], 0, NULL);
        struct error err = {0};

        host.config = config;
        assert_null(ops->create(&host, &err));
        assert_true(err.pointer[0] == '/');
        json_decref(config);
    }
}

#define WITH_3(test) cmocka_unit_test_setup_teardown(test, open_with_3, close_all)
#define WITH_1(test) cmocka_unit_test_setup_teardown(test, open_with_1, close_all)

int main(void)
{
    const char *plugin = getenv("STRETTO_ADAPTER_PLUGIN"), *name = getenv("STRETTO_ADAPTER");
    const struct CMUnitTest of_any[] = {
        WITH_3(a_job_runs_and_its_end_is_told),
        WITH_3(a_job_that_is_submitted_twice_runs_once),
        WITH_1(a_queued_job_that_is_cancelled_never_starts),
        WITH_1(a_duplicate_job_is_told_and_withdrawn),
        WITH_3(a_running_job_is_cancelled_with_its_whole_tree),
        WITH_3(a_job_ends_at_its_walltime),
        WITH_3(an_unknown_job_is_unknown),
        WITH_3(slots_are_never_exceeded_and_all_used),
        WITH_3(signals_reach_the_tasks),
        WITH_3(a_runner_nudges_where_to_look),
        WITH_3(a_runner_that_is_not_there_is_told),
        WITH_3(a_broken_descriptor_ends_the_job),
        WITH_3(calls_under_way_are_answered_when_it_is_destroyed),
    };
    /* what differs most from one batch system to another */
    const struct CMUnitTest of_slow[] = {
        WITH_1(a_queued_job_that_is_cancelled_never_starts),
        WITH_1(a_duplicate_job_is_told_and_withdrawn),
        WITH_3(an_unknown_job_is_unknown),
        WITH_3(signals_reach_the_tasks),
        WITH_3(calls_under_way_are_answered_when_it_is_destroyed),
    };
    const struct CMUnitTest tests[] = {
        WITH_3(a_job_runs_and_its_end_is_told),
        WITH_3(a_job_that_is_submitted_twice_runs_once),
        WITH_3(impossible_jobs_are_refused),
        WITH_1(a_queued_job_that_is_cancelled_never_starts),
        WITH_1(a_duplicate_job_is_told_and_withdrawn),
        WITH_3(a_running_job_is_cancelled_with_its_whole_tree),
        WITH_3(a_job_is_cancelled_while_it_starts),
        WITH_3(a_job_ends_at_its_walltime),
        WITH_3(a_runner_that_hangs_is_killed_with_its_tree),
        WITH_3(an_unknown_job_is_unknown),
        WITH_1(a_thousand_queued_jobs_are_polled_by_one_call),
        WITH_3(slots_are_never_exceeded_and_all_used),
        WITH_3(a_big_job_does_not_starve),
        WITH_3(those_behind_a_cancelled_job_start),
        WITH_3(signals_reach_the_tasks),
        WITH_3(a_runner_nudges_where_to_look),
        WITH_3(a_runner_that_is_watched_nudges_only_for_news),
        WITH_3(tasks_inherit_no_descriptor),
        WITH_3(a_runner_that_is_not_there_is_told),
        WITH_3(a_broken_descriptor_ends_the_job),
        WITH_3(calls_under_way_are_answered_when_it_is_destroyed),
        WITH_3(wrong_configuration_is_refused),
    };

    test_limit(400);
    log_init("test", LOG_LEVEL_ERROR);
    if (plugin != NULL) {
        struct error err;

        ops = plugin_open(plugin, &err);
        if (ops == NULL) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        harness_polls = true;
        return getenv("STRETTO_ADAPTER_SLOW") != NULL ? cmocka_run_group_tests(of_slow, NULL, NULL)
                                                      : cmocka_run_group_tests(of_any, NULL, NULL);
    }
    ops = adapter_named(name ? name : "local");
    assert_non_null(ops);
    if (name != NULL) {
        harness_polls = true;
        return cmocka_run_group_tests(of_any, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

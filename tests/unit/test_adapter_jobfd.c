/* Jobs whose descriptor the local adapter hands over by job fd, and who answer by it. */
#include "common/files.h"
#include "common/log.h"
#include "tests/unit/adapter_harness.h"
#include "tests/unit/adapter_named.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static struct harness h;

static int open_all(void **state)
{
    harness_open(&h, ops, "{\"slots\": 3, \"gpus\": 0}");
    return 0;
}

static int close_all(void **state)
{
    harness_close(&h);
    return 0;
}

static const char *in(const char *dir, const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void records_are_handed_back_once(void **state)
{
    struct harness_job job;
    char *text = harness_by_jobfd(&h, &job, "read x && exit 9; exit 3"); /* the job fd is none of its business */
    json_t *records, *record;
    struct error err;

    harness_submit_ok(&h, &job);
    assert_false(harness_wait_ended(&h, &job).node_lost);
    records = harness_records(&h, &job);
    assert_int_equal(json_array_size(records), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(records, 0), "exit_code")), 3);
    record = file_read_json(in(job.task_dir, "exit.json"), &err);
    assert_true(json_equal(json_array_get(records, 0), record));
    assert_null(harness_records(&h, &job));
    assert_int_equal(access(in(job.dir, "claim.json"), F_OK), 0);
    assert_int_equal(access(in(job.dir, "runner.log"), F_OK), 0); /* since it failed */
    json_decref(record);
    json_decref(records);
    free(text);
}

static void what_went_well_leaves_little(void **state)
{
    struct harness_job job;
    char *text = harness_by_jobfd(&h, &job, "true");
    json_t *records;

    harness_submit_ok(&h, &job);
    harness_wait_ended(&h, &job);
    records = harness_records(&h, &job);
    assert_int_equal(json_array_size(records), 1);
    json_decref(records);
    assert_int_equal(unlink(in(job.dir, "claim.json")), 0);
    assert_int_equal(unlink(in(job.task_dir, "stdout")), 0);
    assert_int_equal(unlink(in(job.task_dir, "stderr")), 0);
    assert_int_equal(unlink(in(job.task_dir, "exit.json")), 0);
    assert_int_equal(rmdir(job.task_dir), 0);
    assert_int_equal(rmdir(job.dir), 0); /* that was all */
    free(text);
}

static void a_killed_runner_hands_nothing_back(void **state)
{
    struct harness_job job;
    char *text = harness_by_jobfd(&h, &job, REPORT_AND_WAIT), line[64];

    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    kill(harness_runner(&job), SIGKILL);
    assert_true(harness_wait_ended(&h, &job).node_lost);
    assert_null(harness_records(&h, &job));
    assert_int_equal(harness_processes(&job), 0);
    free(text);
}

static void a_broken_job_fd_ends_the_job(void **state)
{
    struct harness_job job;
    char *text = harness_by_jobfd(&h, &job, "true");

    job.job.descriptor = "{}";
    harness_submit_ok(&h, &job);
    assert_non_null(strstr(harness_wait_ended(&h, &job).reason, "/version"));
    assert_null(harness_records(&h, &job));
    free(text);
    text = harness_by_jobfd(&h, &job, "true");
    job.job.descriptor = "{\"version\": 1,";
    harness_submit_ok(&h, &job);
    assert_non_null(strstr(harness_wait_ended(&h, &job).reason, "the daemon's job fd: no JSON: "));
    free(text);
}

#define WITH_ALL(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ALL(records_are_handed_back_once),
        WITH_ALL(what_went_well_leaves_little),
        WITH_ALL(a_killed_runner_hands_nothing_back),
        WITH_ALL(a_broken_job_fd_ends_the_job),
    };

    test_limit(200);
    log_init("test", LOG_LEVEL_ERROR);
    ops = adapter_named("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Requirements for every adapter that starts runners: jobs run, once, and their states are reported. */
#include "tests/unit/conformance.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

void a_job_runs_and_its_end_is_told(void **state)
{
    struct adapter_status status;
    struct harness_job good, bad, dead;
    struct exitrec rec;

    harness_job(&h, &good, "exit 0", 0, 1);
    harness_job(&h, &bad, "echo no mesh >&2; exit 3", 0, 1);
    harness_job(&h, &dead, "kill -SEGV $$", 0, 1);
    harness_submit_ok(&h, &good);
    harness_submit_ok(&h, &bad);
    harness_submit_ok(&h, &dead);
    status = harness_wait_ended(&h, &good);
    assert_false(status.node_lost);
    assert_true(status.started_ms > 0 || harness_polls); /* what cannot be known need not be told */
    assert_int_equal(harness_exit(&good).end.outcome, ATTEMPT_SUCCEEDED);
    harness_wait_ended(&h, &bad);
    rec = harness_exit(&bad);
    assert_int_equal(rec.end.outcome, ATTEMPT_FAILED);
    assert_int_equal(rec.end.exit_code, 3);
    assert_non_null(strstr(rec.end.reason, "no mesh"));
    harness_wait_ended(&h, &dead);
    assert_int_equal(harness_exit(&dead).end.signal, SIGSEGV);
}

void a_job_that_is_submitted_twice_runs_once(void **state)
{
    struct harness_job job;
    struct answer first, second;
    char path[128];
    int runs = 0;
    FILE *f;

    harness_job(&h, &job, "echo ran >> $DIR/log", 0, 1);
    harness_submit(&h, &job, &first);
    harness_submit(&h, &job, &second);
    assert_int_equal(second.answer, ADAPTER_OK);
    assert_string_equal(first.scheduler_id, second.scheduler_id);
    harness_wait_ended(&h, &job);
    harness_submit(&h, &job, &second);
    harness_wait_ended(&h, &job);
    assert_int_equal(harness_exit(&job).end.outcome, ATTEMPT_SUCCEEDED);
    snprintf(path, sizeof path, "%s/log", h.dir);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        runs++;
    fclose(f);
    assert_int_equal(runs, 1);
}

void an_unknown_job_is_unknown(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, "true", 0, 1);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
    harness_cancel(&h, &job);
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_REFUSED);
    job.job.dir = "/nowhere/at/all";
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
}

void signals_reach_the_tasks(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, "trap 'echo got > $FIFO; exit 0' USR1; echo ready > $FIFO; sleep 100 & wait", 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_OK);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "got");
    harness_wait_ended(&h, &job);
    assert_int_equal(harness_signal(&h, &job, SIGKILL), ADAPTER_REFUSED);
}

/* The harness opened its fifo without O_CLOEXEC. */
void tasks_inherit_no_descriptor(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, "set -- /proc/$$/fd/*; n=0; for f; do case $(readlink $f) in */fifo) n=1;; esac; done; exit $n",
                0, 1);
    harness_submit_ok(&h, &job);
    harness_wait_ended(&h, &job);
    assert_int_equal(harness_exit(&job).end.exit_code, 0);
}

void a_runner_that_is_not_there_is_told(void **state)
{
    const char *runner = h.host.runner;
    struct harness_job job;
    struct answer a;

    harness_destroy_adapter(&h);
    h.host.runner = "/nowhere/stretto-run";
    harness_create_adapter(&h);
    harness_job(&h, &job, "true", 0, 1);
    harness_submit(&h, &job, &a);
    assert_int_equal(a.answer, ADAPTER_REFUSED);
    assert_non_null(strstr(a.err.text, "/nowhere/stretto-run"));
    h.host.runner = runner;
}

void a_broken_descriptor_ends_the_job(void **state)
{
    struct harness_job job;
    struct adapter_status status;
    char path[160];
    FILE *f;

    harness_job(&h, &job, "true", 0, 1);
    snprintf(path, sizeof path, "%s/job.json", job.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("{}", f);
    fclose(f);
    harness_submit_ok(&h, &job);
    status = harness_wait_ended(&h, &job);
    assert_false(status.node_lost);
    if (strstr(status.reason, "/version") == NULL)
        fail_msg("it was told: %s", status.reason);
}

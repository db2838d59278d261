/* Requirements for every adapter that starts runners: jobs end when they are to, with all that they started. */
#include "common/timefmt.h"
#include "tests/unit/conformance.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

void a_running_job_is_cancelled_with_its_whole_tree(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, STUBBORN, 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    assert_true(harness_processes(&job) >= 3);
    harness_cancel(&h, &job);
    assert_false(harness_wait_ended(&h, &job).node_lost);
    assert_int_equal(harness_processes(&job), 0);
    assert_int_equal(harness_exit(&job).end.outcome, ATTEMPT_CANCELLED);
}

/* Cancelling may hit a runner at any point of its start. */
void a_job_is_cancelled_while_it_starts(void **state)
{
    for (int i = 0; i < 20; i++) {
        struct harness_job job;
        struct adapter_status status;

        harness_job(&h, &job, "sleep 100", 0, 1);
        harness_submit_ok(&h, &job);
        usleep((useconds_t)i * 2000); /* not to wait for anything: to hit another point each time */
        harness_cancel(&h, &job);
        status = harness_wait_ended(&h, &job);
        assert_false(status.node_lost);
        assert_int_equal(harness_processes(&job), 0);
        if (is_there(job.dir, "ended.json"))
            assert_int_equal(harness_exit(&job).end.outcome, ATTEMPT_CANCELLED);
    }
}

void a_job_ends_at_its_walltime(void **state)
{
    int64_t before = time_now_ms();
    struct harness_job job;
    struct exitrec rec;

    harness_job(&h, &job, STUBBORN, 12, 1); /* so long it may take to be started */
    harness_submit_ok(&h, &job);
    assert_false(harness_wait_ended(&h, &job).node_lost);
    assert_int_equal(harness_processes(&job), 0);
    rec = harness_exit(&job);
    assert_int_equal(rec.end.outcome, ATTEMPT_TIMEOUT);
    assert_true(rec.end.ended_ms - before > 12900); /* the walltime, and the grace */
}

void a_runner_that_hangs_is_killed_with_its_tree(void **state)
{
    struct harness_job job;
    struct adapter_status status;

    harness_job(&h, &job, STUBBORN, 0, 0);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    kill(harness_runner(&job), SIGSTOP);
    harness_cancel(&h, &job);
    status = harness_wait_ended(&h, &job);
    assert_non_null(strstr(status.reason, "in time"));
    assert_false(status.node_lost);
    assert_int_equal(harness_processes(&job), 0);
}

void calls_under_way_are_answered_when_it_is_destroyed(void **state)
{
    enum { N = 50 };
    struct harness_job job;
    struct answer a[N] = {0}, done = {0}, submitted = {0};
    struct adapter_status statuses[N];

    harness_job(&h, &job, "true", 0, 1);
    for (int i = 0; i < N; i++) {
        a[i] = (struct answer){.in_call = true, .n = 1, .statuses = &statuses[i]};
        ops->find(h.adapter, &job.job, 1, answer_poll, &a[i]);
        a[i].in_call = false;
    }
    ops->cancel(h.adapter, &job.job, answer_done, &done);
    job.job.resources.nodes = 100000; /* refused: nothing is to start */
    ops->submit(h.adapter, &job.job, answer_submit, &submitted);
    harness_destroy_adapter(&h);
    for (int i = 0; i < N; i++) {
        assert_int_equal(a[i].answers, 1);
        assert_int_equal(a[i].answer, ADAPTER_UNSURE);
    }
    assert_int_equal(done.answers, 1);
    assert_int_equal(submitted.answers, 1);
}

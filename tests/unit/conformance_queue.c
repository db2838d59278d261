/* Requirements for every adapter that starts runners: jobs wait for their turn, and jobs that can never have one are
 * refused. */
#include "tests/unit/conformance.h"

#include <stdio.h>
#include <stdlib.h>

void impossible_jobs_are_refused(void **state)
{
    static const struct {
        struct adapter_resources want;
        const char *pointer;
    } cases[] = {
        {{.nodes = 2, .tasks = 1, .cpus_per_task = 1, .copies = 1}, "/nodes"},
        {{.nodes = 1, .tasks = 4, .cpus_per_task = 1, .copies = 1}, "/tasks"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 4, .copies = 1}, "/cpus_per_task"},
        {{.nodes = 1, .tasks = 2, .cpus_per_task = 1, .copies = 2}, "/tasks"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1, .gpus = 1}, "/gpus"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1, .memory = INT64_MAX}, "/memory"},
    };
    struct harness_job job;
    struct error err;
    struct answer a;

    harness_job(&h, &job, "true", 0, 1);
    assert_int_equal(ops->slots(h.adapter), 3);
    assert_int_equal(ops->check(h.adapter, &job.job.resources, &err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ops->check(h.adapter, &cases[i].want, &err), -1);
        assert_string_equal(err.code, "resources_impossible");
        assert_string_equal(err.pointer, cases[i].pointer);
        job.job.resources = cases[i].want;
        harness_submit(&h, &job, &a);
        assert_int_equal(a.answer, ADAPTER_REFUSED);
        assert_true(a.err.text[0] != '\0');
    }
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
}

void a_queued_job_that_is_cancelled_never_starts(void **state)
{
    struct harness_job first, second;
    struct adapter_status status;

    harness_job(&h, &first, REPORT_AND_WAIT, 0, 1);
    harness_job(&h, &second, "true", 0, 1);
    harness_submit_ok(&h, &first);
    harness_submit_ok(&h, &second);
    assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
    harness_cancel(&h, &second);
    status = harness_status(&h, &second);
    assert_int_equal(status.state, ADAPTER_JOB_ENDED);
    assert_string_equal(status.reason, "cancelled before it started");
    harness_let_go(&h);
    harness_wait_ended(&h, &first);
    assert_false(is_there(second.dir, "claim.json"));
    harness_cancel(&h, &second);
    assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_ENDED);
}

static void withdraw(const char *name, const char *id)
{
    struct answer a = {.in_call = true};

    ops->withdraw(h.adapter, name, id, answer_done, &a);
    a.in_call = false;
    harness_until(&h, &a.answers, 1);
    assert_int_equal(a.answer, ADAPTER_OK);
}

/* A queued job that nobody asks for is told, a running one is not; it alone is withdrawn. */
void a_duplicate_job_is_told_and_withdrawn(void **state)
{
    struct harness_job first, second;
    struct adapter_status status;
    struct answer none;
    char id[64];

    harness_job(&h, &first, REPORT_AND_WAIT, 0, 1);
    harness_job(&h, &second, "true", 0, 1);
    harness_submit_ok(&h, &first);
    harness_line(&h, line, sizeof line); /* it runs: till then it waits, too, and is told */
    harness_submit_ok(&h, &second);
    h.duplicate = 0;
    status = harness_status(&h, &second);
    assert_int_equal(status.state, ADAPTER_JOB_QUEUED);
    assert_int_equal(h.duplicate, 0);
    assert_int_equal(harness_status(&h, &first).state, ADAPTER_JOB_RUNNING);
    assert_int_equal(h.duplicate, ops->withdraw != NULL);
    if (ops->withdraw != NULL) {
        h.duplicate = 0;
        harness_poll(&h, &first, 0, &none); /* to hear of it alone */
        free(none.statuses);
        assert_int_equal(h.duplicate, 1);
        assert_string_equal(h.duplicate_name, second.name);
        assert_string_equal(h.duplicate_id, status.scheduler_id);
        snprintf(id, sizeof id, "%s", h.duplicate_id);
        withdraw(first.name, harness_status(&h, &first).scheduler_id); /* it runs: it is left alone */
        withdraw(second.name, "no such id");
        assert_int_equal(harness_status(&h, &first).state, ADAPTER_JOB_RUNNING);
        assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
        withdraw(second.name, id);
        assert_int_not_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
        withdraw(second.name, id); /* it is gone */
    }
    harness_let_go(&h);
    assert_int_equal(harness_wait_ended(&h, &first).node_lost, false);
    assert_int_equal(harness_exit(&first).end.outcome, ATTEMPT_SUCCEEDED);
    if (ops->withdraw != NULL)
        assert_false(is_there(second.dir, "claim.json"));
    else
        harness_wait_ended(&h, &second);
}

void a_thousand_queued_jobs_are_polled_by_one_call(void **state)
{
    enum { N = 1000 };
    struct harness_job *jobs = calloc(N + 1, sizeof *jobs);
    struct answer a;

    harness_job(&h, &jobs[0], "echo ready > $FIFO; sleep 100", 0, 1);
    harness_submit_ok(&h, &jobs[0]);
    for (size_t i = 1; i <= N; i++) {
        harness_job(&h, &jobs[i], "true", 0, 1);
        harness_submit_ok(&h, &jobs[i]);
    }
    harness_poll(&h, jobs, N + 1, &a);
    assert_int_equal(a.statuses[0].state, ADAPTER_JOB_RUNNING);
    for (size_t i = 1; i <= N; i++)
        assert_int_equal(a.statuses[i].state, ADAPTER_JOB_QUEUED);
    free(a.statuses);
    for (size_t i = N + 1; i > 0; i--)
        harness_cancel(&h, &jobs[i - 1]);
    harness_wait_ended(&h, &jobs[0]);
    free(jobs);
}

void slots_are_never_exceeded_and_all_used(void **state)
{
    enum { N = 24 };
    struct harness_job jobs[N];
    int running = 0, most = 0, c;
    char path[128];
    FILE *f;

    for (size_t i = 0; i < N; i++) { /* where jobs fill the slots at once, the first three wait for each other */
        harness_job(&h, &jobs[i], harness_polls ? "echo + >> $DIR/log; sleep 0.1; echo - >> $DIR/log"
                                                : "echo + >> $DIR/log; "
                                                  "until [ $(grep -c + $DIR/log) -ge 3 ]; do sleep 0.01; done; "
                                                  "sleep 0.1; echo - >> $DIR/log", 0, 1);
        harness_submit_ok(&h, &jobs[i]);
    }
    for (size_t i = 0; i < N; i++)
        harness_wait_ended(&h, &jobs[i]);
    snprintf(path, sizeof path, "%s/log", h.dir);
    f = fopen(path, "r");
    assert_non_null(f);
    while ((c = fgetc(f)) != EOF) {
        running += (c == '+') - (c == '-');
        most = running > most ? running : most;
    }
    fclose(f);
    assert_int_equal(running, 0);
    assert_true(harness_polls ? most <= 3 : most == 3); /* what is submitted slowly may not fill them */
}

void a_big_job_does_not_starve(void **state)
{
    struct harness_job small, big, later;

    harness_job(&h, &small, REPORT_AND_WAIT, 0, 1);
    harness_job(&h, &big, "echo big > $FIFO", 0, 1);
    harness_job(&h, &later, "echo later > $FIFO", 0, 1);
    big.job.resources.cpus_per_task = 3;
    harness_submit_ok(&h, &small);
    harness_submit_ok(&h, &big);
    harness_submit_ok(&h, &later);
    harness_line(&h, line, sizeof line);
    assert_int_equal(harness_status(&h, &later).state, ADAPTER_JOB_QUEUED);
    harness_let_go(&h);
    harness_wait_ended(&h, &later);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "big");
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "later");
}

/* It held back those that came later, and takes nothing any more. */
void those_behind_a_cancelled_job_start(void **state)
{
    struct harness_job small, big, later;

    harness_job(&h, &small, REPORT_AND_WAIT, 0, 1);
    harness_job(&h, &big, "echo big > $FIFO", 0, 1);
    harness_job(&h, &later, "echo later > $FIFO", 0, 1);
    big.job.resources.cpus_per_task = 3;
    harness_submit_ok(&h, &small);
    harness_line(&h, line, sizeof line);
    harness_submit_ok(&h, &big);
    harness_submit_ok(&h, &later);
    harness_cancel(&h, &big);
    harness_wait_ended(&h, &later);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "later");
    assert_int_equal(harness_status(&h, &small).state, ADAPTER_JOB_RUNNING);
    harness_let_go(&h);
    harness_wait_ended(&h, &small);
}

/* Questions and orders about jobs. A job that is not in memory is looked up on a worker thread first: another daemon,
 * perhaps this one before a restart, may have started it. */
#include "scheduler-adapters/local.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unknown {
    size_t index; /* in the question */
    struct adapter_job job;
    char *name, *dir;
};

struct local_question {
    uv_work_t work;
    struct adapter *a;
    size_t n;
    struct unknown *unknown;
    struct local_looked *looked; /* the result for each of `unknown` */
    size_t nunknown;
    struct adapter_status *statuses;
    adapter_poll_cb *poll; /* NULL: an order about one job, with `done` and `sig` */
    adapter_done_cb *done;
    int sig; /* 0: cancel */
    void *arg;
};

static void add_unknown(struct local_question *q, size_t index, const struct adapter_job *job)
{
    struct unknown *u;

    q->unknown = xrealloc(q->unknown, q->nunknown + 1, sizeof *q->unknown);
    q->looked = xrealloc(q->looked, q->nunknown + 1, sizeof *q->looked);
    memset(&q->looked[q->nunknown], 0, sizeof *q->looked);
    u = &q->unknown[q->nunknown];
    memset(u, 0, sizeof *u);
    u->index = index;
    u->name = xstrdup(job->name);
    u->dir = xstrdup(job->dir);
    q->looked[q->nunknown].name = u->name;
    q->looked[q->nunknown].dir = u->dir;
    q->nunknown++;
    u->job.name = u->name;
    u->job.dir = u->dir;
    u->job.resources = job->resources;
    u->job.resources.queue = u->job.resources.account = NULL;
    u->job.resources.extra = NULL;
    u->job.grace_ms = job->grace_ms;
}

static void question_free(struct local_question *q)
{
    for (size_t i = 0; i < q->nunknown; i++) {
        free(q->unknown[i].name);
        free(q->unknown[i].dir);
    }
    free(q->unknown);
    free(q->looked);
    free(q->statuses);
    free(q);
}

static void look_all(uv_work_t *work)
{
    struct local_question *q = work->data;

    for (size_t i = 0; i < q->nunknown && !atomic_load(&q->a->closing); i++)
        local_look(q->looked[i].dir, q->looked[i].name, &q->a->closing, &q->looked[i].look);
    local_look_starting(q->looked, q->nunknown, &q->a->closing);
}

/* Returns the job in memory, which is adopted now if its runner lives; NULL if it has none. */
static struct local_job *local_job_adopt(struct local_question *q, struct unknown *u, const struct local_look *look)
{
    struct local_job *job = local_job_find(q->a, u->name);

    if (job != NULL || look->found != LOCAL_FOUND_ALIVE)
        return job;
    job = local_job_create(q->a, &u->job);
    local_take(job);
    if (local_adopt(job, &look->claim) < 0) { /* it has ended since: what it left is looked at again */
        job->status.state = ADAPTER_JOB_RUNNING;
        local_look_into(job);
    } else {
        log_info_of(LOG_JOB(0, job->name), "job %s runs on as process %d", job->name, (int)job->pid);
    }
    return job;
}

static void local_look_report(const struct local_look *look, struct adapter_status *status)
{
    memset(status, 0, sizeof *status);
    status->state = look->found == LOCAL_FOUND_NOTHING ? ADAPTER_JOB_UNKNOWN : ADAPTER_JOB_ENDED;
    status->started_ms = time_ms_of(look->claim.time);
    snprintf(status->host, sizeof status->host, "%s", look->claim.host);
    if (look->found == LOCAL_FOUND_LOST) {
        snprintf(status->reason, sizeof status->reason, "the runner was killed");
        status->node_lost = true;
    } else {
        snprintf(status->reason, sizeof status->reason, "%s", look->reason);
    }
}

static void cancel_known(struct local_job *job)
{
    switch (job->state) {
    case LOCAL_QUEUED: local_cancel_queued(job); break;
    case LOCAL_RUNNING: local_terminate(job); break;
    case LOCAL_STARTING:
    case LOCAL_LOOKING: job->cancelled = true; break; /* in case it turns out to be running */
    case LOCAL_ENDED: break;
    }
}

/* Answers an order; job is NULL if there is none, or it has ended. */
static void local_order_obey(struct adapter *a, struct local_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct error err = {0};

    if (sig == 0) {
        if (job != NULL)
            cancel_known(job);
        answers_done(a->answers, cb, arg, ADAPTER_OK, NULL);
    } else if (job == NULL || job->state == LOCAL_ENDED || job->state == LOCAL_LOOKING) {
        error_set(&err, "job_ended", "the job has ended");
        answers_done(a->answers, cb, arg, ADAPTER_REFUSED, &err);
    } else if (job->state == LOCAL_QUEUED || job->state == LOCAL_STARTING || !local_runner_ready(job)) {
        error_set(&err, "job_not_started", "the job has not started yet");
        answers_done(a->answers, cb, arg, ADAPTER_UNSURE, &err);
    } else if (local_runner_signal(job, sig) < 0) {
        error_errno(&err, "signal_failed", "cannot signal the runner");
        answers_done(a->answers, cb, arg, errno == ESRCH ? ADAPTER_REFUSED : ADAPTER_UNSURE, &err);
    } else {
        answers_done(a->answers, cb, arg, ADAPTER_OK, NULL);
    }
}

static const struct error closing_error = {.code = "adapter_closing", .text = "the adapter is being closed"};

static void answer_unsure(struct local_question *q, const struct error *err)
{
    if (q->poll != NULL)
        answers_poll(q->a->answers, q->poll, q->arg, ADAPTER_UNSURE, NULL, 0, err);
    else
        answers_done(q->a->answers, q->done, q->arg, ADAPTER_UNSURE, err);
}

static void looked_all(uv_work_t *work, int status)
{
    struct local_question *q = work->data;
    struct adapter *a = q->a;
    const struct error *unsure = atomic_load(&a->closing) ? &closing_error : NULL;

    for (size_t i = 0; i < q->nunknown && unsure == NULL; i++) {
        struct unknown *u = &q->unknown[i];
        const struct local_look *look = &q->looked[i].look;
        struct local_job *job = local_job_adopt(q, u, look);

        if (job == NULL && look->found == LOCAL_FOUND_UNSURE)
            unsure = &look->err;
        else if (q->poll == NULL)
            local_order_obey(a, job, q->sig, q->done, q->arg);
        else if (job != NULL)
            q->statuses[u->index] = job->status;
        else
            local_look_report(look, &q->statuses[u->index]);
    }
    if (unsure != NULL) {
        answer_unsure(q, unsure);
    } else if (q->poll != NULL) {
        answers_poll(a->answers, q->poll, q->arg, ADAPTER_OK, q->statuses, q->n, NULL);
        q->statuses = NULL;
    }
    if (q->poll != NULL)
        a->unsure = unsure != NULL;
    question_free(q);
    if (--a->finding == 0)
        local_schedule(a);
    local_worker_done(a);
}

static void ask_worker(struct local_question *q)
{
    q->work.data = q;
    q->a->workers++;
    q->a->finding++;
    uv_queue_work(q->a->host.loop, &q->work, look_all, looked_all);
}

void local_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    struct local_question *q = xcalloc(1, sizeof *q);

    q->a = a;
    q->n = n;
    q->poll = cb;
    q->arg = arg;
    q->statuses = xcalloc(n, sizeof *q->statuses);
    for (size_t i = 0; i < n; i++) {
        struct local_job *job = local_job_find(a, jobs[i].name);

        if (job != NULL)
            q->statuses[i] = job->status;
        else
            add_unknown(q, i, &jobs[i]);
    }
    if (q->nunknown > 0) {
        ask_worker(q);
        return;
    }
    answers_poll(a->answers, cb, arg, ADAPTER_OK, q->statuses, n, NULL);
    q->statuses = NULL;
    question_free(q);
    if (a->unsure) { /* nobody asks about unknown jobs any more */
        a->unsure = false;
        local_schedule(a);
    }
}

static void local_order(struct adapter *a, const struct adapter_job *wanted, int sig, adapter_done_cb *cb, void *arg)
{
    struct local_job *job = local_job_find(a, wanted->name);
    struct local_question *q;

    if (job != NULL) {
        local_order_obey(a, job, sig, cb, arg);
        return;
    }
    q = xcalloc(1, sizeof *q);
    q->a = a;
    q->done = cb;
    q->sig = sig;
    q->arg = arg;
    add_unknown(q, 0, wanted);
    ask_worker(q);
}

void local_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
    local_order(a, job, 0, cb, arg);
}

void local_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct error err = {0};

    if (sig == SIGUSR1 || sig == SIGUSR2) {
        local_order(a, job, sig, cb, arg);
        return;
    }
    error_set(&err, "signal_unknown", "only SIGUSR1 and SIGUSR2 reach tasks, not signal %d", sig);
    answers_done(a->answers, cb, arg, ADAPTER_REFUSED, &err);
}

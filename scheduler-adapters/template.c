/* A template for adapters, compiled by the tests so that it cannot rot. Copy it, and add yours to registry.c.
 *
 * It is a batch system that queues every job and starts none. What a real one does instead stands in the comments. */
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct adapter_ops adapter_template;

struct held {
    struct held *next;
    char *name;
    bool cancelled;
};

struct adapter {
    struct adapter_host host;
    struct answers *answers; /* callbacks leave on the next turn of the loop */
    struct held *jobs;
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* Read the configuration strictly. Nothing lasting starts here: not even the vendor's commands are looked for by
 * running them, since an adapter that is configured but unused must not cost anything. */
static struct adapter *create(const struct adapter_host *host, struct error *err)
{
    static const char *const known[] = {NULL};
    struct adapter *a;

    if (host->config != NULL && jsonx_only(host->config, "", known, err) < 0)
        return NULL;
    a = xcalloc(1, sizeof *a);
    a->host = *host;
    a->answers = answers_create(host->loop);
    return a;
}

static void answers_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    while (a->jobs != NULL) {
        struct held *job = a->jobs;

        a->jobs = job->next;
        free(job->name);
        free(job);
    }
    free(a);
    destroyed(destroyed_arg);
}

/* A real one first kills its scheduler commands and answers their callers with ADAPTER_UNSURE. Jobs go on. */
static void destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    a->destroyed = done;
    a->destroyed_arg = arg;
    answers_destroy(a->answers, answers_gone, a);
}

/* Refuse only what can never run. A partition's limits that were read long ago may have changed: when in doubt, let the
 * scheduler refuse. */
static int check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    if (want->gpus > 0)
        return error_at(err, "resources_impossible", "/gpus", "%d GPUs are wanted, and there are none", want->gpus);
    return 0;
}

static int slots(struct adapter *a)
{
    return 0;
}

static struct held *find_held(struct adapter *a, const char *name)
{
    struct held *job;

    for (job = a->jobs; job != NULL && strcmp(job->name, name) != 0; job = job->next)
        ;
    return job;
}

/* Submit with the job's name as the scheduler's job name. A command that ran out of its time may have submitted all the
 * same: that is ADAPTER_UNSURE, and the engine will ask find(). Only the scheduler's own "no" is ADAPTER_REFUSED. */
static void submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg)
{
    struct held *held = find_held(a, job->name);

    if (held == NULL) {
        held = xcalloc(1, sizeof *held);
        held->name = xstrdup(job->name);
        held->next = a->jobs;
        a->jobs = held;
    }
    answers_submit(a->answers, cb, arg, ADAPTER_OK, held->name, NULL);
}

/* One command for all jobs, whatever their number; its failure, or output that cannot be read to the end, is
 * ADAPTER_UNSURE for all. ADAPTER_JOB_UNKNOWN is only for a scheduler that answered, completely, without the job. */
static void poll_jobs(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    struct adapter_status *statuses = xcalloc(n, sizeof *statuses);

    for (size_t i = 0; i < n; i++) {
        const struct held *held = find_held(a, jobs[i].name);

        statuses[i].state = held == NULL      ? ADAPTER_JOB_UNKNOWN
                            : held->cancelled ? ADAPTER_JOB_ENDED
                                              : ADAPTER_JOB_QUEUED;
        if (held != NULL && held->cancelled)
            snprintf(statuses[i].reason, sizeof statuses[i].reason, "cancelled before it started");
    }
    answers_poll(a->answers, cb, arg, ADAPTER_OK, statuses, n, NULL);
}

/* Ask the scheduler to end the job; "no such job" is success. Where the state changes, poke the engine. */
static void cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
    struct held *held = find_held(a, job->name);

    if (held != NULL && !held->cancelled) {
        held->cancelled = true;
        answers_call(a->answers, a->host.poke, a->host.arg);
    }
    answers_done(a->answers, cb, arg, ADAPTER_OK, NULL);
}

/* The signal must reach the runner, which hands it on to the tasks. */
static void signal_job(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct error err;

    error_set(&err, "job_not_started", "the job has not started yet");
    answers_done(a->answers, cb, arg, ADAPTER_UNSURE, &err);
}

const struct adapter_ops adapter_template = {
    .abi = ADAPTER_ABI,
    .name = "template",
    .create = create,
    .destroy = destroy,
    .check = check,
    .slots = slots,
    .submit = submit,
    .poll = poll_jobs,
    .find = poll_jobs, /* by name: squeue --name=…, qselect -N … */
    .cancel = cancel,
    .signal = signal_job,
};

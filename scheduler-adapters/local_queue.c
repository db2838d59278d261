/* Jobs by name, the queue, and the slots. The first job in the queue starts first, so that big jobs do not starve. */
#include "scheduler-adapters/local.h"

#include "common/jobfd.h"
#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDED_REMEMBERED 4096 /* older ones are read from the run directory again */
#define RETRY_MS 1000

void local_list_append(struct local_list *list, struct local_job *job)
{
    job->prev = list->last;
    job->next = NULL;
    *(list->last ? &list->last->next : &list->first) = job;
    list->last = job;
    list->n++;
}

static void list_prepend(struct local_list *list, struct local_job *job)
{
    stretto_assert(list->first != job);
    job->prev = NULL;
    job->next = list->first;
    *(list->first ? &list->first->prev : &list->last) = job;
    list->first = job;
    list->n++;
}

void local_list_remove(struct local_list *list, struct local_job *job)
{
    stretto_assert(list->n > 0 && *(job->prev ? &job->prev->next : &list->first) == job);
    *(job->prev ? &job->prev->next : &list->first) = job->next;
    *(job->next ? &job->next->prev : &list->last) = job->prev;
    job->prev = job->next = NULL;
    list->n--;
}

struct local_job *local_job_find(struct adapter *a, const char *name)
{
    struct local_job *job;

    HASH_FIND_STR(a->jobs, name, job);
    return job;
}

struct local_job *local_job_create(struct adapter *a, const struct adapter_job *wanted)
{
    struct local_job *job = xcalloc(1, sizeof *job);

    job->a = a;
    job->name = xstrdup(wanted->name);
    job->dir = xstrdup(wanted->dir);
    job->descriptor = wanted->descriptor ? xstrdup(wanted->descriptor) : NULL;
    job->jobfd = -1;
    /* a job that wants the machine for itself waits until nothing else runs, at the head of the queue like any other */
    job->need = wanted->resources.whole_nodes ? a->have : local_need(&wanted->resources);
    job->walltime_ms = wanted->resources.walltime_ms;
    job->grace_ms = wanted->grace_ms;
    job->pidfd = -1;
    job->state = LOCAL_QUEUED;
    job->status.state = ADAPTER_JOB_QUEUED;
    snprintf(job->status.scheduler_id, sizeof job->status.scheduler_id, "local");
    text_copy(job->status.host, sizeof job->status.host, a->hostname);
    HASH_ADD_KEYPTR(hh, a->jobs, job->name, strlen(job->name), job);
    return job;
}

static void close_jobfd(struct local_job *job)
{
    if (job->jobfd >= 0)
        close(job->jobfd);
    job->jobfd = -1;
}

void local_job_free(struct local_job *job)
{
    struct adapter *a = job->a;

    if (job->state == LOCAL_QUEUED)
        local_list_remove(&a->queue, job);
    else if (job->state == LOCAL_ENDED)
        local_list_remove(&a->ended, job);
    else if (job->child)
        local_list_remove(&a->children, job);
    local_close_handles(job);
    local_gpus_take_back(job);
    close_jobfd(job);
    HASH_DEL(a->jobs, job);
    free(job->name);
    free(job->dir);
    free(job->descriptor);
    free(job);
}

void local_enqueue(struct local_job *job)
{
    local_list_append(&job->a->queue, job);
}

static bool job_fits(const struct adapter *a, const struct local_job *job)
{
    return a->used.slots + job->need.slots <= a->have.slots && job->need.gpus <= local_gpus_free(a) &&
           job->need.memory <= a->have.memory - a->used.memory;
}

void local_take(struct local_job *job)
{
    stretto_assert(job->need.slots >= 0 && job->need.memory >= 0);
    job->a->used.slots += job->need.slots;
    job->a->used.memory += job->need.memory;
}

static void job_give_back_resources(struct local_job *job)
{
    job->a->used.slots -= job->need.slots;
    job->a->used.memory -= job->need.memory;
    stretto_assert(job->a->used.slots >= 0 && job->a->used.memory >= 0);
    local_gpus_take_back(job);
}

/* Returns the records that the runner handed back; NULL if the descriptor is still in their place, because the runner
 * was killed or told to end. */
static json_t *read_records(const struct local_job *job)
{
    struct error err;
    size_t size;
    char *text = job->jobfd >= 0 ? jobfd_read(job->jobfd, &size, &err) : NULL;
    json_t *records = text != NULL && text[0] == '[' ? json_loads(text, 0, NULL) : NULL;

    free(text);
    return records;
}

/* The end of a job, which the engine is yet to be told. */
struct local_end {
    struct adapter *a;
    char *name;
    struct adapter_status status;
    json_t *records;
};

static void tell_end(void *arg)
{
    struct local_end *end = arg;

    if (!atomic_load(&end->a->closing))
        end->a->host.ended(end->a->host.arg, end->name, &end->status, end->records);
    json_decref(end->records);
    free(end->name);
    free(end);
}

/* The one place where the adapter has a job's end and the records that its runner handed back. */
static void remember_ended(struct local_job *job, const char *reason, bool node_lost)
{
    struct local_end *end = xcalloc(1, sizeof *end);
    struct adapter *a = job->a;

    stretto_assert(job->state != LOCAL_ENDED);
    free(job->descriptor);
    job->descriptor = NULL;
    job->state = LOCAL_ENDED;
    job->status.state = ADAPTER_JOB_ENDED;
    job->status.node_lost = node_lost;
    text_copy(job->status.reason, sizeof job->status.reason, reason);
    *end = (struct local_end){a, xstrdup(job->name), job->status, read_records(job)};
    answers_call(a->answers, tell_end, end);
    close_jobfd(job);
    local_list_append(&a->ended, job);
    if (a->ended.n > ENDED_REMEMBERED)
        local_job_free(a->ended.first);
}

static void queue_retry(uv_timer_t *timer)
{
    local_schedule(timer->data);
}

/* Returns whether the cause may pass: the machine cannot create a process, or the daemon has no free descriptors or no
 * disk space. */
static bool error_passes(int error)
{
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == ENOSPC ||
           error == EDQUOT;
}

void local_schedule(struct adapter *a)
{
    struct local_job *job;

    if (a->finding > 0 || a->unsure || atomic_load(&a->closing))
        return;
    while ((job = a->queue.first) != NULL && job_fits(a, job)) {
        local_list_remove(&a->queue, job);
        local_take(job);
        local_gpus_give(job);
        local_start(job);
    }
}

static void answer_submission(struct local_job *job, enum adapter_answer answer, const struct error *err)
{
    if (job->submitted != NULL)
        answers_submit(job->a->answers, job->submitted, job->submitted_arg, answer, job->status.scheduler_id, err);
    job->submitted = NULL;
}

/* Puts the job back to the head of the queue. */
void local_start_again(struct local_job *job, const char *why)
{
    struct adapter *a = job->a;
    char reason[sizeof job->status.reason];

    snprintf(reason, sizeof reason, "its runner cannot be started: %s", why);
    if (strcmp(job->status.reason, reason) != 0)
        log_warn_of(LOG_JOB(0, job->name), "job %s: cannot start its runner: %s; trying again", job->name, why);
    job_give_back_resources(job);
    close_jobfd(job);
    job->state = LOCAL_QUEUED;
    job->status.state = ADAPTER_JOB_QUEUED;
    memcpy(job->status.reason, reason, sizeof reason);
    list_prepend(&a->queue, job);
    uv_timer_start(&a->retry, queue_retry, RETRY_MS, 0);
    answer_submission(job, ADAPTER_OK, NULL);
    local_poke(a); /* it may have been told that it runs */
    if (job->cancelled)
        local_cancel_queued(job);
}

static void start_failed(struct local_job *job, int failure)
{
    struct error err;
    char reason[256];

    snprintf(reason, sizeof reason, "cannot start its runner %s: %s", job->a->host.runner, strerror(failure));
    log_error_of(LOG_JOB(0, job->name), "job %s: %s", job->name, reason);
    error_set(&err, "submit_refused", "%s", reason);
    answer_submission(job, ADAPTER_REFUSED, &err);
    local_job_ended(job, reason, false);
}

void local_started(struct local_job *job, pid_t pid, int jobfd, int error)
{
    static const struct error closing = {.code = "adapter_closing", .text = "the adapter is being closed"};

    job->jobfd = error == 0 ? jobfd : -1;
    if (atomic_load(&job->a->closing)) {
        answer_submission(job, ADAPTER_UNSURE, &closing);
        return;
    }
    if (error != 0 && error_passes(error)) {
        local_start_again(job, strerror(error));
        return;
    }
    if (error != 0) {
        start_failed(job, error);
        return;
    }
    job->state = LOCAL_RUNNING;
    job->status.state = ADAPTER_JOB_RUNNING;
    job->status.started_ms = time_now_ms();
    local_child(job, pid);
    answer_submission(job, ADAPTER_OK, NULL);
    local_poke(job->a);
    if (job->cancelled)
        local_terminate(job);
    local_wait(job->a); /* it may have ended before it was known to be our child */
}

void local_cancel_queued(struct local_job *job)
{
    local_list_remove(&job->a->queue, job);
    remember_ended(job, "cancelled before it started", false);
    local_schedule(job->a); /* others may have waited behind it */
}

void local_job_ended(struct local_job *job, const char *reason, bool node_lost)
{
    struct adapter *a = job->a;

    local_close_handles(job);
    job_give_back_resources(job);
    remember_ended(job, reason, node_lost);
    local_schedule(a);
}

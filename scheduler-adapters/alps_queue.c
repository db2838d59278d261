/* The queue of jobs: which wait, which are started on which nodes, and which end. */
#include "scheduler-adapters/alps.h"

#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/exitrec.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OVERRUN_MS 15000     /* a cancelled job is killed so long after its grace */
#define REMEMBERED_MS 900000 /* the adapter answers for an ended job so long */

struct alps_ending {
    uv_work_t work;
    struct alps_job *job;
    struct alps_files files;
    bool kill; /* the files are read for the application's number, to kill it */
};

struct alps_job *alps_job_find(struct adapter *a, const char *name)
{
    struct alps_job *job;

    HASH_FIND_STR(a->jobs, name, job);
    return job;
}

static struct alps_job *alps_job_new(struct adapter *a, const struct adapter_job *from)
{
    struct alps_job *job = xcalloc(1, sizeof *job);

    job->a = a;
    snprintf(job->name, sizeof job->name, "%s", from->name);
    job->dir = xstrdup(from->dir);
    alps_shape(a, &from->resources, &job->shape);
    job->extra = from->resources.extra != NULL ? json_deep_copy(from->resources.extra) : NULL;
    job->grace_ms = from->grace_ms;
    job->least_ms = from->least_ms;
    job->serial = ++a->serial;
    job->pidfd = job->end.lost_nid = -1;
    HASH_ADD_STR(a->jobs, name, job);
    return job;
}

static void alps_job_free(struct alps_job *job)
{
    HASH_DEL(job->a->jobs, job);
    json_decref(job->extra);
    free(job->nids);
    free(job->dir);
    free(job);
}

static void alps_poke(void *arg)
{
    struct adapter *a = arg;

    if (!a->closing)
        a->host.poke(a->host.arg);
}

void alps_job_over(struct alps_job *job, const char *reason)
{
    struct adapter *a = job->a;

    job->state = ALPS_OVER;
    job->over_at = uv_now(a->host.loop) + 1;
    job->kill_at = 0;
    snprintf(job->reason, sizeof job->reason, "%s", reason);
    alps_nodes_leave(job, job->end.no_room);
    alps_nodes_lost(a, job->end.lost_nid);
    answers_call(a->answers, alps_poke, a);
    alps_turn(a);
}

/* Puts a job that found no room back into the queue. ALPS may need a while to see that an application is gone, and the
 * allocation may hold applications of others. */
static void put_back_into_queue(struct alps_job *job, const char *words, bool too_large)
{
    struct adapter *a = job->a;

    job->too_large = too_large ? job->too_large + 1 : 0;
    job->state = ALPS_WAITS;
    job->placed = false;
    snprintf(job->reason, sizeof job->reason, "%s", words);
    alps_nodes_leave(job, true);
    /* the job's other properties are only in the daemon, which submits it again when it is told that the job is
     * unknown */
    if (job->adopted) {
        alps_job_free(job);
        answers_call(a->answers, alps_poke, a);
    } else if (job->too_large >= ALPS_TRIES) { /* it is not started again, and the daemon gives it up */
        answers_call(a->answers, alps_poke, a);
    }
    alps_turn(a);
}

static void read_ending_files(uv_work_t *work)
{
    struct alps_ending *e = work->data;

    alps_files_read(e->job->dir, &e->files);
}

static void ending_files_read(uv_work_t *work, int status)
{
    struct alps_ending *e = work->data;
    struct alps_job *job = e->job;
    struct adapter *a = job->a;
    char reason[256];

    if (a->closing) {
        ;
    } else if (e->files.end.no_room && !e->files.claimed && !job->cancelled) {
        put_back_into_queue(job, e->files.words, e->files.end.too_large);
    } else {
        job->end = e->files.end;
        snprintf(reason, sizeof reason, "%s%.120s%s%.120s", e->files.words[0] ? "ALPS: " : "", e->files.words,
                 e->files.words[0] && e->files.said[0] ? ": " : "", e->files.said);
        if (job->cancelled && !e->files.claimed)
            snprintf(reason, sizeof reason, "cancelled before it started");
        alps_job_over(job, reason);
    }
    alps_files_fini(&e->files);
    free(e);
    alps_idle(a);
}

static void look_at_job_end(struct alps_job *job)
{
    struct alps_ending *e = xcalloc(1, sizeof *e);

    job->state = ALPS_LOOKED_AT;
    job->pid = 0;
    job->kill_at = 0;
    e->job = job;
    e->work.data = e;
    alps_busy(job->a);
    uv_queue_work(job->a->host.loop, &e->work, read_ending_files, ending_files_read);
}

static void process_closed(uv_handle_t *handle)
{
    struct alps_job *job = handle->data;
    struct adapter *a = job->a;

    job->watched = false;
    if (!a->closing)
        look_at_job_end(job);
    alps_idle(a);
}

void alps_exited(uv_process_t *process, int64_t status, int sig)
{
    ((struct alps_job *)process->data)->pid = 0;
    uv_close((uv_handle_t *)process, process_closed);
}

static void alps_watch_closed(uv_handle_t *handle)
{
    struct alps_job *job = handle->data;

    close(job->pidfd);
    job->pidfd = -1;
    process_closed(handle);
}

static void watched_exited(uv_poll_t *watch, int status, int events)
{
    ((struct alps_job *)watch->data)->pid = 0;
    uv_close((uv_handle_t *)watch, alps_watch_closed);
}

void alps_let_go(uv_handle_t *handle)
{
    struct alps_job *job = handle->data;
    struct adapter *a = job->a;

    if (job->pidfd >= 0)
        close(job->pidfd);
    job->pidfd = -1;
    job->watched = false;
    alps_idle(a);
}

/* Returns whether enough of the allocation's time is left. Once it is not, the job is left to the daemon of the next
 * allocation. */
static bool has_time_left(struct adapter *a, struct alps_job *job)
{
    if (a->end == 0 || job->least_ms == 0 ||
        time_now_ms() + job->least_ms + job->grace_ms + EXITREC_TAKE_MS <= 1000 * a->end)
        return true;
    snprintf(job->reason, sizeof job->reason, "too little is left of the allocation's time");
    if (!a->told_of_end)
        a->host.log(a->host.arg, ADAPTER_LOG_INFO, job->name,
                    "too little is left of the allocation's time to start it: it waits, as others may, for another "
                    "allocation");
    a->told_of_end = true;
    return false;
}

static struct alps_job *first_waiting(struct adapter *a)
{
    struct alps_job *first = NULL;

    for (struct alps_job *job = a->jobs; job != NULL; job = job->hh.next)
        if (job->state == ALPS_WAITS && !job->watched && job->too_large < ALPS_TRIES &&
            (first == NULL || job->serial < first->serial) && has_time_left(a, job))
            first = job;
    return first;
}

static int64_t count_running(const struct adapter *a)
{
    int64_t n = 0;

    for (const struct alps_job *job = a->jobs; job != NULL; job = job->hh.next)
        n += job->state == ALPS_RUNS || job->state == ALPS_LOOKED_AT;
    return n;
}

/* Starts the first job that waits. Jobs start in their order, or one that wants many nodes might wait for ever. False:
 * no job can start now. */
static bool start_first(struct adapter *a, struct alps_job *job, uint64_t now, uint64_t *next)
{
    if (now < a->next_start)
        *next = a->next_start < *next ? a->next_start : *next;
    if (now < a->next_start || count_running(a) >= a->most || alps_nodes_free(a, now, next) < (size_t)job->shape.nodes)
        return false;
    alps_nodes_take(job, (size_t)job->shape.nodes, now);
    if (!alps_start(job)) {
        alps_nodes_leave(job, true);
        *next = now + (uint64_t)a->pause_ms < *next ? now + (uint64_t)a->pause_ms : *next;
        return false;
    }
    uv_update_time(a->host.loop); /* starting a process takes time */
    a->next_start = uv_now(a->host.loop) + (uint64_t)a->pause_ms;
    return true;
}

/* The process id of a process that is not our child may belong to another one as soon as it has ended. */
void alps_signal_aprun(const struct alps_job *job, int sig)
{
    if (job->pid > 0 && job->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, job->pidfd, sig, NULL, 0);
    else if (job->pid > 0)
        kill(job->pid, sig);
}

static void apkilled(void *arg, struct command_result *result)
{
    alps_idle(arg);
}

static void kill_application(uv_work_t *work, int status)
{
    struct alps_ending *e = work->data;
    struct alps_job *job = e->job;
    struct adapter *a = job->a;

    if (!a->closing && job->state == ALPS_RUNS && job->pid > 0) {
        char apid[24];
        const char *const args[] = {a->apkill, "-KILL", apid, NULL};

        snprintf(apid, sizeof apid, "%lld", e->files.apid);
        if (e->files.apid > 0) {
            alps_busy(a);
            commands_run(a->commands,
                         &(struct command){.argv = args,
                                           .env = (const char *const *)a->env,
                                           .limit_ms = 20000,
                                           .out_max = 4096,
                                           .err_max = 4096},
                         apkilled, a);
        }
        alps_signal_aprun(job, SIGKILL);
    }
    alps_files_fini(&e->files);
    free(e);
    alps_idle(a);
}

/* Killing aprun ends its application sooner or later; apkill ends the application itself. */
static void alps_kill(struct alps_job *job)
{
    struct alps_ending *e = xcalloc(1, sizeof *e);

    e->job = job;
    e->work.data = e;
    alps_busy(job->a);
    uv_queue_work(job->a->host.loop, &e->work, read_ending_files, kill_application);
}

static void kill_due(struct alps_job *job, uint64_t now, uint64_t *next)
{
    struct adapter *a = job->a;

    if (job->kill_at == 0 || job->state != ALPS_RUNS)
        return;
    if (job->kill_at <= now) {
        a->host.log(a->host.arg, ADAPTER_LOG_WARN, job->name,
                    "it did not end in time after it was cancelled: killing it");
        alps_kill(job);
        job->kill_at = now + OVERRUN_MS;
    }
    *next = job->kill_at < *next ? job->kill_at : *next;
}

static void alps_timer_rang(uv_timer_t *timer)
{
    alps_turn(timer->data);
}

void alps_turn(struct adapter *a)
{
    uint64_t now = uv_now(a->host.loop), next = UINT64_MAX;
    struct alps_job *job, *after;

    if (a->closing)
        return;
    HASH_ITER (hh, a->jobs, job, after) {
        kill_due(job, now, &next);
        if (job->state == ALPS_OVER && !job->watched && now > job->over_at + REMEMBERED_MS)
            alps_job_free(job);
    }
    while ((job = first_waiting(a)) != NULL && start_first(a, job, now, &next))
        ;
    if (next != UINT64_MAX)
        uv_timer_start(&a->timer, alps_timer_rang, next > now ? next - now : 1, 0);
}

void alps_submit(struct adapter *a, const struct adapter_job *from, adapter_submit_cb *cb, void *arg)
{
    struct alps_job *job = alps_job_find(a, from->name);
    struct error err = {0};

    if (job == NULL && a->no_runner.text[0] != '\0') {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &a->no_runner);
    } else if (job == NULL && alps_check_room(a, &from->resources, &err) < 0) {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &err);
    } else {
        if (job == NULL)
            alps_job_new(a, from);
        answers_submit(a->answers, cb, arg, ADAPTER_OK, from->name, NULL);
        alps_turn(a);
    }
}

struct alps_job *alps_adopt(struct adapter *a, const struct adapter_job *from, const struct alps_files *files)
{
    struct alps_job *job = alps_job_find(a, from->name);
    int fd;

    if (job != NULL)
        return job;
    fd = (int)syscall(SYS_pidfd_open, files->pid, 0);
    if (fd < 0)
        return NULL; /* it has ended since */
    job = alps_job_new(a, from);
    job->adopted = true;
    job->pid = files->pid;
    job->pidfd = fd;
    job->state = ALPS_RUNS;
    alps_nodes_take_again(job, files->nids);
    uv_poll_init(a->host.loop, &job->watch, fd);
    job->watch.data = job;
    job->watched = true;
    alps_busy(a);
    uv_poll_start(&job->watch, UV_READABLE, watched_exited);
    return job;
}

void alps_forget_all(struct adapter *a)
{
    struct alps_job *job, *after;

    HASH_ITER (hh, a->jobs, job, after) {
        if (job->watched) {
            uv_handle_t *handle = job->pidfd >= 0 ? (uv_handle_t *)&job->watch : (uv_handle_t *)&job->process;

            if (!uv_is_closing(handle))
                uv_close(handle, alps_let_go);
        } else if (a->closed) {
            alps_job_free(job);
        }
    }
}

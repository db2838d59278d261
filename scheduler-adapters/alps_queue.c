/* Jobs and nodes: who waits, who is started where, and what ends. */
#include "common/xalloc.h"
#include "scheduler-adapters/alps.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OVERRUN_MS 15000     /* beyond its grace, before a cancelled job is killed */
#define REMEMBERED_MS 900000 /* what has ended is told of for so long */
#define WAIT_MAX_MS 60000    /* for a node that ALPS still thinks taken */

struct ending {
    uv_work_t work;
    struct alps_job *job;
    struct alps_files files;
    bool kill; /* it is only asked for the application's number */
};

struct alps_job *alps_job_find(struct adapter *a, const char *name)
{
    struct alps_job *job;

    HASH_FIND_STR(a->jobs, name, job);
    return job;
}

static struct alps_job *job_new(struct adapter *a, const struct adapter_job *from)
{
    struct alps_job *job = xcalloc(1, sizeof *job);

    job->a = a;
    snprintf(job->name, sizeof job->name, "%s", from->name);
    job->dir = xstrdup(from->dir);
    job->want = from->resources;
    job->extra = from->resources.extra != NULL ? json_deep_copy(from->resources.extra) : NULL;
    job->grace_ms = from->grace_ms;
    job->serial = ++a->serial;
    job->pidfd = -1;
    HASH_ADD_STR(a->jobs, name, job);
    return job;
}

static void job_free(struct alps_job *job)
{
    HASH_DEL(job->a->jobs, job);
    json_decref(job->extra);
    free(job->dir);
    free(job);
}

static void poke(void *arg)
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
    if (job->node != NULL)
        job->node->job = NULL;
    job->node = NULL;
    answers_call(a->answers, poke, a);
    alps_turn(a);
}

/* ALPS may take a while to see that an application is gone, and other applications may be in the allocation. */
static void wait_for_room(struct alps_job *job, const char *words)
{
    struct adapter *a = job->a;
    struct alps_node *node = job->node;

    job->state = ALPS_WAITS;
    snprintf(job->reason, sizeof job->reason, "%s", words);
    job->node = NULL;
    if (node != NULL) {
        node->job = NULL;
        node->wait_ms = node->wait_ms == 0 ? (uint64_t)a->pause_ms : 2 * node->wait_ms;
        node->wait_ms = node->wait_ms < WAIT_MAX_MS ? node->wait_ms : WAIT_MAX_MS;
        node->not_before = uv_now(a->host.loop) + node->wait_ms;
    }
    alps_turn(a);
}

static void read_files(uv_work_t *work)
{
    struct ending *e = work->data;

    alps_files_read(e->job->dir, &e->files);
}

static void files_read(uv_work_t *work, int status)
{
    struct ending *e = work->data;
    struct alps_job *job = e->job;
    struct adapter *a = job->a;
    char reason[256];

    if (a->closing) {
        ;
    } else if (e->files.no_room && !e->files.claimed && !job->cancelled) {
        wait_for_room(job, e->files.words);
    } else {
        if (job->node != NULL)
            job->node->wait_ms = 0;
        job->node_lost = e->files.node_lost;
        snprintf(reason, sizeof reason, "%s%.120s%s%.120s", e->files.words[0] ? "ALPS: " : "", e->files.words,
                 e->files.words[0] && e->files.said[0] ? ": " : "", e->files.said);
        if (job->cancelled && !e->files.claimed)
            snprintf(reason, sizeof reason, "cancelled before it started");
        alps_job_over(job, reason);
    }
    free(e);
    alps_idle(a);
}

static void look_at_end(struct alps_job *job)
{
    struct ending *e = xcalloc(1, sizeof *e);

    job->state = ALPS_LOOKED_AT;
    job->pid = 0;
    job->kill_at = 0;
    e->job = job;
    e->work.data = e;
    alps_busy(job->a);
    uv_queue_work(job->a->host.loop, &e->work, read_files, files_read);
}

static void process_closed(uv_handle_t *handle)
{
    struct alps_job *job = handle->data;
    struct adapter *a = job->a;

    job->watched = false;
    if (!a->closing)
        look_at_end(job);
    alps_idle(a);
}

void alps_exited(uv_process_t *process, int64_t status, int sig)
{
    ((struct alps_job *)process->data)->pid = 0;
    uv_close((uv_handle_t *)process, process_closed);
}

static void watch_closed(uv_handle_t *handle)
{
    struct alps_job *job = handle->data;

    close(job->pidfd);
    job->pidfd = -1;
    process_closed(handle);
}

static void watched_exited(uv_poll_t *watch, int status, int events)
{
    ((struct alps_job *)watch->data)->pid = 0;
    uv_close((uv_handle_t *)watch, watch_closed);
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

static struct alps_job *first_waiting(const struct adapter *a)
{
    struct alps_job *first = NULL;

    for (struct alps_job *job = a->jobs; job != NULL; job = job->hh.next)
        if (job->state == ALPS_WAITS && !job->watched && (first == NULL || job->serial < first->serial))
            first = job;
    return first;
}

static struct alps_node *free_node(struct adapter *a, uint64_t now, uint64_t *next)
{
    struct alps_node *found = NULL;
    int64_t used = 0;

    for (size_t i = 0; i < a->n_nodes; i++) {
        struct alps_node *node = &a->node[i];

        used += node->job != NULL;
        if (node->job == NULL && node->not_before > now)
            *next = node->not_before < *next ? node->not_before : *next;
        else if (node->job == NULL && found == NULL)
            found = node;
    }
    return used < a->most ? found : NULL;
}

static void kill_due(struct alps_job *job, uint64_t now, uint64_t *next)
{
    struct adapter *a = job->a;

    if (job->kill_at == 0 || job->state != ALPS_RUNS)
        return;
    if (job->kill_at <= now) {
        a->host.log(a->host.arg, ADAPTER_LOG_WARN, job->name, "it did not end in time after it was cancelled: killing it");
        alps_kill(job);
        job->kill_at = now + OVERRUN_MS;
    }
    *next = job->kill_at < *next ? job->kill_at : *next;
}

static void timer_rang(uv_timer_t *timer)
{
    alps_turn(timer->data);
}

void alps_turn(struct adapter *a)
{
    uint64_t now = uv_now(a->host.loop), next = UINT64_MAX;
    struct alps_job *job, *after;
    struct alps_node *node = NULL;

    if (a->closing)
        return;
    HASH_ITER (hh, a->jobs, job, after) {
        kill_due(job, now, &next);
        if (job->state == ALPS_OVER && !job->watched && now > job->over_at + REMEMBERED_MS)
            job_free(job);
    }
    while ((job = first_waiting(a)) != NULL && now >= a->next_start && (node = free_node(a, now, &next)) != NULL) {
        a->next_start = now + (uint64_t)a->pause_ms;
        alps_start(job, node);
        if (job->state == ALPS_WAITS)
            break;
    }
    if (job != NULL && a->next_start > now)
        next = a->next_start < next ? a->next_start : next;
    if (next != UINT64_MAX)
        uv_timer_start(&a->timer, timer_rang, next > now ? next - now : 1, 0);
}

void alps_submit(struct adapter *a, const struct adapter_job *from, adapter_submit_cb *cb, void *arg)
{
    extern const struct adapter_ops adapter_alps;
    struct alps_job *job = alps_job_find(a, from->name);
    struct error err = {0};

    if (job == NULL && a->no_runner.text[0] != '\0') {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &a->no_runner);
    } else if (job == NULL && adapter_alps.check(a, &from->resources, &err) < 0) {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &err);
    } else {
        if (job == NULL)
            job_new(a, from);
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
    job = job_new(a, from);
    job->pid = files->pid;
    job->nid = files->nid;
    job->pidfd = fd;
    job->state = ALPS_RUNS;
    for (size_t i = 0; i < a->n_nodes; i++)
        if (a->node[i].nid == files->nid && a->node[i].job == NULL) {
            job->node = &a->node[i];
            job->node->job = job;
        }
    uv_poll_init(a->host.loop, &job->watch, fd);
    job->watch.data = job;
    job->watched = true;
    alps_busy(a);
    uv_poll_start(&job->watch, UV_READABLE, watched_exited);
    return job;
}

/* The number of one that is not our child may be another's as soon as it has ended. */
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

static void kill_now(uv_work_t *work, int status)
{
    struct ending *e = work->data;
    struct alps_job *job = e->job;
    struct adapter *a = job->a;

    if (!a->closing && job->state == ALPS_RUNS && job->pid > 0) {
        char apid[24];
        const char *const args[] = {a->apkill, "-KILL", apid, NULL};

        snprintf(apid, sizeof apid, "%lld", e->files.apid);
        if (e->files.apid > 0) {
            alps_busy(a);
            commands_run(a->commands, &(struct command){.argv = args, .env = (const char *const *)a->env, .limit_ms = 20000,
                                                        .out_max = 4096, .err_max = 4096},
                         apkilled, a);
        }
        alps_signal_aprun(job, SIGKILL);
    }
    free(e);
    alps_idle(a);
}

/* Where aprun is killed its application is, too, sooner or later: it is told so besides. */
void alps_kill(struct alps_job *job)
{
    struct ending *e = xcalloc(1, sizeof *e);

    e->job = job;
    e->work.data = e;
    alps_busy(job->a);
    uv_queue_work(job->a->host.loop, &e->work, read_files, kill_now);
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
            job_free(job);
        }
    }
}

/* The state of a job, read from the run directory and the process table. This is done on worker threads, since file
 * systems may take long. */
#include "scheduler-adapters/local.h"

#include "common/files.h"
#include "common/log.h"
#include "common/process.h"
#include "common/xalloc.h"
#include "tasks/proto/exitrec.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define SWEEP_PAUSE_MS 20
#define SWEEPS_MAX 500
#define LOOK_LATER_MS 1000

/* Kills every process that carries the job's name. Two passes in a row must find none, since a process that is just
 * being started shows no environment for a moment. */
static void job_sweep_processes(const char *name, const atomic_bool *stop)
{
    int quiet = 0;

    for (int i = 0; i < SWEEPS_MAX && quiet < 2 && !atomic_load(stop); i++) {
        const struct timespec pause = {.tv_nsec = SWEEP_PAUSE_MS * 1000000L};

        if (i > 0)
            nanosleep(&pause, NULL);
        /* a pilot's jobs carry their own names, but its mark */
        quiet = process_signal_marked("STRETTO_JOB", name, SIGKILL) +
                            process_signal_marked("STRETTO_PILOT", name, SIGKILL) ==
                        0
                    ? quiet + 1
                    : 0;
    }
    if (quiet < 2 && !atomic_load(stop))
        log_warn("job %s: processes are left that do not die", name);
}

static enum local_found look_at_end(const char *dir, struct local_look *out)
{
    char *path = xasprintf("%s/ended.json", dir);
    struct job_ended ended;
    int rc = job_ended_read(path, &ended, &out->err), saved = errno;

    free(path);
    if (rc < 0)
        return saved == ENOENT ? LOCAL_FOUND_LOST : LOCAL_FOUND_UNSURE;
    snprintf(out->reason, sizeof out->reason, "%s", ended.reason);
    return LOCAL_FOUND_ENDED;
}

void local_look(const char *dir, const char *name, const atomic_bool *stop, struct local_look *out)
{
    char *log_path;

    memset(out, 0, sizeof *out);
    if (claim_read(dir, &out->claim, &out->err) < 0)
        out->found = errno == ENOENT ? LOCAL_FOUND_NOTHING : errno == EBADMSG ? LOCAL_FOUND_LOST : LOCAL_FOUND_UNSURE;
    else if (claim_alive(&out->claim))
        out->found = LOCAL_FOUND_ALIVE;
    else
        /* read after the process was seen gone, since a runner writes its end first */
        out->found = look_at_end(dir, out);
    if (out->found == LOCAL_FOUND_LOST)
        job_sweep_processes(name, stop);
    if (out->found == LOCAL_FOUND_LOST || out->found == LOCAL_FOUND_ENDED)
        job_tmpdir_remove(out->claim.tmpdir); /* its runner may have been killed just before it did this */
    if (out->found == LOCAL_FOUND_LOST || out->found == LOCAL_FOUND_NOTHING) {
        log_path = xasprintf("%s/runner.log", dir);
        file_last_line(log_path, NULL, out->log_line, sizeof out->log_line);
        free(log_path);
    }
}

struct starting {
    struct local_looked *looked;
    size_t n;
    bool *seen;
    size_t n_seen;
};

static void note_starting(void *arg, const char *name)
{
    struct starting *s = arg;

    for (size_t i = 0; i < s->n; i++) {
        if (s->looked[i].look.found != LOCAL_FOUND_NOTHING || s->seen[i] || strcmp(s->looked[i].name, name) != 0)
            continue;
        s->seen[i] = true;
        s->n_seen++;
    }
}

static bool any_unclaimed(const struct local_looked *looked, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (looked[i].look.found == LOCAL_FOUND_NOTHING)
            return true;
    return false;
}

void local_look_starting(struct local_looked *looked, size_t n, const atomic_bool *stop)
{
    const struct timespec pause = {.tv_nsec = SWEEP_PAUSE_MS * 1000000L};
    struct starting s = {.looked = looked, .n = n};
    int quiet = 0;

    s.seen = xcalloc(n, sizeof *s.seen);
    for (int tries = 0; any_unclaimed(looked, n) && quiet < 2 && !atomic_load(stop); tries++) {
        if (tries > 0)
            nanosleep(&pause, NULL);
        memset(s.seen, 0, n * sizeof *s.seen);
        s.n_seen = 0;
        process_each_marked("STRETTO_RUNNER", note_starting, &s);
        /* a process that is just being started shows no environment for a moment */
        quiet = s.n_seen == 0 ? quiet + 1 : 0;
        for (size_t i = 0; i < n; i++) {
            if (!s.seen[i])
                continue;
            local_look(looked[i].dir, looked[i].name, stop, &looked[i].look);
            if (looked[i].look.found == LOCAL_FOUND_NOTHING && tries == SWEEPS_MAX) {
                log_warn_of(LOG_JOB(0, looked[i].name), "job %s: its runner has not claimed it in %d s: killing it",
                            looked[i].name, SWEEPS_MAX * SWEEP_PAUSE_MS / 1000);
                process_signal_marked("STRETTO_RUNNER", looked[i].name, SIGKILL);
            } else if (looked[i].look.found == LOCAL_FOUND_NOTHING && tries >= 2 * SWEEPS_MAX) {
                looked[i].look.found = LOCAL_FOUND_UNSURE;
                error_set(&looked[i].look.err, "job_starting",
                          "a runner of job %s has not claimed it, and cannot be killed", looked[i].name);
            }
        }
    }
    free(s.seen);
}

struct look_work {
    uv_work_t work;
    struct adapter *a;
    struct local_job *job;
    struct local_look look;
};

static void do_look(uv_work_t *work)
{
    struct look_work *w = work->data;

    local_look(w->job->dir, w->job->name, &w->a->closing, &w->look);
}

/* Ends a job whose runner neither ended well nor left a claim. */
static void end_unclaimed(struct local_job *job, const struct local_look *look)
{
    char reason[256];

    if (job->exit_signal != 0 && job->cancelled) {
        local_job_ended(job, "cancelled before it started", false);
        return;
    }
    if (job->exit_signal != 0)
        snprintf(reason, sizeof reason, "the runner was killed by signal %d before it started", job->exit_signal);
    else
        snprintf(reason, sizeof reason, "the runner ended with status %d: %.200s", job->exit_status, look->log_line);
    local_job_ended(job, reason, job->exit_signal != 0);
}

static void end_lost(struct local_job *job, const struct local_look *look)
{
    char reason[256];

    if (job->killed_for != NULL) {
        local_job_ended(job, job->killed_for, false);
    } else if (job->exit_signal == 0 && job->exit_status != 0 && job->exit_status != EX_TEMPFAIL) {
        /* the runner gave up by itself, and its log says why: another try would not help */
        snprintf(reason, sizeof reason, "the runner ended with status %d: %.200s", job->exit_status, look->log_line);
        local_job_ended(job, reason, false);
    } else {
        local_job_ended(job, "the runner was killed", true);
    }
}

static void look_after_pause(uv_timer_t *timer)
{
    struct local_job *job = timer->data;

    local_close_handles(job);
    local_look_into(job);
}

static void local_look_later(struct local_job *job)
{
    job->look_again = xcalloc(1, sizeof *job->look_again);
    job->look_again->data = job;
    uv_timer_init(job->a->host.loop, job->look_again);
    uv_timer_start(job->look_again, look_after_pause, LOOK_LATER_MS, 0);
}

static void look_done(uv_work_t *work, int status)
{
    struct look_work *w = work->data;
    struct local_job *job = w->job;
    struct adapter *a = w->a;

    if (!atomic_load(&a->closing)) {
        switch (w->look.found) {
        case LOCAL_FOUND_ENDED: local_job_ended(job, w->look.reason, false); break;
        case LOCAL_FOUND_LOST: end_lost(job, &w->look); break;
        case LOCAL_FOUND_NOTHING:
            if (runner_waits_for(job->exit_status) != NULL)
                local_start_again(job, runner_waits_for(job->exit_status));
            else
                end_unclaimed(job, &w->look);
            break;
        case LOCAL_FOUND_ALIVE: /* another runner of the same job was first */
            if (local_adopt(job, &w->look.claim) < 0)
                local_look_into(job);
            else if (job->cancelled)
                local_terminate(job);
            break;
        case LOCAL_FOUND_UNSURE:
            if (runner_waits_for(job->exit_status) != NULL) { /* it has claimed nothing, and says why it waits */
                local_start_again(job, runner_waits_for(job->exit_status));
                break;
            }
            log_warn_of(LOG_JOB(0, job->name), "job %s: %s; looking again", job->name, w->look.err.text);
            local_look_later(job);
            break;
        }
    }
    free(w);
    local_worker_done(a);
}

void local_look_into(struct local_job *job)
{
    struct look_work *w = xcalloc(1, sizeof *w);

    job->state = LOCAL_LOOKING;
    w->work.data = w;
    w->a = job->a;
    w->job = job;
    w->a->workers++;
    uv_queue_work(w->a->host.loop, &w->work, do_look, look_done);
}

#include "tasks/runner/task.h"

#include "common/files.h"
#include "common/log_format.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/retries.h"
#include "tasks/proto/streams.h"
#include "tasks/runner/done.h"
#include "tasks/runner/oom.h"
#include "tasks/runner/pattern.h"
#include "tasks/runner/ran.h"
#include "tasks/runner/silence.h"
#include "tasks/runner/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void task_init(struct task *t, const struct job *job, const struct jobdesc_task *desc)
{
    memset(t, 0, sizeof *t);
    t->job = job;
    t->desc = desc;
    snprintf(t->mark, sizeof t->mark, "%s/%s", job->desc->job, desc->id);
    snprintf(t->rec.job, sizeof t->rec.job, "%s", job->desc->job);
    snprintf(t->rec.id, sizeof t->rec.id, "%s", desc->id);
    snprintf(t->rec.host, sizeof t->rec.host, "%s", job->host);
    t->rec.exit_code = -1;
    t->kill_at = t->arrived_until = INT64_MAX;
}

void task_skip(struct task *t, enum stop why)
{
    struct error err;

    dir_make(t->desc->dir, &err); /* if this fails, writing the record reports it */
    t->ended = true;
    t->rec.started = t->rec.ended = (double)t->job->machine->unix_ms() / 1000;
    t->rec.outcome = why == STOP_TIMEOUT ? EXITREC_TIMEOUT : EXITREC_CANCELLED;
    snprintf(t->rec.reason, sizeof t->rec.reason, "%s before it started",
             why == STOP_TIMEOUT ? "the walltime was over"
             : why == STOP_RANK  ? "another rank failed"
                                 : "cancelled");
}

static bool success_file_there(const struct task *t)
{
    struct stat st;
    char *path;
    bool there;

    if (t->desc->success_file == NULL)
        return false;
    path = xasprintf("%s/%s", t->desc->dir, t->desc->success_file);
    there = stat(path, &st) == 0 ||
            (pattern_is(t->desc->success_file) && pattern_matches(t->desc->dir, t->desc->success_file));
    free(path);
    return there;
}

/* Tells whether this is a rank beside others, which may wait for it, that has ended without saying that it is done. */
static bool lacks_done(const struct task *t)
{
    const char *ranks = json_string_value(json_object_get(t->desc->env, "STRETTO_RANKS"));

    return t->job->desc->kind == JOBDESC_TRAINING && ranks != NULL && strcmp(ranks, "1") != 0 && !task_is_done(t);
}

/* Tells whether the task has closed every stream that it opened, and has opened one if it must. */
static bool has_closed_streams(const struct task *t)
{
    struct streams streams;

    if (t->job->desc->streams == JOBDESC_STREAMS_NONE)
        return true;
    streams_count(t->desc->dir, &streams);
    return streams.open == 0 && streams.paused == 0 &&
           (streams.closed > 0 || t->job->desc->streams == JOBDESC_STREAMS_OPTIONAL);
}

/* Adds the last line of the program's stderr or merged output to the reason, without mere notices of our library. */
static void add_last_line(struct task *t)
{
    char line[300], *path = xasprintf("%s/%s", t->desc->dir, t->job->desc->merged ? "stdout" : "stderr");
    size_t len = strlen(t->rec.reason);

    file_last_line(path, log_is_notice, line, sizeof line);
    free(path);
    if (line[0] != '\0')
        snprintf(t->rec.reason + len, sizeof t->rec.reason - len, ": %s", line);
}

/* Explains the end of a task that stopped by itself because its time, or the time for its next checkpoint, was over. */
static void explain_stop(struct task *t)
{
    struct exitrec *rec = &t->rec;
    const char *when = t->warned ? "near the end of its time" : "before the end of its time";

    if (rec->signal != 0)
        snprintf(rec->reason, sizeof rec->reason, "ended %s by signal %d (%s)", when, rec->signal,
                 strsignal(rec->signal));
    else if (t->desc->success_file != NULL && !success_file_there(t) && rec->exit_code == 0)
        snprintf(rec->reason, sizeof rec->reason, "stopped %s: exit status 0, and \"%.200s\" is missing", when,
                 t->desc->success_file);
    else
        snprintf(rec->reason, sizeof rec->reason, "stopped %s: exit status %d", when, rec->exit_code);
}

/* Tells whether the task died for lack of memory: it was killed, or is a launcher or a shell that reports that of its
 * child, and the kernel has just killed a process for lack of memory. */
static bool is_out_of_memory(const struct task *t)
{
    bool killed = t->rec.signal == SIGKILL || t->rec.exit_code == SIGKILL || t->rec.exit_code == 128 + SIGKILL;

    return killed && t->why == STOP_NONE && t->job->oom != NULL && oom_struck(t->job->oom);
}

static void explain_want_of_memory(struct exitrec *rec)
{
    long long mib = rec->max_rss >> 20;

    if (rec->signal != 0)
        snprintf(rec->reason, sizeof rec->reason, "out of memory: killed by the kernel, with %lld MiB in use", mib);
    else
        snprintf(rec->reason, sizeof rec->reason,
                 "out of memory: exit status %d, after the kernel killed a process; the largest had %lld MiB in use",
                 rec->exit_code, mib);
}

/* Returns the signal by which the task, or the child that a shell or launcher reports so, was ended; 0 for none. */
static int signal_of(const struct task *t)
{
    return t->rec.signal != 0 ? t->rec.signal : t->rec.exit_code > 128 ? t->rec.exit_code - 128 : 0;
}

/* Returns whether somebody else ended the task that has failed. Lack of memory is its own, and so is silence, except
 * that of a rank that was stopped. */
static bool was_killed(const struct task *t, bool out_of_memory)
{
    if (t->rec.outcome != EXITREC_FAILED)
        return false;
    if (t->silent != SILENT_NOT)
        return t->silent == SILENT_STOPPED && t->job->desc->kind == JOBDESC_TRAINING;
    return !out_of_memory && retries_is_from_outside(signal_of(t));
}

/* Explains why a task with exit status 0 has failed: it lacks something that success leaves behind. */
static void explain_lack(struct exitrec *rec, const struct task *t)
{
    struct streams streams;

    streams_count(t->desc->dir, &streams);
    if (t->desc->success_file != NULL && !success_file_there(t))
        snprintf(rec->reason, sizeof rec->reason, "exit status 0, but \"%.200s\" is missing", t->desc->success_file);
    else if (streams.open > 0)
        snprintf(rec->reason, sizeof rec->reason, "exit status 0, but it did not close %s: samples may be missing",
                 streams.open + streams.closed == 1 ? "the stream that it had opened"
                                                    : "all streams that it had opened");
    else if (streams.paused > 0)
        snprintf(rec->reason, sizeof rec->reason,
                 "exit status 0, but it stopped at a checkpoint before its end, and there is none to go on from");
    else
        snprintf(rec->reason, sizeof rec->reason,
                 "exit status 0, but it never opened a stream to the training, as members must unless the spec says "
                 "\"streams\": \"optional\"");
}

/* Notes that a task which need not open a stream has opened none. */
static void note_no_stream(struct task *t)
{
    struct streams streams;
    size_t len = strlen(t->rec.notice);

    if (t->job->desc->streams != JOBDESC_STREAMS_OPTIONAL)
        return;
    streams_count(t->desc->dir, &streams);
    if (streams.closed == 0 && len < sizeof t->rec.notice)
        snprintf(t->rec.notice + len, sizeof t->rec.notice - len, "%sit opened no stream to the training",
                 len > 0 ? "; " : "");
}

static void explain(struct task *t, enum stop why)
{
    struct exitrec *rec = &t->rec;
    bool out_of_memory = is_out_of_memory(t);
    size_t size = sizeof rec->reason;
    double silent = (double)t->silent_ms / 1000;
    bool group = t->job->desc->kind == JOBDESC_TRAINING && t->job->desc->ntasks > 1;

    rec->killed = was_killed(t, out_of_memory);
    if (out_of_memory)
        explain_want_of_memory(rec);
    else if (rec->outcome == EXITREC_FAILED && t->silent == SILENT_STOPPED)
        snprintf(rec->reason, size, "ended, since all its processes were stopped for %g s", silent);
    else if (rec->outcome == EXITREC_FAILED && t->silent == SILENT_BLOCKED)
        snprintf(rec->reason, size,
                 "ended, since %s sign of life for %g s: no sample, no report, no output, no CPU time",
                 group ? "no rank showed any" : "it showed no", silent);
    else if (rec->outcome == EXITREC_TIMEOUT && why == STOP_NONE)
        explain_stop(t);
    else if (rec->outcome == EXITREC_TIMEOUT && t->job->late)
        snprintf(rec->reason, size, "ended with what was left of its allocation's time");
    else if (rec->outcome == EXITREC_TIMEOUT && t->job->cut_short)
        snprintf(rec->reason, size, "ended before the batch system would end the job");
    else if (rec->outcome == EXITREC_TIMEOUT)
        snprintf(rec->reason, size, "ended at the walltime of %g s", (double)t->job->desc->walltime_ms / 1000);
    else if (rec->outcome == EXITREC_CANCELLED)
        snprintf(rec->reason, size, "%s", why == STOP_RANK ? "ended, because another rank failed" : "cancelled");
    else if (rec->signal != 0)
        snprintf(rec->reason, size, "killed by signal %d (%s)", rec->signal, strsignal(rec->signal));
    else if (rec->exit_code != 0)
        snprintf(rec->reason, size, "exit status %d", rec->exit_code);
    else if (t->job->desc->kind == JOBDESC_TRAINING)
        snprintf(rec->reason, size, "exit status 0, without having said that it was done (rx.done())");
    else
        explain_lack(rec, t);
    add_last_line(t);
}

/* Tells whether exit status 0 is success. After the warning it proves nothing for a member, since programs that stop
 * early exit with 0, too, unless it has reported that it has finished. A rank tells by its done record whether it has
 * stopped early. */
static bool zero_is_success(const struct task *t)
{
    if (t->metrics != NULL && metrics_finished(t->metrics) && t->silent == SILENT_NOT)
        return true;
    return t->why == STOP_NONE && t->silent == SILENT_NOT && (!t->warned || t->job->desc->kind == JOBDESC_TRAINING) &&
           !lacks_done(t);
}

/* Tells whether a task that did not succeed, and was not ended, lacked time. A program that leaves checkpoints stops
 * when its next one does not fit, and may show that only by exit status 0, unless it leaves a stream open; near the
 * end, any end is attributed to that. */
static bool is_out_of_time(const struct task *t, bool exited_0)
{
    struct streams streams;

    if (t->checkpoints.desc == NULL || t->warned)
        return t->checkpoints.desc != NULL;
    streams_count(t->desc->dir, &streams);
    return exited_0 && json_array_size(t->checkpoints.whole) > 0 && streams.open == 0;
}

/* A rank that was done and was told to end has ended well, by whatever signal. */
static void note_told_rank(struct task *t)
{
    if (!t->arrived || t->job->desc->kind != JOBDESC_TRAINING)
        return;
    t->rec.exit_code = t->rec.signal = 0;
    snprintf(t->rec.notice, sizeof t->rec.notice,
             "it did not end after it had said that it was done, as a thread of it may have been left: told to end");
}

void task_end(struct task *t, int status, const struct rusage *usage, enum stop why)
{
    struct exitrec *rec = &t->rec;

    t->pid = 0;
    t->why = why;
    rec->ended = (double)t->job->machine->unix_ms() / 1000;
    rec->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    rec->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    rec->user_seconds = (double)usage->ru_utime.tv_sec + (double)usage->ru_utime.tv_usec / 1e6;
    rec->system_seconds = (double)usage->ru_stime.tv_sec + (double)usage->ru_stime.tv_usec / 1e6;
    rec->max_rss = (int64_t)usage->ru_maxrss * 1024;
    note_told_rank(t);
}

bool task_died_as_told(const struct task *t)
{
    int sig = signal_of(t);

    return sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
}

bool task_looks_whole(const struct task *t)
{
    return t->rec.exit_code == 0 && (t->desc->success_file == NULL || success_file_there(t)) && !lacks_done(t) &&
           has_closed_streams(t);
}

/* Decides by the metrics that the task reported, where its exit status, and the file that it must leave, say that it
 * has succeeded. Returns whether it has. */
static bool has_reached(struct task *t)
{
    struct exitrec *rec = &t->rec;
    enum metrics_verdict verdict =
        t->metrics != NULL ? metrics_judge(t->metrics, rec->reason, sizeof rec->reason) : METRICS_REACHED;

    rec->outcome = verdict == METRICS_REACHED ? EXITREC_SUCCEEDED : EXITREC_FAILED;
    rec->final = verdict == METRICS_MISSED;
    return verdict == METRICS_REACHED;
}

/* Tells whether the task has reached the step up to which its attempt was to go, where that is not the last one of all.
 * A task that was told to end there may have done so in any way. One that went on from a checkpoint and reports nothing
 * had nothing left to do: an earlier attempt has reported that step, and was lost after its checkpoint. */
static bool has_arrived(struct task *t)
{
    struct exitrec *rec = &t->rec;
    struct metrics_rung rung;
    bool exited_0 = rec->exit_code == 0, went_on;

    if (t->metrics == NULL || t->desc->until == 0)
        return false;
    rec->at_rung = exited_0 && t->why == STOP_NONE && !t->warned ? metrics_ended_at_rung(t->metrics, &rung)
                                                                 : metrics_at_rung(t->metrics, &rung);
    rec->rung_step = rung.step;
    rec->rung_value = rung.value;
    went_on = rec->resumed != NULL && metrics_rung_step(t->metrics) < 0;
    if (t->desc->last || !(rec->at_rung || went_on) || !(exited_0 || t->arrived) || t->silent != SILENT_NOT)
        return false;
    if (rec->at_rung)
        snprintf(rec->reason, sizeof rec->reason, "reached step %lld, with %s %.6g", (long long)rung.step,
                 t->job->desc->metrics.rung, rung.value);
    else
        snprintf(rec->reason, sizeof rec->reason, "reached step %lld before", (long long)t->desc->until);
    rec->outcome = EXITREC_REACHED;
    return true;
}

/* Judges a task that was to go up to a step, and ended by itself before it. Returns whether that may be success. */
static bool may_end_before_rung(struct task *t)
{
    struct exitrec *rec = &t->rec;
    size_t len = strlen(rec->notice);
    int64_t step;

    if (t->metrics == NULL || t->desc->until == 0 || rec->at_rung)
        return true;
    step = metrics_rung_step(t->metrics);
    if (step < 0 && rec->resumed == NULL) {
        rec->outcome = EXITREC_FAILED;
        snprintf(rec->reason, sizeof rec->reason, "it reported no metric \"%s\", by which members are stopped early",
                 t->job->desc->metrics.rung);
        return false;
    }
    if (step >= 0 && len < sizeof rec->notice)
        snprintf(rec->notice + len, sizeof rec->notice - len, "%sit ended by itself after step %lld, before step %lld",
                 len > 0 ? "; " : "", (long long)step, (long long)t->desc->until);
    return true;
}

bool task_read_metrics(struct task *t)
{
    return t->metrics == NULL || metrics_end(t->metrics, t->job->machine->unix_ms());
}

void task_leave_metrics(struct task *t, enum stop why)
{
    metrics_cut(t->metrics);
    t->unread = why;
}

/* Tells of a task that ended well, and whose metrics were not read to their end: nobody can judge by them. */
static void explain_unread(struct task *t)
{
    struct exitrec *rec = &t->rec;

    rec->outcome = t->unread == STOP_TIMEOUT ? EXITREC_TIMEOUT : EXITREC_CANCELLED;
    rec->late = t->unread == STOP_TIMEOUT && t->job->late;
    snprintf(rec->reason, sizeof rec->reason, "%s before all its metrics were read",
             t->unread == STOP_TIMEOUT ? "its time was over" : "it was cancelled");
}

/* Returns whether the task has diverged, by its last metrics. */
static bool has_diverged(struct task *t)
{
    struct exitrec *rec = &t->rec;

    if (t->metrics == NULL)
        return false;
    rec->points = metrics_size(t->metrics);
    metrics_notice(t->metrics, rec->notice, sizeof rec->notice);
    return (t->why == STOP_NONE || t->why == STOP_TIMEOUT) && t->silent == SILENT_NOT && t->unread == STOP_NONE &&
           metrics_diverged(t->metrics, true, rec->reason, sizeof rec->reason);
}

bool task_leaves_checkpoints(const struct task *t)
{
    return t->checkpoints.desc != NULL;
}

bool task_is_gone(const struct task *t)
{
    struct tree_task task = {t->mark, t->session};
    struct tree tree;
    bool gone;

    tree_look(&tree, &task, 1);
    gone = tree_signal(&tree, 0, 0) == 0;
    tree_free(&tree);
    return gone;
}

/* Makes a directory, and at most so many of those above it. Returns whether it was missing. */
static bool make_again(const char *dir, int above)
{
    char *parent;

    if (mkdir(dir, 0700) == 0)
        return true;
    if (errno != ENOENT || above == 0)
        return false;
    parent = xstrdup(dir);
    *strrchr(parent, '/') = '\0';
    make_again(parent, above - 1);
    free(parent);
    return mkdir(dir, 0700) == 0;
}

/* Tells whether the task's directory was removed, which loses its output, and makes it again, so that the exit record
 * has a place. A member may remove its own directory as well, which is above that of the attempt and beside which its
 * checkpoints lie. The ensemble's is not made, since a whole file system may be missing. */
static bool directory_was_removed(const struct task *t)
{
    return make_again(t->desc->dir, t->job->desc->kind == JOBDESC_MEMBERS ? 2 : 0);
}

static void conclude(struct task *t)
{
    struct exitrec *rec = &t->rec;
    bool exited_0 = rec->exit_code == 0, done;

    rec->checkpoints = t->checkpoints.whole;
    rec->ran = ran_end(t->ran);
    if (has_diverged(t)) {
        rec->outcome = EXITREC_DIVERGED;
        return;
    }
    if (directory_was_removed(t) && t->why == STOP_NONE) {
        rec->outcome = EXITREC_FAILED;
        snprintf(rec->reason, sizeof rec->reason, "its directory was removed while it ran");
        return;
    }
    if (t->unread != STOP_NONE && (exited_0 || t->arrived)) {
        explain_unread(t);
        return;
    }
    if (has_arrived(t))
        return;
    done = t->arrived && t->silent == SILENT_NOT; /* at its last step */
    /* After a task was told to end, its exit status 0 proves nothing, since programs that stop early exit with 0, too.
     * Only its success_file proves that it succeeded. A task that did not close its stream has not succeeded. */
    if ((exited_0 || done) && (t->desc->success_file ? success_file_there(t) : done || zero_is_success(t)) &&
        has_closed_streams(t)) {
        note_no_stream(t);
        if (!may_end_before_rung(t) || !has_reached(t))
            add_last_line(t);
        return;
    }
    if (t->why == STOP_TIMEOUT || (t->why == STOP_NONE && t->silent == SILENT_NOT && is_out_of_time(t, exited_0)))
        rec->outcome = EXITREC_TIMEOUT;
    else
        rec->outcome = t->why == STOP_NONE ? EXITREC_FAILED : EXITREC_CANCELLED;
    rec->late = rec->outcome == EXITREC_TIMEOUT && t->job->late;
    explain(t, t->why);
}

void task_conclude(struct task *t)
{
    t->ended = true;
    conclude(t);
    if (t->job->desc->streams != JOBDESC_STREAMS_NONE)
        streams_clear(t->desc->dir);
}

void task_fini(struct task *t)
{
    json_decref(t->artefacts);
    ran_destroy(t->ran);
    checkpoints_fini(&t->checkpoints);
    metrics_destroy(t->metrics);
    rendezvous_fini(&t->rendezvous);
}

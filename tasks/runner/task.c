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
    snprintf(t->rec.end.host, sizeof t->rec.end.host, "%s", job->host);
    t->rec.end.exit_code = -1;
    t->kill_at = t->arrived_until = INT64_MAX;
}

void task_skip(struct task *t, enum stop why)
{
    struct error err;

    dir_make(t->desc->dir, &err); /* if this fails, writing the record reports it */
    t->rec.end.started_ms = t->rec.end.ended_ms = t->job->machine->unix_ms();
    t->rec.end.outcome = why == STOP_TIMEOUT ? ATTEMPT_TIMEOUT : ATTEMPT_CANCELLED;
    snprintf(t->rec.end.reason, sizeof t->rec.end.reason, "%s before it started",
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

/* Returns whether this is a rank beside others, which may wait for it, that has ended without saying that it is
 * done. */
static bool lacks_done(const struct task *t)
{
    const char *ranks = json_string_value(json_object_get(t->desc->env, "STRETTO_RANKS"));

    return t->job->desc->kind == JOBDESC_TRAINING && ranks != NULL && strcmp(ranks, "1") != 0 && !task_is_done(t);
}

/* Returns whether the task has closed every stream that it opened, and has opened one if it must. */
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
    size_t len = strlen(t->rec.end.reason);

    file_last_line(path, log_is_notice, line, sizeof line);
    free(path);
    if (line[0] != '\0')
        snprintf(t->rec.end.reason + len, sizeof t->rec.end.reason - len, ": %s", line);
}

/* Explains the end of a task that stopped by itself because its time, or the time for its next checkpoint, was over. */
static void task_explain_stop(struct task *t)
{
    struct attempt_end *end = &t->rec.end;
    const char *when = t->warned ? "near the end of its time" : "before the end of its time";

    if (end->signal != 0)
        snprintf(end->reason, sizeof end->reason, "ended %s by signal %d (%s)", when, end->signal,
                 strsignal(end->signal));
    else if (t->desc->success_file != NULL && !success_file_there(t) && end->exit_code == 0)
        snprintf(end->reason, sizeof end->reason, "stopped %s: exit status 0, and \"%.200s\" is missing", when,
                 t->desc->success_file);
    else
        snprintf(end->reason, sizeof end->reason, "stopped %s: exit status %d", when, end->exit_code);
}

/* Returns whether the task died for lack of memory. That is so if it was killed, or is a launcher or a shell that
 * reports that of its child, and the kernel has just killed a process for lack of memory. */
static bool is_out_of_memory(const struct task *t)
{
    bool killed =
        t->rec.end.signal == SIGKILL || t->rec.end.exit_code == SIGKILL || t->rec.end.exit_code == 128 + SIGKILL;

    return killed && t->why == STOP_NONE && t->job->oom != NULL && oom_struck(t->job->oom);
}

static void explain_want_of_memory(struct attempt_end *end)
{
    long long mib = end->memory_peak >> 20;

    if (end->signal != 0)
        snprintf(end->reason, sizeof end->reason, "out of memory: killed by the kernel, with %lld MiB in use", mib);
    else
        snprintf(end->reason, sizeof end->reason,
                 "out of memory: exit status %d, after the kernel killed a process; the largest had %lld MiB in use",
                 end->exit_code, mib);
}

/* Returns the signal by which the task, or the child that a shell or launcher reports so, was ended; 0 for none. */
static int signal_of(const struct task *t)
{
    return t->rec.end.signal != 0 ? t->rec.end.signal : t->rec.end.exit_code > 128 ? t->rec.end.exit_code - 128 : 0;
}

/* Returns whether somebody else ended the task that has failed. Lack of memory is its own, and so is silence, except
 * that of a rank that was stopped. */
static bool was_killed(const struct task *t, bool out_of_memory)
{
    if (t->rec.end.outcome != ATTEMPT_FAILED)
        return false;
    if (task_is_silent(t))
        return t->told == TOLD_STOPPED && t->job->desc->kind == JOBDESC_TRAINING;
    return !out_of_memory && retries_is_from_outside(signal_of(t));
}

/* Explains why a task with exit status 0 has failed: it lacks something that success leaves behind. */
static void explain_lack(struct attempt_end *end, const struct task *t)
{
    struct streams streams;

    streams_count(t->desc->dir, &streams);
    if (t->desc->success_file != NULL && !success_file_there(t))
        snprintf(end->reason, sizeof end->reason, "exit status 0, but \"%.200s\" is missing", t->desc->success_file);
    else if (streams.open > 0)
        snprintf(end->reason, sizeof end->reason, "exit status 0, but it did not close %s: samples may be missing",
                 streams.open + streams.closed == 1 ? "the stream that it had opened"
                                                    : "all streams that it had opened");
    else if (streams.paused > 0)
        snprintf(end->reason, sizeof end->reason,
                 "exit status 0, but it stopped at a checkpoint before its end, and there is none to go on from");
    else
        snprintf(end->reason, sizeof end->reason,
                 "exit status 0, but it never opened a stream to the training, as members must unless the spec says "
                 "\"streams\": \"optional\"");
}

/* Notes that a task which need not open a stream has opened none. */
static void note_no_stream(struct task *t)
{
    struct streams streams;
    size_t len = strlen(t->rec.end.notice);

    if (t->job->desc->streams != JOBDESC_STREAMS_OPTIONAL)
        return;
    streams_count(t->desc->dir, &streams);
    if (streams.closed == 0 && len < sizeof t->rec.end.notice)
        snprintf(t->rec.end.notice + len, sizeof t->rec.end.notice - len, "%sit opened no stream to the training",
                 len > 0 ? "; " : "");
}

static void task_explain_end(struct task *t, enum stop why)
{
    struct attempt_end *end = &t->rec.end;
    bool out_of_memory = is_out_of_memory(t);
    size_t size = sizeof end->reason;
    double silent = (double)t->silent_ms / 1000;
    bool group = t->job->desc->kind == JOBDESC_TRAINING && t->job->desc->ntasks > 1;

    end->how = was_killed(t, out_of_memory) ? ATTEMPT_KILLED : ATTEMPT_RAN;
    if (out_of_memory)
        explain_want_of_memory(end);
    else if (end->outcome == ATTEMPT_FAILED && t->told == TOLD_STOPPED)
        snprintf(end->reason, size, "ended, since all its processes were stopped for %g s", silent);
    else if (end->outcome == ATTEMPT_FAILED && t->told == TOLD_BLOCKED)
        snprintf(end->reason, size,
                 "ended, since %s sign of life for %g s: no sample, no report, no output, no CPU time",
                 group ? "no rank showed any" : "it showed no", silent);
    else if (end->outcome == ATTEMPT_TIMEOUT && why == STOP_NONE)
        task_explain_stop(t);
    else if (end->outcome == ATTEMPT_TIMEOUT && t->job->late)
        snprintf(end->reason, size, "ended with what was left of its allocation's time");
    else if (end->outcome == ATTEMPT_TIMEOUT && t->job->cut_short)
        snprintf(end->reason, size, "ended before the batch system would end the job");
    else if (end->outcome == ATTEMPT_TIMEOUT)
        snprintf(end->reason, size, "ended at the walltime of %g s", (double)t->job->desc->walltime_ms / 1000);
    else if (end->outcome == ATTEMPT_CANCELLED)
        snprintf(end->reason, size, "%s", why == STOP_RANK ? "ended, because another rank failed" : "cancelled");
    else if (end->signal != 0)
        snprintf(end->reason, size, "killed by signal %d (%s)", end->signal, strsignal(end->signal));
    else if (end->exit_code != 0)
        snprintf(end->reason, size, "exit status %d", end->exit_code);
    else if (t->job->desc->kind == JOBDESC_TRAINING)
        snprintf(end->reason, size, "exit status 0, without having said that it was done (rx.done())");
    else
        explain_lack(end, t);
    add_last_line(t);
}

/* Returns whether exit status 0 is success. After the warning it proves nothing for a member, unless the member has
 * reported that it has finished, since programs that stop early exit with 0, too. A rank says by its done record
 * whether it has stopped early. */
static bool zero_is_success(const struct task *t)
{
    if (t->metrics != NULL && metrics_finished(t->metrics) && !task_is_silent(t))
        return true;
    return t->why == STOP_NONE && !task_is_silent(t) && (!t->warned || t->job->desc->kind == JOBDESC_TRAINING) &&
           !lacks_done(t);
}

/* Returns whether a task that did not succeed, and was not ended, lacked time. A program that leaves checkpoints stops
 * when its next one does not fit, and may show that only by exit status 0, unless it leaves a stream open. Near the
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
    if (t->told != TOLD_ARRIVED || t->job->desc->kind != JOBDESC_TRAINING)
        return;
    t->rec.end.exit_code = t->rec.end.signal = 0;
    snprintf(t->rec.end.notice, sizeof t->rec.end.notice,
             "it did not end after it had said that it was done, as a thread of it may have been left: told to end");
}

static int64_t ms_of(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000 + time->tv_usec / 1000;
}

void task_end(struct task *t, int status, const struct rusage *usage, enum stop why)
{
    struct attempt_end *end = &t->rec.end;

    t->pid = 0;
    t->why = why;
    end->ended_ms = t->job->machine->unix_ms();
    end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->cpu_ms = ms_of(&usage->ru_utime) + ms_of(&usage->ru_stime);
    end->memory_peak = (int64_t)usage->ru_maxrss * 1024;
    note_told_rank(t);
}

bool task_died_as_told(const struct task *t)
{
    int sig = signal_of(t);

    return sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
}

bool task_looks_whole(const struct task *t)
{
    return t->rec.end.exit_code == 0 && (t->desc->success_file == NULL || success_file_there(t)) && !lacks_done(t) &&
           has_closed_streams(t);
}

/* Decides by the metrics that the task reported, if its exit status, and the file that it must leave, say that it
 * has succeeded. Returns whether it has. */
static bool has_reached(struct task *t)
{
    struct attempt_end *end = &t->rec.end;
    enum metrics_verdict verdict =
        t->metrics != NULL ? metrics_judge(t->metrics, end->reason, sizeof end->reason) : METRICS_REACHED;

    end->outcome = verdict == METRICS_REACHED ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED;
    end->final = verdict == METRICS_MISSED;
    return verdict == METRICS_REACHED;
}

/* Returns whether the task has reached the step up to which its attempt was to go, if that is not the last one of
 * all. A task that was told to end there may have done so in any way. One that went on from a checkpoint and reports
 * nothing had nothing left to do: an earlier attempt has reported that step, and was lost after its checkpoint. */
static bool has_arrived(struct task *t)
{
    struct attempt_end *end = &t->rec.end;
    struct metrics_rung rung;
    bool exited_0 = end->exit_code == 0, went_on;

    if (t->metrics == NULL || t->desc->until == 0)
        return false;
    end->at_rung = exited_0 && t->why == STOP_NONE && !t->warned ? metrics_ended_at_rung(t->metrics, &rung)
                                                                 : metrics_at_rung(t->metrics, &rung);
    end->rung_step = rung.step;
    end->rung_value = rung.value;
    went_on = end->resumed != NULL && metrics_rung_step(t->metrics) < 0;
    if (t->desc->last || !(end->at_rung || went_on) || !(exited_0 || t->told == TOLD_ARRIVED) || task_is_silent(t))
        return false;
    if (end->at_rung)
        snprintf(end->reason, sizeof end->reason, "reached step %lld, with %s %.6g", (long long)rung.step,
                 t->job->desc->metrics.rung, rung.value);
    else
        snprintf(end->reason, sizeof end->reason, "reached step %lld before", (long long)t->desc->until);
    end->outcome = ATTEMPT_REACHED;
    return true;
}

/* Judges a task that was to go up to a step, and ended by itself before it. Returns whether that may be success. */
static bool may_end_before_rung(struct task *t)
{
    struct attempt_end *end = &t->rec.end;
    size_t len = strlen(end->notice);
    int64_t step;

    if (t->metrics == NULL || t->desc->until == 0 || end->at_rung)
        return true;
    step = metrics_rung_step(t->metrics);
    if (step < 0 && end->resumed == NULL) {
        end->outcome = ATTEMPT_FAILED;
        snprintf(end->reason, sizeof end->reason, "it reported no metric \"%s\", by which members are stopped early",
                 t->job->desc->metrics.rung);
        return false;
    }
    if (step >= 0 && len < sizeof end->notice)
        snprintf(end->notice + len, sizeof end->notice - len, "%sit ended by itself after step %lld, before step %lld",
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

/* Reports of a task that ended well, and whose metrics were not read to their end: nobody can judge by them. */
static void explain_unread(struct task *t)
{
    struct attempt_end *end = &t->rec.end;

    end->outcome = t->unread == STOP_TIMEOUT ? ATTEMPT_TIMEOUT : ATTEMPT_CANCELLED;
    end->late = t->unread == STOP_TIMEOUT && t->job->late;
    snprintf(end->reason, sizeof end->reason, "%s before all its metrics were read",
             t->unread == STOP_TIMEOUT ? "its time was over" : "it was cancelled");
}

/* Returns whether the task has diverged, by its last metrics. */
static bool has_diverged(struct task *t)
{
    struct attempt_end *end = &t->rec.end;

    if (t->metrics == NULL)
        return false;
    t->rec.points = metrics_size(t->metrics);
    metrics_notice(t->metrics, end->notice, sizeof end->notice);
    return (t->why == STOP_NONE || t->why == STOP_TIMEOUT) && !task_is_silent(t) && t->unread == STOP_NONE &&
           metrics_diverged(t->metrics, true, end->reason, sizeof end->reason);
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

/* Returns whether the task's directory was removed, which loses its output, and makes it again, so that the exit record
 * has a place. A member may remove its own directory as well, which is above that of the attempt and beside which its
 * checkpoints lie. The ensemble's is not made, since a whole file system may be missing. */
static bool directory_was_removed(const struct task *t)
{
    return make_again(t->desc->dir, t->job->desc->kind == JOBDESC_MEMBERS ? 2 : 0);
}

static void task_judge_end(struct task *t)
{
    struct attempt_end *end = &t->rec.end;
    bool exited_0 = end->exit_code == 0, done;

    end->checkpoints = t->checkpoints.whole;
    end->ran = ran_end(t->ran);
    if (has_diverged(t)) {
        end->outcome = ATTEMPT_DIVERGED;
        return;
    }
    if (directory_was_removed(t) && t->why == STOP_NONE) {
        end->outcome = ATTEMPT_FAILED;
        snprintf(end->reason, sizeof end->reason, "its directory was removed while it ran");
        return;
    }
    if (t->unread != STOP_NONE && (exited_0 || t->told == TOLD_ARRIVED)) {
        explain_unread(t);
        return;
    }
    if (has_arrived(t))
        return;
    done = t->told == TOLD_ARRIVED; /* at its last step */
    /* After a task was told to end, its exit status 0 proves nothing, since programs that stop early exit with 0, too.
     * Only its success_file proves that it succeeded. A task that did not close its stream has not succeeded. */
    if ((exited_0 || done) && (t->desc->success_file ? success_file_there(t) : done || zero_is_success(t)) &&
        has_closed_streams(t)) {
        note_no_stream(t);
        if (!may_end_before_rung(t) || !has_reached(t))
            add_last_line(t);
        return;
    }
    if (t->why == STOP_TIMEOUT || (t->why == STOP_NONE && !task_is_silent(t) && is_out_of_time(t, exited_0)))
        end->outcome = ATTEMPT_TIMEOUT;
    else
        end->outcome = t->why == STOP_NONE ? ATTEMPT_FAILED : ATTEMPT_CANCELLED;
    end->late = end->outcome == ATTEMPT_TIMEOUT && t->job->late;
    task_explain_end(t, t->why);
}

void task_conclude(struct task *t)
{
    task_judge_end(t);
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

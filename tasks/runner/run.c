#include "tasks/runner/run.h"

#include "common/files.h"
#include "common/lesser.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "tasks/proto/control.h"
#include "tasks/runner/answer.h"
#include "tasks/runner/deadline.h"
#include "tasks/runner/done.h"
#include "tasks/runner/ending.h"
#include "tasks/runner/leftovers.h"
#include "tasks/runner/reading.h"
#include "tasks/runner/records.h"
#include "tasks/runner/restarts.h"
#include "tasks/runner/runlog.h"
#include "tasks/runner/silence.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIVEN_UP_MS 30000 /* between checks whether the job was given up */
#define TOLD_TOO_MS 2000  /* between the first and the last process of a job that are told by a batch system to end */
#define RECORDS_WITHOUT_WALLTIME_MS 600000
#define RECORDS_AFTER_WALLTIME_MS 15000

struct run {
    const struct job *job;
    struct task *tasks;
    size_t ntasks, left; /* left: tasks that have not ended */
    size_t held;         /* tasks that have ended, but are held back */
    struct reading reading;
    int signal_fd;
    struct records *records;
    struct ending ending;
    int64_t deadline;     /* monotonic ms, like all times below; INT64_MAX: none */
    int64_t given_up_due; /* the next check whether the job was given up; INT64_MAX: never */
    bool finishing;       /* every exit record is written, and only ended.json is left to write */
    bool rank_failed;     /* the job is a training, and a rank has ended without success */
    bool news;            /* exit records were written since the daemon was notified */
    struct leftovers leftovers;
    struct silences silences;
    struct restarts restarts;
    int64_t keep_log; /* when the log goes to its file, if nothing asks for it before */
    bool all_told;    /* processes that are left after the last task were told to end */
};

static void record_written(void *arg)
{
    struct run *r = arg;

    r->news = true;
}

static void run_nudge(const struct run *r, enum control_what what)
{
    control_nudge(r->job->desc->control, r->job->desc->job, what);
}

/* Notifies the daemon of new records. A runner that is watched does not report its end: the daemon sees that. */
static void run_tell(struct run *r)
{
    if (r->news)
        run_nudge(r, r->finishing ? CONTROL_ENDED : CONTROL_EXIT);
    r->news = false;
}

/* Writes an exit record. If there is one already, the daemon has given the task up, and may have begun another attempt:
 * this one does not count. */
static int write_exit(const char *path, const void *what, struct error *err)
{
    int rc = exitrec_write(path, what, err);

    if (rc == 0 || errno != EEXIST)
        return rc;
    log_warn("%s is there already: the task was given up", path);
    return 0;
}

static int write_ended(const char *path, const void *what, struct error *err)
{
    return job_ended_write(path, what, err);
}

static void task_recorded(struct run *r, struct task *t)
{
    char *path;

    if (restarts_take(&r->restarts, t, r->ending.stop == STOP_NONE)) {
        ending_kill_by(&r->ending, 0); /* the other ranks may wait for it in a collective call for long */
        return;
    }
    path = xasprintf("%s/exit.json", t->desc->dir);
    if (t->rec.end.outcome != ATTEMPT_SUCCEEDED && r->job->desc->kind == JOBDESC_TRAINING)
        r->rank_failed = true;
    log_info("task %s: %s%s%s", t->desc->id, attempt_outcome_name(t->rec.end.outcome), t->rec.end.reason[0] ? ", " : "",
             t->rec.end.reason);
    if (t->rec.end.outcome != ATTEMPT_SUCCEEDED)
        r->keep_log = 0;
    records_add(r->records, path, write_exit, &t->rec);
    free(path);
}

static void task_read(void *arg, struct task *t)
{
    task_recorded(arg, t);
}

static void task_ended(struct run *r, struct task *t)
{
    r->left--;
    reading_take(&r->reading, t);
}

/* Returns why tasks end that are told to end by a signal. A runner that was suspended, or whose host was busy, may see
 * the signal only after its deadline. Its tasks have run out of time then, as on an idle host, and are not
 * cancelled. */
static enum stop why_by_signal(const struct run *r, int64_t now)
{
    return now >= r->deadline ? STOP_TIMEOUT : STOP_CANCEL;
}

/* Looks for signals that end the job between starts, so that a thousand packed tasks need not start first. */
static enum stop asked_to_stop(const struct run *r)
{
    enum stop stop = deadline_or_signal(r->job);

    return stop == STOP_NONE && r->rank_failed ? STOP_RANK : stop;
}

static void start_tasks(struct run *r)
{
    for (size_t i = 0; i < r->ntasks; i++) {
        enum stop stop = asked_to_stop(r);

        if (stop != STOP_NONE)
            task_skip(&r->tasks[i], stop);
        else
            task_start(&r->tasks[i]);
        if (r->tasks[i].pid == 0) {
            r->left--;
            task_recorded(r, &r->tasks[i]);
        }
    }
}

/* Returns whether the end of a task is held back. A batch system tells every process of a job to end, and a task may
 * end before the runner gets its signal, with any status. That is neither the task's failure nor its success, so the
 * runner waits a little for the signal. Tasks of the daemon's local jobs get such a signal only from the runner, or
 * from a person. */
static bool end_is_held(const struct run *r, const struct task *t)
{
    if (r->ending.stop != STOP_NONE || t->told != TOLD_NOT || r->restarts.wanted)
        return false;
    if (task_died_as_told(t))
        return true;
    return !r->job->watched && (!task_looks_whole(t) || asked_to_stop(r) == STOP_CANCEL);
}

/* Goes on with tasks that were held back; returns when to look again. */
static int64_t release_held(struct run *r, int64_t now)
{
    int64_t next = INT64_MAX;

    for (size_t k = 0; r->held > 0 && k < 2 * r->ntasks; k++) { /* twice through: first those that a signal has ended */
        struct task *t = &r->tasks[k % r->ntasks];

        if (t->held_until == 0 || (k < r->ntasks && t->rec.end.signal == 0))
            continue;
        if (r->ending.stop == STOP_NONE && !r->restarts.wanted && now < t->held_until) {
            next = t->held_until < next ? t->held_until : next;
            continue;
        }
        if (r->ending.stop == STOP_CANCEL || (r->ending.stop == STOP_TIMEOUT && task_died_as_told(t)))
            t->why = r->ending.stop;
        t->held_until = 0;
        r->held--;
        task_ended(r, t);
    }
    return next;
}

/* Returns the reason why a task that has just ended was told to end, STOP_NONE if it has ended or failed by itself. A
 * rank that hung has failed by itself, even if another one that hung has ended before it. */
static enum stop why_it_ended(const struct run *r, const struct task *t)
{
    enum stop why = r->restarts.wanted ? STOP_RANK : r->ending.stop;

    return why == STOP_RANK && task_is_silent(t) ? STOP_NONE : why;
}

static void hold_or_end(struct run *r, struct task *t, int64_t now)
{
    if (!end_is_held(r, t)) {
        task_ended(r, t);
        return;
    }
    t->held_until = now + TOLD_TOO_MS;
    r->held++;
}

/* Waits for children that have ended. Returns whether children are left. Those that a signal has ended come first,
 * since the others may have failed because of them. A process that a task leaves becomes a child of the runner before
 * the task's first process can be waited for. So if there are no more children than running tasks, nothing was left,
 * and /proc need not be searched. One that was left may have started another one while /proc was searched, and ended:
 * then it is searched again. */
static bool run_reap(struct run *r, int64_t now)
{
    bool left_behind = false;           /* a child has ended that is no task */
    size_t first = r->ntasks, last = 0; /* of the tasks that ended */
    struct rusage usage;
    int status;
    pid_t pid;

    while ((pid = r->job->machine->reap(&status, &usage)) > 0) {
        size_t i = 0;

        while (i < r->ntasks && r->tasks[i].pid != pid)
            i++;
        if (i == r->ntasks) {
            left_behind = true;
            continue;
        }
        task_end(&r->tasks[i], status, &usage, why_it_ended(r, &r->tasks[i]));
        r->tasks[i].new_end = true;
        first = i < first ? i : first;
        last = i > last ? i : last;
    }
    for (size_t i = first; i <= last && first < r->ntasks; i++)
        if (r->tasks[i].new_end && r->tasks[i].rec.end.signal != 0)
            hold_or_end(r, &r->tasks[i], now);
    for (size_t i = first; i <= last && first < r->ntasks; i++)
        if (r->tasks[i].new_end && r->tasks[i].rec.end.signal == 0)
            hold_or_end(r, &r->tasks[i], now);
    if ((first < r->ntasks || (left_behind && r->left < r->ntasks)) && r->ending.stop == STOP_NONE && pid == 0 &&
        tree_children() != (ssize_t)(r->left - r->held))
        leftovers_end(&r->leftovers, now);
    for (size_t i = first; i <= last && first < r->ntasks; i++)
        r->tasks[i].new_end = false;
    return pid == 0;
}

/* Returns whether there is something that the walltime, or a signal, ends: tasks, or the reading of what they left. */
static bool is_busy(const struct run *r)
{
    return r->left > 0 || reading_is_busy(&r->reading);
}

static void stop_job(struct run *r, enum stop why, bool by_signal, int64_t now)
{
    if (r->ending.stop != STOP_NONE || !is_busy(r))
        return;
    ending_stop(&r->ending, why, by_signal, now);
    reading_stop(&r->reading, why, now);
}

/* Ends processes that are left when every task has ended. Those of a task got the signal to end with it. From now on
 * there is always a time at which the rest is killed, so that the runner never waits for ever. */
static void end_children(struct run *r, int64_t now)
{
    if (r->all_told)
        return;
    r->all_told = true;
    leftovers_end_unowned(&r->leftovers);
    ending_kill_by(&r->ending, now + r->job->desc->grace_ms);
}

/* Ends tasks that are hung; each fails by itself. */
static void end_silent(struct run *r, int64_t now)
{
    if (r->ending.stop != STOP_NONE || silences_look(&r->silences, &r->leftovers, now) == 0)
        return;
    for (size_t i = 0; i < r->ntasks; i++) {
        struct task *t = &r->tasks[i];

        if (t->pid <= 0 || !task_is_silent(t) || t->kill_at != INT64_MAX)
            continue;
        if (task_is_done(t)) { /* a thread may be left that keeps it from ending */
            log_warn("task %s has said that it is done, and has not ended: told to end", t->desc->id);
            t->told = TOLD_ARRIVED;
            leftovers_end_running(&r->leftovers, t, now);
            continue;
        }
        log_warn("task %s %s: told to end", t->desc->id,
                 t->told == TOLD_STOPPED ? "is stopped for too long" : "has shown no sign of life for too long");
        leftovers_end_running(&r->leftovers, t, now);
        if (t->told == TOLD_STOPPED)
            tree_signal_running(t->pid, t->mark, SIGCONT); /* so that it gets the signal before it is killed */
    }
}

/* Ends a task that has gone beyond its rung. It is warned as before the end of the time, so that it can leave a
 * checkpoint, and gets SIGTERM if it does not end. Returns the time of that. */
static int64_t end_at_rung(struct run *r, struct task *t, int64_t now)
{
    const struct jobdesc_checkpoint *checkpoint = &r->job->desc->checkpoint;
    struct metrics_rung rung;

    if (t->told == TOLD_NOT && r->ending.stop == STOP_NONE && metrics_at_rung(t->metrics, &rung) && rung.beyond) {
        t->told = TOLD_ARRIVED;
        t->arrived_until = now;
        log_info("task %s has reached step %lld: told to end", t->desc->id, (long long)t->desc->until);
        if (checkpoint->signal != 0) {
            r->job->machine->kill(t->pid, checkpoint->signal);
            t->arrived_until = now + checkpoint->before_ms;
        }
    }
    if (now >= t->arrived_until) {
        t->arrived_until = INT64_MAX;
        if (t->kill_at == INT64_MAX)
            leftovers_end_running(&r->leftovers, t, now);
    }
    return t->arrived_until;
}

/* Reads on what tasks report of metrics, and ends those that have diverged if the spec says so. Returns when to read
 * on. */
static int64_t follow_metrics(struct run *r, int64_t now)
{
    int64_t due = INT64_MAX;

    for (size_t i = 0; i < r->ntasks; i++) {
        struct task *t = &r->tasks[i];

        if (t->pid <= 0 || t->metrics == NULL)
            continue;
        metrics_work(t->metrics, r->job->machine->unix_ms(), now);
        due = lesser(lesser(due, metrics_due(t->metrics)), end_at_rung(r, t, now));
        if (t->told == TOLD_DIVERGED || task_is_silent(t) || r->ending.stop != STOP_NONE ||
            !metrics_diverged(t->metrics, false, NULL, 0))
            continue;
        t->told = TOLD_DIVERGED;
        log_info("task %s has diverged: told to end", t->desc->id);
        leftovers_end_running(&r->leftovers, t, now);
    }
    return due;
}

/* Checks whether the daemon has given the job up, by taking the places of all exit records that are not written yet. It
 * checks rarely: the daemon is slow to do so, a file system may be slow to show it, and the runners of a whole cluster
 * check. */
static void look_whether_given_up(struct run *r, int64_t now)
{
    const struct task *t = r->tasks;
    const char *job;
    struct error err;
    json_t *fence;
    char *path;

    if (r->ending.stop != STOP_NONE || now < r->given_up_due)
        return;
    r->given_up_due = now + GIVEN_UP_MS;
    while (t < r->tasks + r->ntasks && t->pid <= 0)
        t++;
    if (t == r->tasks + r->ntasks)
        return;
    path = xasprintf("%s/exit.json", t->desc->dir);
    fence = file_read_json(path, &err); /* usually there is none */
    job = json_string_value(json_object_get(fence, "job"));
    if (json_is_true(json_object_get(fence, "given_up")) && job != NULL && strcmp(job, r->job->desc->job) == 0)
        stop_job(r, STOP_GIVEN_UP, false, now);
    json_decref(fence);
    free(path);
}

static void run_take_signals(struct run *r, int64_t now)
{
    struct signalfd_siginfo info;

    while (read(r->signal_fd, &info, sizeof info) == sizeof info) {
        switch (info.ssi_signo) {
        case SIGTERM:
        case SIGINT:
        case SIGHUP: stop_job(r, why_by_signal(r, now), true, now); break;
        case SIGUSR1:
        case SIGUSR2: ending_forward(&r->ending, (int)info.ssi_signo); break;
        default: break; /* SIGCHLD: run_reap() looks every time */
        }
    }
}

static void run_wait_for_events(struct run *r, int64_t until)
{
    struct pollfd fds[1 + READING_FDS] = {{.fd = r->signal_fd, .events = POLLIN}};
    int64_t now = r->job->machine->monotonic_ms(), ms = until == INT64_MAX ? -1 : until > now ? until - now : 0;

    reading_poll(&r->reading, fds + 1);
    r->job->machine->poll(fds, sizeof fds / sizeof *fds, ms > INT_MAX ? INT_MAX : (int)ms);
}

static void keep_log(struct run *r, int64_t now)
{
    if (now < r->keep_log && !log_troubled())
        return;
    runlog_keep();
    r->keep_log = INT64_MAX;
}

static void init_tasks(struct run *r)
{
    for (size_t i = 0; i < r->ntasks; i++)
        task_init(&r->tasks[i], r->job, &r->job->desc->tasks[i]);
}

/* The ranks are to begin again, and no process is left of them. If the job is to end meanwhile, they do not. */
static void start_again(struct run *r)
{
    if (asked_to_stop(r) != STOP_NONE || r->ending.stop != STOP_NONE) {
        restarts_give_up(&r->restarts);
        for (size_t i = 0; i < r->ntasks; i++)
            task_recorded(r, &r->tasks[i]);
        return;
    }
    restarts_begin(&r->restarts);
    ending_begin_again(&r->ending);
    r->left = r->ntasks;
    r->held = 0;
    for (size_t i = 0; i < r->ntasks; i++)
        task_fini(&r->tasks[i]);
    init_tasks(r);
    leftovers_fini(&r->leftovers);
    leftovers_init(&r->leftovers, r->tasks, r->ntasks, r->job->desc->grace_ms);
    silences_fini(&r->silences);
    silences_init(&r->silences, r->job, r->job->machine->monotonic_ms());
    start_tasks(r);
    run_nudge(r, CONTROL_STATUS);
}

/* Returns until when records that cannot be written are tried again. A batch system expects the runner's end soon after
 * the walltime. Without a walltime, a disk may be full for a while, however long the tasks have run. */
static int64_t give_up_after(const struct run *r)
{
    int64_t since = records_failing_since(r->records);

    if (r->deadline < INT64_MAX)
        return r->deadline + r->job->desc->grace_ms + RECORDS_AFTER_WALLTIME_MS;
    return since != 0 ? since + RECORDS_WITHOUT_WALLTIME_MS : INT64_MAX;
}

/* Loops until nothing runs and every record is on the disk. */
static void run_loop(struct run *r)
{
    for (;;) {
        int64_t now = r->job->machine->monotonic_ms(), until, held, metrics;
        bool children = run_reap(r, now); /* before the clock is read, so that a task that ended in time counts so */

        if (!children && r->left == 0 && r->restarts.wanted) {
            start_again(r);
            continue;
        }
        if (children && r->left == 0 && !r->restarts.wanted)
            end_children(r, now);
        end_silent(r, now);
        look_whether_given_up(r, now);
        leftovers_kill(&r->leftovers, now);
        ending_work(&r->ending, children, r->left, now);
        if (is_busy(r) && now >= r->deadline)
            stop_job(r, STOP_TIMEOUT, false, now);
        if (r->rank_failed)
            stop_job(r, STOP_RANK, false, now);
        held = release_held(r, now);
        metrics = follow_metrics(r, now);
        reading_work(&r->reading, now);
        records_work(r->records, give_up_after(r));
        keep_log(r, now);
        if (!children && !is_busy(r) && !records_pending(r->records)) {
            if (!r->job->watched)
                run_tell(r);
            return;
        }
        run_tell(r);
        until = lesser(lesser(records_due(r->records), r->keep_log), lesser(reading_due(&r->reading), held));
        until = lesser(until, metrics);
        until = lesser(until, ending_due(&r->ending, children, r->left));
        if (children)
            until = lesser(until, leftovers_due(&r->leftovers));
        if (r->ending.stop == STOP_NONE && is_busy(r))
            until = lesser(until, r->deadline);
        if (r->ending.stop == STOP_NONE && r->left > 0)
            until = lesser(until, lesser(silences_due(&r->silences), r->given_up_due));
        run_wait_for_events(r, until);
        run_take_signals(r, r->job->machine->monotonic_ms());
    }
}

static int run_finish(struct run *r, const char *jobdir)
{
    struct job_ended ended = {.time = (double)r->job->machine->unix_ms() / 1000};
    char *path;

    if (r->job->shared || (r->ending.stop == STOP_NONE && answer_jobfd(r->job, r->tasks, r->ntasks)))
        return 0;
    path = xasprintf("%s/ended.json", jobdir);
    if (r->ending.stop != STOP_NONE)
        snprintf(ended.reason, sizeof ended.reason, "%s", ending_reason(r->ending.stop));
    r->finishing = true;
    records_add(r->records, path, write_ended, &ended);
    run_loop(r);
    free(path);
    return records_lost(r->records) ? -1 : 0;
}

int run_job(struct job *job, const char *jobdir, int signal_fd, int64_t started_ms)
{
    struct run r = {
        .job = job,
        .tasks = xcalloc(job->desc->ntasks, sizeof *r.tasks),
        .ntasks = job->desc->ntasks,
        .left = job->desc->ntasks,
        .signal_fd = signal_fd,
        .deadline = job->deadline_ms,
        /* the daemon itself watches its local jobs */
        .given_up_due = job->watched ? INT64_MAX : started_ms + GIVEN_UP_MS,
        .keep_log = started_ms + RUNLOG_KEEP_MS,
    };
    struct error err;
    int rc = -1;

    if (reading_init(&r.reading, job, r.tasks, task_read, &r, &err) < 0) {
        log_error("%s", err.text);
        free(r.tasks);
        return -1;
    }
    leftovers_init(&r.leftovers, r.tasks, r.ntasks, job->desc->grace_ms);
    silences_init(&r.silences, job, job->machine->monotonic_ms());
    ending_init(&r.ending, job, r.tasks);
    init_tasks(&r);
    restarts_init(&r.restarts, job, r.tasks);
    r.records = records_create(job->machine->monotonic_ms, record_written, &r);
    start_tasks(&r);
    run_loop(&r);
    if (!records_lost(r.records))
        rc = run_finish(&r, jobdir);
    records_destroy(r.records);
    reading_fini(&r.reading);
    leftovers_fini(&r.leftovers);
    silences_fini(&r.silences);
    restarts_fini(&r.restarts);
    job->restarts = NULL;
    for (size_t i = 0; i < r.ntasks; i++)
        task_fini(&r.tasks[i]);
    free(r.tasks);
    return rc;
}

#include "tasks/runner/ending.h"

#include "common/log.h"
#include "common/process.h"
#include "tasks/runner/tree.h"

#include <signal.h>

#define SWEEP_MIN_MS 20
#define SWEEP_MAX_MS 1000

void ending_init(struct ending *e, const struct job *job, struct task *tasks)
{
    *e = (struct ending){.job = job, .tasks = tasks, .warn_at = INT64_MAX, .term_at = INT64_MAX};
    ending_begin_again(e);
    if (job->desc->checkpoint.any) /* without a deadline there is a warning only when somebody ends the job */
        e->warn_at = job->deadline_ms < INT64_MAX ? job->deadline_ms - job->desc->checkpoint.before_ms : INT64_MAX - 1;
}

void ending_begin_again(struct ending *e)
{
    e->kill_at = INT64_MAX;
    e->sweep_ms = SWEEP_MIN_MS;
}

const char *ending_reason(enum stop why)
{
    static const char *const reasons[] = {[STOP_TIMEOUT] = "the walltime was over",
                                          [STOP_CANCEL] = "told to end",
                                          [STOP_RANK] = "a rank failed",
                                          [STOP_GIVEN_UP] = "the job was given up"};

    return reasons[why];
}

static size_t ending_running(const struct ending *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->job->desc->ntasks; i++)
        n += e->tasks[i].pid > 0;
    return n;
}

void ending_forward(const struct ending *e, int sig)
{
    size_t n = ending_running(e);

    log_info("signal %d goes on to %zu task%s", sig, n, n == 1 ? "" : "s");
    for (size_t i = 0; i < e->job->desc->ntasks; i++)
        if (e->tasks[i].pid > 0)
            /* only the first process: most programs would die of it unless they expect it */
            e->job->machine->kill(e->tasks[i].pid, sig);
}

/* Warns the tasks once that the end is near, so that they can leave a checkpoint. */
static void ending_warn(struct ending *e)
{
    if (e->warn_at == INT64_MAX)
        return;
    e->warn_at = INT64_MAX;
    for (size_t i = 0; i < e->job->desc->ntasks; i++)
        e->tasks[i].warned = e->tasks[i].pid > 0;
    if (e->job->desc->checkpoint.signal != 0)
        ending_forward(e, e->job->desc->checkpoint.signal);
}

static void end_tasks(struct ending *e)
{
    e->term_at = INT64_MAX;
    for (size_t i = 0; i < e->job->desc->ntasks; i++)
        if (e->tasks[i].pid > 0)
            tree_signal_running(e->tasks[i].pid, e->tasks[i].mark, SIGTERM);
}

void ending_stop(struct ending *e, enum stop why, bool by_signal, int64_t now)
{
    bool warn_first = by_signal && e->warn_at != INT64_MAX && e->job->desc->checkpoint.signal != 0;
    size_t n = ending_running(e);

    e->stop = why;
    log_info("%s: ending %zu task%s", ending_reason(why), n, n == 1 ? "" : "s");
    if (why == STOP_GIVEN_UP) /* other attempts may leave checkpoints by now */
        e->warn_at = INT64_MAX;
    ending_warn(e);
    if (warn_first)
        e->term_at = now + e->job->desc->grace_ms / 2;
    else
        end_tasks(e);
    e->kill_at = now + e->job->desc->grace_ms;
}

void ending_kill_by(struct ending *e, int64_t at)
{
    e->kill_at = at < e->kill_at ? at : e->kill_at;
}

/* Sends SIGKILL to processes whose grace is over, again and again, since a process may just have forked. */
static void kill_now(struct ending *e, size_t left, int64_t now)
{
    for (size_t i = 0; i < e->job->desc->ntasks; i++)
        if (e->tasks[i].pid > 0)
            e->job->machine->kill(-e->tasks[i].pid, SIGKILL);
    process_signal_marked("STRETTO_JOB", e->job->desc->job, SIGKILL);
    if (left == 0)
        tree_signal_below(SIGKILL);
    e->sweep_ms = e->sweep_ms * 2 < SWEEP_MAX_MS ? e->sweep_ms * 2 : SWEEP_MAX_MS;
    e->kill_at = now + e->sweep_ms;
}

void ending_work(struct ending *e, bool children, size_t left, int64_t now)
{
    if (children && now >= e->kill_at)
        kill_now(e, left, now);
    if (now >= e->term_at)
        end_tasks(e);
    if (left > 0 && now >= e->warn_at)
        ending_warn(e);
}

int64_t ending_due(const struct ending *e, bool children, size_t left)
{
    int64_t due = INT64_MAX;

    if (children)
        due = e->kill_at < e->term_at ? e->kill_at : e->term_at;
    return left > 0 && e->stop == STOP_NONE && e->warn_at < due ? e->warn_at : due;
}

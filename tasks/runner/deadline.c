/* The end of a job's time: its walltime, or an earlier end of the scheduler's, the allocation's or the pilot's time. */
#include "config.h"

#include "tasks/runner/deadline.h"

#include "tasks/proto/exitrec.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Returns Unix seconds; 0 if the variable is not set or has no valid time. */
static int64_t time_in(const char *variable)
{
    const char *text = getenv(variable);

    return text != NULL && text[0] >= '1' && text[0] <= '9' && strlen(text) < 12 ? strtoll(text, NULL, 10) : 0;
}

/* Returns when the scheduler will end the job, as far as it says. */
static int64_t scheduled_end(void)
{
    int64_t told = time_in("STRETTO_JOB_END");

    return told != 0 ? told : time_in("SLURM_JOB_END_TIME");
}

/* Returns when the time of an allocation that holds many jobs is over for this one, by the monotonic clock. It counts
 * only for jobs that can use the warning. A task without checkpoints may still succeed in the time that is left, and
 * loses nothing more if the allocation ends it. */
static int64_t allocation_over(const struct job *job, int64_t now)
{
    const struct jobdesc *desc = job->desc;
    int64_t end = time_in("STRETTO_ALLOCATION_END");
    int64_t latest = 1000 * end - job->machine->unix_ms() + now - desc->grace_ms - EXITREC_TAKE_MS;

    return end != 0 && latest > now && (desc->checkpoint.any || desc->kind == JOBDESC_PILOT) ? latest : INT64_MAX;
}

void deadline_set(struct job *job, int64_t started_ms, int64_t until_ms)
{
    int64_t now = job->machine->monotonic_ms(), end = scheduled_end() * 1000 - job->machine->unix_ms() + now;
    int64_t latest = end - job->desc->grace_ms - EXITREC_TAKE_MS;

    job->deadline_ms = job->desc->walltime_ms > 0 ? started_ms + job->desc->walltime_ms : INT64_MAX;
    job->cut_short = scheduled_end() != 0 && latest > now && latest < job->deadline_ms;
    if (job->cut_short)
        job->deadline_ms = latest;
    if (allocation_over(job, now) < until_ms)
        until_ms = allocation_over(job, now);
    job->late = until_ms < job->deadline_ms;
    if (job->late)
        job->deadline_ms = until_ms;
    if (job->deadline_ms < INT64_MAX)
        job->deadline = (job->machine->unix_ms() + job->deadline_ms - now) / 1000;
}

enum stop deadline_or_signal(const struct job *job)
{
    sigset_t set;

    sigpending(&set);
    if (job->machine->monotonic_ms() >= job->deadline_ms)
        return STOP_TIMEOUT;
    return sigismember(&set, SIGTERM) || sigismember(&set, SIGINT) || sigismember(&set, SIGHUP) ? STOP_CANCEL
                                                                                                : STOP_NONE;
}

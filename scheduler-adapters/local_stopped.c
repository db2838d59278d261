/* Kills runners that are stopped by SIGSTOP or a debugger, with all that they have started, before their members run
 * again. A stopped runner ends nothing, not even at the walltime. A starter that is stopped is killed at once, since
 * nothing is lost with it: the orders that it has not answered are carried out without it.
 *
 * Checks are counted, not time: while this process itself is stopped, or the machine sleeps, nothing is counted. */
#include "scheduler-adapters/local.h"

#include "common/log.h"
#include "common/process.h"

#include <signal.h>

#define LOOKS 6

static void stopped_look(uv_timer_t *timer)
{
    struct adapter *a = timer->data;
    struct local_job *job, *next;

    HASH_ITER (hh, a->jobs, job, next) {
        bool stopped = job->state == LOCAL_RUNNING && job->killed_for == NULL && process_is_stopped(job->pid);

        job->seen_stopped = stopped ? job->seen_stopped + 1 : 0;
        if (job->seen_stopped >= LOOKS)
            local_kill(job, "its runner was stopped and did not go on");
    }
    if (process_is_stopped(a->starter.pid)) {
        log_warn("the process that stands by to become runners is stopped, and is killed");
        kill(a->starter.pid, SIGKILL); /* its connection ends, on which local_starter.c goes on without it */
    }
}

void local_stopped_start(struct adapter *a)
{
    uv_timer_init(a->host.loop, &a->stopped);
    a->stopped.data = a;
    uv_timer_start(&a->stopped, stopped_look, (uint64_t)a->stopped_ms / LOOKS, (uint64_t)a->stopped_ms / LOOKS);
}

#include "tasks/runner/machine.h"

#include "common/timefmt.h"

#include <signal.h>
#include <sys/wait.h>

static pid_t machine_reap(int *status, struct rusage *usage)
{
    return wait4(-1, status, WNOHANG, usage);
}

const struct machine machine_real = {
    .monotonic_ms = time_monotonic_ms,
    .unix_ms = time_now_ms,
    .poll = poll,
    .reap = machine_reap,
    .kill = kill,
};

/* The machine under a runner: its clock, and its operations on processes. A test has a machine of its own, where time
 * passes only while the runner waits. */
#ifndef TASKS_RUNNER_MACHINE_H
#define TASKS_RUNNER_MACHINE_H
#include <poll.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct machine {
    int64_t (*monotonic_ms)(void);
    int64_t (*unix_ms)(void);
    int (*poll)(struct pollfd *fds, nfds_t n, int timeout_ms);
    pid_t (*reap)(int *status, struct rusage *usage); /* like wait4() for any child, with WNOHANG */
    int (*kill)(pid_t pid, int sig);                  /* like kill(2) */
};

extern const struct machine machine_real;

#endif

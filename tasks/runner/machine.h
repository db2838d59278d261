/* The machine under a runner: its clock, and what it does to processes. A test has one of its own, in which time passes only while the
 * runner waits. */
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
    pid_t (*reap)(int *status, struct rusage *usage); /* as wait4() of any child with WNOHANG */
    int (*kill)(pid_t pid, int sig);                  /* as kill(2) */
};

extern const struct machine machine_real;

#endif

#include "tasks/runner/rank.h"

#include "common/log.h"
#include "tasks/runner/tree.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_AGAIN_MS 100 /* between checks whether killed processes have gone: they may just have forked */

int rank_find(struct rank *rank, struct error *err)
{
    const char *number = getenv("ALPS_APP_PE"), *application = getenv("ALPS_APP_ID");
    char *end;

    if (number == NULL || application == NULL)
        return error_set(err, "rank", "ALPS_APP_PE and ALPS_APP_ID are not set: no aprun has started this");
    errno = 0;
    rank->number = strtoll(number, &end, 10);
    if (errno != 0 || end == number || *end != '\0' || rank->number < 0)
        return error_set(err, "rank", "ALPS_APP_PE is no number: %.40s", number);
    if (application[0] == '\0' || strlen(application) >= sizeof rank->application)
        return error_set(err, "rank", "ALPS_APP_ID is none: %.40s", application);
    snprintf(rank->application, sizeof rank->application, "%s", application);
    return 0;
}

/* Waits for all children that have ended; returns the runner's status, -1 if it has not ended. */
static int rank_reap(pid_t runner, int status)
{
    pid_t pid;
    int its;

    while ((pid = waitpid(-1, &its, WNOHANG)) > 0)
        if (pid == runner)
            status = its;
    return status;
}

static void pass_on(int signal_fd, pid_t runner)
{
    struct signalfd_siginfo info;

    while (read(signal_fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            kill(runner, (int)info.ssi_signo);
}

static void rank_stay(int signal_fd, pid_t runner)
{
    struct pollfd fd = {.fd = signal_fd, .events = POLLIN};
    int status;

    while ((status = rank_reap(runner, -1)) < 0) {
        poll(&fd, 1, -1);
        pass_on(signal_fd, runner);
    }
    if (WIFSIGNALED(status))
        log_error("the runner was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        log_warn("the runner ended with status %d", WEXITSTATUS(status));
    while (tree_signal_below(SIGKILL) > 0) { /* processes of a runner that was killed */
        poll(&fd, 1, LOOK_AGAIN_MS);
        pass_on(signal_fd, runner);
        rank_reap(runner, 0);
    }
}

void rank_guard(int signal_fd)
{
    pid_t guard = getpid(), runner;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    runner = fork();
    if (runner > 0) {
        rank_stay(signal_fd, runner);
        _exit(0);
    }
    if (runner < 0) {
        log_warn("no new process: %s; if this runner fails, so does the application", strerror(errno));
        return;
    }
    setpgid(0, 0); /* the guard passes signals to its group on, and they shall not come twice */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard)
        _exit(1);
}

#include "tasks/runner/signals.h"

#include <stdbool.h>
#include <sys/signalfd.h>

const sigset_t *run_ignored(void)
{
    static sigset_t ignored;
    static bool known;
    struct sigaction action;

    if (!known) {
        sigemptyset(&ignored);
        sigaddset(&ignored, SIGPIPE); /* from run_signals() on */
        for (int sig = 1; sig < NSIG; sig++)
            if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
                sigaddset(&ignored, sig);
        known = true;
    }
    return &ignored;
}

int run_signals(struct error *err)
{
    static const int handled[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        sigaddset(&set, handled[i]);
        signal(handled[i], SIG_DFL); /* an ignored SIGCHLD would lose the exit statuses */
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return error_errno(err, "signalfd", "signalfd");
    return fd;
}

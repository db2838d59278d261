/* Nudges the daemon for a pilot, from a process of its own. A pilot makes each runner as a copy of itself, and a copy has the locks
 * that other threads held just then, for ever; so a pilot has no threads, and those of libzmq are the notifier's. */
#ifndef TASKS_RUNNER_NOTIFIER_H
#define TASKS_RUNNER_NOTIFIER_H
#include <sys/types.h>

/* All 0: one that tells nobody. */
struct notifier {
    pid_t pid; /* 0: there is none */
    int fd;    /* our end of the socket to it, where there is one */
};

/* endpoint, job and key as control_sender_create() takes them. Where it cannot be started, nobody is told, and the daemon looks later. */
void notifier_start(struct notifier *n, const char *endpoint, const char *job, const char *key);
void notifier_nudge(struct notifier *n); /* the daemon shall look; never waits */
void notifier_leave(struct notifier *n); /* in a copy of the pilot: the notifier is not its own */
void notifier_end(struct notifier *n);   /* waits at most a few seconds for what is to be sent */

#endif

/* Notifies the daemon for a pilot, from a process of its own. A pilot makes each runner by fork(), and the copy would
 * keep the locks for ever that other threads held at that moment; so a pilot has no threads, and the threads of libzmq
 * are in the notifier. */
#ifndef TASKS_RUNNER_NOTIFIER_H
#define TASKS_RUNNER_NOTIFIER_H
#include <sys/types.h>

/* All 0: a notifier that notifies nobody. */
struct notifier {
    pid_t pid; /* 0: there is no process */
    int fd;    /* our end of the socket to the process, if there is one */
};

/* Takes endpoint, job and key as control_sender_create() does. Where the process cannot be started, nobody is notified,
 * and the daemon looks later. */
void notifier_start(struct notifier *n, const char *endpoint, const char *job, const char *key);
void notifier_nudge(struct notifier *n); /* asks the daemon to look; never waits */
void notifier_leave(struct notifier *n); /* called in a copy of the pilot, where the notifier is not the copy's */
void notifier_end(struct notifier *n);   /* waits a few seconds at most for messages to leave */

#endif

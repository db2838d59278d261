/* Reports events in directories from the kernel: files closed after writing, or renamed into place, by processes on
 * this host. If the kernel does not support that, nothing is reported. */
#ifndef TASKS_RUNNER_WATCH_H
#define TASKS_RUNNER_WATCH_H
#include <stdbool.h>
#include <stddef.h>

struct watch;

struct watch *watch_create(void); /* NULL if it is not supported; every function accepts that */
void watch_destroy(struct watch *watch);
int watch_fd(const struct watch *watch); /* readable when there are events; -1: never */

/* `whose` and `what` are passed to saw(). */
void watch_add(struct watch *watch, const char *dir, size_t whose, int what);

/* Calls saw() for each event. */
void watch_read(struct watch *watch, void (*saw)(void *arg, size_t whose, int what, const char *name, bool renamed),
                void *arg);

#endif

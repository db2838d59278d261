/* What happens in directories, as the kernel tells it: files closed after writing, or renamed into place, by processes on this
 * host. Where the kernel cannot, nothing is told. */
#ifndef TASKS_RUNNER_WATCH_H
#define TASKS_RUNNER_WATCH_H
#include <stdbool.h>
#include <stddef.h>

struct watch;

struct watch *watch_create(void); /* NULL where it cannot be had; every function takes that */
void watch_destroy(struct watch *watch);
int watch_fd(const struct watch *watch); /* readable where there is news; -1: never */

/* `whose` and `what` are for saw(). */
void watch_add(struct watch *watch, const char *dir, size_t whose, int what);

/* Call saw() for each thing that has happened. */
void watch_read(struct watch *watch, void (*saw)(void *arg, size_t whose, int what, const char *name, bool renamed),
                void *arg);

#endif

#include "tasks/runner/watch.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

struct watch {
    int fd;
    struct watched {
        size_t whose;
        int what;
    } * dirs; /* by watch descriptor, from 1 */
    size_t n;
};

struct watch *watch_create(void)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    struct watch *watch;

    if (fd < 0)
        return NULL;
    watch = xcalloc(1, sizeof *watch);
    watch->fd = fd;
    return watch;
}

void watch_destroy(struct watch *watch)
{
    if (watch == NULL)
        return;
    close(watch->fd);
    free(watch->dirs);
    free(watch);
}

int watch_fd(const struct watch *watch)
{
    return watch != NULL ? watch->fd : -1;
}

void watch_add(struct watch *watch, const char *dir, size_t whose, int what)
{
    int wd = watch != NULL ? inotify_add_watch(watch->fd, dir, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR) : -1;

    if (wd < 0)
        return;
    if ((size_t)wd >= watch->n) {
        watch->dirs = xrealloc(watch->dirs, (size_t)wd + 1, sizeof *watch->dirs);
        watch->n = (size_t)wd + 1;
    }
    watch->dirs[wd] = (struct watched){whose, what};
}

void watch_read(struct watch *watch, void (*saw)(void *arg, size_t whose, int what, const char *name, bool renamed),
                void *arg)
{
    _Alignas(struct inotify_event) char buf[16384];
    const struct inotify_event *event;
    ssize_t n;

    while (watch != NULL && (n = read(watch->fd, buf, sizeof buf)) > 0) {
        for (const char *p = buf; p < buf + n; p += sizeof *event + event->len) {
            event = (const struct inotify_event *)p;
            if (event->wd > 0 && (size_t)event->wd < watch->n && event->len > 0)
                saw(arg, watch->dirs[event->wd].whose, watch->dirs[event->wd].what, event->name,
                    (event->mask & IN_MOVED_TO) != 0);
        }
    }
}

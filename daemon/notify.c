#include "daemon/notify.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATUS_MS 10000

struct notify {
    int fd; /* -1 if there is nobody to tell */
    uv_timer_t timer;
    uint64_t every_ms;
    bool watched;
    void (*status)(void *arg, char *out, size_t size);
    void *arg;
    char said[256]; /* the status that was sent last */
};

/* Connects to "/path", or to "@name", a socket without a file. Returns -1 if it cannot be reached. */
static int notify_reach(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    int fd;

    if ((name[0] != '/' && name[0] != '@') || size >= sizeof address.sun_path) {
        log_warn("NOTIFY_SOCKET names no Unix socket: systemd is told nothing");
        return -1;
    }
    memcpy(address.sun_path, name, size);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (name[0] == '/'))) < 0) {
        log_warn("systemd cannot be told how this daemon is doing: %s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

/* Sends a datagram, which is lost if the socket has no room. For a status that does not matter, and READY is the
 * first datagram, for which there is room. */
static void notify_tell(struct notify *notify, const char *text)
{
    if (notify->fd >= 0 && send(notify->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        log_debug("systemd was not told: %s", strerror(errno));
}

/* Returns half of the time that the watchdog allows, or 0 if this process has none. */
static uint64_t watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    long long n = usec != NULL ? atoll(usec) : 0;

    if (n <= 0 || (pid != NULL && atoll(pid) != getpid()))
        return 0;
    return n >= 2000 ? (uint64_t)n / 2000 : 1;
}

static void notify_on_timer(uv_timer_t *timer)
{
    struct notify *notify = timer->data;
    char status[sizeof notify->said] = "", text[sizeof status + 32];

    notify->status(notify->arg, status, sizeof status);
    if (strcmp(status, notify->said) != 0) {
        snprintf(text, sizeof text, "STATUS=%s", status);
        notify_tell(notify, text);
        memcpy(notify->said, status, sizeof status);
    }
    if (notify->watched)
        notify_tell(notify, "WATCHDOG=1");
}

struct notify *notify_create(uv_loop_t *loop, void (*status)(void *arg, char *out, size_t size), void *arg)
{
    struct notify *notify = xcalloc(1, sizeof *notify);
    const char *name = getenv("NOTIFY_SOCKET");
    uint64_t watchdog = watchdog_ms();

    *notify = (struct notify){.fd = name != NULL ? notify_reach(name) : -1, .status = status, .arg = arg};
    notify->watched = watchdog > 0;
    notify->every_ms = watchdog > 0 && watchdog < STATUS_MS ? watchdog : STATUS_MS;
    uv_timer_init(loop, &notify->timer);
    notify->timer.data = notify;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return notify;
}

void notify_ready(struct notify *notify)
{
    notify_tell(notify, "READY=1");
    if (notify->fd >= 0)
        uv_timer_start(&notify->timer, notify_on_timer, 0, notify->every_ms);
}

void notify_stopping(struct notify *notify)
{
    notify_tell(notify, "STOPPING=1");
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void notify_destroy(struct notify *notify)
{
    if (notify == NULL)
        return;
    if (notify->fd >= 0)
        close(notify->fd);
    uv_close((uv_handle_t *)&notify->timer, on_closed);
}

#include "api/listener.h"

#include "common/safe_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 511

static int make_socket(struct error *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    return fd >= 0 ? fd : error_errno(err, "listen_failed", "cannot make a socket");
}

/* Removes a socket file on which nobody answers. */
static int clear_stale(const struct sockaddr_un *addr, struct error *err)
{
    struct stat st;
    int fd, rc, why;

    if (lstat(addr->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : error_errno(err, "listen_failed", "cannot look at %s", addr->sun_path);
    if (!S_ISSOCK(st.st_mode))
        return error_set(err, "listen_failed", "%s is there and is no socket: not touched", addr->sun_path);
    fd = make_socket(err);
    if (fd < 0)
        return -1;
    rc = connect(fd, (const struct sockaddr *)addr, sizeof *addr);
    why = errno;
    close(fd);
    if (rc < 0 && why == ECONNREFUSED) {
        if (unlink(addr->sun_path) < 0 && errno != ENOENT)
            return error_errno(err, "listen_failed", "cannot replace the stale socket %s", addr->sun_path);
        return 0;
    }
    errno = why;
    if (rc == 0 || why == EAGAIN)
        return error_set(err, "listen_in_use", "another program answers on %s", addr->sun_path);
    return error_errno(err, "listen_failed", "cannot tell whether anyone answers on %s", addr->sun_path);
}

static int clear_socket_path(const struct sockaddr_un *addr, struct error *err)
{
    for (int tries = 0; clear_stale(addr, err) < 0; tries++) {
        if (strcmp(err->code, "listen_in_use") != 0 || tries == LISTENER_TRIES)
            return -1;
        usleep(LISTENER_PAUSE_MS * 1000);
    }
    return 0;
}

int listener_open_unix(struct listener *listener, const char *path, struct error *err)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct stat st;
    mode_t mask;
    int fd, rc;

    if (*path == '\0' || strlen(path) >= sizeof addr.sun_path)
        return error_set(err, "listen_failed",
                         "the path of a Unix socket has 1 to %zu bytes, and \"%.300s\" has %zu; choose a shorter one "
                         "with --listen unix:PATH",
                         sizeof addr.sun_path - 1, path, strlen(path));
    strcpy(addr.sun_path, path);
    if (safe_path_parent(path, err) < 0 || clear_socket_path(&addr, err) < 0)
        return -1;
    fd = make_socket(err);
    if (fd < 0)
        return -1;
    /* umask() gives the right mode from the first moment; chmod() would come too late */
    mask = umask(0177);
    rc = bind(fd, (const struct sockaddr *)&addr, sizeof addr);
    umask(mask);
    if (rc < 0 || listen(fd, BACKLOG) < 0 || lstat(path, &st) < 0) {
        error_errno(err, "listen_failed", "cannot listen on %s", path);
        close(fd);
        return -1;
    }
    listener->fd = fd;
    strcpy(listener->path, path);
    snprintf(listener->name, sizeof listener->name, "unix:%s", path);
    listener->dev = st.st_dev;
    listener->ino = st.st_ino;
    return 0;
}

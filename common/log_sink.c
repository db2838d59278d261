#include "common/log_sink.h"

#include "common/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SYSLOG_SOCKET "/dev/log"
#define LOOK_MS 1000 /* pause between checks whether the log file is still there, and between tries to reach syslog */

/* Opens the log file, which must belong to this user (devices such as /dev/null: to root) and be closed to others. A
 * symbolic link is refused: in a directory such as /tmp, a link of another user could lead to any file of this one. */
static int open_log_file(const char *path, struct error *err)
{
    struct stat st;
    int fd;

    if (safe_path_parent(path, err) < 0)
        return -1;
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == ELOOP) {
        error_set(err, "log_unusable",
                  "the log %s is a symbolic link, which is not followed: name the file that it leads to", path);
    } else if (fd < 0 || fstat(fd, &st) < 0) {
        error_errno(err, "log_unusable", "the log %s cannot be written", path);
    } else if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)) {
        error_set(err, "log_unusable", "the log %s is no file", path);
    } else if (S_ISREG(st.st_mode) && st.st_uid != geteuid()) {
        error_set(err, "log_unusable", "the log %s belongs to another user", path);
    } else if (S_ISREG(st.st_mode) && (st.st_mode & 077) != 0 && fchmod(fd, 0600) < 0) {
        error_errno(err, "log_unusable", "the log %s is open to others, and cannot be closed", path);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int open_syslog(const char *path)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int log_sink_open(struct log_sink *sink, const char *to, struct error *err)
{
    *sink = (struct log_sink){.kind = LOG_SINK_STDERR, .fd = STDERR_FILENO};
    if (strcmp(to, "stderr") == 0)
        return 0;
    if (strncmp(to, "syslog", 6) == 0) {
        sink->kind = LOG_SINK_SYSLOG;
        snprintf(sink->path, sizeof sink->path, "%s", to[6] == ':' ? to + 7 : SYSLOG_SOCKET);
        sink->fd = open_syslog(sink->path); /* if syslog is not there now, write tries again later */
        return 0;
    }
    sink->kind = LOG_SINK_FILE;
    snprintf(sink->path, sizeof sink->path, "%s", to);
    sink->fd = open_log_file(to, err);
    return sink->fd < 0 ? -1 : 0;
}

void log_sink_close(struct log_sink *sink)
{
    if (sink->kind != LOG_SINK_STDERR && sink->fd >= 0)
        close(sink->fd);
    *sink = (struct log_sink){.kind = LOG_SINK_STDERR, .fd = STDERR_FILENO};
}

int log_sink_reopen(struct log_sink *sink, struct error *err)
{
    int fd;

    if (sink->kind != LOG_SINK_FILE)
        return 0;
    fd = open_log_file(sink->path, err);
    if (fd < 0)
        return -1;
    close(sink->fd);
    sink->fd = fd;
    sink->torn = false;
    return 0;
}

/* Returns whether fd is systemd's journal. $JOURNAL_STREAM names the journal that systemd gave this service as stderr;
 * fd is compared with it because stderr may have been redirected since. */
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;

    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

enum log_frame log_sink_frame(const struct log_sink *sink)
{
    if (sink->kind == LOG_SINK_SYSLOG)
        return LOG_SYSLOG;
    return sink->kind == LOG_SINK_STDERR && is_journal(sink->fd) ? LOG_JOURNAL : LOG_PLAIN;
}

/* Begins a new log file if the old one was removed, instead of being moved away and announced by SIGHUP. */
static void look_after(struct log_sink *sink, int64_t now_ms)
{
    struct error ignored;
    struct stat st;

    if (now_ms - sink->tried_ms < LOOK_MS)
        return;
    sink->tried_ms = now_ms;
    if (sink->kind == LOG_SINK_FILE && fstat(sink->fd, &st) == 0 && st.st_nlink == 0)
        log_sink_reopen(sink, &ignored);
    if (sink->kind == LOG_SINK_SYSLOG && sink->fd < 0)
        sink->fd = open_syslog(sink->path);
}

/* Writes without blocking: a pipe, a terminal or a socket that nobody reads would hold the whole daemon up. When poll()
 * says that a pipe can be written to, PIPE_BUF bytes fit, and no line is longer. */
static ssize_t write_now(int fd, const char *data, size_t size)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    ssize_t n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n >= 0 || errno != ENOTSOCK)
        return n;
    if (poll(&poll_fd, 1, 0) != 1 || (poll_fd.revents & POLLOUT) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(fd, data, size);
}

void log_sink_write(struct log_sink *sink, const char *line, size_t size, int64_t now_ms)
{
    ssize_t n;

    look_after(sink, now_ms);
    if (sink->torn && write_now(sink->fd, "\n", 1) == 1)
        sink->torn = false; /* the newline keeps the next line apart from the half that was written before */
    n = sink->fd < 0 || sink->torn ? -1 : write_now(sink->fd, line, size);
    if (n == (ssize_t)size) {
        sink->lost = 0;
        return;
    }
    sink->lost++;
    if (n > 0)
        sink->torn = true;
    else if (n < 0 && sink->kind == LOG_SINK_SYSLOG && sink->fd >= 0 && errno != EAGAIN && errno != ENOBUFS) {
        close(sink->fd); /* syslog was restarted and has a new socket */
        sink->fd = -1;
    }
}

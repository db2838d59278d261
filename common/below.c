#include "common/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 8 /* while others rename directories on the way */

static void close_quietly(int fd)
{
    int saved = errno;

    if (fd >= 0)
        close(fd);
    errno = saved;
}

bool path_stays_below(const char *path)
{
    if (path[0] == '/')
        return false;
    for (const char *p = path; *p; p += strcspn(p, "/"), p += *p == '/')
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return false;
    return true;
}

static int open_dir(const char *dir)
{
    return open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Opens one part of a path. A link fails here even with O_PATH, which would open the link itself. */
static int open_path_part(int at, const char *name, int flags)
{
    struct stat st;
    int fd;

    if (strcmp(name, "..") == 0) {
        errno = EXDEV;
        return -1;
    }
    fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        errno = ELOOP;
    if (fd >= 0 && (flags & O_PATH) != 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
        close(fd);
        errno = ELOOP;
        return -1;
    }
    return fd;
}

int below_open_by_hand(const char *dir, const char *path, int flags)
{
    char *parts = strdup(path), *rest, *part, *next;
    int at = path[0] != '/' ? open_dir(dir) : -1, fd = -1;

    if (parts == NULL || path[0] == '/')
        errno = parts == NULL ? ENOMEM : EXDEV;
    part = parts != NULL && at >= 0 ? strtok_r(parts, "/", &rest) : NULL;
    if (part == NULL && at >= 0)
        errno = ENOENT;
    for (; part != NULL; part = next) {
        next = strtok_r(NULL, "/", &rest);
        fd = open_path_part(at, part, next != NULL ? O_PATH | O_DIRECTORY : flags);
        close_quietly(at);
        at = next != NULL ? fd : -1;
        if (fd < 0)
            break;
    }
    close_quietly(at);
    free(parts);
    return fd;
}

int below_open(const char *dir, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int at = open_dir(dir), fd = -1;

    if (at < 0)
        return -1;
    for (int i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EAGAIN); i++)
        fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);
    close_quietly(at);
    return fd < 0 && (errno == ENOSYS || errno == EPERM) ? below_open_by_hand(dir, path, flags) : fd;
}

int below_open_whole(const char *dir, const char *path, int flags)
{
    size_t n = strlen(dir);

    if (strncmp(path, dir, n) != 0 || path[n] != '/') {
        errno = EXDEV;
        return -1;
    }
    return below_open(dir, path + n + strspn(path + n, "/"), flags);
}

/* Opens the directory that a path is in, and finds its last part. */
static int open_parent(const char *dir, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash != NULL ? strndup(path, (size_t)(slash - path)) : NULL;
    int fd;

    *name = slash != NULL ? slash + 1 : path;
    if (slash != NULL && parent == NULL) {
        errno = ENOMEM;
        return -1;
    }
    fd = parent != NULL ? below_open(dir, parent, O_PATH | O_DIRECTORY) : open_dir(dir);
    free(parent);
    return fd;
}

int below_unlink(const char *dir, const char *path)
{
    const char *name;
    int at = open_parent(dir, path, &name), rc = at >= 0 ? unlinkat(at, name, 0) : -1;

    close_quietly(at);
    return rc;
}

int below_link(const char *dir, const char *path, const char *to)
{
    const char *name;
    int at = open_parent(dir, path, &name), rc = at >= 0 ? linkat(at, name, AT_FDCWD, to, 0) : -1;

    close_quietly(at);
    return rc;
}

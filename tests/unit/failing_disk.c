#include "tests/unit/failing_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct fault fault;

static bool strikes(const char *call, const char *path)
{
    const char *file = path != NULL && strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

    if (fault.call == NULL || strcmp(fault.call, call) != 0 || fault.times == 0 ||
        (fault.file != NULL && (file == NULL || strcmp(fault.file, file) != 0)))
        return false;
    fault.times -= fault.times > 0;
    errno = fault.error;
    return true;
}

void every(const char *call, const char *file, int error)
{
    fault.call = call;
    fault.file = file;
    fault.error = error;
    fault.times = -1;
}

int openat(int at, const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    va_start(ap, flags);
    mode = (mode_t)((flags & O_CREAT) != 0 ? va_arg(ap, int) : 0);
    va_end(ap);
    return strikes("open", path) ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    va_start(ap, flags);
    mode = (mode_t)((flags & O_CREAT) != 0 ? va_arg(ap, int) : 0);
    va_end(ap);
    return openat(AT_FDCWD, path, flags, mode);
}

ssize_t read(int fd, void *data, size_t size)
{
    return strikes("read", NULL) ? -1 : syscall(SYS_read, fd, data, size);
}

/* Writes a part at a time. */
ssize_t write(int fd, const void *data, size_t size)
{
    return strikes("write", NULL) ? -1 : syscall(SYS_write, fd, data, size > 100 ? size / 2 : size);
}

int fdatasync(int fd)
{
    return strikes("fdatasync", NULL) ? -1 : 0;
}

int unlinkat(int at, const char *path, int flags)
{
    return strikes("unlinkat", path) ? -1 : (int)syscall(SYS_unlinkat, at, path, flags);
}

int rename(const char *from, const char *to)
{
    return strikes("rename", from) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

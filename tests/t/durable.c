/* Loaded into programs of ours by LD_PRELOAD, for the test of what must be on the disk before something else happens:
 * writes down, in order, what is flushed, what gets its name, and what the database's files are told to do.
 *
 *   DURABLE_LOG=FILE     gets a line for each event, of fields that tabs separate: process, thread, event, path, inode, size,
 *                        modification time in nanoseconds. Of a file that is not there the last three are 0.
 *   DURABLE_BELOW=DIR    only what is in it is written down
 *   DURABLE_MARK=TEXT    a write of the database's log with this in it is a "commit"
 *
 * Events: "flush" (msync() of what is mapped, too), "name" (of a file that now has its path, by rename or link) and
 * "made" (a file or directory that was not there) once they have been made; "write" (of the database or its log),
 * "begin" (the log is written from its start again, truncated or removed) and "commit" before they are. Other files may
 * be written in ways that cannot be seen from here: their size and modification time tell. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *find(const char *function)
{
    void *found = dlsym(RTLD_NEXT, function);

    if (found == NULL)
        abort();
    return found;
}

static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), n = strlen(end);

    return size >= n && strcmp(path + size - n, end) == 0;
}

static void note_file(const char *event, const char *path, const struct stat *st)
{
    const char *file = getenv("DURABLE_LOG"), *below = getenv("DURABLE_BELOW");
    char line[4600];
    int saved = errno, fd, n;

    if (file == NULL || below == NULL || strncmp(path, below, strlen(below)) != 0)
        return;
    n = snprintf(line, sizeof line, "%d\t%d\t%s\t%s\t%lld\t%lld\t%lld\n", (int)getpid(), (int)syscall(SYS_gettid), event, path,
                 (long long)st->st_ino, (long long)st->st_size, (long long)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec);
    fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, line, (size_t)n) != n)
        abort();
    close(fd);
    errno = saved;
}

static void note(const char *event, const char *path)
{
    struct stat st = {0};
    int saved = errno;

    if (stat(path, &st) < 0)
        memset(&st, 0, sizeof st);
    errno = saved;
    note_file(event, path, &st);
}

/* "" if it has none. */
static void path_of(int fd, char path[4096])
{
    char name[64];
    int saved = errno;
    ssize_t n;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    n = readlink(name, path, 4095);
    path[n > 0 ? n : 0] = '\0';
    errno = saved;
}

static void note_write(int fd, const void *data, size_t size, off_t offset)
{
    const char *mark = getenv("DURABLE_MARK");
    char path[4096];
    bool log;

    path_of(fd, path);
    log = ends_with(path, ".db-wal");
    if (!log && !ends_with(path, ".db"))
        return;
    if (log && offset == 0)
        note("begin", path);
    note("write", path);
    if (log && mark != NULL && memmem(data, size, mark, strlen(mark)) != NULL)
        note("commit", path);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    static ssize_t (*next)(int fd, const void *data, size_t size, off_t offset);

    if (next == NULL)
        next = (ssize_t (*)(int, const void *, size_t, off_t))find("pwrite");
    note_write(fd, data, size, offset);
    return next(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    static ssize_t (*next)(int fd, const void *data, size_t size, off64_t offset);

    if (next == NULL)
        next = (ssize_t (*)(int, const void *, size_t, off64_t))find("pwrite64");
    note_write(fd, data, size, (off_t)offset);
    return next(fd, data, size, offset);
}

static void note_truncated(int fd)
{
    char path[4096];

    path_of(fd, path);
    if (ends_with(path, ".db-wal"))
        note("begin", path);
}

int ftruncate(int fd, off_t size)
{
    static int (*next)(int fd, off_t size);

    if (next == NULL)
        next = (int (*)(int, off_t))find("ftruncate");
    note_truncated(fd);
    return next(fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    static int (*next)(int fd, off64_t size);

    if (next == NULL)
        next = (int (*)(int, off64_t))find("ftruncate64");
    note_truncated(fd);
    return next(fd, size);
}

int unlink(const char *path)
{
    static int (*next)(const char *path);

    if (next == NULL)
        next = (int (*)(const char *))find("unlink");
    if (ends_with(path, ".db-wal"))
        note("begin", path);
    return next(path);
}

static int flushed(int fd, int rc)
{
    struct stat st;
    char path[4096];
    int saved = errno;

    if (rc == 0) {
        path_of(fd, path);
        if (fstat(fd, &st) == 0) /* it may have no name yet */
            note_file("flush", path, &st);
    }
    errno = saved;
    return rc;
}

int fsync(int fd)
{
    static int (*next)(int fd);

    if (next == NULL)
        next = (int (*)(int))find("fsync");
    return flushed(fd, next(fd));
}

int fdatasync(int fd)
{
    static int (*next)(int fd);

    if (next == NULL)
        next = (int (*)(int))find("fdatasync");
    return flushed(fd, next(fd));
}

int rename(const char *from, const char *to)
{
    static int (*next)(const char *from, const char *to);
    int rc;

    if (next == NULL)
        next = (int (*)(const char *, const char *))find("rename");
    rc = next(from, to);
    if (rc == 0)
        note("name", to);
    return rc;
}

int link(const char *from, const char *to)
{
    static int (*next)(const char *from, const char *to);
    int rc;

    if (next == NULL)
        next = (int (*)(const char *, const char *))find("link");
    rc = next(from, to);
    if (rc == 0)
        note("name", to);
    return rc;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    static int (*next)(int from_dir, const char *from, int to_dir, const char *to, int flags);
    int rc;

    if (next == NULL)
        next = (int (*)(int, const char *, int, const char *, int))find("linkat");
    rc = next(from_dir, from, to_dir, to, flags);
    if (rc == 0 && to_dir == AT_FDCWD)
        note("name", to);
    return rc;
}

int mkdir(const char *path, mode_t mode)
{
    static int (*next)(const char *path, mode_t mode);
    int rc;

    if (next == NULL)
        next = (int (*)(const char *, mode_t))find("mkdir");
    rc = next(path, mode);
    if (rc == 0)
        note("made", path);
    return rc;
}

/* The file that is mapped there is found by its line in /proc/self/maps, whose sixth field it is. */
static void mapped_at(const void *address, char path[4096])
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4600];

    path[0] = '\0';
    while (maps != NULL && path[0] == '\0' && fgets(line, sizeof line, maps) != NULL)
        if (strtoull(line, NULL, 16) == (unsigned long long)(uintptr_t)address)
            sscanf(line, "%*s %*s %*s %*s %*s %4095[^\n]", path);
    if (maps != NULL)
        fclose(maps);
}

int msync(void *address, size_t size, int flags)
{
    static int (*next)(void *address, size_t size, int flags);
    char path[4096];
    int rc;

    if (next == NULL)
        next = (int (*)(void *, size_t, int))find("msync");
    rc = next(address, size, flags);
    mapped_at(address, path);
    if (rc == 0 && (flags & MS_SYNC) != 0)
        note("flush", path);
    return rc;
}

static int opened(const char *function, const char *path, int flags, mode_t mode)
{
    int (*next)(const char *path, int flags, ...) = (int (*)(const char *, int, ...))find(function);
    int saved = errno, fd;
    bool missing = (flags & O_CREAT) != 0 && access(path, F_OK) < 0;

    errno = saved;
    fd = next(path, flags, mode);
    if (fd >= 0 && missing)
        note("made", path);
    return fd;
}

static mode_t mode_of(int flags, va_list ap)
{
    return (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return opened("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return opened("open64", path, flags, mode);
}

/* Loaded into a daemon of ours by LD_PRELOAD, for the tests of what waits for the disk: one flush of the database's log
 * is held until the test has said how it ends.
 *
 *   FLUSHES=DIR    where the file "next" says that the next one is meant, and is removed by it. That it is held is told by
 *                  the FIFO "held" in DIR, which gets a line; then the FIFO "end" is read: "good", and the flush is made, or
 *                  "bad", and it fails, what had not been flushed before being lost, as by a disk that goes. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_llong flushed; /* bytes of the log that are on the disk */

static bool is_log(int fd)
{
    char name[64], path[4096];
    ssize_t n;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    n = readlink(name, path, sizeof path);
    return n >= 4 && memcmp(path + n - 4, "-wal", 4) == 0;
}

static int open_in(const char *dir, const char *name, int flags)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return open(path, flags | O_CLOEXEC);
}

/* Is it this one? */
static bool is_next(const char *dir)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/next", dir);
    return unlink(path) == 0;
}

/* Tell that it is held, and wait: whether it is to be made. */
static bool is_let_go(const char *dir)
{
    char said[8] = "";
    int held = open_in(dir, "held", O_WRONLY), end;

    if (held < 0 || write(held, "held\n", 5) != 5)
        abort();
    close(held);
    end = open_in(dir, "end", O_RDONLY);
    if (end < 0 || read(end, said, sizeof said - 1) <= 0)
        abort();
    close(end);
    return strcmp(said, "good\n") == 0;
}

int fdatasync(int fd)
{
    static int (*next)(int fd);
    const char *dir = getenv("FLUSHES");
    struct stat st;
    int rc;

    if (next == NULL && (next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync")) == NULL)
        abort();
    if (dir == NULL || strcmp(program_invocation_short_name, "strettod") != 0 || !is_log(fd))
        return next(fd);
    if (is_next(dir) && !is_let_go(dir)) {
        if (ftruncate(fd, atomic_load(&flushed)) < 0)
            abort();
        errno = EIO;
        return -1;
    }
    if (fstat(fd, &st) < 0)
        abort();
    rc = next(fd);
    if (rc == 0)
        atomic_store(&flushed, st.st_size);
    return rc;
}

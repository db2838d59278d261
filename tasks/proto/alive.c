#include "tasks/proto/alive.h"

#include "common/timefmt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *path;
static int64_t pause_ms = INT64_MAX;
static _Atomic int64_t due;

static void read_environment(void)
{
    const char *ms = getenv("STRETTO_ALIVE_MS"), *named = getenv("STRETTO_ALIVE");

    if (named != NULL && named[0] == '/' && ms != NULL && strtoll(ms, NULL, 10) > 0 && (path = strdup(named)) != NULL)
        pause_ms = strtoll(ms, NULL, 10);
}

int64_t alive_pause_ms(void)
{
    pthread_once(&once, read_environment);
    return pause_ms;
}

/* Opens the file, and makes it if need be; -1 if that fails. */
static int alive_open_file(void)
{
    return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void alive_learning(bool learning)
{
    int fd = alive_pause_ms() != INT64_MAX ? alive_open_file() : -1;

    if (fd < 0)
        return;
    if (ftruncate(fd, learning) < 0) { /* the rank is then judged as one that does not learn yet */
    }
    close(fd);
}

void alive_sign(void)
{
    int64_t now;
    int fd;

    if (alive_pause_ms() == INT64_MAX)
        return;
    now = time_monotonic_ms();
    if (now < atomic_load(&due))
        return;
    atomic_store(&due, now + pause_ms);
    if (utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        return;
    fd = alive_open_file();
    if (fd >= 0)
        close(fd);
}

#include "tasks/train/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef SYS_close_range
#define SYS_close_range 436 /* on every architecture */
#endif

#define LIMIT 16384

static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= LIMIT)
        return;
    limit.rlim_cur = limit.rlim_max < LIMIT ? limit.rlim_max : LIMIT;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int close_range_of(unsigned first, unsigned last, unsigned flags)
{
    return first > last ? 0 : (int)syscall(SYS_close_range, first, last, flags);
}

/* Does the same if the kernel is older than close_range(2), 5.9, or does not allow it. The list is opened first:
 * descriptors that cannot be closed must not be copied, or they would stay open when the program closes them. */
static bool part_and_close_listed(int kept)
{
    DIR *dir = opendir("/proc/thread-self/fd");
    int error;

    if (dir == NULL)
        return false;
    error = unshare(CLONE_FILES) < 0 ? errno : 0;
    for (const struct dirent *entry; error == 0 && (entry = readdir(dir)) != NULL;) {
        int fd = atoi(entry->d_name);

        if (fd > STDERR_FILENO && fd != kept && fd != dirfd(dir))
            close(fd);
    }
    closedir(dir);
    errno = error;
    return error == 0;
}

static bool part_descriptors(int kept)
{
    if (close_range_of((unsigned)kept + 1, UINT_MAX, CLOSE_RANGE_UNSHARE) == 0) {
        close_range_of(STDERR_FILENO + 1, (unsigned)kept - 1, 0);
        return true;
    }
    return part_and_close_listed(kept);
}

bool descriptors_part(int kept)
{
    bool parted = part_descriptors(kept);
    int saved = errno;

    raise_limit();
    errno = saved;
    return parted;
}

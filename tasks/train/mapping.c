#include "tasks/train/mapping.h"

#include "tasks/proto/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapping {
    pid_t owner;
    const uint8_t *memory;
    size_t size;
};

/* Returns whether the descriptor is such memory: anything else, such as a pipe, must not be opened. */
static bool is_memory(const char *path)
{
    static const char name[] = "/memfd:" SHARED_NAME;
    char target[64];
    ssize_t n = readlink(path, target, sizeof target);

    return n >= (ssize_t)sizeof name - 1 && memcmp(target, name, sizeof name - 1) == 0;
}

/* Checks the memory. It must be sealed, so that no page can be missing, since reading a missing page would raise a
 * signal. The inode shows that the process is the right one, even if pids are counted differently here. */
static bool is_offered(int fd, json_int_t inode, size_t size_max, size_t *size)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (json_int_t)st.st_ino != inode || st.st_size <= 0 || (uint64_t)st.st_size > size_max)
        return false;
    *size = (size_t)st.st_size;
    return true;
}

static int open_offer(const json_t *offer, size_t size_max, size_t *size)
{
    json_int_t pid = json_integer_value(json_object_get(offer, "pid"));
    json_int_t fd = json_integer_value(json_object_get(offer, "fd"));
    char path[64];
    int memory;

    if (pid <= 0 || pid > INT32_MAX || fd < 0 || fd > INT32_MAX)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd);
    if (!is_memory(path))
        return -1;
    memory = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (memory >= 0 && !is_offered(memory, json_integer_value(json_object_get(offer, "inode")), size_max, size)) {
        close(memory);
        memory = -1;
    }
    return memory;
}

struct mapping *mapping_open(const json_t *offer, size_t size_max)
{
    struct mapping *m;
    void *memory;
    size_t size = 0;
    int fd = offer != NULL ? open_offer(offer, size_max, &size) : -1;

    if (fd < 0)
        return NULL;
    memory = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return NULL;
    m = calloc(1, sizeof *m);
    if (m == NULL) {
        munmap(memory, size);
        return NULL;
    }
    m->owner = (pid_t)json_integer_value(json_object_get(offer, "pid"));
    m->memory = memory;
    m->size = size;
    return m;
}

void mapping_close(struct mapping *m)
{
    if (m == NULL)
        return;
    munmap((void *)m->memory, m->size);
    free(m);
}

const void *mapping_at(const struct mapping *m, uint64_t place, uint64_t length)
{
    if (place % SHARED_UNIT != 0 || place > m->size || length > m->size - place)
        return NULL;
    return m->memory + place;
}

bool mapping_has_owner(const struct mapping *m)
{
    return kill(m->owner, 0) == 0 || errno != ESRCH;
}

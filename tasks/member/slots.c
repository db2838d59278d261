#include "tasks/member/slots.h"

#include "common/stretto_assert.h"
#include "tasks/proto/frame.h"
#include "tasks/proto/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* some systems insist on this flag, older ones do not know it */
#endif

struct slots {
    pthread_mutex_t lock;
    int fd;
    json_int_t inode;
    uint8_t *memory;
    size_t size, units;
    uint8_t *taken; /* 1 for each unit that is taken */
};

struct lent_slot {
    struct slots *of;
    size_t first, units;
    uint8_t frame[FRAME_HEADER_SIZE + FRAME_PLACE_SIZE];
};

/* Makes the memory. Extending a file beyond the limit RLIMIT_FSIZE would raise a signal, so the limit is checked
 * first. */
static int make_slot_memory(size_t size)
{
    struct rlimit limit;
    int fd;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur < size)
        return -1;
    fd = memfd_create(SHARED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(SHARED_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

struct slots *slots_create(size_t size)
{
    struct slots *slots;
    struct stat st;
    void *memory;
    int fd = size > 0 ? make_slot_memory(size) : -1;

    if (fd < 0)
        return NULL;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED || fstat(fd, &st) < 0) {
        if (memory != MAP_FAILED)
            munmap(memory, size);
        close(fd);
        return NULL;
    }
    slots = calloc(1, sizeof *slots);
    if (slots != NULL)
        slots->taken = calloc(size / SHARED_UNIT, 1);
    if (slots == NULL || slots->taken == NULL) {
        munmap(memory, size);
        close(fd);
        free(slots);
        return NULL;
    }
    pthread_mutex_init(&slots->lock, NULL);
    slots->fd = fd;
    slots->inode = (json_int_t)st.st_ino;
    slots->memory = memory;
    slots->size = size;
    slots->units = size / SHARED_UNIT;
    return slots;
}

void slots_destroy(struct slots *slots)
{
    if (slots == NULL)
        return;
    munmap(slots->memory, slots->size);
    close(slots->fd);
    pthread_mutex_destroy(&slots->lock);
    free(slots->taken);
    free(slots);
}

json_t *slots_offer(const struct slots *slots)
{
    return json_pack("{s:I, s:i, s:I}", "pid", (json_int_t)getpid(), "fd", slots->fd, "inode", slots->inode);
}

/* Finds the first free piece that is long enough: so no more of the memory is ever touched than was in use at once. */
static bool find_free(const struct slots *slots, size_t units, size_t *first)
{
    const uint8_t *end = slots->taken + slots->units, *from = slots->taken, *blocked;

    while ((from = memchr(from, 0, (size_t)(end - from))) != NULL && (size_t)(end - from) >= units) {
        blocked = memchr(from, 1, units);
        if (blocked == NULL) {
            *first = (size_t)(from - slots->taken);
            return true;
        }
        from = blocked;
    }
    return false;
}

struct lent_slot *slot_take(struct slots *slots, size_t bytes)
{
    size_t units = shared_units(bytes), first = 0;
    struct lent_slot *slot = calloc(1, sizeof *slot);
    bool found;

    if (slot == NULL)
        return NULL;
    pthread_mutex_lock(&slots->lock);
    found = find_free(slots, units, &first);
    if (found)
        memset(slots->taken + first, 1, units);
    pthread_mutex_unlock(&slots->lock);
    if (!found) {
        free(slot);
        return NULL;
    }
    slot->of = slots;
    stretto_assert(first + units <= slots->units);
    slot->first = first;
    slot->units = units;
    frame_encode_place(first * SHARED_UNIT, slot->frame + FRAME_HEADER_SIZE);
    return slot;
}

void *slot_payload(const struct lent_slot *slot)
{
    return slot->of->memory + slot->first * SHARED_UNIT;
}

void slot_give_back(struct lent_slot *slot)
{
    struct slots *slots = slot->of;

    pthread_mutex_lock(&slots->lock);
    stretto_assert(slots->taken[slot->first] == 1 && slot->first + slot->units <= slots->units);
    memset(slots->taken + slot->first, 0, slot->units);
    pthread_mutex_unlock(&slots->lock);
    free(slot);
}

/* Called by ZeroMQ, often on its own thread. */
static void release_slot(void *data, void *hint)
{
    slot_give_back(hint);
}

int slot_into(struct lent_slot *slot, zmq_msg_t *msg)
{
    if (zmq_msg_init_data(msg, slot->frame, sizeof slot->frame, release_slot, slot) == 0)
        return 0;
    slot_give_back(slot);
    return -1;
}

const void *slots_payload(const struct slots *slots, zmq_msg_t *msg)
{
    return slots->memory + frame_decode_place((const uint8_t *)zmq_msg_data(msg) + FRAME_HEADER_SIZE);
}

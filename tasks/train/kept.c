#include "tasks/train/kept.h"

#include "common/log.h"
#include "tasks/train/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define CHUNK_MIN ((size_t)16 << 20)
#define CHUNK_SLOTS_MIN 1
#define RETAIN_BYTES ((size_t)256 << 20) /* so much is retained at least, unless the spec says how much */

struct kept {
    const struct train_config *config;
    char *path;
    struct kept_head *head; /* with what is known of members behind it */
    size_t mapped;          /* bytes of that */
    size_t slot_size, per_chunk, chunk_size;
    char **chunk;
    size_t chunks;
    pthread_mutex_t lock;
    struct kept_slot *idle;
    struct kept_slot *retained, **retained_end; /* the one that was given back first comes first */
    size_t retained_count, retain;
    bool full;                             /* reception waits */
    void (*watcher)(void *arg, bool full); /* NULL: it never does */
    void *watcher_arg;
    bool frozen;       /* no slot becomes free any more */
    bool begun;        /* everything that the rank took over is in the slots */
    uint32_t newest;   /* the highest number that a slot was given back with */
    uint32_t released; /* the newest checkpoint that is whole */
    uint32_t lacking;  /* the checkpoint that must be whole before the memory is complete again */
};

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Maps a part of the memory, which gets its pages at once: without, a lack of memory would be a SIGBUS later on. NULL
 * with errno. The file is opened each time, since the receiver thread has a table of descriptors of its own. */
static void *map_kept(const struct kept *kept, size_t at, size_t size)
{
    int fd = open(kept->path, O_RDWR | O_CLOEXEC), failed;
    void *memory = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (fallocate(fd, 0, (off_t)at, (off_t)size) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    failed = errno;
    close(fd);
    errno = failed;
    return memory != MAP_FAILED ? memory : NULL;
}

/* Returns why the memory cannot be used; NULL if it can. */
static const char *open_head(struct kept *kept, const char *task)
{
    kept->head = kept->path != NULL ? map_kept(kept, 0, kept->mapped) : NULL;
    if (kept->head == NULL)
        return strerror(errno);
    if (kept->head->magic != KEPT_MAGIC || task == NULL ||
        strncmp(kept->head->owner, task, sizeof kept->head->owner) != 0)
        return "it is not the memory of this rank, which may run on another host";
    return NULL;
}

struct kept *kept_open(const struct train_config *config)
{
    const char *path = getenv("STRETTO_KEPT"), *why;
    struct kept *kept;

    if (config->checkpoint.dir == NULL || config->checkpoint.retain == 0 || path == NULL || *path == '\0')
        return NULL;
    kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return NULL;
    pthread_mutex_init(&kept->lock, NULL);
    kept->retained_end = &kept->retained;
    kept->config = config;
    kept->path = strdup(path);
    kept->mapped = KEPT_HEAD_SIZE + pages(config->count * sizeof(uint32_t));
    why = open_head(kept, getenv("STRETTO_TASK"));
    if (why == NULL)
        return kept;
    log_warn("if this rank is killed, members have to send their samples again: the memory that would keep them, %s, "
             "cannot be used: %s",
             path, why);
    kept_close(kept);
    return NULL;
}

void kept_close(struct kept *kept)
{
    if (kept == NULL)
        return;
    for (size_t i = 0; i < kept->chunks; i++)
        munmap(kept->chunk[i], kept->chunk_size);
    free(kept->chunk);
    if (kept->head != NULL)
        munmap(kept->head, kept->mapped);
    free(kept->path);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

struct kept_head *kept_head(struct kept *kept)
{
    return kept->head;
}

uint32_t *kept_ended(struct kept *kept)
{
    return (uint32_t *)(void *)((char *)kept->head + KEPT_HEAD_SIZE);
}

static void set_kept_state(struct kept *kept, enum kept_state state)
{
    __atomic_store_n(&kept->head->state, state, __ATOMIC_RELEASE);
}

static void update_state(struct kept *kept)
{
    if (kept->begun)
        set_kept_state(kept, kept->lacking <= kept->released ? KEPT_COMPLETE : KEPT_LACKING);
}

static int map_chunk(struct kept *kept, size_t number)
{
    char **chunk = reallocarray(kept->chunk, number + 1, sizeof *chunk);

    if (chunk == NULL)
        return -1;
    kept->chunk = chunk;
    chunk[number] = map_kept(kept, kept->mapped + number * kept->chunk_size, kept->chunk_size);
    if (chunk[number] == NULL)
        return -1;
    kept->chunks = number + 1;
    return 0;
}

static struct kept_slot *slot_at(const struct kept *kept, size_t chunk, size_t slot)
{
    return (struct kept_slot *)(void *)(kept->chunk[chunk] + slot * kept->slot_size);
}

/* Enters the free slots of a chunk, of which the first one is taken first. */
static void enter_chunk(struct kept *kept, size_t chunk)
{
    for (size_t i = kept->per_chunk; i-- > 0;) {
        struct kept_slot *slot = slot_at(kept, chunk, i);

        if (atomic_load_explicit(&slot->have, memory_order_relaxed) != 0)
            continue;
        slot->next = kept->idle;
        kept->idle = slot;
    }
}

/* Checks that what a former process has left can be gone on with, from this checkpoint. */
static int check_left(const struct kept *kept, const char *resume, struct error *err)
{
    const struct kept_head *head = kept->head;
    const char *base = head->base[head->bases % 2];

    if (head->state != KEPT_COMPLETE)
        return error_set(err, "train_kept", "samples that this rank had acknowledged were let go before it was killed");
    if (head->members != kept->config->count || head->slot_size != kept->slot_size)
        return error_set(err, "train_kept", "the memory that keeps this rank's samples is of another stream");
    if (*base != '\0' && (resume == NULL || (strcmp(resume, base) != 0 && saved_is_older(resume, base))))
        return error_set(err, "train_kept", "samples were let go, since checkpoint %s had them; %s is older", base,
                         resume != NULL ? resume : "the beginning");
    return 0;
}

static void retain_by(struct kept *kept)
{
    const struct train_config *config = kept->config;

    kept->retain = config->checkpoint.retain > 0 ? (size_t)config->checkpoint.retain : RETAIN_BYTES / kept->slot_size;
    if (config->checkpoint.retain < 0 && kept->retain < config->buffer.capacity)
        kept->retain = config->buffer.capacity;
}

int kept_layout(struct kept *kept, size_t slot_size, const char *resume, struct error *err)
{
    struct kept_head *head = kept->head;

    kept->slot_size = slot_size;
    kept->per_chunk = CHUNK_MIN / slot_size < CHUNK_SLOTS_MIN ? CHUNK_SLOTS_MIN : CHUNK_MIN / slot_size;
    kept->chunk_size = pages(kept->per_chunk * slot_size);
    retain_by(kept);
    if (head->state == KEPT_UNUSED) {
        head->members = kept->config->count;
        head->slot_size = slot_size;
        snprintf(head->base[0], sizeof head->base[0], "%s", resume != NULL ? resume : "");
        return 0;
    }
    if (check_left(kept, resume, err) < 0) {
        set_kept_state(kept, KEPT_LACKING);
        return -1;
    }
    for (size_t i = 0; i < head->chunks; i++) {
        if (map_chunk(kept, i) < 0)
            return error_errno(err, "train_memory", "the memory that keeps this rank's samples");
        enter_chunk(kept, i);
    }
    kept->begun = true;
    return 0;
}

void kept_begin(struct kept *kept)
{
    pthread_mutex_lock(&kept->lock);
    kept->begun = true;
    update_state(kept);
    pthread_mutex_unlock(&kept->lock);
}

void kept_freeze(struct kept *kept)
{
    pthread_mutex_lock(&kept->lock);
    kept->frozen = true;
    pthread_mutex_unlock(&kept->lock);
}

int kept_each(struct kept *kept, int (*each)(void *arg, struct kept_slot *slot), void *arg)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < kept->chunks; i++)
        for (size_t j = 0; rc == 0 && j < kept->per_chunk; j++) {
            struct kept_slot *slot = slot_at(kept, i, j);

            if (atomic_load_explicit(&slot->have, memory_order_acquire) != 0)
                rc = each(arg, slot);
        }
    return rc;
}

struct kept_slot *kept_take(struct kept *kept)
{
    struct kept_slot *slot;

    pthread_mutex_lock(&kept->lock);
    if (kept->idle == NULL && map_chunk(kept, kept->chunks) == 0) {
        kept->head->chunks = kept->chunks;
        enter_chunk(kept, kept->chunks - 1);
    }
    slot = kept->idle;
    if (slot != NULL)
        kept->idle = slot->next;
    pthread_mutex_unlock(&kept->lock);
    return slot;
}

static void make_free(struct kept *kept, struct kept_slot *slot)
{
    atomic_store_explicit(&slot->have, 0, memory_order_release);
    slot->next = kept->idle;
    kept->idle = slot;
}

/* Lets all samples go that the checkpoint of this number has. */
static void let_go_of_cut(struct kept *kept, uint32_t cut)
{
    struct kept_slot **at = &kept->retained, *slot;

    while ((slot = *at) != NULL) {
        if (slot->cut > cut) {
            at = &slot->next;
            continue;
        }
        *at = slot->next;
        kept->retained_count--;
        make_free(kept, slot);
    }
    kept->retained_end = at;
}

static void retain(struct kept *kept, struct kept_slot *slot, uint32_t cut)
{
    slot->cut = cut;
    slot->next = NULL;
    *kept->retained_end = slot;
    kept->retained_end = &slot->next;
    kept->retained_count++;
}

/* Lets everything go that is retained. */
static void lack(struct kept *kept)
{
    kept->lacking = kept->newest;
    update_state(kept);
    let_go_of_cut(kept, kept->newest);
}

static void set_full(struct kept *kept, bool full)
{
    if (full != kept->full)
        kept->watcher(kept->watcher_arg, full);
    kept->full = full;
}

/* Does the steps that are due when so many are retained. */
static void keep_to_limit(struct kept *kept)
{
    size_t limit = 2 * kept->retain;

    if (kept->watcher != NULL)
        set_full(kept, kept->retained_count >= limit && !kept->frozen);
    else if (kept->retained_count <= limit || kept->frozen)
        return;
    else if (kept->lacking < kept->newest)
        lack(kept);
}

void kept_give(struct kept *kept, struct kept_slot *slot, uint32_t cut)
{
    pthread_mutex_lock(&kept->lock);
    if (cut <= kept->released || cut <= kept->lacking) { /* also of one that was not drawn */
        if (!kept->frozen)
            make_free(kept, slot);
    } else {
        retain(kept, slot, cut);
    }
    if (cut > kept->newest && cut != KEPT_FOREVER)
        kept->newest = cut;
    keep_to_limit(kept);
    pthread_mutex_unlock(&kept->lock);
}

bool kept_watch(struct kept *kept, void (*full)(void *arg, bool full), void *arg)
{
    if (kept->config->checkpoint.retain <= 0)
        return false;
    pthread_mutex_lock(&kept->lock);
    kept->watcher = full;
    kept->watcher_arg = arg;
    pthread_mutex_unlock(&kept->lock);
    return true;
}

bool kept_is_full(struct kept *kept)
{
    bool full;

    pthread_mutex_lock(&kept->lock);
    full = kept->full;
    pthread_mutex_unlock(&kept->lock);
    return full;
}

void kept_give_up(struct kept *kept, const char *why)
{
    pthread_mutex_lock(&kept->lock);
    if (kept->full) {
        log_warn(
            "ensemble %llu, rank %d: %zu samples that were drawn since the last checkpoint are let go, because %s: if "
            "a rank is killed before the next checkpoint is whole, members run again",
            (unsigned long long)kept->config->ensemble, kept->config->rank, kept->retained_count, why);
        lack(kept);
        set_full(kept, false);
    }
    pthread_mutex_unlock(&kept->lock);
}

void kept_cut_is_whole(struct kept *kept, uint32_t cut, const char *name)
{
    struct kept_head *head = kept->head;

    pthread_mutex_lock(&kept->lock);
    snprintf(head->base[(head->bases + 1) % 2], sizeof head->base[0], "%s", name);
    __atomic_store_n(&head->bases, head->bases + 1, __ATOMIC_RELEASE);
    kept->released = cut;
    if (!kept->frozen)
        let_go_of_cut(kept, cut);
    keep_to_limit(kept);
    update_state(kept);
    pthread_mutex_unlock(&kept->lock);
}

bool kept_is_due(struct kept *kept, uint32_t cut, bool pending)
{
    bool due;

    pthread_mutex_lock(&kept->lock);
    due = kept->config->checkpoint.retain > 0 && kept->retained_count >= kept->retain &&
          (kept->newest == cut || (kept->full && !pending));
    pthread_mutex_unlock(&kept->lock);
    return due;
}

#include "tasks/train/copies.h"

#include "common/stretto_assert.h"
#include "common/thread.h"
#include "tasks/proto/copy.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define PIECE ((size_t)1 << 20) /* bytes that a thread copies before it looks for more */
#define ALONE ((size_t)4 << 20) /* bytes in all up to which waking others costs more than it saves */
#define PROCESSORS_EACH 4

struct copy_piece {
    void *to;
    const void *from;
    size_t size;
};

struct copies {
    struct copy_piece *piece;
    size_t count, room, bytes;
    atomic_size_t next; /* piece that nobody has taken */
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    unsigned turn; /* counts calls of copies_make(): a helper helps in each once */
    bool open;     /* there is something to help with */
    bool stopped;
    int working; /* helpers that help; copies_make() waits for those alone, so that it needs none, as after fork() */
    int helpers, started;
    pthread_t thread[COPIES_HELPERS_MAX];
};

int copies_helpers(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) / PROCESSORS_EACH : 0;

    return n < COPIES_HELPERS_MAX ? n : COPIES_HELPERS_MAX;
}

struct copies *copies_create(int helpers)
{
    struct copies *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->helpers = helpers;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->begun, NULL);
    pthread_cond_init(&c->ended, NULL);
    return c;
}

void copies_destroy(struct copies *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->stopped = true;
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->started; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->begun);
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    free(c->piece);
    free(c);
}

static bool make_piece_room(struct copies *c)
{
    size_t room = c->room > 0 ? 2 * c->room : 64;
    struct copy_piece *piece;

    if (c->count < c->room)
        return true;
    piece = realloc(c->piece, room * sizeof *piece);
    if (piece == NULL)
        return false;
    c->piece = piece;
    c->room = room;
    return true;
}

void copies_add(struct copies *c, void *to, const void *from, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t part = size - at < PIECE ? size - at : PIECE;

        if (!make_piece_room(c)) {
            copy_out((char *)to + at, (const char *)from + at, size - at);
            return;
        }
        c->piece[c->count++] = (struct copy_piece){(char *)to + at, (const char *)from + at, part};
        c->bytes += part;
        at += part;
    }
}

static void take_pieces(struct copies *c)
{
    size_t i;

    while ((i = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed)) < c->count)
        copy_out(c->piece[i].to, c->piece[i].from, c->piece[i].size);
}

static void *help(void *arg)
{
    struct copies *c = arg;
    unsigned seen = 0;

    pthread_mutex_lock(&c->lock);
    while (!c->stopped) {
        if (!c->open || seen == c->turn) {
            pthread_cond_wait(&c->begun, &c->lock);
            continue;
        }
        seen = c->turn;
        c->working++;
        pthread_mutex_unlock(&c->lock);
        take_pieces(c);
        pthread_mutex_lock(&c->lock);
        if (--c->working == 0)
            pthread_cond_signal(&c->ended);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void call_helpers(struct copies *c)
{
    pthread_mutex_lock(&c->lock);
    c->turn++;
    c->open = true;
    pthread_cond_broadcast(&c->begun);
    pthread_mutex_unlock(&c->lock);
    while (c->started < c->helpers && thread_start(&c->thread[c->started], help, c) == 0)
        c->started++;
    c->helpers = c->started; /* if there could be no more, there never will be */
}

static void dismiss_helpers(struct copies *c)
{
    pthread_mutex_lock(&c->lock);
    c->open = false;
    while (c->working > 0)
        pthread_cond_wait(&c->ended, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void copies_make(struct copies *c)
{
    bool together = c->helpers > 0 && c->bytes > ALONE;

    atomic_store(&c->next, 0);
    if (together)
        call_helpers(c);
    take_pieces(c);
    if (together)
        dismiss_helpers(c);
    stretto_assert(atomic_load(&c->next) >= c->count);
    c->count = c->bytes = 0;
}

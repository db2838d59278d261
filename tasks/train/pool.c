#include "tasks/train/pool.h"

#include "common/xalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t room;    /* the receiver waits for it */
    pthread_cond_t samples; /* the training waits for it */
    struct buffer *buffer;
    size_t batch;
    struct sample **taken; /* drawn for the batch that is being made; kept over a timeout */
    size_t taken_count;
    bool stopped;
    struct pool_counters counters;
};

struct pool *pool_create(struct buffer *buffer, size_t batch)
{
    struct pool *pool = xcalloc(1, sizeof *pool);
    pthread_condattr_t monotonic;

    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->room, &monotonic);
    pthread_cond_init(&pool->samples, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pool->buffer = buffer;
    pool->batch = batch;
    pool->taken = xcalloc(batch, sizeof(struct sample *));
    return pool;
}

static void let_go(void *item, void *arg)
{
    sample_unref(item);
}

void pool_destroy(struct pool *pool)
{
    if (pool == NULL)
        return;
    buffer_each(pool->buffer, let_go, NULL);
    for (size_t i = 0; i < pool->taken_count; i++)
        sample_unref(pool->taken[i]);
    buffer_destroy(pool->buffer);
    free(pool->taken);
    pthread_cond_destroy(&pool->room);
    pthread_cond_destroy(&pool->samples);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

bool pool_has_room(struct pool *pool)
{
    bool room;

    pthread_mutex_lock(&pool->lock);
    room = buffer_has_room(pool->buffer);
    pthread_mutex_unlock(&pool->lock);
    return room;
}

int pool_put(struct pool *pool, struct sample *sample)
{
    struct sample *evicted = NULL;
    int rc = -1;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopped && !pool->counters.ended && !buffer_has_room(pool->buffer))
        pthread_cond_wait(&pool->room, &pool->lock);
    if (!pool->stopped && !pool->counters.ended) {
        evicted = buffer_put(pool->buffer, sample);
        if (buffer_can_draw(pool->buffer))
            pthread_cond_signal(&pool->samples);
        rc = 0;
    }
    pthread_mutex_unlock(&pool->lock);
    sample_unref(evicted);
    return rc;
}

void pool_over(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    buffer_over(pool->buffer);
    pool->counters.over = true;
    pthread_cond_broadcast(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
}

void pool_stop(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopped = true;
    pthread_cond_broadcast(&pool->room);
    pthread_cond_broadcast(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
}

/* Draw as many as can be drawn now. A policy that removes may let a batch out in several goes. */
static void draw(struct pool *pool)
{
    bool had_room = buffer_has_room(pool->buffer);

    while (pool->taken_count < pool->batch && buffer_can_draw(pool->buffer)) {
        bool removed;
        struct sample *sample = buffer_draw(pool->buffer, &removed);

        pool->taken[pool->taken_count++] = removed ? sample : sample_ref(sample);
    }
    if (!had_room && buffer_has_room(pool->buffer))
        pthread_cond_signal(&pool->room);
}

static struct timespec moment(int timeout_ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout_ms / 1000;
    t.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000L;
    }
    return t;
}

int pool_take(struct pool *pool, int timeout_ms, struct sample ***batch)
{
    struct timespec until = moment(timeout_ms < 0 ? 0 : timeout_ms);
    int rc = 0, waited = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        if (pool->stopped) {
            rc = POOL_INTERRUPTED;
            break;
        }
        draw(pool);
        if (pool->taken_count == pool->batch || pool->counters.over) {
            rc = (int)pool->taken_count;
            if (rc == 0)
                pool->counters.ended = true;
            break;
        }
        if (waited == ETIMEDOUT) {
            rc = POOL_TIMEOUT;
            break;
        }
        waited = timeout_ms < 0 ? pthread_cond_wait(&pool->samples, &pool->lock)
                                : pthread_cond_timedwait(&pool->samples, &pool->lock, &until);
    }
    if (pool->counters.ended)
        pthread_cond_broadcast(&pool->room); /* a straggler must not wait for ever */
    pthread_mutex_unlock(&pool->lock);
    *batch = pool->taken;
    return rc;
}

void pool_done(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->counters.batches++;
    for (size_t i = 0; i < pool->taken_count; i++) {
        if (pool->taken[i]->drawn)
            pool->counters.repeats++;
        else
            pool->counters.drawn++;
        pool->taken[i]->drawn = true;
    }
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->taken_count; i++)
        sample_unref(pool->taken[i]);
    pool->taken_count = 0;
}

void pool_counters(struct pool *pool, struct pool_counters *counters)
{
    pthread_mutex_lock(&pool->lock);
    *counters = pool->counters;
    counters->population = buffer_population(pool->buffer);
    counters->unseen = buffer_unseen(pool->buffer);
    pthread_mutex_unlock(&pool->lock);
}

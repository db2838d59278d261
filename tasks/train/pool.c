#include "tasks/train/pool.h"

#include "common/stretto_assert.h"
#include "common/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define DRAWN_OFTEN (1u << 20) /* times, of a sample that an earlier process has drawn; within the last bin */

/* A wait of the receiver or of the training. It does not count while reception is held for a checkpoint: what both
 * could do then says nothing of the balance between members and ranks. */
struct pool_waiting {
    int64_t since; /* µs; 0: nobody waits */
    bool counts;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t room;    /* the receiver waits on it */
    pthread_cond_t samples; /* the training waits on it */
    struct buffer *buffer;
    size_t batch;
    struct sample **taken; /* drawn for the batch that is being made; kept over a timeout */
    size_t taken_count;
    struct drawn *drawn; /* NULL if nobody asks which samples were drawn */
    /* the samples that the program has drawn and not learnt; NULL if all that is drawn counts as learnt */
    struct sample **unlearnt;
    size_t unlearnt_count, unlearnt_room;
    bool stopped;
    bool finished; /* no more batches are made, though not everything was drawn */
    bool held;     /* nothing is put in */
    struct pool_waiting for_room, for_samples;
    struct pool_counters counters;
};

struct pool *pool_create(struct buffer *buffer, size_t batch)
{
    struct pool *pool = calloc(1, sizeof *pool);
    pthread_condattr_t monotonic;

    if (pool != NULL)
        pool->taken = calloc(batch, sizeof(struct sample *));
    if (pool == NULL || pool->taken == NULL) {
        buffer_destroy(buffer);
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->room, &monotonic);
    pthread_cond_init(&pool->samples, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pool->buffer = buffer;
    pool->batch = batch;
    return pool;
}

void pool_note_drawn(struct pool *pool, struct drawn *drawn, const struct pool_counters *counters)
{
    pool->drawn = drawn;
    pool->counters = *counters;
}

static void unref_item(void *item, void *arg)
{
    sample_unref(item);
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Adds to *sum how long the wait has lasted, and goes on from now. */
static void wait_count(struct pool_waiting *wait, uint64_t *sum)
{
    int64_t now = now_us();

    if (wait->since != 0 && wait->counts)
        *sum += (uint64_t)(now - wait->since);
    if (wait->since != 0)
        wait->since = now;
}

static void count_waits(struct pool *pool)
{
    wait_count(&pool->for_room, &pool->counters.room_waits_us);
    wait_count(&pool->for_samples, &pool->counters.sample_waits_us);
}

static void wait_begin(struct pool_waiting *wait, const struct pool *pool)
{
    *wait = (struct pool_waiting){now_us(), !pool->held};
}

void pool_destroy(struct pool *pool)
{
    if (pool == NULL)
        return;
    buffer_each(pool->buffer, unref_item, NULL);
    for (size_t i = 0; i < pool->taken_count; i++)
        sample_unref(pool->taken[i]);
    for (size_t i = 0; i < pool->unlearnt_count; i++)
        sample_unref(pool->unlearnt[i]);
    free(pool->unlearnt);
    buffer_destroy(pool->buffer);
    free(pool->taken);
    pthread_cond_destroy(&pool->room);
    pthread_cond_destroy(&pool->samples);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static bool is_pool_closed(const struct pool *pool)
{
    return pool->stopped || pool->finished || pool->counters.ended;
}

static bool pool_has_room(const struct pool *pool)
{
    return !pool->held && buffer_has_room(pool->buffer);
}

int pool_put(struct pool *pool, struct sample *const *sample, int count)
{
    struct sample *evicted[POOL_PUT_MAX];
    int n = 0;
    stretto_assert(count <= POOL_PUT_MAX);

    pthread_mutex_lock(&pool->lock);
    if (is_pool_closed(pool)) {
        n = pool->counters.ended ? POOL_PUT_ENDED : POOL_PUT_STOPPED;
        pthread_mutex_unlock(&pool->lock);
        return n;
    }
    for (; n < count && pool_has_room(pool); n++)
        evicted[n] = buffer_put(pool->buffer, sample[n]);
    if (pool->for_samples.since != 0 && buffer_can_draw(pool->buffer))
        pthread_cond_signal(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < n; i++)
        sample_unref(evicted[i]);
    return n;
}

bool pool_put_drawn(struct pool *pool, struct sample *sample)
{
    bool put;

    pthread_mutex_lock(&pool->lock);
    sample->draws = DRAWN_OFTEN;
    put = !is_pool_closed(pool) && buffer_put_seen(pool->buffer, sample);
    if (pool->for_samples.since != 0 && buffer_can_draw(pool->buffer))
        pthread_cond_signal(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
    return put;
}

void pool_wait_for_room(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!is_pool_closed(pool) && !pool_has_room(pool)) {
        wait_begin(&pool->for_room, pool);
        pthread_cond_wait(&pool->room, &pool->lock);
        count_waits(pool);
        pool->for_room.since = 0;
    }
    pthread_mutex_unlock(&pool->lock);
}

void pool_hold(struct pool *pool, bool hold)
{
    pthread_mutex_lock(&pool->lock);
    count_waits(pool);
    pool->held = hold;
    if (hold)
        pool->for_room.counts = pool->for_samples.counts = false;
    pthread_cond_signal(&pool->room);
    pthread_cond_signal(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
}

void pool_over(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    buffer_over(pool->buffer);
    pool->counters.over = true;
    pthread_cond_broadcast(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
}

void pool_finish(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->finished = true;
    pthread_cond_broadcast(&pool->room);
    pthread_cond_broadcast(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
}

struct visit {
    void (*each)(void *arg, struct sample *sample);
    void *arg;
};

static void visit_undrawn(void *item, void *arg)
{
    const struct visit *visit = arg;
    struct sample *sample = item;

    if (sample->draws == 0)
        visit->each(visit->arg, sample);
}

void pool_each_undrawn(struct pool *pool, void (*each)(void *arg, struct sample *sample), void *arg)
{
    struct visit visit = {each, arg};

    buffer_each(pool->buffer, visit_undrawn, &visit);
    for (size_t i = 0; i < pool->taken_count; i++) /* of a batch that was never made; they may be in the buffer, too */
        visit_undrawn(pool->taken[i], &visit);
    for (size_t i = 0; i < pool->unlearnt_count; i++)
        each(arg, pool->unlearnt[i]);
}

static void visit_drawn(void *item, void *arg)
{
    const struct visit *visit = arg;
    struct sample *sample = item;

    if (sample->draws > 0 && !sample->unlearnt)
        visit->each(visit->arg, sample);
}

void pool_each_drawn(struct pool *pool, void (*each)(void *arg, struct sample *sample), void *arg)
{
    struct visit visit = {each, arg};

    buffer_each(pool->buffer, visit_drawn, &visit);
}

void pool_stop(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopped = true;
    pthread_cond_broadcast(&pool->room);
    pthread_cond_broadcast(&pool->samples);
    pthread_mutex_unlock(&pool->lock);
}

/* Draws as many as can be drawn now. A policy that removes may need several calls for a batch. Samples lie anywhere in
 * memory, so all are prefetched before the first is touched. */
static void pool_draw(struct pool *pool)
{
    bool had_room = pool_has_room(pool), removed = false;
    size_t from = pool->taken_count;

    while (pool->taken_count < pool->batch && buffer_can_draw(pool->buffer)) {
        pool->taken[pool->taken_count] = buffer_draw(pool->buffer, &removed);
        __builtin_prefetch(pool->taken[pool->taken_count++], 1);
    }
    for (; !removed && from < pool->taken_count; from++) /* while the lock is held, either all draws remove or none */
        sample_ref(pool->taken[from]);
    if (!had_room && pool_has_room(pool))
        pthread_cond_signal(&pool->room);
}

/* Waits once more, with the lock held. Returns 0, or ETIMEDOUT. */
static int wait_for_samples(struct pool *pool, const struct timespec *until)
{
    int rc;

    wait_begin(&pool->for_samples, pool);
    rc = until == NULL ? pthread_cond_wait(&pool->samples, &pool->lock)
                       : pthread_cond_timedwait(&pool->samples, &pool->lock, until);
    count_waits(pool);
    pool->for_samples.since = 0;
    return rc;
}

int pool_take(struct pool *pool, int timeout_ms, struct sample ***batch)
{
    struct timespec until = {0};
    int rc = 0, waited = 0;

    if (timeout_ms >= 0)
        until = thread_moment(timeout_ms);
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        if (pool->stopped || pool->finished) {
            rc = pool->stopped ? POOL_INTERRUPTED : POOL_END;
            break;
        }
        pool_draw(pool);
        if (pool->taken_count == pool->batch || pool->counters.over) {
            rc = (int)pool->taken_count;
            pool->counters.starved = false;
            if (rc == 0)
                pool->counters.ended = true;
            break;
        }
        if (waited == ETIMEDOUT) {
            rc = POOL_TIMEOUT;
            break;
        }
        pool->counters.starved = true;
        waited = wait_for_samples(pool, timeout_ms < 0 ? NULL : &until);
    }
    if (pool->counters.ended)
        pthread_cond_broadcast(&pool->room); /* a straggler must not wait for ever */
    pthread_mutex_unlock(&pool->lock);
    *batch = pool->taken;
    return rc;
}

static int bin_of(uint32_t draws)
{
    int bin = draws <= 1 ? 0 : 32 - __builtin_clz(draws - 1);

    return bin < POOL_DRAWS ? bin : POOL_DRAWS - 1;
}

static void count_draw(struct pool_counters *c, struct sample *sample)
{
    uint32_t before = sample->draws;

    if (before == 0) {
        c->drawn++;
        c->draws[0]++;
    } else {
        c->repeats++;
        if (bin_of(before) != bin_of(before + 1)) {
            stretto_assert(c->draws[bin_of(before)] > 0);
            c->draws[bin_of(before)]--;
            c->draws[bin_of(before + 1)]++;
        }
    }
    if (before < UINT32_MAX)
        sample->draws++;
}

/* Makes room for `more` samples that are not learnt. */
static int unlearnt_reserve(struct pool *pool, size_t more)
{
    size_t room = pool->unlearnt_count + more;
    struct sample **grown;

    if (room <= pool->unlearnt_room)
        return 0;
    room = room > 2 * pool->unlearnt_room ? room : 2 * pool->unlearnt_room;
    grown = reallocarray(pool->unlearnt, room, sizeof(struct sample *));
    if (grown == NULL)
        return -1;
    pool->unlearnt = grown;
    pool->unlearnt_room = room;
    return 0;
}

static void note_learnt(const struct pool *pool, struct sample *sample)
{
    sample->cut = drawn_add(pool->drawn, sample->member, sample->step);
}

int pool_learnt(struct pool *pool)
{
    if (pool->drawn == NULL)
        return 0;
    for (size_t i = 0; i < pool->unlearnt_count; i++) {
        pool->unlearnt[i]->unlearnt = false;
        note_learnt(pool, pool->unlearnt[i]);
        sample_unref(pool->unlearnt[i]);
    }
    pool->unlearnt_count = 0;
    pthread_mutex_lock(&pool->lock);
    pool->counters.unlearnt = 0;
    pthread_mutex_unlock(&pool->lock);
    return unlearnt_reserve(pool, pool->batch);
}

/* Enters a sample that was drawn for the first time. */
static void note_first_draw(struct pool *pool, struct sample *sample)
{
    if (pool->unlearnt_room == 0) {
        note_learnt(pool, sample);
    } else if (sample->unlearnt) { /* it is twice in this batch */
    } else if (unlearnt_reserve(pool, 1) < 0) {
        sample->cut = KEPT_FOREVER; /* as if it had not been drawn: it comes once more */
    } else {
        sample->unlearnt = true;
        pool->unlearnt[pool->unlearnt_count++] = sample_ref(sample);
    }
}

void pool_cut(struct pool *pool, struct pool_counters *counters)
{
    pool_counters(pool, counters);
    for (size_t i = 0; i < pool->unlearnt_count; i++) {
        uint32_t draws = pool->unlearnt[i]->draws;
        stretto_assert(draws > 0 && counters->drawn > 0 && counters->repeats >= draws - 1);

        counters->drawn--;
        counters->repeats -= draws - 1;
        counters->draws[bin_of(draws)]--;
    }
}

void pool_done(struct pool *pool)
{
    for (size_t i = 0; pool->drawn != NULL && i < pool->taken_count; i++)
        if (pool->taken[i]->draws == 0)
            note_first_draw(pool, pool->taken[i]);
    pthread_mutex_lock(&pool->lock);
    pool->counters.unlearnt = pool->unlearnt_count;
    pool->counters.batches++;
    for (size_t i = 0; i < pool->taken_count; i++)
        count_draw(&pool->counters, pool->taken[i]);
    stretto_assert(pool->counters.drawn >= pool->counters.unlearnt);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->taken_count; i++)
        sample_unref(pool->taken[i]);
    pool->taken_count = 0;
}

void pool_counters(struct pool *pool, struct pool_counters *counters)
{
    pthread_mutex_lock(&pool->lock);
    count_waits(pool);
    *counters = pool->counters;
    stretto_assert(pool->taken_count <= pool->batch && pool->unlearnt_count <= pool->unlearnt_room);
    counters->population = buffer_population(pool->buffer);
    counters->unseen = buffer_unseen(pool->buffer);
    counters->awaited = pool->for_samples.since != 0;
    pthread_mutex_unlock(&pool->lock);
}

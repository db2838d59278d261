#include "tasks/member/sendbuf.h"

#include "common/stretto_assert.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define IDLE_BYTES_MAX ((size_t)64 << 20)

/* The header in front of each buffer's bytes. */
struct sendbuf {
    struct sendbuf_pool *pool;
    struct sendbuf *next;
    size_t capacity;
    _Alignas(64) unsigned char bytes[];
};

struct sendbuf_pool {
    pthread_mutex_t lock;
    struct sendbuf *idle;
    size_t idle_bytes;
    size_t out; /* buffers held by messages, plus one for the owner */
};

struct sendbuf_pool *sendbuf_pool_create(void)
{
    struct sendbuf_pool *pool = calloc(1, sizeof *pool);

    if (pool == NULL)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pool->out = 1;
    return pool;
}

static void drop_pool(struct sendbuf_pool *pool)
{
    stretto_assert(pool->out == 0);
    for (struct sendbuf *buf = pool->idle, *next; buf != NULL; buf = next) {
        next = buf->next;
        free(buf);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void sendbuf_pool_destroy(struct sendbuf_pool *pool)
{
    bool last;

    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    last = --pool->out == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        drop_pool(pool);
}

void sendbuf_give_back(struct sendbuf *buf)
{
    struct sendbuf_pool *pool;
    bool last, keep;

    if (buf == NULL)
        return;
    pool = buf->pool;
    pthread_mutex_lock(&pool->lock);
    stretto_assert(pool->out > 0);
    keep = pool->idle_bytes + buf->capacity <= IDLE_BYTES_MAX;
    if (keep) {
        buf->next = pool->idle;
        pool->idle = buf;
        pool->idle_bytes += buf->capacity;
    }
    last = --pool->out == 0;
    pthread_mutex_unlock(&pool->lock);
    if (!keep)
        free(buf);
    if (last)
        drop_pool(pool);
}

/* Returns an idle buffer that is neither too small nor far too large. */
static struct sendbuf *take_idle_sendbuf(struct sendbuf_pool *pool, size_t size)
{
    struct sendbuf *buf = NULL;

    pthread_mutex_lock(&pool->lock);
    for (struct sendbuf **at = &pool->idle; *at != NULL; at = &(*at)->next)
        if ((*at)->capacity >= size && (*at)->capacity / 2 <= size) {
            buf = *at;
            *at = buf->next;
            stretto_assert(pool->idle_bytes >= buf->capacity);
            pool->idle_bytes -= buf->capacity;
            break;
        }
    pool->out++;
    pthread_mutex_unlock(&pool->lock);
    return buf;
}

struct sendbuf *sendbuf_take(struct sendbuf_pool *pool, size_t size)
{
    struct sendbuf *buf = take_idle_sendbuf(pool, size);

    if (buf == NULL) {
        size_t total = (sizeof *buf + size + 63) / 64 * 64;

        buf = aligned_alloc(64, total);
        if (buf == NULL) {
            pthread_mutex_lock(&pool->lock);
            pool->out--;
            pthread_mutex_unlock(&pool->lock);
            return NULL;
        }
        buf->pool = pool;
        buf->capacity = size;
    }
    return buf;
}

uint8_t *sendbuf_bytes(struct sendbuf *buf)
{
    return buf->bytes;
}

/* Called by ZeroMQ, often on its own thread. */
static void release_sendbuf(void *data, void *hint)
{
    sendbuf_give_back(hint);
}

int sendbuf_into(struct sendbuf *buf, size_t size, zmq_msg_t *msg)
{
    if (zmq_msg_init_data(msg, buf->bytes, size, release_sendbuf, buf) == 0)
        return 0;
    sendbuf_give_back(buf);
    return -1;
}

int sendbuf_message(struct sendbuf_pool *pool, size_t size, zmq_msg_t *msg)
{
    struct sendbuf *buf = sendbuf_take(pool, size);

    return buf != NULL ? sendbuf_into(buf, size, msg) : -1;
}

#include "daemon/flusher.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"

#include <signal.h>
#include <stdlib.h>

enum stage { IDLE, WANTED, MADE, ENDED };

struct flusher {
    uv_async_t async;
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t changed;
    enum stage stage;
    struct store *store;
    int rc;
    struct error err;
    void (*done)(void *arg, const struct error *err);
    void *arg;
};

static void flusher_run(void *arg)
{
    struct flusher *f = arg;
    sigset_t all;

    sigfillset(&all); /* the loop's thread takes all signals */
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    uv_mutex_lock(&f->mutex);
    while (f->stage != ENDED) {
        if (f->stage != WANTED) {
            uv_cond_wait(&f->changed, &f->mutex);
            continue;
        }
        uv_mutex_unlock(&f->mutex);
        f->rc = store_flush(f->store, &f->err);
        uv_mutex_lock(&f->mutex);
        f->stage = MADE;
        uv_cond_signal(&f->changed);
        uv_async_send(&f->async);
    }
    uv_mutex_unlock(&f->mutex);
}

static void move_to(struct flusher *f, enum stage stage)
{
    uv_mutex_lock(&f->mutex);
    f->stage = stage;
    uv_cond_signal(&f->changed);
    uv_mutex_unlock(&f->mutex);
}

/* Calls done(), unless flusher_wait() has done so already: the async may come late. */
static void on_async(uv_async_t *async)
{
    struct flusher *f = async->data;
    bool made;

    uv_mutex_lock(&f->mutex);
    made = f->stage == MADE;
    if (made)
        f->stage = IDLE;
    uv_mutex_unlock(&f->mutex);
    if (made)
        f->done(f->arg, f->rc < 0 ? &f->err : NULL);
}

struct flusher *flusher_create(uv_loop_t *loop, struct store *store, void (*done)(void *arg, const struct error *err),
                               void *arg)
{
    struct flusher *f = xcalloc(1, sizeof *f);

    f->store = store;
    f->done = done;
    f->arg = arg;
    uv_mutex_init(&f->mutex);
    uv_cond_init(&f->changed);
    uv_async_init(loop, &f->async, on_async);
    uv_unref((uv_handle_t *)&f->async);
    f->async.data = f;
    if (uv_thread_create(&f->thread, flusher_run, f) != 0)
        abort(); /* there is not even memory for one thread at the start */
    return f;
}

void flusher_start(struct flusher *f)
{
    stretto_assert(f->stage == IDLE);
    move_to(f, WANTED);
}

/* Waits for the flush that is under way, if there is one, and calls done() before it returns. */
static void flusher_wait(struct flusher *f)
{
    uv_mutex_lock(&f->mutex);
    while (f->stage == WANTED)
        uv_cond_wait(&f->changed, &f->mutex);
    uv_mutex_unlock(&f->mutex);
    on_async(&f->async);
}

static void free_flusher(uv_handle_t *handle)
{
    struct flusher *f = handle->data;

    uv_cond_destroy(&f->changed);
    uv_mutex_destroy(&f->mutex);
    free(f);
}

void flusher_destroy(struct flusher *f)
{
    if (f == NULL)
        return;
    flusher_wait(f);
    move_to(f, ENDED);
    uv_thread_join(&f->thread);
    uv_close((uv_handle_t *)&f->async, free_flusher);
}

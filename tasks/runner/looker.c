#include "tasks/runner/looker.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "tasks/proto/ckptdir.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct looker {
    pthread_t thread;
    bool started, ending;
    atomic_bool stopped;
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct errand *todo, **last, *done, **last_done; /* under the lock, like `ending` */
};

struct looker *looker_create(struct error *err)
{
    struct looker *looker = xcalloc(1, sizeof *looker);

    looker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (looker->fd < 0) {
        error_errno(err, "eventfd", "eventfd");
        free(looker);
        return NULL;
    }
    pthread_mutex_init(&looker->lock, NULL);
    pthread_cond_init(&looker->wake, NULL);
    looker->last = &looker->todo;
    looker->last_done = &looker->done;
    return looker;
}

/* The stop flag of the looker whose errand this thread runs; NULL: it runs none. */
static _Thread_local const atomic_bool *own_stop;

static bool is_stopped(const void *arg)
{
    return looker_is_stopped();
}

static void errand_run(struct looker *looker, struct errand *errand)
{
    own_stop = &looker->stopped;
    ckptdir_heed(is_stopped, NULL);
    errand->run(errand);
    ckptdir_heed(NULL, NULL);
    own_stop = NULL;
}

void looker_stop(struct looker *looker)
{
    atomic_store(&looker->stopped, true);
}

bool looker_is_stopped(void)
{
    return own_stop != NULL && atomic_load(own_stop);
}

static void errand_put(struct errand ***last, struct errand *errand)
{
    errand->next = NULL;
    **last = errand;
    *last = &errand->next;
}

static struct errand *errand_take(struct errand **first, struct errand ***last)
{
    struct errand *errand = *first;

    if (errand != NULL && (*first = errand->next) == NULL)
        *last = first;
    return errand;
}

static void *looker_work(void *arg)
{
    struct looker *looker = arg;
    const uint64_t one = 1;
    struct errand *errand;

    pthread_mutex_lock(&looker->lock);
    while (!looker->ending) {
        errand = errand_take(&looker->todo, &looker->last);
        if (errand == NULL) {
            pthread_cond_wait(&looker->wake, &looker->lock);
            continue;
        }
        pthread_mutex_unlock(&looker->lock);
        errand_run(looker, errand);
        pthread_mutex_lock(&looker->lock);
        errand_put(&looker->last_done, errand);
        if (write(looker->fd, &one, sizeof one) < 0) { /* it is readable already */
        }
    }
    pthread_mutex_unlock(&looker->lock);
    return NULL;
}

void looker_add(struct looker *looker, struct errand *errand)
{
    pthread_mutex_lock(&looker->lock);
    errand_put(&looker->last, errand);
    stretto_assert(!looker->ending);
    pthread_cond_signal(&looker->wake);
    pthread_mutex_unlock(&looker->lock);
    if (looker->started)
        return;
    /* the thread inherits blocked signals */
    looker->started = pthread_create(&looker->thread, NULL, looker_work, looker) == 0;
    if (!looker->started) { /* without a thread, the runner waits for the errand */
        uint64_t one = 1;

        errand = errand_take(&looker->todo, &looker->last);
        errand_run(looker, errand);
        errand_put(&looker->last_done, errand);
        if (write(looker->fd, &one, sizeof one) < 0) {
        }
    }
}

struct errand *looker_next(struct looker *looker)
{
    struct errand *errand;
    uint64_t n;

    if (read(looker->fd, &n, sizeof n) < 0) { /* the list is checked even if nothing is new */
    }
    pthread_mutex_lock(&looker->lock);
    errand = errand_take(&looker->done, &looker->last_done);
    pthread_mutex_unlock(&looker->lock);
    return errand;
}

int looker_fd(const struct looker *looker)
{
    return looker->fd;
}

void looker_destroy(struct looker *looker)
{
    if (looker == NULL)
        return;
    if (looker->started) {
        pthread_mutex_lock(&looker->lock);
        looker->ending = true;
        pthread_cond_signal(&looker->wake);
        pthread_mutex_unlock(&looker->lock);
        pthread_join(looker->thread, NULL);
    }
    pthread_cond_destroy(&looker->wake);
    pthread_mutex_destroy(&looker->lock);
    close(looker->fd);
    free(looker);
}

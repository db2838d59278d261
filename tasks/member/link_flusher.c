#include "tasks/member/link_flusher.h"

#include "common/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct link_flusher {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    link_flusher_look *look;
    void *arg;
    pthread_t thread;
    bool started;
    int due_ms; /* ms until the next look, from the time when it was set; 0: none */
    bool stopping;
};

struct link_flusher *link_flusher_create(link_flusher_look *look, void *arg)
{
    struct link_flusher *f = calloc(1, sizeof *f);

    if (f == NULL)
        return NULL;
    pthread_mutex_init(&f->lock, NULL);
    thread_cond_init(&f->wake);
    f->look = look;
    f->arg = arg;
    return f;
}

/* Returns true when the time to look has come, and false if that time was changed meanwhile or the flusher is to
 * stop. */
static bool sleep_until_due(struct link_flusher *f)
{
    struct timespec until;
    int ms = f->due_ms, rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    while (!f->stopping && f->due_ms == ms && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&f->wake, &f->lock, &until);
    return !f->stopping && f->due_ms == ms;
}

static void *link_flusher_run(void *arg)
{
    struct link_flusher *f = arg;

    pthread_mutex_lock(&f->lock);
    while (!f->stopping) {
        if (f->due_ms == 0)
            pthread_cond_wait(&f->wake, &f->lock);
        else if (sleep_until_due(f))
            f->due_ms = f->look(f->arg);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

void link_flusher_destroy(struct link_flusher *f)
{
    if (f == NULL)
        return;
    pthread_mutex_lock(&f->lock);
    f->stopping = true;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
    if (f->started)
        pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->wake);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

void link_flusher_lock(struct link_flusher *f)
{
    pthread_mutex_lock(&f->lock);
}

int link_flusher_unlock(struct link_flusher *f, int ms)
{
    if (ms > 0 && (f->due_ms == 0 || ms < f->due_ms)) {
        if (!f->started)
            f->started = thread_start(&f->thread, link_flusher_run, f) == 0;
        if (!f->started)
            return -1;
        f->due_ms = ms;
        pthread_cond_signal(&f->wake);
    }
    pthread_mutex_unlock(&f->lock);
    return 0;
}

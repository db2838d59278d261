#include "tasks/train/reception.h"

#include "common/files.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/xalloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 200

struct reception {
    char *path, *last;
    struct receiver *receiver;
    struct saver *saver; /* NULL once it was warned, or where no checkpoints are saved */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    pthread_t thread;
};

/* Returns whether no more samples will come; *early, whether members still run. */
static bool is_over(const char *path, bool *early)
{
    struct error err;
    json_t *value;
    bool over;

    if (access(path, F_OK) != 0)
        return false;
    value = file_read_json(path, &err);
    if (value == NULL)
        log_warn("%s", err.text);
    over = json_is_true(json_object_get(value, "over"));
    *early = json_is_true(json_object_get(value, "early"));
    json_decref(value);
    return over;
}

/* Waits until the next look. Returns whether there is to be one. */
static bool wait(struct reception *r)
{
    struct timespec until = thread_moment(LOOK_MS);
    bool stopping;

    pthread_mutex_lock(&r->lock);
    while (!r->stopping && pthread_cond_timedwait(&r->wake, &r->lock, &until) == 0)
        ;
    stopping = r->stopping;
    pthread_mutex_unlock(&r->lock);
    return !stopping;
}

static void *run(void *arg)
{
    struct reception *r = arg;

    bool over = false, early;

    do {
        if (!over && is_over(r->path, &early)) {
            over = true;
            receiver_over(r->receiver, early);
        }
        if (r->saver != NULL && access(r->last, F_OK) == 0) {
            saver_warn(r->saver);
            r->saver = NULL;
        }
    } while ((!over || r->saver != NULL) && wait(r));
    return NULL;
}

static void drop(struct reception *r)
{
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r->path);
    free(r->last);
    free(r);
}

struct reception *reception_watch(const struct train_config *config, struct receiver *receiver, struct saver *saver,
                                  struct error *err)
{
    struct reception *r = calloc(1, sizeof *r);
    int rc;

    if (r != NULL)
        r->path = alloc_printf("%s/reception.json", config->dir);
    if (r != NULL)
        r->last = alloc_printf("%s/last.json", config->dir);
    if (r == NULL || r->path == NULL || r->last == NULL) {
        if (r != NULL) {
            free(r->path);
            free(r->last);
        }
        free(r);
        error_set(err, "train_memory", "no memory for the thread that watches reception.json");
        return NULL;
    }
    r->receiver = receiver;
    r->saver = saver;
    pthread_mutex_init(&r->lock, NULL);
    thread_cond_init(&r->wake);
    rc = thread_start(&r->thread, run, r);
    if (rc == 0)
        return r;
    error_set(err, "train_thread", "cannot start the thread that watches %s: %s", r->path, strerror(rc));
    drop(r);
    return NULL;
}

void reception_stop(struct reception *r)
{
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    drop(r);
}

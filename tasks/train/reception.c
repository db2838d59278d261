#include "tasks/train/reception.h"

#include "common/files.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/xalloc.h"
#include "tasks/train/patience.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 200
#define LOOKS_AT_OTHERS 5 /* so many looks are between two at what other ranks report */

struct reception {
    char *path, *last;
    const struct train_config *config;
    struct receiver *receiver;
    struct saver *saver; /* NULL if no checkpoints are saved */
    struct kept *kept;   /* NULL if reception never waits for a checkpoint */
    struct pool *pool;
    struct patience *patience;
    struct patience_other *others; /* one for each rank; both NULL without `kept` */
    unsigned looks;
    bool warned; /* the saver was */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    pthread_t thread;
};

/* Returns whether no more samples will come; *early, whether members still run. */
static bool is_reception_over(const char *path, bool *early)
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

/* Gives up waiting for a checkpoint that does not come. */
static void look_after_wait(struct reception *r)
{
    struct pool_counters pool;
    struct patience_own own;
    const char *why;
    bool others;

    if (!kept_is_full(r->kept)) {
        patience_rest(r->patience);
        r->looks = 0;
        return;
    }
    pool_counters(r->pool, &pool);
    others = r->looks++ % LOOKS_AT_OTHERS == 0;
    if (others)
        patience_read(r->config, r->others);
    /* after the others' reports: what is listed now was being saved when they were written */
    own = (struct patience_own){
        .saving = saver_is_saving(r->saver) || saver_is_settling(r->saver),
        .pending = saver_is_pending(r->saver),
        .written = saver_is_written(r->saver),
        .starved = pool.starved,
        .batches = pool.batches,
        .saves = saver_saves(r->saver),
    };
    why = patience_look(r->patience, &own, others ? r->others : NULL);
    if (why != NULL)
        kept_give_up(r->kept, why);
}

static void *reception_run(void *arg)
{
    struct reception *r = arg;

    bool over = false, early;

    do {
        if (!over && is_reception_over(r->path, &early)) {
            over = true;
            receiver_over(r->receiver, early);
        }
        if (!r->warned && access(r->last, F_OK) == 0) {
            saver_warn(r->saver);
            r->warned = true;
        }
        if (r->kept != NULL)
            look_after_wait(r);
    } while ((!over || !r->warned || r->kept != NULL) && wait(r));
    return NULL;
}

static void reception_drop(struct reception *r)
{
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    patience_destroy(r->patience);
    free(r->others);
    free(r->path);
    free(r->last);
    free(r);
}

static struct reception *reception_create(const struct train_config *config, bool waits)
{
    struct reception *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    thread_cond_init(&r->wake);
    r->path = alloc_printf("%s/reception.json", config->dir);
    r->last = alloc_printf("%s/last.json", config->dir);
    if (waits) {
        r->patience = patience_create(config);
        r->others = calloc((size_t)config->ranks, sizeof *r->others);
    }
    if (r->path != NULL && r->last != NULL && (!waits || (r->patience != NULL && r->others != NULL)))
        return r;
    reception_drop(r);
    return NULL;
}

struct reception *reception_watch(const struct train_config *config, struct receiver *receiver, struct saver *saver,
                                  struct kept *kept, struct pool *pool, struct error *err)
{
    struct reception *r = reception_create(config, kept != NULL);
    int rc;

    if (r == NULL) {
        error_set(err, "train_memory", "no memory for the thread that watches reception.json");
        return NULL;
    }
    r->config = config;
    r->receiver = receiver;
    r->saver = saver;
    r->kept = kept;
    r->pool = pool;
    r->warned = saver == NULL;
    rc = thread_start(&r->thread, reception_run, r);
    if (rc == 0)
        return r;
    error_set(err, "train_thread", "cannot start the thread that watches %s: %s", r->path, strerror(rc));
    reception_drop(r);
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
    reception_drop(r);
}

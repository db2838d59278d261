#include "tasks/train/saver.h"

#include "common/files.h"
#include "common/log.h"
#include "common/thread.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/train/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_SIZE 64
#define LOOK_MS 200 /* between looks for the parts of other ranks */

static volatile sig_atomic_t warned; /* the signal came */

/* The stages of this rank's part of the newest checkpoint. The next checkpoint is begun in IDLE only. */
enum stage {
    STAGE_IDLE,  /* it is written, or dropped; or begun, and the program has not learnt anything since */
    STAGE_STATE, /* the cut is taken, and the program writes its state */
    STAGE_PART,  /* the thread writes the rest */
};

struct saver {
    const struct train_config *config;
    struct kept *kept;    /* or NULL */
    int64_t deadline_ms;  /* Unix time of the walltime's end; 0: none */
    atomic_bool told;     /* the daemon wants the last one */
    int64_t begun_ms;     /* monotonic; when the last one was begun, or this generation */
    int64_t step, before; /* of the last one, and of the one before; -1: none yet */
    int64_t highest;      /* step of all that were begun, or of that from which the training goes on */
    bool again;           /* these are the same */
    atomic_bool begun;    /* the program saves one, and the cut is not taken */
    atomic_uint_fast64_t saves;
    atomic_bool listing;  /* all parts of one are written, and this rank adds it to the list */
    char name[NAME_SIZE]; /* of the one that the program is saving */
    char *state;          /* the path for that, NULL while none is saved */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct save_job {
        char name[NAME_SIZE];
        int64_t step;
        struct cut cut;
    } job; /* from the cut on */
    enum stage stage;
    /* The oldest and the newest of which this rank's part is written, and which are not known to be whole. Rank 0 adds
     * them to the list, and waits for that. */
    struct written_part {
        char name[NAME_SIZE]; /* "": there is none */
        uint32_t cut;
    } pending, newer;
    bool stopping, failed;
    struct error err; /* why the last one could not be written */
    pthread_t thread;
    bool running;
};

static void take_warning(int signal)
{
    warned = 1;
}

/* Takes the signal by which the runner warns this rank, unless the program handles it itself. */
static void watch_signal(void)
{
    const char *text = getenv("STRETTO_CHECKPOINT_SIGNAL");
    int number = text != NULL ? atoi(text) : 0;
    struct sigaction now, ours = {.sa_handler = take_warning, .sa_flags = SA_RESTART};

    if (number > 0 && sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        sigaction(number, &ours, NULL);
}

static int64_t deadline_ms(void)
{
    const char *text = getenv("STRETTO_DEADLINE");

    return text != NULL ? strtoll(text, NULL, 10) * 1000 : 0;
}

struct saver *saver_create(const struct train_config *config, struct kept *kept, struct error *err)
{
    struct saver *c;

    err->code[0] = '\0';
    if (config->checkpoint.dir == NULL)
        return NULL;
    c = calloc(1, sizeof *c);
    if (c == NULL) {
        error_set(err, "train_memory", "no memory for checkpoints");
        return NULL;
    }
    c->config = config;
    c->kept = kept;
    c->begun_ms = time_monotonic_ms();
    c->deadline_ms = deadline_ms();
    c->step = -1;
    c->highest = config->checkpoint.resume_step;
    pthread_mutex_init(&c->lock, NULL);
    thread_cond_init(&c->changed);
    watch_signal();
    return c;
}

void saver_warn(struct saver *c)
{
    atomic_store(&c->told, true);
}

static enum stage stage_of(struct saver *c)
{
    enum stage stage;

    pthread_mutex_lock(&c->lock);
    stage = c->stage;
    pthread_mutex_unlock(&c->lock);
    return stage;
}

bool saver_has_time(const struct saver *c)
{
    return !warned && (c->deadline_ms == 0 || c->deadline_ms - time_now_ms() > c->config->checkpoint.before_ms / 2);
}

enum saver_due saver_due(struct saver *c)
{
    int64_t before = c->config->checkpoint.before_ms, every = c->config->checkpoint.every_ms;

    if (warned || atomic_load(&c->told) ||
        (before > 0 && c->deadline_ms > 0 && c->deadline_ms - time_now_ms() < before))
        return SAVER_LAST;
    return every > 0 && time_monotonic_ms() - c->begun_ms >= every && stage_of(c) == STAGE_IDLE ? SAVER_DUE
                                                                                                : SAVER_NOT_DUE;
}

bool saver_is_saving(struct saver *c)
{
    return atomic_load(&c->begun) || stage_of(c) != STAGE_IDLE || atomic_load(&c->listing);
}

uint64_t saver_saves(struct saver *c)
{
    return atomic_load(&c->saves);
}

bool saver_is_pending(struct saver *c)
{
    bool pending;

    pthread_mutex_lock(&c->lock);
    pending = c->pending.name[0] != '\0';
    pthread_mutex_unlock(&c->lock);
    return pending;
}

/* Returns whether `is` holds for one of the checkpoints that are pending. */
static bool any_pending(struct saver *c, bool (*is)(const struct train_config *config, const char *name))
{
    char older[NAME_SIZE], newer[NAME_SIZE];

    pthread_mutex_lock(&c->lock);
    memcpy(older, c->pending.name, sizeof older);
    memcpy(newer, c->newer.name, sizeof newer);
    pthread_mutex_unlock(&c->lock);
    return (older[0] != '\0' && is(c->config, older)) || (newer[0] != '\0' && is(c->config, newer));
}

bool saver_is_written(struct saver *c)
{
    return any_pending(c, saved_is_written);
}

bool saver_is_settling(struct saver *c)
{
    return any_pending(c, c->config->rank == 0 ? saved_is_written : saved_is_whole);
}

/* A checkpoint will not be whole: reception does not wait for it. */
static void give_up_checkpoint(const struct saver *c)
{
    if (c->kept != NULL)
        kept_give_up(c->kept, "the next one could not be saved");
}

/* Adds a checkpoint to the list once all parts are there. Returns 1; 0 if parts are missing; -1 with err if it
 * can never be whole, since a rank has finished without it. */
static int add_if_whole(struct saver *c, const char *name, struct error *err)
{
    struct saved_part part;
    int rc;

    if (saved_is_written(c->config, name))
        atomic_store(&c->listing, true);
    rc = saved_add(c->config, name, err);
    for (int rank = 0; rc == 0 && rank < c->config->ranks; rank++) {
        char *done = alloc_printf("%s/done-rank%d.json", c->config->dir, rank);

        if (done != NULL && access(done, F_OK) == 0 && saved_part_read(c->config, name, rank, &part, err) < 0 &&
            errno == ENOENT)
            rc = error_set(err, "train_checkpoint", "rank %d had finished before", rank);
        free(done);
    }
    if (rc < 0)
        log_error("checkpoint %s is not whole: %s", name, err->text);
    return rc;
}

/* Looks whether a checkpoint is whole. Returns as add_if_whole(). */
static int look_if_whole(struct saver *c, const struct written_part *part, struct error *err)
{
    int rc;

    if (part->name[0] == '\0')
        return 0;
    rc = c->config->rank == 0 ? add_if_whole(c, part->name, err) : saved_is_whole(c->config, part->name);
    if (rc > 0 && c->kept != NULL)
        kept_cut_is_whole(c->kept, part->cut, part->name);
    return rc;
}

/* Looks at what is written. If other ranks are slower, the oldest is waited for, since a newer one comes each time
 * before it is whole; a newer one that is whole replaces it. */
static void complete_checkpoint(struct saver *c)
{
    struct error err, newer_err;
    int older = look_if_whole(c, &c->pending, &err), newer = look_if_whole(c, &c->newer, &newer_err);

    atomic_store(&c->listing, false);
    if (older == 0 && newer == 0)
        return;
    if (newer < 0 || (newer == 0 && older < 0))
        give_up_checkpoint(c);
    pthread_mutex_lock(&c->lock);
    c->failed = newer < 0 || (newer == 0 && older < 0);
    c->err = newer < 0 ? newer_err : err;
    if (newer == 0)
        c->pending = c->newer;
    else if (newer > 0 || older != 0)
        c->pending.name[0] = '\0';
    c->newer.name[0] = '\0';
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* Sets what the program has saved, flushed; part->state is false if there is nothing, which ranks may do that are
 * not alone. */
static int measure_state(const char *path, int ranks, struct saved_part *part, struct error *err)
{
    struct stat st;

    part->state = lstat(path, &st) == 0;
    if (!part->state && (errno != ENOENT || ranks == 1))
        return error_errno(err, "train_checkpoint", "the program's state, %s", path);
    return part->state ? state_measure(path, true, &part->size, part->digest, err) : 0;
}

static uint64_t count_whole(const struct cut *cut)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < cut->members; i++)
        n += cut_is_whole(cut, i);
    return n;
}

static char *state_path(const struct train_config *config, const char *name, int rank)
{
    char file[32];

    snprintf(file, sizeof file, "state-rank%d", rank);
    return saved_path(config, name, file);
}

/* Writes this rank's part: first all that it consists of, then the file that says so. */
static int write_part(const struct saver *c, const struct save_job *job, struct error *err)
{
    struct saved_part part = {.step = job->step,
                              .time = job->cut.time,
                              .batches = job->cut.batches,
                              .drawn = job->cut.drawn,
                              .whole = count_whole(&job->cut),
                              .last = job->cut.last};
    char *dir = saved_path(c->config, job->name, NULL), *state = state_path(c->config, job->name, c->config->rank);
    int rc = -1;

    if (dir == NULL || state == NULL)
        error_set(err, "train_memory", "no memory for a checkpoint");
    else if (measure_state(state, c->config->ranks, &part, err) == 0 &&
             cut_write(&job->cut, dir, c->config->rank, err) == 0)
        rc = saved_part_write(c->config, job->name, &part, err);
    free(dir);
    free(state);
    return rc;
}

static void write_job(struct saver *c)
{
    struct written_part part = {.cut = c->job.cut.number};
    struct error err;
    int rc = write_part(c, &c->job, &err);

    if (rc < 0) {
        log_error("checkpoint %s is not saved: %s", c->job.name, err.text);
        give_up_checkpoint(c);
    }
    cut_fini(&c->job.cut);
    pthread_mutex_lock(&c->lock);
    c->failed = rc < 0;
    if (rc < 0)
        c->err = err;
    memcpy(part.name, c->job.name, sizeof part.name);
    atomic_store(&c->listing,
                 rc == 0 && c->config->rank == 0); /* until complete_checkpoint() has looked, which comes next */
    if (rc == 0 && (c->config->rank == 0 || c->kept != NULL))
        *(c->pending.name[0] == '\0' ? &c->pending : &c->newer) = part;
    c->stage = STAGE_IDLE;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

enum work { WORK_NONE, WORK_WRITE, WORK_LOOK, WORK_STOP };

static enum work work_of(const struct saver *c)
{
    if (c->stage == STAGE_PART)
        return WORK_WRITE;
    return c->stopping ? WORK_STOP : c->pending.name[0] != '\0' ? WORK_LOOK : WORK_NONE;
}

/* Waits until there is something to do; looks are some time apart. */
static enum work wait_for_work(struct saver *c)
{
    struct timespec until = thread_moment(LOOK_MS);
    enum work work;

    pthread_mutex_lock(&c->lock);
    while ((work = work_of(c)) == WORK_NONE)
        pthread_cond_wait(&c->changed, &c->lock);
    if (work == WORK_LOOK && pthread_cond_timedwait(&c->changed, &c->lock, &until) == 0)
        work = work_of(c);
    pthread_mutex_unlock(&c->lock);
    return work;
}

static void *saver_run(void *arg)
{
    struct saver *c = arg;

    for (;;)
        switch (wait_for_work(c)) {
        case WORK_NONE: break;
        case WORK_WRITE: write_job(c); /* fall through */
        case WORK_LOOK: complete_checkpoint(c); break;
        case WORK_STOP: return NULL;
        }
}

static int start_thread(struct saver *c, struct error *err)
{
    int rc = c->running ? 0 : thread_start(&c->thread, saver_run, c);

    if (rc != 0)
        return error_set(err, "train_thread", "cannot start the thread that writes checkpoints: %s", strerror(rc));
    c->running = true;
    return 0;
}

/* Names the new checkpoint by its generation, the restart of the ranks and its step. `again` distinguishes it from an
 * earlier one of the same step. */
static void name_checkpoint(struct saver *c, int64_t step, bool again)
{
    char restart[16] = "";

    if (c->config->restart > 0)
        snprintf(restart, sizeof restart, ".%d", c->config->restart);
    snprintf(c->name, sizeof c->name, "g%" PRIu32 "%s-s%" PRId64 "%s", c->config->generation, restart, step,
             again ? "-b" : "");
}

/* Returns the step that a checkpoint gets. A program may count from 0 in each of its processes, or not at all: a label
 * is no reason to lose a checkpoint. All ranks have saved the same steps before, and find the same one. */
static int64_t choose_step(const struct saver *c, int64_t step, bool again)
{
    int64_t last = c->step >= 0 ? c->step : c->config->checkpoint.resume_step;
    bool may = c->step >= 0 ? step > last || again : step >= last;

    if (step >= 0 && may)
        return step;
    log_warn("the step of a checkpoint (%lld) is not above that of the one before (%lld): it is saved as step %lld",
             (long long)step, (long long)last, (long long)c->highest + 1);
    return c->highest + 1;
}

const char *saver_begin(struct saver *c, int64_t step, struct error *err)
{
    bool again, begun = false;
    char *dir;

    pthread_mutex_lock(&c->lock);
    while (c->stage != STAGE_IDLE)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    again = step >= 0 && step == c->step && !c->again; /* nothing was learnt since the one before */
    step = choose_step(c, step, again);
    if (start_thread(c, err) < 0)
        return NULL;
    c->begun_ms = time_monotonic_ms();
    name_checkpoint(c, step, again);
    dir = saved_path(c->config, c->name, NULL);
    free(c->state);
    c->state = state_path(c->config, c->name, c->config->rank);
    if (dir == NULL || c->state == NULL)
        error_set(err, "train_memory", "no memory for a checkpoint");
    else if (dir_make(dir, err) == 0)
        begun = true;
    free(dir);
    if (!begun)
        return NULL;
    c->before = c->step;
    c->step = step;
    c->highest = step > c->highest ? step : c->highest;
    c->again = again;
    atomic_store(&c->begun, true);
    atomic_fetch_add(&c->saves, 1);
    state_remove(c->state); /* of a try that failed half-way */
    return c->state;
}

char *saver_path(const struct saver *c, const char *kind, const char *ending)
{
    char file[64];

    snprintf(file, sizeof file, "%s-rank%d.%s", kind, c->config->rank, ending);
    return saved_path(c->config, c->name, file);
}

void saver_cut(struct saver *c, struct cut *cut)
{
    pthread_mutex_lock(&c->lock);
    memcpy(c->job.name, c->name, sizeof c->job.name);
    c->job.step = c->step;
    c->job.cut = *cut;
    c->stage = STAGE_STATE;
    atomic_store(&c->begun, false);
    pthread_mutex_unlock(&c->lock);
    *cut = (struct cut){0};
}

bool saver_has_cut(struct saver *c)
{
    return stage_of(c) == STAGE_STATE;
}

static void enter_stage(struct saver *c, enum stage stage)
{
    pthread_mutex_lock(&c->lock);
    c->stage = stage;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void saver_end(struct saver *c)
{
    enter_stage(c, STAGE_PART);
}

void saver_abandon(struct saver *c)
{
    if (c->state != NULL)
        state_remove(c->state);
    if (saver_has_cut(c))
        cut_fini(&c->job.cut);
    c->step = c->before; /* the program may try this step again */
    c->again = false;
    atomic_store(&c->begun, false);
    enter_stage(c, STAGE_IDLE);
    give_up_checkpoint(c);
}

int saver_wait(struct saver *c, struct error *err)
{
    int rc = 0;

    pthread_mutex_lock(&c->lock);
    while (c->stage != STAGE_IDLE || (c->config->rank == 0 && c->pending.name[0] != '\0'))
        pthread_cond_wait(&c->changed, &c->lock);
    if (c->failed) {
        *err = c->err;
        rc = -1;
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

void saver_destroy(struct saver *c)
{
    if (c == NULL)
        return;
    if (c->running) {
        pthread_mutex_lock(&c->lock);
        c->stopping = true;
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
    }
    if (c->stage == STAGE_STATE) /* nobody will write it */
        cut_fini(&c->job.cut);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->state);
    free(c);
}

#include "tasks/train/stretto-train.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "tasks/proto/alive.h"
#include "tasks/proto/copy.h"
#include "tasks/train/batch.h"
#include "tasks/train/copies.h"
#include "tasks/train/reception.h"
#include "tasks/train/train_private.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define METRIC_NAME_MAX 200

_Static_assert(FAULTS <= STRETTO_TRAIN_FAULTS_MAX, "there is a counter for each fault");
_Static_assert(POOL_DRAWS == STRETTO_TRAIN_DRAWS, "there is a counter for each bin");

static bool saves(const struct stretto_train *t)
{
    return t->saver != NULL && (saver_is_saving(t->saver) || saver_is_settling(t->saver));
}

/* Collects the counters in the reverse order of a sample's way, so that it never reports more drawn than received. */
static void collect_stats(void *arg, struct stretto_train_stats *s)
{
    struct stretto_train *t = arg;
    struct receiver_counters received;
    struct pool_counters pool;

    pool_counters(t->pool, &pool);
    if (pool.awaited) /* a training that waits for samples is not hung */
        alive_sign();
    receiver_counters(t->receiver, &received);
    *s = (struct stretto_train_stats){
        .received = received.received,
        .unique = received.received - received.duplicates,
        .duplicates = received.duplicates,
        .bytes = received.bytes,
        .memory_bytes = received.memory_bytes,
        .skipped = received.skipped,
        .drawn = pool.drawn,
        .repeats = pool.repeats,
        .room_wait_seconds = (double)pool.room_waits_us / 1e6,
        .sample_wait_seconds = (double)pool.sample_waits_us / 1e6,
        .batches = pool.batches,
        .population = pool.population,
        .unseen = pool.unseen,
        .finalized = received.finalized,
        .doing = (pool.starved ? STRETTO_TRAIN_STARVED : 0) | (saves(t) ? STRETTO_TRAIN_SAVING : 0),
        .state = pool.over               ? STRETTO_TRAIN_DRAINING
                 : received.received > 0 ? STRETTO_TRAIN_RECEIVING
                                         : STRETTO_TRAIN_WAITING,
    };
    for (int i = 0; i < FAULTS; i++) {
        s->rejected_by[i] = received.rejected[i];
        s->rejected += received.rejected[i];
    }
    memcpy(s->draws, pool.draws, sizeof s->draws);
}

/* Makes malloc keep more memory, unless the user has configured it. Messages of some MiB come and go all the time.
 * Memory that malloc gives back to the system in between is faulted in again page by page, which costs as much as half
 * a copy. */
static void keep_memory(void)
{
    static const char *const said[] = {"GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_",
                                       "MALLOC_TOP_PAD_"};

    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (getenv(said[i]) != NULL)
            return;
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

/* Takes over what was drawn before the checkpoint; if there is none, nothing. */
static int note_drawn(struct stretto_train *t)
{
    const struct cut *from = &t->resume.cut;
    struct pool_counters counters = {.drawn = from->drawn, .repeats = from->repeats, .batches = from->batches};
    int rc = 0;

    t->drawn = drawn_create(t->config.count);
    if (t->drawn == NULL)
        return error_set(&t->err, "train_memory", "no memory for checkpoints");
    memcpy(counters.draws, from->draws, sizeof counters.draws);
    for (size_t i = 0; rc == 0 && i < from->n_runs; i++)
        rc = drawn_add_run(t->drawn, &from->runs[i]);
    if (rc < 0)
        return error_set(&t->err, "train_resume",
                         "the checkpoint names samples of a member that there is not, or there is "
                         "no memory for them");
    pool_note_drawn(t->pool, t->drawn, &counters);
    return 0;
}

static void hold_pool(void *arg, bool full)
{
    pool_hold(arg, full);
}

/* Starts reception, behind the checkpoint that the training goes on from, if there is one. */
static int start_receiver(struct stretto_train *t)
{
    if (resume_load(&t->config, &t->resume, &t->err) == 0 &&
        (t->kept == NULL ||
         kept_layout(t->kept, sample_slot_size(t->store), t->config.checkpoint.resume, &t->err) == 0) &&
        (t->saver == NULL || note_drawn(t) == 0))
        t->receiver = receiver_start(&t->config, t->pool, t->store, t->kept, &t->resume, &t->err);
    if (t->receiver == NULL)
        resume_give_up(&t->config, &t->err);
    cut_fini(&t->resume.cut);
    return t->receiver != NULL ? 0 : -1;
}

static int train_start(struct stretto_train *t)
{
    struct buffer *buffer;
    bool waits;

    if (train_config_read(&t->config, &t->err) < 0 || resume_choose(&t->config, &t->err) < 0)
        return -1;
    buffer = buffer_create(&t->config.buffer, &t->err);
    if (buffer == NULL)
        return -1;
    keep_memory();
    t->pool = pool_create(buffer, t->config.buffer.batch);
    t->copies = copies_create(copies_helpers());
    t->kept = kept_open(&t->config);
    t->store = sample_store_create(&t->config.fields, t->kept, t->config.parameters);
    if (t->pool == NULL || t->copies == NULL || t->store == NULL)
        return error_set(&t->err, "train_memory", "no memory for the training's buffer");
    waits = t->kept != NULL && kept_watch(t->kept, hold_pool, t->pool);
    t->saver = saver_create(&t->config, t->kept, &t->err);
    if ((t->saver == NULL && t->err.code[0] != '\0') || start_receiver(t) < 0)
        return -1;
    t->reception = reception_watch(&t->config, t->receiver, t->saver, waits ? t->kept : NULL, t->pool, &t->err);
    if (t->reception == NULL)
        return -1;
    t->report = report_start(&t->config, collect_stats, t, &t->err);
    return t->report != NULL ? 0 : -1;
}

static void train_stop(struct stretto_train *t)
{
    if (t->kept != NULL)
        kept_freeze(t->kept);
    report_stop(t->report);
    if (t->pool != NULL)
        pool_stop(t->pool);
    reception_stop(t->reception);
    saver_destroy(t->saver);
    receiver_stop(t->receiver);
    pool_destroy(t->pool);
    copies_destroy(t->copies);
    drawn_destroy(t->drawn);
    resume_fini(&t->resume);
    sample_store_destroy(t->store);
    kept_close(t->kept);
    train_config_fini(&t->config);
    t->kept = NULL;
    t->saver = NULL;
    t->drawn = NULL;
    t->report = NULL;
    t->reception = NULL;
    t->receiver = NULL;
    t->pool = NULL;
    t->copies = NULL;
    t->store = NULL;
}

int stretto_train_open(struct stretto_train **out)
{
    struct stretto_train *t = calloc(1, sizeof *t);

    *out = t;
    if (t == NULL)
        return -1;
    if (train_start(t) == 0)
        return 0;
    train_stop(t);
    return -1;
}

void stretto_train_close(struct stretto_train *t)
{
    if (t == NULL)
        return;
    train_stop(t);
    free(t);
}

const char *stretto_train_error(const struct stretto_train *t)
{
    return t != NULL ? t->err.text : "no memory for the training's stream";
}

const char *stretto_train_error_code(const struct stretto_train *t)
{
    return t != NULL ? t->err.code : "train_memory";
}

int stretto_train_rank(const struct stretto_train *t)
{
    return t->config.rank;
}

int stretto_train_ranks(const struct stretto_train *t)
{
    return t->config.ranks;
}

int64_t stretto_train_ensemble(const struct stretto_train *t)
{
    return (int64_t)t->config.ensemble;
}

int64_t stretto_train_generation(const struct stretto_train *t)
{
    return t->config.generation;
}

int64_t stretto_train_count(const struct stretto_train *t)
{
    return (int64_t)t->config.count;
}

int64_t stretto_train_batch_size(const struct stretto_train *t)
{
    return (int64_t)t->config.buffer.batch;
}

int stretto_train_fields(const struct stretto_train *t)
{
    return t->config.fields.count;
}

const char *stretto_train_field_name(const struct stretto_train *t, int field)
{
    return t->config.fields.field[field].name;
}

int stretto_train_field_dtype(const struct stretto_train *t, int field)
{
    return (int)t->config.fields.field[field].dtype;
}

int stretto_train_field_ndim(const struct stretto_train *t, int field)
{
    return t->config.fields.field[field].ndim;
}

int64_t stretto_train_field_extent(const struct stretto_train *t, int field, int dim)
{
    return (int64_t)t->config.fields.field[field].shape[dim];
}

int64_t stretto_train_field_max(const struct stretto_train *t, int field)
{
    return (int64_t)t->config.fields.field[field].max;
}

int stretto_train_parameters(const struct stretto_train *t)
{
    return t->config.parameters;
}

const char *stretto_train_parameter_name(const struct stretto_train *t, int parameter)
{
    return t->config.parameter[parameter];
}

const char *stretto_train_fault_name(int fault)
{
    return fault_name(fault);
}

int stretto_train_batch(struct stretto_train *t, void *const *fields, double *params, int64_t *member, int64_t *step,
                        int timeout_ms)
{
    return stretto_train_batch_ragged(t, fields, NULL, params, member, step, timeout_ms);
}

/* Checks the arguments before anything is drawn, which would be lost. */
static int check_offsets(struct stretto_train *t, void *const *fields, int64_t *const *offsets)
{
    for (int f = 0; t->config.varies && fields != NULL && f < t->config.fields.count; f++)
        if (fields[f] != NULL && field_varies(&t->config.fields.field[f]) && (offsets == NULL || offsets[f] == NULL))
            return error_set(&t->err, "train_ragged",
                             "the first extent of field \"%s\" varies: "
                             "stretto_train_batch_ragged() gives its samples with their offsets",
                             t->config.fields.field[f].name);
    return 0;
}

static void set_learning(struct stretto_train *t, bool learning)
{
    if (t->learning != learning)
        alive_learning(learning);
    t->learning = learning;
}

int stretto_train_batch_ragged(struct stretto_train *t, void *const *fields, int64_t *const *offsets, double *params,
                               int64_t *member, int64_t *step, int timeout_ms)
{
    struct sample **batch;
    int count;

    alive_sign();
    if (check_offsets(t, fields, offsets) < 0)
        return -1;
    count = pool_take(t->pool, timeout_ms, &batch);
    switch (count) {
    case POOL_END: set_learning(t, false); return STRETTO_TRAIN_END;
    case POOL_TIMEOUT: return STRETTO_TRAIN_AGAIN;
    case POOL_INTERRUPTED: return STRETTO_TRAIN_INTERRUPTED;
    default: break;
    }
    batch_copy(&t->config, t->copies, batch, count, &(struct batch_target){fields, offsets, params, member, step});
    pool_done(t->pool);
    set_learning(t, true);
    return count;
}

void stretto_train_interrupt(struct stretto_train *t)
{
    pool_stop(t->pool);
}

int stretto_train_metric(struct stretto_train *t, const char *name, int64_t step, double value)
{
    if (name == NULL || *name == '\0' || strlen(name) > METRIC_NAME_MAX)
        return error_set(&t->err, "train_metric", "a metric's name is 1 to %d bytes", METRIC_NAME_MAX);
    alive_sign();
    if (report_metric(t->report, name, step, value) < 0)
        return error_set(&t->err, "train_memory", "no memory for a point of the metric \"%s\"", name);
    return 0;
}

int stretto_train_report(struct stretto_train *t, int count, const int64_t *member, const double *value)
{
    for (int i = 0; i < count; i++)
        if (member[i] < 0)
            return error_set(&t->err, "train_member", "%lld is no member", (long long)member[i]);
    alive_sign();
    if (report_members(t->report, count, member, value) < 0)
        return error_set(&t->err, "train_memory", "no memory for what is reported of members");
    return 0;
}

void stretto_train_stats(struct stretto_train *t, struct stretto_train_stats *stats)
{
    collect_stats(t, stats);
    stats->samples_per_second = report_rate(t->report);
}

/* Writes the number of steps that this rank holds of each member: the daemon alone sees the parts of all ranks, and
 * finds the members whose steps are missing. */
static int write_held_counts(struct stretto_train *t)
{
    uint32_t *counts;
    char *path;
    int rc = -1;

    if (t->config.steps == 0)
        return 0;
    counts = calloc(t->config.count + 1, sizeof *counts);
    path = alloc_printf("%s/held-rank%d.bin", t->config.dir, t->config.rank);
    if (counts == NULL || path == NULL) {
        error_set(&t->err, "train_memory", "no memory for the number of steps that are held");
    } else {
        receiver_held_counts(t->receiver, counts);
        rc = file_write_whole(path, counts, t->config.count * sizeof *counts, 0600, &t->err);
    }
    free(path);
    free(counts);
    return rc;
}

void stretto_train_copy(void *to, const void *from, size_t size)
{
    copy_out(to, from, size);
}

/* Ends reception, since the training needs no more samples. If more may come, it accepts and acknowledges none any
 * more, so that members that still send know that not all of their steps are held. */
static void end_reception(struct stretto_train *t)
{
    struct pool_counters pool;

    pool_counters(t->pool, &pool);
    if (t->early || pool.ended)
        return;
    t->early = true;
    pool_finish(t->pool);
    receiver_halt(t->receiver);
}

int stretto_train_done(struct stretto_train *t)
{
    struct error late; /* a checkpoint that nobody needs any more was not saved; the log says so */

    if (t->saver != NULL)
        saver_wait(t->saver, &late);
    if (!t->unfinished)
        end_reception(t);
    if (!t->unfinished && write_held_counts(t) < 0)
        return -1;
    return report_done(t->report, t->unfinished ? STRETTO_TRAIN_UNFINISHED : STRETTO_TRAIN_DONE, t->early, &t->err);
}

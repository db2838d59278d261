/* Checkpoints of a rank: when one is due, what of the stream is in it, and what the training went on from. */
#include "tasks/train/stretto-train.h"

#include "common/timefmt.h"
#include "tasks/proto/alive.h"
#include "tasks/train/handover.h"
#include "tasks/train/train_private.h"

#include <stdlib.h>
#include <string.h>

int stretto_train_checkpoint_due(struct stretto_train *t)
{
    enum saver_due due;

    alive_sign();
    if (t->saver == NULL || t->unfinished)
        return 0;
    due = saver_due(t->saver);
    if (due == SAVER_NOT_DUE && t->kept != NULL && !saver_is_saving(t->saver) &&
        kept_is_due(t->kept, drawn_cut(t->drawn), saver_is_pending(t->saver)))
        due = SAVER_DUE;
    return (int)due;
}

const char *stretto_train_checkpoint_begin(struct stretto_train *t, int64_t step)
{
    alive_sign();
    if (t->saver != NULL)
        return saver_begin(t->saver, step, &t->err);
    error_set(&t->err, "train_checkpoint", "the spec asks for no checkpoints: it has no training.checkpoint");
    return NULL;
}

/* Takes the stream's part of the checkpoint that is being saved. `last`: what was not drawn is handed over. */
static int take_cut(struct stretto_train *t, bool last, struct cut *cut)
{
    const struct stepset *set = drawn_set(t->drawn);
    struct pool_counters pool;

    pool_cut(t->pool, &pool);
    *cut = (struct cut){.members = t->config.count,
                        .drawn = drawn_count(t->drawn),
                        .batches = pool.batches,
                        .repeats = pool.repeats,
                        .n_runs = stepset_runs(set),
                        .last = last,
                        .time = time_now_s()};
    memcpy(cut->draws, pool.draws, sizeof cut->draws);
    cut->runs = calloc(cut->n_runs + 1, sizeof *cut->runs);
    cut->ended = calloc(cut->members + 1, sizeof *cut->ended);
    if (cut->runs == NULL || cut->ended == NULL) {
        cut_fini(cut);
        return error_set(&t->err, "train_memory", "no memory for the stream's part of the checkpoint");
    }
    stepset_copy(set, cut->runs);
    cut->number = drawn_cut(t->drawn);
    drawn_next_cut(t->drawn);
    receiver_ended(t->receiver, last ? NULL : t->drawn, cut->ended);
    return 0;
}

static void hand_over_held(void *arg, struct sample *sample)
{
    handover_add(arg, &(struct handover_item){.sample = sample});
}

struct handing {
    const struct saver *saver;
    struct handover *handover;
};

/* A drawn sample can only be drawn again: if time is short, the next generation does without. */
static void hand_over_drawn(void *arg, struct sample *sample)
{
    const struct handing *handing = arg;

    if (saver_has_time(handing->saver))
        handover_add(handing->handover, &(struct handover_item){.sample = sample, .drawn = true});
}

/* Ends drawing and reception, and writes down what was acknowledged and not drawn, and what might be drawn again,
 * for the next generation. */
static int hand_over_all(struct stretto_train *t)
{
    char *path = saver_path(t->saver, "buffer", "bin");
    struct handover *handover;
    struct error ignored;
    int rc;

    pool_finish(t->pool);
    receiver_halt(t->receiver);
    if (path == NULL)
        return error_set(&t->err, "train_memory", "no memory for the samples that were not drawn");
    handover = handover_create(path, &t->config.fields, &t->err);
    free(path);
    if (handover == NULL)
        return -1;
    pool_each_undrawn(t->pool, hand_over_held, handover);
    rc = receiver_hand_over(t->receiver, handover, &t->err);
    if (rc == 0)
        pool_each_drawn(t->pool, hand_over_drawn, &(struct handing){t->saver, handover});
    if (handover_finish(handover, rc < 0 ? &ignored : &t->err) < 0)
        rc = -1;
    return rc;
}

int stretto_train_checkpoint_cut(struct stretto_train *t, int due)
{
    bool last = due == STRETTO_TRAIN_CHECKPOINT_LAST;
    struct cut cut;

    alive_sign();
    if (t->saver == NULL)
        return error_set(&t->err, "train_checkpoint", "no checkpoint was begun");
    if ((last && hand_over_all(t) < 0) || take_cut(t, last, &cut) < 0) {
        saver_abandon(t->saver);
        return -1;
    }
    report_flush(t->report); /* points of before the checkpoint do not come again */
    saver_cut(t->saver, &cut);
    return 0;
}

int stretto_train_checkpoint_end(struct stretto_train *t, int due)
{
    alive_sign();
    if (t->saver == NULL)
        return error_set(&t->err, "train_checkpoint", "no checkpoint was begun");
    if (due == 0) {
        saver_abandon(t->saver);
        return 0;
    }
    if (!saver_has_cut(t->saver) && stretto_train_checkpoint_cut(t, due) < 0)
        return -1;
    saver_end(t->saver);
    if (due != STRETTO_TRAIN_CHECKPOINT_LAST)
        return 0;
    if (saver_wait(t->saver, &t->err) < 0)
        return -1;
    t->unfinished = true;
    return 0;
}

int stretto_train_learnt(struct stretto_train *t)
{
    alive_sign();
    if (pool_learnt(t->pool) < 0)
        return error_set(&t->err, "train_memory", "no memory for the samples from which the model has not learnt");
    return 0;
}

int64_t stretto_train_unlearnt(const struct stretto_train *t)
{
    struct pool_counters pool;

    pool_counters(t->pool, &pool);
    return (int64_t)pool.unlearnt;
}

int64_t stretto_train_checkpoint_every_ms(const struct stretto_train *t)
{
    return t->saver != NULL ? t->config.checkpoint.every_ms : 0;
}

const char *stretto_train_resume(const struct stretto_train *t)
{
    return t->resume.state;
}

int64_t stretto_train_resume_step(const struct stretto_train *t)
{
    if (t->config.checkpoint.resume != NULL)
        return t->config.checkpoint.resume_step;
    return t->resume.state != NULL ? t->resume.step : -1;
}

int stretto_train_resume_ranks(const struct stretto_train *t)
{
    return t->resume.ranks;
}

int stretto_train_unfinished(const struct stretto_train *t)
{
    return t->unfinished;
}

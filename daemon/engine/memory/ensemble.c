#include "daemon/engine/memory/ensemble.h"

#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/training.h"
#include "daemon/spec/rows.h"
#include "daemon/spec/spec.h"

#define MOST_STREAMED 100000 /* members of an open ensemble with a training, if the spec does not say */

void ensemble_answer(struct live_ensemble *ens)
{
    if (ens->answer.row != NULL)
        *ens->answer.row = ens->row;
    if (ens->answer.training != NULL)
        *ens->answer.training = ens->training->row;
    ens->answer = (struct ensemble_asked){NULL, NULL};
}

void engine_settle_for(struct engine *engine, struct live_ensemble *ens, struct ensemble_row *row,
                       struct training_row *training)
{
    int64_t id = ens->row.id;

    ens->answer.row = row;
    ens->answer.training = training;
    engine_settle(engine);
    ens = engine_find_ensemble(engine, id);
    if (ens != NULL)
        ensemble_answer(ens);
}

int64_t ensemble_most(const struct live_ensemble *ens)
{
    int64_t most = params_most(ens->spec->params);

    if (ens->row.intake == INTAKE_NONE)
        return ens->row.count;
    return most > 0 ? most : ens->spec->has_training ? MOST_STREAMED : ROWS_MAX;
}

bool ensemble_takes_suggestions(const struct ensemble_row *row)
{
    return row->intake == INTAKE_OPEN && !ensemble_is_over(row) && !ensemble_is_ending(row);
}

bool ensemble_all_final(const struct ensemble_row *row, const int64_t n[MEMBER_STATE_COUNT])
{
    return member_counts_open(n) == 0 && !ensemble_takes_suggestions(row);
}

bool ensemble_ends_early(const struct live_ensemble *ens)
{
    return ens->training != NULL && ens->training->row.early && ensemble_is_ending(&ens->row);
}

bool ensemble_has_untried(const struct live_ensemble *ens)
{
    return ens->row.root == 0 && ens->row.next_index < ens->row.count;
}

bool ensemble_has_former(const struct live_ensemble *ens)
{
    return ens->training != NULL && ens->training->row.generation > 1;
}

/* Returns whether members may be started. After a training has begun anew they may not before all members that are to
 * run again are pending. */
static bool ensemble_lets_start(const struct live_ensemble *ens)
{
    return !ensemble_has_former(ens) || (ens->training->row.state == TRAINING_RUNNING && !ens->bulk);
}

bool ensemble_wants(const struct live_ensemble *ens, int64_t now)
{
    return ens->row.state == ENSEMBLE_RUNNING && ens->row.after == 0 && ens->in_flight < ens->row.width &&
           !ensemble_is_ending(&ens->row) && ensemble_lets_start(ens) &&
           (ens->training == NULL || ens->training->state.need == NEED_SAMPLES) &&
           (ens->training == NULL || ens->training->row.state == TRAINING_RUNNING ||
            (ens->spec->members_first && ens->training->row.state < TRAINING_RUNNING)) &&
           (ensemble_has_untried(ens) || ens->due <= now);
}

bool ensemble_members_over(struct engine *engine, const struct live_ensemble *ens, int64_t tally[MEMBER_STATE_COUNT])
{
    struct error err;

    if (ens->in_flight > 0 || ensemble_takes_suggestions(&ens->row) || ens->bulk ||
        (ens->row.next_index < ens->row.count && !ensemble_is_ending(&ens->row)))
        return false;
    if (store_tally_get(engine->store, ens->row.id, tally, &err) < 0) {
        store_doom(engine->store, &err); /* since nothing else would make the engine look again */
        return false;
    }
    return ensemble_all_final(&ens->row, tally);
}

bool ensemble_training_is_due(struct engine *engine, const struct live_ensemble *ens)
{
    const struct training *training = ens->training;
    int64_t tally[MEMBER_STATE_COUNT];

    if (ens->row.state != ENSEMBLE_RUNNING || ens->row.after != 0 || training == NULL ||
        training->row.state != TRAINING_PENDING || engine_now(engine) < training->row.not_before_ms)
        return false;
    return !ens->spec->members_first || ens->begun || training->row.generation > 1 ||
           ensemble_members_over(engine, ens, tally);
}

void ensemble_touch_waiting(struct engine *engine)
{
    struct live_ensemble *ens, *next;

    HASH_ITER (hh, engine->ensembles, ens, next)
        if (ens->row.after != 0)
            engine_touch(engine, ens);
}

void ensemble_draw_stream_key(struct engine *engine, struct ensemble_row *row)
{
    uint64_t key;

    engine->ports.random(engine->ports.arg, &key, sizeof key);
    snprintf(row->stream_key, sizeof row->stream_key, "%016llx", (unsigned long long)key);
}

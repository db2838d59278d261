/* Resubmission of a training: one that is over is taken on with its next generation, from a checkpoint or from the
 * start. All of it is written to the store first; then the ensemble is loaded from there, as after a restart. */
#include "daemon/engine/engine.h"

#include "common/jsonx.h"
#include "common/log_changes.h"
#include "common/text.h"
#include "daemon/engine/ensembles/adopt.h"
#include "daemon/engine/jobs/check_resources.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/live_spec.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/trainings/renew.h"
#include "daemon/store/bulk.h"
#include "daemon/store/training_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A training that is resubmitted, its ensemble, and the checkpoint that it goes on from. */
struct again {
    struct ensemble_row ensemble;
    struct training_row training;
    struct training_checkpoint_row from; /* number 0: it begins at the start */
    struct spec *spec;
    char *text;      /* of the spec, if that has changed */
    json_t *dropped; /* the names of checkpoints that no longer count */
};

/* Checks that the training is over, and everything of its ensemble has ended. */
static int check_over(struct engine *engine, int64_t id, struct again *again, struct error *err)
{
    const struct live_ensemble *ens;
    int rc = store_training_get(engine->store, id, &again->training, err);

    if (rc == 0)
        return error_set(err, "training_not_found", "there is no training %lld", (long long)id);
    if (rc < 0 || engine_stored_ensemble(engine, again->training.ensemble, &again->ensemble, err) < 0)
        return -1;
    if (!training_is_over(&again->training))
        return error_set(err, "training_not_over", "training %lld is %s: only one that is over can be resubmitted",
                         (long long)id, training_state_name(again->training.state));
    if (engine_check_adapter(engine, &again->ensemble, err) < 0 ||
        engine_check_here(engine, again->training.adapter, again->ensemble.id, err) < 0)
        return -1;
    ens = engine_find_ensemble(engine, again->ensemble.id);
    if (!ensemble_is_over(&again->ensemble) || (ens != NULL && (ens->jobs != NULL || ens->bulk)))
        return error_set(err, "ensemble_not_over",
                         "ensemble %lld is still ending, and its jobs are being stopped: resubmit its training when "
                         "that is done",
                         (long long)again->ensemble.id);
    return 0;
}

/* A checkpoint that is looked for by its name or number. */
struct wanted_checkpoint {
    const struct engine_resubmission *wish;
    struct training_checkpoint_row *found;
};

static int match_wanted(void *arg, const struct training_checkpoint_row *row)
{
    struct wanted_checkpoint *wanted = arg;
    const char *name = wanted->wish->name;
    bool is = name != NULL ? strcmp(row->name, name) == 0 : row->number == wanted->wish->number;

    if (is)
        *wanted->found = *row;
    return is;
}

static int find_wanted_checkpoint(struct engine *engine, const struct engine_resubmission *wish, struct again *again,
                                  struct error *err)
{
    struct wanted_checkpoint wanted = {wish, &again->from};
    int64_t id = again->training.id;

    if (wish->afresh)
        return 0;
    if (wish->name == NULL && wish->number == 0)
        return store_training_checkpoint_newest(engine->store, id, &again->from, err) < 0 ? -1 : 0;
    if (store_training_checkpoint_each(engine->store, id, 0, 0, INT32_MAX, match_wanted, &wanted, err) < 0)
        return -1;
    if (again->from.damaged)
        return error_at(err, "checkpoint_damaged", "/checkpoint",
                        "checkpoint %s is damaged, as a rank found: nothing can go on from it", again->from.name);
    if (again->from.number > 0)
        return 0;
    return error_at(err, "spec_impossible_value", "/checkpoint",
                    "training %lld has no such checkpoint: `stretto checkpoints %lld.training` lists those that it has",
                    (long long)id, (long long)again->ensemble.id);
}

/* Reads the spec, with the changes. */
static int change_spec(struct engine *engine, const json_t *changes, struct again *again, struct error *err)
{
    int64_t id = again->ensemble.id;
    char *text = store_ensemble_spec(engine->store, id, err);
    json_t *before = text != NULL ? json_loads(text, 0, NULL) : NULL, *after = NULL;

    if (text != NULL && before == NULL)
        error_set(err, "store_io", "the spec of ensemble %lld is damaged", (long long)id);
    if (before != NULL)
        after = changes != NULL ? spec_resubmit(before, changes, err) : json_incref(before);
    if (after != NULL)
        again->spec = engine_parse_spec(engine, after, id, err);
    if (again->spec != NULL && !json_equal(before, after))
        again->text = jsonx_dumps(after, JSON_COMPACT);
    json_decref(after);
    json_decref(before);
    free(text);
    return again->spec != NULL ? 0 : -1;
}

/* Gives the training its number of ranks, and checks that it could run. */
static int check_spec(struct engine *engine, const json_t *changes, struct again *again, struct error *err)
{
    struct training_row *row = &again->training;

    if (change_spec(engine, changes, again, err) < 0)
        return -1;
    renew_take_wanted(row);
    if (json_is_integer(json_object_get(changes, "ranks")))
        row->ranks = again->spec->ranks;
    again->spec->training.resources.copies = (int)row->ranks;
    if (spec_check_ranks(again->spec, row->ranks, again->ensemble.width, err) < 0)
        return -1;
    return engine_check_resources(engine, again->spec, err);
}

static int add_dropped(void *arg, const struct training_checkpoint_row *row)
{
    struct again *again = arg;

    json_array_append_new(again->dropped, json_string(row->name));
    return 0;
}

/* Drops what comes after the checkpoint: samples that only later ones have are to come once more. */
static int drop_newer(struct engine *engine, struct again *again, struct error *err)
{
    int64_t training = again->training.id, number = again->from.number;

    again->dropped = json_array();
    if (store_training_checkpoint_each(engine->store, training, 0, number + 1, INT32_MAX, add_dropped, again, err) < 0)
        return -1;
    return store_training_checkpoint_drop_after(engine->store, training, number, err);
}

static int store_training(struct engine *engine, struct again *again, struct error *err)
{
    struct training_row *row = &again->training;
    char reason[sizeof row->reason];
    int64_t jobs;

    if (store_training_jobs(engine->store, row, &jobs, err) < 0)
        return -1;
    if (row->reason[0] != '\0' && row->generation <= jobs) {
        snprintf(reason, sizeof reason, "generation %lld: %.400s", (long long)row->generation, row->reason);
        memcpy(row->reason, reason, sizeof reason);
    }
    training_row_event(row, LIFE_RESUBMITTED);
    renew_row(row, jobs + 1, &again->from); /* a generation that was cancelled before it had a job is still to come */
    row->keeps = row->generation;
    row->failures = row->losses = 0;
    row->not_before_ms = engine_now(engine);
    row->early = false;
    return store_training_update(engine->store, row, err);
}

static int store_ensemble(struct engine *engine, struct again *again, struct error *err)
{
    struct ensemble_row *row = &again->ensemble;

    if (again->text != NULL && store_ensemble_change_spec(engine->store, row->id, again->text, err) < 0)
        return -1;
    if (row->next_index < row->count && store_ensemble_restore_untried(engine->store, row->id, err) < 0)
        return -1;
    row->state = ENSEMBLE_RUNNING;
    row->reason[0] = row->paused_by[0] = '\0';
    row->ended_ms = row->paused_ms = 0;
    return store_ensemble_update(engine->store, row, err);
}

/* Loads the ensemble and begins to send its members back. The spec is taken over. */
static int resume_training(struct engine *engine, struct again *again, struct error *err)
{
    static const enum member_state states[] = {MEMBER_SUCCEEDED, MEMBER_FAILED, MEMBER_UNFINISHED, MEMBER_CANCELLED};
    struct live_ensemble *ens = engine_find_ensemble(engine, again->ensemble.id);
    struct spec *spec = again->spec;

    if (ens != NULL)
        ensemble_drop(engine, ens);
    again->spec = NULL;
    ens = ensemble_adopt(engine, &again->ensemble, spec);
    if (ens == NULL)
        return error_set(err, "store_io", "ensemble %lld cannot be read back", (long long)again->ensemble.id);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        int64_t whole = states[i] == MEMBER_SUCCEEDED ? again->from.number : 0; /* the others go again in any case */

        if (bulk_begin(engine, ens, &(struct bulk){BULK_RESUBMIT, ens->row.id, 0, states[i], true, whole}, err) < 0)
            return -1;
    }
    engine_touch(engine, ens);
    return 0;
}

static void announce_training_resubmission(struct engine *engine, const struct again *again)
{
    const struct training_row *row = &again->training;
    const char *name = again->from.number > 0 ? again->from.name : NULL;
    long long members = (long long)(again->ensemble.count - again->from.members);

    engine_event(engine, "ensemble.resumed", row->ensemble, -1, NULL);
    engine_event(engine, "training.resubmitted", row->ensemble, -1,
                 json_pack("{s:I, s:s?, s:I, s:O}", "generation", (json_int_t)row->generation, "checkpoint", name,
                           "members", (json_int_t)members, "dropped", again->dropped));
    log_change(
        LOG_LEVEL_INFO, LOG_TRAINING(row->ensemble, row->id),
        "training %lld is resubmitted: generation %lld begins %s%s, and lacks samples of %lld members; %zu later "
        "checkpoints do not count any more",
        (long long)row->id, (long long)row->generation, name != NULL ? "from checkpoint " : "at the start",
        name != NULL ? name : "", members, json_array_size(again->dropped));
}

static int resubmit_next_generation(struct engine *engine, struct again *again, struct error *err)
{
    if (drop_newer(engine, again, err) < 0 || store_training(engine, again, err) < 0 ||
        store_ensemble(engine, again, err) < 0 || resume_training(engine, again, err) < 0)
        return store_doom(engine->store, err); /* what is stored already is taken back with the turn */
    announce_training_resubmission(engine, again);
    return 0;
}

int engine_resubmit_training(struct engine *engine, int64_t id, const struct engine_resubmission *wish,
                             struct training_row *row, struct error *err)
{
    struct again again = {.from = {.number = 0}};
    int rc = -1;

    if (engine_wake_up(engine, err) == 0 && check_over(engine, id, &again, err) == 0 &&
        find_wanted_checkpoint(engine, wish, &again, err) == 0) {
        rc = check_spec(engine, wish->changes, &again, err);
        if (rc < 0)
            spec_resubmit_place(err);
    }
    if (rc == 0)
        rc = store_accept(engine->store, err);
    if (rc == 0)
        rc = resubmit_next_generation(engine, &again, err);
    spec_destroy(again.spec);
    free(again.text);
    json_decref(again.dropped);
    if (rc == 0)
        engine_settle_for(engine, engine_find_ensemble(engine, again.ensemble.id), NULL, row);
    return rc;
}

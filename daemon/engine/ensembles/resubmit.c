/* Resubmission: members that ended without success are pending again. */
#include "daemon/engine/engine.h"

#include "common/log_changes.h"
#include "daemon/engine/ensembles/adopt.h"
#include "daemon/engine/ensembles/follow_up.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/store/bulk.h"
#include "daemon/store/cancellation.h"
#include "daemon/store/family.h"

static bool has_training(struct engine *engine, int64_t id)
{
    struct training_row training;
    struct error ignored;

    return store_training_of(engine->store, id, &training, &ignored) == 1;
}

/* May members of it go again? The training that they would stream into must still accept members. Once every member is
 * final, its ranks learn that no more will come, and that cannot be taken back. */
static int check_resubmission(struct engine *engine, int64_t id, struct ensemble_row *row,
                              int64_t tally[MEMBER_STATE_COUNT], struct error *err)
{
    if (engine_wake_up(engine, err) < 0 || engine_stored_ensemble(engine, id, row, err) < 0 ||
        store_tally_get(engine->store, id, tally, err) < 0)
        return -1;
    if (follow_up_check_whole(engine, row, err) < 0)
        return -1;
    if (ensemble_is_ending(row))
        return error_set(err, "ensemble_over", "ensemble %lld is ending: %.400s", (long long)id, row->reason);
    if (row->state == ENSEMBLE_CANCELLED || (row->state == ENSEMBLE_FAILED && tally[MEMBER_FAILED] < row->count))
        return error_set(err, "ensemble_over", "ensemble %lld is %s: its members cannot go again%s", (long long)id,
                         ensemble_state_name(row->state),
                         has_training(engine, id) ? " without its training, which can be resubmitted" : "");
    return 0;
}

static int check_training(struct engine *engine, const struct ensemble_row *row,
                          const int64_t tally[MEMBER_STATE_COUNT], struct error *err)
{
    int64_t id = row->id;
    struct training_row training;
    int rc = store_training_of(engine->store, id, &training, err);

    if (rc <= 0)
        return rc;
    if (training_is_over(&training))
        return error_set(
            err, "training_over",
            "the training of ensemble %lld is %s: it takes no more members. `stretto resubmit %lld.training` takes "
            "it on, and members that it lacks samples of",
            (long long)id, training_state_name(training.state), (long long)id);
    if (ensemble_all_final(row, tally))
        return error_set(err, "training_over",
                         "every member of ensemble %lld has ended and its training was told so: it takes no more",
                         (long long)id);
    return 0;
}

/* Into memory again, if it has left it. */
static struct live_ensemble *bring_back(struct engine *engine, const struct ensemble_row *row, struct error *err)
{
    struct live_ensemble *ens = engine_find_ensemble(engine, row->id);
    struct spec *spec = NULL;

    if (ens != NULL)
        return ens;
    if (engine_check_adapter(engine, row, err) < 0)
        return NULL;
    if (engine_spec(engine, row->id, &spec, err) == NULL)
        return NULL;
    ens = ensemble_adopt(engine, row, spec);
    if (ens == NULL)
        error_set(err, "internal", "ensemble %lld cannot be read back", (long long)row->id);
    return ens;
}

/* Members of it have become pending. */
static int reopen_ensemble(struct engine *engine, struct live_ensemble *ens, struct ensemble_row *row,
                           struct error *err)
{
    if (ensemble_is_over(&ens->row)) {
        ens->row.state = ENSEMBLE_RUNNING;
        ens->row.reason[0] = '\0';
        ens->row.ended_ms = 0;
        if (store_ensemble_update(engine->store, &ens->row, err) < 0)
            return -1;
        engine_event(engine, "ensemble.resumed", ens->row.id, -1, NULL);
        log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(ens->row.id), "ensemble %lld is running again", (long long)ens->row.id);
    }
    ens->due = 0; /* those that were tried before go first */
    engine_touch(engine, ens);
    engine_settle_for(engine, ens, row, NULL);
    return 0;
}

/* 1: it may go again, 0: it will anyway, or is being cancelled, -1. */
static int look_at_member(struct engine *engine, const struct ensemble_row *row, int64_t index,
                          struct member_row *member, struct error *err)
{
    int rc = engine_named_member(engine, row, index, member, err);

    if (rc <= 0)
        return rc;
    if (member->state == MEMBER_SUCCEEDED)
        return error_set(err, "member_succeeded", "member %lld.%lld has succeeded", (long long)row->id,
                         (long long)index);
    return member->state > MEMBER_RUNNING;
}

int engine_resubmit_member(struct engine *engine, int64_t id, int64_t index, bool afresh, int64_t *n,
                           struct ensemble_row *row, struct error *err)
{
    int64_t tally[MEMBER_STATE_COUNT];
    struct live_ensemble *ens;
    struct member_row member;
    int rc;

    *n = 0;
    if (check_resubmission(engine, id, row, tally, err) < 0)
        return -1;
    rc = look_at_member(engine, row, index, &member, err);
    if (rc < 0 || (rc == 0 && !ensemble_is_over(row))) /* it is pending, or under way */
        return rc;
    if (check_training(engine, row, tally, err) < 0)
        return -1;
    ens = bring_back(engine, row, err);
    if (ens == NULL)
        return -1;
    member = (struct member_row){.ensemble = id,
                                 .index = index,
                                 .state = MEMBER_PENDING,
                                 .attempts = member.attempts,
                                 .not_before_ms = MEMBER_AT_ONCE,
                                 .since = afresh ? member.attempts + 1 : member.since,
                                 .since_in = afresh ? 0 : member.since_in};
    if (store_member_put(engine->store, &member, err) < 0)
        return -1;
    if (store_cancellation_drop(engine->store, id, index, err) < 0)
        return -1;
    engine_event(engine, "member.resubmitted", id, index, NULL);
    *n = 1;
    return reopen_ensemble(engine, ens, row, err);
}

int engine_resubmit(struct engine *engine, int64_t id, const enum member_state *states, size_t n_states, bool afresh,
                    int64_t *n, struct ensemble_row *row, struct error *err)
{
    int64_t tally[MEMBER_STATE_COUNT], handed[MEMBER_STATE_COUNT], wanted = 0, gone = 0;
    struct live_ensemble *ens;
    json_t *names;

    *n = 0;
    if (check_resubmission(engine, id, row, tally, err) < 0 || store_handed_get(engine->store, id, handed, err) < 0)
        return -1;
    for (size_t i = 0; i < n_states; i++) {
        wanted += tally[states[i]] - handed[states[i]];
        gone += handed[states[i]];
    }
    if (wanted == 0 && gone > 0)
        return error_set(err, "member_in_follow_up",
                         "the members of ensemble %lld that could go again do so in a follow-up", (long long)id);
    if (wanted == 0)
        return 0;
    if (check_training(engine, row, tally, err) < 0)
        return -1;
    ens = bring_back(engine, row, err);
    if (ens == NULL)
        return -1;
    for (size_t i = 0; i < n_states; i++)
        if (bulk_begin(engine, ens, &(struct bulk){BULK_RESUBMIT, id, 0, states[i], afresh, 0}, err) < 0)
            return -1;
    names = json_array();
    for (size_t i = 0; i < n_states; i++)
        json_array_append_new(names, json_string(member_state_name(states[i])));
    engine_event(engine, "ensemble.resubmitted", id, -1,
                 json_pack("{s:o, s:I}", "states", names, "members", (json_int_t)wanted));
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(id), "ensemble %lld: %lld members are resubmitted", (long long)id,
               (long long)wanted);
    *n = wanted;
    return reopen_ensemble(engine, ens, row, err);
}

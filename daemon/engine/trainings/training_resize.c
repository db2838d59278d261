/* Elastic resizing of a training: another number of ranks. The ranks of the present generation save a last checkpoint
 * and end, and the next generation has the new number; members go on, and send to it. */
#include "daemon/engine/trainings/training_resize.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/text.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/jobs/check_resources.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training.h"

#include <stdio.h>

/* A generation that has begun is followed by another one only if the next one finds a checkpoint. */
static bool can_have_other_ranks(const struct live_ensemble *ens)
{
    return ens->training->row.state == TRAINING_PENDING || ens->spec->training_checkpoint.any;
}

bool engine_can_resize_training(struct engine *engine, int64_t ensemble)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, ensemble);

    return ens != NULL && ens->training != NULL && !training_is_over(&ens->training->row) && can_have_other_ranks(ens);
}

/* Checks that the training could run with so many ranks, as the spec is checked when it is submitted. */
static int check_ranks(struct engine *engine, struct live_ensemble *ens, int64_t ranks, struct error *err)
{
    struct spec *spec = ens->spec;
    int rc;

    if (!can_have_other_ranks(ens))
        return error_set(err, "training_no_checkpoints",
                         "the ranks of a training that has begun can be changed only if its spec has \"checkpoint\" in "
                         "\"training\": training %lld has none",
                         (long long)ens->training->row.id);
    if (spec_check_ranks(spec, ranks, ens->row.width, err) < 0)
        return -1;
    spec->training.resources.copies = (int)ranks;
    rc = engine_check_resources(engine, spec, err);
    spec->training.resources.copies = (int)ens->training->row.ranks;
    return rc;
}

int training_resize(struct engine *engine, struct live_ensemble *ens, int64_t ranks, const char *by, struct error *err)
{
    struct training_row *own = &ens->training->row;
    int64_t before;

    if (training_is_over(own))
        return error_set(err, "training_over", "training %lld is over: it is %s", (long long)own->id,
                         training_state_name(own->state));
    before = own->wanted > 0 ? own->wanted : own->ranks;
    if (ranks == before)
        return 0;
    if (check_ranks(engine, ens, ranks, err) < 0) {
        if (err->pointer[0] != '\0') /* into the spec, which is not what was asked to change */
            snprintf(err->pointer, sizeof err->pointer, "/ranks");
        return -1;
    }
    if (own->state == TRAINING_PENDING) {
        own->ranks = ranks;
        ens->spec->training.resources.copies = (int)ranks;
        engine_touch_all(engine, ens->training->adapter); /* members that did not fit beside it may fit now */
    } else {
        own->wanted = ranks;
        text_copy(own->wanted_by, sizeof own->wanted_by, by);
        alarm_set(engine, &ens->training->look, engine_now(engine));
    }
    if (store_training_update(engine->store, own, err) < 0)
        return -1;
    engine_event(engine, "training.resized", ens->row.id, -1,
                 json_pack("{s:I, s:I, s:s}", "ranks", (json_int_t)ranks, "before", (json_int_t)before, "by", by));
    log_change(LOG_LEVEL_INFO, LOG_TRAINING(ens->row.id, own->id),
               "training %lld: %lld ranks are wanted, of %lld: asked for %s", (long long)own->id, (long long)ranks,
               (long long)before, by);
    engine_touch(engine, ens);
    return 0;
}

int engine_resize_training(struct engine *engine, int64_t id, int64_t ranks, const char *by, struct training_row *row,
                           struct error *err)
{
    struct live_ensemble *ens;
    int rc = engine_wake_up(engine, err) < 0 ? -1 : store_training_get(engine->store, id, row, err);

    if (rc == 0)
        return error_set(err, "training_not_found", "there is no training %lld", (long long)id);
    if (rc < 0 || engine_open_ensemble(engine, row->ensemble, &ens, err) < 0 ||
        training_resize(engine, ens, ranks, by, err) < 0 || elastic_by_hand(engine, ens, ELASTIC_RANKS, err) < 0)
        return -1;
    engine_settle_for(engine, ens, NULL, row);
    return 0;
}

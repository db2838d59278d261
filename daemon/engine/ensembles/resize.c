/* Elastic resizing: sets another width, and stops attempts beyond it or lets them end. */
#include "daemon/engine/ensembles/resize.h"

#include "common/log_changes.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/members/youngest.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training.h"
#include "daemon/store/bulk.h"

#include <stdio.h>

static int resize_ensemble(struct engine *engine, struct live_ensemble *ens, int64_t width, enum engine_shrink shrink,
                           const char *by, struct error *err)
{
    int64_t id = ens->row.id, before = ens->row.width, stopped = 0;

    ens->row.width = width;
    if (width != before && store_ensemble_update(engine->store, &ens->row, err) < 0)
        return -1;
    if (shrink == ENGINE_SHRINK_NOW)
        stopped = youngest_beyond(engine, ens, width);
    if (stopped > 0 &&
        bulk_begin(engine, ens, &(struct bulk){.kind = BULK_STOP, .ensemble = id, .next = width}, err) < 0)
        return -1;
    if (width != before || stopped > 0) {
        engine_event(engine, "ensemble.resized", id, -1,
                     json_pack("{s:I, s:I, s:I, s:s}", "width", (json_int_t)width, "before", (json_int_t)before,
                               "stopped", (json_int_t)stopped, "by", by));
        log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(id),
                   "ensemble %lld: width %lld, was %lld; %lld attempts are stopped: asked for %s", (long long)id,
                   (long long)width, (long long)before, (long long)stopped, by);
        ens->due = 0; /* those that were tried before go first */
        engine_touch(engine, ens);
    }
    return 0;
}

int resize_width(struct engine *engine, struct live_ensemble *ens, int64_t width, const char *by, struct error *err)
{
    return resize_ensemble(engine, ens, width, ENGINE_SHRINK_LATER, by, err);
}

/* Checks that the ranks of the training, those of now and those that are wanted, have buffers for so many members. */
static int check_buffers(const struct live_ensemble *ens, int64_t width, struct error *err)
{
    const struct training_row *row = ens->training != NULL ? &ens->training->row : NULL;

    if (row == NULL || training_is_over(row) || width <= ens->row.width ||
        spec_check_ranks(ens->spec, row->ranks > row->wanted ? row->ranks : row->wanted, width, err) == 0)
        return 0;
    snprintf(err->pointer, sizeof err->pointer, "/width"); /* not into the spec, which nobody asked to change */
    return -1;
}

int engine_resize(struct engine *engine, int64_t id, int64_t width, enum engine_shrink shrink, const char *by,
                  struct ensemble_row *row, struct error *err)
{
    struct live_ensemble *ens;

    if (engine_open_ensemble(engine, id, &ens, err) < 0 || check_buffers(ens, width, err) < 0 ||
        elastic_by_hand(engine, ens, ELASTIC_WIDTH, err) < 0 ||
        resize_ensemble(engine, ens, width, shrink, by, err) < 0)
        return -1;
    engine_settle_for(engine, ens, row, NULL);
    return 0;
}

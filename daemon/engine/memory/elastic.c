#include "daemon/engine/memory/elastic.h"

#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training.h"

#include <stdlib.h>

struct elastic *elastic_new(struct engine *engine, const struct live_ensemble *ens)
{
    struct elastic *elastic;
    struct error err;

    if (ens->training == NULL || (ens->spec->elastic.width.most == 0 && ens->spec->elastic.ranks.most == 0))
        return NULL;
    elastic = xcalloc(1, sizeof *elastic);
    if (store_elastic_get(engine->store, ens->row.id, &elastic->state.row, &err) >= 0) {
        int64_t ahead = elastic->state.row.changed_ms - engine_now(engine);

        if (ahead > 0) { /* the clock has been set back since */
            elastic->state.row.changed_ms -= ahead;
            elastic->state.row.until_ms -= ahead;
        }
        return elastic;
    }
    store_doom(engine->store, &err);
    free(elastic);
    return NULL;
}

void elastic_restart(struct live_ensemble *ens)
{
    if (ens->elastic == NULL)
        return;
    ens->elastic->waits = (struct waits){0};
    ens->elastic->state.in_row = 0;
}

int elastic_by_hand(struct engine *engine, struct live_ensemble *ens, enum elastic_knob knob, struct error *err)
{
    bool *by_hand;

    if (ens->elastic == NULL)
        return 0;
    by_hand = knob == ELASTIC_WIDTH ? &ens->elastic->state.row.width_by_hand : &ens->elastic->state.row.ranks_by_hand;
    if (*by_hand)
        return 0;
    *by_hand = true;
    return store_elastic_put(engine->store, &ens->elastic->state.row, err);
}

bool engine_elastic(struct engine *engine, int64_t id, struct engine_elastic *out)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);
    const struct elastic_row *row;

    if (ens == NULL || ens->elastic == NULL)
        return false;
    row = &ens->elastic->state.row;
    *out = (struct engine_elastic){.limits = ens->spec->elastic,
                                   .width_by_hand = row->width_by_hand,
                                   .ranks_by_hand = row->ranks_by_hand,
                                   .changed_ms = row->changed_ms};
    text_copy(out->reason, sizeof out->reason, row->reason);
    return true;
}

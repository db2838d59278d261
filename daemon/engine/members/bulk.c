/* Bulk operations: a call may change a hundred thousand members, or jobs in flight. The engine changes some at once and
 * the rest a slice at a time, so that no turn of the loop is long. The rest is in the store, so a daemon that is
 * started again goes on with it. */
#include "daemon/engine/members/bulk.h"

#include "daemon/engine/members/youngest.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/store/bulk.h"

int bulk_change_members(struct engine *engine, struct bulk *bulk, int limit, struct error *err)
{
    struct member_span span;
    int rc = store_bulk_piece(engine->store, bulk, limit, &span, err);

    if (rc >= 0)
        engine_event_of_span(engine, bulk->ensemble, &span,
                             bulk->kind == BULK_CANCEL ? MEMBER_CANCELLED : MEMBER_PENDING);
    return rc;
}

/* 1 there is more, 0 it is done, -1. */
static int do_piece(struct engine *engine, struct live_ensemble *ens, struct bulk *bulk, struct error *err)
{
    int rc = bulk->kind == BULK_STOP ? youngest_stop(engine, ens, bulk->next, engine->slice)
                                     : bulk_change_members(engine, bulk, engine->slice, err);

    if (bulk->kind == BULK_RESUBMIT)
        ens->due = 0; /* those that were tried before go first */
    if (rc < 0)
        return -1;
    return rc == 1 ? store_bulk_put(engine->store, bulk, err) < 0 ? -1 : 1 : store_bulk_end(engine->store, bulk, err);
}

void bulk_work(struct engine *engine, struct alarm *alarm)
{
    struct live_ensemble *ens = heap_entry(alarm, struct live_ensemble, bulk_alarm);
    struct bulk bulk;
    struct error err;
    int rc = store_bulk_first(engine->store, ens->row.id, &bulk, &err);

    if (rc == 1 && bulk.kind == BULK_RESUBMIT && !engine_has_room(engine)) {
        alarm_set(engine, alarm, engine_now(engine) + ROOM_MS);
        return;
    }
    if (rc == 1)
        rc = do_piece(engine, ens, &bulk, &err);
    if (rc == 0) /* there may be another */
        rc = store_bulk_first(engine->store, ens->row.id, &bulk, &err);
    if (rc < 0) {
        store_doom(engine->store, &err); /* nothing would make us look again */
        return;
    }
    ens->bulk = rc == 1;
    if (ens->bulk)
        alarm_set(engine, alarm, engine_now(engine) + 1);
    engine_touch(engine, ens);
}

int bulk_begin(struct engine *engine, struct live_ensemble *ens, struct bulk *bulk, struct error *err)
{
    int rc = do_piece(engine, ens, bulk, err);

    if (rc == 1 && !ens->bulk)
        alarm_set(engine, &ens->bulk_alarm, engine_now(engine) + 1);
    ens->bulk = ens->bulk || rc == 1;
    engine_touch(engine, ens);
    return rc < 0 ? -1 : 0;
}

int bulk_resume(struct engine *engine, struct live_ensemble *ens, struct error *err)
{
    struct bulk bulk;
    int rc = store_bulk_first(engine->store, ens->row.id, &bulk, err);

    ens->bulk = rc == 1;
    if (ens->bulk)
        alarm_set(engine, &ens->bulk_alarm, engine_now(engine));
    return rc < 0 ? -1 : 0;
}

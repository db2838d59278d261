/* What a call changes in an ensemble that may have a hundred thousand members, or jobs in flight: some at once, the rest a slice at
 * a time, so that no turn of the loop is long. What is left is in the store, and is gone on with after a restart. */
#include "daemon/engine/internal.h"

int chore_change_members(struct engine *engine, struct chore *chore, int limit, struct error *err)
{
    struct member_span span;
    int rc = store_chore_piece(engine->store, chore, limit, &span, err);

    if (rc >= 0)
        engine_event_of_span(engine, chore->ensemble, &span, chore->kind == CHORE_CANCEL ? MEMBER_CANCELLED : MEMBER_PENDING);
    return rc;
}

/* 1 there is more, 0 it is done, -1. */
static int do_piece(struct engine *engine, struct live_ensemble *ens, struct chore *chore, struct error *err)
{
    int rc = chore->kind == CHORE_STOP ? resize_stop(engine, ens, chore->next, engine->slice)
                                       : chore_change_members(engine, chore, engine->slice, err);

    if (chore->kind == CHORE_RESUBMIT)
        ens->due = 0; /* those that were tried before go first */
    if (rc < 0)
        return -1;
    return rc == 1 ? store_chore_put(engine->store, chore, err) < 0 ? -1 : 1 : store_chore_end(engine->store, chore, err);
}

void chore_work(struct engine *engine, struct alarm *alarm)
{
    struct live_ensemble *ens = heap_entry(alarm, struct live_ensemble, chore_alarm);
    struct chore chore;
    struct error err;
    int rc = store_chore_first(engine->store, ens->row.id, &chore, &err);

    if (rc == 1 && chore.kind == CHORE_RESUBMIT && !engine_has_room(engine)) {
        alarm_set(engine, alarm, engine_now(engine) + ROOM_MS);
        return;
    }
    if (rc == 1)
        rc = do_piece(engine, ens, &chore, &err);
    if (rc == 0) /* there may be another */
        rc = store_chore_first(engine->store, ens->row.id, &chore, &err);
    if (rc < 0) {
        store_doom(engine->store, &err); /* nothing would make us look again */
        return;
    }
    ens->chores = rc == 1;
    if (ens->chores)
        alarm_set(engine, alarm, engine_now(engine) + 1);
    engine_touch(engine, ens);
}

int chore_begin(struct engine *engine, struct live_ensemble *ens, struct chore *chore, struct error *err)
{
    int rc = do_piece(engine, ens, chore, err);

    if (rc == 1 && !ens->chores)
        alarm_set(engine, &ens->chore_alarm, engine_now(engine) + 1);
    ens->chores = ens->chores || rc == 1;
    engine_touch(engine, ens);
    return rc < 0 ? -1 : 0;
}

int chore_resume(struct engine *engine, struct live_ensemble *ens, struct error *err)
{
    struct chore chore;
    int rc = store_chore_first(engine->store, ens->row.id, &chore, err);

    ens->chores = rc == 1;
    if (ens->chores)
        alarm_set(engine, &ens->chore_alarm, engine_now(engine));
    return rc < 0 ? -1 : 0;
}

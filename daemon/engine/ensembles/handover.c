#include "daemon/engine/ensembles/handover.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/store/family.h"

int handover_take(struct engine *engine, struct ensemble_row *row, struct error *err)
{
    struct member_span span;
    int64_t n;
    int rc = store_handover_take(engine->store, row->id, engine->slice, &n, &span, err);

    if (rc < 0)
        return -1;
    engine_event_of_span(engine, row->id, &span, MEMBER_PENDING);
    row->next_index += n;
    if (rc == 0 && row->next_index < row->count) /* cannot be: nobody changes them meanwhile */
        log_error_of(LOG_ENSEMBLE(row->id), "ensemble %lld has %lld of the %lld members that it was made for",
                     (long long)row->id, (long long)row->next_index, (long long)row->count);
    if (rc == 0 || row->next_index == row->count)
        return store_handover_end(engine->store, row, err);
    return store_ensemble_update(engine->store, row, err) < 0 ? -1 : 1;
}

void handover_go_on(struct engine *engine, struct alarm *alarm)
{
    struct live_ensemble *ens = heap_entry(alarm, struct live_ensemble, take_over);
    struct error err;

    if (!engine_has_room(engine)) {
        alarm_set(engine, alarm, engine_now(engine) + ROOM_MS);
        return;
    }
    switch (handover_take(engine, &ens->row, &err)) {
    case 1: alarm_set(engine, alarm, engine_now(engine) + 1); break;
    case 0:
        log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(ens->row.id), "ensemble %lld has all of its %lld members",
                   (long long)ens->row.id, (long long)ens->row.count);
        break;
    default: store_doom(engine->store, &err); return;
    }
    ens->due = 0;
    engine_touch(engine, ens);
}

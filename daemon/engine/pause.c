/* Pausing and resuming: whether dispatch may start anything. */
#include "daemon/engine/internal.h"

#include "common/log.h"

static int change_state(struct engine *engine, int64_t id, enum ensemble_state to, const char *event, struct error *err)
{
    struct live_ensemble *ens;

    if (engine_open_ensemble(engine, id, &ens, err) < 0)
        return -1;
    if (ens->row.state != to) {
        ens->row.state = to;
        if (store_ensemble_update(engine->store, &ens->row, err) < 0)
            return -1;
        engine_event(engine, event, id, -1, NULL);
        log_info_of(LOG_ENSEMBLE(id), "ensemble %lld is %s", (long long)id, ensemble_state_name(to));
        ens->due = 0; /* those that were tried before go first */
        engine_touch(engine, ens);
    }
    engine_settle(engine);
    return 0;
}

int engine_pause(struct engine *engine, int64_t id, struct error *err)
{
    return change_state(engine, id, ENSEMBLE_PAUSED, "ensemble.paused", err);
}

int engine_resume(struct engine *engine, int64_t id, struct error *err)
{
    return change_state(engine, id, ENSEMBLE_RUNNING, "ensemble.resumed", err);
}

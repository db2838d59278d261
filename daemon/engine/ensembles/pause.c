/* Pausing and resuming: whether dispatch may start anything. */
#include "daemon/engine/ensembles/pause.h"

#include "common/log_changes.h"
#include "common/text.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"

/* `reason`: why the daemon pauses it by itself; "" if somebody asked, who is told in `by`. */
static int set_state(struct engine *engine, struct live_ensemble *ens, enum ensemble_state to, const char *reason,
                     const char *by, struct error *err)
{
    bool asked = to == ENSEMBLE_PAUSED && reason[0] == '\0';

    ens->row.state = to;
    text_copy(ens->row.reason, sizeof ens->row.reason, reason);
    text_copy(ens->row.paused_by, sizeof ens->row.paused_by, by);
    ens->row.paused_ms = asked ? engine_now(engine) : 0;
    if (store_ensemble_update(engine->store, &ens->row, err) < 0)
        return -1;
    engine_event(engine, to == ENSEMBLE_PAUSED ? "ensemble.paused" : "ensemble.resumed", ens->row.id, -1,
                 reason[0] || by[0]
                     ? json_pack("{s:s}", reason[0] ? "reason" : "by", reason[0] ? ens->row.reason : ens->row.paused_by)
                     : NULL);
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(ens->row.id), "ensemble %lld is %s%s%s", (long long)ens->row.id,
               ensemble_state_name(to), reason[0] ? ": " : "", reason);
    ens->due = 0; /* those that were tried before go first */
    engine_touch(engine, ens);
    return 0;
}

void pause_for(struct engine *engine, struct live_ensemble *ens, const char *reason)
{
    struct error err;

    set_state(engine, ens, ENSEMBLE_PAUSED, reason, "", &err); /* if it fails the turn is rolled back as a whole */
}

int engine_pause(struct engine *engine, int64_t id, const char *by, struct ensemble_row *row, struct error *err)
{
    struct live_ensemble *ens;

    if (engine_open_ensemble(engine, id, &ens, err) < 0)
        return -1;
    if (ensemble_is_ending(&ens->row))
        return error_set(err, "ensemble_over", "ensemble %lld is ending: %.400s", (long long)id, ens->row.reason);
    if (ens->row.state != ENSEMBLE_PAUSED && set_state(engine, ens, ENSEMBLE_PAUSED, "", by, err) < 0)
        return -1;
    engine_settle_for(engine, ens, row, NULL);
    return 0;
}

int engine_resume(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err)
{
    struct live_ensemble *ens;

    if (engine_open_ensemble(engine, id, &ens, err) < 0)
        return -1;
    if (ens->row.state == ENSEMBLE_PAUSED) {
        if (ens->row.reason[0] != '\0') /* the cause may not be mended yet */
            ens->guard = (struct guard){0};
        if (set_state(engine, ens, ENSEMBLE_RUNNING, "", "", err) < 0)
            return -1;
    }
    engine_settle_for(engine, ens, row, NULL);
    return 0;
}

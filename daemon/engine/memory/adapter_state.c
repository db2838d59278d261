/* The state of an adapter. This is the one place that decides it, and that puts it into words. */
#include "daemon/engine/memory/adapter_state.h"

#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/timefmt.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/polls.h"
#include "daemon/engine/memory/training.h"

#include <stdio.h>

const char *engine_adapter_state_name(enum engine_adapter_state state)
{
    static const char *const names[] = {[ENGINE_ADAPTER_NOT_ASKED] = "not_asked",
                                        [ENGINE_ADAPTER_NOT_SET_UP] = "not_set_up",
                                        [ENGINE_ADAPTER_ANSWERS] = "answers",
                                        [ENGINE_ADAPTER_SILENT] = "silent"};

    return names[state];
}

static void adapter_look(struct known_adapter *adapter, int64_t now)
{
    bool was_missing = adapter->presence.missing[0] != '\0';
    struct error err;

    stretto_assert(adapter->ops->ready != NULL);
    adapter->presence.looked_at = now;
    adapter->presence.missing[0] = '\0';
    if (adapter->ops->ready(adapter->adapter, &err) < 0)
        text_copy(adapter->presence.missing, sizeof adapter->presence.missing, err.text);
    else if (was_missing && adapter->polls.failures == 0)
        adapter->polls.failing_since = 0; /* that was why */
}

/* Looking for programs costs system calls, so it is done only if there is doubt, and not more often than polls. */
static bool is_set_up(struct engine *engine, struct known_adapter *adapter)
{
    int64_t now = engine_now(engine);

    if (adapter->ops->ready == NULL || (adapter->polls.answered_at != 0 && adapter->polls.failing_since == 0))
        return true;
    if (adapter->presence.looked_at == 0 || now < adapter->presence.looked_at ||
        now - adapter->presence.looked_at >= POLL_MS)
        adapter_look(adapter, now);
    return adapter->presence.missing[0] == '\0';
}

enum engine_adapter_state adapter_state(struct engine *engine, struct known_adapter *adapter)
{
    if (!is_set_up(engine, adapter))
        return ENGINE_ADAPTER_NOT_SET_UP;
    if (adapter->polls.failing_since != 0)
        return ENGINE_ADAPTER_SILENT;
    return adapter->polls.answered_at != 0 ? ENGINE_ADAPTER_ANSWERS : ENGINE_ADAPTER_NOT_ASKED;
}

void adapter_describe(struct engine *engine, struct known_adapter *adapter, char *out, size_t size)
{
    const char *name = adapter->ops->name;
    char since[TIMEFMT_SIZE];

    switch (adapter_state(engine, adapter)) {
    case ENGINE_ADAPTER_NOT_ASKED: snprintf(out, size, "%s has not been asked yet", name); break;
    case ENGINE_ADAPTER_NOT_SET_UP: snprintf(out, size, "%s is not set up: %s", name, adapter->presence.missing); break;
    case ENGINE_ADAPTER_ANSWERS: snprintf(out, size, "%s answers", name); break;
    case ENGINE_ADAPTER_SILENT:
        snprintf(out, size, "%s has not answered since %s: %s", name, timefmt_iso(since, adapter->polls.failing_since),
                 adapter->polls.failing_for);
        break;
    }
}

static int64_t count_ensembles(const struct engine *engine, const struct known_adapter *adapter)
{
    int64_t n = 0;

    for (const struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next)
        n += ens->adapter == adapter || (ens->training != NULL && ens->training->adapter == adapter);
    return n;
}

bool engine_adapter(struct engine *engine, const char *name, struct engine_adapter *out)
{
    struct known_adapter *known;

    HASH_FIND_STR(engine->adapters, name, known);
    if (known == NULL)
        return false;
    *out = (struct engine_adapter){
        .state = adapter_state(engine, known),
        .slots = known->ops->slots(known->adapter),
        .answered_ms = known->polls.answered_at,
        .failing_since_ms = known->polls.failing_since,
        .ensembles = count_ensembles(engine, known),
        .next_ms = heap_holds(&known->polls.poll.node) ? known->polls.poll.node.key : 0,
    };
    if (out->state == ENGINE_ADAPTER_NOT_SET_UP)
        out->reason = known->presence.missing;
    else if (out->state == ENGINE_ADAPTER_SILENT)
        out->reason = known->polls.failing_for;
    adapter_describe(engine, known, out->sentence, sizeof out->sentence);
    return true;
}

void adapter_shift_times(struct known_adapter *adapter, int64_t by_ms)
{
    int64_t *times[] = {&adapter->polls.asked_ms,       &adapter->polls.answered_at,   &adapter->polls.failing_since,
                        &adapter->polls.lingers_until,  &adapter->presence.looked_at,  &adapter->told.doubts_told_ms,
                        &adapter->told.put_off_told_ms, &adapter->told.cancels_told_ms};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (*times[i] != 0)
            *times[i] += by_ms;
}

bool adapter_takes_jobs(struct engine *engine, struct known_adapter *adapter)
{
    if (is_set_up(engine, adapter))
        return engine_has_room(engine);
    if (!heap_holds(&adapter->presence.look.node)) {
        log_warn_of(LOG_ADAPTER(adapter->ops->name), "adapter %s is not set up: %s; its jobs wait until it is",
                    adapter->ops->name, adapter->presence.missing);
        alarm_set(engine, &adapter->presence.look, engine_now(engine) + POLL_MS);
    }
    return false;
}

/* Somebody waits for it to be set up. The warning of adapter_takes_jobs() is not repeated as long as it is not. */
static void adapter_look_again(struct engine *engine, struct alarm *alarm)
{
    struct known_adapter *adapter = heap_entry(alarm, struct known_adapter, presence.look);

    adapter_look(adapter, engine_now(engine));
    if (!is_set_up(engine, adapter)) {
        alarm_set(engine, alarm, engine_now(engine) + POLL_MS);
        return;
    }
    log_info_of(LOG_ADAPTER(adapter->ops->name), "adapter %s is set up now", adapter->ops->name);
    adapter->slots.dirty = true;
    engine_touch_all(engine, adapter);
}

void adapter_state_init(struct known_adapter *adapter)
{
    adapter->presence.look.ring = adapter_look_again;
}

void adapter_note_answer(struct engine *engine, struct known_adapter *adapter)
{
    adapter->polls.answered_at = engine_now(engine);
    adapter->polls.failing_since = 0;
}

void adapter_note_failure(struct engine *engine, struct known_adapter *adapter, const char *why)
{
    text_copy(adapter->polls.failing_for, sizeof adapter->polls.failing_for, why);
    if (adapter->polls.failing_since == 0)
        adapter->polls.failing_since = engine_now(engine);
}

void adapter_check(struct engine *engine, struct known_adapter *adapter)
{
    if (adapter->ops->ready == NULL)
        return;
    adapter_look(adapter, engine_now(engine));
    if (adapter->presence.missing[0] != '\0')
        adapter_note_failure(engine, adapter, adapter->presence.missing);
}

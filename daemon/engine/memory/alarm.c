#include "daemon/engine/memory/alarm.h"

#include "common/backoff.h"
#include "common/stretto_assert.h"
#include "daemon/engine/memory/core.h"

#define TICK_MAX 1024         /* alarms that ring in one tick, to keep it short */
#define BACKOFF_FIRST_MS 1000 /* before the first retry, then doubled */

int64_t engine_now(const struct engine *engine)
{
    return engine->ports.steady_ms(engine->ports.arg) + engine->clock.offset;
}

void engine_wake_by(struct engine *engine, int64_t when_ms)
{
    if (when_ms >= engine->clock.wake_at)
        return;
    engine->clock.wake_at = when_ms;
    engine->ports.wake_in(engine->ports.arg, when_ms - engine_now(engine));
}

void alarm_set(struct engine *engine, struct alarm *alarm, int64_t when_ms)
{
    if (when_ms == INT64_MAX) {
        heap_remove(&engine->alarms, &alarm->node);
        return;
    }
    stretto_assert(alarm->ring != NULL);
    heap_set(&engine->alarms, &alarm->node, when_ms, 0);
    engine_wake_by(engine, when_ms);
}

void alarm_ring_due(struct engine *engine, int64_t now)
{
    struct heap_node *first;

    for (int n = 0; n < TICK_MAX && (first = heap_first(&engine->alarms)) != NULL && first->key <= now; n++) {
        struct alarm *alarm = heap_entry(first, struct alarm, node);

        heap_remove(&engine->alarms, first);
        alarm->ring(engine, alarm);
    }
    first = heap_first(&engine->alarms);
    if (first != NULL)
        engine_wake_by(engine, first->key);
}

int64_t engine_backoff(int64_t failures)
{
    return backoff_ms(BACKOFF_FIRST_MS, failures, BACKOFF_MAX_MS);
}

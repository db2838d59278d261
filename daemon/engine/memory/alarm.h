/* Alarms: things to do at a time. They are in a heap by their times, so that only those that are due are looked at. */
#ifndef DAEMON_ENGINE_MEMORY_ALARM_H
#define DAEMON_ENGINE_MEMORY_ALARM_H
#include "common/heap.h"

#include <stdint.h>

struct engine;

#define BACKOFF_MAX_MS 300000

/* Something to do at a time. All zeros but for `ring` to begin with. */
struct alarm {
    struct heap_node node;
    void (*ring)(struct engine *engine, struct alarm *alarm);
};

/* Returns the time of day by a clock that nobody sets: it goes on from when memory was last loaded. */
int64_t engine_now(const struct engine *engine);
void engine_wake_by(struct engine *engine, int64_t when_ms); /* has engine_tick() called by then */
void alarm_set(struct engine *engine, struct alarm *alarm,
               int64_t when_ms);          /* in place of the former; INT64_MAX: never */
int64_t engine_backoff(int64_t failures); /* ms to wait after so many failures in a row */
void alarm_ring_due(struct engine *engine, int64_t now);
#endif

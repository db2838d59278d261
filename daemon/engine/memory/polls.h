/* When an adapter is polled next. */
#ifndef DAEMON_ENGINE_MEMORY_POLLS_H
#define DAEMON_ENGINE_MEMORY_POLLS_H
#include <stdint.h>

struct engine;
struct known_adapter;

#define POLL_MS 5000            /* between polls of an adapter that does not poke */
#define POLLS_LINGER_MS 3600000 /* polls go on after the last job, since a scheduler may return to an older state */

/* Polls as soon as the last poll is long enough ago. */
void poll_soon(struct engine *engine, struct known_adapter *adapter);
void poll_by(struct engine *engine, struct known_adapter *adapter, int64_t when_ms);
/* Notes that the adapter has had a job: a scheduler that may come back with an ended one is polled a while longer. */
void poll_linger(struct engine *engine, struct known_adapter *adapter);

#endif

/* Polling adapters: what became of their jobs. */
#ifndef DAEMON_ENGINE_POLL_H
#define DAEMON_ENGINE_POLL_H
#include <stdint.h>

struct engine;
struct known_adapter;

#define POLL_MS 5000 /* between polls of an adapter that does not poke */

void poll_init(struct known_adapter *adapter); /* sets `poll_ms`, too */
/* Polls as soon as the last poll is long enough ago. */
void poll_soon(struct engine *engine, struct known_adapter *adapter);
void poll_by(struct engine *engine, struct known_adapter *adapter, int64_t when_ms);
void poll_resume(struct engine *engine, struct known_adapter *adapter); /* after a restart: looks up all jobs by name */
/* Notes that the adapter has had a job: a scheduler that may come back with an ended one is polled a while longer. */
void poll_linger(struct engine *engine, struct known_adapter *adapter);

#endif

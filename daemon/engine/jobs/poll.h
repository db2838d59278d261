/* Polling adapters: what became of their jobs. */
#ifndef DAEMON_ENGINE_JOBS_POLL_H
#define DAEMON_ENGINE_JOBS_POLL_H
#include <stdint.h>

struct engine;
struct known_adapter;

void poll_init(struct known_adapter *adapter);                          /* sets `poll_ms`, too */
void poll_resume(struct engine *engine, struct known_adapter *adapter); /* after a restart: looks up all jobs by name */

#endif

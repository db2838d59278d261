/* The artefacts that members leave. */
#ifndef DAEMON_ENGINE_MEMBERS_ARTEFACTS_H
#define DAEMON_ENGINE_MEMBERS_ARTEFACTS_H

struct engine;
struct error;
struct live_job;
struct attempt_end;
struct slot;

/* Stores the artefacts that an attempt which succeeded left, in the place of earlier ones. */
int artefacts_store(struct engine *engine, const struct live_job *job, const struct slot *slot,
                    const struct attempt_end *out, struct error *err);

#endif

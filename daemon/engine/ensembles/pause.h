/* Pausing an ensemble. */
#ifndef DAEMON_ENGINE_ENSEMBLES_PAUSE_H
#define DAEMON_ENGINE_ENSEMBLES_PAUSE_H

struct engine;
struct live_ensemble;

/* Pauses the ensemble as engine_pause() does, for a reason that users are told. */
void pause_for(struct engine *engine, struct live_ensemble *ens, const char *reason);

#endif

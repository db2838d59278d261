/* The end of an ensemble before all of its members have ended. */
#ifndef DAEMON_ENGINE_ENSEMBLES_END_H
#define DAEMON_ENGINE_ENSEMBLES_END_H

struct engine;
struct live_ensemble;

/* Ends the ensemble before its members have ended: it has failed for the reason, or is cancelled if that is "". */
void engine_stop_ensemble(struct engine *engine, struct live_ensemble *ens, const char *reason);

#endif

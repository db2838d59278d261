/* Decides how many pilots an ensemble is to have, and which node gets which job. */
#ifndef DAEMON_ENGINE_ENSEMBLES_PILOT_WANTS_H
#define DAEMON_ENGINE_ENSEMBLES_PILOT_WANTS_H

struct engine;
struct live_ensemble;

void pilot_dispatch(struct engine *engine, struct live_ensemble *ens);

#endif

/* The next step of an ensemble. */
#ifndef DAEMON_ENGINE_ENSEMBLES_DISPATCH_H
#define DAEMON_ENGINE_ENSEMBLES_DISPATCH_H
struct engine;
struct live_ensemble;

void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens);

#endif

/* Elasticity by policy: measurements become changes of the width, or of the number of ranks. */
#ifndef DAEMON_ENGINE_ENSEMBLES_ELASTIC_CHANGE_H
#define DAEMON_ENGINE_ENSEMBLES_ELASTIC_CHANGE_H
#include "daemon/engine/memory/waits.h"

struct engine;
struct live_ensemble;

/* Takes what the ranks have counted, decides and changes. */
void elastic_note(struct engine *engine, struct live_ensemble *ens, const struct waits_sum *sum,
                  const struct rank_draws *draws);

#endif

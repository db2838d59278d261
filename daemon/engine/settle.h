/* Settling: jobs and ensembles that were touched in a turn take their next step, and facts get to their owners. */
#ifndef DAEMON_ENGINE_SETTLE_H
#define DAEMON_ENGINE_SETTLE_H

struct engine;

void settle(struct engine *engine);

#endif

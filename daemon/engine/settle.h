/* Settling: what was touched in a turn takes its next step, and facts get to their owners. */
#ifndef DAEMON_ENGINE_SETTLE_H
#define DAEMON_ENGINE_SETTLE_H

struct engine;

void settle(struct engine *engine);

#endif

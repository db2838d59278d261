/* Building the engine's memory from the store, and freeing it. */
#ifndef DAEMON_ENGINE_LOAD_H
#define DAEMON_ENGINE_LOAD_H

struct engine;

void engine_forget(struct engine *engine); /* frees all of its memory */

#endif

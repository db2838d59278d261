/* Making jobs of pending members. */
#ifndef DAEMON_ENGINE_ENSEMBLES_MAKE_JOBS_H
#define DAEMON_ENGINE_ENSEMBLES_MAKE_JOBS_H
#include <stdint.h>

struct engine;
struct live_ensemble;
struct pilot_node;

/* Makes a job of pending members that may start now, at most `pack` of them and within the width. It is to run on that
 * node, or as a job of its own if node is NULL. Returns how many members it has, or -1 on failure (the turn is then
 * rolled back). */
int64_t make_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node, int64_t now);

#endif

/* A training whose next generation waits for places that its own members hold takes them back. Those members wait for
 * the ranks, so neither would ever go on: if ranks are added, or if others have taken what the last generation
 * left. Batch systems say nothing of their places and are left alone, but for those of max_jobs: walltimes end what
 * waits. */
#ifndef DAEMON_ENGINE_TRAININGS_RECLAIM_H
#define DAEMON_ENGINE_TRAININGS_RECLAIM_H

struct alarm;
struct engine;
struct live_ensemble;

/* Begins to look whether the generation gets its places. Also called after a restart. */
void reclaim_wait(struct engine *engine, struct live_ensemble *ens);
void reclaim_look(struct engine *engine, struct alarm *alarm); /* rings a training's `reclaim` */
#endif

/* Takes places back for a training whose next generation waits for places that its own members hold. Those members wait
 * for the ranks, so neither would ever go on. That happens if ranks are added, or if others have taken the places that
 * the last generation left. Batch systems do not report their places and are left alone, except for those of max_jobs:
 * walltimes end what waits. */
#ifndef DAEMON_ENGINE_TRAININGS_RECLAIM_H
#define DAEMON_ENGINE_TRAININGS_RECLAIM_H

struct alarm;
struct engine;
struct live_ensemble;

/* Begins to look whether the generation gets its places. Also called after a restart. */
void reclaim_wait(struct engine *engine, struct live_ensemble *ens);
void reclaim_look(struct engine *engine, struct alarm *alarm); /* rings a training's `reclaim` */
#endif

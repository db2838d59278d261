/* A follow-up takes over its members, some in each turn. */
#ifndef DAEMON_ENGINE_ENSEMBLES_HANDOVER_H
#define DAEMON_ENGINE_ENSEMBLES_HANDOVER_H

struct alarm;
struct engine;
struct ensemble_row;
struct error;

/* Takes over a slice of members. Returns 1 if there may be more, 0 if it has them all, or -1. */
int handover_take(struct engine *engine, struct ensemble_row *row, struct error *err);
void handover_go_on(struct engine *engine, struct alarm *alarm); /* rings an ensemble's `take_over` */

#endif

/* Making jobs of members, and the jobs of trainings. */
#ifndef DAEMON_ENGINE_DISPATCH_H
#define DAEMON_ENGINE_DISPATCH_H
#include "daemon/store/member.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct ensemble_row;
struct live_ensemble;
struct pilot_node;

void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens);
/* Returns whether all members of the ensemble have ended, and no more can be suggested. */
bool dispatch_all_final(const struct ensemble_row *row, const int64_t tally[MEMBER_STATE_COUNT]);
/* Makes a job of pending members that may start now, at most `pack` of them and within the width. It is to run on that
 * node, or as a job of its own if node is NULL. Returns how many members it has, or -1 on failure (the turn is then
 * rolled back). */
int64_t dispatch_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node, int64_t now);
bool dispatch_wants(const struct live_ensemble *ens, int64_t now); /* could it use a slot now? */
/* Returns whether the ensemble's training should be submitted now, if it gets the slots. */
bool dispatch_training_is_due(struct engine *engine, const struct live_ensemble *ens);

#endif

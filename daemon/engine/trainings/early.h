/* A training may end before its members: each of its ranks says that it is done, and at least one that it needs no more
 * samples. That is success. The ensemble is ending then: members that run are stopped, the others are not started, and
 * once all are final it is complete. */
#ifndef DAEMON_ENGINE_TRAININGS_EARLY_H
#define DAEMON_ENGINE_TRAININGS_EARLY_H
#include "daemon/store/member.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_ensemble;
struct rank_row;

/* Notes what the ranks' files say. Once a rank needs no more samples, the others are told that no more come: members
 * deal their samples to all ranks, so that they cannot go on without it. */
void early_note(struct engine *engine, struct live_ensemble *ens, json_t *const *json);

/* Returns whether a training whose ranks are all done ended before it had learnt all that its members could send. `sum`
 * is of its ranks. */
bool early_is_end(const struct live_ensemble *ens, const int64_t tally[MEMBER_STATE_COUNT], const struct rank_row *sum);

/* Notes that the training has ended early, and lets the ensemble end. Called before the training's row is stored. */
void early_end(struct engine *engine, struct live_ensemble *ens, bool all_final);

/* Ends the remaining members of an ensemble, some in each turn. Also called after a restart. */
void early_stop_members(struct engine *engine, struct live_ensemble *ens);

/* Writes the members and steps that were not needed, for the row of an ensemble that is complete. */
void early_tell(struct engine *engine, const struct live_ensemble *ens, const int64_t tally[MEMBER_STATE_COUNT],
                char *out, size_t size);
#endif

/* Counts members of an ensemble that all fail in the same way, and pauses it once there are many. */
#ifndef DAEMON_ENGINE_ENSEMBLES_GUARD_H
#define DAEMON_ENGINE_ENSEMBLES_GUARD_H
#include "daemon/store/attempt.h"

struct engine;
struct live_ensemble;
struct member_row;

/* Notes that an attempt of a member has ended, and that this is in the store. May pause the ensemble. */
void guard_note(struct engine *engine, struct live_ensemble *ens, const struct member_row *member,
                enum attempt_outcome outcome, const char *why);
/* Reads the guard of an ensemble that is being loaded into memory. */
int guard_init(struct engine *engine, struct live_ensemble *ens, struct error *err);

#endif

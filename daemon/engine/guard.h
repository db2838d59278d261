/* Counts members of an ensemble that all fail in the same way, and pauses it once there are many. */
#ifndef DAEMON_ENGINE_GUARD_H
#define DAEMON_ENGINE_GUARD_H
#include "daemon/spec/spec.h"
#include "daemon/store/attempt.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_ensemble;
struct member_row;

struct guard {
    bool over;    /* an attempt has ended in another way: failures are not counted any more */
    int64_t n;    /* members that have failed in this way */
    char as[160]; /* how they failed */
    int64_t members[SPEC_SAME_FAILURES_MAX]; /* the first members that failed */
};

/* Notes that an attempt of a member has ended, and that this is in the store. May pause the ensemble. */
void guard_note(struct engine *engine, struct live_ensemble *ens, const struct member_row *member,
                enum attempt_outcome outcome, const char *why);
/* Reads the guard of an ensemble that is being loaded into memory. */
int guard_init(struct engine *engine, struct live_ensemble *ens, struct error *err);

#endif

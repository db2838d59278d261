/* Decides the next state of a member of which an attempt has ended (stretto-spec(5), "Out of time"). */
#ifndef DAEMON_ENGINE_MEMBERS_NEXT_STATE_H
#define DAEMON_ENGINE_MEMBERS_NEXT_STATE_H
#include "daemon/engine/members/progress.h"
#include "tasks/proto/attempt_end.h"
#include "daemon/engine/memory/job.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/member.h"

#include <stdbool.h>
#include <stdint.h>

/* All that counts. */
struct next_case {
    const struct attempt_end *end;
    const struct progress *progress;
    enum slot_order order;
    bool is_void; /* the attempt does not count: the engine stopped it, its ranks are gone, or it never started */
    const struct ensemble_row *ensemble;
    bool ends_early; /* the ensemble is ending, because its training has learnt enough */
    bool goes_on;    /* a member that is out of time gets another attempt in this ensemble */
    bool checkpoints;
    int64_t retries, stalls; /* how many the spec allows */
    int64_t now_ms;
};

/* Sets the member's state, its counters, when it may start again, and its reason. */
void next_state(struct member_row *member, const struct next_case *c);
/* Returns whether the rule of early stopping decides the member's next state: the rule had it ended, and the member had
 * neither succeeded nor diverged before that. */
bool next_is_by_rule(const struct next_case *c);

#endif

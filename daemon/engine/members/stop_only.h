/* Early stopping without pauses. A member runs on to its own end and knows nothing of rungs. The member arrives at a
 * rung as soon as a point of its metric at the rung or beyond is stored. It is decided at once whether it runs on or is
 * ended for good. The arrival is stored in the transaction of the point, so that decisions are a function of the order
 * of arrivals alone. */
#ifndef DAEMON_ENGINE_MEMBERS_STOP_ONLY_H
#define DAEMON_ENGINE_MEMBERS_STOP_ONLY_H
#include "daemon/store/series.h"

struct engine;
struct live_job;
struct slot;

/* Takes a point of the metric by which members are stopped, once it is added to its series. `best` is the best value of
 * that up to the point. */
void stop_only_take(struct engine *engine, struct live_job *job, struct slot *slot, const struct series_point *point,
                    double best);
/* Finds whether the attempt of a slot that is loaded is being ended by the rule. Returns 1, 0 or -1. */
int stop_only_asked(struct engine *engine, const struct live_job *job, const struct slot *slot, struct error *err);
/* Writes why the rule ends the attempt. */
void stop_only_tell(struct engine *engine, const struct live_job *job, const struct slot *slot, char *out, size_t size);
/* Writes a notice about an attempt that has succeeded and could not be compared with others; leaves `out` alone
 * otherwise. */
void stop_only_notice(struct engine *engine, const struct live_job *job, const struct slot *slot, char *out,
                      size_t size);
#endif

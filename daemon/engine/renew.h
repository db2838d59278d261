/* A training that ended badly, begun anew: its ranks' next generation. What the former one had learnt, and had taken in,
 * went with its processes, so every member goes again from its start. */
#ifndef DAEMON_ENGINE_RENEW_H
#define DAEMON_ENGINE_RENEW_H
#include "daemon/engine/internal.h"

/* Of one whose job is over, and that is no success: may it be? Those of which not all ranks got as far as to be `reached` failed by
 * themselves, unless they were lost; one that was out of time would be so again. */
bool renew_may(const struct live_ensemble *ens, bool reached);

/* The training is pending, with a new generation; so are its members, afresh, but for those that failed. What still
 * runs of them is stopped. */
void renew_training(struct engine *engine, struct live_ensemble *ens, const char *reason);

/* The new generation is submitted a while after the former one ended, longer each time: after a restart, too. */
void renew_wait(struct engine *engine, struct live_ensemble *ens);

/* Is the generation gone for which this job of members was made? What its attempts sent is lost, however they end. */
bool renew_is_stale(const struct live_job *job);

/* Stop jobs that are, some in each turn; after a restart, too. */
void renew_stop_stale(struct engine *engine, struct live_ensemble *ens);

/* May members of it be started, as far as that goes? Not before all that are to go again are told to begin afresh. */
bool renew_lets_start(const struct live_ensemble *ens);
#endif

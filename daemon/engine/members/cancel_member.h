/* Members that were cancelled alone, in an ensemble that goes on: the engine's part. */
#ifndef DAEMON_ENGINE_MEMBERS_CANCEL_MEMBER_H
#define DAEMON_ENGINE_MEMBERS_CANCEL_MEMBER_H
#include <stdint.h>

struct engine;
struct error;
struct live_ensemble;
struct live_job;

/* Notes in the ensemble whether any of its members is being cancelled. Returns 0 or -1. */
int cancel_member_load(struct engine *engine, struct live_ensemble *ens, struct error *err);

/* Was this one cancelled? 1, 0 or -1. */
int cancel_member_asked(struct engine *engine, const struct live_ensemble *ens, int64_t index, struct error *err);

/* End the job if all members that still run in it were cancelled. */
void cancel_member_stop(struct engine *engine, struct live_job *job);

#endif

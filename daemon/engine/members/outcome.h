/* Carries out the consequences of an attempt's end for its member. */
#ifndef DAEMON_ENGINE_MEMBERS_OUTCOME_H
#define DAEMON_ENGINE_MEMBERS_OUTCOME_H

struct attempt_end;
struct engine;
struct live_job;
struct slot;

/* Stores the end of the attempt of a member, and the next state of that. */
void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *end);

#endif

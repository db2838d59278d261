/* Follow-ups: ensembles that go on with members of another one. */
#ifndef DAEMON_ENGINE_ENSEMBLES_FOLLOW_UP_H
#define DAEMON_ENGINE_ENSEMBLES_FOLLOW_UP_H

struct engine;
struct ensemble_row;
struct error;
struct live_ensemble;

/* Makes the follow-up that the spec of a complete ensemble asks for. */
void follow_up_auto(struct engine *engine, struct live_ensemble *ens);
/* Checks that members of the ensemble's family may be resubmitted now. Returns 0, or -1 with "member_in_follow_up". */
int follow_up_check_whole(struct engine *engine, const struct ensemble_row *row, struct error *err);

#endif

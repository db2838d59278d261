/* Begins a training that is not done again, with the next generation of its ranks. Everything that the former
 * generation had learnt and received since its newest checkpoint is lost with its processes. So members of which that
 * checkpoint lacks samples run again from their start, or all members if there is none. If its ranks ended with a last
 * checkpoint, which has all that they held, nothing is lost: members that run go on, and send to the next
 * generation. */
#ifndef DAEMON_ENGINE_TRAININGS_RENEW_H
#define DAEMON_ENGINE_TRAININGS_RENEW_H
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct error;
struct live_ensemble;
struct live_job;
struct member_row;
struct training_checkpoint_row;
struct training_row;

/* The ways in which a generation of a training's ranks ends. */
enum generation_end {
    GENERATION_DONE, /* all ranks said that they were done */
    /* its time was over, and it had got further, or it was asked to end: the next one goes on at no cost */
    GENERATION_OUT_OF_TIME,
    GENERATION_STUCK,  /* its time was over, and it had got no further: so would it be with the next generation */
    GENERATION_FAILED, /* by an error of its own: the next generation costs a retry */
    GENERATION_LOST    /* it was ended from outside (tasks/proto/retries.h) */
};

/* Counts the end of a training whose job is over, and returns whether it may begin again. It may not if it failed by an
 * error of its own and not all of its ranks could be `reached`, since that would come again. `further`: the ranks had
 * got further since they last began. */
bool renew_count_end(struct live_ensemble *ens, enum generation_end end, bool reached, bool further);

/* Sets what a training has of a generation in its row: the generation goes on from a checkpoint (number 0: it begins at
 * the start). */
void renew_row(struct training_row *row, int64_t generation, const struct training_checkpoint_row *from);

/* Gives the next generation the number of ranks that was asked for. */
void renew_take_wanted(struct training_row *row);

/* Makes the training pending again with a new generation, which goes on from `newest` (number 0: it begins at the
 * start). Its members become pending, too, from their start, except those that failed and those that are whole in the
 * checkpoint. Members that still run are stopped, unless nothing is lost. `held`: samples that its ranks had, as they
 * last reported. */
void renew_training(struct engine *engine, struct live_ensemble *ens, enum generation_end end,
                    const struct training_checkpoint_row *newest, int64_t held, const char *reason);

/* An attempt of the member begins: counts the member if it runs again because samples were lost with the ranks to
 * which its last attempt sent. */
int renew_note_again(struct engine *engine, const struct live_ensemble *ens, const struct member_row *member,
                     struct error *err);

/* Has the new generation submitted when it is time: after a failure a while after the former one ended, longer each
 * time unless that had left a checkpoint. Also called after a restart. */
void renew_wait(struct engine *engine, struct live_ensemble *ens);

/* Stops jobs that are stale. There may be thousands, so each turn stops some. Also called after a restart. */
void renew_stop_stale(struct engine *engine, struct live_ensemble *ens);
#endif

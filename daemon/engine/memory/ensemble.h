/* An ensemble in memory. */
#ifndef DAEMON_ENGINE_MEMORY_ENSEMBLE_H
#define DAEMON_ENGINE_MEMORY_ENSEMBLE_H
#include "daemon/engine/memory/alarm.h"
#include "daemon/spec/spec.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

/* The slots that the jobs of an ensemble's members have, and its places among those that want more (schedule.c). */
struct ensemble_slots {
    int64_t cpus;
    struct heap_node hungry, to_train; /* in the heaps of its adapter, and of its training's adapter */
};

/* Orders to cancel jobs that go to the scheduler together (cancel.h). */
struct ensemble_cancels {
    struct live_job *from; /* this job and all after it are still to be cancelled, since the ensemble is over */
    bool more;             /* more jobs are to be cancelled in the next turns */
    int64_t held_since;    /* when the first of the orders was held back; 0: no order is held back */
};

/* Members that all fail in the same way (guard.h). */
struct guard {
    bool over;    /* an attempt has ended in another way: failures are not counted any more */
    int64_t n;    /* members that have failed in this way */
    char as[160]; /* how they failed */
    int64_t members[SPEC_SAME_FAILURES_MAX]; /* the first members that failed */
};

/* The rows that a call from outside is to be given as it leaves them. NULL: no call is under way, or wants this one. */
struct ensemble_asked {
    struct ensemble_row *row;
    struct training_row *training;
};

struct live_ensemble {
    struct ensemble_row row;
    struct ensemble_asked answer;
    struct spec *spec;
    struct known_adapter *adapter; /* the adapter of its members */
    struct training *training;     /* NULL if the spec has none */
    struct allocation *allocation; /* NULL if the spec has none (pilot.h) */
    struct elastic *elastic;       /* NULL if the spec has none (elastic.h) */
    struct live_job *jobs;         /* oldest first */
    struct ensemble_cancels cancels;
    int64_t in_flight; /* open attempts */
    struct ensemble_slots slots;
    bool cancellations; /* members of it were cancelled one by one (cancel_member.h) */
    bool begun;         /* a member of it is known to run, or to have run */
    int64_t refused_ms; /* since when its jobs are refused that may be accepted later (precedent.h); 0: none is */
    int64_t due;        /* when the first pending member may start, never later than in the store */
    struct alarm due_alarm;
    struct alarm take_over; /* for a follow-up: takes over more members of its predecessors */
    struct guard guard;
    bool bulk; /* a bulk operation still has members to change */
    struct alarm bulk_alarm;
    struct {
        bool is; /* it is on the engine's list of ensembles to look at */
        struct live_ensemble *prev, *next;
    } touched;
    bool unsaved; /* it is on the list of ensembles whose progress is to be stored */
    struct live_ensemble *next_unsaved;
    UT_hash_handle hh; /* by row.id */
};

/* Gives the call that asked the rows as they are now. */
void ensemble_answer(struct live_ensemble *ens);
/* Settles at the end of a call about this ensemble, and gives the rows of the ensemble and its training as they are
 * then, even if the ensemble has left the memory meanwhile. Either pointer may be NULL. */
void engine_settle_for(struct engine *engine, struct live_ensemble *ens, struct ensemble_row *row,
                       struct training_row *training);
/* Returns how many members it can ever have, for which its training makes room. */
int64_t ensemble_most(const struct live_ensemble *ens);
/* Returns whether it is open, and more members may come. */
bool ensemble_takes_suggestions(const struct ensemble_row *row);
/* Returns whether all members of the ensemble have ended, and no more can be suggested. */
bool ensemble_all_final(const struct ensemble_row *row, const int64_t tally[MEMBER_STATE_COUNT]);
/* Returns whether it is ending because its training has ended early (early.h). */
bool ensemble_ends_early(const struct live_ensemble *ens);
/* Returns whether some members have no row yet. In a follow-up each member has one, written when it is taken over. */
bool ensemble_has_untried(const struct live_ensemble *ens);
/* Returns whether its training has had a generation before the present one. */
bool ensemble_has_former(const struct live_ensemble *ens);
bool ensemble_wants(const struct live_ensemble *ens, int64_t now); /* could it use a slot now? */
/* Returns whether every member is final, and reads the tally. They cannot be while attempts are open, or members have
 * not been tried: so the tally is rarely read. */
bool ensemble_members_over(struct engine *engine, const struct live_ensemble *ens, int64_t tally[MEMBER_STATE_COUNT]);
/* Returns whether the ensemble's training should be submitted now, if it gets the slots. If the spec lets members start
 * first, the training is due once a member runs. It is due also when all members have ended without it, since nothing
 * else would end the training then. */
bool ensemble_training_is_due(struct engine *engine, const struct live_ensemble *ens);
/* Has ensembles that wait for another one look again, because an ensemble has ended. */
void ensemble_touch_waiting(struct engine *engine);
void ensemble_draw_stream_key(struct engine *engine, struct ensemble_row *row); /* of a new one */

#endif

/* An ensemble in memory. */
#ifndef DAEMON_ENGINE_ENSEMBLE_H
#define DAEMON_ENGINE_ENSEMBLE_H
#include "daemon/engine/alarm.h"
#include "daemon/engine/guard.h"
#include "daemon/store/ensemble.h"

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

struct live_ensemble {
    struct ensemble_row row;
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
    bool dirty;   /* it is on the engine's list of ensembles to look at */
    bool unsaved; /* it is on the list of ensembles whose row is to be written */
    struct live_ensemble *prev_dirty, *next_dirty, *next_unsaved;
    UT_hash_handle hh; /* by row.id */
};

#endif

/* An adapter as the engine knows it: whether it can be used, what it has answered, and which of its places are
 * taken. */
#ifndef DAEMON_ENGINE_MEMORY_ADAPTER_STATE_H
#define DAEMON_ENGINE_MEMORY_ADAPTER_STATE_H
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/job_scheduler.h"

#include <uthash.h>

/* The polls of an adapter and its answers (poll.c). */
struct adapter_polls {
    bool polling, poked;
    struct alarm poll;
    int64_t asked_ms;                   /* when it was last polled */
    int failures;                       /* polls in a row without an answer */
    int64_t answered_at, failing_since; /* 0 if it never answered, and if it does not fail now */
    char failing_for[256];
    int64_t answers;
    int64_t lingers_until; /* it is polled until then even without jobs; 0 if it has had no job */
    int idle;              /* polls in a row without jobs */
};

/* A check whether this machine has what an adapter needs (adapter_state.c). */
struct adapter_presence {
    int64_t looked_at; /* when that was last checked; 0 for never */
    char missing[256]; /* a sentence about the programs and settings that this machine lacks for it; "" if none */
    struct alarm look; /* set while an ensemble waits for these */
};

/* Troubles of an adapter that come often. The log mentions them only now and then, with their number. */
struct adapter_told {
    int64_t doubts, doubts_told_ms; /* unanswered submissions in a row; when the log last told of them */
    /* submissions put off since the log last told of them; 0 for never told */
    int64_t put_off, put_off_told_ms;
    int64_t cancels_refused, cancels_told_ms; /* cancel orders in a row that failed; when that was last logged */
};

/* The slots of an adapter that are in use, and the ensembles that want more (schedule.c). */
struct adapter_slots {
    struct adapter_resources trainings; /* the sum of all trainings under way */
    int64_t cpus, jobs;                 /* slots of jobs in flight; jobs of members in flight */
    int64_t run_ms;                     /* how long recent jobs ran; 0 if none has ended yet */
    struct heap hungry;                 /* ensembles that want slots, those with the least first */
    struct heap to_train;               /* ensembles whose training waits, in order of arrival */
    bool dirty;
};

struct known_adapter {
    const struct adapter_ops *ops;
    struct adapter *adapter;
    struct job_scheduler scheduler; /* of its jobs */
    int64_t max_jobs;               /* jobs of members in flight at once; 0 for no limit */
    int64_t poll_ms;                /* between polls if there is no news */
    struct adapter_polls polls;
    struct adapter_presence presence;
    struct adapter_told told;
    struct adapter_slots slots;
    struct live_job *unasked, *polled; /* jobs to look up by name; jobs to poll */
    size_t n_unasked, n_polled;
    struct duplicate *duplicates; /* possible duplicates that were reported, until the answer comes */
    int withdrawn;                /* jobs taken out of its queue since its last answer */
    int needless;                 /* queued duplicates in the last answer that can never start */
    UT_hash_handle hh;            /* by ops->name */
};

void adapter_state_init(struct known_adapter *adapter);
enum engine_adapter_state adapter_state(struct engine *engine, struct known_adapter *adapter);
void adapter_describe(struct engine *engine, struct known_adapter *adapter, char *out, size_t size);
/* Returns whether jobs may be made for the adapter. If something that it needs is missing, waiting ensembles are looked
 * at again once it is there. */
bool adapter_takes_jobs(struct engine *engine, struct known_adapter *adapter);
void adapter_shift_times(struct known_adapter *adapter, int64_t by_ms); /* of what is known of it: the clock was set */
/* Checks again whether something that the adapter needs is missing, because a submission failed. */
void adapter_check(struct engine *engine, struct known_adapter *adapter);
void adapter_note_answer(struct engine *engine, struct known_adapter *adapter);
void adapter_note_failure(struct engine *engine, struct known_adapter *adapter, const char *why);

#endif

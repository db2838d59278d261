/* Jobs under way, and the steps of their lives: what internal.h is for the engine as a whole. Shared by its files only. */
#ifndef DAEMON_ENGINE_JOB_H
#define DAEMON_ENGINE_JOB_H
#include "daemon/engine/alarm.h"
#include "daemon/store/attempt.h"
#include "daemon/store/job.h"

#include <jansson.h>
#include <stdbool.h>
#include <uthash.h>

struct known_adapter;
struct live_ensemble;
struct pilot;
struct pilot_node;

/* An attempt of a member, or a rank (index: the rank, number: the generation). While it is open, the member's row is as it
 * says. */
struct slot {
    int64_t index, number;
    int64_t failures, losses, stalls, since, since_in;
    bool open;
    bool cancelled; /* alone, by somebody */
    bool untold; /* that it runs is known, and neither stored nor told yet */
};

enum job_business { BUSINESS_NONE, BUSINESS_WRITING, BUSINESS_SUBMITTING, BUSINESS_COLLECTING, BUSINESS_CLAIMING, BUSINESS_LOOKING };
enum job_list { JOB_LIST_NONE, JOB_LIST_UNASKED, JOB_LIST_POLLED };

struct live_job {
    struct job_row row;
    struct live_ensemble *ensemble;
    struct known_adapter *adapter;
    struct pilot *pilot;     /* of a job of that kind */
    struct pilot_node *node; /* on which one runs that is inside such a job; NULL where it is gone */
    json_t *records;         /* its exit records, as the pilot handed them back */
    bool returned;           /* never started by the pilot, and it never will be */
    struct slot *slots;
    size_t n_slots, open;
    enum job_business business; /* what is under way; nothing else is begun meanwhile */
    bool uncommitted;           /* that it is to be submitted is not on disk yet */
    bool written;               /* its files are on disk */
    bool look;                  /* its files may tell something new */
    bool asked;                 /* the scheduler has been asked whether it knows the job (after a restart) */
    bool unsure;                /* its submission was not answered: it is looked up after a while, not at once */
    bool maybe_submitted;       /* the scheduler may have heard of it */
    bool doubtful;              /* … before the submission that is under way */
    bool gone;                  /* the scheduler says it ended, or does not know it */
    bool unknown;               /* … the latter */
    bool brief;                 /* the collection under way leaves claim and ended out */
    bool whole;                 /* a brief one did not find every exit record */
    int64_t gone_ms;            /* when it last said so */
    int64_t missing_ms;         /* since when a record is missing, 0: not */
    unsigned told_waiting;      /* answers that it waits, of those after which nothing was looked for */
    int looks_left;             /* at its claim, one at each answer that it waits, since it was said to be gone */
    bool sealed;                /* claimed by the daemon itself: nothing can start any more */
    bool fenced;                /* what its runner may still write of the open attempts does not count */
    bool claimed;               /* by a runner: nothing can come of one that still waits */
    bool over;                  /* its end is put off until what its nodes or ranks wrote is read, and it is swept: */
    bool sweeping, swept;       /* whatever else bears its name is being cancelled, was */
    int64_t told_in;            /* the last answer of its adapter that was about it */
    int cancels;                /* orders to cancel it that were given, since somebody last asked for that */
    int64_t cancel_again_ms;    /* the next one is due, where the scheduler has it still; INT64_MAX: one is on its way */
    int doubts;                 /* submissions of it in a row that were not answered */
    bool told_queued;           /* the scheduler last said that it waits */
    char *waits_for;            /* … and for what; NULL: it did not say, or does not wait. Not in the row */
    char gone_reason[256];
    bool started; /* its tasks are marked as running */
    char host[64]; /* … where */
    bool unsaved; /* on the engine's list of those whose rows are written later (save.c), at save_ms */
    int64_t save_ms;
    struct live_job *prev_unsaved, *next_unsaved;
    bool refused; /* it is given up because its scheduler will not run it */
    bool waits;   /* … and still has it queued */
    enum attempt_outcome abandon_as; /* once it is sealed, and why; ATTEMPT_OPEN: not decided */
    char abandon_reason[400];
    int forgotten; /* by its scheduler, before it started; not in the row: a queue that is memory goes with a daemon */
    struct alarm retry;
    enum job_list list; /* of its adapter, on which it is */
    struct live_job *prev, *next;         /* there */
    struct live_job *ens_prev, *ens_next; /* in its ensemble */
    UT_hash_handle hh;                    /* by row.id */
};

struct live_job *engine_find_job(struct engine *engine, int64_t id);

/* job.c, collect.c */
/* Does it run inside another one, a pilot? Its own adapter then knows nothing of it. */
static inline bool job_is_inside(const struct live_job *job)
{
    return job->row.pilot != 0;
}
struct live_job *job_new(struct engine *engine, struct live_ensemble *ens, const struct job_row *row);
void job_destroy(struct engine *engine, struct live_job *job);
void job_file(struct engine *engine, struct live_job *job); /* onto the list of its adapter where it belongs */
void job_retry_in(struct engine *engine, struct live_job *job, int64_t ms);
void job_start_committed(struct engine *engine, struct live_job *job); /* once this turn, its intent in it, is on disk */
void job_start(struct engine *engine, struct live_job *job);
/* The job that its business was about, which is over; NULL where it is not there any more. Frees the ticket. */
struct live_job *job_answered(void *ticket, struct engine **engine);
void job_advance(struct engine *engine, struct live_job *job);
void job_mark_running(struct engine *engine, struct live_job *job, int64_t started_ms, const char *host);
void job_end(struct engine *engine, struct live_job *job, const char *reason);
void job_collect(struct engine *engine, struct live_job *job);
char *slot_exit_path(const struct engine *engine, const struct live_job *job, const struct slot *slot); /* to be freed */
/* `checkpoints`: of each open slot, those that were found; NULL: nobody has looked. */
void job_fail_open(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason,
                   json_t *const *checkpoints);

void job_note_submitted(struct engine *engine, struct live_job *job, const char *scheduler_id);

/* save.c: the row of a job, and that its members run, a little later than they are known */
void job_save_later(struct engine *engine, struct live_job *job);
void job_save(struct engine *engine, struct live_job *job);
void job_saved(struct engine *engine, struct live_job *job); /* its row was written, or goes */
void slot_tell_running(struct engine *engine, struct live_job *job, struct slot *slot); /* the event, where it is untold */

/* cancel.c */
/* The job is to end, and its scheduler is told as soon as that is on disk; at once where it was told before. May free the job. */
void job_cancel(struct engine *engine, struct live_job *job);
void job_send_cancel(struct engine *engine, struct live_job *job);
bool job_cancel_is_due(const struct engine *engine, const struct live_job *job); /* the first order, or another one */
void cancel_tell_repeated(struct known_adapter *adapter, int n); /* in the log: after one answer of the scheduler's */

/* waiting.c */
void job_note_waits_for(struct live_job *job, const char *words); /* "": nothing */
const char *job_words(const struct live_job *job); /* what it waits for, or why it is not submitted; "": nothing was told */
/* Returns the first job of members, or the first allocation, whose scheduler says why it waits, or else the first that is submitted; NULL
 * where one of them runs. */
const struct live_job *waiting_job(const struct live_ensemble *ens);

/* abandon.c */
bool job_is_unwanted(const struct live_job *job);
/* Takes the reason from a fence, which the daemon has put in the place of an exit record. Returns true. */
bool job_read_fence(struct live_job *job, const json_t *fence);
/* All open attempts of the job are fenced, and therefore lost. May free the job. */
void job_abandon_fenced(struct engine *engine, struct live_job *job);
void job_back(struct live_job *job); /* the scheduler has it again */
/* No record where there should be one. `ended`: the runner says itself that it is through. May end and free the job. */
void job_missing(struct engine *engine, struct live_job *job, bool claimed_by_runner, bool ended);
/* End the job and its open attempts, once nothing can start it any more. May free it now. */
void job_abandon(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason);
/* Its claim is our own, from before a restart, or a turn that was taken back: what was decided then, and its end. */
void job_read_seal(struct live_job *job, const json_t *claim);
void job_abandon_sealed(struct engine *engine, struct live_job *job);
/* The same of one that its scheduler will never run, in its words; if no job of the ensemble has begun, that ends it, too:
 * they all ask for the same. */
void job_refuse(struct engine *engine, struct live_job *job, const char *why);

/* surplus.c */
/* The scheduler says that it waits: where a runner has claimed it, it is a second one, or the same once more. */
void surplus_note_queued(struct engine *engine, struct live_job *job, const char *scheduler_id);
/* Of a job that was submitted more than once, and is over: is nothing left that bears its name? If not yet, it is seen to, and
 * job_end() called again. */
bool surplus_is_swept(struct engine *engine, struct live_job *job);
#endif

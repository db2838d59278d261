/* Jobs under way, and the steps of their lives: what internal.h is for the engine as a whole. Shared by its files only. */
#ifndef DAEMON_ENGINE_JOB_H
#define DAEMON_ENGINE_JOB_H
#include "daemon/engine/alarm.h"
#include "daemon/engine/belief.h"
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

/* Whether the scheduler may have heard of a job: what was sent may start, whatever is believed. */
enum job_sent {
    SENT_NEVER,
    SENT_NOW,    /* the submission that is under way, or was the last one, is the first */
    SENT_BEFORE, /* an earlier one was forgotten, or not answered, or is from before a restart */
};
/* A job is given up because its scheduler will not run it. */
enum job_refusal {
    REFUSAL_NONE,
    REFUSAL_SUBMISSION, /* the scheduler has refused its submission */
    REFUSAL_QUEUED,     /* the scheduler has it queued, and says that it can never run */
};
/* What is under way for a job. Nothing else is begun meanwhile. */
enum job_pending {
    PENDING_NONE,
    PENDING_COMMIT,      /* the intent to submit it is on its way to the disk */
    PENDING_WRITE,       /* its files are being written */
    PENDING_SUBMIT,
    PENDING_COLLECT,     /* its claim and records are being read */
    PENDING_CLAIM,       /* it is being sealed, or its records fenced */
    PENDING_CHECKPOINTS, /* checkpoints of its members are being looked for */
    PENDING_SWEEP,       /* it is over, and whatever else bears its name is being cancelled */
};
/* What the run directory proves of a job. The first claim counts, and nobody takes it back. */
enum job_proof {
    PROOF_NONE,
    PROOF_CLAIMED, /* a runner has claimed it: nothing can come of one that still waits */
    PROOF_FENCED,  /* likewise, and what its runner may still write of the open attempts does not count */
    PROOF_SEALED,  /* the daemon has claimed it: no runner can start any more */
};

enum job_list { JOB_LIST_NONE, JOB_LIST_UNASKED, JOB_LIST_POLLED };

struct live_job {
    struct job_row row;
    struct live_ensemble *ensemble;
    struct known_adapter *adapter;
    struct slot *slots;
    size_t n_slots, open;
    enum job_pending pending;
    bool written; /* its files are on disk */
    struct alarm retry;

    /* What its scheduler tells. */
    enum job_belief belief;
    enum job_sent sent;
    int64_t gone_ms; /* when it was last said that it ended, or is not known */
    char gone_reason[256];
    char *waits_for;       /* NULL: its scheduler did not say for what, or it does not wait. Not in the row */
    int64_t told_in;       /* the last answer of its adapter that was about it */
    unsigned told_waiting; /* answers that it waits, of those after which nothing was looked for */
    int looks_left;        /* at its claim, one at each answer that it waits, since it was said to be gone */
    int doubts;            /* submissions of it in a row that were not answered */
    int forgotten; /* times, before it started; not in the row: a queue that is memory goes with a daemon */

    /* What its files tell. */
    enum job_proof proof;
    bool started; /* its tasks are marked as running, */
    char host[64]; /* on this host */
    bool look;  /* its files may tell something new */
    bool brief; /* the collection under way leaves claim and ended out */
    bool whole; /* a brief one did not find every exit record */
    int64_t missing_ms; /* since when a record is missing, 0: none is */

    /* Its end. */
    int cancels; /* orders to cancel it that were given, since somebody last asked for that */
    int64_t cancel_again_ms; /* when the next order is due, where the scheduler still has it; INT64_MAX: one is on its way */
    enum job_refusal refusal;
    enum attempt_outcome abandon_as; /* once it is sealed, and why; ATTEMPT_OPEN: not decided */
    char abandon_reason[400];
    bool over; /* the end is put off until what its nodes or ranks wrote is read, and it is swept */
    bool swept;

    struct pilot *pilot;     /* of a job of that kind */
    struct pilot_node *node; /* on which one runs that is inside such a job; NULL where it is gone */
    json_t *records;         /* its exit records, as the pilot handed them back */

    bool unsaved; /* on the engine's list of those whose rows are written later (save.c), at save_ms */
    int64_t save_ms;
    struct live_job *prev_unsaved, *next_unsaved;
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
/* Its scheduler has said what it has, or an earlier submission was refused: it need not be looked up. */
static inline bool job_is_asked(const struct live_job *job)
{
    return job->belief > BELIEF_DOUBT;
}
/* Its scheduler says that it ended, or does not know it any more. */
static inline bool job_is_gone(const struct live_job *job)
{
    return job->belief == BELIEF_ENDED || job->belief == BELIEF_FORGOTTEN;
}
struct live_job *job_new(struct engine *engine, struct live_ensemble *ens, const struct job_row *row,
                         enum job_belief belief);
void job_destroy(struct engine *engine, struct live_job *job);
/* Something has happened that changes what the scheduler is believed to have of the job. The job goes onto the list of
 * its adapter where it belongs. */
void job_believe(struct engine *engine, struct live_job *job, enum job_event event);
void job_file(struct engine *engine, struct live_job *job); /* onto that list, at first */
void job_retry_in(struct engine *engine, struct live_job *job, int64_t ms);
void job_start_committed(struct engine *engine, struct live_job *job); /* once this turn, its intent in it, is on disk */
void job_start(struct engine *engine, struct live_job *job);
/* The job that the pending operation was about, which is over; NULL where it is not there any more. Frees the ticket. */
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
/* No record where there should be one. `ended`: the runner says itself that it is through. May end and free the job. */
void job_missing(struct engine *engine, struct live_job *job, bool ended);
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

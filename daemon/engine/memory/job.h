/* A job in memory. Code that learns something about it, or ends an operation, posts an event or notes the news, and
 * touches the job. engine_settle() then has it take its next step (job_life.h), in the same turn. The job is freed only
 * there. */
#ifndef DAEMON_ENGINE_MEMORY_JOB_H
#define DAEMON_ENGINE_MEMORY_JOB_H
#include "daemon/engine/memory/alarm.h"
#include "tasks/proto/attempt_end.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/job_scheduler.h"
#include "daemon/store/attempt.h"

#include <jansson.h>
#include <stdbool.h>
#include <uthash.h>

/* An attempt may be ended before it ends by itself, however many others share its job. */
enum slot_order {
    SLOT_TO_ITS_END,
    SLOT_STOPPED,   /* by the rule of early stopping (stop_only.h) */
    SLOT_CANCELLED, /* somebody cancelled this member alone */
};

/* An attempt of a member. In the job of a training it is a rank: index is the rank, and number the generation. The
 * counters are those of the member's row, and stay valid while the attempt is open. */
struct slot {
    int64_t index, number;
    int64_t failures, losses, stalls, since, since_in;
    int64_t rung; /* that the attempt is to reach next; 0: there is none, or members are not stopped early */
    enum slot_order order;
    bool open;
    bool untold;               /* it is known to run, but the row and the event of that are not written yet */
    int64_t points_read;       /* bytes of its file of points that are in the store */
    int64_t points_size;       /* how many it has, if its exit record says so */
    bool points_lost;          /* the rest of them cannot be read */
    struct series_row *series; /* to which its points are added, as they are in the store (feed.c) */
    size_t n_series;
};

/* The state of reading the files of points of a job (feed.h). */
struct job_feed {
    enum {
        FEED_NONE, /* the job does not run */
        FEED_IDLE,
        FEED_NEWS, /* all files are read on */
        FEED_REST, /* those files are read whose slots have ended, up to their ends */
    } state;
    struct alarm alarm;
    int64_t pause_ms; /* between two looks */
    size_t at;        /* the first slot that is not read yet in this look */
    /* files are being read; while it is not, a job of which some are to be read is among engine->feeds.jobs */
    bool asked;
    bool found;       /* something was new in this look */
    bool rest_wanted; /* after this look the rest is to be read */
    struct live_job *prev, *next;
};

/* The reason why a job is given up that its scheduler will never run. */
enum job_refusal {
    REFUSAL_NONE,
    REFUSAL_SUBMISSION, /* the scheduler has refused its submission */
    REFUSAL_QUEUED,     /* the scheduler has it queued, and says that it can never run */
};
enum job_list { JOB_LIST_NONE, JOB_LIST_UNASKED, JOB_LIST_POLLED };

/* The scheduler's report of a job, beside its state. */
struct job_told {
    int64_t gone_ms; /* when the scheduler last said that the job ended, or that it does not know it */
    char gone_reason[256];
    char *waits_for;  /* the reason why it waits, which is not in the row; NULL if none is known */
    int64_t answer;   /* the number of its adapter's last answer that was about it */
    unsigned waiting; /* answers that it is queued, without those that made the engine look for its claim */
    int looks_left;   /* looks for its claim, one at each answer that it is queued, left since it came back */
    int back;      /* answers that it runs after which it does, since it was put back into the queue after its start */
    int doubts;    /* its submissions in a row that were put off or not answered */
    int unclear;   /* its submissions that were refused for good or for now */
    int forgotten; /* how often the scheduler forgot it before it started, since this daemon started */
};

/* The findings in the files of a job in the run directory, beside the proof. */
struct job_found {
    bool started;       /* it is known to have started: its row and its members are running */
    char host[64];      /* where it runs */
    char *hosts;        /* of a job on several nodes, each with the processes of one member: "a:2,b:1"; NULL
                         * if its claim was not read yet, "" if that does not say it */
    bool look;          /* its files may have news */
    bool brief;         /* the collection under way does not read the claim and ended.json */
    bool whole;         /* a brief collection lacked an exit record: the next ones read all files */
    size_t strange;     /* records in the last collection that do not count: they are of others, or cannot be read */
    int64_t missing_ms; /* since when an exit record is missing; 0 if none is */
    json_t *records;    /* its exit records, as its pilot handed them back */
};

/* The way in which a job is brought to its end. */
struct job_ending {
    int cancels;             /* orders to cancel it that were given, since somebody last asked for that */
    int64_t cancel_again_ms; /* when the next order is due if the scheduler still has it; INT64_MAX while one is sent */
    enum job_refusal refusal;
    enum attempt_outcome abandon_as; /* the outcome of its attempts once it is given up; ATTEMPT_OPEN if undecided */
    char abandon_reason[400];
    bool over;  /* it has ended, but waits until its nodes' or ranks' files are read and it is swept */
    bool swept; /* no other job of its name is left */
};

/* The place of a job on the engine's list of jobs whose rows are written later (save.c). */
struct job_saving {
    bool unsaved; /* it is on that list */
    int64_t save_ms;
    struct live_job *prev_unsaved, *next_unsaved;
};

/* The place of a job on the engine's list of jobs that are to take a step. */
struct job_touched {
    bool is;
    struct live_job *prev, *next;
};

struct live_job {
    struct job_row row;
    struct live_ensemble *ensemble;
    struct known_adapter *adapter;
    struct slot *slots;
    size_t n_slots, open;
    struct adapter_resources *own; /* of its members, if they differ among the ensemble's; NULL: as in the spec */
    struct job_states state;       /* changed by job_post() alone, and so is row.state */
    bool written;                  /* its files are on disk */
    struct alarm retry;
    struct job_told told;
    struct job_found found;
    struct job_ending ending;
    struct job_saving saving;
    struct pilot *pilot;     /* for a job that is a pilot */
    struct pilot_node *node; /* for a job inside a pilot: the node on which it runs, NULL once that is gone */
    struct job_feed feed;
    struct job_touched touched;
    enum job_list list;                   /* the list of its adapter that it is on */
    struct live_job *prev, *next;         /* in that list */
    struct live_job *ens_prev, *ens_next; /* in its ensemble */
    UT_hash_handle hh;                    /* by row.id */
};

/* Returns whether the job runs inside a pilot. Its own adapter then knows nothing of it. */
static inline bool job_is_inside(const struct live_job *job)
{
    return job->row.pilot != 0;
}
/* Returns whether the job need not be looked up by name: its scheduler has reported on it, or refused every submission
 * so far. */
static inline bool job_is_asked(const struct live_job *job)
{
    return job->state.belief > BELIEF_DOUBT;
}
/* Returns whether the scheduler says that the job ended, or does not know it any more. */
static inline bool job_is_gone(const struct live_job *job)
{
    return job->state.belief == BELIEF_ENDED || job->state.belief == BELIEF_FORGOTTEN;
}
/* Returns whether nobody wants the job to run any more. */
static inline bool job_is_unwanted(const struct live_job *job)
{
    return job->row.cancel || ensemble_is_stopped(&job->ensemble->row);
}
/* Finds the resources that its members ask for, once the job has its first slot. */
void job_find_resources(struct live_job *job);
/* Makes a job, new or `loaded` from the store. Returns NULL if its adapter is not here. */
struct live_job *job_new(struct engine *engine, struct live_ensemble *ens, const struct job_row *row, bool loaded);
/* Frees a job that no other object in memory knows any more (job_destroy() in job_life.h). */
void job_free(struct engine *engine, struct live_job *job);
/* Has the job take its next step when the engine settles. */
void job_touch(struct engine *engine, struct live_job *job);
/* Applies an event to the job: changes its states as the table in job_event.c says, and puts the job onto the list of
 * its adapter where it then belongs. */
void job_post(struct engine *engine, struct live_job *job, enum job_event event);
void job_file(struct engine *engine, struct live_job *job); /* puts a new job onto the list where it belongs */
void job_retry_in(struct engine *engine, struct live_job *job, int64_t ms);
/* Has the job begin once this turn is committed. */
void job_start_committed(struct engine *engine, struct live_job *job);
/* Returns the job that a ticket is for, or NULL if it is not there any more. Frees the ticket. */
struct live_job *job_of_ticket(void *ticket, struct engine **engine);
/* The same for the answer to an operation: posts `event`, which ends it. */
struct live_job *job_answered(void *ticket, enum job_event event, struct engine **engine);
/* Closes an open slot, whose attempt has ended so, and reports that (FACT_ATTEMPT_ENDED). */
void job_close_slot(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *end);
/* Closes all open slots of the job. `checkpoints` has, for each open slot, those that were found; it is NULL if nobody
 * has looked for them. */
void job_fail_open(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason,
                   json_t *const *checkpoints);
/* Notes that the job is over, for the reason. It ends once all is read that it wrote. */
void job_over(struct engine *engine, struct live_job *job, const char *reason);

#endif

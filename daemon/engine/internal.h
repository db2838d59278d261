/* The engine's memory: a cache of what is under way, rebuilt from the store at any time. Shared by its files only. */
#ifndef DAEMON_ENGINE_INTERNAL_H
#define DAEMON_ENGINE_INTERNAL_H
#include "daemon/engine/alarm.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/job.h"
#include "daemon/engine/waits.h"
#include "daemon/store/chore.h"
#include "daemon/store/event.h"
#include "daemon/store/training.h"

#include <uthash.h>

#define POLL_MS 5000           /* between polls of an adapter that does not poke */
#define POLL_BACKOFF_MAX 60000 /* between polls of an adapter that does not answer */
#define LINGER_MS 3600000      /* a scheduler is asked on after its last job, since it may come back with an older state: */
#define LINGER_POLL_MAX 300000 /* … at least so often; */
#define SILENCE_MAX 86400000   /* and, while it does not answer, no longer than that */
#define TRAINING_POLL_MS 1000  /* between looks at the ranks' files where no message says there is news */
#define FILE_RETRY_MS 5000     /* after a failed write to the run directory */
#define COLLECT_FIRST_MS 200   /* before the second look for a missing exit record */
#define SUBMISSIONS_MAX 5      /* of one job, in one life of ours, that its scheduler keeps forgetting before it starts */
#define LOSSES_MAX 10          /* attempts in a row that were lost, or ended by somebody else, before the member is given up */
#define LOSSES_FREE 3          /* of those, lost while they ran: each further one in a row costs a retry */
#define BACKOFF_FIRST_MS 1000  /* before the first retry, then doubled */
#define BACKOFF_MAX_MS 300000
#define REST_FIRST_MS 250 /* between a failed commit and the next try, then doubled */
#define REST_MAX_MS 10000
#define DOUBTS_TOLD 5            /* of submissions in a row that were not answered, one by one; */
#define DOUBTS_EVERY_MS 60000    /* … and then all together */
#define PUT_OFF_EVERY_MS 600000  /* between lines of the log about jobs that a scheduler does not accept for now */
#define WITHDRAWALS_MAX 16 /* of surplus jobs, under way at once: the rest after the next poll */
#define DISPATCH_MAX 256 /* attempts made, or jobs cancelled, between two ticks, so that a loop turn stays short */
#define SLICE_MAX 512 /* members, or jobs, changed by one call or taken over by a follow-up, likewise */
#define TICK_MAX 1024    /* alarms that ring in one tick, likewise */
#define QUEUED_MS 5000 /* after which a job that waits where nobody says why is told of */
#define TRAINING_SILENT_MS 60000 /* without a word of ranks, which write every few seconds: they are stopped, or hang */
#define ROOM_MS 1000   /* between looks for room on the disk, while there is none for new jobs */
#define POLL_JOBS_PER_MS 16 /* asked about because of pokes, so that a poll of many jobs is not made for each of them */

struct allocation;

struct known_adapter {
    const struct adapter_ops *ops;
    struct adapter *adapter;
    int64_t max_jobs; /* of members, in flight at once; 0: no limit */
    int64_t poll_ms;  /* between polls where there is no news */

    bool polling, poked;
    struct alarm poll;
    int64_t asked_ms; /* the last time */
    int failures;     /* polls in a row without an answer */
    int64_t answered_at, failing_since; /* 0: never, or not now */
    char failing_for[256];
    int64_t looked_at; /* for what it needs on this machine; 0: never */
    char missing[256]; /* of that, in a sentence; "": nothing */
    struct alarm look; /* while somebody waits for it */
    int64_t doubts, doubts_told_ms; /* submissions in a row that were not answered; when that was last told */
    int64_t put_off, put_off_told_ms; /* submissions that it did not accept for now, since that was last told, 0: never */
    int64_t cancels_refused, cancels_told_ms; /* orders to cancel in a row that it did not take; when that was last told */
    struct live_job *unasked, *polled; /* to look up by name; to poll */
    size_t n_unasked, n_polled;
    int64_t answers;
    struct surplus *surplus; /* told of, until the answer comes */
    int withdrawn;           /* jobs taken out of its queue since its last answer */
    int needless;            /* of which the last answer told, and of which nothing can come */
    int64_t lingers_until;   /* it is asked on when there is nothing to ask about; 0: it has had no job */
    int idle;                /* such polls in a row */

    /* deal.c: what is in use, and who would have more */
    struct adapter_resources trainings; /* of trainings under way, all together */
    int64_t cpus, jobs;                 /* of jobs in flight; member jobs in flight */
    int64_t run_ms;                     /* how long jobs ran of late; 0: none has ended yet */
    struct heap hungry;                 /* ensembles, those with the least first */
    struct heap to_train;               /* ensembles whose training waits, in the order in which they came */
    bool dirty;
    UT_hash_handle hh; /* by ops->name */
};

/* What its files are asked for. */
enum training_reading {
    READING_NONE,
    READING_ONCE,  /* the ranks' files are being read, */
    READING_TWICE, /* and there is news: they are read once more */
    READING_STEPS, /* the steps that it lacks are being counted (missing.c) */
};

/* How far a generation of its ranks is. */
enum training_stage {
    STAGE_OPEN,     /* its job is to come, or under way */
    STAGE_JOB_OVER, /* its job has ended, and what the ranks wrote is to be read a last time */
    STAGE_ALL_READ, /* all is known: the job ends, and with it the training, or the next generation begins */
};

/* Whether its ranks were told that no more members come. */
enum training_reception { RECEPTION_OPEN, RECEPTION_TELLING, RECEPTION_TOLD };

struct training {
    struct training_row row;
    struct live_ensemble *ensemble;
    struct known_adapter *adapter; /* NULL: it is over, and its adapter is not here */
    struct live_job *job;  /* NULL when none is under way */
    int64_t made_for_it;   /* jobs of members with a higher id are for the current generation; INT64_MAX: none is yet */
    enum training_reading reading;
    enum training_stage stage;
    enum training_reception reception;
    bool ranks_succeeded;  /* every rank's exit record says so */
    enum attempt_outcome failed_as; /* of the rank that failed first; ATTEMPT_OPEN: none, as far as is known */
    char failure[512];     /* why not: of the rank that failed first, */
    int64_t failed_ms;     /* at this time; those that were ended for it come after it */
    struct alarm look;
    struct waits waits;
    double status_time;    /* of its ranks, the sum of the times at which they told of themselves; */
    int64_t heard_ms;      /* when that last changed; 0: they have told nothing yet */
    int64_t not_before_ms; /* that it is submitted again */
    struct alarm reception_retry;
};

/* guard.c */
struct guard {
    bool over;     /* an attempt has ended in another way: it watches no more */
    int64_t n;     /* members that have failed, */
    char as[160];  /* like this, */
    int64_t members[SPEC_SAME_FAILURES_MAX]; /* and the first of them */
};

struct live_ensemble {
    struct ensemble_row row;
    struct spec *spec;
    struct known_adapter *adapter; /* of its members */
    struct training *training; /* NULL where the spec has none */
    struct allocation *allocation; /* NULL likewise: pilot.h */
    struct live_job *jobs;     /* oldest first */
    struct live_job *to_cancel; /* the first of those that are still to be cancelled, with all after it */
    int64_t in_flight;         /* open attempts */
    int64_t cpus;              /* of its member jobs */
    bool cancellations;        /* members of it were cancelled alone: cancel_member.h */
    bool begun;                /* a member of it runs, or has run, as far as is known */
    int64_t due;               /* when the first pending row may go: never later than the store says */
    struct alarm due_alarm;
    struct alarm take_over;    /* of a follow-up: more members of those before it */
    struct guard guard;
    bool chores;               /* something in it is still to be changed, slice by slice */
    struct alarm chore_alarm;
    struct heap_node hungry, to_train; /* in the heaps of its adapter; of its training's */
    bool dirty;              /* on the engine's list, likewise `unsaved` */
    bool unsaved;            /* its row, since members were taken */
    struct live_ensemble *prev_dirty, *next_dirty, *next_unsaved;
    UT_hash_handle hh; /* by row.id */
};

struct engine {
    struct engine_ports ports;
    struct store *store;
    struct turn *turn;
    uint64_t epoch; /* grows with every load: answers to questions of an earlier one are ignored */
    struct known_adapter *adapters;
    struct live_ensemble *ensembles;
    struct live_job *jobs;
    struct live_ensemble *dirty, *unsaved;
    struct live_job *unsaved_jobs; /* the first to be saved first */
    struct heap alarms;
    struct alarm save; /* of the first of them */
    int64_t wake_at;
    int64_t budget; /* attempts that may still be made before the next tick */
    bool again;     /* that was not enough: the adapters are dealt again then */
    int64_t dealt;  /* jobs, ever */
    uint64_t follow_ups; /* made and committed, ever */
    int withdrawals, withdrawals_failed; /* of surplus jobs: under way; in a row */
    int slice;       /* members, or jobs, changed in one turn where there may be many */
    bool waits_for_room; /* new jobs do */
    bool resting; /* memory is to be loaded again */
    int64_t rest_ms, rested_at;
};

/* What an asynchronous question remembers; never a pointer into the engine's memory. */
struct ticket {
    struct engine *engine;
    uint64_t epoch;
    int64_t id;
};

/* engine.c */
struct ticket *ticket_new(struct engine *engine, int64_t id);
/* The engine, or NULL where its memory has been rebuilt since; frees the ticket, *id is what it was made for. */
struct engine *ticket_redeem(void *ticket, int64_t *id);
int64_t engine_now(const struct engine *engine);
void engine_touch(struct engine *engine, struct live_ensemble *ens); /* look at it before this entry returns */
void engine_settle(struct engine *engine);                           /* look at all that were touched */
void engine_save_later(struct engine *engine, struct live_ensemble *ens); /* its row, when all are settled */
void engine_event(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, json_t *detail);
/* Members were changed for which nobody tells one by one: "members.changed" says between which indices they lie (nothing where there are
 * none), and what they are now. */
void engine_event_of_span(struct engine *engine, int64_t ensemble, const struct member_span *span, enum member_state state);
/* The same for the events that there are most of: `rest` is what the detail holds beside the attempt, ready to follow it. */
void engine_event_of_attempt(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, int64_t attempt,
                             const char *rest);
int64_t engine_parse_job_name(struct engine *engine, const char *name); /* its id, -1 where it is none of ours */
struct known_adapter *engine_known_adapter(struct engine *engine, const struct adapter *adapter);
struct live_ensemble *engine_find_ensemble(struct engine *engine, int64_t id);
/* The ensemble that a call from outside is to change: 0, or -1 with "ensemble_not_found" or "ensemble_over". */
int engine_open_ensemble(struct engine *engine, int64_t id, struct live_ensemble **ens, struct error *err);
/* Its row, whether it is live or not: 0, or -1 with "ensemble_not_found". */
int engine_stored_ensemble(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err);
/* The member that a call from outside names: 1 with its row, 0 it has none yet, or -1 with "member_not_found" or
 * "member_in_follow_up". */
int engine_named_member(struct engine *engine, const struct ensemble_row *row, int64_t index, struct member_row *member,
                        struct error *err);
/* Whether its adapter is here, and that of a training that is not over: 0, or -1 with "adapter_not_here". An ensemble of a
 * plugin that is not loaded is left alone until it is. */
int engine_check_adapter(const struct engine *engine, const struct ensemble_row *row, struct error *err);
/* Ends it before its members have: it has failed for the reason, or is cancelled where that is "". */
void engine_stop_ensemble(struct engine *engine, struct live_ensemble *ens, const char *reason);
void engine_drop_ensemble(struct engine *engine, struct live_ensemble *ens);

/* Is there room on the disk for new jobs, and what trainings tell? Where not, all ensembles are touched once there is. */
bool engine_has_room(struct engine *engine);

/* Load memory if the engine rests: nobody may change what is not there. */
int engine_wake_up(struct engine *engine, struct error *err);

/* paths.c */
/* The ensemble in whose part of the run directory the checkpoints of its members lie. */
int64_t engine_checkpoint_home(const struct live_ensemble *ens);
char *engine_job_dir(const struct engine *engine, const struct live_job *job);
char *engine_checkpoint_dir(const struct engine *engine, const struct live_ensemble *ens, int64_t index); /* to be freed */

/* rows.c: copies of parameter files; *rows is NULL where the ensemble has none */
int engine_store_rows(struct engine *engine, int64_t ensemble, const struct rows *rows, struct error *err);
int engine_open_rows(struct engine *engine, int64_t ensemble, struct rows **rows, struct error *err);

/* submit.c */
/* Could it run here? Code and pointer into the spec where not. */
int engine_check_resources(struct engine *engine, const struct spec *spec, struct error *err);
void engine_draw_stream_key(struct engine *engine, struct ensemble_row *row);

/* follow_up.c */
void follow_up_take_over(struct engine *engine, struct alarm *alarm);
/* It is complete: the follow-up that its spec asks for. */
void follow_up_auto(struct engine *engine, struct live_ensemble *ens);
/* May members of the ensemble's family be resubmitted now? 0, or -1 with "member_in_follow_up". */
int follow_up_check_whole(struct engine *engine, const struct ensemble_row *row, struct error *err);

/* chores.c */
/* Do a piece of it, and the rest later: 0 or -1. */
int chore_change_members(struct engine *engine, struct chore *chore, int limit, struct error *err); /* store_chore_piece(), told */
int chore_begin(struct engine *engine, struct live_ensemble *ens, struct chore *chore, struct error *err);
int chore_resume(struct engine *engine, struct live_ensemble *ens, struct error *err); /* go on with those that are left, if any */
void chore_work(struct engine *engine, struct alarm *alarm);

/* resize.c: stop the youngest jobs, `limit` of them at most: 1 there are more to stop, 0. */
int resize_stop(struct engine *engine, struct live_ensemble *ens, int64_t width, int limit);

/* load.c */
void engine_forget(struct engine *engine); /* free all of its memory */
struct live_ensemble *engine_adopt_ensemble(struct engine *engine, const struct ensemble_row *row, struct spec *spec);

/* dispatch.c */
void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens);
bool dispatch_all_final(const int64_t tally[MEMBER_STATE_COUNT]);
/* Make a job of pending members that may go now, at most `pack` and within the width; to run on that node (NULL: a job of its
 * own). How many, -1 on failure (the turn
 * is then rolled back). */
int64_t dispatch_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node, int64_t now);
bool dispatch_wants(const struct live_ensemble *ens, int64_t now); /* could it take a place now? */
bool dispatch_training_is_due(struct engine *engine, const struct live_ensemble *ens); /* to be submitted, as far as it is concerned */

/* deal.c: the places of an adapter, and who gets them */
int64_t deal_node_slots(const struct known_adapter *adapter); /* of each node, where a job has nodes to itself; else 0 */
void deal_account(struct live_job *job, int sign); /* a job of it begins (1) or ends (-1) */
void deal_note_run(int64_t *run_ms, const struct job_row *row);
void deal_enter(struct engine *engine, struct live_ensemble *ens); /* it may want places, or no longer */
void deal_leave(struct engine *engine, struct live_ensemble *ens); /* it is over */
void deal_adapters(struct engine *engine);
bool deal_may_train(struct engine *engine, struct live_ensemble *ens);
/* Is there room for its jobs of members, or its pilots, beside the trainings, and the one that waits for its turn? */
bool deal_fits_beside_trainings(const struct live_ensemble *ens);
/* Could jobs of these two run at once? */
bool deal_fit_together(const struct known_adapter *adapter, const struct adapter_resources *a,
                       const struct adapter_resources *b);
/* Whose training is the next to start there; NULL: none waits. */
struct live_ensemble *deal_next_to_train(const struct known_adapter *adapter);
int64_t deal_cpus_of(const struct live_job *job); /* slots that it takes of its adapter, or waits for there */
void deal_touch_all(struct engine *engine, const struct known_adapter *adapter); /* a training of it has begun or ended */

/* takers.c: "ensemble 3 takes 6 slots, ensemble 5 takes 2": the places of an adapter, but for those of one ensemble. False: nobody takes
 * any. */
enum takers_of { TAKERS_OF_SLOTS, TAKERS_OF_JOBS, TAKERS_OF_TRAININGS };
bool takers_tell(const struct engine *engine, const struct known_adapter *adapter, const struct live_ensemble *except, enum takers_of what,
                 char *out, size_t size);

/* plan.c: what is written to disk before a job is submitted */
struct job_plan {
    char **dirs;
    size_t n_dirs;
    struct rundir_file *files;
    size_t n_files;
    char *descriptor; /* where the adapter hands it over: no file of it is written */
    bool failed; /* a member's parameters cannot be read: to be dropped */
    struct plan_refusal {
        size_t slot;
        char reason[200];
    } *refused; /* tasks that can never be started; where there are any, to be dropped and made again without them */
    size_t n_refused;
};
void plan_drop(struct job_plan *plan);
void plan_job(const struct engine *engine, const struct live_job *job, struct job_plan *plan);
void plan_adapter_job(const struct live_job *job, char *dir, struct adapter_job *out);

/* save.c: what was put off (job_save_later()) and is due by then */
void save_all(struct engine *engine, int64_t due_ms);
void save_due(struct engine *engine, struct alarm *alarm);

/* adapter_state.c */
void adapter_state_init(struct known_adapter *adapter);
enum engine_adapter_state adapter_state(struct engine *engine, struct known_adapter *adapter);
void adapter_describe(struct engine *engine, struct known_adapter *adapter, char *out, size_t size);
/* May jobs be made for it? Where it is not set up, who asked is looked at again once it is. */
bool adapter_takes_jobs(struct engine *engine, struct known_adapter *adapter);
void adapter_check(struct engine *engine, struct known_adapter *adapter); /* a submission came to nothing: is something missing now? */
void adapter_note_answer(struct engine *engine, struct known_adapter *adapter);
void adapter_note_failure(struct engine *engine, struct known_adapter *adapter, const char *why);

/* surplus.c */
/* What was told of before the answer that has just been applied; `answered` false: there was none. */
void surplus_settle(struct engine *engine, struct known_adapter *adapter, bool answered); /* sets `needless` */

/* poll.c */
void poll_init(struct known_adapter *adapter); /* its `poll_ms`, too */
void poll_soon(struct engine *engine, struct known_adapter *adapter); /* as soon as its last poll is long enough ago */
void poll_by(struct engine *engine, struct known_adapter *adapter, int64_t when_ms);
void poll_resume(struct engine *engine, struct known_adapter *adapter); /* after a restart: look all up by name */
/* It has had a job. Schedulers that may come back with one that is over are asked for a while longer. */
void poll_linger(struct engine *engine, struct known_adapter *adapter);

/* outcome.c */
struct member_row slot_member(const struct live_job *job, const struct slot *slot); /* the row of an open one */
struct ckpt_chain slot_chain(const struct live_job *job, const struct slot *slot);
int64_t engine_backoff(int64_t failures); /* ms to wait after so many in a row */
struct outcome {
    enum attempt_outcome outcome;
    int exit_code, signal;
    char reason[512], host[64];
    int64_t started_ms, ended_ms;
    bool measured; /* what follows is known */
    int64_t cpu_ms, memory_peak;
    bool final; /* no retry: it can never run */
    bool late; /* ATTEMPT_TIMEOUT, and it was started when less than its walltime was left */
    bool recorded; /* by its runner, which says what it went on from: */
    const json_t *resumed;     /* NULL: it began afresh */
    const json_t *checkpoints; /* those of the member that are whole, the newest first; NULL: it is not known */
    bool unstarted; /* it costs nothing, and goes back at once */
};
void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out);

/* guard.c */
/* An attempt of a member of it has ended, and that is in the store. May pause the ensemble. */
void guard_note(struct engine *engine, struct live_ensemble *ens, const struct member_row *member, const struct outcome *out);
int guard_init(struct engine *engine, struct live_ensemble *ens, struct error *err); /* of one that comes into memory */

/* pause.c: as engine_pause() does, for a reason that people are told */
void pause_for(struct engine *engine, struct live_ensemble *ens, const char *reason);

/* progress.c */
struct progress {
    bool made;        /* the newest is the attempt's own, and further than what it began with */
    char newest[208]; /* its path, "" where there is none */
};
/* The checkpoints that an attempt left, into the store. */
int progress_take(struct engine *engine, const struct live_job *job, const struct slot *slot, const struct outcome *out,
                  struct progress *progress, struct error *err);

/* training.c */
struct training *training_new(struct live_ensemble *ens);
void training_free(struct engine *engine, struct training *training);
void training_start(struct engine *engine, struct live_ensemble *ens);
void training_look(struct engine *engine, struct live_ensemble *ens);
void training_rank_ended(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out);
/* Its job is over: has all been read that its ranks wrote, if they ran? If not yet, job_end() is called again. So the job is under
 * way until the turn that concludes its training: a daemon that dies before finds it, and how its ranks ended, once more. */
bool training_is_read(struct engine *engine, struct live_ensemble *ens, bool ran);
/* All is read that its ranks wrote, and if the spec says how many steps there are, those that it lacks have been counted. */
void training_all_read(struct engine *engine, struct live_ensemble *ens);
/* … and now the job has ended. */
void training_conclude(struct engine *engine, struct live_ensemble *ens);
/* missing.c */
bool missing_is_known(const struct live_ensemble *ens); /* or need not be, */
void missing_find(struct engine *engine, struct live_ensemble *ens); /* and will be, followed by training_all_read() */
int64_t missing_steps(const struct training_row *row, json_t **detail); /* how many; *detail, a new reference or NULL, tells whose */
void missing_tell(const json_t *detail, char *out, size_t size); /* as a sentence */

void training_members_over(struct engine *engine, struct live_ensemble *ens);

#endif

/* The engine's memory is a cache of what is under way, which can be rebuilt from the store at any time. Only the
 * engine's own files include this header. */
#ifndef DAEMON_ENGINE_INTERNAL_H
#define DAEMON_ENGINE_INTERNAL_H
#include "daemon/engine/alarm.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/job.h"
#include "daemon/engine/training_event.h"
#include "daemon/engine/waits.h"
#include "daemon/store/bulk.h"
#include "daemon/store/event.h"
#include "daemon/store/training.h"

#include <uthash.h>

#define POLL_MS 5000           /* between polls of an adapter that does not poke */
#define POLL_BACKOFF_MAX 60000 /* between polls of an adapter that does not answer */
#define LINGER_MS 3600000      /* polls go on after the last job, since a scheduler may return to an older state */
#define LINGER_POLL_MAX 300000 /* the longest pause between such polls */
#define SILENCE_MAX 86400000   /* how long such polls go on at most while the scheduler does not answer */
#define TRAINING_POLL_MS 1000  /* between looks at the ranks' files where no message says there is news */
#define FILE_RETRY_MS 5000     /* after a failed write to the run directory */
#define COLLECT_FIRST_MS 200   /* before the second look for a missing exit record */
#define SUBMISSIONS_MAX 5      /* of a job that its scheduler keeps forgetting before it starts */
#define LOSSES_MAX 10          /* attempts in a row that were lost or ended from outside before a member is given up */
#define LOSSES_FREE 3          /* attempts in a row lost while they ran; each further one costs a retry */
#define BACKOFF_FIRST_MS 1000  /* before the first retry, then doubled */
#define BACKOFF_MAX_MS 300000
#define REST_FIRST_MS 250      /* between a failed commit and the next try, then doubled */
#define REST_MAX_MS 10000
#define DOUBTS_TOLD 5                /* unanswered submissions in a row that the log tells one by one */
#define DOUBTS_EVERY_MS 60000        /* between lines of the log about the number of all further ones */
#define PUT_OFF_EVERY_MS 600000      /* between lines of the log about jobs that a scheduler does not accept for now */
#define WITHDRAWALS_MAX 16           /* of duplicates, under way at once; the others wait for the next poll */
#define DISPATCH_MAX 256             /* attempts made or jobs cancelled between two ticks, to keep a loop turn short */
#define SLICE_MAX 512                /* members or jobs changed in one turn, to keep it short */
#define TICK_MAX 1024                /* alarms that ring in one tick, to keep it short */
#define QUEUED_MS 5000               /* after which a waiting job is reported although nobody says why it waits */
#define TRAINING_SILENT_MIN 15000    /* ranks report every few seconds: a shorter silence of theirs means nothing */
#define ROOM_MS 1000                 /* between checks for space on the disk, while there is none for new jobs */
#define POLL_JOBS_PER_MS 16          /* limits polls that pokes cause: one of many jobs is not made for each of them */

struct allocation;
struct elastic;

/* How an adapter is polled, and what it has answered (poll.c). */
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
    char missing[256]; /* a sentence about what this machine lacks for it; "" if nothing */
    struct alarm look; /* set while an ensemble waits for what is missing */
};

/* Troubles of an adapter that come often. The log tells of them only now and then, with their number. */
struct adapter_told {
    int64_t doubts, doubts_told_ms;           /* unanswered submissions in a row; when the log last told of them */
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
    int64_t max_jobs; /* jobs of members in flight at once; 0 for no limit */
    int64_t poll_ms;  /* between polls if there is no news */
    struct adapter_polls polls;
    struct adapter_presence presence;
    struct adapter_told told;
    struct adapter_slots slots;
    struct live_job *unasked, *polled; /* jobs to look up by name; jobs to poll */
    size_t n_unasked, n_polled;
    struct duplicate *duplicates; /* possible duplicates that were reported, until the answer comes */
    int withdrawn;           /* jobs taken out of its queue since its last answer */
    int needless;            /* queued duplicates in the last answer that can never start */
    UT_hash_handle hh;       /* by ops->name */
};

/* On which hosts the ranks of a generation can be reached; "" where a rank has not said it yet. */
struct rank_hosts {
    int64_t generation, n;
    struct {
        char name[256];
    } *of;
};

struct training {
    struct training_row row;
    struct live_ensemble *ensemble;
    struct known_adapter *adapter; /* NULL if the training is over and its adapter is not here */
    struct live_job *job;          /* NULL if none is under way */
    /* jobs of members above this id send to the current generation, or to one whose samples it keeps; INT64_MAX if there
     * is none yet */
    int64_t made_for_it;
    struct training_states state;   /* changed by training_event() alone, and so is row.state */
    enum attempt_outcome failed_as; /* the outcome of the rank that failed first; ATTEMPT_OPEN if none has */
    char failure[512];              /* the reason of the rank that failed first */
    int64_t failed_ms;              /* when it failed; ranks that were ended because of it come after it */
    struct alarm look;
    struct rank_hosts hosts;
    struct waits waits;
    double status_time;    /* the sum of the times at which the ranks last reported their status */
    int64_t heard_ms;      /* when that sum last changed; 0 if the ranks have not reported yet */
    struct alarm reception_retry;
    struct alarm reclaim; /* looks whether the generation waits for places that its members hold (reclaim.h) */
};

/* guard.c: counts members of an ensemble that all fail in the same way */
struct guard {
    bool over;    /* an attempt has ended in another way: failures are not counted any more */
    int64_t n;    /* members that have failed in this way */
    char as[160]; /* how they failed */
    int64_t members[SPEC_SAME_FAILURES_MAX]; /* the first members that failed */
};

/* The slots that the jobs of an ensemble's members have, and its places among those that want more (schedule.c). */
struct ensemble_slots {
    int64_t cpus;
    struct heap_node hungry, to_train; /* in the heaps of its adapter, and of its training's adapter */
};

struct live_ensemble {
    struct ensemble_row row;
    struct spec *spec;
    struct known_adapter *adapter;  /* the adapter of its members */
    struct training *training;      /* NULL if the spec has none */
    struct allocation *allocation;  /* NULL if the spec has none (pilot.h) */
    struct elastic *elastic;        /* NULL if the spec has none (elastic.h) */
    struct live_job *jobs;          /* oldest first */
    struct live_job *to_cancel;     /* this job and all after it are still to be cancelled */
    int64_t in_flight;              /* open attempts */
    struct ensemble_slots slots;
    bool cancellations;             /* members of it were cancelled one by one (cancel_member.h) */
    bool begun;                     /* a member of it is known to run, or to have run */
    int64_t due;                    /* when the first pending member may start, never later than in the store */
    struct alarm due_alarm;
    struct alarm take_over;         /* for a follow-up: takes over more members of its predecessors */
    struct guard guard;
    bool bulk;                    /* a bulk operation still has members to change */
    struct alarm bulk_alarm;
    bool dirty;                        /* it is on the engine's list of ensembles to look at */
    bool unsaved;                      /* it is on the list of ensembles whose row is to be written */
    struct live_ensemble *prev_dirty, *next_dirty, *next_unsaved;
    UT_hash_handle hh; /* by row.id */
};

/* Functions of files further up that core.c has to call. engine.c sets them, so that core.c need not know those files. */
struct engine_steps {
    int (*load)(struct engine *engine, struct error *err);
    void (*look_at)(struct engine *engine, struct live_ensemble *ens); /* at an ensemble that was touched */
    void (*give_places)(struct engine *engine); /* of the adapters to the ensembles that want them */
    void (*read_points)(struct engine *engine); /* of the metrics of jobs whose files have news */
};

struct engine {
    struct engine_ports ports;
    const struct engine_steps *steps;
    struct store *store;
    struct turn *turn;
    uint64_t epoch; /* grows with every load: answers to questions from before it are ignored */
    struct known_adapter *adapters;
    struct live_ensemble *ensembles;
    struct live_job *jobs;
    struct live_ensemble *dirty, *unsaved;
    struct live_job *unsaved_jobs; /* in the order in which they are to be saved */
    struct {
        int64_t offset;  /* what engine_now() is ahead of the steady clock (follow_clock() in engine.c) */
        int64_t wake_at; /* by engine_now() */
    } clock;
    struct heap alarms;
    struct alarm save; /* when the first unsaved job is to be saved */
    int64_t budget;      /* attempts that may still be made before the next tick */
    bool again;          /* the budget was too small: jobs are made again in the next tick */
    int64_t scheduled;       /* jobs made since the engine was created */
    uint64_t follow_ups; /* follow-ups made and committed since the engine was created */
    struct {
        int64_t slots;         /* attempts whose points are read (feed.h) */
        struct live_job *jobs; /* whose files of points are to be read now, in this order */
        int orders;            /* to read such files, that are under way */
    } feeds;
    struct {
        int under_way, failed; /* failed: in a row */
    } withdrawals; /* of duplicates */
    int slice;           /* how many members or jobs one turn of a bulk operation changes */
    bool waits_for_room; /* new jobs wait for space on the disk */
    bool resting;        /* memory is to be loaded again */
    int64_t rest_ms, rested_at;
};

/* A ticket is what an asynchronous question remembers. It has no pointer into the engine's memory, which may go. */
struct ticket {
    struct engine *engine;
    uint64_t epoch;
    int64_t id;
};

/* core.c */
struct ticket *ticket_new(struct engine *engine, int64_t id);
/* Frees the ticket; *id is what it was made for. Returns the engine, or NULL if its memory was rebuilt since. */
struct engine *ticket_redeem(void *ticket, int64_t *id);
/* Has engine_settle() look at the ensemble, before this entry into the engine returns. */
void engine_touch(struct engine *engine, struct live_ensemble *ens);
/* Touches all ensembles of the adapter, because it can do what it could not, or a training on it has begun or ended. */
void engine_touch_all(struct engine *engine, const struct known_adapter *adapter);
void engine_settle(struct engine *engine); /* looks at all ensembles that were touched */
/* Has the ensemble's row written when all ensembles are settled. */
void engine_save_later(struct engine *engine, struct live_ensemble *ens);
void engine_event(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, json_t *detail);
/* Reports members that changed without an event for each: "members.changed" has the span of their indices and their new
 * state. Reports nothing if the span is empty. */
void engine_event_of_span(struct engine *engine, int64_t ensemble, const struct member_span *span,
                          enum member_state state);
/* Like engine_event(), but fast, for the most frequent events: `rest` is JSON text, with all that the detail holds
 * after the attempt. */
void engine_event_of_attempt(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, int64_t attempt,
                             const char *rest);
/* Returns the id of the job of this name, or -1 if it is not a job of this daemon. */
int64_t engine_parse_job_name(struct engine *engine, const char *name);
struct known_adapter *engine_known_adapter(struct engine *engine, const struct adapter *adapter);
struct live_ensemble *engine_find_ensemble(struct engine *engine, int64_t id);
/* Finds the ensemble that a call from outside wants to change. Returns 0, or -1 with "ensemble_not_found" or
 * "ensemble_over". */
int engine_open_ensemble(struct engine *engine, int64_t id, struct live_ensemble **ens, struct error *err);
/* Reads the row of an ensemble, whether it is live or not. Returns 0, or -1 with "ensemble_not_found". */
int engine_stored_ensemble(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err);
/* Finds the member that a call from outside names. Returns 1 with its row, 0 if it has no row yet, or -1 with
 * "member_not_found" or "member_in_follow_up". */
int engine_named_member(struct engine *engine, const struct ensemble_row *row, int64_t index, struct member_row *member,
                        struct error *err);
/* Checks that the ensemble's adapter is here, and that of its training unless that is over. Returns 0, or -1 with
 * "adapter_not_here". An ensemble of a plugin that is not loaded is left alone until it is. */
int engine_check_adapter(const struct engine *engine, const struct ensemble_row *row, struct error *err);
/* Checks that an adapter of this name is here, for that ensemble. Returns 0, or -1 with "adapter_not_here". */
int engine_check_here(const struct engine *engine, const char *name, int64_t ensemble, struct error *err);
/* Ends the ensemble before its members have ended: it has failed for the reason, or is cancelled if that is "". */
void engine_stop_ensemble(struct engine *engine, struct live_ensemble *ens, const char *reason);
void engine_drop_ensemble(struct engine *engine, struct live_ensemble *ens);

/* Returns whether the disk has space for new jobs and for what trainings report. If not, all ensembles are touched once
 * it has. */
bool engine_has_room(struct engine *engine);

/* Loads the memory if the engine rests, since nothing can be changed that is not in memory. */
int engine_wake_up(struct engine *engine, struct error *err);

/* paths.c */
/* Returns the ensemble in whose part of the run directory the checkpoints of this ensemble's members are. */
int64_t engine_checkpoint_home(const struct live_ensemble *ens);
char *engine_job_dir(const struct engine *engine, const struct live_job *job);
/* Returns the directory of the ensemble's training, to be freed. */
char *engine_training_dir(const struct engine *engine, int64_t ensemble);
/* Returns the directory of a member's checkpoints, to be freed. */
char *engine_checkpoint_dir(const struct engine *engine, const struct live_ensemble *ens, int64_t index);

/* live_spec.c: makes the spec of an ensemble, or of a follow-up of it, from its JSON, with all that its members'
 * parameters are read from. Returns NULL with err if it cannot. */
struct spec *engine_parse_spec(struct engine *engine, const json_t *json, int64_t ensemble, struct error *err);

/* rows.c stores and opens copies of parameter files. *rows is NULL if the ensemble has none. */
int engine_store_rows(struct engine *engine, int64_t ensemble, const struct rows *rows, struct error *err);
int engine_open_rows(struct engine *engine, int64_t ensemble, struct rows **rows, struct error *err);
/* submit.c */
/* Checks that the spec could run here. Fails with a code and a pointer into the spec. */
int engine_check_resources(struct engine *engine, const struct spec *spec, struct error *err);
void engine_draw_stream_key(struct engine *engine, struct ensemble_row *row);

/* follow_up.c */
void follow_up_take_over(struct engine *engine, struct alarm *alarm);
/* Makes the follow-up that the spec of a complete ensemble asks for. */
void follow_up_auto(struct engine *engine, struct live_ensemble *ens);
/* Checks that members of the ensemble's family may be resubmitted now. Returns 0, or -1 with "member_in_follow_up". */
int follow_up_check_whole(struct engine *engine, const struct ensemble_row *row, struct error *err);

/* bulk.c */
/* Calls store_bulk_piece(), and reports the members that it changed. */
int bulk_change_members(struct engine *engine, struct bulk *bulk, int limit, struct error *err);
/* Does a piece of the bulk operation now, and the rest later. Returns 0 or -1. */
int bulk_begin(struct engine *engine, struct live_ensemble *ens, struct bulk *bulk, struct error *err);
/* Goes on with the bulk operations of the ensemble that are not finished, if any. */
int bulk_resume(struct engine *engine, struct live_ensemble *ens, struct error *err);
void bulk_work(struct engine *engine, struct alarm *alarm);

/* resize.c and training_resize.c: what engine_resize() and engine_resize_training() do, without settling. `by` is a
 * phrase that says who asks. */
int resize_width(struct engine *engine, struct live_ensemble *ens, int64_t width, const char *by, struct error *err);
int training_resize(struct engine *engine, struct live_ensemble *ens, int64_t ranks, const char *by, struct error *err);
/* resize.c: stops the youngest jobs, at most `limit` of them. Returns 1 if there are more to stop, else 0. */
int resize_stop(struct engine *engine, struct live_ensemble *ens, int64_t width, int limit);

/* load.c */
void engine_forget(struct engine *engine); /* frees all of its memory */
struct live_ensemble *engine_adopt_ensemble(struct engine *engine, const struct ensemble_row *row, struct spec *spec);

/* dispatch.c */
void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens);
/* Returns whether all members of the ensemble have ended, and no more can be suggested. */
bool dispatch_all_final(const struct ensemble_row *row, const int64_t tally[MEMBER_STATE_COUNT]);
/* Makes a job of pending members that may start now, at most `pack` of them and within the width. It is to run on that
 * node, or as a job of its own if node is NULL. Returns how many members it has, or -1 on failure (the turn is then
 * rolled back). */
int64_t dispatch_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node, int64_t now);
bool dispatch_wants(const struct live_ensemble *ens, int64_t now); /* could it use a slot now? */
/* Returns whether the ensemble's training should be submitted now, if it gets the slots. */
bool dispatch_training_is_due(struct engine *engine, const struct live_ensemble *ens);

/* schedule.c: gives the places of an adapter to ensembles */
/* Returns the slots of each node if a job has nodes to itself, else 0. */
int64_t schedule_node_slots(const struct known_adapter *adapter);
void schedule_account(struct live_job *job, int sign); /* counts a job that begins (1) or ends (-1) */
void schedule_note_run(int64_t *run_ms, const struct job_row *row);
void schedule_enter(struct engine *engine, struct live_ensemble *ens); /* when it may want slots, or may not any longer */
void schedule_leave(struct engine *engine, struct live_ensemble *ens); /* when it is over */
void schedule_adapters(struct engine *engine);
bool schedule_may_train(struct engine *engine, struct live_ensemble *ens);
/* Returns whether the ensemble's jobs of members, or its pilots, fit beside the trainings that run and the one that is
 * next to start. */
bool schedule_fits_beside_trainings(const struct live_ensemble *ens);
/* Returns whether jobs with these resources could run at the same time. */
bool schedule_fit_together(const struct known_adapter *adapter, const struct adapter_resources *a,
                       const struct adapter_resources *b);
/* Returns the ensemble whose training is the next to start on the adapter, or NULL if none waits. */
struct live_ensemble *schedule_next_to_train(const struct known_adapter *adapter);
int64_t schedule_cpus_of(const struct live_job *job); /* slots that it has, or waits for, on its adapter */
/* Returns whether the jobs on the adapter, without those that are being stopped, and `more` (NULL for nothing) need more
 * than it has. An adapter that says nothing of its places is never full. */
bool schedule_is_full(const struct engine *engine, const struct known_adapter *adapter, const struct adapter_resources *more);
/* Returns whether the jobs on the adapter of an ensemble's members, without those that are being stopped, leave no place for
 * one more job of members. */
bool schedule_takes_no_members(const struct engine *engine, const struct live_ensemble *ens);

/* takers.c: writes who has the slots of an adapter, all but one ensemble, like "ensemble 3 takes 6 slots, ensemble 5
 * takes 2". Returns false if nobody has any. */
enum takers_of { TAKERS_OF_SLOTS, TAKERS_OF_JOBS, TAKERS_OF_TRAININGS };
bool takers_tell(const struct engine *engine, const struct known_adapter *adapter, const struct live_ensemble *except,
                 enum takers_of what, char *out, size_t size);

/* plan.c: the files that are written before a job is submitted */
struct job_plan {
    char **dirs;
    size_t n_dirs;
    struct rundir_file *files;
    size_t n_files;
    char *descriptor; /* if the adapter hands it over: it is then not written as a file */
    bool failed;      /* the parameters of a member cannot be read: the plan is to be dropped */
    struct plan_refusal {
        size_t slot;
        char reason[200];
    } *refused; /* tasks that can never start: the plan is to be dropped, and made again without them */
    size_t n_refused;
};
void plan_drop(struct job_plan *plan);
void plan_job(const struct engine *engine, const struct live_job *job, struct job_plan *plan);
void plan_adapter_job(const struct live_job *job, char *dir, struct adapter_job *out);

/* save.c: writes the rows that job_save_later() put off and that are due */
void save_all(struct engine *engine, int64_t due_ms);
void save_due(struct engine *engine, struct alarm *alarm);

/* adapter_state.c */
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

/* duplicates.c */
/* Handles the possible duplicates that were reported before the answer that has just been applied, and sets `needless`.
 * `answered` is false if there was no answer. */
void duplicate_settle(struct engine *engine, struct known_adapter *adapter, bool answered);

/* poll.c */
void poll_init(struct known_adapter *adapter); /* sets `poll_ms`, too */
/* Polls as soon as the last poll is long enough ago. */
void poll_soon(struct engine *engine, struct known_adapter *adapter);
void poll_by(struct engine *engine, struct known_adapter *adapter, int64_t when_ms);
void poll_resume(struct engine *engine, struct known_adapter *adapter); /* after a restart: looks up all jobs by name */
/* Notes that the adapter has had a job: a scheduler that may come back with an ended one is polled a while longer. */
void poll_linger(struct engine *engine, struct known_adapter *adapter);

/* slot.c */
struct member_row slot_member(const struct live_job *job, const struct slot *slot); /* the row of an open slot */
struct ckpt_chain slot_chain(const struct live_job *job, const struct slot *slot);

/* outcome.c */
int64_t engine_backoff(int64_t failures); /* ms to wait after so many failures in a row */
struct outcome {
    enum attempt_outcome outcome;
    int exit_code, signal;
    char reason[512], host[64];
    int64_t started_ms, ended_ms;
    bool measured; /* cpu_ms and memory_peak are known */
    int64_t cpu_ms, memory_peak;
    bool final;                /* the member is not retried, since it can never run */
    char notice[256];          /* something about it that is no reason of its end; "" for nothing */
    bool late;                 /* ATTEMPT_TIMEOUT: it was started when less than its walltime was left */
    bool recorded;             /* its runner wrote a record, so that `resumed` is known */
    const json_t *resumed;     /* the checkpoint that it started from; NULL if it began afresh */
    const json_t *checkpoints; /* the member's complete checkpoints, newest first; NULL if they are not known */
    bool at_rung;              /* it has reached the rung of its attempt, by the point of this step and value: */
    int64_t rung_step;
    double rung_value;         /* NaN if it is not finite */
    const json_t *artefacts;   /* that it left, as its record has them; NULL for none */
    bool unstarted;            /* it did not start: the member is not charged, and is pending again at once */
};
void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out);

/* guard.c */
/* Notes that an attempt of a member has ended, and that this is in the store. May pause the ensemble. */
void guard_note(struct engine *engine, struct live_ensemble *ens, const struct member_row *member,
                const struct outcome *out);
/* Reads the guard of an ensemble that is being loaded into memory. */
int guard_init(struct engine *engine, struct live_ensemble *ens, struct error *err);

/* pause.c: pauses the ensemble as engine_pause() does, for a reason that users are told */
void pause_for(struct engine *engine, struct live_ensemble *ens, const char *reason);

/* progress.c */
struct progress {
    bool made;        /* the newest checkpoint is the attempt's own, and further than the one that it began with */
    char newest[208]; /* the path of the newest; "" if there is none */
};
/* Stores the checkpoints that an attempt left. */
int progress_take(struct engine *engine, const struct live_job *job, const struct slot *slot, const struct outcome *out,
                  struct progress *progress, struct error *err);

/* artefacts.c: stores the artefacts that an attempt which succeeded left, in the place of earlier ones. */
int artefacts_store(struct engine *engine, const struct live_job *job, const struct slot *slot,
                    const struct outcome *out, struct error *err);

/* training_from.c */
/* Finds the checkpoint of another ensemble's training from which the spec's training starts, if it does, and has the spec
 * name it. -1 with a pointer into the spec where there is none. */
int engine_find_from(struct engine *engine, struct spec *spec, struct error *err);
/* Returns the text to be stored of a spec that was submitted as `json`: that checkpoint is named in it. To be freed. */
char *engine_spec_text(const struct spec *spec, const json_t *json);

/* training.c */
struct training *training_new(struct live_ensemble *ens);
void training_free(struct engine *engine, struct training *training);
void training_start(struct engine *engine, struct live_ensemble *ens);
void training_look(struct engine *engine, struct live_ensemble *ens);
void training_rank_ended(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out);
/* Reads the rest of what the training's ranks wrote, if they ran at all, and then calls job_end() again. Returns whether
 * that is done. So the job stays open until the turn that concludes its training, and a daemon that dies before finds the
 * job, and how its ranks ended, once more. */
bool training_read_rest(struct engine *engine, struct live_ensemble *ens, bool ran);
/* A message to one generation of the ranks, while its file is being written. */
struct message *message_new(struct engine *engine, const struct live_ensemble *ens);
/* Frees the message. Returns its ensemble, or NULL if that generation of the ranks is gone. */
struct live_ensemble *message_redeem(struct message *message, struct engine **engine);
/* Notes that everything is read that the ranks wrote, and that the missing steps are counted if the spec says how many
 * there are. */
void training_all_read(struct engine *engine, struct live_ensemble *ens);
/* Ends the training or begins its next generation, once its job has ended and training_all_read() was called. */
void training_conclude(struct engine *engine, struct live_ensemble *ens);
/* ranks.c: the steps of reading what the ranks wrote */
void training_read_metrics(struct engine *engine, struct live_ensemble *ens); /* the last step */
/* Ends the reading after a failure, and begins it anew later. */
void training_read_later(struct engine *engine, struct live_ensemble *ens);
/* training_resize.c: tells the ranks to save a last checkpoint and end, if another number of them is wanted. */
void training_ask_to_end(struct engine *engine, struct live_ensemble *ens);
/* training_checkpoints.c: stores the checkpoints that `file`, the ranks' list, has (NULL if it is not there), and goes
 * on with training_read_metrics(). */
void training_take_checkpoints(struct engine *engine, struct live_ensemble *ens, const json_t *file);
/* hosts.c */
void hosts_note_rank(struct training *training, int64_t rank, const char *host); /* NULL: it does not say it yet */
void hosts_forget(struct training *training);
/* missing.c */
bool missing_is_known(const struct live_ensemble *ens); /* true also if the missing steps need not be counted */
/* Counts the missing steps, and calls training_all_read() then. */
void missing_find(struct engine *engine, struct live_ensemble *ens);
/* Returns how many steps are missing. *detail is a new reference or NULL, and says whose steps they are. */
int64_t missing_steps(const struct training_row *row, json_t **detail);
void missing_tell(const json_t *detail, char *out, size_t size); /* writes it as a sentence */

void training_members_over(struct engine *engine, struct live_ensemble *ens);

#endif

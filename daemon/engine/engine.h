/* The engine: takes ensembles, dispatches their members up to their width, follows jobs and trainings to their end.
 *
 * It runs on the loop thread and is driven from outside: by calls from the API, by answers of adapters, by control
 * messages and by its wake-up time. All it must remember is in the store; its memory is a cache of what is under way,
 * built by engine_load() at start and again after a failed commit. */
#ifndef DAEMON_ENGINE_ENGINE_H
#define DAEMON_ENGINE_ENGINE_H
#include "daemon/engine/ports.h"
#include "daemon/spec/spec.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/training.h"

struct engine;

struct engine *engine_create(const struct engine_ports *ports, struct store *store, struct turn *turn);
/* Forget all memory, so that answers still under way change nothing: before the loop is run out at the end. */
void engine_stop(struct engine *engine);
void engine_destroy(struct engine *engine);

/* Make an adapter known; specs name it. Borrowed. No more than max_jobs jobs of members are in flight there at once, 0:
 * as many as the ensembles' widths allow. */
void engine_add_adapter(struct engine *engine, const struct adapter_ops *ops, struct adapter *adapter,
                        int64_t max_jobs);

/* Build memory from the store and look up every job that had not ended: at start. */
int engine_load(struct engine *engine, struct error *err);
/* A commit failed: what memory says is not what the store says. Forget it, and load again after a while, longer each
 * time (a full disk would otherwise make a busy loop), or as soon as somebody asks for a change. */
void engine_rest(struct engine *engine);

/* The calls below that change an ensemble or a training give its row as the call leaves it. That row is what the turn
 * commits, so an answer that is made of it need not read the row back. */

/* Accept a spec: code and pointer in err if it is refused (nothing is stored then); codes beginning with "store_"
 * are the daemon's own trouble. Committed at the end of the turn. If the spec names a file of parameters, `rows` is
 * its copy below engine_rows_dir(), else NULL; it is taken over, and closed on failure: removing its files is then left
 * to the caller. */
int engine_submit(struct engine *engine, const json_t *spec, struct rows *rows, struct ensemble_row *row,
                  struct error *err);

/* Returns the directory of the copies of parameter files. */
const char *engine_rows_dir(const struct engine *engine);
/* Make that directory, and remove the copies in it that belong to no ensemble: at start only. */
int engine_sweep_rows(struct engine *engine, struct error *err);

/* Cancel: pending members at once, those under way are ended. Cancelling what is over is no error. Code
 * "ensemble_not_found" if there is none, "adapter_not_here" if its adapter is not loaded now. */
int engine_cancel(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err);

/* Cancel one member: *cancelled says whether it is, or will be once its attempt has ended (which is ended for it if
 * no other member shares its job) or its turn has come. False: it has ended otherwise before. Codes besides
 * "ensemble_not_found", "ensemble_over", "adapter_not_here": "member_not_found"; "member_in_follow_up" if it goes on
 * there. */
int engine_cancel_member(struct engine *engine, int64_t id, int64_t index, bool *cancelled, struct ensemble_row *row,
                         struct error *err);

/* The calls below change an ensemble that is not over: codes "ensemble_not_found", "ensemble_over", "adapter_not_here".
 * A request for what holds already is no error and no event. */

/* Pause: no further attempt, and no training, is started; what is under way goes on to its end. Resume: again. A paused
 * ensemble in which nothing is left to start completes like any other. `by`: who asked, as a phrase that follows "it
 * was paused", such as "by token 3 (cron)"; "": it is not told. */
int engine_pause(struct engine *engine, int64_t id, const char *by, struct ensemble_row *row, struct error *err);
int engine_resume(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err);

/* A member that is suggested to an open ensemble. */
struct engine_suggestion {
    const char *name;         /* by which its generator knows it; NULL for none */
    const json_t *parameters; /* an object */
    int64_t priority;         /* of the members that wait, those with the highest are started first */
    int64_t index;            /* set: which member it is */
    bool made;                /* set: it is new. False: one of that name with the same parameters was there */
};
#define SUGGESTION_PRIORITY_MAX 1000000

/* Add the members, or, if one is refused, none of them. Codes besides those above: "ensemble_not_open" if
 * the spec has all members, "ensemble_closed", "suggestion_conflict" if the name was given to other parameters,
 * and those of specs with a pointer into the array /suggestions. */
int engine_suggest(struct engine *engine, int64_t id, struct engine_suggestion *list, size_t n, struct error *err);
/* No more are suggested: the ensemble ends when its members have. */
int engine_close(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err);

/* The treatment of the attempts in flight beyond a smaller width. */
enum engine_shrink {
    ENGINE_SHRINK_LATER, /* let them run, and start no other until there is room */
    ENGINE_SHRINK_NOW,   /* stop the youngest jobs: their members are pending again, at no cost */
};

/* Change the width; it must be from 1 to SPEC_WIDTH_MAX. A packed job is stopped whole. `by` is a phrase that says who
 * asks, such as "by token 3 (cron)". The policy of an elastic ensemble leaves the width alone from then on. */
int engine_resize(struct engine *engine, int64_t id, int64_t width, enum engine_shrink shrink, const char *by,
                  struct ensemble_row *row, struct error *err);

/* Change the number of ranks of that training; it must be from 1 to SPEC_RANKS_MAX. `by` and the policy are as above.
 * One that has begun needs checkpoints: its ranks save a last one and end, and the next generation has the new number.
 * Fails with "training_not_found", "training_over", "training_no_checkpoints", or as a spec that could not run. */
int engine_resize_training(struct engine *engine, int64_t id, int64_t ranks, const char *by, struct training_row *row,
                           struct error *err);

/* Make members that did not succeed pending again, with all their retries: one, or all that are in the given states
 * (failed, unfinished). A complete ensemble is running again. *n is how many; those that are pending or under way
 * already are none. Of very many some become pending now, the rest a slice at a time. They go on from their newest
 * checkpoint, or, `afresh`, begin at the start. Codes besides: "member_not_found"; "member_succeeded"; "training_over"
 * if the training that they would stream into takes no more; "member_in_follow_up" if they go on there. */
int engine_resubmit_member(struct engine *engine, int64_t id, int64_t index, bool afresh, int64_t *n,
                           struct ensemble_row *row, struct error *err);
int engine_resubmit(struct engine *engine, int64_t id, const enum member_state *states, size_t n_states, bool afresh,
                    int64_t *n, struct ensemble_row *row, struct error *err);

/* The changes with which a training is resubmitted. */
struct engine_resubmission {
    bool afresh;           /* from the start */
    const char *name;      /* of the checkpoint that it goes on from, or its */
    int64_t number;        /* number; NULL and 0 for the newest, if there is one */
    const json_t *changes; /* to the training in the spec: spec_resubmit(); NULL for none */
};

/* Takes on a training that is over, with its next generation; its ensemble runs again. Checkpoints that are newer than
 * the one it goes on from count no longer. Members of which that one lacks samples go again from their start, and so do
 * all that did not succeed, except those that were cancelled one by one. Fails with "training_not_found",
 * "training_not_over"; "ensemble_not_over" while jobs of the ensemble are still being stopped; "adapter_not_here"; or,
 * with pointers into the changes, as a spec that could not run, also for a checkpoint that is not there. */
int engine_resubmit_training(struct engine *engine, int64_t id, const struct engine_resubmission *wish,
                             struct training_row *row, struct error *err);

/* The wishes for a follow-up. */
struct engine_follow_up {
    enum member_state states[MEMBER_STATE_COUNT]; /* of the members that go on: unfinished, failed */
    size_t n_states;
    const json_t *changes; /* to the spec of the ensemble before it: spec_follow_up(); NULL: none */
};

/* The members of a family (an ensemble, its follow-up, …) that are in one of the states go on in a new ensemble, after
 * the newest of the family: `id` is any of it. *made, or it is there already: one that is not over is the answer.
 * Codes: "ensemble_not_found"; "ensemble_not_over" if an ensemble of the family is still to end by itself;
 * "follow_up_needless" if no member is in such a state; "training_over"; those of engine_submit(). */
int engine_follow_up(struct engine *engine, int64_t id, const struct engine_follow_up *wish, struct ensemble_row *row,
                     bool *made, struct error *err);
/* The result for a family has the row of its newest ensemble, or why it is not followed up; the other one is NULL. */
typedef void engine_follow_up_told(void *arg, int64_t root, const struct ensemble_row *follow_up,
                                   const struct error *failed);
/* The same for every family whose newest ensemble is complete and that has unfinished members, from beyond the root
 * *after on, until `limit` are made. Each is told, or why not; those that are made come last. Returns 0 or -1; *after
 * is where to go on, 0 if there are no more. */
int engine_follow_up_all(struct engine *engine, const json_t *changes, int limit, int64_t *after,
                         engine_follow_up_told *each, void *arg, struct error *err);
/* Returns how many follow-ups were made, and are committed, since engine_create(). */
uint64_t engine_follow_ups(const struct engine *engine);

/* The wake-up time has come (ports->wake_in). */
void engine_tick(struct engine *engine);

enum engine_look {
    ENGINE_LOOK_RECORDS, /* its claim and exit records */
    ENGINE_LOOK_STREAM,  /* what the ranks of a training say of themselves */
};

/* A job may have changed: look at its files. `name` comes from outside and may be anything. */
void engine_look(struct engine *engine, const char *name, enum engine_look what);
/* An adapter has news: poll it soon. */
void engine_poke(struct engine *engine, const struct adapter *adapter);
/* An adapter knows that a job has ended (adapter.h). `name` may be anything, and the report late, or a second one. */
void engine_job_ended(struct engine *engine, const struct adapter *adapter, const char *name,
                      const struct adapter_status *status, json_t *records);
/* Reports that an adapter saw a waiting job that its next answer will leave out (adapter.h). With that answer the job
 * is taken out of the queue, if it is ours and cannot be useful. `name` may be anything. */
void engine_duplicate(struct engine *engine, const struct adapter *adapter, const char *name, const char *scheduler_id);

/* The state of an adapter. */
enum engine_adapter_state {
    ENGINE_ADAPTER_NOT_ASKED,  /* it has had nothing to do since the daemon began */
    ENGINE_ADAPTER_NOT_SET_UP, /* what it needs on this machine is missing: no job is submitted to it */
    ENGINE_ADAPTER_ANSWERS,
    ENGINE_ADAPTER_SILENT, /* its last question was not answered */
};
const char *engine_adapter_state_name(enum engine_adapter_state state);

struct engine_adapter {
    enum engine_adapter_state state;
    int slots;                /* 0: not known, or unlimited */
    int64_t answered_ms;      /* its last answer; 0: none yet */
    int64_t failing_since_ms; /* 0: it answers, or has not been asked */
    int64_t next_ms;          /* when it is asked again; 0: nothing to ask */
    const char
        *reason; /* what is missing, or why it does not answer; NULL: neither. Valid until the engine is called again */
    int64_t ensembles;  /* under way that name it, for their members or their training */
    char sentence[400]; /* all of that for people: "slurm is not set up: sbatch is not on the daemon's PATH" */
};
/* false if there is none of that name. */
bool engine_adapter(struct engine *engine, const char *name, struct engine_adapter *out);

/* The allocations of a live ensemble: how many there may be, wait for their turn, run. */
struct engine_allocation {
    int64_t count, asked, running;
};
/* false if there is none of that id under way, or its members are jobs of their own. */
bool engine_allocation(struct engine *engine, int64_t ensemble, struct engine_allocation *out);

/* Returns the hosts that the processes of a member of this job, or of the ensemble's training, are on now and are to
 * stay on. It is a new array of {"host", "slots"}, empty if none runs. */
json_t *engine_member_hosts(struct engine *engine, int64_t job, int64_t index);
json_t *engine_training_hosts(struct engine *engine, int64_t ensemble);

/* Writes why a job waits: its batch system's last words for it, or why it is not submitted. Writes "" if it does not
 * wait, or nothing was said. Kept in memory alone: after a restart it is known again with the first answer. */
void engine_job_waits_for(struct engine *engine, int64_t job, char *out, size_t size);
void engine_training_waits_for(struct engine *engine, int64_t ensemble, char *out, size_t size);

/* Returns which side of a training waits, over the last moments: for which part of the time the ranks waited for
 * samples, and the members for room in the buffer. Returns false if that is not known, since it does not run, or not
 * long enough. */
bool engine_training_waits(struct engine *engine, int64_t ensemble, double *for_samples, double *for_room);
/* The policy of an ensemble that is under way and whose spec has "elastic". */
struct engine_elastic {
    struct spec_elastic limits;
    bool width_by_hand, ranks_by_hand; /* a user has set it, and it is left alone */
    int64_t changed_ms;                /* when the last change was made; 0 if there was none */
    char reason[256];                  /* a sentence about it; "" if there was none */
};
bool engine_elastic(struct engine *engine, int64_t ensemble, struct engine_elastic *out);
/* Returns whether another number of ranks may be asked for: the training is not over, and its ranks save checkpoints or
 * are not submitted. */
bool engine_can_resize_training(struct engine *engine, int64_t ensemble);
/* Returns how many more generations of the training's ranks may fail before it has failed; -1 if it is over. */
int64_t engine_training_retries_left(struct engine *engine, int64_t ensemble);

/* The reason why an ensemble does not go on: notice.c has the causes and their order. */
struct engine_notice {
    const char *code; /* for programs: "adapter_not_set_up", "held", ...: openapi.yaml lists them */
    char text[640];   /* one sentence for people */
};
/* false: it goes on as it should, or it is over. */
bool engine_notice(struct engine *engine, const struct ensemble_row *row, struct engine_notice *out);

/* Counts the ensembles and jobs under way. */
void engine_count(const struct engine *engine, size_t *ensembles, size_t *jobs);

/* The checked spec of an ensemble: the live one, or parsed anew and given over (*owned: spec_destroy() it). NULL if
 * there is none. */
const struct spec *engine_spec(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *err);
/* In a later turn, when a live one may have ended: the same, but what was given over before is used again. */
const struct spec *engine_spec_again(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *err);

/* Paths of the run directory, new strings. */
char *engine_ensemble_dir(const struct engine *engine, int64_t ensemble);
char *engine_attempt_dir(const struct engine *engine, int64_t ensemble, int64_t index, int64_t number);
const char *engine_run_dir(const struct engine *engine); /* the run directory itself, borrowed */
/* Return the path of a checkpoint, and the ensemble in whose part of the run directory another's members have their
 * checkpoints. */
char *engine_checkpoint_path(const struct engine *engine, int64_t home, int64_t index, const char *path);
int64_t engine_checkpoint_home_of(const struct engine *engine, int64_t ensemble);
/* Returns the place of a member's results, whose path spec_results_of() gave; `home` as above. */
char *engine_results_path(const struct engine *engine, int64_t home, const char *path);
char *engine_rank_dir(const struct engine *engine, int64_t ensemble, int64_t generation, int64_t rank);
/* The directory of a training's checkpoints, or of the one of this name. */
char *engine_training_checkpoint_path(const struct engine *engine, int64_t ensemble, const char *name);
char *engine_generation_dir(const struct engine *engine, int64_t ensemble, int64_t generation);

/* Trainings that are under way: submitted or running. Until `each` returns non-zero, which it then does, too. */
int engine_each_training(const struct engine *engine, int (*each)(void *arg, const struct training_row *row),
                         void *arg);
/* The files in which a rank reports on itself, into paths[RANK_FILES]. */
enum { RANK_FILE_ENDPOINT, RANK_FILE_STATUS, RANK_FILE_DONE, RANK_FILES };
void engine_rank_files(const struct engine *engine, const struct training_row *training, int64_t rank, char **paths);
#endif

/* A simulated cluster in virtual time, for the engine. It has a scheduler that queues, delays, loses answers, forgets
 * jobs and loses nodes; a shared file system; and runners and ranks that keep the contracts of docs/run-directory.md.
 * Everything that happens is drawn from one seed. The cluster outlives the daemon, which can be crashed at any
 * moment. */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H
#include "daemon/engine/engine.h"

#include <stdint.h>

/* The probabilities of faults, in 1/1000, and the delays of the cluster. */
struct sim_faults {
    int submit_unsure;   /* a submission, accepted or not with equal chances, is not answered */
    int submit_refused;
    int submit_later;    /* a submission is refused for now */
    int submit_unclear;  /* a submission is refused, for now or for good */
    int poll_unsure;
    int unasked;         /* an answer says nothing of a job */
    int queue_lost;      /* a queued job vanishes */
    /* a runner dies with its tasks and leaves no record: alone, or with its node, or to be queued again */
    int runner_killed;
    int lies;            /* the scheduler says for a while that a job ended, or that there is none */
    int never;           /* the scheduler says of a waiting job that it can never run, which is mostly true */
    bool limited;        /* the reason for that is a limit */
    int task_fails;
    int task_killed; /* of members that fail: by somebody else's signal */
    /* ranks time out, or save and end before that, at each of their looks whether more members come */
    int ranks_time_out;
    int ranks_fail;      /* ranks fail after they have said that they are done */
    int ranks_restart;   /* a rank dies, and all begin again in their job where they may, at each of their looks */
    int64_t ranks_clock_ms; /* the clocks of the ranks' hosts are wrong by so much */
    int ranks_end_early; /* ranks say that they need no more samples, at each of their looks whether more members come */
    int records_lost;    /* a runner does not hand back the records of a job; a third as often, it lacks a single one */
    int cancel_lost;     /* the scheduler accepts an order to cancel, and does nothing */
    int cancel_refused;  /* the scheduler does not accept an order to cancel */
    int write_fails;     /* writes of the run directory fail */
    int read_fails;
    /* a control message, or an adapter's poke or report of an end, is lost; or such a report is late, or repeated */
    int nudge_lost;
    int commit_fails;    /* a commit of the store fails, as on a full disk */
    int commit_crashes;  /* the daemon dies before or after a commit */

    /* The greatest delays, in ms. All 0: the usual ones. */
    int queue_ms, run_ms, forget_ms, disk_ms, answer_ms;
    int slow; /* how many answers of disk and scheduler take much longer, in 1/1000 */
    /* the scheduler does not answer, and may or may not have done what it was told */
    int64_t silent_from, silent_until;
    bool tidy; /* for long runs: they are timed, and state that no one will ask for any more is removed */

    /* A test that needs a certain state leaves nothing of it to chance. */
    const char *only_starts; /* only jobs of this kind start ("": none do); NULL: all */
    /* only this member, "ENSEMBLE.INDEX", ends ("": none does) of those outside allocations whose jobs are not cancelled;
     * NULL: all */
    const char *only_ends;
    bool ranks_obey; /* ranks save a checkpoint where they end, or where sim_get_on() says so */
    int ranks_last;  /* ranks that time out: below 0, they save nothing; above 0, they save a last checkpoint */
};

struct sim;

/* SIM_SALT=N in the environment changes all that is drawn from any seed. */
struct sim *sim_create(uint64_t seed, const struct sim_faults *faults, const char *state_dir);
void sim_destroy(struct sim *sim);
void sim_remove_state(const char *state_dir); /* removes the files in it */

void sim_set_faults(struct sim *sim, const struct sim_faults *faults); /* applies from now on */

uint64_t sim_random(struct sim *sim, uint64_t below);
bool sim_chance(struct sim *sim, int per_mille);
int64_t sim_now(const struct sim *sim);
int64_t sim_wall(const struct sim *sim); /* the time of day on the daemon's host */
void sim_set_clock(struct sim *sim, int64_t by_ms);
int64_t sim_loaded_ms(const struct sim *sim); /* when the daemon last began, or last had to read everything anew */
int64_t sim_up_ms(const struct sim *sim); /* how long a daemon was up, in all */
/* Returns since when (in time that a daemon was up) an ensemble has wanted a place without pause. With `wants` false it
 * does not want one any more. */
int64_t sim_wanted_since(struct sim *sim, int64_t ensemble, bool wants);

/* The CPU slots and max_jobs of each adapter; 0: no limit. */
#define SIM_ADAPTERS 2
extern const char *const sim_adapters[SIM_ADAPTERS];
void sim_limit(struct sim *sim, int adapter, int slots, int max_jobs);
int sim_slots(const struct sim *sim, int adapter);
int sim_max_jobs(const struct sim *sim, int adapter);

/* sim_boot starts the daemon's part (store, turn, engine) on the state that is on disk. sim_crash crashes it: nothing
 * that was not committed is kept. */
void sim_boot(struct sim *sim);
void sim_crash(struct sim *sim);
void sim_outlive(struct sim *sim); /* no commit kills the daemon any more */
struct engine *sim_engine(struct sim *sim);
/* A place for the rows that calls give, for tests that look at the store instead. */
extern struct ensemble_row sim_left;
extern struct training_row sim_left_training;
/* Checks that a call that has succeeded has left the ensemble in the store as `sim_left` says. */
void sim_check_left(struct sim *sim, int64_t ensemble);
/* Submits a spec without a file of parameters. */
int sim_submit(struct sim *sim, const json_t *spec, int64_t *id, struct error *err);
struct store *sim_store(struct sim *sim);

/* Ends the turn of the loop with a commit. Returns -1 if the commit failed, or the daemon died in it. */
int sim_turn(struct sim *sim);

/* Lets the next event happen, and ends the turn. Returns false if nothing will ever happen any more. */
bool sim_step(struct sim *sim);

/* Lets all events of the next millisecond happen before it ends the turn, as in a busy daemon. */
bool sim_step_ms(struct sim *sim);

/* Gives the schedulers an older state: jobs that are over wait again, and do not start. */
void sim_roll_back(struct sim *sim);

/* Verifies that no job is left behind in a queue. */
void sim_check_queues(struct sim *sim);

int sim_cancels(const struct sim *sim); /* orders to cancel a job, obeyed or not */
int sim_polls_in_silence(const struct sim *sim); /* how often a silent scheduler was asked in vain */

/* Asks for a follow-up of an ensemble, or of all, as a user might at any time. Returns 0 and sets *made (0 if there
 * is none), or -1. The turn must be ended afterwards. */
int sim_follow_up(struct sim *sim, int64_t ensemble, int64_t *made, struct error *err);
int sim_follow_up_all(struct sim *sim, struct error *err);

/* Returns the number of jobs that the scheduler has queued or running. */
int sim_live_jobs(const struct sim *sim);
/* Returns the first violation of a promise, or NULL. */
const char *sim_violation(const struct sim *sim);

/* The rest is for the parts of the simulation itself. */
typedef void sim_event_fn(struct sim *sim, void *arg);
void sim_at(struct sim *sim, int64_t when_ms, sim_event_fn *fn, void *arg);
void sim_violate(struct sim *sim, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const struct sim_faults *sim_faults_of(const struct sim *sim);
bool sim_ending(const struct sim *sim); /* tasks that would go on for ever end */
json_t *sim_files(struct sim *sim); /* a map from a path to its JSON document */

/* Are called around everything that runs in the daemon's part, and measure the time that it takes in all, in long
 * runs. */
void sim_enter(struct sim *sim);
void sim_leave(struct sim *sim);
int64_t sim_engine_ns(const struct sim *sim);

/* Functions of cluster.c and scheduler.c. */
struct cluster;
struct cluster *sim_cluster(struct sim *sim, int adapter);
struct cluster *cluster_create(struct sim *sim, int adapter);
void cluster_destroy(struct cluster *cluster);
struct adapter *cluster_adapter(struct cluster *cluster);
extern const struct adapter_ops cluster_ops[SIM_ADAPTERS];
int cluster_live_jobs(const struct cluster *cluster);
void cluster_check_queue(struct cluster *cluster); /* verifies that it has no job left that can have no effect */
/* Verifies in which order jobs were cancelled in this turn. */
void cluster_check_orders(struct cluster *cluster);
void cluster_roll_back(struct cluster *cluster);
int cluster_cancels(const struct cluster *cluster);
int cluster_polls_in_silence(const struct cluster *cluster);
void cluster_drop_all(struct cluster *cluster); /* the daemon is gone: its questions are answered to nobody */

/* Returns the outcome of each attempt that the clusters ran: a map from "ENSEMBLE.INDEX.ATTEMPT" to its outcome, or
 * "running". */
json_t *sim_ledger(struct sim *sim);
/* Returns whether the attempt, "ENSEMBLE.INDEX.ATTEMPT", left a checkpoint that is further than the one it began 
 * with. */
bool sim_got_further(struct sim *sim, const char *attempt);
/* Returns whether the scheduler ever said that the job had ended, or refused it. */
bool sim_told_ended(struct sim *sim, const char *job);
bool cluster_told_ended(const struct cluster *cluster, const char *job);

/* Functions of watch.c. */
int64_t sim_number(struct sim *sim, const char *sql); /* the answer of a query; a violation where it has none */
int sim_writes(struct sim *sim); /* rows written by the daemon's present connection */
#define SIM_HOLDS(sim, what, sql)                                                                                      \
    do {                                                                                                               \
        int64_t n_ = sim_number(sim, sql);                                                                             \
        if (n_ != 0)                                                                                                   \
            sim_violate(sim, "%s: %lld cases", what, (long long)n_);                                                   \
    } while (0)
bool sim_is_over(struct sim *sim); /* nothing is left to do */
void watch_store(struct sim *sim); /* lets the database itself watch for rows that must never be written */
void watch_always(struct sim *sim); /* verifies all that must hold after every turn */
void sim_commits_fail(struct sim *sim, bool may); /* as its faults say, or not, so that a watcher writes tables of its own */
void watch_end(struct sim *sim);    /* verifies all that must hold when everything is over */
void watch_calm(struct sim *sim);   /* verifies all that must hold where nothing ever failed */

/* Functions of places.c. */
void watch_places_store(struct sim *sim);
void watch_places(struct sim *sim); /* verifies that no place is left empty that could be used */
bool watch_wants(struct sim *sim, int64_t ensemble); /* it has waiting members that may run beside the trainings */

/* Functions of watch_pilots.c. */
void watch_pilots_store(struct sim *sim);
void watch_pilots(struct sim *sim);
void watch_pilots_end(struct sim *sim);

/* Functions of ranks.c: what is true of trainings. */
/* Returns whether all is in the checkpoint that the member sent up to the end of that attempt. */
bool sim_is_whole(struct sim *sim, int64_t ensemble, int64_t member, int64_t attempt, const char *checkpoint);
/* Returns whether all that came to the generation, or was learnt in the checkpoint that it began with. */
bool sim_has_samples(struct sim *sim, int64_t ensemble, int generation, int64_t member, int64_t attempt);
/* Returns the directory of an ensemble's training, to be freed. */
char *sim_training_dir(struct sim *sim, int64_t ensemble);
/* Notes that the training in that directory was resubmitted from a checkpoint, or from the start if it is "". `known`
 * is false if the daemon died, or the commit failed, before it was answered. */
void sim_resubmitted(struct sim *sim, const char *training, const char *from, bool known);
/* Returns how often the ranks of the generation have begun again in their job. */
int64_t sim_restarts(struct sim *sim, int64_t ensemble, int generation);
bool sim_was_killed(struct sim *sim, int64_t ensemble, int generation); /* its ranks ended since one was killed */
/* Returns whether the generation left a checkpoint that is further than the one that it began with. */
bool sim_left_further(struct sim *sim, int64_t ensemble, int generation);

/* Functions of runners.c. */
/* The ranks of a running job learn all that was sent, and one batch more, and save a checkpoint. */
void sim_get_on(struct sim *sim, const char *job);
void sim_kill(struct sim *sim, const char *job); /* kills the runner of a running job and its tasks */

/* Functions of watch_trainings.c. */
void watch_trainings_store(struct sim *sim);
void watch_trainings_end(struct sim *sim);

/* Functions of watch_elastic.c. */
void watch_elastic_store(struct sim *sim);
void watch_elastic_end(struct sim *sim);
/* Returns whether the policy of an elastic ensemble, and not a user, decides on its width. */
bool watch_elastic_owns_width(struct sim *sim, int64_t ensemble);

/* Functions of watch_hosts.c: are called when the daemon gives an order to cancel a job, and when it writes a file. */
void watch_hosts_cancelled(struct sim *sim, const char *job);
void watch_hosts_written(struct sim *sim, const char *path, const char *text);

/* Functions of family.c. */
void watch_families_store(struct sim *sim);
void watch_families(struct sim *sim);
void watch_families_end(struct sim *sim);

/* Functions of rungs.c. */
void watch_rungs(struct sim *sim); /* decides anew who is promoted, and compares */

/* Functions of points.c. */
json_t *points_command(void); /* the command of members that report a metric as they run */
/* Returns what is in such a file of points now, to be freed; NULL if there is nothing. */
char *points_text(struct sim *sim, const char *path);
void watch_points(struct sim *sim); /* decides anew who is stopped, and compares */

/* Functions of watch_late.c. */
void watch_late(struct sim *sim); /* verifies that the end of every job is known in time */

/* Functions of refusals.c. */
void calls_begin(struct sim *sim); /* called before a call which, where it is refused, must have changed nothing */
void calls_refused(struct sim *sim, const struct error *err);
void refuse_spec(struct sim *sim, const json_t *good, uint64_t salt);
void refuse_verb(struct sim *sim, int64_t ensemble, uint64_t salt);

/* Functions of disk.c. */
extern const struct rundir_ops sim_disk_ops; /* their `rundir` is the sim */
void disk_drop_all(void);
#endif

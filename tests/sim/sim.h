/* A simulated cluster in virtual time, for the engine: a scheduler that queues, delays, loses answers, forgets jobs and
 * loses nodes; a shared file system; runners and ranks that keep the contracts of docs/run-directory.md. Everything that
 * happens is drawn from one seed. The cluster outlives the daemon, which can be crashed at any moment. */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H
#include "daemon/engine/engine.h"

#include <stdint.h>

/* Probabilities, in 1/1000. */
struct sim_faults {
    int submit_unsure;   /* no answer to a submission, which was accepted or not, evenly */
    int submit_refused;
    int submit_later;    /* refused for now */
    int poll_unsure;
    int queue_lost;      /* a queued job vanishes */
    int runner_killed;   /* a runner dies with its tasks, leaving no record: alone, or with its node, or to be queued again */
    int lies;            /* the scheduler says of a job for a while that it ended, or that there is none */
    int never;           /* a job of which the scheduler says, while it waits, that it can never run: which is mostly so */
    int task_fails;
    int ranks_time_out;  /* at each look of theirs whether more members come */
    int ranks_fail;      /* after they have said that they are done */
    int records_lost;    /* that a runner hands back: all of a job, or a third as often one */
    int cancel_lost;     /* the scheduler takes an order to cancel, and does nothing */
    int cancel_refused;  /* … does not take it */
    int write_fails;     /* of the run directory */
    int read_fails;
    int nudge_lost;      /* a control message, or an adapter's poke */
    int commit_fails;    /* of the store: a full disk */
    int commit_crashes;  /* the daemon dies at a commit, before or after it */

    /* The rest of the weather, in ms: at most. All 0: as usual. */
    int queue_ms, run_ms, forget_ms, disk_ms, answer_ms;
    int slow; /* how many answers of disk and scheduler take much longer, per mille */
    int64_t silent_from, silent_until; /* the scheduler does not answer, and has what it was told then, or not */
    bool tidy; /* what no one will ask for any more is removed: for long runs */
};

struct sim;

struct sim *sim_create(uint64_t seed, const struct sim_faults *faults, const char *state_dir);
void sim_destroy(struct sim *sim);
void sim_remove_state(const char *state_dir); /* the files in it */

void sim_set_faults(struct sim *sim, const struct sim_faults *faults); /* from now on */

uint64_t sim_random(struct sim *sim, uint64_t below);
bool sim_chance(struct sim *sim, int per_mille);
int64_t sim_now(const struct sim *sim);
int64_t sim_loaded_ms(const struct sim *sim); /* when the daemon last began, or had to begin to read all anew */
int64_t sim_up_ms(const struct sim *sim); /* how long a daemon was up, in all */
/* Since when (likewise) an ensemble has wanted for something without pause; not any more. */
int64_t sim_wanted_since(struct sim *sim, int64_t ensemble, bool wants);

/* CPU slots and max_jobs of each adapter; 0 without limit. */
#define SIM_ADAPTERS 2
extern const char *const sim_adapters[SIM_ADAPTERS];
void sim_limit(struct sim *sim, int adapter, int slots, int max_jobs);
int sim_slots(const struct sim *sim, int adapter);
int sim_max_jobs(const struct sim *sim, int adapter);

/* Start the daemon's part (store, turn, engine) on what is on disk; crash it: nothing that was not committed is kept. */
void sim_boot(struct sim *sim);
void sim_crash(struct sim *sim);
void sim_outlive(struct sim *sim); /* from now on no commit kills it */
struct engine *sim_engine(struct sim *sim);
struct store *sim_store(struct sim *sim);

/* End the loop turn: commit. 0, or -1 where the commit failed or nobody was left to tell of it. */
int sim_turn(struct sim *sim);

/* Let the next thing happen, and end the turn. false: nothing will ever happen any more. */
bool sim_step(struct sim *sim);

/* The same with all that happens in the same millisecond, as a busy daemon would find it. */
bool sim_step_ms(struct sim *sim);

/* The schedulers come back with an older state: jobs that are over wait again, and do not start. */
void sim_roll_back(struct sim *sim);

/* No job is left behind in a queue. */
void sim_check_queues(struct sim *sim);

int sim_cancels(const struct sim *sim); /* orders to cancel a job, taken or not */
int sim_polls_in_silence(const struct sim *sim); /* how often it was asked in vain, from silent_from on */

/* A follow-up of an ensemble, such as a user might ask for at any time, or of all: 0 and *made, 0 where there is none, or -1. To
 * be followed by the end of the turn. */
int sim_follow_up(struct sim *sim, int64_t ensemble, int64_t *made, struct error *err);
int sim_follow_up_all(struct sim *sim, struct error *err);

/* Jobs that the scheduler still has queued or running. */
int sim_live_jobs(const struct sim *sim);
/* What went against the promises so far, NULL if nothing did. */
const char *sim_violation(const struct sim *sim);

/* For the parts of the simulation itself. */
typedef void sim_event_fn(struct sim *sim, void *arg);
void sim_at(struct sim *sim, int64_t when_ms, sim_event_fn *fn, void *arg);
void sim_violate(struct sim *sim, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const struct sim_faults *sim_faults_of(const struct sim *sim);
bool sim_ending(const struct sim *sim); /* what would go on for ever stops */
json_t *sim_files(struct sim *sim); /* path → JSON document */

/* Around all that runs in the daemon's part: the time that it takes in all. */
void sim_enter(struct sim *sim);
void sim_leave(struct sim *sim);
int64_t sim_engine_ns(const struct sim *sim);

/* cluster.c, scheduler.c */
struct cluster;
struct cluster *sim_cluster(struct sim *sim, int adapter);
struct cluster *cluster_create(struct sim *sim, int adapter);
void cluster_destroy(struct cluster *cluster);
struct adapter *cluster_adapter(struct cluster *cluster);
extern const struct adapter_ops cluster_ops[SIM_ADAPTERS];
int cluster_live_jobs(const struct cluster *cluster);
void cluster_check_queue(struct cluster *cluster); /* no job is left in it of which nothing can come */
void cluster_roll_back(struct cluster *cluster);
int cluster_cancels(const struct cluster *cluster);
int cluster_polls_in_silence(const struct cluster *cluster);
void cluster_drop_all(struct cluster *cluster); /* the daemon is gone: its questions are answered, to nobody */

/* What the cluster saw of each attempt that it ran: "ENSEMBLE.INDEX.ATTEMPT" → its outcome, or "running". Shared by the
 * clusters. */
json_t *sim_ledger(struct sim *sim);
/* Did the attempt, "ENSEMBLE.INDEX.ATTEMPT", leave a checkpoint that is further than what it began with? */
bool sim_got_further(struct sim *sim, const char *attempt);
/* Did the scheduler ever say that the job had ended, or refuse it? */
bool sim_told_ended(struct sim *sim, const char *job);
bool cluster_told_ended(const struct cluster *cluster, const char *job);

/* watch.c */
int64_t sim_number(struct sim *sim, const char *sql); /* what a query answers; a violation where it answers nothing */
int sim_writes(struct sim *sim); /* rows written in this life of the daemon's connection: the same, and nothing was */
#define SIM_HOLDS(sim, what, sql)                                                                                      \
    do {                                                                                                               \
        int64_t n_ = sim_number(sim, sql);                                                                             \
        if (n_ != 0)                                                                                                   \
            sim_violate(sim, "%s: %lld cases", what, (long long)n_);                                                   \
    } while (0)
bool sim_is_over(struct sim *sim); /* nothing is left to do */
void watch_store(struct sim *sim); /* the database itself watches what may never be written */
void watch_always(struct sim *sim); /* what must hold after every turn */
void watch_end(struct sim *sim);    /* … and when all is over */
void watch_calm(struct sim *sim);   /* … where nothing ever failed */

/* places.c */
void watch_places_store(struct sim *sim);
void watch_places(struct sim *sim); /* no place is left empty that could be used */
bool watch_wants(struct sim *sim, int64_t ensemble); /* has it members that wait, and that may run beside the trainings? */

/* watch_pilots.c */
void watch_pilots_store(struct sim *sim);
void watch_pilots(struct sim *sim);
void watch_pilots_end(struct sim *sim);

/* watch_trainings.c */
void watch_trainings_store(struct sim *sim);
void watch_trainings_end(struct sim *sim);

/* family.c */
void watch_families_store(struct sim *sim);
void watch_families(struct sim *sim);
void watch_families_end(struct sim *sim);

/* watch_late.c */
void watch_late(struct sim *sim); /* what has ended is known in time */

/* refusals.c */
void calls_begin(struct sim *sim); /* one comes now; where it is refused, it has changed nothing */
void calls_refused(struct sim *sim, const struct error *err);
void refuse_spec(struct sim *sim, const json_t *good, uint64_t salt);
void refuse_verb(struct sim *sim, int64_t ensemble, uint64_t salt);

/* disk.c */
extern const struct rundir_ops sim_disk_ops; /* their `rundir` is the sim */
void disk_drop_all(void);
#endif

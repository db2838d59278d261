/* The engine against a simulated cluster, in virtual time. Each seed is a schedule of its own: submissions that are
 * lost, polls that fail, nodes and commits that fail, a daemon that crashes anywhere, users that pause, resume,
 * resize, resubmit and cancel at any time; at the end the books must balance.
 *
 * SIM_SEEDS=N runs other than 2,000 schedules (250 under a sanitizer), from SIM_FIRST on, in SIM_PROCS processes;
 * SIM_CROSSED=1 all of them with trainings that run elsewhere, SIM_PILOTS=1 all of them with members in
 * allocations, SIM_ELASTIC=1 all of them with trainings that are elastic, SIM_OPEN=1 all of them with members that
 * are suggested, SIM_STOPPING=1 those without trainings with early stopping, SIM_STAGES=1 all of them with ensembles
 * that begin after others; SIM_SEED=S one again, SIM_LOG=1 with the daemon's log. */
#include <config.h>

#include "common/files.h"
#include "common/log.h"
#include "daemon/engine/memory/alarm.h"
#include "tests/sim/generator.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim.h"
#include "tests/sim/specs.h"
#include "tests/sim/users.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#define STEPS_MAX 300000
#define WILD_STEPS 60000 /* in which the daemon is killed; what is not over by then is so while it lives */
#define VERBS_MAX 25 /* calls in one schedule */
/* Memory that is used wrongly shows in any of them, a promise that is broken in few: ./check runs the first of them
 * under a sanitizer, which takes twice as long, and the others without one as it tries the tarball. */
#ifdef STRETTO_SANITIZE
#define SEEDS 250
#else
#define SEEDS 2000
#endif

static char dir[64];

/* The commit of a resumption may have failed: it is tried again. */
static bool has_paused(struct sim *sim)
{
    return sim_number(sim, "SELECT count(*) FROM ensemble WHERE state = 'paused'") > 0;
}

static struct sim_faults random_faults(uint64_t seed)
{
    int wild = (int)(seed % 4);

    return (struct sim_faults){
        .submit_unsure = 40 * wild,
        .submit_refused = wild == 3 ? 5 : 0,
        .submit_later = 30 * wild,
        .submit_unclear = wild == 1 ? 20 : 0,
        .never = wild == 2 ? 10 : 0,
        .poll_unsure = 100 * wild,
        .queue_lost = 20 * wild,
        .runner_killed = 40 * wild,
        .task_fails = 50 * wild,
        .task_killed = 300,
        .ranks_time_out = wild > 0,
        .ranks_fail = 30 * wild,
        .ranks_restart = wild,
        .ranks_end_early = wild > 1,
        .ranks_clock_ms = ((int64_t)(seed / 4 % 3) - 1) * 3600000,
        .records_lost = 300,
        .cancel_lost = 20 * wild,
        .write_fails = 20 * wild,
        .read_fails = 20 * wild,
        .nudge_lost = 250 * wild,
        .commit_fails = wild > 1 ? 10 : 0,
        .commit_crashes = 2 * wild,
        .lies = 20 * wild,
        .unasked = 10 * wild,
        .queue_ms = 60000,
        .run_ms = 30000,
        .forget_ms = 300000,
        .disk_ms = 50,
        .answer_ms = 500,
        .slow = 25,
    };
}

#define AFTERWARDS_MS 1800000 /* schedulers may come back with an older state so long after all is over */
#define CLOCK_MIN_MS 60000    /* by how much the clock is set, forward or back */
#define CLOCK_MAX_MS 3600000
#define LEFT_MS 7200000       /* a job of which nothing can come is taken out by then */

static void roll_back(struct sim *sim, void *arg)
{
    sim_roll_back(sim);
    *(bool *)arg = true;
}

/* All is over: schedulers come back with an older state all the same, and the daemon notices. */
static void run_afterwards(struct sim *sim, int crash)
{
    int64_t when = sim_now(sim) + (int64_t)sim_random(sim, AFTERWARDS_MS), until = when + LEFT_MS;
    bool rolled_back = false;

    sim_at(sim, when, roll_back, &rolled_back);
    while (sim_violation(sim) == NULL && !(rolled_back && sim_is_over(sim))) {
        if (sim_chance(sim, crash))
            sim_crash(sim);
        if (sim_engine(sim) == NULL && sim_chance(sim, 100))
            sim_boot(sim);
        if ((!sim_step(sim) && sim_engine(sim) != NULL) || sim_now(sim) > until)
            sim_violate(sim, "a job that came back when all was over is left in the queue");
    }
}

/* Not by less than a minute, together with a step that the daemon has not noticed yet (SIM_SEED=6023579): a small step
 * forward is followed without further ado, and makes waits shorter (engine.c). */
static void set_clock(struct sim *sim)
{
    int64_t ms = CLOCK_MIN_MS + (int64_t)sim_random(sim, CLOCK_MAX_MS - CLOCK_MIN_MS);
    int64_t by = sim_chance(sim, 500) ? ms : -ms;
    int64_t unnoticed = sim_engine(sim) != NULL ? sim_wall(sim) - engine_now(sim_engine(sim)) : 0;

    if (unnoticed + by > -CLOCK_MIN_MS && unnoticed + by < CLOCK_MIN_MS)
        by = -by;
    sim_set_clock(sim, by);
}

static void run_schedule(struct sim *sim, uint64_t seed, struct users *users, struct generator *generator)
{
    size_t submitted = 0, submissions = (spec_is_crossed(seed) ? 3 : 1) + sim_random(sim, 4);
    size_t verbs = sim_random(sim, VERBS_MAX);
    int crash = spec_is_calm(seed) ? 0 : 4;

    for (int i = 0; i < SIM_ADAPTERS; i++) {
        bool limited = sim_chance(sim, spec_is_crossed(seed) ? 900 : 500);
        int slots = limited ? 2 + (int)sim_random(sim, spec_is_crossed(seed) ? 5 : 7) : 0;

        if (spec_has_pilots(seed) && slots > 0)
            slots += (int)sim_random(sim, 16);
        sim_limit(sim, i, slots, sim_chance(sim, 200) ? 1 + (int)sim_random(sim, 6) : 0);
    }
    sim_boot(sim);
    for (int step = 0; sim_violation(sim) == NULL; step++) {
        if (step == WILD_STEPS) {
            /* an ensemble that can never run is given up after some tries in one life of the daemon's */
            sim_outlive(sim);
            crash = 0;
        }
        /* Somebody sets the clock of the daemon's host. What watches allocations and elastic changes has a clock of its
         * own. */
        if (seed % 8 == 3 && !spec_has_pilots(seed) && !spec_is_elastic(seed) && step < WILD_STEPS &&
            sim_chance(sim, 3))
            set_clock(sim);
        if (step > STEPS_MAX)
            sim_violate(sim, "no end after %d steps", step);
        if (sim_engine(sim) != NULL && submitted < submissions && sim_chance(sim, 50))
            submitted += users_submit(users);
        if (spec_is_open(seed) && sim_chance(sim, 60))
            generator_act(generator);
        if (sim_engine(sim) != NULL && users_have_ensembles(users) && verbs > 0 && sim_chance(sim, 15)) {
            users_call(users);
            verbs--;
        }
        if (sim_engine(sim) != NULL && verbs == 0 && step % 128 == 0)
            users_resume_all(users);
        if (spec_is_staged(seed) && sim_engine(sim) != NULL && submitted == submissions && verbs == 0 &&
            step % 256 == 0)
            users_give_up_stages(users);
        if (sim_chance(sim, crash))
            sim_crash(sim);
        if (crash > 0 && sim_chance(sim, 1))
            sim_roll_back(sim);
        if (sim_engine(sim) == NULL) {
            if (sim_chance(sim, 100) || !sim_step(sim))
                sim_boot(sim);
        } else if (submitted == submissions && verbs == 0 && step % 16 == 0 && sim_is_over(sim)) {
            if (crash > 0 && sim_chance(sim, 300))
                run_afterwards(sim, crash);
            break;
        } else if (!sim_step(sim) && submitted == submissions && verbs == 0 && !sim_is_over(sim) &&
                   !(spec_is_open(seed) && generator_act(generator))) {
            users_resume_all(users); /* it may have been waiting for that alone */
            if (sim_engine(sim) != NULL && !sim_step(sim) && !sim_is_over(sim) && !has_paused(sim))
                sim_violate(sim, "nothing will happen any more, and it is not over");
        }
        if (sim_engine(sim) != NULL && step % 16 == 0)
            watch_places(sim);
        if (sim_engine(sim) != NULL && step % 64 == 0) {
            watch_always(sim);
            sim_check_queues(sim);
            users_check(users);
        }
    }
    if (sim_violation(sim) == NULL) {
        watch_always(sim);
        watch_end(sim);
        if (spec_is_calm(seed))
            watch_calm(sim);
        users_check(users);
        users_check_end(users);
        generator_check(generator);
    }
}

/* The database of every schedule begins as a copy of one: what migrations do is not what is tried here. */
static void copy_template(void)
{
    static char *text;
    static size_t size;
    char path[100];
    struct store *store;
    struct error err;

    snprintf(path, sizeof path, "%s/stretto.db", dir);
    if (text == NULL) {
        if (store_open(&store, dir, &err) < 0)
            abort();
        store_close(store);
        if (file_read(path, 1 << 22, &text, &size, &err) < 0)
            abort();
    } else if (file_write_whole(path, text, size, 0600, &err) < 0) {
        abort();
    }
}

/* 0, or -1 with the violation told. */
static int one_seed(uint64_t seed)
{
    struct sim_faults faults = random_faults(seed);
    struct generator *generator;
    struct users *users;
    struct sim *sim;
    char command[400];
    bool violated;

    sim_memory(seed % 5 == 0);
    snprintf(dir, sizeof dir, "%s/stretto-sim-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL)
        abort();
    copy_template();
    sim = sim_create(seed, &faults, dir);
    users = users_create(sim, seed);
    generator = generator_create(sim);
    run_schedule(sim, seed, users, generator);
    generator_destroy(generator);
    users_destroy(users);
    violated = sim_violation(sim) != NULL;
    if (violated)
        fprintf(stderr, "SIM_SEED=%llu: %s\n", (unsigned long long)seed, sim_violation(sim));
    if (violated && getenv("SIM_LOG")) {
        snprintf(command, sizeof command,
                 "sqlite3 -header -readonly '%s/stretto.db' 'SELECT * FROM job WHERE ended IS NULL; "
                 "SELECT * FROM training; SELECT id, state, adapter, width, spec FROM ensemble; "
                 "SELECT * FROM tally WHERE n > 0; SELECT * FROM member; SELECT * FROM attempt; "
                 "SELECT * FROM member_checkpoint' >&2",
                 dir);
        if (system(command) != 0)
            fputs("(no sqlite3 shell)\n", stderr);
    }
    sim_destroy(sim);
    sim_remove_state(dir);
    if (rmdir(dir) < 0)
        perror(dir);
    return violated ? -1 : 0;
}

/* Every `step`-th seed; the first that goes wrong ends it. */
static int some_seeds(uint64_t from, uint64_t to, uint64_t step)
{
    int rc = 0;

    for (uint64_t seed = from; seed <= to && rc == 0; seed += step)
        rc = one_seed(seed);
    return rc;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void no_schedule_breaks_a_promise(void **state)
{
    uint64_t first = setting("SIM_FIRST", 1), n = setting("SIM_SEEDS", SEEDS), procs = setting("SIM_PROCS", 2);
    uint64_t failed = 0;
    int status;

    if (getenv("SIM_SEED") != NULL) {
        assert_int_equal(one_seed(setting("SIM_SEED", 0)), 0);
        return;
    }
    fflush(NULL);
    for (uint64_t i = 0; i < procs; i++)
        if (fork() == 0)
            _exit(some_seeds(first + i, first + n - 1, procs) == 0 ? 0 : 1);
    while (wait(&status) > 0)
        failed += status != 0;
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_schedule_breaks_a_promise)};

    /* SQLite's small memory in one piece for each database: under a sanitizer each piece of its own is dear */
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1200, 1000);
    /* commits fail here by design: the log would say so a thousand times */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

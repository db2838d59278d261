/* The engine against a simulated cluster, in virtual time. Each seed is a schedule of its own: submissions that are
 * lost, polls that fail, nodes and commits that fail, a daemon that crashes anywhere, users that pause, resume,
 * resize, resubmit and cancel at any time; at the end the books must balance.
 *
 * SIM_SEEDS=N runs other than 2,000 schedules (250 under a sanitizer), from SIM_FIRST on, in SIM_PROCS processes;
 * SIM_CROSSED=1 all of them with trainings that run elsewhere, SIM_PILOTS=1 all of them with members in
 * allocations, SIM_ELASTIC=1 all of them with trainings that are elastic, SIM_OPEN=1 all of them with members that
 * are suggested, SIM_STOPPING=1 those without trainings with early stopping, SIM_STAGES=1 all of them with ensembles that begin
 * after others; SIM_SEED=S one again, SIM_LOG=1 with the daemon's log. */
#include <config.h>

#include "common/files.h"
#include "common/log.h"
#include "daemon/engine/alarm.h"
#include "daemon/store/training_checkpoint.h"
#include "tests/sim/generator.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim.h"
#include "tests/sim/specs.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#define STEPS_MAX 300000
#define WILD_STEPS 60000 /* in which the daemon is killed; what is not over by then is so while it lives */
#define VERBS_MAX 25 /* calls in one schedule */
#define ACCEPTED_MAX 64
/* Memory that is used wrongly shows in any of them, a promise that is broken in few: ./check runs the first of them under a
 * sanitizer, which takes twice as long, and the others without one as it tries the tarball. */
#ifdef STRETTO_SANITIZE
#define SEEDS 250
#else
#define SEEDS 2000
#endif

static char dir[64];

/* An ensemble whose submission was committed, and what the calls since then have made of it. */
struct accepted {
    int64_t id;
    bool known;    /* the last call was answered after its commit, so that what follows holds until the next one */
    int64_t width;
    enum ensemble_state state;
    int64_t again, again_after; /* the last member that was to go again, and after which attempt; if any */
};

/* End the turn of a call about it, which went well or not. */
static void note(struct sim *sim, struct accepted *acc, bool went_well)
{
    struct ensemble_row row;
    struct error err;

    acc->known = false;
    if (sim_turn(sim) < 0 || !went_well || store_ensemble_get(sim_store(sim), acc->id, &row, &err) != 1)
        return;
    acc->known = true;
    acc->width = row.width;
    acc->state = row.state;
}

/* Submit one; it counts as accepted only if the turn was committed: how many were. */
static size_t submit(struct sim *sim, uint64_t seed, struct accepted accepted[], size_t *n)
{
    json_t *spec = spec_random(sim, seed);
    struct accepted *acc = &accepted[*n];
    size_t before = *n;
    struct error err;

    if (spec_is_staged(seed) && before > 0 && sim_chance(sim, 600))
        json_object_set_new(spec, "after", json_pack("{s:I}", "ensemble", (json_int_t)accepted[sim_random(sim, before)].id));
    refuse_spec(sim, spec, seed + (uint64_t)sim_now(sim));
    calls_begin(sim);
    if (engine_submit(sim_engine(sim), spec, NULL, &acc->id, &err) == 0) {
        note(sim, acc, true);
        *n += acc->known;
    } else if (strcmp(err.pointer, "/after/ensemble") == 0) { /* it has failed, or was cancelled */
        sim_turn(sim);
        json_decref(spec);
        return 1;
    } else if (strncmp(err.code, "store_", 6) != 0 && strcmp(err.code, "resources_impossible") != 0) {
        sim_violate(sim, "a good spec was refused: %s at %s", err.text, err.pointer);
    } else {
        calls_refused(sim, &err);
    }
    json_decref(spec);
    return *n - before;
}

/* By itself: it ends, is ending, or is paused for a reason. */
static bool may_become(enum ensemble_state was, const struct ensemble_row *row)
{
    return was == row->state || ensemble_is_ending(row) || (was < ENSEMBLE_COMPLETE && ensemble_is_over(row)) ||
           (was == ENSEMBLE_RUNNING && row->state == ENSEMBLE_PAUSED && row->reason[0] != '\0');
}

static void check_accepted(struct sim *sim, const struct accepted accepted[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct accepted *acc = &accepted[i];
        struct ensemble_row row;
        struct error err;

        if (store_ensemble_get(sim_store(sim), acc->id, &row, &err) != 1)
            sim_violate(sim, "ensemble %lld was accepted, and is lost", (long long)acc->id);
        else if (acc->known && row.width != acc->width && !watch_elastic_owns_width(sim, acc->id))
            sim_violate(sim, "the width %lld of ensemble %lld was accepted, and is %lld", (long long)acc->width,
                        (long long)acc->id, (long long)row.width);
        else if (acc->known && !may_become(acc->state, &row))
            sim_violate(sim, "ensemble %lld was %s by the last call about it, and is %s", (long long)acc->id,
                        ensemble_state_name(acc->state), ensemble_state_name(row.state));
    }
}

static bool commits_fail(const struct sim *sim)
{
    return sim_faults_of(sim)->commit_fails > 0;
}

static bool is_refusal(const struct error *err)
{
    return strcmp(err->code, "ensemble_over") == 0 || strcmp(err->code, "training_over") == 0 || strcmp(err->code, "training_not_over") == 0 ||
           strcmp(err->code, "training_no_checkpoints") == 0 ||
           strcmp(err->code, "member_succeeded") == 0 || strcmp(err->code, "member_not_found") == 0 ||
           strcmp(err->code, "ensemble_not_over") == 0 || strcmp(err->code, "follow_up_needless") == 0 ||
           strcmp(err->code, "member_in_follow_up") == 0 || strcmp(err->code, "checkpoint_damaged") == 0 || strcmp(err->code, "resources_impossible") == 0;
}

static int keep_index(void *arg, const struct member_row *row)
{
    *(int64_t *)arg = row->index;
    return 1;
}

/* One that did not succeed, if there is one, or any. */
static int64_t some_member(struct sim *sim, const struct accepted *acc)
{
    int64_t index = (int64_t)sim_random(sim, 40);
    struct error err;

    if (sim_chance(sim, 700))
        store_member_each(sim_store(sim), acc->id, sim_chance(sim, 500) ? MEMBER_FAILED : MEMBER_UNFINISHED, 0, 1, keep_index, &index, &err);
    return index;
}

static int keep_left(void *arg, const struct member_row *row)
{
    if (row->successor == 0)
        *(struct member_row *)arg = *row;
    return 0;
}

/* The last of those that could go again; where there is none, its index is -1. */
static struct member_row last_left(struct sim *sim, const struct accepted *acc)
{
    struct member_row last = {.index = -1};
    struct error err;

    store_member_each(sim_store(sim), acc->id, MEMBER_FAILED, 0, 100, keep_left, &last, &err);
    if (last.index < 0)
        store_member_each(sim_store(sim), acc->id, MEMBER_UNFINISHED, 0, 100, keep_left, &last, &err);
    return last;
}

/* Those of which it was answered that they go again have done so, unless their training ended early. */
static void check_resubmitted(struct sim *sim, const struct accepted accepted[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct accepted *acc = &accepted[i];
        struct ensemble_row row;
        struct member_row member;
        struct error err;

        if (acc->again_after > 0 && store_ensemble_get(sim_store(sim), acc->id, &row, &err) == 1 && row.state == ENSEMBLE_COMPLETE &&
            row.reason[0] == '\0' &&
            store_member_get(sim_store(sim), acc->id, acc->again, &member, &err) == 1 && member.attempts <= acc->again_after)
            sim_violate(sim, "member %lld.%lld was to go again after attempt %lld, and has not", (long long)acc->id,
                        (long long)acc->again, (long long)acc->again_after);
    }
}

/* The checkpoint that a user asks for: the first from `number` on, damaged or not, or the newest that is not damaged. */
struct picked {
    int64_t number; /* 0: the newest */
    struct training_checkpoint_row row;
};

static int pick(void *arg, const struct training_checkpoint_row *row)
{
    struct picked *picked = arg;

    if (picked->number == 0 && row->damaged)
        return 0;
    picked->row = *row;
    return picked->number != 0 && row->number >= picked->number;
}

/* A training that was resubmitted: its directory, and the checkpoint that it goes on from ("" for none). */
struct resubmitted {
    char *dir, from[64];
};

/* Has the training of an ensemble go on from any of its checkpoints, or from the start. */
static int resubmit_training(struct sim *sim, const struct accepted *acc, struct resubmitted *out, struct error *err)
{
    struct picked picked = {.number = sim_chance(sim, 500) ? 0 : 1 + (int64_t)sim_random(sim, 6)};
    struct engine_resubmission wish = {.afresh = sim_chance(sim, 200)};
    struct training_row row;
    int rc = store_training_of(sim_store(sim), acc->id, &row, err);

    if (rc <= 0)
        return rc < 0 ? -1 : error_set(err, "training_over", "there is none");
    store_training_checkpoint_each(sim_store(sim), row.id, 0, 0, INT32_MAX, pick, &picked, err);
    if (!wish.afresh && picked.number != 0)
        wish.number = picked.row.number;
    out->dir = sim_training_dir(sim, acc->id);
    memcpy(out->from, picked.row.name, sizeof out->from);
    if (wish.afresh)
        out->from[0] = '\0';
    rc = engine_resubmit_training(sim_engine(sim), row.id, &wish, err);
    if (wish.number > 0 && picked.row.damaged && rc == 0)
        sim_violate(sim, "training %lld goes on from checkpoint %s, which is damaged", (long long)row.id, picked.row.name);
    return rc;
}

static int resize_training(struct sim *sim, const struct accepted *acc, struct error *err)
{
    struct training_row row;
    int rc = store_training_of(sim_store(sim), acc->id, &row, err);

    if (rc <= 0)
        return rc < 0 ? -1 : error_set(err, "training_over", "there is none");
    return engine_resize_training(sim_engine(sim), row.id, 1 + (int64_t)sim_random(sim, 3), "over the Unix socket", err);
}

static int cancel_member(struct sim *sim, struct accepted *acc, struct error *err)
{
    int64_t index = sim_chance(sim, 700) ? (int64_t)sim_random(sim, 40) : some_member(sim, acc);
    bool cancelled;
    int rc = engine_cancel_member(sim_engine(sim), acc->id, index, &cancelled, err);

    if (rc == 0 && cancelled && index == acc->again)
        acc->again_after = 0;
    return rc;
}

/* Any call about an ensemble, as a user might make it at any time. */
static void any_verb(struct sim *sim, struct accepted *acc)
{
    static const enum member_state states[] = {MEMBER_FAILED, MEMBER_UNFINISHED};
    struct engine *engine = sim_engine(sim);
    int64_t n = 0, width = 1 + (int64_t)sim_random(sim, 12);
    int verb = (int)sim_random(sim, 19), rc = 0;
    struct member_row left = last_left(sim, acc);
    struct resubmitted resubmitted = {.dir = NULL};
    struct ensemble_row row;
    struct error err;
    bool paused = store_ensemble_get(sim_store(sim), acc->id, &row, &err) == 1 && row.state == ENSEMBLE_PAUSED;

    refuse_verb(sim, acc->id, (uint64_t)sim_now(sim));
    calls_begin(sim);
    switch (verb) {
    case 0: rc = engine_cancel(engine, acc->id, &err); break;
    case 1:
    case 2: rc = engine_pause(engine, acc->id, "over the Unix socket", &err); break;
    case 3:
    case 4: rc = engine_resume(engine, acc->id, &err); break;
    case 5:
    case 6: rc = engine_resize(engine, acc->id, width, ENGINE_SHRINK_LATER, "over the Unix socket", &err); break;
    case 7:
    case 8: rc = engine_resize(engine, acc->id, width, ENGINE_SHRINK_NOW, "over the Unix socket", &err); break;
    case 9: rc = engine_resubmit_member(engine, acc->id, some_member(sim, acc), sim_chance(sim, 300), &n, &err); break;
    case 12:
    case 13:
    case 14: rc = cancel_member(sim, acc, &err); break;
    case 15:
    case 16: rc = resubmit_training(sim, acc, &resubmitted, &err); break;
    case 17:
    case 18: rc = resize_training(sim, acc, &err); break;
    default: rc = engine_resubmit(engine, acc->id, states, 2, sim_chance(sim, 300), &n, &err); break;
    }
    if (rc < 0 && !is_refusal(&err) && (strncmp(err.code, "store_", 6) != 0 || !commits_fail(sim)))
        sim_violate(sim, "a call was refused: %s: %s", err.code, err.text);
    if (rc < 0)
        calls_refused(sim, &err);
    note(sim, acc, rc == 0 || is_refusal(&err));
    if (rc == 0 && resubmitted.dir != NULL)
        sim_resubmitted(sim, resubmitted.dir, resubmitted.from, acc->known);
    free(resubmitted.dir);
    if (rc < 0 || !acc->known)
        return;
    if (paused && acc->state == ENSEMBLE_RUNNING && verb != 3 && verb != 4)
        sim_violate(sim, "ensemble %lld was paused, and a call that resumes nothing has let it run", (long long)acc->id);
    if (verb >= 5 && verb <= 8 && acc->width != width)
        sim_violate(sim, "a resize to %lld was answered, and the width is %lld", (long long)width, (long long)acc->width);
    if ((verb == 1 || verb == 2) && acc->state == ENSEMBLE_RUNNING)
        sim_violate(sim, "a pause was answered, and the ensemble runs");
    if ((verb == 3 || verb == 4) && acc->state == ENSEMBLE_PAUSED)
        sim_violate(sim, "a resumption was answered, and the ensemble is paused");
    if (verb > 9 && verb < 12 && n > 0 && left.index >= 0)
        acc->again = left.index, acc->again_after = left.attempts;
    if (verb >= 9 && verb < 12 && n > 0 && acc->state == ENSEMBLE_COMPLETE)
        sim_violate(sim, "members were resubmitted, and the ensemble is complete");
}

/* The width that the user wants lies outside of the limits between which the ensemble's policy changes it. */
static bool is_not_elastic(const struct error *err)
{
    return strcmp(err->code, "spec_impossible_value") == 0 && strcmp(err->pointer, "/width") == 0;
}

/* A follow-up of one, or of all; one that is made is accepted like any other ensemble. */
static void follow_up(struct sim *sim, struct accepted accepted[], size_t *n)
{
    struct accepted *acc = &accepted[*n];
    bool all = sim_chance(sim, 200);
    struct error err;
    int rc;

    acc->id = 0;
    calls_begin(sim);
    rc = all ? sim_follow_up_all(sim, &err) : sim_follow_up(sim, accepted[sim_random(sim, *n)].id, &acc->id, &err);
    if (rc < 0 && !is_refusal(&err) && !is_not_elastic(&err) && (strncmp(err.code, "store_", 6) != 0 || !commits_fail(sim)))
        sim_violate(sim, "a follow-up was refused: %s: %s", err.code, err.text);
    if (rc < 0)
        calls_refused(sim, &err);
    if (acc->id == 0) {
        sim_turn(sim);
        return;
    }
    note(sim, acc, true);
    *n += acc->known;
    if (acc->known && sim_chance(sim, 150)) /* before it has all of its members */
        note(sim, acc, engine_cancel(sim_engine(sim), acc->id, &err) == 0);
}

static bool is_accepted(const struct accepted accepted[], size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (accepted[i].id == id)
            return true;
    return false;
}

/* Nobody leaves an ensemble paused for ever: nor one that follows up by itself, and was paused for its failures. */
static void resume_all(struct sim *sim, struct accepted accepted[], size_t n)
{
    int64_t last = sim_number(sim, "SELECT coalesce(max(id), 0) FROM ensemble");
    struct error err;

    for (size_t i = 0; i < n && sim_engine(sim) != NULL; i++) {
        int rc = engine_resume(sim_engine(sim), accepted[i].id, &err);

        note(sim, &accepted[i], rc == 0 || is_refusal(&err));
    }
    for (int64_t id = 1; id <= last && sim_engine(sim) != NULL; id++)
        if (!is_accepted(accepted, n, id) && engine_resume(sim_engine(sim), id, &err) == 0)
            sim_turn(sim);
}

/* When nothing else is under way, users give up the ensembles that wait for one with unfinished members, which
 * nobody follows up any more. Those that may begin have to do so by themselves. */
static void give_up_stages(struct sim *sim)
{
    int64_t id = sim_number(sim, "SELECT coalesce(min(e.id), 0) FROM ensemble e JOIN ensemble p ON p.id = e.after "
                                 "WHERE e.state IN ('running', 'paused') AND NOT EXISTS (SELECT 1 FROM ensemble WHERE after IS NULL AND "
                                 "state IN ('running', 'paused')) AND EXISTS (SELECT 1 FROM tally t JOIN ensemble f ON f.id = t.ensemble "
                                 "WHERE coalesce(f.root, f.id) = coalesce(p.root, p.id) AND t.state = 'unfinished' AND t.n > t.handed)");
    struct error err;

    if (id > 0 && engine_cancel(sim_engine(sim), id, &err) == 0)
        sim_turn(sim);
}

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
        .never = wild == 2 ? 10 : 0,
        .poll_unsure = 100 * wild,
        .queue_lost = 20 * wild,
        .runner_killed = 40 * wild,
        .task_fails = 50 * wild,
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

static void run_schedule(struct sim *sim, uint64_t seed, struct generator *generator)
{
    struct accepted accepted[ACCEPTED_MAX] = {0};
    size_t n = 0, submitted = 0, submissions = (spec_is_crossed(seed) ? 3 : 1) + sim_random(sim, 4), verbs = sim_random(sim, VERBS_MAX);
    int crash = spec_is_calm(seed) ? 0 : 4;

    for (int i = 0; i < SIM_ADAPTERS; i++) {
        int slots = sim_chance(sim, spec_is_crossed(seed) ? 900 : 500) ? 2 + (int)sim_random(sim, spec_is_crossed(seed) ? 5 : 7) : 0;

        if (spec_has_pilots(seed) && slots > 0)
            slots += (int)sim_random(sim, 16);
        sim_limit(sim, i, slots, sim_chance(sim, 200) ? 1 + (int)sim_random(sim, 6) : 0);
    }
    sim_boot(sim);
    for (int step = 0; sim_violation(sim) == NULL; step++) {
        if (step == WILD_STEPS) { /* an ensemble that can never run is given up after some tries in one life of the daemon's */
            sim_outlive(sim);
            crash = 0;
        }
        /* Somebody sets the clock of the daemon's host. What watches allocations and elastic changes has a clock of its own. */
        if (seed % 8 == 3 && !spec_has_pilots(seed) && !spec_is_elastic(seed) && step < WILD_STEPS && sim_chance(sim, 3))
            set_clock(sim);
        if (step > STEPS_MAX)
            sim_violate(sim, "no end after %d steps", step);
        if (sim_engine(sim) != NULL && submitted < submissions && sim_chance(sim, 50))
            submitted += submit(sim, seed, accepted, &n);
        if (spec_is_open(seed) && sim_chance(sim, 60))
            generator_act(generator);
        if (sim_engine(sim) != NULL && n > 0 && verbs > 0 && sim_chance(sim, 15)) {
            if (sim_chance(sim, 250))
                follow_up(sim, accepted, &n);
            else
                any_verb(sim, &accepted[sim_random(sim, n)]);
            verbs--;
        }
        if (sim_engine(sim) != NULL && verbs == 0 && step % 128 == 0)
            resume_all(sim, accepted, n);
        if (spec_is_staged(seed) && sim_engine(sim) != NULL && submitted == submissions && verbs == 0 && step % 256 == 0)
            give_up_stages(sim);
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
            resume_all(sim, accepted, n); /* it may have been waiting for that alone */
            if (sim_engine(sim) != NULL && !sim_step(sim) && !sim_is_over(sim) && !has_paused(sim))
                sim_violate(sim, "nothing will happen any more, and it is not over");
        }
        if (sim_engine(sim) != NULL && step % 16 == 0)
            watch_places(sim);
        if (sim_engine(sim) != NULL && step % 64 == 0) {
            watch_always(sim);
            sim_check_queues(sim);
            check_accepted(sim, accepted, n);
        }
    }
    if (sim_violation(sim) == NULL) {
        watch_always(sim);
        watch_end(sim);
        if (spec_is_calm(seed))
            watch_calm(sim);
        check_accepted(sim, accepted, n);
        check_resubmitted(sim, accepted, n);
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
    struct sim *sim;
    char command[400];
    bool violated;

    sim_memory(seed % 5 == 0);
    snprintf(dir, sizeof dir, "%s/stretto-sim-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL)
        abort();
    copy_template();
    sim = sim_create(seed, &faults, dir);
    generator = generator_create(sim);
    run_schedule(sim, seed, generator);
    generator_destroy(generator);
    violated = sim_violation(sim) != NULL;
    if (violated)
        fprintf(stderr, "SIM_SEED=%llu: %s\n", (unsigned long long)seed, sim_violation(sim));
    if (violated && getenv("SIM_LOG")) {
        snprintf(command, sizeof command, "sqlite3 -header -readonly '%s/stretto.db' 'SELECT * FROM job WHERE ended IS NULL; "
                 "SELECT * FROM training; SELECT id, state, adapter, width, spec FROM ensemble; SELECT * FROM tally WHERE n > 0; SELECT * FROM member; SELECT * FROM attempt; "
                 "SELECT * FROM member_checkpoint' >&2", dir);
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
    uint64_t first = setting("SIM_FIRST", 1), n = setting("SIM_SEEDS", SEEDS), procs = setting("SIM_PROCS", 2), failed = 0;
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

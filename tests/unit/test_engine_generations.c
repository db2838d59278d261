/* The generations of a training: how they end, when the next one begins, and with which places; one thing at a time, on
 * the simulated cluster. */
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/abandon.h"
#include "daemon/engine/adapter_state.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/job.h"
#include "daemon/engine/training.h"
#include "tests/unit/engine_case.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS 8 /* of what must be lost by chance */

/* The daemon dies after one turn or another since the rank's end; false: its training was concluded before. */
static bool dies_after(int turns, struct sim_faults with, int retries)
{
    char *path;
    bool in_time = true;

    begin(1, with);
    submit(1, 1, training(retries));
    path = xasprintf("/run/e%lld/training/g1/rank0/exit.json", (long long)id);
    while (json_object_get(sim_files(sim), path) == NULL)
        step();
    free(path);
    while (turns-- > 0)
        step();
    in_time = sim_number(sim, "SELECT state IN ('submitted', 'running') FROM training") == 1;
    sim_crash(sim);
    sim_boot(sim);
    until_over();
    return in_time;
}

static void how_a_training_ended_is_known_after_a_kill(void **state)
{
    static const struct sim_faults times_out = {.ranks_time_out = 1000}, fails = {.ranks_fail = 1000};
    int turns = 0;
    bool more;

    for (more = true; more; turns++) {
        more = dies_after(turns, times_out, 3);
        assert_int_equal(sim_number(sim, "SELECT state = 'failed' AND generation = 1 AND reason LIKE 'rank 0 timeout%' FROM training"), 1);
        end();
    }
    assert_in_range(turns, 3, 1000);
    turns = 0;
    for (more = true; more; turns++) {
        more = dies_after(turns, fails, 0);
        assert_int_equal(sim_number(sim, "SELECT state = 'failed' AND reason LIKE 'rank 0 failed%' FROM training"), 1);
        end();
    }
}

/* The watchers look at the times at which its generations are submitted. */
static void the_next_generation_waits_after_a_kill(void **state)
{
    static const struct sim_faults fails = {.ranks_fail = 1000};

    begin(1, fails);
    submit(1, 1, training(3));
    for (int generation = 2; generation <= 4; generation++) {
        while (sim_number(sim, "SELECT state = 'pending' AND generation > 1 FROM training") == 0)
            step();
        assert_int_equal(sim_number(sim, "SELECT generation FROM training"), generation);
        sim_crash(sim);
        sim_boot(sim);
        until("SELECT state <> 'pending' FROM training");
    }
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'training'"), 4);
    end();
}

static void a_generation_that_waits_keeps_its_time_where_it_gets_other_ranks(void **state)
{
    static const struct sim_faults fails = {.ranks_fail = 1000};
    int64_t training_id;

    begin(1, fails);
    submit(1, 1, training(1));
    until("SELECT state = 'pending' AND generation = 2 FROM training");
    training_id = sim_number(sim, "SELECT id FROM training");
    if (engine_resize_training(sim_engine(sim), training_id, 2, "by a test", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(sim_number(sim, "SELECT ranks FROM training"), 2);
    until("SELECT state <> 'pending' FROM training");
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'training'"), 2);
    end();
}

/* More ranks are asked for where members hold all other places; and the daemon dies while they wait for these. */
static void ranks_that_are_added_get_the_places_of_members_that_wait_for_them(void **state)
{
    static const struct sim_faults calm = {.run_ms = 300000};

    for (int dies = 0; dies < 2; dies++) {
        json_t *more = training(1);

        json_object_set_new(json_object_get(more, "training"), "checkpoint", json_object());
        begin(1, calm);
        sim_limit(sim, 0, 5, 0);
        submit(20, 1, more);
        until("SELECT count(*) = 4 FROM attempt WHERE started IS NOT NULL AND outcome IS NULL");
        assert_int_equal(engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT id FROM training"), 3, "", &err), 0);
        until("SELECT generation = 2 AND state = 'submitted' FROM training");
        if (dies) {
            sim_crash(sim);
            sim_boot(sim);
        }
        until("SELECT generation = 2 AND state = 'running' FROM training");
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'training' AND size = 3"), 1);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt a JOIN job j ON j.id = a.job WHERE a.started IS NOT NULL AND a.outcome IS NULL AND NOT j.cancel"), 2);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded'"), 20);
        end();
    }
}

/* Members of the first ensemble, three of a pack of four, or one, have the only place for members. Its training gets a
 * second rank, and waits then, as the other training's members would not fit beside both with a whole pack of the
 * first; these members wait for the place. Found by the simulation, SIM_SEED 3000552 of November 2026. */
static void the_only_place_is_given_up(int n)
{
    static const struct sim_faults calm = {.run_ms = 300000};
    json_t *first = training(1), *second = training(1), *two = json_pack("{s:i}", "tasks", 2);
    json_t *members = json_pack("{s:[s], s:O, s:{s:s, s:i, s:{s:[ii]}}}", "command", "x", "resources", two,
                                "parameters", "method", "halton", "count", 2, "space", "x", 0, 1);

    json_object_set_new(json_object_get(second, "training"), "resources", two);
    json_object_set_new(second, "members", members);
    json_object_set_new(json_object_get(first, "training"), "checkpoint", json_object());
    begin(1, calm);
    sim_limit(sim, 0, 7, 1);
    sim_crash(sim);
    sim_boot(sim); /* the daemon reads max_jobs when it starts */
    submit(n, 4, first);
    until("SELECT count(*) > 0 FROM attempt WHERE started IS NOT NULL AND outcome IS NULL");
    submit(2, 1, second);
    until("SELECT count(*) = 2 FROM training WHERE state = 'running'");
    assert_int_equal(engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT min(id) FROM training"), 2, "", &err), 0);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded'"), n + 2);
    end();
}

static void the_only_place_for_members_is_given_up_while_the_training_waits_for_another(void **state)
{
    the_only_place_is_given_up(3);
    the_only_place_is_given_up(1);
}

/* Writes of files that ask ranks to end: their answers are held back until they are given by hand. */
static struct held {
    void (*written)(void *arg, const struct error *err);
    void *arg;
} held[2];
static size_t n_held;
static const struct rundir_ops *disk;

static void write_or_hold(void *rundir, char **dirs, size_t n_dirs, struct rundir_file *files, size_t n,
                          void (*written)(void *arg, const struct error *err), void *arg)
{
    if (n != 1 || strstr(files[0].path, "/last.json") == NULL || n_held == sizeof held / sizeof *held) {
        disk->write(rundir, dirs, n_dirs, files, n, written, arg);
        return;
    }
    held[n_held++] = (struct held){written, arg};
    free(files[0].path);
    free(files[0].json);
    free(files);
}

static void hold_answers(void)
{
    static struct rundir_ops ops;

    disk = sim_engine(sim)->ports.rundir_ops;
    ops = *disk;
    ops.write = write_or_hold;
    sim_engine(sim)->ports.rundir_ops = &ops;
    n_held = 0;
}

static void answer(size_t which, const struct error *failed)
{
    held[which].written(held[which].arg, failed);
    assert_int_equal(sim_turn(sim), 0);
}

static void want_ranks(int64_t ranks)
{
    size_t before = n_held;

    if (engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT id FROM training"), ranks, "by a test", &err) < 0)
        fail_msg("%s", err.text);
    while (n_held == before)
        step();
}

/* The ranks are asked to end before they have learnt anything: so they leave no checkpoint that is further. */
static void ranks_may_be_resized_again_before_they_have_got_further(void **state)
{
    static const struct sim_faults calm = {.run_ms = 300000};
    json_t *more = training(0);

    json_object_set_new(json_object_get(more, "training"), "checkpoint", json_object());
    json_object_set_new(more, "width", json_integer(5)); /* members outlast the ranks' last checkpoints */
    begin(1, calm);
    submit(100, 1, more);
    until("SELECT state = 'running' FROM training");
    for (int64_t ranks = 2; ranks <= 3; ranks++) {
        char *has = xasprintf("SELECT generation = %d AND ranks = %d AND state = 'running' FROM training", (int)ranks,
                              (int)ranks);

        if (engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT id FROM training"), ranks, "by a test",
                                   &err) < 0)
            fail_msg("%s", err.text);
        until(has);
        free(has);
    }
    until_over();
    assert_int_equal(sim_number(sim, "SELECT state = 'done' AND failures = 0 FROM training"), 1);
    end();
}

/* The first generation ends of itself while its file is being written. When the answer comes, the file of the next one
 * is being written, which then fails: it is written again. */
static void an_answer_about_an_earlier_generation_is_not_taken_for_one_about_the_next(void **state)
{
    static const struct sim_faults calm = {.run_ms = 300000}, fails = {.ranks_fail = 1000};
    struct error failed = {.code = "file_write", .text = "simulated"};
    json_t *more = training(5);

    json_object_set_new(json_object_get(more, "training"), "checkpoint", json_object());
    begin(1, calm);
    submit(20, 1, more);
    until("SELECT state = 'running' FROM training");
    hold_answers();
    want_ranks(2);
    set_faults(fails);
    until("SELECT generation = 2 FROM training");
    set_faults(calm);
    until("SELECT generation = 2 AND state = 'running' FROM training");
    assert_int_equal(sim_number(sim, "SELECT ranks FROM training"), 2);
    want_ranks(3);
    assert_int_equal(n_held, 2);
    answer(0, NULL);
    answer(1, &failed);
    until("SELECT ranks = 3 AND state = 'running' FROM training");
    until_over();
    end();
}

/* Returns a training with checkpoints, whose members run in allocations that get all that its ranks leave. */
static json_t *training_beside_allocation(void)
{
    json_t *more = training(1),
           *beside = json_pack("{s:{s:i, s:i, s:s}}", "allocation", "nodes", 1, "count", 1, "idle", "10h");

    json_object_set_new(json_object_get(more, "training"), "checkpoint", json_object());
    json_object_update(more, beside);
    json_decref(beside);
    return more;
}

static void add_ranks(void)
{
    int64_t training_id = sim_number(sim, "SELECT id FROM training");

    if (engine_resize_training(sim_engine(sim), training_id, 3, "by a test", &err) < 0)
        fail_msg("%s", err.text);
}

/* Verifies that three ranks ran, that no allocation asked for more than they left since, and that the CPUs which the
 * engine counts are those of the jobs that are left. */
static void until_over_beside_three_ranks(void)
{
    const struct known_adapter *adapter;

    until("SELECT generation = 2 AND state = 'running' FROM training");
    until("SELECT count(*) > 0 FROM job WHERE kind = 'pilot' AND state = 'running' AND id > (SELECT max(id) FROM job WHERE "
          "kind = 'training')");
    assert_int_equal(sim_number(sim, "SELECT cpus FROM job WHERE kind = 'pilot' ORDER BY id DESC LIMIT 1"), 3);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded'"), 20);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'training' AND size = 3"), 1);
    HASH_FIND_STR(sim_engine(sim)->adapters, sim_adapters[0], adapter);
    assert_int_equal(adapter->slots.cpus, 0);
}

static void an_allocation_in_the_queue_makes_room_for_ranks_that_are_added(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000, .queue_ms = 20000};

    begin(1, calm);
    sim_limit(sim, 0, 6, 0);
    submit(20, 1, training_beside_allocation());
    until("SELECT state = 'running' FROM training");
    until("SELECT count(*) = 1 FROM job WHERE kind = 'pilot' AND state = 'submitted' AND cpus = 5");
    add_ranks();
    until_over_beside_three_ranks();
    end();
}

static void an_allocation_that_runs_is_given_back_for_ranks_that_are_added(void **state)
{
    static const struct sim_faults calm = {.run_ms = 300000};

    begin(1, calm);
    sim_limit(sim, 0, 6, 0);
    submit(20, 1, training_beside_allocation());
    until("SELECT count(*) = 5 FROM attempt WHERE started IS NOT NULL AND outcome IS NULL");
    add_ranks();
    until_over_beside_three_ranks();
    end();
}

/* A training on the first adapter, with members on the other one. */
static json_t *trained_here(int ranks)
{
    json_t *more = training(3), *spec = json_object_get(more, "training");

    json_object_set_new(spec, "adapter", json_string(sim_adapters[0]));
    json_object_set_new(spec, "checkpoint", json_object());
    json_object_set_new(spec, "ranks", json_integer(ranks));
    json_object_set_new(more, "adapter", json_string(sim_adapters[1]));
    json_object_set_new(more, "width", json_integer(2));
    return more;
}

/* SIM_SEED=5025046. Another training waits for the places that an allocation has. Once that is nearly over, no other
 * one is asked for, and not in the moment either in which the training that runs begins its next generation. */
static void an_allocation_is_not_followed_by_another_one_before_a_training_that_waits(void **state)
{
    static const struct sim_faults calm = {.run_ms = 200000}, out_of_time = {.run_ms = 200000, .ranks_time_out = 1000};
    int64_t waits;

    begin(1, calm);
    sim_limit(sim, 0, 6, 0);
    submit(20, 1, trained_here(1));
    submit(60, 1,
           json_pack("{s:{s:i, s:i, s:s}, s:{s:[s], s:{s:s}, s:{s:s, s:i, s:i, s:{s:[ii]}}}}", "allocation", "count", 1,
                     "cpus", 4, "walltime", "900s", "members", "command", "x", "resources", "walltime", "300s",
                     "parameters", "method", "monte-carlo", "count", 60, "seed", 1, "space", "x", 0, 1));
    waits = id + 1;
    until("SELECT count(*) = 1 FROM job WHERE kind = 'pilot' AND state = 'running'");
    until("SELECT state = 'running' FROM training");
    submit(4, 1, trained_here(2));
    assert_int_equal(id, waits);
    run_for(620000);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'pilot'"), 1);
    assert_int_equal(sim_number(sim, "SELECT state = 'pending' FROM training WHERE ensemble = 3"), 1);
    set_faults(out_of_time);
    until("SELECT generation = 2 AND state <> 'pending' FROM training WHERE ensemble = 1");
    set_faults(calm);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'pilot'"), 1);
    until("SELECT state <> 'pending' FROM training WHERE ensemble = 3");
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'pilot'"), 1);
    until_over();
    end();
}

/* No member of an open ensemble was suggested yet. The ensemble is over all the same, and takes none any more. */
static void a_training_that_ends_before_members_are_suggested_ends_its_ensemble(void **state)
{
    static const struct sim_faults early = {.ranks_end_early = 1000};
    json_t *more = training(0), *values = json_pack("{s:f}", "x", 0.5);
    struct engine_suggestion late = {.parameters = values};

    json_object_set_new(more, "members", json_pack("{s:[s], s:{s:[s]}}", "command", "x", "parameters", "open", "x"));
    begin(1, early);
    submit(1, 1, more);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM ensemble WHERE state = 'complete' AND reason LIKE 'the training ended early%'"), 1);
    assert_int_equal(sim_number(sim, "SELECT state = 'done' AND early FROM training"), 1);
    assert_int_equal(engine_suggest(sim_engine(sim), id, &late, 1, &err), -1);
    assert_string_equal(err.code, "ensemble_over");
    json_decref(values);
    end();
}

/* SIM_SEED=7101570. The members' job waits in the queue when their training has learnt enough, and can never run, as
 * its scheduler says then. */
static void a_job_that_is_refused_after_an_early_end_does_not_fail_its_ensemble(void **state)
{
    static const struct sim_faults waits = {.ranks_end_early = 1000, .queue_ms = 10000000};
    struct live_job *job;

    begin(1, waits);
    submit(2, 2, training(0));
    until("SELECT early FROM training");
    job = engine_find_job(sim_engine(sim), sim_number(sim, "SELECT id FROM job WHERE kind = 'members'"));
    assert_non_null(job);
    assert_int_equal(job->row.state, JOB_SUBMITTED);
    job->ending.refusal = REFUSAL_QUEUED;
    job_refuse(sim_engine(sim), job, "it asks for too much");
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'failed' AND reason LIKE 'the job can never run%'"), 2);
    assert_int_equal(sim_number(sim, "SELECT state = 'complete' FROM ensemble"), 1);
    end();
}

/* So many that the next generation of their training is there first; the watchers look at when they start. */
static void members_wait_until_all_are_sent_back(void **state)
{
    static const struct sim_faults fails = {.ranks_fail = 1000, .queue_ms = 10};

    begin(1, fails);
    sim_engine(sim)->slice = 1;
    submit(1500, 500, training(1));
    until("SELECT generation = 2 AND state = 'running' FROM training");
    assert_in_range(sim_number(sim, "SELECT count(*) FROM bulk_operation"), 1, 3);
    until("SELECT count(*) > 1500 FROM attempt");
    end();
}

/* It runs in one job with others, and so succeeds before its cancellation takes effect (SIM_SEED=904526). */
static void a_member_that_was_cancelled_is_not_sent_back(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000}, fails = {.ranks_fail = 1000};
    bool cancelled;

    begin(3, calm);
    submit(6, 3, training(1));
    until("SELECT count(*) = 6 FROM member WHERE state = 'running'");
    assert_int_equal(engine_cancel_member(sim_engine(sim), id, 1, &cancelled, &err), 0);
    until("SELECT count(*) FROM member WHERE idx = 1 AND state = 'succeeded'");
    set_faults(fails);
    until("SELECT generation = 2 FROM training");
    set_faults(calm);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT state = 'cancelled' AND attempts = 1 FROM member WHERE idx = 1"), 1);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded' AND attempts = 2"), 5);
    end();
}

/* The ranks keep other checkpoints by now, which is read while members are still sent back by the former one. */
static void keeps_what_is_gone_on_from(void)
{
    char *path = xasprintf("/run/e%lld/training/checkpoints/checkpoints.json", (long long)id);
    json_t *list = json_incref(json_object_get(sim_files(sim), path));

    until("SELECT state = 'submitted' FROM training");
    json_object_set_new(sim_files(sim), path, json_pack("{s:i, s:[]}", "version", 1, "checkpoints"));
    engine_look(sim_engine(sim), engine_find_ensemble(sim_engine(sim), id)->training->job->row.name,
                ENGINE_LOOK_STREAM);
    run_for(60);
    assert_in_range(sim_number(sim, "SELECT count(*) FROM bulk_operation"), 1, 3);
    json_object_set_new(sim_files(sim), path, list);
    free(path);
}

/* A training goes on from a checkpoint, and the daemon dies while members are sent back, one after the other.
 * Returns how many went again: none where the ranks could save a last checkpoint, which has all that they held.
 * The watchers look at who goes again. */
static int64_t goes_on_after_a_kill(uint64_t seed)
{
    static const struct sim_faults times_out = {.ranks_time_out = 1000}, calm = {.run_ms = 200000};
    json_t *more = training(0);
    int64_t whole, again;
    bool keeps;

    json_object_set_new(json_object_get(more, "training"), "checkpoint", json_pack("{s:i}", "keep", 1));
    begin(seed, calm);
    submit(200, 40, more);
    until("SELECT count(*) > 60 FROM member WHERE state = 'succeeded'");
    until("SELECT coalesce(max(members), 0) > 20 FROM training_checkpoint");
    sim_engine(sim)->slice = 1;
    set_faults(times_out);
    until("SELECT generation = 2 FROM training");
    set_faults(calm);
    whole = sim_number(sim, "SELECT members FROM training_checkpoint ORDER BY number DESC LIMIT 1");
    keeps = sim_number(sim, "SELECT keeps < generation FROM training") == 1;
    assert_in_range(whole, 20, 199);
    keeps_what_is_gone_on_from();
    for (int i = 0; i < 10 && sim_number(sim, "SELECT count(*) FROM bulk_operation WHERE checkpoint > 0") > 0; i++) {
        sim_crash(sim);
        sim_boot(sim);
        sim_engine(sim)->slice = 1;
        step();
    }
    until_over();
    assert_int_equal(sim_number(sim, "SELECT state = 'done' AND failures = 0 AND resumed IS NOT NULL FROM training"), 1);
    again = sim_number(sim, "SELECT count(*) FROM member WHERE attempts > 1");
    assert_int_equal(again + sim_number(sim, "SELECT count(*) FROM member WHERE attempts = 1"), 200);
    assert_in_range(again, keeps ? 0 : 1, keeps ? 0 : 200 - whole);
    end();
    return again;
}

static void members_that_are_whole_stay_after_a_kill(void **state)
{
    int64_t again = 0;

    for (uint64_t seed = 1; seed <= 3; seed++)
        again += goes_on_after_a_kill(seed);
    assert_in_range(again, 1, 3 * 200);
}

/* Its runner is lost again and again. A generation that has left a checkpoint costs nothing, and is followed soon; a few
 * in a row that have left none cost nothing, either; each further one costs a retry. */
static void what_is_lost_costs_nothing_while_it_gets_further(void **state)
{
    int64_t soon = 0, late = 0, unpaid = 0, failed = 0;

    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        json_t *more = training(1);
        int64_t losses = 0, failures = 0;

        json_object_set_new(json_object_get(more, "training"), "checkpoint", json_pack("{s:i}", "keep", 1));
        begin(seed, (struct sim_faults){.runner_killed = 1000, .run_ms = seed <= SEEDS ? 200000 : 10000});
        submit(200, 40, more);
        for (int generation = 2; generation <= 9; generation++) {
            char *waits = xasprintf("SELECT state IN ('done', 'failed') OR state = 'pending' AND generation = %d FROM training", generation);
            bool further;

            until(waits);
            free(waits);
            if (sim_number(sim, "SELECT state <> 'pending' FROM training"))
                break;
            further = sim_number(sim, "SELECT coalesce(resumed GLOB 'g' || (generation - 1) || '-*', 0) FROM training");
            losses = further ? 0 : losses + 1;
            failures += losses > 3;
            assert_int_equal(sim_number(sim, "SELECT losses FROM training"), losses);
            assert_int_equal(sim_number(sim, "SELECT failures FROM training"), failures);
            assert_int_equal(sim_number(sim, "SELECT not_before - ended FROM training"), further ? 1000 : 1000 << (losses - 1));
            assert_int_equal(sim_number(sim, "SELECT count(*) FROM generation WHERE end = 'lost'"), generation - 1);
            soon += further && generation > 2;
            late += losses > 1;
            unpaid += generation > 3 && failures == 0;
        }
        failed += sim_number(sim, "SELECT state = 'failed' FROM training");
        if (sim_number(sim, "SELECT state = 'failed' FROM training"))
            assert_int_equal(sim_number(sim, "SELECT failures = 2 AND losses >= 5 AND reason LIKE "
                                             "'%outside ' || losses || ' times in a row%' FROM training"), 1);
        set_faults((struct sim_faults){0});
        until_over();
        end();
    }
    assert_in_range(soon, 1, 18 * SEEDS);
    assert_in_range(late, 1, 18 * SEEDS);
    assert_in_range(unpaid, 1, 18 * SEEDS);
    assert_in_range(failed, 1, 2 * SEEDS - 1);
}

/* Without checkpoints it never gets further, and has failed after three losses that cost nothing and its retries. */
static void a_training_without_checkpoints_may_be_lost_a_few_times(void **state)
{
    static const struct sim_faults dies = {.runner_killed = 1000, .run_ms = 200000};

    begin(1, dies);
    submit(200, 40, training(1));
    until("SELECT state IN ('done', 'failed') FROM training");
    if (sim_number(sim, "SELECT state = 'failed' FROM training"))
        assert_int_equal(sim_number(sim, "SELECT generation = 5 AND failures = 2 AND losses = 5 FROM training"), 1);
    else
        assert_in_range(sim_number(sim, "SELECT generation FROM training"), 1, 5);
    until_over();
    end();
}

/* Orders to stop them come to nothing: they go on, and end well, after their ensemble was cancelled. */
static void what_a_lost_generation_was_sent_is_no_success(void **state)
{
    static const struct sim_faults dies = {.runner_killed = 1000, .run_ms = 20000}, lost = {.cancel_lost = 1000};
    int64_t late = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, dies);
        submit(4, 1, training(1));
        until("SELECT state = 'running' FROM job WHERE kind = 'training'");
        set_faults(lost);
        until("SELECT generation = 2 OR state = 'done' FROM training");
        if (sim_number(sim, "SELECT generation FROM training") == 2) {
            assert_int_equal(engine_cancel(sim_engine(sim), id, &err), 0);
            assert_int_equal(sim_turn(sim), 0);
        }
        until_over();
        late += sim_number(sim, "SELECT count(*) FROM event WHERE kind = 'attempt.ended' AND detail LIKE '%succeeded%' AND id > "
                                "(SELECT id FROM event WHERE kind = 'training.restarted')");
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM event v JOIN member m ON m.idx = v.idx WHERE kind = 'attempt.ended' "
                                         "AND m.state <> 'cancelled' AND v.id > (SELECT id FROM event WHERE kind = "
                                         "'training.restarted')"), 0);
        end();
    }
    assert_in_range(late, 1, 4 * SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_a_training_ended_is_known_after_a_kill),
        cmocka_unit_test(a_generation_that_waits_keeps_its_time_where_it_gets_other_ranks),
        cmocka_unit_test(the_next_generation_waits_after_a_kill),
        cmocka_unit_test(ranks_that_are_added_get_the_places_of_members_that_wait_for_them),
        cmocka_unit_test(the_only_place_for_members_is_given_up_while_the_training_waits_for_another),
        cmocka_unit_test(ranks_may_be_resized_again_before_they_have_got_further),
        cmocka_unit_test(an_answer_about_an_earlier_generation_is_not_taken_for_one_about_the_next),
        cmocka_unit_test(an_allocation_in_the_queue_makes_room_for_ranks_that_are_added),
        cmocka_unit_test(an_allocation_that_runs_is_given_back_for_ranks_that_are_added),
        cmocka_unit_test(an_allocation_is_not_followed_by_another_one_before_a_training_that_waits),
        cmocka_unit_test(a_training_that_ends_before_members_are_suggested_ends_its_ensemble),
        cmocka_unit_test(a_job_that_is_refused_after_an_early_end_does_not_fail_its_ensemble),
        cmocka_unit_test(members_wait_until_all_are_sent_back),
        cmocka_unit_test(a_member_that_was_cancelled_is_not_sent_back),
        cmocka_unit_test(members_that_are_whole_stay_after_a_kill),
        cmocka_unit_test(what_is_lost_costs_nothing_while_it_gets_further),
        cmocka_unit_test(a_training_without_checkpoints_may_be_lost_a_few_times),
        cmocka_unit_test(what_a_lost_generation_was_sent_is_no_success),
    };

    test_limit(300); /* what wakes itself never comes back */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

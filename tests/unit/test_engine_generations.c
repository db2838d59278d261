/* The generations of a training: how they end, and when the next one begins; one thing at a time, on the simulated
 * cluster. If their ranks run: test_engine_places.c. */
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/abandon.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"
#include "tests/unit/engine_case.h"

#include <stdlib.h>
#include <string.h>

/* Returns the name of the training's job. */
static const char *training_job(void)
{
    return engine_find_ensemble(sim_engine(sim), id)->training->job->row.name;
}

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
    if (engine_resize_training(sim_engine(sim), training_id, 2, "by a test", &sim_left_training, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(sim_number(sim, "SELECT ranks FROM training"), 2);
    until("SELECT state <> 'pending' FROM training");
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'training'"), 2);
    end();
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

    if (engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT id FROM training"), ranks, "by a test", &sim_left_training, &err) < 0)
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
                                   &sim_left_training, &err) < 0)
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
    static const struct sim_faults calm, stay = {.only_ends = "", .ranks_obey = true},
                                   fails = {.ranks_fail = 1000, .ranks_obey = true};
    struct error failed = {.code = "file_write", .text = "simulated"};
    json_t *more = training(5);

    json_object_set_new(json_object_get(more, "training"), "checkpoint", json_object());
    begin(1, stay);
    submit(20, 1, more);
    until("SELECT state = 'running' FROM training");
    hold_answers();
    want_ranks(2);
    set_faults(fails);
    until("SELECT generation = 2 FROM training");
    set_faults(stay);
    until("SELECT generation = 2 AND state = 'running' FROM training");
    assert_int_equal(sim_number(sim, "SELECT ranks FROM training"), 2);
    want_ranks(3);
    assert_int_equal(n_held, 2);
    answer(0, NULL);
    answer(1, &failed);
    until("SELECT ranks = 3 AND state = 'running' FROM training");
    set_faults(calm);
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
    static const struct sim_faults waits = {.only_starts = "training"},
                                   early = {.only_starts = "training", .ranks_end_early = 1000};
    struct live_job *job;

    begin(1, waits);
    submit(2, 2, training(0));
    until("SELECT count(*) = 1 FROM job WHERE kind = 'members' AND state = 'submitted'");
    set_faults(early);
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
    static const struct sim_faults calm, stay = {.only_ends = ""}, it_ends = {.only_ends = "1.1"},
                                   fails = {.ranks_fail = 1000};
    bool cancelled;

    begin(3, stay);
    submit(6, 3, training(1));
    until("SELECT count(*) = 6 FROM member WHERE state = 'running'");
    assert_int_equal(engine_cancel_member(sim_engine(sim), id, 1, &cancelled, &sim_left, &err), 0);
    set_faults(it_ends);
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

/* A training goes on from a checkpoint, and the daemon dies while members are sent back, one after the other: none
 * where the ranks saved a last checkpoint, which has all that they held, or else those that are not in the one before.
 * The watchers look at who goes again. */
static void goes_on_after_a_kill(bool last)
{
    const struct sim_faults calm = {.run_ms = 200000, .ranks_obey = true}, none_starts = {.only_starts = ""},
                            times_out = {.ranks_time_out = 1000, .ranks_obey = true, .ranks_last = last ? 1 : -1,
                                         .only_ends = ""};
    json_t *more = training(0);
    int64_t whole, again;

    json_object_set_new(json_object_get(more, "training"), "checkpoint", json_pack("{s:i}", "keep", 1));
    begin(1, calm);
    submit(200, 40, more);
    until("SELECT count(*) > 30 FROM member WHERE state = 'succeeded'");
    sim_get_on(sim, training_job());
    until("SELECT coalesce(max(members), 0) > 30 FROM training_checkpoint");
    until("SELECT count(*) > (SELECT max(members) + 60 FROM training_checkpoint) FROM member WHERE state = 'succeeded'");
    sim_engine(sim)->slice = 1;
    set_faults(times_out);
    until("SELECT generation = 2 FROM training");
    set_faults(none_starts);
    whole = sim_number(sim, "SELECT members FROM training_checkpoint ORDER BY number DESC LIMIT 1");
    assert_int_equal(sim_number(sim, "SELECT keeps < generation FROM training"), last);
    assert_in_range(whole, 20, 199);
    keeps_what_is_gone_on_from();
    set_faults(calm);
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
    assert_in_range(again, last ? 0 : 60, last ? 0 : 200 - whole);
    end();
}

static void members_that_are_whole_stay_after_a_kill(void **state)
{
    goes_on_after_a_kill(false);
    goes_on_after_a_kill(true);
}

/* Kills the runner of one generation after the other, each once it runs: those with 'f' have saved a checkpoint that is
 * further, those with 'l' have not. A generation that got further costs nothing, and is followed soon; three in a row
 * that have not cost nothing, either; each further one costs a retry, of which there is one. */
static void is_lost(const char *course, bool checkpoints)
{
    static const struct sim_faults stay = {.only_ends = "", .ranks_obey = true}, calm;
    json_t *more = training(1);
    int64_t losses = 0, failures = 0;

    if (checkpoints)
        json_object_set_new(json_object_get(more, "training"), "checkpoint", json_pack("{s:i}", "keep", 1));
    begin(1, stay);
    submit(8, 4, more);
    for (int64_t generation = 1; course[generation - 1] != '\0'; generation++) {
        bool further = course[generation - 1] == 'f';
        char *runs = xasprintf("SELECT state = 'running' AND generation = %lld FROM training", (long long)generation);

        until(runs);
        free(runs);
        if (further)
            sim_get_on(sim, training_job());
        sim_kill(sim, training_job());
        until("SELECT state IN ('pending', 'failed') FROM training");
        losses = further ? 0 : losses + 1;
        failures += losses > 3;
        assert_int_equal(sim_number(sim, "SELECT losses FROM training"), losses);
        assert_int_equal(sim_number(sim, "SELECT failures FROM training"), failures);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM generation WHERE end = 'lost'"),
                         failures < 2 ? generation : generation - 1); /* the last one is not followed */
        assert_int_equal(sim_number(sim, "SELECT state = 'failed' FROM training"), failures == 2);
        if (failures < 2)
            assert_int_equal(sim_number(sim, "SELECT not_before - ended FROM training"), further ? 1000 : 1000 << (losses - 1));
    }
    assert_int_equal(sim_number(sim, "SELECT state = 'failed' AND reason LIKE '%outside ' || losses || ' times in a row%' "
                                     "FROM training"), failures == 2);
    set_faults(calm);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM training WHERE state = 'done'"), failures < 2);
    end();
}

static void what_is_lost_costs_nothing_while_it_gets_further(void **state)
{
    is_lost("ffffffff", true);
    is_lost("lllflllfllll", true);
    is_lost("llllflfllll", true);
}

static void a_training_without_checkpoints_may_be_lost_a_few_times(void **state)
{
    is_lost("llll", false);
    is_lost("lllll", false);
}

/* Orders to stop them come to nothing: they go on, and end well, after their ensemble was cancelled. */
static void what_a_lost_generation_was_sent_is_no_success(void **state)
{
    static const struct sim_faults stay = {.only_ends = ""}, stay_anyway = {.only_ends = "", .cancel_lost = 1000},
                                   lost = {.cancel_lost = 1000};

    begin(1, stay);
    submit(4, 1, training(1));
    until("SELECT state = 'running' FROM training");
    until("SELECT count(*) = 4 FROM member WHERE state = 'running'");
    set_faults(stay_anyway);
    sim_kill(sim, training_job());
    until("SELECT generation = 2 FROM training");
    assert_int_equal(engine_cancel(sim_engine(sim), id, &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    set_faults(lost);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM event WHERE kind = 'attempt.ended' AND detail LIKE '%succeeded%' AND id > "
                                     "(SELECT id FROM event WHERE kind = 'training.restarted')"), 4);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'cancelled'"), 4);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_a_training_ended_is_known_after_a_kill),
        cmocka_unit_test(a_generation_that_waits_keeps_its_time_where_it_gets_other_ranks),
        cmocka_unit_test(the_next_generation_waits_after_a_kill),
        cmocka_unit_test(ranks_may_be_resized_again_before_they_have_got_further),
        cmocka_unit_test(an_answer_about_an_earlier_generation_is_not_taken_for_one_about_the_next),
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

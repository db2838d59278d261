/* What gets lost with the daemon, on the disk, or by a scheduler, and must not be missed: one thing at a time, on the simulated
 * cluster. */
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/internal.h"
#include "tests/sim/memory.h"
#include "tests/sim/pilots.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_MAX 100000
#define SEEDS 8 /* of what must be lost by chance */
#define LONG_MS 36000000

static char dir[64];
static struct sim *sim;
static int64_t id;
static struct error err;
static struct sim_faults faults;

static void begin(uint64_t seed, struct sim_faults with)
{
    faults = with;
    faults.queue_ms = faults.queue_ms ? faults.queue_ms : 2000;
    faults.run_ms = faults.run_ms ? faults.run_ms : 2000;
    faults.forget_ms = 300000;
    faults.disk_ms = 50;
    faults.answer_ms = 500;
    snprintf(dir, sizeof dir, "%s/stretto-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    sim_memory(true);
    sim = sim_create(seed, &faults, dir);
    sim_boot(sim);
}

static void end(void)
{
    if (sim_violation(sim) != NULL)
        fail_msg("%s", sim_violation(sim));
    sim_destroy(sim);
    sim_remove_state(dir);
    assert_int_equal(rmdir(dir), 0);
}

static void submit(int count, int pack, json_t *more)
{
    json_t *spec = json_pack("{s:s, s:s, s:i, s:i, s:{s:[s], s:{s:s, s:i, s:i, s:{s:[ii]}}}}", "name", "x", "adapter", sim_adapters[0],
                             "width", count, "pack", pack, "members", "command", "x", "parameters", "method", "monte-carlo",
                             "count", count, "seed", 1, "space", "x", 0, 1);

    json_object_update(spec, more);
    json_decref(more);
    if (engine_submit(sim_engine(sim), spec, NULL, &id, &err) < 0)
        fail_msg("%s %s", err.pointer, err.text);
    json_decref(spec);
}

static void step(void)
{
    if (!sim_step(sim))
        fail_msg("nothing will happen any more");
    if (sim_violation(sim) != NULL)
        fail_msg("%s", sim_violation(sim));
}

static void until(const char *sql)
{
    for (int n = 0; sim_number(sim, sql) == 0; n++) {
        assert_true(n < STEPS_MAX);
        step();
    }
}

static void run_for(int64_t ms)
{
    int64_t now = sim_now(sim);

    while (sim_now(sim) < now + ms)
        step();
}

static void until_over(void)
{
    for (int n = 0; !sim_is_over(sim); n++) {
        assert_true(n < STEPS_MAX);
        step();
    }
    watch_end(sim);
}

static json_t *training(int retries)
{
    return json_pack("{s:{s:[s], s:i, s:{s:{s:s, s:[i]}}}}", "training", "command", "y", "retries", retries, "fields", "u", "dtype",
                     "float32", "shape", 4);
}

static json_t *allocation(void)
{
    return json_pack("{s:{s:i, s:i, s:i, s:s}}", "allocation", "nodes", 1, "count", 1, "cpus", 4, "idle", "60s");
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
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt a JOIN job j ON j.id = a.job WHERE a.started IS NOT NULL AND NOT j.cancel"), 2);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded'"), 20);
        end();
    }
}

/* So many that the next generation of their training is there first; the watchers look at when they start. */
static void members_wait_until_all_are_sent_back(void **state)
{
    static const struct sim_faults fails = {.ranks_fail = 1000, .queue_ms = 10};

    begin(1, fails);
    sim_engine(sim)->slice = 1;
    submit(1500, 500, training(1));
    until("SELECT generation = 2 AND state = 'running' FROM training");
    assert_in_range(sim_number(sim, "SELECT count(*) FROM chore"), 1, 3);
    until("SELECT count(*) > 1500 FROM attempt");
    end();
}

/* From now on something fails as well. */
static void set_faults(struct sim_faults with)
{
    with.queue_ms = faults.queue_ms, with.run_ms = faults.run_ms, with.forget_ms = faults.forget_ms;
    with.disk_ms = faults.disk_ms, with.answer_ms = faults.answer_ms;
    sim_set_faults(sim, &with);
}

/* The ranks keep other checkpoints by now, which is read while members are still sent back by the former one. */
static void keeps_what_is_gone_on_from(void)
{
    char *path = xasprintf("/run/e%lld/training/checkpoints/checkpoints.json", (long long)id);
    json_t *list = json_incref(json_object_get(sim_files(sim), path));

    until("SELECT state = 'submitted' FROM training");
    json_object_set_new(sim_files(sim), path, json_pack("{s:i, s:[]}", "version", 1, "checkpoints"));
    engine_look(sim_engine(sim), engine_find_ensemble(sim_engine(sim), id)->training->job->row.name, ENGINE_LOOK_STREAM);
    run_for(60);
    assert_in_range(sim_number(sim, "SELECT count(*) FROM chore"), 1, 3);
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
    for (int i = 0; i < 10 && sim_number(sim, "SELECT count(*) FROM chore WHERE checkpoint > 0") > 0; i++) {
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

/* What has got further does not wait for longer each time. */
static void a_generation_that_left_a_checkpoint_is_followed_soon(void **state)
{
    static const struct sim_faults dies = {.runner_killed = 1000, .run_ms = 200000};
    int64_t soon = 0, late = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        json_t *more = training(5);

        json_object_set_new(json_object_get(more, "training"), "checkpoint", json_pack("{s:i}", "keep", 1));
        begin(seed, dies);
        submit(200, 40, more);
        for (int failures = 1; failures <= 5; failures++) {
            char *waits = xasprintf("SELECT state IN ('done', 'failed') OR state = 'pending' AND failures = %d FROM training", failures);

            until(waits);
            free(waits);
            if (sim_number(sim, "SELECT state <> 'pending' FROM training"))
                break;
            assert_int_equal(sim_number(sim, "SELECT not_before - ended = iif(resumed GLOB 'g' || (generation - 1) || '-*', 1000, "
                                             "1000 << (failures - 1)) FROM training"), 1);
            soon += failures > 1 && sim_number(sim, "SELECT not_before - ended = 1000 FROM training");
            late += failures > 1 && sim_number(sim, "SELECT not_before - ended > 1000 FROM training");
        }
        set_faults((struct sim_faults){0});
        until_over();
        end();
    }
    assert_in_range(soon, 1, 5 * SEEDS);
    assert_in_range(late, 1, 5 * SEEDS);
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

/* One of two that would be there for hours is to be stopped, and for a while something of that gets lost. */
static void stop_one_of_two(struct sim_faults lost)
{
    set_faults(lost);
    assert_int_equal(engine_resize(sim_engine(sim), id, 1, ENGINE_SHRINK_NOW, "over the Unix socket", &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    run_for(1000);
    sim_set_faults(sim, &faults);
    run_for(300000);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome IS NULL"), 1);
}

static void an_order_to_cancel_that_a_disk_does_not_take_is_given_again(void **state)
{
    static const struct sim_faults calm = {.run_ms = LONG_MS}, lost = {.write_fails = 1000};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, calm);
        submit(2, 1, allocation());
        until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
        stop_one_of_two(lost);
        end();
    }
}

static void an_order_to_cancel_of_which_nothing_comes_is_given_again(void **state)
{
    static const struct sim_faults calm = {.queue_ms = LONG_MS}, lost = {.cancel_lost = 1000};

    begin(1, calm);
    submit(2, 1, json_object());
    until("SELECT count(*) = 2 FROM job WHERE state = 'submitted'");
    stop_one_of_two(lost);
    end();
}

/* Two members of one job are cancelled one by one, and the order to end their job comes to nothing. Their runner
 * hands its records back together, and the end of the first has the job cancelled once more. */
static void records_of_a_cancelled_job_are_all_taken(void **state)
{
    static const struct sim_faults runs = {.run_ms = 100000}, lost = {.cancel_lost = 1000, .nudge_lost = 1000};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool cancelled;

        begin(seed, runs);
        submit(2, 2, json_object());
        until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
        set_faults(lost);
        for (int64_t index = 0; index < 2; index++)
            assert_int_equal(engine_cancel_member(sim_engine(sim), id, index, &cancelled, &err), 0);
        assert_int_equal(sim_turn(sim), 0);
        run_for(2000);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome IS NULL"), 0);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE state = 'ended'"), 1);
        end();
    }
}

/* Jobs that wait for weeks, of a cancelled ensemble. */
static void cancel_waiting_ones(int n, struct sim_faults with)
{
    static const struct sim_faults calm = {.queue_ms = 2000000000};

    begin(1, calm);
    submit(n, 1, json_object());
    while (sim_number(sim, "SELECT count(*) FROM job WHERE state = 'submitted'") < n)
        step();
    set_faults(with);
    assert_int_equal(engine_cancel(sim_engine(sim), id, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    run_for(10000);
    assert_int_equal(sim_live_jobs(sim), n);
}

static void who_cancels_once_more_is_not_put_off(void **state)
{
    static const struct sim_faults lost = {.cancel_lost = 1000};

    cancel_waiting_ones(20, lost);
    assert_int_equal(sim_cancels(sim), 20);
    sim_set_faults(sim, &faults);
    assert_int_equal(engine_cancel(sim_engine(sim), id, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    run_for(2000);
    assert_int_equal(sim_live_jobs(sim), 0);
    assert_int_equal(sim_cancels(sim), 40);
    end();
}

/* The first pause is a minute beyond the grace; the next answer that still has the jobs brings the order. */
static void an_order_to_cancel_is_given_again_when_it_is_due(void **state)
{
    static const struct sim_faults lost = {.cancel_lost = 1000};

    cancel_waiting_ones(20, lost);
    run_for(50000);
    assert_int_equal(sim_cancels(sim), 20);
    run_for(30000);
    assert_int_equal(sim_cancels(sim), 40);
    sim_set_faults(sim, &faults);
    run_for(2 * 3600000);
    end();
}

/* The scheduler may have died of the order, and jobs that it still has must not be forgotten. */
static void orders_to_cancel_are_given_again_after_growing_pauses(void **state)
{
    static const struct sim_faults refused = {.cancel_refused = 1000}, lost = {.cancel_lost = 1000};
    int before;

    for (int taken = 0; taken < 2; taken++) {
        cancel_waiting_ones(20, taken ? lost : refused);
        assert_int_equal(sim_cancels(sim), 20);
        run_for(6 * 3600000);
        assert_in_range(sim_cancels(sim), 20 * 8, 20 * 16);
        before = sim_cancels(sim);
        run_for(6 * 3600000);
        assert_in_range(sim_cancels(sim) - before, 20 * 3, 20 * 6); /* one an hour in the end; a job or two may run by then */
        sim_set_faults(sim, &faults);
        run_for(2 * 3600000);
        assert_int_equal(sim_live_jobs(sim), 0);
        until_over();
        end();
    }
}

/* Once the scheduler said of them that they had ended, while they waited. They run and end while it does not answer, and wait
 * again, for ever, as it comes back with an older state. */
static void what_waits_again_is_looked_at(void **state)
{
    static const struct sim_faults lies = {.queue_ms = 600000, .lies = 1000}, away = {.poll_unsure = 1000, .nudge_lost = 1000};
    int back = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, lies);
        submit(20, 1, json_object());
        run_for(60000);
        set_faults(away);
        while (sim_live_jobs(sim) > 0)
            step();
        sim_roll_back(sim);
        back += sim_live_jobs(sim);
        set_faults((struct sim_faults){0});
        run_for(300000);
        assert_int_equal(sim_live_jobs(sim), 0);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded'"), 20);
        end();
    }
    assert_in_range(back, SEEDS, 20 * SEEDS);
}

/* They are handed over while those before them are on their way to a slow disk, and then their pilot is over. */
static void what_is_not_handed_over_yet_ends_with_its_pilot(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000};

    for (uint64_t seed = 1; seed <= 4 * SEEDS; seed++) {
        struct sim_faults slow;

        begin(seed, calm);
        submit(12, 1, allocation());
        assert_int_equal(engine_resize(sim_engine(sim), id, 4, ENGINE_SHRINK_LATER, "over the Unix socket", &err), 0);
        until("SELECT count(*) >= 4 FROM attempt WHERE started IS NOT NULL");
        slow = faults;
        slow.slow = 500;
        sim_set_faults(sim, &slow);
        run_for(8000);
        assert_int_equal(engine_cancel(sim_engine(sim), id, &err), 0);
        assert_int_equal(sim_turn(sim), 0);
        until_over();
        end();
    }
}

/* What a crash of their node takes along where it was not flushed: the journal is. */
static void lose_exit_records(void)
{
    const char *path;
    void *next;
    json_t *file;
    size_t n = 0;

    json_object_foreach_safe (sim_files(sim), next, path, file) {
        if (strstr(path, "/members/") == NULL || strstr(path, "/exit.json") == NULL)
            continue;
        json_object_del(sim_files(sim), path);
        n++;
    }
    assert_in_range(n, 1, 100);
}

/* While no daemon is there. */
static void until_all_succeeded(size_t n)
{
    for (size_t good = 0; good < n;) {
        const char *key;
        json_t *value;

        step();
        good = 0;
        json_object_foreach (sim_ledger(sim), key, value)
            good += strcmp(json_string_value(value), "succeeded") == 0;
    }
}

/* Those that wait for another try are tried in the order of their times; after a restart they are known by their indices. */
static void records_are_found_in_another_order(void **state)
{
    static const struct sim_faults calm = {.run_ms = 200000};
    const struct flight *flight;
    char pilot[64];

    begin(1, calm);
    submit(2, 2, allocation());
    assert_int_equal(engine_pause(sim_engine(sim), id, "", &err), 0);
    if (store_exec(sim_store(sim), &err, "INSERT INTO member (ensemble, idx, state, attempts, not_before) VALUES (?1, 0, 'pending', "
                   "0, 2), (?1, 1, 'pending', 0, 1)", "i", id) < 0 ||
        store_exec(sim_store(sim), &err, "UPDATE ensemble SET next_index = 2 WHERE id = ?1", "i", id) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(sim_turn(sim), 0);
    sim_crash(sim);
    sim_boot(sim);
    assert_int_equal(engine_resume(sim_engine(sim), id, &err), 0);
    until("SELECT count(*) = 2 FROM attempt WHERE started IS NOT NULL");
    snprintf(pilot, sizeof pilot, "st-%s-%lld", store_instance(sim_store(sim)),
             (long long)sim_number(sim, "SELECT id FROM job WHERE kind = 'pilot'"));
    flight = pilots_of(sim, pilot);
    assert_non_null(flight);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(flight->nodes[0].jobs->descriptor, "tasks"), 0),
                                                          "id")), "1.1");
    sim_crash(sim);
    until_all_succeeded(2);
    lose_exit_records();
    sim_boot(sim);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'succeeded'"), 2);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt"), 2);
    end();
}

/* Its pilot is over, and its journal alone tells how they ended. */
static void what_cannot_be_read_says_nothing(void **state)
{
    static const struct sim_faults calm = {.run_ms = 20000}, unreadable = {.read_fails = 500};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, calm);
        submit(4, 1, allocation());
        until("SELECT count(*) = 4 FROM attempt WHERE started IS NOT NULL");
        sim_crash(sim);
        until_all_succeeded(4);
        run_for(120000); /* until it is given back */
        lose_exit_records();
        set_faults(unreadable);
        sim_boot(sim);
        until_over();
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt WHERE outcome = 'succeeded'"), 4);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt"), 4);
        end();
    }
}

static bool is_given_up(void)
{
    const char *path;
    json_t *file;

    json_object_foreach (sim_files(sim), path, file)
        if (json_is_true(json_object_get(file, "given_up")))
            return true;
    return false;
}

/* A job can never run. That it is given up cannot be stored in the turn in which it was made sure that it cannot start any more. */
static void what_was_decided_is_done_where_it_was_not_stored(void **state)
{
    static const struct sim_faults never = {.never = 1000, .queue_ms = LONG_MS}, full = {.commit_fails = 1000}, calm = {0};
    const struct live_job *job;

    begin(1, never);
    submit(1, 1, NULL);
    while ((job = engine_find_job(sim_engine(sim), 1)) == NULL || job->pending != PENDING_CLAIM)
        step();
    set_faults(full);
    while (!is_given_up())
        step();
    set_faults(calm);
    assert_int_equal(sim_number(sim, "SELECT outcome IS NULL FROM attempt"), 1);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT outcome = 'failed' AND reason = 'the job can never run: never' FROM attempt"), 1);
    assert_int_equal(sim_number(sim, "SELECT state = 'failed' AND reason = 'the job can never run: never' FROM ensemble"), 1);
    end();
}

/* Words of a scheduler that were cut off within a letter, say. */
static void a_reason_that_is_not_text_is_no_hindrance(void **state)
{
    static const struct sim_faults waits = {.queue_ms = LONG_MS};
    struct live_job *job;

    begin(1, waits);
    submit(1, 1, NULL);
    while ((job = engine_find_job(sim_engine(sim), 1)) == NULL || job->row.state != JOB_SUBMITTED || job->pending != PENDING_NONE)
        step();
    job_abandon(sim_engine(sim), job, ATTEMPT_FAILED, "caf\xc3");
    while (!is_given_up())
        step();
    assert_int_equal(sim_number(sim, "SELECT outcome = 'failed' FROM attempt"), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_a_training_ended_is_known_after_a_kill),
        cmocka_unit_test(a_generation_that_waits_keeps_its_time_where_it_gets_other_ranks),
        cmocka_unit_test(the_next_generation_waits_after_a_kill),
        cmocka_unit_test(ranks_that_are_added_get_the_places_of_members_that_wait_for_them),
        cmocka_unit_test(members_wait_until_all_are_sent_back),
        cmocka_unit_test(members_that_are_whole_stay_after_a_kill),
        cmocka_unit_test(a_generation_that_left_a_checkpoint_is_followed_soon),
        cmocka_unit_test(what_a_lost_generation_was_sent_is_no_success),
        cmocka_unit_test(an_order_to_cancel_that_a_disk_does_not_take_is_given_again),
        cmocka_unit_test(an_order_to_cancel_of_which_nothing_comes_is_given_again),
        cmocka_unit_test(records_of_a_cancelled_job_are_all_taken),
        cmocka_unit_test(who_cancels_once_more_is_not_put_off),
        cmocka_unit_test(an_order_to_cancel_is_given_again_when_it_is_due),
        cmocka_unit_test(orders_to_cancel_are_given_again_after_growing_pauses),
        cmocka_unit_test(what_waits_again_is_looked_at),
        cmocka_unit_test(what_is_not_handed_over_yet_ends_with_its_pilot),
        cmocka_unit_test(records_are_found_in_another_order),
        cmocka_unit_test(what_cannot_be_read_says_nothing),
        cmocka_unit_test(what_was_decided_is_done_where_it_was_not_stored),
        cmocka_unit_test(a_reason_that_is_not_text_is_no_hindrance),
    };

    test_limit(300); /* what wakes itself never comes back */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

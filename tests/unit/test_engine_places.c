/* The places of a training's next generation, beside those of members and allocations; one thing at a time, on the
 * simulated cluster. */
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/adapter_state.h"
#include "tests/unit/engine_case.h"

#include <stdlib.h>

/* More ranks are asked for where members hold all other places; and the daemon dies while they wait for these. */
static void ranks_that_are_added_get_the_places_of_members_that_wait_for_them(void **state)
{
    static const struct sim_faults calm, none_ends = {.only_ends = ""};

    for (int dies = 0; dies < 2; dies++) {
        json_t *more = training(1);

        json_object_set_new(json_object_get(more, "training"), "checkpoint", json_object());
        begin(1, none_ends);
        sim_limit(sim, 0, 5, 0);
        submit(20, 1, more);
        until("SELECT count(*) = 4 FROM attempt WHERE started IS NOT NULL AND outcome IS NULL");
        assert_int_equal(engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT id FROM training"), 3, "", &sim_left_training, &err), 0);
        until("SELECT generation = 2 AND state = 'submitted' FROM training");
        if (dies) {
            sim_crash(sim);
            sim_boot(sim);
        }
        until("SELECT generation = 2 AND state = 'running' FROM training");
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'training' AND size = 3"), 1);
        assert_int_equal(sim_number(sim, "SELECT count(*) FROM attempt a JOIN job j ON j.id = a.job WHERE a.started IS NOT NULL AND a.outcome IS NULL AND NOT j.cancel"), 2);
        set_faults(calm);
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
    assert_int_equal(engine_resize_training(sim_engine(sim), sim_number(sim, "SELECT min(id) FROM training"), 2, "", &sim_left_training, &err), 0);
    until_over();
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'succeeded'"), n + 2);
    end();
}

static void the_only_place_for_members_is_given_up_while_the_training_waits_for_another(void **state)
{
    the_only_place_is_given_up(3);
    the_only_place_is_given_up(1);
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

    if (engine_resize_training(sim_engine(sim), training_id, 3, "by a test", &sim_left_training, &err) < 0)
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
    static const struct sim_faults calm, stay = {.run_ms = 200000, .only_ends = ""},
                                   out_of_time = {.ranks_time_out = 1000, .only_ends = ""};
    int64_t waits;

    begin(1, stay);
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
    run_for(602000); /* no member fits in any more */
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'pilot'"), 1);
    assert_int_equal(sim_number(sim, "SELECT state = 'pending' FROM training WHERE ensemble = 3"), 1);
    set_faults(out_of_time);
    until("SELECT generation = 2 AND state <> 'pending' FROM training WHERE ensemble = 1");
    set_faults(stay);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'pilot'"), 1);
    until("SELECT state <> 'pending' FROM training WHERE ensemble = 3");
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job WHERE kind = 'pilot'"), 1);
    set_faults(calm);
    until_over();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_are_added_get_the_places_of_members_that_wait_for_them),
        cmocka_unit_test(the_only_place_for_members_is_given_up_while_the_training_waits_for_another),
        cmocka_unit_test(an_allocation_in_the_queue_makes_room_for_ranks_that_are_added),
        cmocka_unit_test(an_allocation_that_runs_is_given_back_for_ranks_that_are_added),
        cmocka_unit_test(an_allocation_is_not_followed_by_another_one_before_a_training_that_waits),
    };

    test_limit(300); /* what wakes itself never comes back */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Why an ensemble does not go on: each cause is told, in its order, with who takes what others wait for. */
#include "common/log.h"
#include "daemon/engine/memory/waits.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_MAX 5000

static char dir[64];
static struct sim *sim;
static struct engine_notice notice;

static int begin(void **state)
{
    static const struct sim_faults calm = {.queue_ms = 60000, .run_ms = 600000, .disk_ms = 10, .answer_ms = 10};

    snprintf(dir, sizeof dir, "%s/stretto-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    sim_memory(true);
    sim = sim_create(1, &calm, dir);
    return 0;
}

static int end(void **state)
{
    sim_destroy(sim);
    sim_remove_state(dir);
    return rmdir(dir);
}

/* Fifty members of one CPU, `width` at once; `trains`: with a training of so many. */
static int64_t submit_spec(int adapter, int trains, int ranks, int width)
{
    json_t *spec = json_pack("{s:s, s:s, s:i, s:{s:[s], s:{s:s, s:i, s:i, s:{s:[ii]}}}}", "name", "x", "adapter",
                             sim_adapters[adapter], "width", width, "members", "command", "x", "parameters", "method",
                             "monte-carlo", "count", 50, "seed", 1, "space", "x", 0, 1);
    struct error err;
    int64_t id;

    if (trains > 0)
        json_object_set_new(spec, "training",
                            json_pack("{s:[s], s:i, s:{s:i}, s:{s:{s:s, s:[i]}}}", "command", "y", "ranks", ranks, "resources", "tasks",
                                      trains, "fields", "u", "dtype", "float32", "shape", 4));
    if (sim_submit(sim, spec, &id, &err) < 0)
        fail_msg("%s %s", err.pointer, err.text);
    assert_int_equal(sim_turn(sim), 0);
    json_decref(spec);
    return id;
}

static int64_t submit_wide(int adapter, int trains, int width)
{
    return submit_spec(adapter, trains, 1, width);
}

static int64_t submit_ranks(int adapter, int ranks)
{
    return submit_spec(adapter, 1, ranks, 4);
}

static int64_t submit(int adapter, int trains)
{
    return submit_wide(adapter, trains, 40);
}

/* The code of what is told of it; its text is in `notice`. */
static const char *told(int64_t id)
{
    struct ensemble_row row;
    struct error err;

    notice = (struct engine_notice){.code = ""};
    assert_int_equal(store_ensemble_get(sim_store(sim), id, &row, &err), 1);
    engine_notice(sim_engine(sim), &row, &notice);
    return notice.code;
}

/* The ranks of ensemble 1 tell how long they have waited. */
static void ranks_tell(double for_samples, double for_room)
{
    json_object_set_new(sim_files(sim), "/run/e1/training/g1/status-rank0.json",
                        json_pack("{s:i, s:f, s:s, s:f, s:f}", "version", 1, "time", (double)sim_now(sim) / 1000,
                                  "state", "receiving", "sample_wait_seconds", for_samples, "room_wait_seconds",
                                  for_room));
}

static void rank_tells(int rank, bool starved, int unseen)
{
    char path[80];

    snprintf(path, sizeof path, "/run/e1/training/g1/status-rank%d.json", rank);
    json_object_set_new(sim_files(sim), path,
                        json_pack("{s:i, s:f, s:s, s:b, s:i, s:i}", "version", 1, "time", (double)sim_now(sim) / 1000, "state",
                                  "receiving", "starved", starved, "unseen", unseen, "capacity", 10));
}

/* Until that is told; each of these parts of the time ranks wait meanwhile, where they tell anything. */
static void until(int64_t id, const char *code, bool tell, double samples, double room)
{
    double began = (double)sim_now(sim) / 1000;

    for (int step = 0; strcmp(told(id), code) != 0; step++) {
        double passed = (double)sim_now(sim) / 1000 - began;

        if (tell)
            ranks_tell(1000 + samples * passed, 1000 + room * passed);
        if (step > STEPS_MAX || !sim_step(sim))
            fail_msg("%s is not told after %d steps, but %s: %s", code, step, notice.code, notice.text);
        assert_null(sim_violation(sim));
    }
}

static void assert_says(const char *part)
{
    if (strstr(notice.text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, notice.text);
}

static void who_has_paused_it_is_told_and_kept(void **state)
{
    struct error err;
    int64_t id;

    sim_limit(sim, 0, 2, 0);
    sim_boot(sim);
    submit(0, 0);
    id = submit(0, 0);
    assert_int_equal(engine_pause(sim_engine(sim), id, "by token 3 (cron)", &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    assert_string_equal(told(id), "paused"); /* before the lack of slots */
    assert_says("it was paused by token 3 (cron) at 20");
    assert_says("stretto resume 2");
    sim_crash(sim);
    sim_boot(sim);
    assert_string_equal(told(id), "paused");
    assert_says("by token 3 (cron) at 20");
    assert_int_equal(engine_resume(sim_engine(sim), id, &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    assert_string_equal(told(id), "no_slot");
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM ensemble WHERE paused_by IS NOT NULL OR paused IS NOT NULL"), 0);
}

static void who_takes_the_slots_is_told(void **state)
{
    int64_t id;

    sim_limit(sim, 0, 2, 0);
    sim_boot(sim);
    submit(0, 0);
    id = submit(0, 0);
    assert_string_equal(told(id), "no_slot");
    assert_says("its members wait for free slots on local, which has 2: ensemble 1 takes ");
    assert_string_equal(told(1), "");
}

static void who_has_the_jobs_of_max_jobs_is_told(void **state)
{
    int64_t id;

    sim_limit(sim, 1, 0, 5);
    sim_boot(sim);
    submit(1, 0);
    id = submit(1, 0);
    assert_string_equal(told(id), "no_slot");
    assert_says("one of the 5 jobs that max_jobs lets other have: ensemble 1 takes 5 jobs");
}

static void many_takers_are_summed_up(void **state)
{
    int64_t id = 0;

    sim_limit(sim, 0, 60, 0);
    sim_boot(sim);
    for (int i = 0; i < 5; i++) /* each with a training, whose members wait for it */
        submit(0, 11 + i);
    id = submit(0, 0);
    told(1);
    until(id, "no_slot", false, 0, 0);
    assert_says(" takes ");
    if (strchr(notice.text, ',') == NULL)
        fail_msg("%s", notice.text);
}

static void a_training_that_waits_for_its_turn_says_for_whom(void **state)
{
    sim_limit(sim, 0, 4, 0);
    sim_boot(sim);
    submit(0, 2);
    submit(0, 3);
    submit(0, 2);
    assert_string_equal(told(1), "training_starts");
    assert_string_equal(told(2), "no_slot");
    assert_says("its training waits for free slots on local, which has 4: ensemble 1 takes 2 slots");
    assert_string_equal(told(3), "no_slot");
    assert_says("its training waits for its turn on local, where that of ensemble 2 is the next");
}

static void a_queue_that_gives_no_reason_is_told_since_when(void **state)
{
    sim_boot(sim);
    submit_wide(1, 0, 1);
    assert_string_equal(told(1), ""); /* it may start the next moment */
    until(1, "queued", false, 0, 0);
    assert_says("its jobs wait in the queue of other since 20");
}

static void who_waits_for_whom_is_told_of_a_training_that_runs(void **state)
{
    double samples, room;

    sim_boot(sim);
    submit(1, 1);
    until(1, "training_starts", false, 0, 0);
    until(1, "waits_for_samples", true, 0.8, 0.05);
    assert_says("its training waits for samples 80 % of the time");
    assert_true(engine_training_waits(sim_engine(sim), 1, &samples, &room));
    assert_true(samples > 0.79 && samples < 0.81 && room > 0.04 && room < 0.06);
    until(1, "waits_for_room", true, 0.0, 0.9); /* it begins to count anew */
    assert_says("its members wait for room in the buffer 90 % of the time");
    until(1, "training_silent", false, 0, 0);
    assert_says("its training has told nothing since 20");
    ranks_tell(2000, 2000);
    until(1, "", false, 0, 0);
}

/* One rank gets nothing while the other one can take nothing more. */
static void ranks_that_differ_too_much_are_told(void **state)
{
    static const struct {
        bool starved;
        int unseen;
    } cases[][2] = {{{true, 0}, {false, 9}}, {{false, 0}, {false, 10}}, {{true, 0}, {true, 0}}, {{true, 0}, {false, 10}}};

    sim_boot(sim);
    submit_ranks(1, 2);
    until(1, "training_starts", false, 0, 0);
    for (size_t i = 0; i < 4; i++) {
        bool uneven = false;

        for (int second = 0; second < 30; second++) {
            int64_t next = sim_now(sim) + 1000;

            for (int rank = 0; rank < 2; rank++)
                rank_tells(rank, cases[i][rank].starved, cases[i][rank].unseen);
            while (sim_now(sim) < next)
                assert_true(sim_step(sim));
            uneven = uneven || strcmp(told(1), "ranks_uneven") == 0;
        }
        assert_int_equal(uneven, i == 3);
    }
    assert_says("its rank 0 waits for samples while the buffer of rank 1 is full");
}

static void parts_of_the_time_are_counted_and_do_not_flutter(void **state)
{
    struct waits w = {0};

    waits_note(&w, &(struct waits_sum){100, 50, 0}, 1, WAITS_SPAN_S);
    assert_false(w.known); /* what was before is not known */
    waits_note(&w, &(struct waits_sum){105, 55, 0}, 1, WAITS_SPAN_S);
    assert_false(w.known); /* too short */
    waits_note(&w, &(struct waits_sum){110, 56, 1}, 1, WAITS_SPAN_S);
    assert_true(w.known && w.for_samples == 0.6 && w.for_room == 0.1 && w.tell_samples && !w.tell_room);
    waits_note(&w, &(struct waits_sum){120, 60, 1}, 1, WAITS_SPAN_S);
    assert_true(w.for_samples == 0.4 && w.tell_samples); /* still */
    waits_note(&w, &(struct waits_sum){130, 62, 1}, 1, WAITS_SPAN_S);
    assert_false(w.tell_samples);
    waits_note(&w, &(struct waits_sum){140, 66, 1}, 1, WAITS_SPAN_S);
    assert_true(w.for_samples == 0.4 && !w.tell_samples); /* not yet again */
    waits_note(&w, &(struct waits_sum){150, 1, 1}, 1, WAITS_SPAN_S); /* other ranks */
    assert_false(w.known || w.tell_samples);
    w = (struct waits){.before = {100, 0, 0}};
    waits_note(&w, &(struct waits_sum){115, 9, 0}, 2, WAITS_SPAN_S);
    assert_false(w.known); /* ten seconds of each rank */
    waits_note(&w, &(struct waits_sum){120, 15, 30}, 2, WAITS_SPAN_S);
    assert_true(w.for_samples == 0.75 && w.for_room == 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_has_paused_it_is_told_and_kept),
        TEST(who_takes_the_slots_is_told),
        TEST(who_has_the_jobs_of_max_jobs_is_told),
        TEST(many_takers_are_summed_up),
        TEST(a_training_that_waits_for_its_turn_says_for_whom),
        TEST(a_queue_that_gives_no_reason_is_told_since_when),
        TEST(who_waits_for_whom_is_told_of_a_training_that_runs),
        TEST(ranks_that_differ_too_much_are_told),
        cmocka_unit_test(parts_of_the_time_are_counted_and_do_not_flutter),
    };

    test_limit(300);
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

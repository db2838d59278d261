/* The width and the ranks of an elastic ensemble follow who waits for whom: decisions by a table, and the policy at
 * work in virtual time. */
#include "common/log.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/spec/spec.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY 10000
#define DAY_MS INT64_C(86400000)

static const struct spec_elastic both = {.width = {4, 200}, .ranks = {1, 4}, .every_ms = EVERY};
static const struct spec_elastic wide = {.width = {4, 200}, .every_ms = EVERY};
static const struct spec_elastic deep = {.ranks = {1, 4}, .every_ms = EVERY};

/* Ranks that wait for samples, of an ensemble of which all places are used. */
static struct elastic_figures starving(int64_t width, int64_t ranks)
{
    return (struct elastic_figures){.for_samples = 0.8, .for_room = 0.05, .width = width, .ranks = ranks, .in_flight = width,
                                    .running = width, .pending = 1000, .ranks_fit = true};
}

static struct elastic_figures full(int64_t width, int64_t ranks)
{
    struct elastic_figures f = starving(width, ranks);

    f.for_samples = 0.05;
    f.for_room = 0.7;
    return f;
}

/* The decision after so many equal measurements. */
static struct elastic_decision after(int n, const struct spec_elastic *limits, struct elastic_state *state,
                                     struct elastic_figures f)
{
    struct elastic_decision decision = {.knob = ELASTIC_NOTHING};

    for (int i = 0; i < n; i++) {
        f.now_ms += EVERY;
        decision = elastic_decide(limits, state, &f);
        if (i < n - 1)
            assert_int_equal(decision.knob, ELASTIC_NOTHING);
    }
    return decision;
}

static void decisions(void **state)
{
    static const struct {
        const struct spec_elastic *limits;
        bool full;
        int64_t width, ranks;
        bool by_hand_width, by_hand_ranks;
        struct elastic_decision is;
    } cases[] = {
        /* ranks wait for samples: more members */
        {&both, false, 4, 1, false, false, {ELASTIC_WIDTH, 6, true}},
        {&both, false, 100, 4, false, false, {ELASTIC_WIDTH, 150, true}},
        {&both, false, 150, 4, false, false, {ELASTIC_WIDTH, 200, true}}, /* no further than the limit */
        {&wide, false, 4, 3, false, false, {ELASTIC_WIDTH, 6, true}},
        /* or, if that is at its limit, fewer ranks */
        {&both, false, 200, 4, false, false, {ELASTIC_RANKS, 3, true}},
        {&both, false, 200, 2, false, false, {ELASTIC_RANKS, 1, true}},
        {&both, false, 200, 1, false, false, {ELASTIC_NOTHING}},
        {&wide, false, 200, 4, false, false, {ELASTIC_NOTHING}},
        {&deep, false, 7, 4, false, false, {ELASTIC_RANKS, 3, true}},
        /* members wait for room: more ranks, or else fewer members */
        {&both, true, 100, 1, false, false, {ELASTIC_RANKS, 2, true}},
        {&both, true, 100, 3, false, false, {ELASTIC_RANKS, 4, true}},
        {&both, true, 100, 4, false, false, {ELASTIC_WIDTH, 67, true}},
        {&both, true, 5, 4, false, false, {ELASTIC_WIDTH, 4, true}},
        {&both, true, 4, 4, false, false, {ELASTIC_NOTHING}},
        {&wide, true, 100, 1, false, false, {ELASTIC_WIDTH, 67, true}},
        {&deep, true, 100, 4, false, false, {ELASTIC_NOTHING}},
        /* what a user has set is left alone */
        {&both, false, 4, 1, true, false, {ELASTIC_NOTHING}},
        {&both, false, 4, 2, true, false, {ELASTIC_RANKS, 1, true}},
        {&both, false, 4, 2, true, true, {ELASTIC_NOTHING}},
        {&both, true, 100, 1, false, true, {ELASTIC_WIDTH, 67, true}},
        /* a user may have set it beyond the limits before; it comes back into them */
        {&both, false, 200, 9, false, false, {ELASTIC_RANKS, 4, true}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct elastic_state s = {.row = {.width_by_hand = cases[i].by_hand_width, .ranks_by_hand = cases[i].by_hand_ranks}};
        struct elastic_figures f = cases[i].full ? full(cases[i].width, cases[i].ranks)
                                                 : starving(cases[i].width, cases[i].ranks);
        struct elastic_decision d = after(ELASTIC_IN_ROW, cases[i].limits, &s, f);

        if (d.knob != cases[i].is.knob || d.to != cases[i].is.to || d.changed != cases[i].is.changed)
            fail_msg("case %zu: %d to %lld", i, d.knob, (long long)d.to);
    }
}

/* What each of these asks for is no reason to change anything. */
static void nothing_is_changed(void **state)
{
    struct elastic_figures f[12];
    size_t n = 0;

    f[n] = starving(100, 1), f[n++].for_samples = 0.49; /* not most of the time */
    f[n] = full(100, 4), f[n++].for_room = 0.49;
    f[n] = starving(100, 1), f[n++].for_room = 0.4; /* both: some ranks have too much, others too little */
    f[n] = full(100, 1), f[n++].for_samples = 0.4;
    f[n] = starving(100, 1), f[n++].in_flight = 99; /* the members have no places */
    f[n] = starving(100, 1), f[n++].running = 74;   /* they wait in a queue */
    f[n] = starving(200, 4), f[n++].running = 74;
    f[n] = starving(100, 1), f[n++].pending = 0; /* no member is left to start */
    f[n] = starving(200, 4), f[n++].pending = 0;
    f[n] = full(100, 4), f[n++].pending = 0;
    f[n] = starving(200, 4), f[n].for_samples = 0, f[n++].repeated = 0.9; /* fewer ranks repeat as many */
    for (size_t i = 0; i < n; i++) {
        struct elastic_state s = {.need = ELASTIC_CONTENT};

        if (after(10, &both, &s, f[i]).knob != ELASTIC_NOTHING)
            fail_msg("case %zu", i);
    }
}

static void samples_drawn_again_ask_for_members(void **state)
{
    struct elastic_figures f = starving(100, 4);
    struct elastic_state s = {.need = ELASTIC_CONTENT};
    struct elastic_decision d;

    f.for_samples = 0;
    f.repeated = 0.6;
    d = after(ELASTIC_IN_ROW, &both, &s, f);
    assert_int_equal(d.knob, ELASTIC_WIDTH);
    assert_int_equal(d.to, 150);
}

static void ranks_without_places_are_not_asked_for(void **state)
{
    struct elastic_figures f = full(100, 1);
    struct elastic_state s = {.need = ELASTIC_CONTENT};

    f.ranks_fit = false;
    assert_int_equal(after(ELASTIC_IN_ROW, &both, &s, f).knob, ELASTIC_WIDTH); /* fewer members then */
    s = (struct elastic_state){.need = ELASTIC_CONTENT};
    assert_int_equal(after(10, &deep, &s, f).knob, ELASTIC_NOTHING);
}

static void one_other_measurement_begins_the_count_anew(void **state)
{
    struct elastic_state s = {.need = ELASTIC_CONTENT};
    struct elastic_figures f = starving(4, 1), content = f;

    content.for_samples = 0.3;
    assert_int_equal(after(ELASTIC_IN_ROW - 1, &both, &s, f).knob, ELASTIC_NOTHING);
    assert_int_equal(after(1, &both, &s, content).knob, ELASTIC_NOTHING);
    assert_int_equal(after(ELASTIC_IN_ROW - 1, &both, &s, f).knob, ELASTIC_NOTHING);
    assert_int_equal(after(1, &both, &s, f).knob, ELASTIC_WIDTH);
}

/* Measures until something is changed. Returns how long that takes, or -1 if it takes longer than that. */
static int64_t until_change(const struct spec_elastic *limits, struct elastic_state *s, struct elastic_figures *f,
                            int64_t at_most)
{
    int64_t began = f->now_ms;

    while (f->now_ms - began < at_most) {
        struct elastic_decision d;

        f->now_ms += EVERY;
        d = elastic_decide(limits, s, f);
        if (d.knob == ELASTIC_WIDTH)
            f->width = d.to;
        if (d.knob == ELASTIC_RANKS)
            f->ranks = d.to;
        if (d.knob != ELASTIC_NOTHING)
            return f->now_ms - began;
    }
    return -1;
}

static void a_change_waits_for_the_last_one_to_take_effect(void **state)
{
    struct elastic_state s = {.need = ELASTIC_CONTENT};
    struct elastic_figures f = starving(4, 1);
    int64_t changed;

    assert_true(until_change(&both, &s, &f, DAY_MS) > 0); /* now 6, of which 4 run */
    changed = f.now_ms;
    assert_int_equal(until_change(&both, &s, &f, 6 * EVERY), -1);
    f.in_flight = f.running = 6; /* that took 7 measurements, and so 5 times as long is paused */
    assert_int_equal(until_change(&both, &s, &f, 35 * EVERY), -1);
    f.in_flight = f.running = 6;
    assert_true(until_change(&both, &s, &f, 5 * EVERY) > 0);
    assert_true(f.now_ms - changed >= 42 * EVERY);
    f.in_flight = f.running = 6; /* of 9: they never get their places */
    assert_int_equal(until_change(&both, &s, &f, DAY_MS), -1);
    f = full(9, 4);
    f.now_ms = 3 * DAY_MS;
    assert_true(until_change(&both, &s, &f, DAY_MS) > 0); /* it has stopped waiting for that */
    assert_int_equal(f.width, 6);
}

/* Whatever is measured: changes to and fro become rare. */
static void changes_to_and_fro_become_rare(void **state)
{
    struct elastic_state s = {.need = ELASTIC_CONTENT};
    int64_t now = 0, width = 4;
    int changes = 0, reversals = 0;

    while (now < 30 * DAY_MS) {
        struct elastic_figures f = changes % 2 == 0 ? starving(width, 1) : full(width, 1);
        struct elastic_decision d;

        f.now_ms = now += EVERY;
        d = elastic_decide(&wide, &s, &f);
        if (d.knob == ELASTIC_NOTHING)
            continue;
        assert_in_range(d.to, 4, 200);
        width = d.to;
        changes++;
        reversals += changes > 1;
    }
    assert_true(reversals >= 5);
    assert_true(changes < 100); /* of 259,200 measurements; the pause grows to 1024 times the least one */
}

/* --- at work */

static char dir[64];
static struct sim *sim;

static int begin(void **state)
{
    static const struct sim_faults calm = {.queue_ms = 1000, .run_ms = 30000, .disk_ms = 10, .answer_ms = 10};

    snprintf(dir, sizeof dir, "%s/stretto-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    sim_memory(true);
    sim = sim_create(1, &calm, dir);
    sim_boot(sim);
    return 0;
}

static int end(void **state)
{
    sim_destroy(sim);
    sim_remove_state(dir);
    return rmdir(dir);
}

/* Members that run for half a minute at most, and ranks each of which keeps up with `pace` of them. */
static int64_t submit(const char *pace, int width, json_t *elastic)
{
    bool ranks = json_object_get(elastic, "ranks") != NULL;
    json_t *spec = json_pack("{s:s, s:s, s:i, s:{s:[s], s:{s:s, s:i, s:i, s:{s:[ii]}}}, s:{s:[s], s:{s:s}, s:o*, s:{s:{s:s, s:[i]}}}, s:o}",
                             "name", "x", "adapter", sim_adapters[1], "width", width, "members", "command", "x", "parameters",
                             "method", "monte-carlo", "count", 4000, "seed", 1, "space", "x", 0, 1, "training", "command", "y",
                             "env", "SIM_PACE", pace, "checkpoint", ranks ? json_object() : NULL, "fields", "u", "dtype", "float32", "shape", 4, "elastic",
                             elastic);
    struct error err;
    int64_t id;

    if (sim_submit(sim, spec, &id, &err) < 0)
        fail_msg("%s %s", err.pointer, err.text);
    assert_int_equal(sim_turn(sim), 0);
    json_decref(spec);
    return id;
}

static void run(int64_t ms)
{
    int64_t until = sim_now(sim) + ms;

    while (sim_now(sim) < until) {
        assert_true(sim_step(sim));
        if (sim_violation(sim) != NULL)
            fail_msg("%s", sim_violation(sim));
    }
    watch_elastic_end(sim);
    if (sim_violation(sim) != NULL)
        fail_msg("%s", sim_violation(sim));
}

#define CHANGES "SELECT count(*) FROM event WHERE kind = 'ensemble.elastic' AND json_extract(detail, '$.knob') = "

static int64_t width_changes(void)
{
    return sim_number(sim, CHANGES "'width'");
}

static int64_t ranks_changes(void)
{
    return sim_number(sim, CHANGES "'ranks'");
}

static int64_t width(void)
{
    return sim_number(sim, "SELECT width FROM ensemble");
}

static void the_width_follows(void **state)
{
    int64_t n;

    submit("20", 2, json_pack("{s:[ii], s:s}", "width", 2, 40, "every", "1s"));
    run(300000); /* 20 samples a second are taken: 11 members make most of them */
    assert_in_range(width(), 9, 40);
    n = width_changes();
    assert_in_range(n, 3, 8);
    run(300000);
    assert_int_equal(width_changes(), n); /* it stays there */
    assert_int_equal(ranks_changes(), 0);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM ensemble WHERE state = 'running'"), 1);
}

static void fewer_members_run_where_they_wait(void **state)
{
    submit("4", 30, json_pack("{s:[ii], s:s}", "width", 2, 30, "every", "1s"));
    run(600000);
    assert_in_range(width(), 2, 8); /* four of them would do */
    assert_true(width_changes() > 0);
}

static void the_ranks_follow(void **state)
{
    double samples, room;

    submit("4", 12, json_pack("{s:[ii], s:[ii], s:s}", "width", 12, 12, "ranks", 1, 8, "every", "1s"));
    run(300000);
    assert_in_range(sim_number(sim, "SELECT ranks FROM training"), 2, 3);
    assert_true(ranks_changes() > 0);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM generation WHERE end = 'resized'"), ranks_changes());
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM generation WHERE end = 'resized' AND reason LIKE "
                                     "'%by \"elastic\" in the spec, since its members waited for room%'"), ranks_changes());
    assert_int_equal(sim_number(sim, "SELECT max(attempts) FROM member"), 1); /* no member runs again */
    assert_true(engine_training_waits(sim_engine(sim), 1, &samples, &room) && room < 0.5);
}

static void fewer_ranks_run_where_they_wait(void **state)
{
    submit("20", 6, json_pack("{s:[ii], s:[ii], s:s}", "width", 2, 6, "ranks", 2, 4, "every", "1s"));
    run(60000);
    assert_int_equal(ranks_changes(), 0); /* two is the least */
}

/* A pause outlives the daemon, and so does what a user has set. */
static void a_daemon_that_dies_changes_nothing(void **state)
{
    struct error err;

    submit("100", 2, json_pack("{s:[ii], s:s}", "width", 2, 20, "every", "1s"));
    for (int i = 0; i < 30; i++) {
        run(10000);
        sim_crash(sim);
        sim_boot(sim);
    }
    assert_int_equal(width(), 20);
    assert_int_equal(engine_resize(sim_engine(sim), 1, 10, ENGINE_SHRINK_LATER, "over the Unix socket", &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    sim_crash(sim);
    sim_boot(sim);
    run(200000);
    assert_int_equal(width(), 10);
    assert_int_equal(sim_number(sim, "SELECT width_by_hand FROM elastic"), 1);
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *elastic, *pointer;
    } cases[] = {
        {"{}", "/elastic"},
        {"{'every': '5s'}", "/elastic"},
        {"{'width': [4]}", "/elastic/width"},
        {"{'width': [4, 5, 6]}", "/elastic/width"},
        {"{'width': [5, 4]}", "/elastic/width"},
        {"{'width': [0, 4]}", "/elastic/width/0"},
        {"{'width': [1, '4']}", "/elastic/width/1"},
        {"{'width': 4}", "/elastic/width"},
        {"{'width': [4, 5]}", "/width"}, /* it says 3 */
        {"{'ranks': [1, 5000]}", "/elastic/ranks/1"},
        {"{'ranks': [2, 3]}", "/training/ranks"}, /* it says 1 */
        {"{'width': [1, 9], 'every': '0s'}", "/elastic/every"},
        {"{'width': [1, 9], 'knob': 1}", "/elastic/knob"},
        {"{'width': [1, 9], 'ranks': [1, 2]}", ""},
        {"{'width': [1, 900], 'ranks': [1, 1]}", ""},
        {"{'width': [1, 900], 'ranks': [1, 2]}", "/training/buffer/capacity"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600], *quote;
        json_t *json;
        struct error err = {.pointer = ""};
        struct spec *spec;

        snprintf(text, sizeof text,
                 "{'name': 'x', 'width': 3, 'members': {'command': ['x'], 'parameters': {'grid': {'a': [1, 2, 3]}}}, 'elastic': %s, "
                 "'training': {'command': ['y'], 'ranks': 1, 'checkpoint': {}, 'fields': {'u': {'dtype': 'float32', 'shape': [1]}}}}",
                 cases[i].elastic);
        while ((quote = strchr(text, '\'')) != NULL)
            *quote = '"';
        json = json_loads(text, 0, NULL);
        assert_non_null(json);
        spec = spec_parse(json, NULL, &err);
        if ((spec == NULL) != (cases[i].pointer[0] != '\0') ||
            (spec == NULL && strcmp(err.pointer, cases[i].pointer) != 0))
            fail_msg("case %zu: %s %s", i, err.pointer, err.text);
        spec_destroy(spec);
        json_decref(json);
    }
}

/* A spec that gives no width, or no ranks, begins within the limits. */
static void what_is_not_given_begins_within_the_limits(void **state)
{
    json_t *json = json_pack("{s:s, s:{s:[s], s:{s:s, s:i, s:{s:[ii]}}}, s:{s:[s], s:{}, s:{s:{s:s, s:[i]}}}, s:{s:[ii], s:[ii]}}",
                             "name", "x", "members", "command", "x", "parameters", "method", "halton", "count", 4000, "space", "x",
                             0, 1, "training", "command", "y", "checkpoint", "fields", "u", "dtype", "float32", "shape", 4,
                             "elastic", "width", 4, 20, "ranks", 2, 3);
    struct error err;
    struct spec *spec = spec_parse(json, NULL, &err);

    assert_non_null(spec);
    assert_int_equal(spec->width, 20);
    assert_int_equal(spec->ranks, 2);
    assert_int_equal(spec->training.resources.copies, 2);
    assert_int_equal(spec->elastic.every_ms, 30000);
    spec_destroy(spec);
    json_object_del(json_object_get(json, "training"), "checkpoint");
    assert_null(spec_parse(json, NULL, &err));
    assert_string_equal(err.pointer, "/elastic/ranks");
    json_object_del(json, "training");
    assert_null(spec_parse(json, NULL, &err));
    assert_string_equal(err.pointer, "/elastic");
    json_decref(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions),
        cmocka_unit_test(nothing_is_changed),
        cmocka_unit_test(samples_drawn_again_ask_for_members),
        cmocka_unit_test(ranks_without_places_are_not_asked_for),
        cmocka_unit_test(one_other_measurement_begins_the_count_anew),
        cmocka_unit_test(a_change_waits_for_the_last_one_to_take_effect),
        cmocka_unit_test(changes_to_and_fro_become_rare),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(what_is_not_given_begins_within_the_limits),
        TEST(the_width_follows),
        TEST(fewer_members_run_where_they_wait),
        TEST(the_ranks_follow),
        TEST(fewer_ranks_run_where_they_wait),
        TEST(a_daemon_that_dies_changes_nothing),
    };

    test_limit(120);
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a spec says in one place, judged by what it says in others, and what is taken where it says nothing. */
#include "common/files.h"
#include "daemon/spec/sizes.h"
#include "daemon/spec/spec.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRAINING "\"training\": {\"command\": [\"t\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [4]}}"
#define GRID(...) "\"parameters\": {\"grid\": {" __VA_ARGS__ "}}"
#define OTHERS "\"command\": [\"true\"]"

/* A spec with these further members of `members` and of itself; both may be "". */
static json_t *spec_of(const char *members, const char *top)
{
    static char text[1 << 14];
    const char *command = strstr(members, "\"command\"") != NULL ? "" : "\"command\": [\"true\"], ";
    const char *parameters = strstr(members, "\"parameters\"") != NULL ? "" : "\"parameters\": {\"grid\": {\"a\": [1, 2]}}";
    json_error_t where;
    json_t *json;

    snprintf(text, sizeof text, "{\"name\": \"x\", \"adapter\": \"batch\", \"members\": {%s%s%s%s}%s%s}", command, parameters,
             members[0] != '\0' && parameters[0] != '\0' ? ", " : "", members, top[0] != '\0' ? ", " : "", top);
    json = json_loads(text, 0, &where);
    if (json == NULL)
        fail_msg("%s: %s", where.text, text);
    return json;
}

static struct spec *read_spec(const char *members, const char *top)
{
    json_t *json = spec_of(members, top);
    struct error err;
    struct spec *spec = spec_parse(json, NULL, &err);

    json_decref(json);
    if (spec == NULL)
        fail_msg("{%s}, %s: %s (%s, %s)", members, top, err.text, err.code, err.pointer);
    return spec;
}

static void what_does_not_fit_together_is_named(void **state)
{
    static const struct {
        const char *members, *top, *code, *pointer; /* code NULL: it is accepted */
    } cases[] = {
        {"", "", NULL, ""},
        {"\"resources\": {\"nodes\": 2}, \"silence\": \"1m\"", "", "spec_impossible_value", "/members/silence"},
        {"\"resources\": {\"nodes\": 1}, \"silence\": \"1m\"", "", NULL, ""},
        {"", TRAINING ", \"silence\": \"1m\"}", "spec_unknown_key", "/training/silence"},
        {"", TRAINING ", \"streams\": \"optional\"}", NULL, ""},
        {"", TRAINING ", \"streams\": \"required\"}", NULL, ""},
        {"", TRAINING ", \"streams\": \"none\"}", "spec_impossible_value", "/training/streams"},
        {"", TRAINING ", \"failure_after\": \"1ms\"}", "spec_impossible_value", "/training/failure_after"},
        {"", TRAINING ", \"failure_after\": \"31d\"}", "spec_impossible_value", "/training/failure_after"},
        {"", TRAINING ", \"resources\": {\"nodes\": 2}, \"failure_after\": \"1m\"}", NULL, ""},
        {"\"success\": {\"file\": \"a/..\"}", "", "spec_impossible_value", "/members/success/file"},
        {"\"success\": {\"file\": \"..\"}", "", "spec_impossible_value", "/members/success/file"},
        {"\"success\": {\"file\": \"a..b/..c/...\"}", "", NULL, ""},
        {"\"env\": {\"A=B\": \"1\"}", "", "spec_impossible_value", "/members/env/A=B"},
        {"\"env\": {\"\": \"1\"}", "", "spec_impossible_value", "/members/env/"},
        {"\"env\": {\"STRETTO\": \"1\"}", "", NULL, ""},
        {"\"command\": [\"\"]", "", "spec_impossible_value", "/members/command/0"},
        {"\"command\": [\"a\", \"\", \"{python}\", \"{seed}\", \"{ensemble}\", \"{attempt}\"]", "", NULL, ""},
        {"\"command\": [\"a\", \"b}\"]", "", "spec_bad_placeholder", "/members/command/1"},
        {"\"command\": [\"a\", \"{b{a}\"]", "", "spec_bad_placeholder", "/members/command/1"},
        {"\"command\": [\"a\", \"{{a}} {{ }} {a}\"]", "", NULL, ""},
        {"\"command\": [\"a\", \"{checkpoint}\"]", "", "spec_unfilled_placeholder", "/members/command/1"},

        {"\"parameters\": {\"method\": \"halton\", \"count\": 2, \"space\": {\"a\": [5, 5]}}", "", "spec_impossible_value",
         "/members/parameters/space/a"},
        {GRID("\"a\": []"), "", "spec_wrong_type", "/members/parameters/grid/a"},
        {GRID("\"a\": [7, null]"), "", "spec_wrong_type", "/members/parameters/grid/a/1"},
        {GRID("\"a\": [[1], {\"b\": [null, true]}]"), "", NULL, ""},
        {GRID("\"a\": [{\"n\": \"x\", \"l\": [1]}, {\"n\": 2, \"l\": [[5]]}]") ", \"command\": [\"{a}\", \"{a.n}{a.l.0}\"]", "", NULL, ""},
        {GRID("\"a\": [{\"n\": \"x\"}, {\"m\": 2}]") ", \"command\": [\"{a.n}\"]", "", "spec_unfilled_placeholder", "/members/command/0"},
        {GRID("\"a\": [[1, 2], [3]]") ", \"command\": [\"{a.1}\"]", "", "spec_unfilled_placeholder", "/members/command/0"},
        {GRID("\"a\": [[1, 2], [3]]") ", \"command\": [\"{a.0}\"]", "", NULL, ""},
        {GRID("\"a\": [1]") ", \"command\": [\"{a.b}\"]", "", "spec_unfilled_placeholder", "/members/command/0"},
        {GRID("\"a\": [[1]]") ", \"command\": [\"{a[0]}\"]", "", "spec_unfilled_placeholder", "/members/command/0"},
        {GRID("\"a\": [1], \"a.b\": [2]") ", \"command\": [\"{a.b}\"]", "", NULL, ""},
        {GRID("\"a\": [1], \"a.b\": [[2]]") ", \"command\": [\"{a.b.0}\"]", "", NULL, ""},
        {"\"parameters\": {\"method\": \"halton\", \"count\": 2, \"space\": {\"a\": [5, 6]}}, \"command\": [\"{a.0}\"]", "",
         "spec_unfilled_placeholder", "/members/command/0"},
        {GRID("\"a\": [[\"x\"]]") ", \"artefacts\": [\"m\"], \"results\": \"results/{a.0}\"", "", NULL, ""},
        {GRID("\"a\": [[\"x\"]]") ", \"artefacts\": [\"m\"], \"results\": \"results/{a.1}\"", "", "spec_unfilled_placeholder",
         "/members/results"},
        {GRID("\"a\": [{\"t\": 2}, {\"t\": 3}]") ", \"resources\": {\"tasks\": \"{a.t}\"}", "", NULL, ""},
        {GRID("\"a\": [{\"t\": 2}, {\"t\": \"x\"}]") ", \"resources\": {\"tasks\": \"{a.t}\"}", "", "spec_impossible_value",
         "/members/resources/tasks"},
        {"\"parameters\": {\"grid\": {\"a\": [1]}, \"count\": 3}", "", "spec_unknown_key", "/members/parameters/count"},
        {"\"parameters\": {\"space\": {\"a\": [1, 2]}, \"method\": \"halton\", \"count\": 1000000001}", "", "spec_impossible_value",
         "/members/parameters/count"},

        {"\"checkpoint\": {\"before\": \"1m\"}", "", "spec_missing_key", "/members/resources/walltime"},
        {"\"resources\": {\"walltime\": \"10m\"}, \"checkpoint\": {\"before\": \"10m\"}", "", "spec_impossible_value",
         "/members/checkpoint/before"},
        {"\"resources\": {\"walltime\": \"10m\"}, \"checkpoint\": {\"before\": \"599s\", \"signal\": \"USR1\"}", "", NULL, ""},
        {"\"resources\": {\"walltime\": \"10m\"}, \"checkpoint\": {\"signal\": \"USR1\"}", "", "spec_missing_key",
         "/members/checkpoint/before"},
        {"", TRAINING ", \"checkpoint\": {}}", NULL, ""},
        {"", TRAINING ", \"checkpoint\": []}", "spec_wrong_type", "/training/checkpoint"},
        {"", TRAINING ", \"checkpoint\": {\"glob\": \"*\"}}", "spec_unknown_key", "/training/checkpoint/glob"},
        {"", TRAINING ", \"checkpoint\": {\"every\": \"0s\"}}", "spec_impossible_value", "/training/checkpoint/every"},
        {"", TRAINING ", \"checkpoint\": {\"keep\": 0}}", "spec_impossible_value", "/training/checkpoint/keep"},
        {"", TRAINING ", \"checkpoint\": {\"keep\": 1001}}", "spec_impossible_value", "/training/checkpoint/keep"},
        {"\"resources\": {\"walltime\": \"10m\"}", TRAINING ", \"checkpoint\": {\"before\": \"1m\"}}", "spec_missing_key",
         "/training/resources/walltime"},
        {"", TRAINING ", \"resources\": {\"walltime\": \"1m\"}, \"checkpoint\": {\"before\": \"1m\"}}", "spec_impossible_value",
         "/training/checkpoint/before"},
        {"", TRAINING ", \"resources\": {\"walltime\": \"1m\"}, \"checkpoint\": {\"signal\": \"USR1\"}}", "spec_missing_key",
         "/training/checkpoint/before"},
        {"", TRAINING ", \"resources\": {\"walltime\": \"1m\"}, \"checkpoint\": {\"before\": \"1s\", \"signal\": \"KILL\"}}",
         "spec_impossible_value", "/training/checkpoint/signal"},
        {"\"resources\": {\"walltime\": \"10m\"}, \"checkpoint\": {\"before\": \"1m\", \"signal\": \"KILL\"}", "", "spec_impossible_value",
         "/members/checkpoint/signal"},
        {"\"checkpoint\": {\"resume\": [\"--from\", \"{checkpoint}\", \"{a}\"]}", "", NULL, ""},
        {"\"checkpoint\": {\"resume\": [\"--from\", \"{path}\"]}", "", "spec_unfilled_placeholder", "/members/checkpoint/resume/1"},
        {"\"checkpoint\": {\"glob\": \"../*.ckpt\"}", "", "spec_impossible_value", "/members/checkpoint/glob"},

        {"", "\"start\": \"members-first\"", "spec_impossible_value", "/start"},
        {"", "\"start\": \"members-first\", " TRAINING "}", NULL, ""},
        {"", "\"follow_up\": {\"auto\": true}, " TRAINING "}", "spec_impossible_value", "/follow_up/auto"},
        {"", "\"follow_up\": {\"auto\": false}, " TRAINING "}", NULL, ""},
        {"", "\"width\": 4, " TRAINING ", \"ranks\": 2, \"buffer\": {\"capacity\": 17, \"threshold\": 10, \"batch\": 1}}",
         "spec_impossible_value", "/training/buffer/capacity"},
        {"", "\"width\": 4, " TRAINING ", \"ranks\": 2, \"buffer\": {\"capacity\": 18, \"threshold\": 10, \"batch\": 1}}", NULL, ""},
        {"", "\"width\": 4, " TRAINING ", \"ranks\": 1, \"buffer\": {\"capacity\": 1, \"threshold\": 1}}", NULL, ""},
        {"", "\"training\": {\"command\": [\"t\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [536870913]}}}",
         "spec_impossible_value", "/training/fields/u/shape"},
        {"", "\"training\": {\"command\": [\"t\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [536870912]}}}", NULL, ""},
        {"", "\"training\": {\"command\": [\"t\"], \"fields\": {\"u\": {\"dtype\": \"uint8\", \"shape\": [1, 1, 1, 1, 1]}}}",
         "spec_impossible_value", "/training/fields/u/shape"},
        {"", "\"training\": {\"command\": [\"t\"], \"fields\": {\"2u\": {\"dtype\": \"uint8\", \"shape\": [1]}}}", "spec_impossible_value",
         "/training/fields/2u"},

        {"\"resources\": {\"nodes\": 2}", "\"allocation\": {}", "spec_unsupported", "/members/resources/nodes"},
        {"\"resources\": {\"exclusive\": true}", "\"pack\": 2", NULL, ""},
        {"\"resources\": {\"exclusive\": true}", "\"allocation\": {}", "spec_unsupported", "/members/resources/exclusive"},
        {"\"resources\": {\"exclusive\": true}", "\"pack\": 2, \"refill\": true", "spec_unsupported", "/members/resources/exclusive"},
        {"\"resources\": {\"exclusive\": false}", "\"allocation\": {}", NULL, ""},
        {"\"resources\": {\"tasks\": 2, \"cpus_per_task\": 2}", "\"pack\": 2, \"allocation\": {\"cpus\": 8}", NULL, ""},
        {"\"resources\": {\"tasks\": 2, \"cpus_per_task\": 2}", "\"pack\": 2, \"allocation\": {\"cpus\": 7}", "resources_impossible", "/pack"},
        {"\"resources\": {\"tasks\": 2, \"cpus_per_task\": 2}", "\"allocation\": {\"cpus\": 3}", "resources_impossible",
         "/members/resources/tasks"},
        {"\"resources\": {\"gpus\": 1}", "\"pack\": 2, \"allocation\": {\"gpus\": 1}", "resources_impossible", "/pack"},
        {"\"resources\": {\"gpus\": 1}", "\"pack\": 2, \"allocation\": {\"gpus\": 2}", NULL, ""},
        {"\"resources\": {\"gpus\": 1}", "\"allocation\": {}", "resources_impossible", "/members/resources/gpus"},
        {"\"resources\": {\"memory\": \"1GiB\"}", "\"pack\": 2, \"allocation\": {\"memory\": \"2GiB\"}", NULL, ""},
        {"\"resources\": {\"memory\": \"1GiB\"}", "\"pack\": 2, \"allocation\": {\"memory\": \"2047MiB\"}", "resources_impossible", "/pack"},
        {"\"resources\": {\"memory\": \"1GiB\"}", "\"allocation\": {\"memory\": \"1023MiB\"}", "resources_impossible",
         "/members/resources/memory"},
        {"", "\"allocation\": {\"walltime\": \"1h\"}", "spec_missing_key", "/members/resources/walltime"},
        {"\"resources\": {\"walltime\": \"1h\"}", "\"allocation\": {\"walltime\": \"1h\"}", NULL, ""},
        {"\"resources\": {\"walltime\": \"3601s\"}", "\"allocation\": {\"walltime\": \"1h\"}", "resources_impossible",
         "/members/resources/walltime"},
        {"", "\"refill\": true, \"allocation\": {}", "spec_impossible_value", "/refill"},
        {"", "\"refill\": true, " TRAINING "}", "spec_unsupported", "/refill"},
        {"\"resources\": {\"nodes\": 2}", "\"refill\": true", "spec_unsupported", "/refill"},
        {"\"resources\": {\"walltime\": \"1h\"}", "\"refill\": true", "spec_missing_key", "/members/checkpoint/before"},
        {"\"resources\": {\"memory\": \"8388607TiB\"}", "\"refill\": true, \"pack\": 2", "spec_impossible_value", "/pack"},
        {"", "\"max_same_failures\": 101", "spec_impossible_value", "/max_same_failures"},
        {"", "\"max_failures\": 0", "spec_impossible_value", "/max_failures"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = spec_of(cases[i].members, cases[i].top);
        struct error err = {.code = "accepted"};
        struct spec *spec = spec_parse(json, NULL, &err);

        json_decref(json);
        if ((cases[i].code == NULL) != (spec != NULL) ||
            (spec == NULL && (strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0)))
            fail_msg("{%s} %s: %s at %s (%s)", cases[i].members, cases[i].top, err.code, err.pointer, err.text);
        spec_destroy(spec);
    }
}

/* Names of parameters are those of placeholders, and none of the daemon's own. */
static void names_of_parameters(void **state)
{
    static const struct {
        const char *name;
        bool taken;
    } cases[] = {{"index", true}, {"seed", true}, {"ensemble", true}, {"attempt", true}, {"checkpoint", true}, {"Index", false}, {"python", false},
                 {"a b", true}, {"a{", true}, {"a}", true}, {"a=b", true}, {"", true}, {"\\u0001", true}, {"\\u007f", true}, {"\xc3\xa4.-/+", false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[128];
        struct error err;
        struct spec *spec;
        json_t *json;

        snprintf(members, sizeof members, GRID("\"%s\": [1]"), cases[i].name);
        json = spec_of(members, "");
        spec = spec_parse(json, NULL, &err);
        if ((spec == NULL) != cases[i].taken)
            fail_msg("\"%s\": %s", cases[i].name, spec == NULL ? err.text : "accepted");
        spec_destroy(spec);
        json_decref(json);
    }
}

/* What a follow-up would have otherwise is judged, and named as the caller has written it. */
static void changes_of_a_follow_up_are_judged(void **state)
{
    static const struct {
        const char *changes, *code, *pointer; /* code NULL: they are possible */
    } cases[] = {
        {"{}", NULL, ""},
        {"{\"width\": 3, \"pack\": 2, \"adapter\": \"other\", \"resources\": {\"walltime\": \"2h\"}, \"states\": [\"failed\"]}", NULL, ""},
        {"{\"width\": null, \"pack\": null, \"adapter\": null}", NULL, ""},
        {"{\"width\": 0}", "spec_impossible_value", "/width"},
        {"{\"adapter\": 7}", "spec_wrong_type", "/adapter"},
        {"{\"resources\": []}", "spec_wrong_type", "/resources"},
        {"{\"resources\": {\"walltime\": \"soon\"}}", "spec_impossible_value", "/resources/walltime"},
        {"{\"resources\": {\"cores\": 1}}", "spec_unknown_key", "/resources/cores"},
        {"{\"members\": {}}", "spec_unknown_key", "/members"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *changes = json_loads(cases[i].changes, 0, NULL);
        struct error err = {.code = ""};
        int rc = spec_follow_up_check(changes, &err);

        if ((rc == 0) != (cases[i].code == NULL) || (rc < 0 && (strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0)))
            fail_msg("%s: %s at %s (%s)", cases[i].changes, err.code, err.pointer, err.text);
        json_decref(changes);
    }
}

/* What is null is not asked for, and stays as it was: it does not become what is usual. */
static void changes_that_are_null_change_nothing(void **state)
{
    json_t *json = spec_of("", "\"width\": 7, \"pack\": 2"), *changes = json_loads("{\"width\": null, \"pack\": null, \"adapter\": null}", 0, NULL);
    struct error err;
    json_t *followed = spec_follow_up(json, changes, &err);

    assert_true(json_equal(followed, json));
    json_decref(followed);
    json_decref(changes);
    json_decref(json);
}

static void a_name_is_one_line(void **state)
{
    static const char *const wrong[] = {"a\nb", "a\tb", "\x1b[2J", "\x7f"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *json = spec_of("", "");
        struct error err;

        json_object_set_new(json, "name", json_string(wrong[i]));
        assert_null(spec_parse(json, NULL, &err));
        assert_string_equal(err.pointer, "/name");
        json_decref(json);
    }
}

static void what_is_not_said_is_usual(void **state)
{
    struct spec *spec = read_spec("", "");

    assert_true(spec->width == 2 && spec->pack == 1 && spec->share == 1 && spec->retries == 3 && spec->max_failures == 0);
    assert_true(spec->members.resources.nodes == 1 && spec->members.resources.tasks == 1 && spec->members.resources.cpus_per_task == 1);
    assert_true(spec->members.grace_ms == 10000 && spec->members.silence_ms == 0 && spec->members.resources.copies == 1);
    assert_true(!spec->refill && !spec->follows_up && spec->follow_ups == SPEC_FOLLOW_UPS && !spec->has_allocation && !spec->has_training);
    assert_int_equal(spec->same_failures, 0);
    assert_false(spec->checkpoint.any);
    assert_int_equal(spec_least_time_ms(spec), 0);
    spec_destroy(spec);

    spec = read_spec("\"checkpoint\": {}", "\"pack\": 3, \"width\": 7, \"max_failures\": 1");
    assert_true(spec->checkpoint.any && spec->checkpoint.keep == 2 && spec->checkpoint.attempts == 3);
    assert_true(spec->pack == 3 && spec->members.resources.copies == 3 && spec->width == 7 && spec->max_failures == 1);
    spec_destroy(spec);

    spec = read_spec("\"resources\": {\"walltime\": \"1h\"}, \"checkpoint\": {\"before\": \"1m\", \"signal\": \"USR2\", \"grace\": \"7s\","
                     " \"keep\": 4, \"attempts\": 5, \"glob\": \"*.c\"}, \"retries\": 0", "");
    assert_true(spec->checkpoint.before_ms == 60000 && spec->checkpoint.signal == SIGUSR2 && spec->members.grace_ms == 7000);
    assert_true(spec->checkpoint.keep == 4 && spec->checkpoint.attempts == 5 && spec->retries == 0);
    assert_string_equal(spec->checkpoint.glob, "*.c");
    spec_destroy(spec);
}

/* Stopped ranks fail sooner than those without a sign of life; on several nodes, nobody sees all processes. */
static void ranks_fail_after_a_time(void **state)
{
    struct spec *spec = read_spec("", TRAINING ", \"failure_after\": \"2m\"}");

    assert_int_equal(spec->failure_after_ms, 120000);
    assert_int_equal(spec->training.stopped_ms, 120000);
    assert_int_equal(spec->training.silence_ms, 1800000);
    spec_destroy(spec);
    spec = read_spec("", TRAINING ", \"resources\": {\"nodes\": 2}, \"failure_after\": \"2m\"}");
    assert_true(spec->failure_after_ms == 120000 && spec->training.stopped_ms == 0 && spec->training.silence_ms == 0);
    spec_destroy(spec);
}

static int64_t same_failures(int64_t count, const char *top)
{
    char members[160];
    struct spec *spec;
    int64_t n;

    snprintf(members, sizeof members, "\"parameters\": {\"method\": \"halton\", \"count\": %lld, \"space\": {\"a\": [0, 1]}}", (long long)count);
    spec = read_spec(members, top);
    n = spec->same_failures;
    assert_int_equal(spec->width, count < 100 ? count : 100);
    spec_destroy(spec);
    return n;
}

static void so_many_failures_alike_pause_an_ensemble(void **state)
{
    assert_int_equal(same_failures(SPEC_SAME_FAILURES_FROM - 1, ""), 0);
    assert_int_equal(same_failures(SPEC_SAME_FAILURES_FROM, ""), SPEC_SAME_FAILURES);
    assert_int_equal(same_failures(1000, "\"max_same_failures\": null"), 0);
    assert_int_equal(same_failures(1000, "\"max_same_failures\": 0"), 0);
    assert_int_equal(same_failures(3, "\"max_same_failures\": 2"), 2);
}

static void a_training_is_completed(void **state)
{
    struct spec *spec = read_spec("", TRAINING "}");

    assert_true(spec->ranks == 1 && spec->training_retries == 1 && spec->steps == 0 && !spec->members_first);
    assert_string_equal(spec->training_adapter, "batch");
    assert_true(spec_trains_beside(spec));
    assert_true(spec->training.resources.together && !spec->members.resources.together);
    assert_string_equal(json_string_value(json_object_get(spec->buffer, "policy")), "reservoir");
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "capacity")), 1000);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "threshold")), 166);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "batch")), 10);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "seed")), 0);
    spec_destroy(spec);

    spec = read_spec("", TRAINING ", \"adapter\": \"other\", \"ranks\": 3, \"retries\": 0, \"steps\": 9, \"buffer\": {\"policy\": \"firo\", "
                         "\"capacity\": 50, \"threshold\": 7, \"batch\": 3, \"seed\": 11}}");
    assert_string_equal(spec->training_adapter, "other");
    assert_false(spec_trains_beside(spec));
    assert_true(spec->ranks == 3 && spec->training.resources.copies == 3 && spec->training_retries == 0 && spec->steps == 9);
    assert_string_equal(json_string_value(json_object_get(spec->buffer, "policy")), "firo");
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "capacity")), 50);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "threshold")), 7);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "batch")), 3);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "seed")), 11);
    spec_destroy(spec);
}

static void an_allocation_is_asked_for_whole(void **state)
{
    struct spec *spec = read_spec("\"resources\": {\"queue\": \"q\", \"account\": \"a\", \"gpus\": 2, \"memory\": \"1GiB\"}",
                                  "\"allocation\": {\"nodes\": 3, \"cpus\": 4, \"gpus\": 2, \"memory\": \"2GiB\", \"count\": 5, \"idle\": \"2m\"}");
    const struct adapter_resources *r = &spec->allocation.resources;

    assert_true(spec->has_allocation && spec->allocation.count == 5 && spec->allocation.idle_ms == 120000);
    assert_int_equal(spec->allocation.grace_ms, 20000);
    assert_true(r->nodes == 3 && r->tasks == 3 && r->copies == 1 && r->each_node && r->cpus_per_task == 4 && !r->whole_nodes);
    assert_int_equal(r->gpus, 6);
    assert_int_equal(r->memory, INT64_C(6) << 30);
    assert_string_equal(r->queue, "q");
    assert_string_equal(r->account, "a");
    spec_destroy(spec);

    spec = read_spec("\"resources\": {\"queue\": \"q\", \"account\": \"a\"}",
                     "\"allocation\": {\"queue\": \"r\", \"account\": \"b\", \"nodes\": 2, \"launcher\": [\"aprun\"]}");
    r = &spec->allocation.resources;
    assert_string_equal(r->queue, "r");
    assert_string_equal(r->account, "b");
    assert_true(r->whole_nodes && !r->each_node && r->walltime_ms == 0 && r->memory == 0);
    assert_true(spec->allocation.count == 1 && spec->allocation.idle_ms == 60000);
    spec_destroy(spec);

    spec = read_spec("\"resources\": {\"queue\": \"q\", \"tasks\": 2, \"cpus_per_task\": 3, \"gpus\": 1, \"walltime\": \"1h\"}, "
                     "\"checkpoint\": {\"before\": \"1m\", \"grace\": \"5s\"}", "\"refill\": true, \"pack\": 4");
    r = &spec->allocation.resources;
    assert_true(r->nodes == 1 && r->tasks == 1 && r->copies == 1 && r->cpus_per_task == 24 && r->gpus == 4 && r->walltime_ms == 3600000);
    assert_true(spec->allocation.cpus == 24 && spec->allocation.gpus == 4 && spec->allocation.grace_ms == 15000);
    assert_string_equal(r->queue, "q");
    assert_true(spec->pack == 1 && spec->members.resources.copies == 1 && spec->members.resources.gpus == 1);
    spec_destroy(spec);
}

/* A spec whose members have an argument of so many bytes, and an environment of so many variables. */
static void sizes_are(size_t argument, size_t variables, size_t variable, int64_t pack, const char *pointer)
{
    json_t *json = spec_of(OTHERS ", " GRID("\"a\": [\"x\"]"), ""), *members = json_object_get(json, "members"), *env = json_object();
    char *text = calloc(1, (argument > variable ? argument : variable) + 8), name[32];
    struct error err = {.pointer = "accepted"};
    struct spec *spec;
    int rc;

    memset(text, 'y', argument);
    memcpy(text + (argument > 3 ? argument - 1 : 0), "{a}", argument > 3 ? 3 : 0); /* of one byte, once it is filled */
    json_array_append_new(json_object_get(members, "command"), json_string(text));
    memset(text, 'z', variable);
    text[variable] = '\0';
    for (size_t i = 0; i < variables; i++) {
        snprintf(name, sizeof name, "V%05zu", i);
        json_object_set_new(env, name, json_string(text));
    }
    json_object_set_new(members, "env", env);
    json_object_set_new(json, "pack", json_integer(pack));
    spec = spec_parse(json, NULL, &err);
    assert_non_null(spec);
    rc = spec_check_sizes(spec, &err);
    if (strcmp(rc < 0 ? err.pointer : "", pointer) != 0)
        fail_msg("%zu, %zu × %zu, %d: %s, not %s (%s)", argument, variables, variable, (int)pack, rc < 0 ? err.pointer : "accepted", pointer,
                 rc < 0 ? err.text : "");
    spec_destroy(spec);
    json_decref(json);
    free(text);
}

static void what_no_program_can_be_given_is_refused(void **state)
{
    size_t much = SIZES_STRING_MAX;

    sizes_are(much, 0, 0, 1, "");
    sizes_are(much + 1, 0, 0, 1, "/members/command/1");
    sizes_are(1, 1, much - strlen("V00000="), 1, "");
    sizes_are(1, 1, much - strlen("V00000=") + 1, 1, "/members/env/V00000");
    sizes_are(1, 15, much - 100, 1, "");
    sizes_are(1, 17, much - 100, 1, "/members"); /* 2 MiB together */
    sizes_are(1, 8, much - 100, 50, "");
    sizes_are(1, 8, much - 100, 80, "/pack"); /* 64 MiB together */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_together_is_named),
        cmocka_unit_test(names_of_parameters),
        cmocka_unit_test(changes_of_a_follow_up_are_judged),
        cmocka_unit_test(changes_that_are_null_change_nothing),
        cmocka_unit_test(a_name_is_one_line),
        cmocka_unit_test(what_is_not_said_is_usual),
        cmocka_unit_test(ranks_fail_after_a_time),
        cmocka_unit_test(so_many_failures_alike_pause_an_ensemble),
        cmocka_unit_test(a_training_is_completed),
        cmocka_unit_test(an_allocation_is_asked_for_whole),
        cmocka_unit_test(what_no_program_can_be_given_is_refused),
    };

    test_limit(12);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

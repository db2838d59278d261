/* What the numbers of a spec may be, at their least and their most, and that each arrives where it is used. */
#include "daemon/spec/results.h"
#include "daemon/spec/sizes.h"
#include "daemon/spec/template.h"
#include "daemon/spec/value.h"
#include "tests/unit/spec_cases.h"

/* The least and the most that a number may be. */
static void numbers_have_their_bounds(void **state)
{
    static const struct refusal of_members[] = {
        {"\"retries\": 0", NULL, ""},
        {"\"retries\": 1000", NULL, ""},
        {"\"retries\": 1001", "spec_impossible_value", "/members/retries"},
        {"\"retries\": -1", "spec_impossible_value", "/members/retries"},
        {"\"silence\": \"1s\"", NULL, ""},
        {"\"silence\": \"999ms\"", "spec_impossible_value", "/members/silence"},
        {"\"resources\": {\"nodes\": 1, \"tasks\": 1, \"cpus_per_task\": 1, \"gpus\": 0, \"walltime\": \"1s\"}", NULL, ""},
        {"\"resources\": {\"nodes\": 1000000, \"tasks\": 100000, \"cpus_per_task\": 10000, \"gpus\": 10000}", NULL, ""},
        {"\"resources\": {\"nodes\": 0}", "spec_impossible_value", "/members/resources/nodes"},
        {"\"resources\": {\"tasks\": 0}", "spec_impossible_value", "/members/resources/tasks"},
        {"\"resources\": {\"cpus_per_task\": 0}", "spec_impossible_value", "/members/resources/cpus_per_task"},
        {"\"resources\": {\"gpus\": -1}", "spec_impossible_value", "/members/resources/gpus"},
        {"\"resources\": {\"nodes\": 1000001}", "spec_impossible_value", "/members/resources/nodes"},
        {"\"resources\": {\"tasks\": 100001}", "spec_impossible_value", "/members/resources/tasks"},
        {"\"resources\": {\"cpus_per_task\": 10001}", "spec_impossible_value", "/members/resources/cpus_per_task"},
        {"\"resources\": {\"gpus\": 10001}", "spec_impossible_value", "/members/resources/gpus"},
        {"\"resources\": {\"walltime\": \"999ms\"}", "spec_impossible_value", "/members/resources/walltime"},
        {"\"resources\": {\"extra\": [7]}", "spec_wrong_type", "/members/resources/extra/0"},
        {"\"resources\": {\"extra\": []}", NULL, ""},
        {"\"resources\": {\"launcher\": \"\"}", "spec_impossible_value", "/members/resources/launcher"},
        {"\"resources\": {\"launcher\": [\"\"]}", "spec_impossible_value", "/members/resources/launcher/0"},
        {"\"resources\": {\"launcher\": [\"copies\"]}", "spec_impossible_value", "/members/resources/launcher/0"},
        {"\"resources\": {\"launcher\": [\"x\", \"\", \"copies\"]}", NULL, ""},
        {"\"resources\": {\"launcher\": [\"x\", \"{nodes}{tasks}{cpus_per_task}{gpus}{hosts}{hostfile}{master_addr}{master_port}{a}\"]}", NULL, ""},
        {"\"resources\": {\"launcher\": [\"x\", \"{node}\"]}", "spec_unfilled_placeholder", "/members/resources/launcher/1"},
        {"\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 1}", "spec_impossible_value", "/members/resources/tasks"},
        {"\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", NULL, ""},
        {"\"resources\": {\"launcher\": \"srun\", \"nodes\": 2, \"tasks\": 1}", NULL, ""},
        {"\"resources\": {\"walltime\": \"1m\"}, \"checkpoint\": {\"before\": \"1ms\", \"keep\": 1, \"attempts\": 1}", NULL, ""},
        {"\"checkpoint\": {\"keep\": 0}", "spec_impossible_value", "/members/checkpoint/keep"},
        {"\"checkpoint\": {\"attempts\": 0}", "spec_impossible_value", "/members/checkpoint/attempts"},
        {"\"checkpoint\": {\"attempts\": 1001}", "spec_impossible_value", "/members/checkpoint/attempts"},
        {"\"output\": \"merged\"", NULL, ""},
        {"\"output\": \"both\"", "spec_impossible_value", "/members/output"},
        {"\"umask\": \"0027\"", NULL, ""},
        {"\"umask\": \"0700\"", "spec_impossible_value", "/members/umask"},
        {"\"env\": {\"A\": 1}", "spec_wrong_type", "/members/env/A"},
        {"\"env\": {\"STRETTO_X\": \"1\"}", "spec_impossible_value", "/members/env/STRETTO_X"},
        {"\"env\": {\"A\": \"{until}\"}", "spec_unfilled_placeholder", "/members/env/A"}, /* only members that pause know it */
    };
    static const struct refusal of_specs[] = {
        {"\"share\": 1", NULL, ""},
        {"\"share\": 1000", NULL, ""},
        {"\"share\": 0", "spec_impossible_value", "/share"},
        {"\"share\": 1001", "spec_impossible_value", "/share"},
        {"\"width\": 1000000", NULL, ""},
        {"\"width\": 1000001", "spec_impossible_value", "/width"},
        {"\"width\": 0", "spec_impossible_value", "/width"},
        {"\"pack\": 10000", NULL, ""},
        {"\"pack\": 10001", "spec_impossible_value", "/pack"},
        {"\"pack\": 0", "spec_impossible_value", "/pack"},
        {"\"max_failures\": 1", NULL, ""},
        {"\"start\": 7", "spec_wrong_type", "/start"},
        {"\"start\": \"last\"", "spec_impossible_value", "/start"},
        {"\"start\": \"training-first\"", NULL, ""},
        {"\"follow_up\": []", "spec_wrong_type", "/follow_up"},
        {"\"follow_up\": {\"max\": 1}", NULL, ""},
        {"\"follow_up\": {\"max\": 10000}", NULL, ""},
        {"\"follow_up\": {\"max\": 0}", "spec_impossible_value", "/follow_up/max"},
        {"\"follow_up\": {\"max\": 10001}", "spec_impossible_value", "/follow_up/max"},
        {"\"allocation\": {\"nodes\": 1, \"count\": 1, \"cpus\": 1, \"gpus\": 0, \"idle\": \"0s\"}", NULL, ""},
        {"\"allocation\": {\"nodes\": 0}", "spec_impossible_value", "/allocation/nodes"},
        {"\"allocation\": {\"nodes\": 100001}", "spec_impossible_value", "/allocation/nodes"},
        {"\"allocation\": {\"count\": 0}", "spec_impossible_value", "/allocation/count"},
        {"\"allocation\": {\"cpus\": 0}", "spec_impossible_value", "/allocation/cpus"},
        {"\"allocation\": {\"cpus\": 10001}", "spec_impossible_value", "/allocation/cpus"},
        {"\"allocation\": {\"gpus\": 10001}", "spec_impossible_value", "/allocation/gpus"},
        {"\"allocation\": {\"walltime\": \"999ms\"}", "spec_impossible_value", "/allocation/walltime"},
        {"\"allocation\": {\"extra\": [7]}", "spec_wrong_type", "/allocation/extra/0"},
        {"\"allocation\": {\"launcher\": []}", "spec_impossible_value", "/allocation/launcher"},
        {"\"allocation\": {\"node\": 1}", "spec_unknown_key", "/allocation/node"},
    };
    static const struct refusal of_trainings[] = {
        {"\"retries\": 1000", NULL, ""},
        {"\"retries\": 1001", "spec_impossible_value", "/training/retries"},
        {"\"ranks\": 0", "spec_impossible_value", "/training/ranks"},
        {"\"ranks\": 1025", "spec_impossible_value", "/training/ranks"},
        {"\"steps\": 0", "spec_impossible_value", "/training/steps"},
        {"\"steps\": 2147483647", NULL, ""},
        {"\"steps\": 2147483648", "spec_impossible_value", "/training/steps"},
        {"\"checkpoint\": {\"retain\": 0}", NULL, ""},
        {"\"checkpoint\": {\"retain\": -1}", "spec_impossible_value", "/training/checkpoint/retain"},
        {"\"checkpoint\": {\"exact\": false}", "spec_unknown_key", "/training/checkpoint/exact"},
        {"\"checkpoint\": {\"every\": \"1ms\"}", NULL, ""},
        {"\"command\": [\"{a}\"]", "spec_unfilled_placeholder", "/training/command/0"},
        {"\"command\": [\"x\", \"{python}\"]", "spec_unfilled_placeholder", "/training/command/1"},
        {"\"resources\": {\"launcher\": \"copies\"}", "spec_impossible_value", "/training/resources/launcher"},
        {"\"failure_after\": \"1s\"", NULL, ""},
        {"\"failure_after\": \"30d\"", NULL, ""},
        {"\"output\": \"merged\"", NULL, ""},
    };
    char name[300], top[100];
    struct error err;
    struct spec *spec;
    json_t *json;

    JUDGED("%s", true, of_members);
    JUDGED("%s", false, of_specs);
    JUDGED("\"training\": {\"command\": [\"t\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [4]}}, %s}",
           false, of_trainings);
    assert_null(parse("\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", "\"pack\": 2", &err));
    assert_string_equal(err.pointer, "/pack"); /* since each needs all CPUs of its nodes */
    spec = accepted("\"resources\": {\"launcher\": \"copies\", \"nodes\": 1, \"tasks\": 2}", "\"pack\": 2");
    spec_destroy(spec);
    spec = accepted("\"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", "\"pack\": 1");
    spec_destroy(spec);
    assert_null(parse("\"resources\": {\"memory\": \"3GiB\"}", "\"pack\": 2, \"allocation\": {\"memory\": \"3GiB\"}", &err));
    assert_string_equal(err.pointer, "/pack"); /* one has room, two have not */

    for (int n = 200; n <= 201; n++) {
        memset(name, 'x', 300);
        name[1] = ' ';
        name[n] = '\0';
        json = json_pack("{s:s, s:{s:[s]}}", "name", name, "members", "command", "true");
        spec = spec_parse(json, NULL, &err);
        assert_int_equal(spec != NULL, n == 200);
        if (spec != NULL) {
            assert_string_equal(spec->adapter, "local");
            assert_int_equal(params_count(spec->params), 1);
        }
        spec_destroy(spec);
        json_decref(json);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const rules[] = {"asha", "asha-stop", "median"};

        snprintf(top, sizeof top, "\"early_stopping\": {\"rule\": \"%s\", \"metric\": \"l\", \"rungs\": {\"max\": 9}}",
                 rules[i]);
        spec = parse("\"env\": {\"UNTIL\": \"{until}\"}", top, &err);
        assert_int_equal(spec != NULL, i == 0);
        spec_destroy(spec);
    }
}

/* What is asked for is what the adapter gets. */
static void words_and_numbers_arrive(void **state)
{
    struct spec *spec = accepted("\"resources\": {\"nodes\": 3, \"tasks\": 7, \"cpus_per_task\": 2, \"gpus\": 5, \"memory\": \"6KiB\", \"walltime\": \"8s\", "
                                 "\"queue\": \"q\", \"account\": \"a\", \"launcher\": [\"mpi\", \"-n\"], \"extra\": [\"e\", \"f\"], \"exclusive\": true, \"tmpdir\": true}, "
                                 "\"output\": \"merged\", \"umask\": \"0022\", \"retries\": 9", "\"share\": 4, \"follow_up\": {\"auto\": true, \"max\": 6}");
    const struct adapter_resources *r = &spec->members.resources;

    assert_true(r->nodes == 3 && r->tasks == 7 && r->cpus_per_task == 2 && r->gpus == 5 && r->memory == 6144 &&
                r->walltime_ms == 8000);
    assert_string_equal(r->queue, "q");
    assert_string_equal(r->account, "a");
    assert_string_equal(r->launcher, "mpi");
    assert_int_equal(json_array_size(r->launch), 2);
    assert_string_equal(json_string_value(json_array_get(r->extra, 1)), "f");
    assert_true(r->tmpdir && r->whole_nodes && spec->members.merged && spec->retries == 9 && spec->share == 4);
    assert_string_equal(spec->members.umask, "0022");
    assert_true(spec->follows_up && spec->follow_ups == 6 && !spec_starts_copies(&spec->members));
    spec_destroy(spec);

    spec = accepted("\"output\": \"split\", \"resources\": {\"launcher\": \"copies\", \"nodes\": 2, \"tasks\": 2}", "");
    assert_true(!spec->members.merged && spec->members.umask == NULL && !spec->members.resources.tmpdir && !spec->members.resources.whole_nodes &&
                spec_starts_copies(&spec->members));
    assert_null(spec->members.resources.launch);
    spec_destroy(spec);

    spec = accepted("", "\"allocation\": {\"extra\": [\"e\"], \"idle\": \"3s\", \"gpus\": 2}");
    r = &spec->allocation.resources;
    assert_string_equal(json_string_value(json_array_get(r->extra, 0)), "e");
    assert_true(r->nodes == 1 && r->tasks == 1 && !r->each_node && r->gpus == 2 && spec->allocation.idle_ms == 3000);
    spec_destroy(spec);
    spec = accepted("", "\"allocation\": {\"nodes\": 2}");
    assert_true(spec->allocation.resources.each_node && spec->allocation.resources.gpus == 0);
    spec_destroy(spec);
    spec = accepted("", "\"refill\": true, \"pack\": 2");
    assert_int_equal(spec->allocation.idle_ms, 60000);
    spec_destroy(spec);

    spec = accepted("", TRAINING ", \"checkpoint\": {}, \"output\": \"merged\"}");
    assert_true(spec->training_checkpoint.retain == -1 && spec->training.merged);
    spec_destroy(spec);
    spec = accepted("", TRAINING ", \"checkpoint\": {\"retain\": 12}}");
    assert_true(spec->training_checkpoint.retain == 12 && !spec->training.merged);
    spec_destroy(spec);
}

/* A member that is warned needs as long before the warning as after it, and at most half of what it ever has. */
static void a_member_needs_so_much_time(void **state)
{
    struct spec *spec = accepted("\"resources\": {\"walltime\": \"100s\"}, \"checkpoint\": {\"before\": \"10s\"}", "");

    assert_int_equal(spec_least_time_ms(spec), 20000);
    assert_int_equal(spec_least_time_of(spec, 20000), 15000);
    assert_int_equal(spec_least_time_of(spec, 30000), 20000);
    assert_int_equal(spec_least_time_of(spec, 29000), 19500);
    spec_destroy(spec);
    spec = accepted("\"resources\": {\"walltime\": \"100s\"}, \"checkpoint\": {}", "");
    assert_int_equal(spec_least_time_ms(spec), 100000);
    assert_int_equal(spec_least_time_of(spec, 7), 7);
    spec_destroy(spec);
}

static void fields_and_buffers_have_their_bounds(void **state)
{
    static const struct refusal fields[] = {
        {"\"u\": {\"dtype\": \"float64\", \"shape\": [1, 2, 3, 4]}, \"_v2\": {\"dtype\": \"int32\", \"shape\": [-1], \"max\": 1}", NULL, ""},
        {"\"u\": {\"dtype\": \"int64\", \"shape\": [-1, 2], \"max\": 2147483647}", "spec_impossible_value", "/training/fields/u/shape"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [-1], \"max\": 2147483647}", NULL, ""},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [-1], \"max\": 0}", "spec_impossible_value", "/training/fields/u/max"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [-1]}", "spec_missing_key", "/training/fields/u/max"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [1], \"max\": 1}", "spec_impossible_value", "/training/fields/u/max"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [2, -1]}", "spec_impossible_value", "/training/fields/u/shape"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [-1, -1], \"max\": 5}", "spec_impossible_value", "/training/fields/u/shape"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [0]}", "spec_impossible_value", "/training/fields/u/shape"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [2.0]}", "spec_wrong_type", "/training/fields/u/shape"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": []}", "spec_impossible_value", "/training/fields/u/shape"},
        {"\"u\": {\"dtype\": \"uint8\"}", "spec_missing_key", "/training/fields/u/shape"},
        {"\"u\": {\"shape\": [1]}", "spec_missing_key", "/training/fields/u/dtype"},
        {"\"u\": {\"dtype\": \"int8\", \"shape\": [1]}", "spec_impossible_value", "/training/fields/u/dtype"},
        {"\"u\": {\"dtype\": \"uint8\", \"shape\": [1], \"unit\": \"K\"}", "spec_unknown_key", "/training/fields/u/unit"},
        {"\"u\": [1]", "spec_wrong_type", "/training/fields/u"},
        {"\"u-v\": {\"dtype\": \"uint8\", \"shape\": [1]}", "spec_impossible_value", "/training/fields/u-v"},
        {"\"\": {\"dtype\": \"uint8\", \"shape\": [1]}", "spec_impossible_value", "/training/fields/"},
        {"", "spec_impossible_value", "/training/fields"},
    };
    static const struct refusal buffers[] = {
        {"\"policy\": \"fifo\", \"capacity\": 1, \"threshold\": 0, \"batch\": 1, \"seed\": 0", NULL, ""},
        {"\"policy\": \"lifo\"", "spec_impossible_value", "/training/buffer/policy"},
        {"\"capacity\": 0", "spec_impossible_value", "/training/buffer/capacity"},
        {"\"capacity\": 7, \"threshold\": 7, \"batch\": 7", NULL, ""},
        {"\"capacity\": 7, \"threshold\": 8", "spec_impossible_value", "/training/buffer/threshold"},
        {"\"capacity\": 7, \"batch\": 8", "spec_impossible_value", "/training/buffer/batch"},
        {"\"batch\": 0", "spec_impossible_value", "/training/buffer/batch"},
        {"\"seed\": -1", "spec_impossible_value", "/training/buffer/seed"},
        {"\"size\": 7", "spec_unknown_key", "/training/buffer/size"},
    };
    char name[65];
    struct spec *spec;

    JUDGED("\"training\": {\"command\": [\"t\"], \"fields\": {%s}}", false, fields);
    JUDGED(TRAINING ", \"buffer\": {%s}}", false, buffers);
    for (int n = 63; n <= 64; n++) {
        json_t *json;
        struct error err;

        memset(name, 'n', 64);
        name[n] = '\0';
        json = json_pack("{s:s, s:{s:[s]}, s:{s:[s], s:{s:{s:s, s:[i]}}}}", "name", "x", "members", "command", "true",
                         "training", "command", "t", "fields", name, "dtype", "uint8", "shape", 1);
        spec = spec_parse(json, NULL, &err);
        assert_int_equal(spec != NULL, n == 63);
        spec_destroy(spec);
        json_decref(json);
    }
    for (int n = 64; n <= 65; n++) { /* so many fields */
        json_t *json = json_pack("{s:s, s:{s:[s]}, s:{s:[s], s:{}}}", "name", "x", "members", "command", "true",
                                 "training", "command", "t", "fields");
        struct error err;

        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "f%d", i);
            json_object_set_new(json_object_get(json_object_get(json, "training"), "fields"), name,
                                json_pack("{s:s, s:[i]}", "dtype", "uint8", "shape", 1));
        }
        spec = spec_parse(json, NULL, &err);
        assert_int_equal(spec != NULL, n == 64);
        spec_destroy(spec);
        json_decref(json);
    }
    spec = accepted("", TRAINING ", \"buffer\": {\"capacity\": 5}}");
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "batch")), 5);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "threshold")), 0);
    assert_int_equal(spec->failure_after_ms, 60000);
    spec_destroy(spec);
}

static void members_that_are_suggested(void **state)
{
    static const struct refusal cases[] = {
        {"\"open\": [\"a\", \"b\"]", NULL, ""},
        {"\"open\": []", "spec_impossible_value", "/members/parameters/open"},
        {"\"open\": [\"a\", \"b\", \"a\"]", "spec_impossible_value", "/members/parameters/open/2"},
        {"\"open\": [\"a\", \"seed\"]", "spec_impossible_value", "/members/parameters/open/1"},
        {"\"open\": [\"a\"], \"most\": 1", NULL, ""},
        {"\"open\": [\"a\"], \"most\": 0", "spec_impossible_value", "/members/parameters/most"},
        {"\"open\": [\"a\"], \"seed\": -1", "spec_impossible_value", "/members/parameters/seed"},
        {"\"open\": [\"a\"], \"count\": 3", "spec_unknown_key", "/members/parameters/count"},
        {"\"open\": [\"a\"], \"exclude\": []", "spec_impossible_value", "/members/parameters/exclude"},
        {"\"open\": [\"a\"]}, \"artefacts\": [\"m\"], \"results\": \"results/{a}\", \"env\": {", "spec_impossible_value", "/members/results"},
        {"\"open\": [\"a\"]}, \"artefacts\": [\"m\"], \"results\": \"results/{{index}}\", \"env\": {", "spec_impossible_value", "/members/results"},
        {"\"open\": [\"a\"]}, \"artefacts\": [\"m\"], \"results\": \"results/{{{index}\", \"env\": {", NULL, ""},
        {"\"open\": [\"a\"]}, \"artefacts\": [\"m\"], \"results\": \"results/{index}-{a}\", \"env\": {", NULL, ""},
        {"\"open\": [\"a\"]}, \"env\": {\"A\": \"{a}\"", NULL, ""},
        {"\"open\": [\"a\"]}, \"artefacts\": [\"\"], \"env\": {", "spec_impossible_value", "/members/artefacts/0"},
        {"\"open\": [\"a\"]}, \"artefacts\": [\"m\", \"/m\"], \"env\": {", "spec_impossible_value", "/members/artefacts/1"},
        {"\"open\": [\"a\"]}, \"results\": \"results/{index}\", \"env\": {", "spec_impossible_value", "/members/results"},
    };
    struct error err;
    struct spec *spec;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        json_t *json;
        int rc;

        snprintf(text, sizeof text, "{\"name\": \"x\", \"members\": {\"command\": [\"t\"], \"parameters\": {%s}}}",
                 cases[i].text);
        json = json_loads(text, 0, NULL);
        assert_non_null(json);
        spec = spec_parse(json, NULL, &err);
        rc = spec == NULL ? -1 : spec_check_results(spec, &err);
        if ((rc == 0) != (cases[i].code == NULL) ||
            (rc < 0 && (strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0)))
            fail_msg("%s: %s at %s (%s)", text, rc < 0 ? err.code : "accepted", err.pointer, err.text);
        if (spec != NULL) {
            assert_true(params_are_open(spec->params) && params_count(spec->params) == 0 && spec->width == 100);
            assert_int_equal(spec->same_failures, SPEC_SAME_FAILURES);
        }
        spec_destroy(spec);
        json_decref(json);
    }
}

/* A file is named, and read by somebody else before the spec is. */
static void files_of_parameters_are_named(void **state)
{
    static const struct refusal cases[] = {
        {"{\"file\": \"/a.csv\"}", NULL, ""},
        {"{\"file\": \"/a.jsonl\", \"seed\": 3}", NULL, ""},
        {"{\"file\": \"/a.ndjson\"}", NULL, ""},
        {"{\"file\": \"/a.npz\"}", NULL, ""},
        {"{\"file\": \"/.npz\"}", NULL, ""},
        {"{\"file\": \"a.csv\"}", "spec_impossible_value", "/members/parameters/file"},
        {"{\"file\": \"/a.txt\"}", "spec_impossible_value", "/members/parameters/file"},
        {"{\"file\": \"/csv\"}", "spec_impossible_value", "/members/parameters/file"},
        {"{\"file\": \"/a.csv.gz\"}", "spec_impossible_value", "/members/parameters/file"},
        {"{\"file\": 7}", "spec_wrong_type", "/members/parameters/file"},
        {"{\"file\": \"/a.csv\", \"count\": 3}", "spec_unknown_key", "/members/parameters/count"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = json_pack("{s:{s:o}}", "members", "parameters", json_loads(cases[i].text, 0, NULL));
        const char *path = NULL;
        struct error err = {.code = ""};
        int rc = spec_parameter_file(json, &path, &err);

        assert_int_equal(rc, cases[i].code == NULL ? 1 : -1);
        if (rc < 0 && (strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0))
            fail_msg("%s: %s at %s (%s)", cases[i].text, err.code, err.pointer, err.text);
        if (rc == 1)
            assert_string_equal(path, json_string_value(json_object_get(json_object_get(json_object_get(json, "members"), "parameters"), "file")));
        json_decref(json);
    }
    for (int i = 0; i < 2; i++) {
        json_t *json = json_loads(i == 0 ? "{\"members\": {\"parameters\": {\"grid\": {\"a\": [1]}}}}" : "{}", 0, NULL);
        const char *path;
        struct error err;

        assert_int_equal(spec_parameter_file(json, &path, &err), 0);
        json_decref(json);
    }
}

static void values_are_the_same_or_not(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"1", "1.0", true}, {"1", "1.5", false}, {"1", "\"1\"", false}, {"1", "2", false}, {"true", "1", false}, {"null", "null", true},
        {"[1, 2.0]", "[1.0, 2]", true}, {"[1, 2]", "[2, 1]", false}, {"[1]", "[1, 2]", false}, {"[1, 2]", "[1]", false}, {"[]", "{}", false},
        {"{\"a\": 1}", "{\"a\": 1.0}", true}, {"{\"a\": 1}", "{\"a\": 2}", false}, {"{\"a\": 1}", "{\"b\": 1}", false},
        {"{\"a\": 1}", "{\"a\": 1, \"b\": 2}", false}, {"{\"a\": 1, \"b\": [{\"c\": 2}]}", "{\"b\": [{\"c\": 2.0}], \"a\": 1}", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *a = json_loads(cases[i].a, JSON_DECODE_ANY, NULL), *b = json_loads(cases[i].b, JSON_DECODE_ANY, NULL);

        if (value_equal(a, b) != cases[i].same || value_equal(b, a) != cases[i].same || !value_equal(a, a))
            fail_msg("%s, %s", cases[i].a, cases[i].b);
        assert_false(value_equal(a, NULL) || value_equal(NULL, b));
        json_decref(a);
        json_decref(b);
    }
    assert_true(value_equal(NULL, NULL));
}

static bool any_name(void *arg, const char *name)
{
    *(size_t *)arg = strlen(name);
    return true;
}

static void placeholders_have_names_of_so_many_bytes(void **state)
{
    char text[TEMPLATE_NAME_MAX + 4];
    struct error err;
    size_t size = 0;

    for (size_t n = 0; n <= TEMPLATE_NAME_MAX + 1; n += n == 1 ? TEMPLATE_NAME_MAX - 1 : 1) {
        text[0] = '{';
        memset(text + 1, 'n', n);
        strcpy(text + 1 + n, "}");
        assert_int_equal(template_check(text, any_name, &size, "/here", &err),
                         n == 0 || n > TEMPLATE_NAME_MAX ? -1 : 0);
        if (n == 0 || n > TEMPLATE_NAME_MAX)
            assert_string_equal(err.code, "spec_bad_placeholder");
        else
            assert_int_equal(size, n);
    }
}

/* All words of a member and its variables count, those of a resumption too. */
static void arguments_of_a_resumption_count(void **state)
{
    static const char *const keys[] = {"/members/checkpoint/resume/1", "/members/resources/launcher/1", "/training/resources/launcher/1"};

    for (int i = 0; i < 3; i++) {
        json_t *json = json_loads("{\"name\": \"x\", \"members\": {\"command\": [\"m\"]}, " TRAINING "}}", 0, NULL);
        char *text = calloc(1, SIZES_STRING_MAX + 2);
        struct error err = {.pointer = ""};
        struct spec *spec;

        memset(text, 'y', SIZES_STRING_MAX + 1);
        json_object_set_new(json_object_get(json, i < 2 ? "members" : "training"), i == 0 ? "checkpoint" : "resources",
                            json_pack("{s:[s, s]}", i == 0 ? "resume" : "launcher", "r", text));
        spec = spec_parse(json, NULL, &err);
        if (spec == NULL)
            fail_msg("%s", err.text);
        assert_int_equal(spec_check_sizes(spec, &err), -1);
        assert_string_equal(err.pointer, keys[i]);
        spec_destroy(spec);
        json_decref(json);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_their_bounds),
        cmocka_unit_test(words_and_numbers_arrive),
        cmocka_unit_test(a_member_needs_so_much_time),
        cmocka_unit_test(fields_and_buffers_have_their_bounds),
        cmocka_unit_test(members_that_are_suggested),
        cmocka_unit_test(files_of_parameters_are_named),
        cmocka_unit_test(values_are_the_same_or_not),
        cmocka_unit_test(placeholders_have_names_of_so_many_bytes),
        cmocka_unit_test(arguments_of_a_resumption_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

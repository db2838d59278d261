/* The parts of a spec that only some specs have: early stopping, success by a metric, elastic limits, another ensemble
 * before it, and the changes of a training that is resubmitted. */
#include "daemon/spec/results.h"
#include "daemon/spec/sizes.h"
#include "tests/unit/spec_cases.h"

#define BIG "\"buffer\": {\"capacity\": 1000, \"threshold\": 100}"

static void mistakes_of_early_stopping_have_their_places(void **state)
{
    static const struct refusal of_asha[] = {
        {"\"max\": 9", NULL, ""},
        {"\"min\": 9, \"max\": 9", "spec_impossible_value", "/early_stopping/rungs/max"},
        {"\"min\": 8, \"max\": 9", NULL, ""},
        {"\"min\": 1, \"max\": 2", NULL, ""},
        {"\"max\": 1", "spec_impossible_value", "/early_stopping/rungs/max"},
        {"\"min\": 0, \"max\": 9", "spec_impossible_value", "/early_stopping/rungs/min"},
        {"\"max\": 9007199254740992", NULL, ""},
        {"\"max\": 9007199254740993", "spec_impossible_value", "/early_stopping/rungs/max"},
        {"\"min\": 2", "spec_missing_key", "/early_stopping/rungs/max"},
        {"\"max\": 9, \"every\": 2", "spec_unknown_key", "/early_stopping/rungs/every"},
        {"\"max\": 9, \"reduction\": 1", "spec_impossible_value", "/early_stopping/rungs/reduction"},
        {"\"max\": 9, \"reduction\": 1000", NULL, ""},
        {"\"max\": 9, \"reduction\": 1001", "spec_impossible_value", "/early_stopping/rungs/reduction"},
        {"\"steps\": [1]", "spec_impossible_value", "/early_stopping/rungs/steps"},
        {"\"steps\": [1, 2]", NULL, ""},
        {"\"steps\": [1, 1]", "spec_impossible_value", "/early_stopping/rungs/steps/1"},
        {"\"steps\": [5, 6, 4]", "spec_impossible_value", "/early_stopping/rungs/steps/2"},
        {"\"steps\": [0, 1]", "spec_impossible_value", "/early_stopping/rungs/steps/0"},
        {"\"steps\": [1, 9007199254740992]", NULL, ""},
        {"\"steps\": [1, 9007199254740993]", "spec_impossible_value", "/early_stopping/rungs/steps/1"},
        {"\"steps\": [1, 2.5]", "spec_wrong_type", "/early_stopping/rungs/steps/1"},
        {"\"steps\": [1, 2], \"min\": 1", "spec_impossible_value", "/early_stopping/rungs/steps"},
        {"\"steps\": [1, 2], \"max\": 2", "spec_impossible_value", "/early_stopping/rungs/steps"},
        {"\"steps\": [1, 2], \"reduction\": 4", NULL, ""},
    };
    static const struct refusal of_median[] = {
        {"\"max\": 9, \"every\": 2", NULL, ""},
        {"\"max\": 9, \"every\": 1", NULL, ""},
        {"\"max\": 9, \"every\": 0", "spec_impossible_value", "/early_stopping/rungs/every"},
        {"\"max\": 9, \"reduction\": 3", "spec_unknown_key", "/early_stopping/rungs/reduction"},
        {"\"max\": 100", NULL, ""},
        {"\"max\": 101", "spec_impossible_value", "/early_stopping/rungs"},
        {"\"steps\": [1, 2], \"every\": 1", "spec_impossible_value", "/early_stopping/rungs/steps"},
    };
    static const struct refusal others[] = {
        {"\"metric\": \"l\", \"rungs\": {\"max\": 9}", "spec_missing_key", "/early_stopping/rule"},
        {"\"rule\": \"asha\", \"rungs\": {\"max\": 9}", "spec_missing_key", "/early_stopping/metric"},
        {"\"rule\": \"asha\", \"metric\": \"l\"", "spec_missing_key", "/early_stopping/rungs"},
        {"\"rule\": \"asha\", \"metric\": \"l\", \"rung\": {\"max\": 9}", "spec_unknown_key", "/early_stopping/rung"},
        {"\"rule\": \"hyperband\", \"metric\": \"l\", \"rungs\": {\"max\": 9}", "spec_impossible_value", "/early_stopping/rule"},
        {"\"rule\": \"asha\", \"metric\": \"\", \"rungs\": {\"max\": 9}", "spec_impossible_value", "/early_stopping/metric"},
        {"\"rule\": \"asha\", \"metric\": \"a\\nb\", \"rungs\": {\"max\": 9}", "spec_impossible_value", "/early_stopping/metric"},
        {"\"rule\": \"asha\", \"metric\": \"l\", \"goal\": \"least\", \"rungs\": {\"max\": 9}", "spec_impossible_value", "/early_stopping/goal"},
        {"\"rule\": \"asha\", \"metric\": \"l\", \"min_members\": 5, \"rungs\": {\"max\": 9}", "spec_impossible_value",
         "/early_stopping/min_members"},
        {"\"rule\": \"asha-stop\", \"metric\": \"l\", \"min_members\": 5, \"rungs\": {\"max\": 9}", "spec_impossible_value",
         "/early_stopping/min_members"},
        {"\"rule\": \"median\", \"metric\": \"l\", \"min_members\": 0, \"rungs\": {\"max\": 9}", "spec_impossible_value",
         "/early_stopping/min_members"},
        {"\"rule\": \"median\", \"metric\": \"l\", \"min_members\": 10000001, \"rungs\": {\"max\": 9}", "spec_impossible_value",
         "/early_stopping/min_members"},
        {"\"rule\": \"median\", \"metric\": \"l\", \"min_members\": 10000000, \"rungs\": {\"max\": 9}", NULL, ""},
        {"\"rule\": \"median\", \"metric\": \"l\", \"min_members\": 1, \"rungs\": {\"max\": 9}", NULL, ""},
    };
    static const struct refusal no_objects[] = {{"[]", "spec_wrong_type", "/early_stopping"}, {"null", NULL, ""}};
    struct error err;

    JUDGED("\"early_stopping\": {\"rule\": \"asha\", \"metric\": \"l\", \"rungs\": {%s}}", false, of_asha);
    JUDGED("\"early_stopping\": {\"rule\": \"asha-stop\", \"metric\": \"l\", \"rungs\": {%s}}", false, of_asha);
    JUDGED("\"early_stopping\": {\"rule\": \"median\", \"metric\": \"l\", \"rungs\": {%s}}", false, of_median);
    JUDGED("\"early_stopping\": {%s}", false, others);
    JUDGED("\"early_stopping\": %s", false, no_objects);
    assert_null(parse("", "\"early_stopping\": {\"rule\": \"asha\", \"metric\": \"l\", \"rungs\": {\"max\": 9}}, " TRAINING "}", &err));
    assert_string_equal(err.pointer, "/early_stopping");
}

static void rungs_are(const char *rule, const char *rungs, size_t n, const int64_t *steps)
{
    char text[500];
    struct spec *spec;

    snprintf(text, sizeof text, "\"early_stopping\": {\"rule\": \"%s\", \"metric\": \"l\", \"rungs\": {%s}}", rule,
             rungs);
    spec = accepted("", text);
    assert_string_equal(stopping_rule_name(spec->stopping.rule), rule);
    assert_string_equal(spec->stopping.metric, "l");
    assert_int_equal(spec->stopping.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(spec->stopping.steps[i], steps[i]);
    spec_destroy(spec);
}

static void rungs_are_filled_in(void **state)
{
    char many[SPEC_RUNGS_MAX * 5 + 50] = "\"steps\": [1";
    int64_t steps[SPEC_RUNGS_MAX];
    struct error err;
    struct spec *spec;

    rungs_are("asha", "\"max\": 27", 4, (int64_t[]){1, 3, 9, 27});
    rungs_are("asha", "\"max\": 28", 5, (int64_t[]){1, 3, 9, 27, 28});
    rungs_are("asha-stop", "\"min\": 5, \"max\": 26, \"reduction\": 2", 4, (int64_t[]){5, 10, 20, 26});
    rungs_are("asha", "\"steps\": [2, 7, 100]", 3, (int64_t[]){2, 7, 100});
    rungs_are("median", "\"min\": 3, \"max\": 9", 3, (int64_t[]){3, 6, 9});
    rungs_are("median", "\"min\": 3, \"max\": 9, \"every\": 4", 3, (int64_t[]){3, 7, 9});
    for (int i = 0; i < SPEC_RUNGS_MAX; i++) {
        steps[i] = i + 1;
        if (i > 0)
            sprintf(many + strlen(many), ", %d", i + 1);
    }
    strcat(many, "]");
    rungs_are("median", "\"max\": 100", SPEC_RUNGS_MAX, steps);
    rungs_are("asha", many, SPEC_RUNGS_MAX, steps);
    many[strlen(many) - 1] = '\0';
    strcat(many, ", 101]");
    {
        char text[sizeof many + 100];

        snprintf(text, sizeof text, "\"early_stopping\": {\"rule\": \"asha\", \"metric\": \"l\", \"rungs\": {%s}}", many);
        assert_null(parse("", text, &err));
        assert_string_equal(err.pointer, "/early_stopping/rungs/steps");
    }

    spec = accepted("", "");
    assert_int_equal(spec->stopping.rule, STOPPING_NONE);
    assert_null(stopping_rule_name(STOPPING_NONE));
    spec_destroy(spec);
    spec = accepted("", "\"early_stopping\": {\"rule\": \"asha\", \"metric\": \"l\", \"rungs\": {\"max\": 9}}");
    assert_true(spec->stopping.reduction == 3 && !spec->stopping.more_is_better);
    spec_destroy(spec);
    spec = accepted("", "\"early_stopping\": {\"rule\": \"asha\", \"metric\": \"l\", \"goal\": \"max\", \"rungs\": {\"max\": 9, \"reduction\": 4}}");
    assert_true(spec->stopping.reduction == 4 && spec->stopping.more_is_better);
    spec_destroy(spec);
    spec = accepted("", "\"early_stopping\": {\"rule\": \"median\", \"metric\": \"l\", \"goal\": \"min\", \"rungs\": {\"max\": 9}}");
    assert_true(spec->stopping.reduction == 2 && !spec->stopping.more_is_better && spec->stopping.min_members == 5);
    spec_destroy(spec);
    spec = accepted("", "\"early_stopping\": {\"rule\": \"median\", \"metric\": \"l\", \"min_members\": 2, \"rungs\": {\"max\": 9}}");
    assert_int_equal(spec->stopping.min_members, 2);
    spec_destroy(spec);
}

static void success_may_be_a_metric(void **state)
{
    static const struct refusal cases[] = {
        {"\"metric\": \"m\", \"at_least\": 1", NULL, ""},
        {"\"metric\": \"m\", \"at_most\": 0", NULL, ""},
        {"\"metric\": \"m\", \"at_least\": 1, \"at_most\": 1", NULL, ""},
        {"\"metric\": \"m\", \"at_least\": 2, \"at_most\": 1", "spec_impossible_value", "/members/success/at_least"},
        {"\"metric\": \"m\"", "spec_missing_key", "/members/success"},
        {"\"metric\": \"\", \"at_least\": 1", "spec_impossible_value", "/members/success/metric"},
        {"\"metric\": \"m\\t\", \"at_least\": 1", "spec_impossible_value", "/members/success/metric"},
        {"\"metric\": \"m\", \"at_least\": \"1\"", "spec_wrong_type", "/members/success/at_least"},
        {"\"metric\": \"m\", \"at_most\": true", "spec_wrong_type", "/members/success/at_most"},
        {"\"metric\": \"m\", \"at_least\": 1, \"of\": \"first\"", "spec_impossible_value", "/members/success/of"},
        {"\"metric\": \"m\", \"at_least\": 1, \"of\": \"best\"", NULL, ""},
        {"\"metric\": \"m\", \"at_most\": 1, \"of\": \"best\"", NULL, ""},
        {"\"metric\": \"m\", \"at_least\": 1, \"at_most\": 2, \"of\": \"best\"", "spec_impossible_value", "/members/success/of"},
        {"\"metric\": \"m\", \"at_least\": 1, \"at_most\": 2, \"of\": \"last\"", NULL, ""},
        {"\"file\": \"done\", \"at_least\": 1", "spec_impossible_value", "/members/success/at_least"},
        {"\"file\": \"done\", \"at_most\": 1", "spec_impossible_value", "/members/success/at_most"},
        {"\"file\": \"done\", \"of\": \"last\"", "spec_impossible_value", "/members/success/of"},
        {"", "spec_missing_key", "/members/success/file"},
        {"\"metric\": \"m\", \"at_least\": 1, \"file\": \"done\"", NULL, ""},
        {"\"metric\": \"m\", \"at_least\": 1, \"file\": \"/done\"", "spec_impossible_value", "/members/success/file"},
        {"\"files\": \"done\"", "spec_unknown_key", "/members/success/files"},
    };
    static const struct refusal metrics[] = {
        {"\"points\": 10", NULL, ""},
        {"\"points\": 9", "spec_impossible_value", "/members/metrics/points"},
        {"\"points\": 10000", NULL, ""},
        {"\"points\": 10001", "spec_impossible_value", "/members/metrics/points"},
        {"\"file\": \"m.txt\", \"format\": \"lines\"", NULL, ""},
        {"\"file\": \"logs\", \"format\": \"tensorboard\"", NULL, ""},
        {"\"file\": \"m.txt\", \"format\": \"csv\"", "spec_impossible_value", "/members/metrics/format"},
        {"\"format\": \"lines\"", "spec_missing_key", "/members/metrics/file"},
        {"\"file\": \"../m.txt\"", "spec_impossible_value", "/members/metrics/file"},
        {"\"path\": \"m.txt\"", "spec_unknown_key", "/members/metrics/path"},
    };
    static const struct refusal diverged[] = {
        {"\"fail\"", NULL, ""}, {"\"end\"", NULL, ""}, {"\"ignore\"", NULL, ""}, {"\"stop\"", "spec_impossible_value", "/members/diverged"}};
    static const struct refusal no_objects[] = {
        {"\"success\": []", "spec_wrong_type", "/members/success"}, {"\"metrics\": []", "spec_wrong_type", "/members/metrics"},
        {"\"diverged\": 1", "spec_wrong_type", "/members/diverged"}, {"\"success\": null, \"metrics\": null, \"diverged\": null", NULL, ""}};
    struct spec *spec;

    JUDGED("\"success\": {%s}", true, cases);
    JUDGED("%s", true, no_objects);
    JUDGED("\"metrics\": {%s}", true, metrics);
    JUDGED("\"diverged\": %s", true, diverged);

    spec = accepted("\"success\": {\"metric\": \"m\", \"at_least\": 0.5, \"of\": \"best\"}, \"metrics\": {\"file\": \"f\", \"format\": \"tensorboard\", "
                    "\"points\": 77}, \"diverged\": \"end\"", "");
    assert_string_equal(spec->metrics.success, "m");
    assert_true(spec->metrics.has_least && !spec->metrics.has_most && spec->metrics.least == 0.5 && spec->metrics.best);
    assert_true(spec->metrics.format == JOBDESC_TENSORBOARD && spec->metrics.points == 77 &&
                spec->metrics.diverged == JOBDESC_DIVERGED_END);
    assert_string_equal(spec->metrics.file, "f");
    assert_null(spec->success_file);
    spec_destroy(spec);
    spec = accepted("\"success\": {\"metric\": \"m\", \"at_most\": -2, \"file\": \"done\"}, \"metrics\": {\"file\": \"f\"}", "");
    assert_true(!spec->metrics.has_least && spec->metrics.has_most && spec->metrics.most == -2 && !spec->metrics.best);
    assert_true(spec->metrics.format == JOBDESC_LINES && spec->metrics.points == SPEC_POINTS &&
                spec->metrics.diverged == JOBDESC_DIVERGED_FAIL);
    assert_string_equal(spec->success_file, "done");
    spec_destroy(spec);
}

static void limits_of_an_elastic_ensemble(void **state)
{
    static const struct refusal cases[] = {
        {"{}", "spec_missing_key", "/elastic"},
        {"{\"every\": \"1m\"}", "spec_missing_key", "/elastic"},
        {"{\"width\": [1, 4], \"every\": \"999ms\"}", "spec_impossible_value", "/elastic/every"},
        {"{\"width\": [1, 4], \"every\": \"1s\"}", NULL, ""},
        {"{\"width\": [4, 4]}", NULL, ""},
        {"{\"width\": [4, 3]}", "spec_impossible_value", "/elastic/width"},
        {"{\"width\": [4]}", "spec_impossible_value", "/elastic/width"},
        {"{\"width\": [1, 2, 3]}", "spec_impossible_value", "/elastic/width"},
        {"{\"width\": [0, 3]}", "spec_impossible_value", "/elastic/width/0"},
        {"{\"width\": [1, \"3\"]}", "spec_wrong_type", "/elastic/width/1"},
        {"{\"width\": [1, 1000001]}", "spec_impossible_value", "/elastic/width/1"},
        {"{\"ranks\": [1, 1025]}", "spec_impossible_value", "/elastic/ranks/1"},
        {"{\"ranks\": [2, 1]}", "spec_impossible_value", "/elastic/ranks"},
        {"{\"ranks\": [1, 2]}", "spec_impossible_value", "/elastic/ranks"}, /* there is no checkpoint to go on from */
        {"{\"rank\": [1, 2]}", "spec_unknown_key", "/elastic/rank"},
    };
    static const struct refusal with_checkpoints[] = {
        {"\"elastic\": {\"ranks\": [1, 1024]}", NULL, ""},
        {"\"elastic\": {\"ranks\": [1, 2], \"width\": [1, 450]}", NULL, ""},
        {"\"elastic\": {\"ranks\": [1, 2], \"width\": [1, 451]}", "spec_impossible_value", "/training/buffer/capacity"},
        {"\"elastic\": {\"ranks\": [1, 1], \"width\": [1, 451]}", NULL, ""},
        {"\"elastic\": {\"width\": [1, 451]}", NULL, ""},
        {"\"elastic\": {\"ranks\": [1, 2]}, \"width\": 450", NULL, ""},
        {"\"elastic\": {\"ranks\": [1, 2]}, \"width\": 451", "spec_impossible_value", "/training/buffer/capacity"},
        {"\"elastic\": {\"width\": [3, 5]}, \"width\": 2", "spec_impossible_value", "/width"},
        {"\"elastic\": {\"width\": [3, 5]}, \"width\": 6", "spec_impossible_value", "/width"},
        {"\"elastic\": {\"width\": [3, 5]}, \"width\": 3", NULL, ""},
        {"\"elastic\": {\"width\": [3, 5]}, \"width\": 5", NULL, ""},
        {"\"elastic\": {\"width\": [6, 9]}, \"width\": null", NULL, ""},
    };
    static const struct refusal with_ranks[] = {
        {"[3, 4]", NULL, ""}, {"[1, 3]", NULL, ""}, {"[1, 2]", "spec_impossible_value", "/training/ranks"},
        {"[4, 5]", "spec_impossible_value", "/training/ranks"},
    };
    struct error err;
    struct spec *spec;

    JUDGED(TRAINING "}, \"elastic\": %s", false, cases);
    JUDGED(TRAINING ", \"checkpoint\": {}, " BIG "}, %s", false, with_checkpoints);
    JUDGED(TRAINING ", \"checkpoint\": {}, \"ranks\": 3, " BIG "}, \"elastic\": {\"ranks\": %s}", false, with_ranks);
    assert_null(parse("", "\"elastic\": {\"width\": [1, 4]}", &err)); /* there is no training to follow */
    assert_string_equal(err.pointer, "/elastic");

    spec = accepted("", TRAINING ", \"checkpoint\": {}, " BIG
                                 "}, \"elastic\": {\"width\": [7, 9], \"ranks\": [2, 6], \"every\": \"5s\"}");
    assert_true(spec->elastic.width.least == 7 && spec->elastic.width.most == 9 && spec->elastic.every_ms == 5000);
    assert_true(spec->elastic.ranks.least == 2 && spec->elastic.ranks.most == 6);
    assert_true(spec->width == 7 && spec->ranks == 2); /* 5 members and 1 rank are brought within */
    assert_int_equal(spec->training.resources.copies, 2);
    spec_destroy(spec);
    spec = accepted("", TRAINING "}, \"elastic\": {\"width\": [1, 3]}");
    assert_true(spec->width == 3 && spec->elastic.every_ms == 30000 && spec->elastic.ranks.most == 0);
    spec_destroy(spec);
    spec = accepted("", TRAINING "}");
    assert_true(spec->elastic.width.most == 0 && spec->elastic.ranks.most == 0);
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
        cmocka_unit_test(mistakes_of_early_stopping_have_their_places),
        cmocka_unit_test(rungs_are_filled_in),
        cmocka_unit_test(success_may_be_a_metric),
        cmocka_unit_test(limits_of_an_elastic_ensemble),
        cmocka_unit_test(members_that_are_suggested),
        cmocka_unit_test(files_of_parameters_are_named),
        cmocka_unit_test(arguments_of_a_resumption_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "daemon/spec/spec.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static const char good[] =
    "{\"name\": \"heat\", \"adapter\": \"local\", \"width\": 4, \"members\": {"
    "\"command\": [\"heat2d\", \"--initial\", \"{t0}\", \"--label={index}\"], \"env\": {\"A\": \"{t0}\"},"
    "\"parameters\": {\"method\": \"halton\", \"count\": 10, \"seed\": 42, \"space\": {\"t0\": [100, 500]}},"
    "\"resources\": {\"tasks\": 2, \"walltime\": \"10m\", \"memory\": \"1GiB\", \"launcher\": \"mpiexec\"},"
    "\"success\": {\"file\": \"out/result.npz\"}, \"retries\": 2},"
    "\"training\": {\"command\": [\"python3\", \"-m\", \"x\"], \"ranks\": 2,"
    "\"fields\": {\"temperature\": {\"dtype\": \"float32\", \"shape\": [10, 10]}},"
    "\"buffer\": {\"capacity\": 600}}}";

static json_t *parse(const char *text)
{
    json_error_t err;
    json_t *json = json_loads(text, 0, &err);

    if (json == NULL)
        fail_msg("%s: %s", err.text, text);
    return json;
}

static void a_good_spec_is_understood(void **state)
{
    json_t *json = parse(good);
    struct error err;
    struct spec *spec = spec_parse(json, NULL, &err);

    json_decref(json);
    assert_non_null(spec);
    assert_string_equal(spec->name, "heat");
    assert_int_equal(params_count(spec->params), 10);
    assert_int_equal(spec->members.resources.tasks, 2);
    assert_int_equal(spec->members.resources.walltime_ms, 600000);
    assert_int_equal(spec->retries, 2);
    assert_int_equal(spec->ranks, 2);
    assert_int_equal(spec->training.resources.copies, 2);
    assert_int_equal(json_integer_value(json_object_get(spec->buffer, "threshold")), 100);
    spec_destroy(spec);
}

/* The good spec with the value at a path replaced (NULL: removed). */
static json_t *changed(const char *path, const char *value)
{
    json_t *json = parse(good), *at = json;
    char copy[128], *rest = copy, *key, *next;

    snprintf(copy, sizeof copy, "%s", path);
    key = strsep(&rest, "/");
    while ((next = strsep(&rest, "/")) != NULL) {
        at = json_object_get(at, key);
        key = next;
    }
    if (value == NULL)
        json_object_del(at, key);
    else
        json_object_set_new(at, key, json_loads(value, JSON_DECODE_ANY, NULL));
    return json;
}

static void each_mistake_is_named_with_its_place(void **state)
{
    static const struct {
        const char *path, *value, *code, *pointer;
    } cases[] = {
        {"nme", "1", "spec_unknown_key", "/nme"},
        {"name", NULL, "spec_missing_key", "/name"},
        {"name", "\"\"", "spec_impossible_value", "/name"},
        {"name", "7", "spec_wrong_type", "/name"},
        {"width", "0", "spec_impossible_value", "/width"},
        {"width", "1.5", "spec_wrong_type", "/width"},
        {"start", "\"later\"", "spec_impossible_value", "/start"},
        {"members", "[]", "spec_wrong_type", "/members"},
        {"members/comand", "[]", "spec_unknown_key", "/members/comand"},
        {"members/command", "[]", "spec_impossible_value", "/members/command"},
        {"members/command", "[\"a\", 1]", "spec_wrong_type", "/members/command/1"},
        {"members/command", "[\"a\", \"{t1}\"]", "spec_unfilled_placeholder", "/members/command/1"},
        {"members/command", "[\"a\", \"{t0\"]", "spec_bad_placeholder", "/members/command/1"},
        {"members/command", "[\"a\", \"{\\\"k\\\": 1}\"]", "spec_unfilled_placeholder", "/members/command/1"},
        {"members/env", "{\"STRETTO_X\": \"1\"}", "spec_impossible_value", "/members/env/STRETTO_X"},
        {"members/env", "{\"X\": \"{nope}\"}", "spec_unfilled_placeholder", "/members/env/X"},
        {"members/env", "{\"X\": 1}", "spec_wrong_type", "/members/env/X"},
        {"members/umask", "27", "spec_wrong_type", "/members/umask"},
        {"members/umask", "\"0700\"", "spec_impossible_value", "/members/umask"},
        {"members/output", "\"stdout\"", "spec_impossible_value", "/members/output"},
        {"training/output", "true", "spec_wrong_type", "/training/output"},
        {"members/artefacts", "[]", "spec_impossible_value", "/members/artefacts"},
        {"members/artefacts", "[\"a\", \"../b\"]", "spec_impossible_value", "/members/artefacts/1"},
        {"members/artefacts", "[\"/etc/passwd\"]", "spec_impossible_value", "/members/artefacts/0"},
        {"members/results", "\"results/{t0}\"", "spec_impossible_value", "/members/results"},
        {"training/umask", "\"u=rwx\"", "spec_impossible_value", "/training/umask"},
        {"members/parameters/count", "0", "spec_impossible_value", "/members/parameters/count"},
        {"members/parameters/method", "\"sobol\"", "spec_impossible_value", "/members/parameters/method"},
        {"members/parameters/space", "{}", "spec_impossible_value", "/members/parameters/space"},
        {"members/parameters/space/t0", "[5, 1]", "spec_impossible_value", "/members/parameters/space/t0"},
        {"members/parameters/space/t0", "[-1e308, 1e308]", "spec_impossible_value", "/members/parameters/space/t0"},
        {"members/parameters/space/t0", "[1]", "spec_wrong_type", "/members/parameters/space/t0"},
        {"members/parameters/space/index", "[1, 2]", "spec_impossible_value", "/members/parameters/space/index"},
        {"members/resources/walltime", "10", "spec_wrong_type", "/members/resources/walltime"},
        {"members/resources/walltime", "\"10\"", "spec_impossible_value", "/members/resources/walltime"},
        {"members/resources/memory", "\"1G\"", "spec_impossible_value", "/members/resources/memory"},
        {"members/resources/tasks", "0", "spec_impossible_value", "/members/resources/tasks"},
        {"members/resources/cores", "1", "spec_unknown_key", "/members/resources/cores"},
        {"members/resources/exclusive", "\"yes\"", "spec_wrong_type", "/members/resources/exclusive"},
        {"members/resources/exclusive", "1", "spec_wrong_type", "/members/resources/exclusive"},
        {"training/resources", "{\"exclusive\": \"{t0}\"}", "spec_wrong_type", "/training/resources/exclusive"},
        {"members/resources/launcher", "7", "spec_wrong_type", "/members/resources/launcher"},
        {"members/resources/launcher", "\"\"", "spec_impossible_value", "/members/resources/launcher"},
        {"members/resources/launcher", "[]", "spec_impossible_value", "/members/resources/launcher"},
        {"members/resources/launcher", "[\"\"]", "spec_impossible_value", "/members/resources/launcher/0"},
        {"members/resources/launcher", "[\"copies\"]", "spec_impossible_value", "/members/resources/launcher/0"},
        {"members/resources/launcher", "[\"srun\", \"{task}\"]", "spec_unfilled_placeholder", "/members/resources/launcher/1"},
        {"members/resources", "{\"nodes\": 2, \"launcher\": \"copies\"}", "spec_impossible_value", "/members/resources/tasks"},
        {"training/resources", "{\"launcher\": \"copies\"}", "spec_impossible_value", "/training/resources/launcher"},
        {"members/success/file", "\"/etc/passwd\"", "spec_impossible_value", "/members/success/file"},
        {"members/success/file", "\"a/../../b\"", "spec_impossible_value", "/members/success/file"},
        {"training/fields", "{}", "spec_impossible_value", "/training/fields"},
        {"training/fields/temperature/dtype", "\"float16\"", "spec_impossible_value",
         "/training/fields/temperature/dtype"},
        {"training/fields/temperature/shape", "[0]", "spec_impossible_value", "/training/fields/temperature/shape"},
        {"training/fields/temperature/shape", "[-1, 3]", "spec_missing_key", "/training/fields/temperature/max"},
        {"training/fields/temperature/shape", "[3, -1]", "spec_impossible_value", "/training/fields/temperature/shape"},
        {"training/fields/temperature/max", "7", "spec_impossible_value", "/training/fields/temperature/max"},
        {"training/fields/u", "{\"dtype\": \"uint8\", \"shape\": [-1], \"max\": 0}", "spec_impossible_value",
         "/training/fields/u/max"},
        {"training/fields/u", "{\"dtype\": \"uint8\", \"shape\": [-1], \"max\": \"7\"}", "spec_wrong_type",
         "/training/fields/u/max"},
        {"training/fields/u", "{\"dtype\": \"uint8\", \"shape\": [-1, 4], \"max\": 2147483647}", "spec_impossible_value",
         "/training/fields/u/shape"},
        {"training/fields/temperature/shape", "[9999999, 9999999]", "spec_impossible_value",
         "/training/fields/temperature/shape"},
        {"training/buffer/threshold", "601", "spec_impossible_value", "/training/buffer/threshold"},
        {"training/buffer/batch", "601", "spec_impossible_value", "/training/buffer/batch"},
        {"training/buffer/policy", "\"lifo\"", "spec_impossible_value", "/training/buffer/policy"},
        {"training/command", "[\"{t0}\"]", "spec_unfilled_placeholder", "/training/command/0"},
        {"training/ranks", "-1", "spec_impossible_value", "/training/ranks"},
        {"training", "{\"command\": [\"x\"], \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [4]}}, \"ranks\": 2,"
         " \"buffer\": {\"capacity\": 22, \"threshold\": 15}}", "spec_impossible_value", "/training/buffer/capacity"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = changed(cases[i].path, cases[i].value);
        struct error err = {.code = "accepted"};
        struct spec *spec = spec_parse(json, NULL, &err);

        if (spec != NULL || strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0)
            fail_msg("%s = %s: %s at %s (%s), not %s at %s", cases[i].path, cases[i].value ? cases[i].value : "gone",
                     err.code, err.pointer, err.text, cases[i].code, cases[i].pointer);
        json_decref(json);
    }
}

static void a_key_that_is_nearly_right_is_guessed(void **state)
{
    static const struct {
        const char *path, *guess;
    } cases[] = {
        {"members/parameters/gird", "did you mean \"grid\"? Known here: method, count, seed, space, grid, exclude, file"},
        {"members/parameters/fiel", "did you mean \"file\"?"},
        {"members/parameters/sed", "did you mean \"seed\"?"},
        {"members/parameters/rows", "unknown key \"rows\"; known here: method, count, seed, space, grid, exclude, file"},
        {"traning", "did you mean \"training\"?"},
        {"members/resources/cpu_per_task", "did you mean \"cpus_per_task\"?"},
        {"x", "unknown key \"x\"; known here: "},
        {"members/resources/a_key_that_is_longer_than_any_that_is_known_anywhere_in_a_spec", "; known here: "},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = changed(cases[i].path, "1");
        struct error err;

        assert_null(spec_parse(json, NULL, &err));
        if (strstr(err.text, cases[i].guess) == NULL)
            fail_msg("%s: \"%s\", without \"%s\"", cases[i].path, err.text, cases[i].guess);
        json_decref(json);
    }
}

static void where_a_key_belongs_that_is_elsewhere_is_told(void **state)
{
    static const struct {
        const char *path, *told;
    } cases[] = {
        {"walltime", "unknown key \"walltime\", which belongs in /members/resources; known here: name, "},
        {"training/walltime", "\"walltime\", which belongs in /training/resources; "},
        {"members/tasks", "\"tasks\", which belongs in /members/resources; "},
        {"retries", "\"retries\", which belongs in /members; "},
        {"members/grid", "\"grid\", which belongs in /members/parameters; "},
        {"members/fields", "\"fields\", which belongs in /training; "},
        {"members/width", "\"width\", which belongs at the top; "},
        {"members/parameters/grid", "unknown key \"method\"; known here: grid, "},
        {"members/success/width", "\"width\", which belongs at the top; "},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = changed(cases[i].path, "1");
        struct error err;

        assert_null(spec_parse(json, NULL, &err));
        if (strstr(err.text, cases[i].told) == NULL)
            fail_msg("%s: \"%s\", without \"%s\"", cases[i].path, err.text, cases[i].told);
        json_decref(json);
    }
}

/* Each key that a spec may have, put into every object of one: where it is told to belong, it is known. */
static void a_key_is_known_where_it_is_told_to_belong(void **state)
{
    static const char *const keys[] = {
        "walltime", "tasks", "cpus_per_task", "gpus", "memory", "nodes", "queue", "account", "launcher", "grid", "method", "count",
        "seed", "space", "exclude", "file", "command", "parameters", "resources", "retries", "success", "env", "silence",
        "artefacts", "results", "metrics", "umask", "ranks", "fields", "buffer", "failure_after", "streams", "width", "pack", "share",
        "adapter", "training", "members", "allocation", "elastic", "early_stopping", "follow_up", "max_failures"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        static const char *const objects[] = {"", "members/", "members/resources/", "members/parameters/", "training/", "training/buffer/"};
        int told = 0;

        for (size_t k = 0; k < sizeof objects / sizeof *objects; k++) {
            char path[100], home[100] = "", *at;
            struct error err = {.code = ""}, there = {.code = ""};
            json_t *json;

            snprintf(path, sizeof path, "%s%s", objects[k], keys[i]);
            json = changed(path, "1");
            spec_destroy(spec_parse(json, NULL, &err));
            json_decref(json);
            if ((at = strstr(err.text, "which belongs ")) == NULL)
                continue;
            told++;
            if (sscanf(at, "which belongs in /%90[^;]", home) == 1)
                strcat(home, "/");
            snprintf(path, sizeof path, "%s%s", home, keys[i]);
            json = changed(path, "1");
            spec_destroy(spec_parse(json, NULL, &there));
            json_decref(json);
            if (strcmp(there.code, "spec_unknown_key") == 0 && strcmp(there.pointer + 1, path) == 0)
                fail_msg("%s is not known at %s: %s", keys[i], path, there.text);
        }
        if (told == 0)
            fail_msg("where \"%s\" belongs is told nowhere", keys[i]);
    }
}

/* With less than the whole walltime a member is started only where it is warned before the end, and has some time until
 * then. */
static void the_least_time_is_between_the_warning_and_the_walltime(void **state)
{
    static const struct {
        const char *checkpoint;
        int64_t least_ms;
    } cases[] = {{NULL, 600000}, {"{}", 600000}, {"{\"before\": \"1m\"}", 120000}, {"{\"before\": \"4m\"}", 420000}, {"{\"before\": \"9m\"}", 570000}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = changed("members/checkpoint", cases[i].checkpoint);
        struct error err;
        struct spec *spec = spec_parse(json, NULL, &err);

        assert_non_null(spec);
        assert_int_equal(spec_least_time_ms(spec), cases[i].least_ms);
        spec_destroy(spec);
        json_decref(json);
    }
}

/* Names of parameters are those of placeholders, which have 63 bytes at most: one that is taken can be used. */
static void the_longest_name_of_a_parameter(void **state)
{
    static const char *const kinds[] = {"{\"grid\": {\"%s\": [1]}}",
                                        "{\"method\": \"halton\", \"count\": 1, \"space\": {\"%s\": [0, 1]}}"};

    for (size_t i = 0; i < 4; i++) {
        int size = i % 2 ? 64 : 63;
        char name[65], parameters[200];
        struct error err;
        struct spec *spec;
        json_t *json;

        memset(name, 'n', (size_t)size);
        name[size] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(parameters, sizeof parameters, kinds[i / 2], name);
#pragma GCC diagnostic pop
        json = changed("members/parameters", parameters);
        json_object_set_new(json_object_get(json, "members"), "command", json_pack("[s]", "true"));
        json_object_del(json_object_get(json, "members"), "env");
        spec = spec_parse(json, NULL, &err);
        assert_int_equal(spec != NULL, size == 63);
        spec_destroy(spec);
        if (size == 63) {
            json_object_set_new(json_object_get(json, "members"), "command",
                                json_pack("[s, o]", "true", json_sprintf("{%s}", name)));
            spec = spec_parse(json, NULL, &err);
            assert_non_null(spec);
            spec_destroy(spec);
        }
        json_decref(json);
    }
}

/* A follow-up is like the ensemble before it, but for what is asked for. */
static void a_follow_up_changes_what_it_names(void **state)
{
    json_t *json = parse(good), *changes = parse("{\"width\": 9, \"resources\": {\"walltime\": \"2h\"}}"), *wanted,
           *followed;
    struct error err;

    followed = spec_follow_up(json, changes, &err);
    wanted = parse(good);
    json_object_set_new(wanted, "width", json_integer(9));
    json_object_set_new(json_object_get(json_object_get(wanted, "members"), "resources"), "walltime",
                        json_string("2h"));
    assert_true(json_equal(followed, wanted));
    json_decref(wanted);
    wanted = parse(good);
    assert_true(json_equal(json, wanted)); /* which stays as it was */
    json_decref(wanted);
    json_decref(followed);
    json_decref(changes);
    json_decref(json);
}

/* A job of several members that others follow is an allocation of that size, in which each is a job of its own. */
static void refilled_jobs_are_allocations(void **state)
{
    json_t *json = changed("training", NULL);
    struct error err;
    struct spec *spec;

    json_object_set_new(json, "refill", json_true());
    json_object_set_new(json, "pack", json_integer(3));
    json_object_set_new(json_object_get(json, "members"), "checkpoint", json_pack("{s:s}", "before", "1m"));
    spec = spec_parse(json, NULL, &err);
    assert_non_null(spec);
    assert_true(spec->has_allocation);
    assert_int_equal(spec->pack, 1);
    assert_int_equal(spec->members.resources.copies, 1);
    assert_int_equal(spec->allocation.resources.cpus_per_task, 6);
    assert_int_equal(spec->allocation.resources.memory, (int64_t)3 << 30);
    assert_int_equal(spec->allocation.resources.walltime_ms, 600000);
    spec_destroy(spec);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_spec_is_understood),
        cmocka_unit_test(each_mistake_is_named_with_its_place),
        cmocka_unit_test(a_key_that_is_nearly_right_is_guessed),
        cmocka_unit_test(where_a_key_belongs_that_is_elsewhere_is_told),
        cmocka_unit_test(a_key_is_known_where_it_is_told_to_belong),
        cmocka_unit_test(the_least_time_is_between_the_warning_and_the_walltime),
        cmocka_unit_test(the_longest_name_of_a_parameter),
        cmocka_unit_test(a_follow_up_changes_what_it_names),
        cmocka_unit_test(refilled_jobs_are_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

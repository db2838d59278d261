/* Rules: what may differ from a reference, and the place of the first difference that may not. */
#include "daemon/spec/rules.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const char reference[] =
    "{\"name\": \"reference\", \"members\": {\"command\": [\"python3\", \"train.py\", \"{lr}\", \"{batch}\", \"{workers}\"],"
    " \"env\": {\"SEED\": \"7\"}, \"parameters\": {\"grid\": {\"lr\": [0.1], \"batch\": [64], \"workers\": [1, 16]}}, \"retries\": 2},"
    " \"rules\": {\"may_vary\": [\"lr\", \"batch\"], \"files\": [{\"path\": \"train.py\", \"sha256\": \"" SHA_A "\"}]}}";
static const char tuned[] =
    "{\"name\": \"tuned\", \"width\": 3, \"members\": {\"command\": [\"python3\", \"train.py\", \"{lr}\", \"{batch}\", \"{workers}\"],"
    " \"env\": {\"SEED\": \"7\"}, \"parameters\": {\"grid\": {\"lr\": [0.2, 0.4], \"batch\": [32, 64], \"workers\": [16, 1]}}, \"retries\": 2},"
    " \"rules\": {\"reference\": 1,"
    " \"files\": [{\"path\": \"train.py\", \"sha256\": \"" SHA_A "\"}]}}";

static json_t *load(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

    if (json == NULL)
        fail_msg("%s", text);
    return json;
}

/* Sets a value at a path such as "members/env/SEED"; removes it for NULL. The last part may be an index. */
static void set(json_t *json, const char *path, const char *value)
{
    const char *slash;
    char key[64];

    while ((slash = strchr(path, '/')) != NULL) {
        snprintf(key, sizeof key, "%.*s", (int)(slash - path), path);
        json = json_is_array(json) ? json_array_get(json, (size_t)(key[0] - '0')) : json_object_get(json, key);
        path = slash + 1;
    }
    if (json_is_array(json))
        json_array_set_new(json, (size_t)(path[0] - '0'), load(value));
    else if (value != NULL)
        json_object_set_new(json, path, load(value));
    else
        json_object_del(json, path);
}

/* The tuned spec with one change, checked against the reference; a path that begins with "reference:" changes that. */
static struct error check(const char *path, const char *value)
{
    static const char mark[] = "reference:";
    json_t *json = load(tuned), *other = load(reference);
    struct error err = {0};
    struct spec *spec, *against;

    if (strncmp(path, mark, strlen(mark)) == 0)
        set(other, path + strlen(mark), value);
    else if (path[0] != '\0')
        set(json, path, value);
    spec = spec_parse(json, NULL, &err);
    against = spec_parse(other, NULL, &err);
    if (spec == NULL || against == NULL)
        assert_string_not_equal(err.code, "");
    else if (rules_check(spec, against, against->json, &err) == 0)
        assert_string_equal(err.code, "");
    spec_destroy(spec);
    spec_destroy(against);
    json_decref(json);
    json_decref(other);
    return err;
}

static void what_may_vary_does(void **state)
{
    static const char *const free_changes[][2] = {
        {"", ""}, {"name", "\"other\""}, {"width", "1"}, {"share", "5"}, {"members/parameters/grid/lr", "[9]"},
        {"max_failures", "3"}, {"members/umask", "null"}, {"members/parameters/seed", "0"}, {"members/parameters/grid/lr", "[1, 2.5]"},
        {"after", "{\"ensemble\": 7}"},
    };

    for (size_t i = 0; i < sizeof free_changes / sizeof *free_changes; i++) {
        struct error err = check(free_changes[i][0], free_changes[i][1]);

        assert_string_equal(err.text, "");
    }
}

static void every_other_difference_has_its_place(void **state)
{
    static const struct {
        const char *path, *value, *code, *pointer;
    } cases[] = {
        {"members/command/1", "\"other.py\"", "rules_broken", "/members/command/1"},
        {"members/command", "[\"python3\", \"train.py\", \"{lr}\", \"{batch}\", \"{workers}\", \"--adam\"]", "rules_broken", "/members/command/5"},
        {"members/command", "[\"python3\", \"train.py\", \"{lr}\", \"{batch}\"]", "rules_broken", "/members/command/4"},
        {"members/env/SEED", "\"8\"", "rules_broken", "/members/env/SEED"},
        {"members/env/OMP_NUM_THREADS", "\"1\"", "rules_broken", "/members/env/OMP_NUM_THREADS"},
        {"members/env", NULL, "rules_broken", "/members/env"},
        {"members/retries", "3", "rules_broken", "/members/retries"},
        {"members/resources", "{\"tasks\": 2}", "rules_broken", "/members/resources"},
        {"members/parameters/grid/workers", "[16, 8]", "rules_broken", "/members/parameters/grid/workers"},
        {"members/parameters/grid/momentum", "[0.9]", "rules_broken", "/members/parameters/grid/momentum"},
        {"rules/files/0", "{\"path\": \"train.py\", \"sha256\": \"" SHA_B "\"}", "rules_broken", "/rules/files/0"},
        {"rules/files/0", "{\"path\": \"data.npz\", \"sha256\": \"" SHA_A "\"}", "rules_broken", "/rules/files/0"},
        {"rules/files", NULL, "rules_broken", "/rules/files"},
        {"reference:rules/may_vary", "[\"lr\"]", "rules_broken", "/members/parameters/grid/batch"},
        {"reference:rules/may_vary", "[\"lr\", \"bacth\"]", "spec_impossible_value", "/rules/reference/rules/may_vary/1"},
        /* ways around the rules */
        {"rules/may_vary", "[\"lr\", \"batch\", \"workers\"]", "spec_impossible_value", "/rules/may_vary"},
        {"members/parameters/seed", "3", "rules_broken", "/members/parameters/seed"},
        {"members/parameters/grid/workers", "[16]", "rules_broken", "/members/parameters/grid/workers"},
        {"members/parameters/exclude", "[{\"workers\": 1}]", "rules_broken", "/members/parameters/grid/workers"},
        {"members/parameters/grid/lr", "[0.2, \"0.4 --epochs 60\"]", "rules_broken", "/members/parameters/grid/lr"},
        {"members/parameters/grid/lr", "[\"0.4\"]", "rules_broken", "/members/parameters/grid/lr"},
        {"members/parameters/grid/lr", "[true]", "rules_broken", "/members/parameters/grid/lr"},
        {"follow_up", "{\"auto\": true, \"max\": 50}", "rules_broken", "/follow_up"},
        {"rules/files/0", "\"train.py\"", "spec_wrong_type", "/rules/files/0"},
        {"rules/files/0", "{\"path\": \"a\", \"sha256\": \"12\"}", "spec_impossible_value", "/rules/files/0"},
        {"rules/files/0", "7", "spec_wrong_type", "/rules/files/0"},
        {"rules/files/0", "{\"path\": \"a\", \"sha256\": \"" SHA_A "a\"}", "spec_impossible_value", "/rules/files/0"},
        {"rules/files/0", "{\"path\": \"a\", \"size\": 1}", "spec_unknown_key", "/rules/files/0/size"},
        {"rules/reference", "\"reference.json\"", "spec_wrong_type", "/rules/reference"},
        {"rules/reference", "[]", "spec_wrong_type", "/rules/reference"},
        {"rules/files/0", "{\"path\": \"a\", \"sha256\": \"" SHA_A "\", \"at\": 7}", "spec_wrong_type", "/rules/files/0/at"},
        {"rules/refrence", "1", "spec_unknown_key", "/rules/refrence"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = check(cases[i].path, cases[i].value);

        if (strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0)
            fail_msg("%s = %s: %s at %s: %s", cases[i].path, cases[i].value, err.code, err.pointer, err.text);
    }
}

static void places_may_vary_as_well(void **state)
{
    assert_string_equal(check("members/resources", "{\"tasks\": 2}").code, "rules_broken");
    for (int i = 0; i < 2; i++) {
        json_t *json = load(tuned), *other = load(reference);
        struct error err = {0};
        struct spec *spec, *against;

        set(json, "members/resources", "{\"tasks\": 2}");
        set(other, "rules/may_vary",
            i == 0 ? "[\"lr\", \"batch\", \"/members/resources\"]" : "[\"lr\", \"batch\", \"/members/resource\"]");
        spec = spec_parse(json, NULL, &err);
        against = spec_parse(other, NULL, &err);
        assert_int_equal(rules_check(spec, against, against->json, &err), -i);
        spec_destroy(spec);
        spec_destroy(against);
        json_decref(json);
        json_decref(other);
    }
}

static void a_reference_is_frozen_without_its_own(void **state)
{
    json_t *json = load(tuned), *other = load(reference), *frozen, *rules;

    set(other, "rules/reference", "{\"name\": \"older\", \"rules\": {\"may_vary\": [\"lr\"]}}");
    frozen = rules_freeze(json, 12, other);
    rules = json_object_get(frozen, "rules");
    assert_int_equal(json_integer_value(json_object_get(rules, "reference_ensemble")), 12);
    assert_string_equal(json_string_value(json_object_get(json_object_get(rules, "reference"), "name")), "reference");
    rules = json_object_get(json_object_get(rules, "reference"), "rules");
    assert_null(json_object_get(rules, "reference"));
    assert_int_equal(json_array_size(json_object_get(rules, "may_vary")), 1); /* as its own lets it */
    assert_int_equal(json_array_size(json_object_get(rules, "files")), 1);
    assert_true(json_is_integer(json_object_get(json_object_get(json, "rules"), "reference")));
    json_decref(frozen);
    json_decref(json);
    json_decref(other);
}

/* Two specs that differ in their parameters alone. */
static void parameters_are_compared_by_name(void **state)
{
    static const struct {
        const char *own, *reference, *may_vary, *code, *pointer;
    } cases[] = {
        {"\"grid\": {\"a\": [1]}", "\"grid\": {\"a\": [1], \"b\": [2]}", "[]", "rules_broken", "/members/parameters"},
        {"\"grid\": {\"a\": [1]}", "\"grid\": {\"a\": [1], \"b\": [2]}", "[\"b\"]", "", ""},
        {"\"grid\": {\"a\": [1]}", "\"grid\": {\"a\": [1], \"b\": [2]}", "[\"a\"]", "rules_broken", "/members/parameters"},
        {"\"grid\": {\"a\": [1, 3], \"b\": [2]}", "\"grid\": {\"b\": [2.0], \"a\": [3, 1]}", "[]", "", ""},
        {"\"grid\": {\"a\": [1], \"b\": [2]}", "\"grid\": {\"b\": [2], \"a\": [3, 1]}", "[]", "rules_broken", "/members/parameters/grid/a"},
        {"\"grid\": {\"a\": [1, 2], \"b\": [1, 2]}, \"exclude\": [{\"a\": 1, \"b\": 2}]", "\"grid\": {\"a\": [1, 2], \"b\": [1, 2]}", "[]",
         "rules_broken", "/members/parameters"},
        {"\"grid\": {\"o\": [\"adam\", \"a.b\"]}", "\"grid\": {\"o\": [\"sgd\"]}", "[\"o\"]", "", ""},
        {"\"grid\": {\"o\": [\"adam; rm x\"]}", "\"grid\": {\"o\": [\"sgd\"]}", "[\"o\"]", "rules_broken", "/members/parameters/grid/o"},
        {"\"grid\": {\"o\": [\"--epochs=60\"]}", "\"grid\": {\"o\": [\"sgd\"]}", "[\"o\"]", "rules_broken", "/members/parameters/grid/o"},
        {"\"grid\": {\"o\": [\"a b\"]}", "\"grid\": {\"o\": [\"a b\", 1]}", "[\"o\"]", "", ""},
        {"\"grid\": {\"a\": [1], \"b\": [3]}", "\"grid\": {\"b\": [2], \"a\": [3, 1]}", "[]", "rules_broken", "/members/parameters/grid/b"},
        {"\"method\": \"halton\", \"count\": 2, \"space\": {\"x\": [0, 1]}", "\"grid\": {\"x\": [0, 1]}", "[]", "rules_broken",
         "/members/parameters/space/x"},
        {"\"method\": \"halton\", \"count\": 2, \"space\": {\"x\": [0, 1]}", "\"method\": \"halton\", \"count\": 9, \"space\": {\"x\": [0, 1]}", "[]",
         "rules_broken", "/members/parameters/space/x"},
        {"\"method\": \"halton\", \"count\": 9, \"space\": {\"x\": [0, 1]}", "\"method\": \"halton\", \"count\": 9, \"space\": {\"x\": [0, 1]}", "[]",
         "", ""},
        {"\"open\": [\"a\"]", "\"grid\": {\"a\": [1]}", "[]", "spec_unsupported", "/rules"},
        {"\"grid\": {\"a\": [1]}", "\"open\": [\"a\"]", "[]", "spec_unsupported", "/rules"},
        {"\"method\": \"halton\", \"count\": 10001, \"space\": {\"x\": [0, 1]}", "\"grid\": {\"x\": [0]}", "[\"x\"]", "rules_broken", "/members/parameters"},
        {"\"grid\": {\"x\": [0]}", "\"method\": \"halton\", \"count\": 10001, \"space\": {\"x\": [0, 1]}", "[\"x\"]", "rules_broken", "/members/parameters"},
        {"\"method\": \"halton\", \"count\": 10000, \"space\": {\"x\": [0, 1]}", "\"grid\": {\"x\": [0]}", "[\"x\"]", "", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        json_t *json, *other;
        struct error err = {0};
        struct spec *spec, *against;

        snprintf(text, sizeof text, "{\"name\": \"x\", \"members\": {\"command\": [\"t\"], \"parameters\": {%s}}, "
                 "\"rules\": {\"reference\": 1}}", cases[i].own);
        json = load(text);
        snprintf(text, sizeof text, "{\"name\": \"x\", \"members\": {\"command\": [\"t\"], \"parameters\": {%s}}, "
                 "\"rules\": {\"may_vary\": %s}}", cases[i].reference, cases[i].may_vary);
        other = load(text);
        spec = spec_parse(json, NULL, &err);
        against = spec_parse(other, NULL, &err);
        assert_true(spec != NULL && against != NULL);
        err = (struct error){0};
        rules_check(spec, against, against->json, &err);
        if (strcmp(err.code, cases[i].code) != 0 || strcmp(err.pointer, cases[i].pointer) != 0)
            fail_msg("%s, %s: %s at %s: %s", cases[i].own, cases[i].reference, err.code, err.pointer, err.text);
        spec_destroy(spec);
        spec_destroy(against);
        json_decref(json);
        json_decref(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_vary_does),
        cmocka_unit_test(every_other_difference_has_its_place),
        cmocka_unit_test(places_may_vary_as_well),
        cmocka_unit_test(a_reference_is_frozen_without_its_own),
        cmocka_unit_test(parameters_are_compared_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

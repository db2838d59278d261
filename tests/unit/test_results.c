/* Directories of results: one for each member, whatever values the parameters have, and below the directory that the
 * spec names. */
#include "daemon/spec/results.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

static struct spec *spec;

/* Returns the code of the refusal, or "" for a good spec, which is then in `spec`. */
static const char *parse(const char *results, const char *parameters)
{
    static struct error err;
    json_error_t wrong;
    json_t *json = json_pack("{s:s, s:{s:[s], s:[s], s:s, s:o}}", "name", "r", "members", "command", "true",
                             "artefacts", "m.pt", "results", results, "parameters", json_loads(parameters, 0, &wrong));

    assert_non_null(json);
    spec_destroy(spec);
    err = (struct error){0};
    spec = spec_parse(json, NULL, &err);
    if (spec != NULL && spec_check_results(spec, &err) == 0)
        assert_string_equal(err.code, "");
    else
        assert_string_equal(err.pointer, "/members/results");
    json_decref(json);
    return err.code;
}

static void check_path(int64_t index, const char *wanted)
{
    json_t *values = params_at(spec->params, index);
    struct error err;
    char *path = spec_results_of(spec, index, values, &err);

    assert_string_equal(path, wanted);
    free(path);
    json_decref(values);
}

#define GRID "{\"grid\": {\"lr\": [0.1, 0.25], \"batch\": [64, 128]}}"

static void paths_that_leave_are_refused(void **state)
{
    static const char *const bad[] = {"model/{index}", "results", "results/", "results/../{index}", "results//{index}",
                                      "results/./{index}", "/", "/tmp/{index}/", "../{index}"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_string_equal(parse(bad[i], GRID), "spec_impossible_value");
    assert_string_equal(parse("results/{attempt}", GRID), "spec_unfilled_placeholder");
    assert_string_equal(parse("results/{index", GRID), "spec_bad_placeholder");
}

static void values_add_no_parts(void **state)
{
    assert_string_equal(parse("results/{x}", "{\"grid\": {\"x\": [\"../../etc\", \"..\", \".\", \"\", \"a/b\", \"a%2Fb\", \"a b\", \"%\","
                                             " \"lr=1e-3\", true]}}"), "");
    check_path(0, "results/%2E.%2F..%2Fetc");
    check_path(1, "results/%2E.");
    check_path(2, "results/%2E");
    check_path(3, "results/%");
    check_path(4, "results/a%2Fb");
    check_path(5, "results/a%252Fb");
    check_path(6, "results/a%20b");
    check_path(7, "results/%25");
    check_path(8, "results/lr=1e-3");
    check_path(9, "results/true");
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    char grid[400];

    snprintf(grid, sizeof grid, "{\"grid\": {\"x\": [\"%0255d\"]}}", 1);
    assert_string_equal(parse("results/{x}", grid), "");
    assert_string_equal(parse("results/x{x}", grid), "spec_impossible_value");
}

static int end(void **state)
{
    spec_destroy(spec);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_that_leave_are_refused),
        cmocka_unit_test(values_add_no_parts),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, end);
}

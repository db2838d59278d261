#include "common/jsonx.h"
#include "tests/unit/unit.h"

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    return value;
}

static void pointers_escape(void **state)
{
    char buf[64];

    assert_string_equal(jsonx_pointer(buf, sizeof buf, "/members", "a/b~c"), "/members/a~1b~0c");
    assert_string_equal(jsonx_pointer(buf, 8, "/members", "abc"), "/member");
}

static void each_reader_names_the_place(void **state)
{
    json_t *obj = parse("{\"s\": 1, \"i\": 1.5, \"d\": \"10\", \"l\": [\"a\", 2], \"n\": null, \"e\": \"\"}");
    struct error err;
    const char *s = NULL;
    int64_t n = 7;
    const json_t *list;

    assert_int_equal(jsonx_string(obj, "/x", "s", JSONX_OPTIONAL, &s, &err), -1);
    assert_string_equal(err.code, "spec_wrong_type");
    assert_string_equal(err.pointer, "/x/s");
    assert_int_equal(jsonx_string(obj, "/x", "e", JSONX_OPTIONAL, &s, &err), -1);
    assert_int_equal(jsonx_int(obj, "", "i", JSONX_REQUIRED, 0, 10, &n, &err), -1);
    assert_string_equal(err.pointer, "/i");
    assert_int_equal(jsonx_duration(obj, "", "d", JSONX_REQUIRED, 0, &n, &err), -1);
    assert_string_equal(err.code, "spec_impossible_value");
    assert_int_equal(jsonx_strings(obj, "", "l", JSONX_REQUIRED, 1, &list, &err), -1);
    assert_string_equal(err.pointer, "/l/1");
    assert_int_equal(jsonx_int(obj, "", "n", JSONX_OPTIONAL, 0, 10, &n, &err), 0);
    assert_int_equal(n, 7);
    assert_int_equal(jsonx_int(obj, "", "n", JSONX_REQUIRED, 0, 10, &n, &err), -1);
    assert_string_equal(err.code, "spec_missing_key");
    json_decref(obj);
}

static void unknown_keys_are_refused(void **state)
{
    static const char *const known[] = {"a", "b", NULL};
    json_t *good = parse("{\"a\": 1}"), *bad = parse("{\"a\": 1, \"bb\": 2}");
    struct error err;

    assert_int_equal(jsonx_only(good, "", known, &err), 0);
    assert_int_equal(jsonx_only(bad, "/m", known, &err), -1);
    assert_string_equal(err.code, "spec_unknown_key");
    assert_string_equal(err.pointer, "/m/bb");
    json_decref(good);
    json_decref(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_escape),
        cmocka_unit_test(each_reader_names_the_place),
        cmocka_unit_test(unknown_keys_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

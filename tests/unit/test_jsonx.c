#include "common/jsonflat.h"
#include "common/jsonx.h"
#include "tests/unit/unit.h"

#include <string.h>

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

/* Flat records are read as jansson reads them; of all else nothing is said. */
static void flat_objects_are_what_jansson_reads(void **state)
{
    static const char *const flat[] = {
        "{\"a\":1}", " { \"a\" : \"b c\" , \"d\":-7,\t\"e\":0 }\n", "{\"t\":true,\"f\":false,\"n\":null,\"s\":\"\"}",
        "{\"r\":1795300670.418,\"q\":-0.5,\"z\":0.0,\"m\":0.00044099999999999999}", "{\"big\":12345678901234567,\"\":1}",
    };
    static const char *const other[] = {
        "", "{}", "[1]", "1", "{\"a\":1", "{\"a\":1}x", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{\"a\":1,\"a\":2}",
        "{\"a\":{}}", "{\"a\":[1]}", "{\"a\":\"\\n\"}", "{\"a\":\"\xc3\xa9\"}", "{\"a\":\"\t\"}", "{\"a\":01}",
        "{\"a\":-0}", "{\"a\":-01.5}", "{\"a\":1.}", "{\"a\":.5}", "{\"a\":+1}", "{\"a\":-}", "{\"a\":1e5}", "{\"a\":1.5E5}",
        "{\"a\":123456789012345678901}", "{\"a\":nul}", "{\"a\":nan}", "{\"a\":1 2}", "{\"a\":truex}", "{\"a\":\"x}",
    };

    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++) {
        json_t *wanted = parse(flat[i]), *got = json_load_flat(flat[i], strlen(flat[i]));

        assert_non_null(got);
        assert_true(json_equal(wanted, got));
        json_decref(wanted);
        json_decref(got);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_null(json_load_flat(other[i], strlen(other[i])));
    assert_null(json_load_flat("{\"a\":1}\0 ", 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_escape),
        cmocka_unit_test(each_reader_names_the_place),
        cmocka_unit_test(unknown_keys_are_refused),
        cmocka_unit_test(flat_objects_are_what_jansson_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

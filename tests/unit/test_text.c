/* JSON written straight into a text is what jansson would write. */
#include "common/jsonx.h"
#include "common/near.h"
#include "common/text.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void strings_are_escaped(void **state)
{
    static const char *const strings[] = {"", "plain", "a \"b\" \\c", "\n\t\x01\x1f", "Zürich 日本 \xf0\x9f\x98\x80", "\x7f"};
    struct text text = {0};

    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        json_t *back;

        text.size = 0;
        text_json_string(&text, strings[i]);
        back = json_loads(text.data, JSON_DECODE_ANY, NULL);
        assert_string_equal(json_string_value(back), strings[i]);
        json_decref(back);
    }
    text.size = 0;
    text_json_string(&text, "no UTF-8: \xff");
    assert_string_equal(text.data, "\"\"");
    free(text.data);
}

static void values_are_written_as_jansson_would_but_short(void **state)
{
    static const char *const values[] = {
        "{}", "[]", "null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "0.0", "-0.0", "100.0",
        "0.1", "-3.25", "1e300", "1e-7", "123456789012345680.0", "\"a \\\"b\\\" \\\\c\"", "\"\\u0000\"", "\"a\\nb\"",
        "\"Z\u00fcrich\"", "[1,[2,[]],{\"a\":{}}]", "{\"b\":1,\"a\":[null,true],\"quo\\\"te\":0.30000000000000004,\"\":\"\"}",
    };
    struct text text = {0};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *value = json_loads(values[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL), *again;
        char *wanted = jsonx_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

        text.size = 0;
        text_json(&text, value);
        again = json_loads(text.data, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_true(json_equal(again, value));
        if (strpbrk(wanted, "e") == NULL) /* an exponent is written without + and leading zeros */
            assert_string_equal(text.data, wanted);
        json_decref(again);
        free(wanted);
        json_decref(value);
    }
    free(text.data);
}

static void reals_are_as_short_as_they_can_be(void **state)
{
    static const struct {
        double number;
        const char *wanted;
    } cases[] = {{0.05, "0.05"}, {1e18, "1e18"}, {1e-5, "1e-5"}, {-2.5e-300, "-2.5e-300"}, {3, "3"}, {0.1 + 0.2, "0.30000000000000004"},
        {-1.7976931348623157e308, "-1.7976931348623157e308"}, {123456789012345680.0, "1.2345678901234568e17"},
        {0, "0"}, {INFINITY, "Infinity"}, {-INFINITY, "-Infinity"}};
    char text[TEXT_REAL];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ptr_equal(text_real(text, cases[i].number), text);
        assert_string_equal(text, cases[i].wanted);
        assert_true(strtod(text, NULL) == cases[i].number);
    }
}

static void values_for_people_are_short(void **state)
{
    static const char *const values[][2] = {
        {"0.1", "0.1"}, {"3.0", "3.0"}, {"1e18", "1e18"}, {"1e-5", "1e-5"}, {"-0.0", "-0.0"}, {"7", "7"}, {"\"a\\\"b\"", "\"a\\\"b\""}, {"null", "null"},
        {"[]", "[]"}, {"{}", "{}"}, {"[0.2, [0.3, 1], {\"a\": 0.7, \"b\": []}]", "[0.2,[0.3,1],{\"a\":0.7,\"b\":[]}]"},
        {"{\"a\": 0.30000000000000004, \"b\": true}", "{\"a\":0.30000000000000004,\"b\":true}"},
    };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *value = json_loads(values[i][0], JSON_DECODE_ANY, NULL);
        struct text text = {0};

        text_json(&text, value);
        assert_string_equal(text.data, values[i][1]);
        json_decref(value);
        free(text.data);
    }
}

static void a_typing_error_is_near(void **state)
{
    static const char *const words[] = {"status", "submit", "suggest", "top", "events", NULL};
    static const char *const cases[][2] = {
        {"statsu", "status"}, {"status", "status"}, {"sbumit", "submit"}, {"sugest", "suggest"}, {"event", "events"}, {"pot", NULL}, {"to", "top"},
        {"", NULL}, {"x", NULL}, {"resubmitted-what", NULL},
    };
    char longest[200];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = near_find(cases[i][0], words);

        if (cases[i][1] == NULL ? found != NULL : found == NULL || strcmp(found, cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], found ? found : "none");
    }
    memset(longest, 's', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(near_find(longest, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_for_people_are_short),
        cmocka_unit_test(a_typing_error_is_near),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(values_are_written_as_jansson_would_but_short),
        cmocka_unit_test(reals_are_as_short_as_they_can_be),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

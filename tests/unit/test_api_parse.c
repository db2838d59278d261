/* Parsing of what comes from clients and from programs' output: ranges, and bytes that are no UTF-8; and the rate of
 * an ensemble. */
#include "tests/unit/unit.h"

#include "api/body.h"
#include "api/limits.h"
#include "api/problem.h"
#include "api/range.h"
#include "api/rate.h"
#include "api/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ranges(void **state)
{
    static const struct {
        const char *text;
        int64_t size;
        enum range_answer answer;
        int64_t first, end;
    } cases[] = {
        {NULL, 10, RANGE_ALL, 0, 10},
        {"bytes=0-3", 10, RANGE_PART, 0, 4},
        {"bytes=4-", 10, RANGE_PART, 4, 10},
        {"bytes=-3", 10, RANGE_PART, 7, 10},
        {"bytes=-30", 10, RANGE_PART, 0, 10},
        {"bytes=9-9", 10, RANGE_PART, 9, 10},
        {"bytes=0-10", 10, RANGE_PART, 0, 10},
        {"bytes=9-99999999999999999999999999", 10, RANGE_PART, 9, 10},
        {"BYTES=0-0", 10, RANGE_PART, 0, 1},
        {"bytes=10-", 10, RANGE_UNSATISFIABLE, 0, 10},
        {"bytes=99999999999999999999999999-", 10, RANGE_UNSATISFIABLE, 0, 10},
        {"bytes=-0", 10, RANGE_UNSATISFIABLE, 0, 10},
        {"bytes=0-", 0, RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=-5", 0, RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=5-2", 10, RANGE_ALL, 0, 10},
        {"bytes=0-1,3-4", 10, RANGE_ALL, 0, 10},
        {"bytes=", 10, RANGE_ALL, 0, 10},
        {"bytes=-", 10, RANGE_ALL, 0, 10},
        {"bytes=a-b", 10, RANGE_ALL, 0, 10},
        {"bytes=0 - 3", 10, RANGE_ALL, 0, 10},
        {"lines=0-3", 10, RANGE_ALL, 0, 10},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t first, end;

        assert_int_equal(range_parse(cases[i].text, cases[i].size, &first, &end), cases[i].answer);
        assert_int_equal(first, cases[i].first);
        assert_int_equal(end, cases[i].end);
    }
}

static void assert_text(const char *in, const char *wanted)
{
    json_t *value = value_text(in);

    assert_string_equal(json_string_value(value), wanted);
    json_decref(value);
}

#define BAD "\xEF\xBF\xBD"

/* A refused body is read only so far, however small its pieces are. */
static void refused_bodies_are_read_so_far(void **state)
{
    size_t budget = 0;
    struct body body;

    body_init(&body, &budget);
    for (size_t i = 0; i < LIMIT_DISCARD / 4096; i++)
        assert_int_equal(body_discard(&body, 4096), 0);
    assert_int_equal(body_discard(&body, 1), -1);
    body_fini(&body);
}

static void any_bytes_become_text(void **state)
{
    unsigned char bytes[256];

    assert_text("", "");
    assert_text("grüße \xF0\x9F\x8E\xB5", "grüße \xF0\x9F\x8E\xB5");
    assert_text("a\xFFz", "a" BAD "z");
    assert_text("cut \xE2\x82", "cut " BAD BAD);
    assert_text("overlong \xC0\xAF", "overlong " BAD BAD);
    assert_text("surrogate \xED\xA0\x80", "surrogate " BAD BAD BAD);
    assert_text("beyond \xF4\x90\x80\x80", "beyond " BAD BAD BAD BAD);
    for (int i = 0; i < 255; i++)
        bytes[i] = (unsigned char)(i + 1);
    bytes[255] = '\0';
    json_decref(value_text((char *)bytes));
    srand(7);
    for (int round = 0; round < 2000; round++) {
        char *copy, noise[40];
        json_t *value;

        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (char)(rand() % 255 + 1);
        noise[sizeof noise - 1] = '\0';
        copy = strdup(noise); /* so that a read beyond the end is seen */
        value = value_text(copy);
        assert_true(json_is_string(value));
        json_decref(value);
        free(copy);
    }
}

static void reals_are_exact_and_short(void **state)
{
    json_t *list = json_pack("[f, f, f, f, f, f, s, i]", 0.1, 0.8279135145578271, -2.0 / 3, 1e300, 5e-324,
                             1234567890123456.0, "0.10000000000000001\\\"0.30000000000000004", 7);
    char *text = value_dump(list);
    json_t *back = json_loads(text, 0, NULL);

    assert_string_equal(text, "[0.1,0.8279135145578271,-0.6666666666666666,1e+300,4.94065645841247e-324,"
                              "1234567890123456.0,\"0.10000000000000001\\\\\\\"0.30000000000000004\",7]\n");
    assert_true(json_equal(list, back));
    json_decref(back);
    free(text);
    json_decref(list);
    srand(11);
    for (int i = 0; i < 5000; i++) {
        double x = (double)rand() / (rand() + 1.0) * (i % 2 ? 1e-9 : 1e9);
        json_t *one = json_pack("{s:f}", "x", x);

        text = value_dump(one);
        back = json_loads(text, 0, NULL);
        assert_true(json_equal(one, back));
        json_decref(back);
        json_decref(one);
        free(text);
    }
}

/* Successes that came one every `every_ms` until `last_ms`, and how long nothing ran meanwhile. */
struct steady {
    int64_t n, last_ms, idle_ms;
    double every_ms;
};

static int look_up(void *arg, int64_t nth, int64_t *ms, struct error *err)
{
    const struct steady *s = arg;

    *ms = s->last_ms - (int64_t)((double)(nth - 1) * s->every_ms);
    return nth <= s->n;
}

static int look_up_idle(void *arg, int64_t since_ms, int64_t now_ms, int64_t *idle_ms, struct error *err)
{
    *idle_ms = ((const struct steady *)arg)->idle_ms;
    return 0;
}

static double rate_at(int64_t now_ms, int64_t width, struct steady s)
{
    struct error err;
    double rate;

    assert_int_equal(rate_of(now_ms, 0, width, s.n, look_up, look_up_idle, &s, &rate, &err), 0);
    return rate;
}

/* A rate is that of the last while in which members ran, whatever the width is. */
static void rates(void **state)
{
    static const double every[] = {0.1, 1, 70, 60000};
    static const int64_t widths[] = {1, 100, 100000};

    for (size_t i = 0; i < sizeof every / sizeof *every; i++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            struct steady s = {.n = 1000000, .last_ms = INT64_C(1) << 40, .every_ms = every[i]};
            double rate = rate_at(s.last_ms, widths[k], s) * every[i] / 1000;

            assert_true(rate > 0.9 && rate < 1.1);
        }
    assert_true(rate_at(10000, 1, (struct steady){.n = 5, .last_ms = 9000, .every_ms = 1}) == 0.5); /* few: since the beginning */
    assert_true(rate_at(10000, 1, (struct steady){.n = 5, .last_ms = 9000, .every_ms = 1, .idle_ms = 5000}) == 1);
    assert_true(rate_at(20000, 1, (struct steady){.n = 5, .last_ms = 9000, .every_ms = 1}) == 0.25); /* none succeeds */
}

/* Where none has succeeded lately, nobody knows when the others do. */
static void a_rate_is_stale_after_three_times_as_long_as_members_take(void **state)
{
    assert_false(rate_is_stale(160000, 100000, 1000));
    assert_true(rate_is_stale(160001, 100000, 1000));
    assert_false(rate_is_stale(400000, 100000, 100000));
    assert_true(rate_is_stale(400001, 100000, 100000));
    assert_false(rate_is_stale(INT64_MAX, 0, INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),
        cmocka_unit_test(refused_bodies_are_read_so_far),
        cmocka_unit_test(any_bytes_become_text),
        cmocka_unit_test(reals_are_exact_and_short),
        cmocka_unit_test(rates),
        cmocka_unit_test(a_rate_is_stale_after_three_times_as_long_as_members_take),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

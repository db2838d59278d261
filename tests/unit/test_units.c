#include "common/timefmt.h"
#include "common/units.h"
#include "tests/unit/unit.h"

#include <time.h>

static void accepts_what_people_write(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"90s", 90000},      {"10m", 600000},        {"2h", 7200000},       {"1d", 86400000}, {"250ms", 250},
                {"1h30m", 5400000}, {"01:30:00", 5400000}, {"100:00:01", 360001000}, {"0s", 0}, {"1d1h1m1s1ms", 90061001},
                {"1d1ms", 86400001}, {"00:59:59", 3599000}, {"36600d", INT64_C(3162240000000)}, {"878400:00:00", INT64_C(3162240000000)},
                {"3162240000000ms", INT64_C(3162240000000)}};
    int64_t ms;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(duration_parse(good[i].text, &ms), 0);
        assert_int_equal(ms, good[i].ms);
    }
}

static void refuses_what_is_ambiguous_or_absurd(void **state)
{
    static const char *const bad[] = {"",    "10",    "-5s",   "5 s",       "m",     "1m1h", "1m1m",
                                      "1.5h", "01:30", "1:60:00", "00:00:61", "1:2:3:4", "9999999999999999999s", "200000d", "36600d1ms",
                                      "878400:00:01", "3162240000001ms", "1:2", "1:2:", ":1:2", "1::2", "1:2:3x", "1:2: 3", "60:60:00", "1:00:60", "s",
                                      "1s1", "1S", "1min", "1m 2s", "1s1s", "1ms1s", "999999999999999999:00:00", "1d1d", "1h:"};
    int64_t ms;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (duration_parse(bad[i], &ms) == 0)
            fail_msg("accepted \"%s\"", bad[i]);
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0}, {"1B", 1}, {"2kB", 2000}, {"2MB", 2000000}, {"2GB", 2000000000}, {"2TB", INT64_C(2000000000000)}, {"2KiB", 2048},
                {"2MiB", 2097152}, {"1GiB", 1073741824}, {"2TiB", INT64_C(2199023255552)}, {"9223372036854775807", INT64_MAX},
                {"8388607TiB", INT64_C(8388607) << 40}};
    static const char *const bad[] = {"", "B", "1 B", "1b", "1KB", "1kb", "1Ki", "1GIB", "9223372036854775808", "8388608TiB", "1.5GB", "+1", "1BB"};
    int64_t n;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(size_parse(good[i].text, &n), 0);
        assert_int_equal(n, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (size_parse(bad[i], &n) == 0)
            fail_msg("accepted \"%s\"", bad[i]);

    assert_int_equal(size_parse("2GiB", &n), 0);
    assert_int_equal(n, INT64_C(2) << 30);
    assert_int_equal(size_parse("4096", &n), 0);
    assert_int_equal(n, 4096);
    assert_int_equal(size_parse("3kB", &n), 0);
    assert_int_equal(n, 3000);
    assert_int_equal(size_parse("1K", &n), -1);
    assert_int_equal(size_parse("-1B", &n), -1);
    assert_int_equal(size_parse("99999999TiB", &n), -1);
}

static void masks(void **state)
{
    static const char *const bad[] = {"", "7", "27", "00027", "0700", "100", "1027", "028", "0x1", "-27", " 027", "u=rwx"};
    unsigned mask;

    assert_int_equal(umask_parse("0027", &mask), 0);
    assert_int_equal(mask, 027);
    assert_int_equal(umask_parse("077", &mask), 0);
    assert_int_equal(mask, 077);
    assert_int_equal(umask_parse("000", &mask), 0);
    assert_int_equal(mask, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (umask_parse(bad[i], &mask) == 0)
            fail_msg("accepted \"%s\"", bad[i]);
}

static void any_number_is_a_time(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } times[] = {{0, "1970-01-01T00:00:00.000Z"},
                 {INT64_C(1769860800123), "2026-01-31T12:00:00.123Z"},
                 {-1, "1969-12-31T23:59:59.999Z"},
                 {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
                 {INT64_C(253402300800000), "9999-12-31T23:59:59.999Z"},
                 {INT64_MAX, "9999-12-31T23:59:59.999Z"},
                 {INT64_MIN, "0000-01-01T00:00:00.000Z"},
                 {-INT64_C(62167219200000), "0000-01-01T00:00:00.000Z"},
                 {-INT64_C(62167219199999), "0000-01-01T00:00:00.001Z"},
                 {-1000, "1969-12-31T23:59:59.000Z"},
                 {-999, "1969-12-31T23:59:59.001Z"},
                 {999, "1970-01-01T00:00:00.999Z"},
                 {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"}};
    char text[TIMEFMT_SIZE];

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_string_equal(timefmt_iso(text, times[i].ms), times[i].text);
}

/* Nothing that waits is disturbed by whoever sets the clock. */
static void durations_are_measured_by_a_clock_that_nobody_sets(void **state)
{
    struct timespec before, after;
    int64_t now;

    clock_gettime(CLOCK_MONOTONIC, &before);
    now = time_monotonic_ms();
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(now >= before.tv_sec * INT64_C(1000) + before.tv_nsec / 1000000);
    assert_true(now <= after.tv_sec * INT64_C(1000) + after.tv_nsec / 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_people_write),
        cmocka_unit_test(refuses_what_is_ambiguous_or_absurd),
        cmocka_unit_test(sizes),
        cmocka_unit_test(masks),
        cmocka_unit_test(any_number_is_a_time),
        cmocka_unit_test(durations_are_measured_by_a_clock_that_nobody_sets),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is written for each point of a metric, and for the ends of members, and read again. */
#include "tasks/proto/ends.h"
#include "tasks/proto/points.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a text in a file where other lines follow, of which nothing counts. */
static int read_line(const char *text, size_t size, char name[POINTS_NAME_MAX + 1], struct points_point *point)
{
    static const char others[] = "\n5\t5\t5\t5\t5\n5\n";
    char *line = malloc(size + sizeof others);
    int rc;

    memcpy(line, text, size);
    memcpy(line + size, others, sizeof others);
    memset(point, 0x55, sizeof *point);
    rc = points_read(line, line + size, name, point);
    free(line);
    return rc;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_same(const struct points_point *a, const struct points_point *b)
{
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->last_step, b->last_step);
    assert_int_equal(a->time_ms, b->time_ms);
    assert_int_equal(a->last_time_ms, b->last_time_ms);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->not_finite, b->not_finite);
    assert_true(same(a->first, b->first) && same(a->last, b->last));
    assert_true(same(a->min, b->min) && same(a->max, b->max) && same(a->area, b->area) && same(a->within, b->within));
}

static void points_survive_the_round_trip(void **state)
{
    static const struct points_point points[] = {
        {7, 7, 1000, 1000, 1, 0, 0.1, 0.1, 0.1, 0.1, 2.5, 0},
        {-POINTS_STEP_MAX, -POINTS_STEP_MAX, 0, 0, 1, 0, -1e300, -1e300, -1e300, -1e300, -0.125, 0},
        {POINTS_STEP_MAX, POINTS_STEP_MAX, INT64_MAX / 2, INT64_MAX / 2, 1, 0, 0, 0, 0, 0, 0, 0},
        {3, 3, 5, 5, 1, 1, INFINITY, INFINITY, NAN, NAN, 0, 0},
        {3, 3, 5, 5, 1, 1, NAN, NAN, NAN, NAN, 1, 0},
        {3, 9, 5, 50, 2, 0, 0.30000000000000004, 0.2, 0.2, 0.30000000000000004, 3, 1.5},
        {-4, -4, 5, 4, 8, 8, NAN, -INFINITY, NAN, NAN, 0, 0},
        {0, POINTS_STEP_MAX, 0, INT64_MAX / 2, INT64_MAX / 2, 1, 1, 2, -3, 4, 5, -6},
    };
    char line[POINTS_LINE_MAX], name[POINTS_NAME_MAX + 1], longest[POINTS_NAME_MAX + 1];

    memset(longest, 'n', POINTS_NAME_MAX);
    longest[POINTS_NAME_MAX] = '\0';
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        for (int n = 0; n < 2; n++) {
            const char *wanted = n ? longest : "loss/train";
            size_t size = points_write(line, wanted, &points[i]);
            struct points_point read;

            assert_true(size <= sizeof line && line[size - 1] == '\n');
            assert_null(memchr(line, '\n', size - 1));
            assert_int_equal(read_line(line, size - 1, name, &read), 0);
            assert_string_equal(name, wanted);
            assert_same(&read, &points[i]);
        }
}

/* Cut anywhere, a line is either none, or one that has no more than the first of its two parts. */
static void half_a_line_is_none(void **state)
{
    struct points_point merged = {3, 9, 5, 50, 2, 0, 0.25, 0.5, 0.25, 0.5, 3, 2}, read;
    char line[POINTS_LINE_MAX], name[POINTS_NAME_MAX + 1];
    size_t size = points_write(line, "loss", &merged) - 1, tabs = 0;

    for (size_t n = 0; n < size; n++) {
        int rc = read_line(line, n, name, &read);

        tabs += n > 0 && line[n - 1] == '\t';
        if (rc == 0 && !(tabs == 4 && line[n - 1] != '\t') && tabs != 12)
            fail_msg("%.*s was read", (int)n, line);
    }
    assert_int_equal(tabs, 12);
}

static void wrong_lines_are_refused(void **state)
{
    static const struct {
        const char *line;
        bool taken;
    } lines[] = {
        {"a\t1\t2\t3\t4", true},
        {"a\t-1\t0\tnan\t-4.5e3", true},
        {"a\t9007199254740992\t2\t3\t4", true},
        {"a\t9007199254740993\t2\t3\t4", false},
        {"a\t-9007199254740992\t2\t3\t4", true},
        {"a\t-9007199254740993\t2\t3\t4", false},
        {"a\t1\t-1\t3\t4", false},
        {"a\t1\t4611686018427387903\t3\t4", true},
        {"a\t1\t4611686018427387904\t3\t4", false},
        {"a\t1\t2\t3\tnan", false},
        {"a\t1\t2\t3\tinf", false},
        {"a\t1\t2\tx\t4", false},
        {"a\tx\t2\t3\t4", false},
        {"a\t\t2\t3\t4", false},
        {"a\t1\t\t3\t4", false},
        {"a\t1\t2\t\t4", false},
        {"a\t1\t2\t3\t", false},
        {"a\t 1\t2\t3\t4", false},
        {"a\t1\t2\t 3\t4", false},
        {"a\t1 2\t2\t3\t4", false},
        {"a 1\t2\t3\t4", false},
        {"\t1\t2\t3\t4", false},
        {"", false},
        {"a", false},
        {"a\x01\t1\t2\t3\t4", false},
        {"a\x7f\t1\t2\t3\t4", false},
        {"a\xff\t1\t2\t3\t4", false},
        {"\xc3\xa9 \t1\t2\t3\t4", true},
        {"a\t1\t2\t3\t4\t2\t1\t2\t0\t3\t3\t3\t0", true},
        {"a\t1\t2\t3\t4\t2\t1\t2\t2\t3\tnan\tnan\t0", true},
        {"a\t1\t2\t3\t4\t1\t1\t2\t0\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t0\t2\t0\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t-2\t0\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t3\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t-1\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t0\t3\tinf\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t0\t3\t3\t-inf\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t0\t3\t3\t3", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t0\t3\t3\t3\tnan", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t0\t3\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t2\t0\t3\t3\t3\t0x", false},
        {"a\t1\t2\t3\t4\t2\t9007199254740992\t2\t0\t3\t3\t3\t0", true},
        {"a\t1\t2\t3\t4\t2\t9007199254740993\t2\t0\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t4611686018427387904\t1\t2\t0\t3\t3\t3\t0", false},
        {"a\t1\t2\t3\t4\t2\t1\t4611686018427387904\t0\t3\t3\t3\t0", false},
    };
    char name[POINTS_NAME_MAX + 1], longest[2 * POINTS_LINE_MAX];
    struct points_point read;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if ((read_line(lines[i].line, strlen(lines[i].line), name, &read) == 0) != lines[i].taken)
            fail_msg("\"%s\" was %s", lines[i].line, lines[i].taken ? "refused" : "taken");
    for (int n = POINTS_NAME_MAX - 1; n < POINTS_NAME_MAX + 3; n++) {
        memset(longest, 'n', sizeof longest);
        strcpy(longest + n, "\t1\t2\t3\t4");
        assert_int_equal(read_line(longest, strlen(longest), name, &read), n <= POINTS_NAME_MAX ? 0 : -1);
    }
    for (int n = POINTS_LINE_MAX - 3; n < POINTS_LINE_MAX + 3; n++) { /* a line with its newline fits */
        snprintf(longest, sizeof longest, "a\t1\t2\t3\t%0*d", n - 8, 4);
        assert_int_equal(strlen(longest), n);
        assert_int_equal(read_line(longest, strlen(longest), name, &read), n < POINTS_LINE_MAX ? 0 : -1);
    }
}

static void names_are_short_utf8_without_control_characters(void **state)
{
    static const char *const good[] = {"a", " ", "~", "train/loss", "\xc3\xa9\xe2\x82\xac"}, *const bad[] = {"", "a\tb", "\n", "\x1f", "\x7f", "\xff", "\xc3"};
    char longest[POINTS_NAME_MAX + 2];

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(points_name_valid(good[i]), 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(points_name_valid(bad[i]), 0);
    memset(longest, 'x', sizeof longest);
    longest[POINTS_NAME_MAX + 1] = '\0';
    assert_int_equal(points_name_valid(longest), 0);
    longest[POINTS_NAME_MAX] = '\0';
    assert_int_equal(points_name_valid(longest), 1);
}

static void what_is_no_ends_is_nothing(void **state)
{
    static const unsigned char wrong[] = {33, 0xff, 0xff, 0xff}, most[] = {32, 0xff}, none[] = {0, 0xff};
    uint32_t read[2] = {1, 1};

    assert_false(ends_are_all(NULL, 0, 0));
    assert_false(ends_are_all(wrong, sizeof wrong, 1));
    assert_false(ends_are_all(wrong, 1 + 33, 1));
    assert_false(ends_are_all(none, 1, 1));
    ends_unpack(wrong, sizeof wrong, 0, read, 2);
    assert_true(read[0] == 0 && read[1] == 0);
    ends_unpack(most, sizeof most, 0, read, 2);
    assert_true(read[0] == 1 && read[1] == 1);
    ends_unpack(none, sizeof none, 0, read, 2);
    assert_true(read[0] == 0 && read[1] == 0);
    ends_unpack(NULL, 0, 5, read, 1);
    assert_int_equal(read[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_survive_the_round_trip),
        cmocka_unit_test(half_a_line_is_none),
        cmocka_unit_test(wrong_lines_are_refused),
        cmocka_unit_test(names_are_short_utf8_without_control_characters),
        cmocka_unit_test(what_is_no_ends_is_nothing),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

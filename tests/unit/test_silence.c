/* When a task is hung, by what is seen of it, in times that do not pass. */
#include "tasks/runner/silence.h"

#include "tests/unit/unit.h"

#include <unistd.h>

#define PAUSE 10000

static const struct sight idle = {.ticks = 100, .processes = 1, .files = 2};

static struct silence begun(void)
{
    struct silence s = {0};

    silence_note(&s, &idle, PAUSE, PAUSE);
    assert_int_equal(s.quiet_ms, 0);
    return s;
}

static int64_t after(struct sight sight)
{
    struct silence s = begun();

    silence_note(&s, &idle, PAUSE, PAUSE);
    assert_int_equal(s.quiet_ms, PAUSE);
    silence_note(&s, &sight, PAUSE, PAUSE);
    return s.quiet_ms;
}

static void test_signs(void **state)
{
    unsigned long long one_percent = (unsigned long long)sysconf(_SC_CLK_TCK) * PAUSE / 1000 / 100;
    struct sight sight = idle;

    assert_int_equal(after(sight), 2 * PAUSE);
    sight.files++;
    assert_int_equal(after(sight), 0);
    sight = idle;
    sight.processes++;
    assert_int_equal(after(sight), 0);
    sight = idle;
    sight.excused = true;
    assert_int_equal(after(sight), 0);
    sight = idle;
    sight.stopped = true;
    assert_int_equal(after(sight), 2 * PAUSE);
    sight = idle;
    sight.ticks += one_percent;
    assert_int_equal(after(sight), 0);
    sight.ticks = idle.ticks + one_percent - 1; /* the threads of a library that wakes now and then */
    assert_int_equal(after(sight), 2 * PAUSE);
    sight.ticks = idle.ticks - 1; /* a process has ended */
    assert_int_equal(after(sight), 0);
}

/* What counts is the time in which it was stopped, and not that it was quiet before. */
static void test_stopped(void **state)
{
    struct silence s = begun();
    struct sight stopped = idle;

    stopped.stopped = true;
    silence_note(&s, &idle, PAUSE, PAUSE);
    silence_note(&s, &idle, PAUSE, PAUSE);
    silence_note(&s, &stopped, PAUSE, PAUSE);
    assert_int_equal(s.stopped_ms, 0);
    silence_note(&s, &stopped, PAUSE, PAUSE);
    silence_note(&s, &stopped, PAUSE, PAUSE);
    assert_int_equal(s.stopped_ms, 2 * PAUSE);
    assert_int_equal(s.quiet_ms, 5 * PAUSE);
    silence_note(&s, &idle, PAUSE, PAUSE);
    assert_int_equal(s.stopped_ms, 0);
}

static void test_time_of_no_runner(void **state)
{
    struct silence s = begun();

    silence_note(&s, &idle, 3600000, PAUSE);
    assert_int_equal(s.quiet_ms, PAUSE);
    silence_note(&s, &idle, PAUSE + 5000, PAUSE); /* a machine that is only busy */
    assert_int_equal(s.quiet_ms, 2 * PAUSE + 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_time_of_no_runner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

enum { RANKS = 3, LONG = 15 * PAUSE };

/* Returns how many ranks are hung that were quiet for these times, and of which those learn, or are stopped, whose
 * bits are set. */
static size_t hung(int ranks, const int64_t *quiet_ms, unsigned learn, unsigned stopped, struct task *tasks)
{
    struct silence items[RANKS] = {0};
    struct silences s = {.limit_ms = LONG, .stopped_ms = PAUSE, .items = items};
    struct leftovers l = {.tasks = tasks, .ntasks = (size_t)ranks};

    for (int i = 0; i < ranks; i++) {
        items[i].quiet_ms = quiet_ms[i];
        items[i].last.learns = learn >> i & 1;
        items[i].last.stopped = stopped >> i & 1;
    }
    return silences_judge(&s, &l);
}

static void test_group(void **state)
{
    static const struct {
        int ranks;
        enum jobdesc_kind kind;
        bool shared;
        int64_t quiet_ms[RANKS];
        unsigned learn, ended, stopped;
        size_t hung;
        int64_t after_ms;
    } cases[] = {
        {3, JOBDESC_TRAINING, false, {PAUSE, PAUSE, PAUSE}, 7, 0, 0, 3, PAUSE},
        {3, JOBDESC_TRAINING, false, {PAUSE, PAUSE, PAUSE}, 7, 0, 2, 0, 0}, /* the others wait for it */
        {3, JOBDESC_TRAINING, false, {PAUSE - 1, PAUSE, PAUSE}, 7, 0, 0, 0, 0}, /* one still computes */
        {3, JOBDESC_TRAINING, false, {LONG, LONG, 0}, 7, 0, 0, 0, 0},
        {3, JOBDESC_TRAINING, false, {PAUSE, PAUSE, PAUSE}, 6, 0, 0, 0, 0}, /* one has not begun to learn */
        {3, JOBDESC_TRAINING, false, {LONG, LONG - 1, LONG}, 0, 0, 0, 0, 0},
        {3, JOBDESC_TRAINING, false, {LONG, LONG, LONG}, 0, 0, 0, 3, LONG},
        {3, JOBDESC_TRAINING, false, {0, PAUSE, PAUSE}, 6, 1, 0, 2, PAUSE}, /* one has ended */
        {1, JOBDESC_TRAINING, false, {PAUSE}, 1, 0, 0, 0, 0},
        {1, JOBDESC_TRAINING, false, {LONG}, 1, 0, 0, 1, LONG},
        {3, JOBDESC_TRAINING, true, {LONG, LONG, LONG}, 7, 0, 0, 0, 0}, /* others are not seen */
        {3, JOBDESC_MEMBERS, false, {PAUSE, LONG, 0}, 0, 0, 0, 1, LONG},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct jobdesc desc = {.kind = cases[c].kind, .ntasks = (size_t)cases[c].ranks};
        struct job job = {.desc = &desc, .shared = cases[c].shared};
        struct task tasks[RANKS] = {0};
        size_t n;

        for (int i = 0; i < cases[c].ranks; i++)
            tasks[i] = (struct task){.job = &job, .pid = cases[c].ended >> i & 1 ? 0 : 100 + i};
        n = hung(cases[c].ranks, cases[c].quiet_ms, cases[c].learn, cases[c].stopped, tasks);
        if (n != cases[c].hung)
            fail_msg("case %zu: %zu are hung", c, n);
        for (int i = 0; i < cases[c].ranks; i++)
            assert_int_equal(tasks[i].silent_ms, tasks[i].silent == SILENT_BLOCKED ? cases[c].after_ms : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_time_of_no_runner),
        cmocka_unit_test(test_group),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

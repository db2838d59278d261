/* The moment at which a task counts as hung, by its signs of life, in times that do not pass. */
#include "tasks/runner/silence.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
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
        struct jobdesc_task of_no_rank = {.dir = NULL};
        struct task tasks[RANKS] = {0};
        size_t n;

        for (int i = 0; i < cases[c].ranks; i++)
            tasks[i] = (struct task){.job = &job, .desc = &of_no_rank, .pid = cases[c].ended >> i & 1 ? 0 : 100 + i};
        n = hung(cases[c].ranks, cases[c].quiet_ms, cases[c].learn, cases[c].stopped, tasks);
        if (n != cases[c].hung)
            fail_msg("case %zu: %zu are hung", c, n);
        for (int i = 0; i < cases[c].ranks; i++)
            assert_int_equal(tasks[i].silent_ms, tasks[i].told == TOLD_BLOCKED ? cases[c].after_ms : 0);
    }
}

/* --- what is seen of a task: of its processes, which are those that the test says, and of its files */

static struct tree_process there[4];
static size_t n_there;
static char dir[64];

/* In place of tree.c. */

void tree_look(struct tree *tree, const struct tree_task *tasks, size_t n)
{
    *tree = (struct tree){.items = there, .n = n_there};
}

void tree_free(struct tree *tree)
{
}

int tree_signal(const struct tree *tree, size_t task, int sig)
{
    return 0;
}

void tree_signal_running(pid_t leader, const char *mark, int sig)
{
}

static struct jobdesc desc;
static struct jobdesc_task of;
static struct job job;
static struct task task;
static struct silences all;
static struct leftovers l;
static int64_t time_ms;

#define PID 100

/* A member with one process, which sleeps, and has been looked at once. */
static void watch(void)
{
    desc = (struct jobdesc){.kind = JOBDESC_MEMBERS, .ntasks = 1, .silence_ms = 4 * PAUSE, .stopped_ms = 0};
    of = (struct jobdesc_task){.id = "7.0", .dir = dir};
    job = (struct job){.desc = &desc};
    task = (struct task){.job = &job, .desc = &of, .pid = PID, .kill_at = INT64_MAX};
    there[0] = (struct tree_process){.pid = PID, .name = "a.out", .state = 'S', .start = 5, .ticks = 50, .task = 0, .below = true};
    n_there = 1;
    time_ms = 0;
    leftovers_init(&l, &task, 1, 1000);
    silences_init(&all, &job, 0);
}

static void unwatch(void)
{
    silences_fini(&all);
    leftovers_fini(&l);
}

/* Looks once, when it is due. */
static void look(void)
{
    assert_int_equal(silences_due(&all), time_ms + all.pause_ms);
    assert_int_equal(silences_look(&all, &l, silences_due(&all) - 1), 0);
    time_ms = silences_due(&all);
    silences_look(&all, &l, time_ms);
}

static int64_t quiet(void)
{
    return all.items[0].quiet_ms;
}

static void put(const char *name, const char *text)
{
    char path[100];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "a"); /* it stays the same file */
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_looks(void **state)
{
    static const struct {
        int64_t silence_ms, stopped_ms, pause_ms;
    } cases[] = {{40000, 0, 10000}, {40000, 8000, 2000}, {8000, 40000, 2000}, {100, 0, 100}, {400, 396, 100}, {404, 0, 101}, {3600000, 0, 60000}, {240000, 0, 60000},
                 {239996, 0, 59999}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct silences s;

        watch();
        desc.silence_ms = cases[i].silence_ms;
        desc.stopped_ms = cases[i].stopped_ms;
        silences_init(&s, &job, 7);
        assert_int_equal(s.pause_ms, cases[i].pause_ms);
        assert_int_equal(s.limit_ms, cases[i].silence_ms);
        assert_int_equal(s.stopped_ms, cases[i].stopped_ms > 0 ? cases[i].stopped_ms : cases[i].silence_ms);
        assert_int_equal(silences_due(&s), 7 + cases[i].pause_ms);
        silences_fini(&s);
        unwatch();
    }
    watch();
    desc.silence_ms = 0;
    silences_fini(&all);
    silences_init(&all, &job, 7);
    assert_true(silences_due(&all) == INT64_MAX);
    assert_int_equal(silences_look(&all, &l, 1000000000), 0);
    unwatch();
}

static void test_processes(void **state)
{
    watch();
    look();
    look();
    assert_int_equal(quiet(), PAUSE);
    there[1] = (struct tree_process){.pid = 101, .name = "other", .state = 'S', .start = 6, .ticks = 0, .task = 1};
    n_there = 2; /* one of another task is no sign */
    look();
    assert_int_equal(quiet(), 2 * PAUSE);
    there[1].task = 0;
    look();
    assert_int_equal(quiet(), 0);
    look();
    there[1].start = 7; /* another one of its number */
    look();
    assert_int_equal(quiet(), 0);
    look();
    there[1].ticks += 1000000;
    look();
    assert_int_equal(quiet(), 0);
    look();
    assert_int_equal(quiet(), PAUSE);
    n_there = 1;
    look();
    assert_int_equal(quiet(), 0);
    unwatch();
}

static void test_states(void **state)
{
    static const struct {
        char first, second;
        bool excused, stopped;
    } cases[] = {{'S', 'S', false, false}, {'D', 'S', true, false}, {'S', 'D', true, false}, {'t', 'S', true, false}, {'T', 'S', false, false},
                 {'S', 'T', false, false}, {'T', 'T', false, true}, {'T', 'D', true, false}, {'Z', 'S', false, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        watch();
        there[0].state = cases[i].first;
        there[1] = (struct tree_process){.pid = 101, .name = "other", .state = cases[i].second, .start = 6, .task = 0};
        n_there = 2;
        look();
        assert_int_equal(all.items[0].last.excused, cases[i].excused);
        assert_int_equal(all.items[0].last.stopped, cases[i].stopped);
        unwatch();
    }
}

/* Its processes are on other nodes, or it is the launcher alone that is seen. */
static void test_launchers(void **state)
{
    json_t *words = json_pack("[s, s]", "/opt/bin/aprun", "-n");
    const char *const replaces[] = {"srun", NULL};
    const struct {
        const char *launcher, *name;
        const json_t *launch;
        const char *const *by_job;
        bool excused;
    } cases[] = {
        {NULL, "srun", NULL, NULL, false},          {"/usr/bin/srun", "srun", NULL, NULL, true},  {"srun", "srun", NULL, NULL, true},
        {"srun", "a.out", NULL, NULL, false},       {"srun", "aprun", words, NULL, true},         {"srun", "srun", words, NULL, false},
        {"mpiexec", "a.out", NULL, replaces, true}, {NULL, "a.out", NULL, replaces, false},       {"a-name-beyond-15-bytes", "a-name-beyond-1", NULL, NULL, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        watch();
        of.launcher = cases[i].launcher;
        of.launch = cases[i].launch;
        job.launch = cases[i].by_job;
        snprintf(there[0].name, sizeof there[0].name, "%s", cases[i].name);
        look();
        if (all.items[0].last.excused != cases[i].excused)
            fail_msg("case %zu", i);
        unwatch();
    }
    watch(); /* where a program is seen beside it, that shows whether it works */
    of.launcher = "srun";
    snprintf(there[0].name, sizeof there[0].name, "srun");
    there[1] = (struct tree_process){.pid = 101, .name = "a.out", .state = 'S', .start = 6, .task = 0};
    n_there = 2;
    look();
    assert_false(all.items[0].last.excused);
    n_there = 0; /* nor can one be blamed of which nothing is seen */
    look();
    assert_true(all.items[0].last.excused);
    unwatch();
    json_decref(words);
}

static void test_files(void **state)
{
    static const char *const names[] = {"stdout", "stderr", "alive"};

    for (size_t i = 0; i < 3; i++)
        put(names[i], "x");
    watch();
    look();
    for (size_t i = 0; i < 3; i++) {
        look();
        assert_int_equal(quiet(), PAUSE);
        put(names[i], "more");
        look();
        assert_int_equal(quiet(), 0);
    }
    look();
    put("new", ""); /* in its directory */
    look();
    assert_int_equal(quiet(), 0);
    look();
    put("new", "which it does not look into");
    look();
    assert_int_equal(quiet(), 2 * PAUSE);
    unwatch();
}

/* A rank that learns says so by a byte in its file. */
static void test_learning(void **state)
{
    char path[100];

    snprintf(path, sizeof path, "%s/alive", dir);
    for (int kind = 0; kind < 2; kind++) {
        unlink(path);
        watch();
        desc.kind = kind == 0 ? JOBDESC_TRAINING : JOBDESC_MEMBERS;
        look();
        assert_false(all.items[0].last.learns);
        put("alive", "");
        look();
        assert_false(all.items[0].last.learns);
        put("alive", "1");
        look();
        assert_int_equal(all.items[0].last.learns, kind == 0);
        unwatch();
    }
}

/* A pilot watches its jobs itself, and is hung only where it was stopped. */
static void test_pilot(void **state)
{
    watch();
    desc.kind = JOBDESC_PILOT;
    there[1] = (struct tree_process){.pid = 101, .name = "a.out", .state = 'S', .start = 6, .task = 0};
    n_there = 2;
    for (int i = 0; i < 20; i++)
        look();
    assert_int_equal(task.told, TOLD_NOT);
    there[0].state = 'T';
    for (int i = 0; i < 4; i++)
        look();
    assert_int_equal(task.told, TOLD_NOT);
    look();
    assert_int_equal(task.told, TOLD_STOPPED);
    assert_int_equal(task.silent_ms, 4 * PAUSE);
    unwatch();
}

/* It is blamed once; and one that has ended is not looked at. */
static void test_blame(void **state)
{
    watch();
    for (int i = 0; i < 4; i++)
        look();
    assert_int_equal(task.told, TOLD_NOT);
    time_ms = silences_due(&all);
    assert_int_equal(silences_look(&all, &l, time_ms), 1);
    assert_int_equal(task.told, TOLD_BLOCKED);
    assert_int_equal(task.silent_ms, 4 * PAUSE);
    time_ms = silences_due(&all);
    assert_int_equal(silences_look(&all, &l, time_ms), 0);
    unwatch();
    watch();
    task.pid = 0;
    for (int i = 0; i < 20; i++)
        look();
    assert_int_equal(task.told, TOLD_NOT);
    assert_false(all.items[0].seen);
    unwatch();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_time_of_no_runner),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_launchers),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_pilot),
        cmocka_unit_test(test_blame),
    };
    char rm[96];
    int rc;

    test_limit(60); /* a loop without an end is a failure, too */
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}

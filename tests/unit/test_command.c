/* Commands as child processes: real ones, by a shell. */
#include "common/process.h"
#include "scheduler-adapters/command.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const no_env[] = {"PATH=/usr/bin:/bin", NULL};
static uv_loop_t loop;
static struct commands *all;
static bool gone;

struct answer {
    unsigned answers;
    bool in_call;
    enum command_end end;
    int status;
    char out[80], err[200], explained[300];
    size_t out_size;
    uint64_t at;
};

static void answered(void *arg, struct command_result *result)
{
    struct answer *a = arg;

    assert_false(a->in_call);
    a->answers++;
    a->end = result->end;
    a->status = result->status;
    a->out_size = result->out_size;
    assert_int_equal(strlen(result->out), result->out_size);
    snprintf(a->out, sizeof a->out, "%s", result->out);
    snprintf(a->err, sizeof a->err, "%s", result->err);
    command_explain(result, "it", a->explained, sizeof a->explained);
    a->at = uv_hrtime();
}

static void run(const char *script, int64_t limit_ms, const char *const *env, struct answer *a)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};

    *a = (struct answer){.in_call = true};
    commands_run(all, &(struct command){.argv = argv, .env = env, .limit_ms = limit_ms, .out_max = 4 << 20, .err_max = 1000},
                 answered, a);
    a->in_call = false;
}

static void until(const struct answer *a)
{
    TEST_UNTIL(a->answers > 0, uv_run(&loop, UV_RUN_ONCE));
    assert_int_equal(a->answers, 1);
}

static int open_all(void **state)
{
    assert_int_equal(uv_loop_init(&loop), 0);
    all = commands_create(&loop, 3);
    gone = false;
    return 0;
}

static void all_gone(void *arg)
{
    gone = true;
}

static int close_all(void **state)
{
    if (!gone)
        commands_destroy(all, all_gone, NULL);
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(gone);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

/* No more than so many connections in any minute, of which a quarter may be made at once. */
static void connections_are_paced(void **state)
{
    struct command_pace pace = {.a_minute = 240};
    int made[200] = {0}, most = 0;

    for (int s = 1; s < 200; s++) {
        int sum = 0;

        while (command_pace_take(&pace, 1000 * (uint64_t)s, 1, true))
            made[s]++;
        for (int i = s > 60 ? s - 60 : 0; i < s; i++)
            sum += made[i + 1];
        most = sum > most ? sum : most;
    }
    assert_int_equal(made[1], 60);
    assert_in_range(most, 235, 240);
    assert_true(command_pace_take(&pace, 200000, 200, false)); /* a listing does not wait, and is counted */
    assert_false(command_pace_take(&pace, 230000, 1, true));
    assert_true(command_pace_take(&pace, 290000, 100, true)); /* more than may ever be made at once */
    assert_false(command_pace_take(&pace, 290000, 1, true));
}

/* Also where the command is a script that runs another, and however much address space is set aside. */
static void memory_is_limited(void **state)
{
    static const char script[] = "sh -c 'python3 -c \"import time; a = bytearray(b\\\"x\\\") * (200 << 20); time.sleep(600)\"; echo later'";
    struct answer a;

    run("python3 -c \"import mmap; mmap.mmap(-1, 8 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\"; echo fine", 60000, no_env, &a);
    until(&a);
    assert_int_equal(a.end, COMMAND_EXITED);
    assert_string_equal(a.out, "fine\n");
    a = (struct answer){0};
    commands_run(all, &(struct command){.argv = (const char *const[]){"/bin/sh", "-c", script, NULL}, .env = no_env, .limit_ms = 600000,
                                        .memory_max = 100 << 20, .out_max = 100, .err_max = 100}, answered, &a);
    until(&a);
    assert_int_equal(a.end, COMMAND_TOO_LARGE);
    assert_string_equal(a.explained, "it: it took too much memory");
}

static void cpu_time_is_limited(void **state)
{
    struct answer a;

    run("while [ $(ulimit -St) = unlimited ]; do :; done; ulimit -St; ulimit -Ht", 60000, no_env, &a);
    until(&a);
    assert_string_equal(a.out, "122\n127\n");
}

static void output_and_status_are_told(void **state)
{
    struct answer a;

    run("echo out; echo err >&2; exit 3", 10000, no_env, &a);
    assert_int_equal(a.answers, 0);
    until(&a);
    assert_int_equal(a.end, COMMAND_EXITED);
    assert_int_equal(a.status, 3);
    assert_string_equal(a.out, "out\n");
    assert_string_equal(a.err, "err\n");
    assert_string_equal(a.explained, "err");
    run("printf 'one \\n\\n two\\tx\\n' >&2; exit 3", 10000, no_env, &a);
    until(&a);
    assert_string_equal(a.explained, "one; two x");
    run("printf '\\n  one\\n \\n\\t\\ntwo\\n  \\n ' >&2; exit 3", 10000, no_env, &a);
    until(&a);
    assert_string_equal(a.explained, "one; two");
    /* more than is told */
    run("for i in 1 2 3 4 5 6 7 8 9 10; do printf '%099d\\n' $i; done >&2; exit 3", 10000, no_env, &a);
    until(&a);
    assert_int_equal(strncmp(a.explained, "000", 3), 0);
    assert_non_null(strstr(a.explained, "01; 00"));
    run("exit 4", 10000, no_env, &a);
    until(&a);
    assert_string_equal(a.explained, "it ended with status 4");
}

static void long_output_is_whole_and_longer_is_refused(void **state)
{
    struct answer a;

    run("head -c 3000000 /dev/zero | tr '\\0' x", 20000, no_env, &a);
    until(&a);
    assert_int_equal(a.end, COMMAND_EXITED);
    assert_int_equal(a.out_size, 3000000);
    run("yes", 20000, no_env, &a);
    until(&a);
    assert_int_equal(a.end, COMMAND_TOO_LONG);
    run("yes >&2", 20000, no_env, &a);
    until(&a);
    assert_int_equal(a.end, COMMAND_TOO_LONG);
}

/* Whatever comes beyond the limit is not kept. */
static void output_may_be_as_long_as_allowed(void **state)
{
    static const struct {
        const char *script;
        enum command_end end;
    } cases[] = {{"printf 1234567890", COMMAND_EXITED},
                 {"printf 12345678901", COMMAND_TOO_LONG},
                 {"printf 1234567890 >&2", COMMAND_EXITED},
                 {"printf 12345678901 >&2; sleep 1000", COMMAND_TOO_LONG}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const argv[] = {"/bin/sh", "-c", cases[i].script, NULL};
        struct answer a = {.in_call = true};

        commands_run(all, &(struct command){.argv = argv, .env = no_env, .limit_ms = 600000, .out_max = 10, .err_max = 10}, answered, &a);
        a.in_call = false;
        until(&a);
        assert_int_equal(a.end, cases[i].end);
        assert_string_equal(i < 2 ? a.out : a.err, "1234567890");
        assert_string_equal(i < 2 ? a.err : a.out, "");
        if (a.end == COMMAND_TOO_LONG)
            assert_non_null(strstr(a.explained, "it: it printed too much"));
    }
}

static void a_command_that_takes_too_long_is_ended_with_what_it_started(void **state)
{
    struct answer polite, stubborn, orphan;
    char *end;
    pid_t pid;

    /* long enough for each to tell what it has started, wherever it runs */
    run("sleep 1000 & echo $!; wait", 10000, no_env, &polite);
    run("trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1; done", 10000, no_env, &stubborn);
    run("sleep 1000 & echo $!; exit 0", 10000, no_env, &orphan); /* that holds the pipe */
    until(&polite);
    assert_int_equal(polite.end, COMMAND_OUT_OF_TIME);
    until(&orphan);
    assert_int_equal(orphan.end, COMMAND_OUT_OF_TIME);
    until(&stubborn);
    assert_int_equal(stubborn.end, COMMAND_OUT_OF_TIME);
    assert_string_equal(stubborn.explained, "it: it did not end in time");
    assert_true(polite.at < stubborn.at);
    for (size_t i = 0; i < 3; i++) {
        const struct answer *of[] = {&polite, &orphan, &stubborn};
        uint64_t limit = uv_hrtime() + 20000000000u;

        pid = (pid_t)strtol(of[i]->out, &end, 10);
        assert_true(pid > 1 && *end == '\n');
        while (kill(pid, 0) == 0 && uv_hrtime() < limit) /* killed, and perhaps not yet waited for by who inherits it */
            usleep(1000);
        assert_int_equal(kill(pid, 0), -1);
        assert_int_equal(errno, ESRCH);
    }
}

/* It is out of reach, and holds what the command was to write to: nobody waits for it. */
static void what_left_the_group_holds_nothing_up(void **state)
{
    static const char *const scripts[] = {"setsid sleep 100 2>/dev/null & exit 0", "setsid sleep 100 >/dev/null & exit 0",
                                          "setsid sleep 100 2>/dev/null & sleep 1000", "setsid sleep 100 >/dev/null & sleep 1000"};
    char mark[64], pid[16];
    const char *const env[] = {"PATH=/usr/bin:/bin", mark, NULL};
    struct answer a[4];

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    snprintf(mark, sizeof mark, "STRETTO_TEST_HOLDER=%s", pid);
    for (int i = 0; i < 4; i++)
        run(scripts[i], 1000, env, &a[i]);
    for (int i = 0; i < 4; i++) {
        until(&a[i]);
        assert_int_equal(a[i].end, COMMAND_OUT_OF_TIME);
    }
    process_signal_marked("STRETTO_TEST_HOLDER", pid, SIGKILL);
}

/* The loop did not turn while it ended and its time ran out, as when the daemon is stopped for a while. If this
 * machine was held up before the loop had begun to wait, it is tried again. */
static void one_that_ended_in_time_is_not_late_since_the_loop_was(void **state)
{
    static struct answer a;
    siginfo_t ended;
    uint64_t began;

    while (true) {
        began = uv_hrtime();
        run("sleep 0.2; echo out; exit 3", 3000, no_env, &a);
        uv_run(&loop, UV_RUN_NOWAIT);
        if ((uv_hrtime() - began) / 1000000 < 3000)
            break;
        until(&a);
    }
    waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT); /* and is left for the loop */
    usleep(3100000);
    until(&a);
    assert_int_equal(a.end, COMMAND_EXITED);
    assert_int_equal(a.status, 3);
    assert_string_equal(a.out, "out\n");
}

static void what_cannot_start_is_told(void **state)
{
    const char *const argv[] = {"/nowhere/squeue", NULL};
    struct answer a = {.in_call = true};

    commands_run(all, &(struct command){.argv = argv, .env = no_env, .limit_ms = 1000, .out_max = 10, .err_max = 10}, answered, &a);
    a.in_call = false;
    until(&a);
    assert_int_equal(a.end, COMMAND_NOT_STARTED);
    assert_string_equal(a.explained, "/nowhere/squeue: no such file or directory");
}

static void somebody_else_may_kill_it(void **state)
{
    struct answer a;

    run("kill -KILL $$", 10000, no_env, &a);
    until(&a);
    assert_int_equal(a.end, COMMAND_KILLED);
    assert_string_equal(a.explained, "it: it was killed");
    run("echo so >&2; kill -KILL $$", 10000, no_env, &a);
    until(&a);
    assert_string_equal(a.explained, "it: it was killed: so");
}

static void it_sees_no_environment_but_its_own(void **state)
{
    const char *const names[] = {"STRETTO_TEST_A", "STRETTO_TEST_B", "STRETTO_TEST_NONE", NULL};
    const char *const settings[] = {"PATH=/usr/bin:/bin", "STRETTO_TEST_B=set", "STRETTO_TEST_AA=begins alike", NULL};
    struct answer a;
    char **env;

    setenv("STRETTO_TEST_A", "a", 1);
    setenv("STRETTO_TEST_B", "b", 1);
    setenv("STRETTO_TEST_SECRET", "s", 1);
    env = command_env(names, settings);
    run("env | grep ^STRETTO | sort | tr '\\n' ' '; pwd", 10000, (const char *const *)env, &a);
    command_env_free(env);
    until(&a);
    assert_string_equal(a.out, "STRETTO_TEST_A=a STRETTO_TEST_AA=begins alike STRETTO_TEST_B=set /\n");
}

/* Each holds a directory of its own while it runs; a fourth would be seen. */
static void so_many_run_at_once_and_no_more(void **state)
{
    enum { N = 12 };
    struct answer a[N];
    char dir[] = "/tmp/stretto-test-XXXXXX", script[300];

    assert_non_null(mkdtemp(dir));
    snprintf(script, sizeof script, "mkdir %s/$$; ls %s | wc -l; sleep 0.05; rmdir %s/$$", dir, dir, dir);
    for (size_t i = 0; i < N; i++)
        run(script, 30000, no_env, &a[i]);
    for (size_t i = 0; i < N; i++) {
        until(&a[i]);
        assert_int_equal(a[i].end, COMMAND_EXITED);
        assert_in_range(atoi(a[i].out), 1, 3);
        assert_true(i < 3 || a[i].at > a[0].at || a[i].at > a[1].at || a[i].at > a[2].at);
    }
    assert_int_equal(rmdir(dir), 0);
}

/* Those that wait, wait in order. */
static void the_first_that_waits_is_the_first_that_runs(void **state)
{
    enum { N = 5 };
    struct commands *many = all;
    struct answer a[N];

    all = commands_create(&loop, 1);
    for (size_t i = 0; i < N; i++)
        run("true", 60000, no_env, &a[i]);
    for (size_t i = 0; i < N; i++) {
        until(&a[i]);
        for (size_t k = i + 1; k < N; k++)
            assert_int_equal(a[k].answers, 0);
    }
    run("true", 60000, no_env, &a[0]); /* also after none has waited */
    run("true", 60000, no_env, &a[1]);
    until(&a[0]);
    until(&a[1]);
    commands_destroy(all, all_gone, NULL);
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
    gone = false;
    all = many;
}

static void programs_are_found(void **state)
{
    char dir[] = "/tmp/stretto-test-XXXXXX", tool[64], text[64], *path = strdup(getenv("PATH")), value[200];
    struct error err[3] = {0};
    int rc[8];
    FILE *f;

    assert_non_null(mkdtemp(dir));
    snprintf(tool, sizeof tool, "%s/tool", dir);
    snprintf(text, sizeof text, "%s/text", dir);
    for (int i = 0; i < 2; i++) {
        f = fopen(i == 0 ? tool : text, "w");
        assert_non_null(f);
        fclose(f);
        chmod(i == 0 ? tool : text, i == 0 ? 0700 : 0600);
    }
    assert_int_equal(command_find(tool, &err[0]), 0);
    assert_int_equal(command_find(text, &err[0]), -1);
    assert_string_equal(err[0].code, "program_missing");
    assert_non_null(strstr(err[0].text, text));
    assert_int_equal(command_find(dir, &err[0]), -1); /* which may be entered, but not run */
    snprintf(value, sizeof value, "/nowhere:%s", dir);
    setenv("PATH", value, 1);
    rc[0] = command_find("tool", &err[0]);
    rc[1] = command_find("text", &err[0]);
    rc[2] = command_find(".", &err[1]); /* a directory in each */
    snprintf(value, sizeof value, "%s:/nowhere", dir);
    setenv("PATH", value, 1);
    rc[3] = command_find("tool", &err[1]);
    setenv("PATH", "/nowhere:/nor/here", 1);
    rc[4] = command_find("tool", &err[1]);
    setenv("PATH", "", 1);
    rc[5] = command_find("tool", &err[2]);
    unsetenv("PATH");
    rc[6] = command_find("tool", &err[2]);
    setenv("PATH", path, 1);
    for (int i = 0; i < 7; i++)
        assert_int_equal(rc[i], i == 0 || i == 3 ? 0 : -1);
    for (int i = 0; i < 3; i++)
        assert_non_null(strstr(err[i].text, i == 0 ? "text" : "tool"));
    free(path);
    unlink(tool);
    unlink(text);
    rmdir(dir);
}

/* Also of more than a pipe holds, and where the command reads none of it. */
static void a_command_reads_what_it_is_given(void **state)
{
    static char text[300001];
    static const char *const scripts[] = {"wc -c", "exit 3"};
    const char *const argv[2][4] = {{"/bin/sh", "-c", scripts[0], NULL}, {"/bin/sh", "-c", scripts[1], NULL}};
    struct answer a[2];

    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 2; i++) {
        a[i] = (struct answer){.in_call = true};
        commands_run(all, &(struct command){.argv = argv[i], .env = no_env, .in = text, .limit_ms = 20000, .out_max = 100,
                                            .err_max = 100},
                     answered, &a[i]);
        a[i].in_call = false;
    }
    until(&a[0]);
    assert_int_equal(a[0].end, COMMAND_EXITED);
    assert_string_equal(a[0].out, "300000\n");
    until(&a[1]);
    assert_int_equal(a[1].end, COMMAND_EXITED);
    assert_int_equal(a[1].status, 3);
}

static void all_are_answered_when_they_are_destroyed(void **state)
{
    enum { N = 8 };
    struct answer a[N], ended;

    run("true", 10000, no_env, &ended);
    until(&ended);
    for (size_t i = 0; i < N; i++)
        run("trap '' TERM; while :; do sleep 1; done", 60000, no_env, &a[i]);
    for (int i = 0; i < 3; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    for (size_t i = 0; i < N; i++)
        a[i].in_call = true;
    commands_destroy(all, all_gone, NULL);
    for (size_t i = 0; i < N; i++)
        a[i].in_call = false;
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(a[i].answers, 1);
        assert_int_equal(a[i].end, COMMAND_STOPPED);
    }
    assert_int_equal(ended.answers, 1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(connections_are_paced),
        CASE(memory_is_limited),
        CASE(cpu_time_is_limited),
        CASE(output_and_status_are_told),
        CASE(long_output_is_whole_and_longer_is_refused),
        CASE(output_may_be_as_long_as_allowed),
        CASE(a_command_that_takes_too_long_is_ended_with_what_it_started),
        CASE(what_left_the_group_holds_nothing_up),
        CASE(one_that_ended_in_time_is_not_late_since_the_loop_was),
        CASE(what_cannot_start_is_told),
        CASE(somebody_else_may_kill_it),
        CASE(it_sees_no_environment_but_its_own),
        CASE(so_many_run_at_once_and_no_more),
        CASE(the_first_that_waits_is_the_first_that_runs),
        CASE(programs_are_found),
        CASE(a_command_reads_what_it_is_given),
        CASE(all_are_answered_when_they_are_destroyed),
    };

    test_limit(300); /* what never comes is a failure, too */
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Cancelled jobs, also those that do not end in time, and what is believed of jobs that are listed no more. The batch
 * system is of the smallest: its jobs are processes, their ids are pids; a file of each one's name, and ".2" if
 * there are two of a name, has the id and the state, what lists them lists those that are alive, and kill(1) ends them.
 * The file "records" is its accounting. */
#include "common/files.h"
#include "scheduler-adapters/batch.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OVERRUN_MS 200
#define KILL_AGAIN_MS 150

static char dir[64];
static uv_loop_t loop;
static struct adapter *a;
static unsigned warnings;
static char too_many[200]; /* that were told to be */
static bool gone;

static void put(const char *name, const char *text, mode_t mode)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), mode, &err), 0);
}

static bool is_there(const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void take_away(const char *name)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
}

static void tell(const char *name, pid_t pid, char state)
{
    char text[64];

    snprintf(text, sizeof text, "%d %c\n", (int)pid, state);
    put(name, text, 0600);
}

/* --- the batch system */

static void list(struct adapter *adapter, struct batch_listing *listing)
{
    static const char *const nothing[] = {NULL};

    batch_listing_run(listing, 0, nothing);
}

static int parse(struct batch_rows *rows, char *text, size_t size, struct error *err)
{
    char *rest = NULL;

    text = batch_rows_keep(rows, text, size);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        struct batch_row *row = batch_rows_add(rows);
        char *word = NULL;

        row->name = row->label = strtok_r(line, " ", &word);
        row->id = strtok_r(NULL, " ", &word);
        word = strtok_r(NULL, " ", &word);
        row->phase = word[0] == 'R' ? BATCH_RUNS : word[0] == 'E' ? BATCH_OVER : BATCH_WAITS;
    }
    return 0;
}

static void status_of(const struct adapter *adapter, const struct batch_row *row, struct adapter_status *status)
{
    batch_row_status(row, status);
}

static void past(struct adapter *adapter, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg)
{
    struct batch_listing *listing = batch_listing_new(adapter, cb, arg);
    char path[160], *text;
    struct error err;
    size_t size;

    snprintf(path, sizeof path, "%s/records", dir);
    if (file_read(path, 4096, &text, &size, &err) < 0) {
        batch_listing_none(listing);
        return;
    }
    batch_listing_read(listing, text, size);
    free(text);
}

static void fini(struct adapter *adapter)
{
}

static const char *const programs[] = {"lister", "ender", NULL}, *const variables[] = {"PATH", NULL}, *const no_words[] = {NULL};
static const struct batch_system system_small = {
    .word = "Small",
    .programs = programs,
    .for_commands = variables,
    .for_jobs = variables,
    .timeout_ms = 20000,
    .list_max = 65536,
    .ids_max = 10,
    .endings_most = 4,
    .deed = {[BATCH_TAKE_OUT] = {1, {"-KILL", NULL}}, [BATCH_TERM] = {1, {"-TERM", NULL}}, [BATCH_KILL] = {1, {"-KILL", NULL}}},
    .gone = no_words,
    .list = list,
    .parse = parse,
    .status = status_of,
    .past = past,
    .fini = fini,
};

/* --- the test's */

static void poke(void *arg)
{
}

static void duplicate(void *arg, const char *name, const char *scheduler_id)
{
    size_t n = strlen(too_many);

    snprintf(too_many + n, sizeof too_many - n, "%s %s;", name, scheduler_id);
}

static void note(void *arg, enum adapter_log level, const char *job, const char *sentence)
{
    warnings += level == ADAPTER_LOG_WARN && strstr(sentence, "killing it") != NULL;
}

static int open_all(void **state)
{
    char lister[600], ender[300];
    struct error err = {0};
    json_t *config;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(lister, sizeof lister,
             "#!/bin/sh\ncd %s || exit 1\n[ ! -e broken ] || { echo x >>tried; exit 1; }\nfor f in job-*; do\n  [ -e \"$f\" ] || continue\n"
             "  read -r pid state <\"$f\"\n  kill -0 \"$pid\" 2>/dev/null && echo \"${f%%.2} $pid $state\"\ndone\nexit 0\n",
             dir);
    snprintf(ender, sizeof ender, "#!/bin/sh\n[ \"$1\" != -KILL ] || [ ! -e %s/lame ] || { rm %s/lame; exit 0; }\nexec kill \"$@\"\n", dir, dir);
    put("lister", lister, 0700);
    put("ender", ender, 0700);
    assert_int_equal(uv_loop_init(&loop), 0);
    snprintf(lister, sizeof lister, "%s/lister", dir);
    snprintf(ender, sizeof ender, "%s/ender", dir);
    config = json_pack("{s:s, s:s}", "lister", lister, "ender", ender);
    a = calloc(1, sizeof *a);
    assert_int_equal(batch_init(a, &system_small,
                                &(struct adapter_host){.loop = &loop, .runner = "/bin/sh", .config = config, .poke = poke,
                                                       .duplicate = duplicate, .log = note},
                                NULL, NULL, &err),
                     0);
    json_decref(config);
    for (int i = 0; programs[i] != NULL; i++)
        a->program[i] = strdup(i == 0 ? lister : ender); /* they are borrowed from the configuration */
    a->orders.overrun_ms = OVERRUN_MS;
    a->orders.kill_again_ms = KILL_AGAIN_MS;
    warnings = 0;
    too_many[0] = '\0';
    gone = false;
    return 0;
}

static void all_gone(void *arg)
{
    gone = true;
}

static int close_all(void **state)
{
    char *program[] = {(char *)a->program[0], (char *)a->program[1]}, rm[100];

    batch_destroy(a, all_gone, NULL);
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(gone);
    assert_int_equal(uv_loop_close(&loop), 0);
    free(program[0]);
    free(program[1]);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

/* A job's process, which takes no notice of being told to end. It is ready when this returns. */
static pid_t begin(void)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ready[1], "", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    assert_true(pid > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static bool is_alive(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == 0;
}

#define WAIT_S test_wait_s()

static uint64_t deadline(void)
{
    return uv_hrtime() + WAIT_S * 1000000000ull;
}

/* By which signal. The loop turns meanwhile. */
static int end_of(pid_t pid)
{
    uint64_t until = deadline();
    int status;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (uv_hrtime() > until) {
            kill(pid, SIGKILL);
            fail_msg("a process has not ended");
        }
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void cancelled(void *arg, enum adapter_answer answer, const struct error *err)
{
    *(bool *)arg = answer == ADAPTER_OK;
}

static void cancel(const char *name, int64_t grace_ms)
{
    bool done = false;

    batch_cancel(a, &(struct adapter_job){.name = name, .dir = "/", .grace_ms = grace_ms}, cancelled, &done);
    TEST_UNTIL(done, uv_run(&loop, UV_RUN_ONCE));
}

/* Until nothing is overdue any more, and every command has ended. */
static void settle(void)
{
    uint64_t until = deadline();

    while (a->orders.overdue != NULL || a->busy > 0) {
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(1000);
        if (uv_hrtime() > until)
            fail_msg("something is still overdue");
    }
}

static void one_that_takes_no_notice_is_killed_when_its_grace_is_over(void **state)
{
    pid_t pid = begin();
    uint64_t since = uv_hrtime();

    tell("job-1", pid, 'R');
    cancel("job-1", 300);
    assert_int_equal(end_of(pid), SIGKILL);
    assert_true(uv_hrtime() - since >= (300 + OVERRUN_MS - 1) * 1000000ull); /* the loop's clock has whole ones */
    settle();
    assert_true(warnings > 0);
}

static void who_has_its_id_by_now_is_left_alone(void **state)
{
    pid_t pid = begin();

    tell("job-2", pid, 'R'); /* which was job-1's */
    batch_overdue_add(a, "job-1", 0);
    settle();
    assert_true(is_alive(pid));
    assert_int_equal(warnings, 0);
    end(pid);
}

static void what_waits_under_its_name_is_not_killed(void **state)
{
    pid_t pid = begin();

    tell("job-1", pid, 'Q');
    batch_overdue_add(a, "job-1", 0);
    settle();
    assert_true(is_alive(pid));
    end(pid);
}

static void a_list_that_fails_changes_nothing(void **state)
{
    pid_t pid = begin();

    tell("job-1", pid, 'R');
    put("broken", "", 0600);
    batch_overdue_add(a, "job-1", 0);
    for (uint64_t until = deadline(); !is_there("tried");) {
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(1000);
        if (uv_hrtime() > until)
            fail_msg("nothing is tried");
    }
    assert_true(is_alive(pid));
    assert_int_equal(warnings, 0);
    take_away("broken");
    assert_int_equal(end_of(pid), SIGKILL);
    settle();
}

static void one_that_is_still_there_is_killed_again(void **state)
{
    pid_t pid = begin();

    put("lame", "", 0600);
    tell("job-1", pid, 'R');
    cancel("job-1", 0);
    assert_int_equal(end_of(pid), SIGKILL);
    assert_false(is_there("lame"));
    assert_true(warnings > 1);
    settle();
}

static void each_has_a_time_of_its_own(void **state)
{
    pid_t late = begin(), soon = begin();

    tell("job-1", late, 'R');
    tell("job-2", soon, 'R');
    cancel("job-1", 3600000);
    cancel("job-2", 0);
    assert_int_equal(end_of(soon), SIGKILL);
    assert_true(is_alive(late));
    end(late);
    assert_non_null(a->orders.overdue); /* it is forgotten with the adapter */
}

/* One whose answer was lost may have been submitted twice. */
static void all_of_a_name_are_cancelled(void **state)
{
    pid_t first = begin(), second = begin(), other = begin();

    tell("job-1", first, 'Q');
    tell("job-1.2", second, 'Q');
    tell("job-2", other, 'Q');
    cancel("job-1", 0);
    assert_int_equal(end_of(first), SIGKILL);
    assert_int_equal(end_of(second), SIGKILL);
    assert_true(is_alive(other));
    end(other);
    settle();
}

static void both_the_running_and_the_waiting_one_are_cancelled(void **state)
{
    pid_t running = begin(), waiting = begin();

    tell("job-1", running, 'R');
    tell("job-1.2", waiting, 'Q');
    cancel("job-1", 0);
    assert_int_equal(end_of(waiting), SIGKILL);
    assert_int_equal(end_of(running), SIGKILL);
    settle();
}

static void polled(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                   const struct error *err)
{
    assert_int_equal(answer, ADAPTER_OK);
    assert_int_equal(n, 1);
    *(struct adapter_status *)arg = statuses[0];
}

static enum adapter_state state_of(const char *name, const char *id)
{
    struct adapter_status status = {.state = -1};
    struct adapter_job job = {.name = name, .scheduler_id = id, .dir = dir, .submitted_ms = 1};

    batch_poll(a, &job, 1, polled, &status);
    TEST_UNTIL(status.state != (enum adapter_state)-1, uv_run(&loop, UV_RUN_ONCE));
    return status.state;
}

/* The accounting may be minutes behind: only its word that a job is over counts for one that the queue has no more. */
static void a_record_that_says_it_runs_is_not_believed(void **state)
{
    assert_int_equal(state_of("job-1", "77"), ADAPTER_JOB_UNKNOWN);
    put("records", "job-1 77 R\n", 0600);
    assert_int_equal(state_of("job-1", "77"), ADAPTER_JOB_UNKNOWN);
    put("records", "job-1 77 Q\n", 0600);
    assert_int_equal(state_of("job-1", "77"), ADAPTER_JOB_UNKNOWN);
    put("records", "job-1 78 R\njob-1 77 E\njob-2 79 R\n", 0600);
    assert_int_equal(state_of("job-1", "77"), ADAPTER_JOB_ENDED);
    assert_int_equal(state_of("job-2", "79"), ADAPTER_JOB_UNKNOWN);
}

/* Waiting jobs are reported, besides the one that the answer is about. A running one is left to its end, since it may
 * be at work. */
static void others_that_wait_are_told(void **state)
{
    pid_t asked = begin(), second = begin(), running = begin(), other = begin();
    char expected[200];

    tell("job-1", asked, 'R');
    tell("job-1.2", second, 'Q');
    tell("job-2", other, 'Q');
    tell("job-3", running, 'R');
    assert_int_equal(state_of("job-1", "77"), ADAPTER_JOB_RUNNING);
    snprintf(expected, sizeof expected, "job-1 %d;job-2 %d;", (int)second, (int)other);
    assert_string_equal(too_many, expected);
    too_many[0] = '\0';
    tell("job-1", asked, 'Q');
    take_away("job-2");
    assert_int_equal(state_of("job-1", "77"), ADAPTER_JOB_QUEUED);
    /* the first of them is the answer */
    snprintf(expected, sizeof expected, "job-1 %d;", (int)(asked > second ? asked : second));
    assert_string_equal(too_many, expected);
    end(asked);
    end(second);
    end(running);
    end(other);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_that_takes_no_notice_is_killed_when_its_grace_is_over),
        CASE(who_has_its_id_by_now_is_left_alone),
        CASE(what_waits_under_its_name_is_not_killed),
        CASE(a_list_that_fails_changes_nothing),
        CASE(one_that_is_still_there_is_killed_again),
        CASE(each_has_a_time_of_its_own),
        CASE(all_of_a_name_are_cancelled),
        CASE(both_the_running_and_the_waiting_one_are_cancelled),
        CASE(a_record_that_says_it_runs_is_not_believed),
        CASE(others_that_wait_are_told),
    };

    test_limit(100); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

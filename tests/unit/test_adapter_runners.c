/* The local adapter copes with runners that end in every way, or do not do as they should. Here a runner is a
 * script, which does what the file "part" in the job's directory says. */
#include "common/log.h"
#include "common/process.h"
#include "common/timefmt.h"
#include "scheduler-adapters/local.h"
#include "tests/unit/adapter_harness.h"
#include "tests/unit/adapter_named.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static struct harness h;
static char line[256];

static void write_runner(void)
{
    static char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/runner", h.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\nreal=%s test=%s\nfor dir; do :; done\n. \"$dir/part\"\n", h.host.runner, h.dir);
    fclose(f);
    assert_int_equal(chmod(path, 0700), 0);
    h.host.runner = path;
}

static int open_all(void **state)
{
    const char *config = *state;

    harness_open(&h, ops, config != NULL ? config : "{\"slots\": 16, \"gpus\": 0}");
    harness_destroy_adapter(&h);
    write_runner();
    harness_create_adapter(&h);
    return 0;
}

static int close_all(void **state)
{
    harness_close(&h);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return 0;
}

static void job_with(struct harness_job *job, const char *part)
{
    harness_job(&h, job, "true", 0, 1);
    harness_put(job, "part", part);
}

static void claim_of_the_dead(const struct harness_job *job, const char *tmpdir)
{
    harness_claim(job, getpid(), 1, 1, tmpdir); /* this process has another start time */
}

static void until_in(const struct local_job *job, enum local_state state)
{
    assert_non_null(job);
    TEST_UNTIL(job->state == state, uv_run(&h.loop, UV_RUN_NOWAIT));
}

#define ONCE_LET_GO "until [ -e $test/go ]; do sleep 0.01; done; "
#define SAY_AND(end) "printf '%s\\n' 'first words' 'last words' >>$dir/runner.log; " end
#define GAVE_UP(status) "the runner ended with status " status ": last words"

/* A runner that gives up by itself says why, and would do so again; one that is killed, or is out of time, is lost with
 * its node. */
static void how_a_runner_ended_is_told(void **state)
{
    static const struct {
        const char *part;
        enum { NO_CLAIM, CLAIM, BROKEN, OVER } left;
        const char *reason;
        bool lost;
    } cases[] = {
        {SAY_AND("exit 3"), NO_CLAIM, GAVE_UP("3"), false},
        {SAY_AND("exit 3"), CLAIM, GAVE_UP("3"), false},
        {SAY_AND("exit 69"), CLAIM, GAVE_UP("69"), false},
        {SAY_AND("exit 74"), CLAIM, GAVE_UP("74"), false},
        {SAY_AND("exit 75"), CLAIM, "the runner was killed", true},
        {SAY_AND("exit 75"), NO_CLAIM, GAVE_UP("75"), false},
        {SAY_AND("exit 4"), BROKEN, GAVE_UP("4"), false},
        {SAY_AND("kill -KILL $$"), BROKEN, "the runner was killed", true},
        {SAY_AND("kill -KILL $$"), CLAIM, "the runner was killed", true},
        {SAY_AND("kill -KILL $$"), NO_CLAIM, "the runner was killed by signal 9 before it started", true},
        {SAY_AND("exit 3"), OVER, "it is over", false},
        {SAY_AND("kill -KILL $$"), OVER, "it is over", false},
        {SAY_AND("exit 0"), NO_CLAIM, "", false},
    };
    enum { N = sizeof cases / sizeof *cases };
    struct harness_job jobs[N];
    char tmpdir[N][128];

    for (size_t i = 0; i < N; i++) {
        struct error err;

        job_with(&jobs[i], cases[i].part);
        assert_int_equal(job_tmpdir_name(tmpdir[i], sizeof tmpdir[i], &err), 0);
        assert_int_equal(job_tmpdir_make(tmpdir[i], &err), 0);
        if (cases[i].left == CLAIM || cases[i].left == OVER)
            claim_of_the_dead(&jobs[i], tmpdir[i]);
        if (cases[i].left == BROKEN)
            harness_put(&jobs[i], "claim.json", "{}");
        if (cases[i].left == OVER)
            harness_put(&jobs[i], "ended.json", "{\"version\": 1, \"time\": 2, \"reason\": \"it is over\"}");
        harness_submit_ok(&h, &jobs[i]);
    }
    for (size_t i = 0; i < N; i++) {
        struct adapter_status status = harness_wait_ended(&h, &jobs[i]);

        if (strcmp(status.reason, cases[i].reason) != 0 || status.node_lost != cases[i].lost)
            fail_msg("case %zu: %s, %d", i, status.reason, status.node_lost);
        assert_int_equal(access(tmpdir[i], F_OK), cases[i].left == CLAIM || cases[i].left == OVER ? -1 : 0);
        rmdir(tmpdir[i]);
    }
    assert_true(h.adapter->used.slots == 0);
}

/* Its disk may have room again. It keeps its place in the queue, and its slot is free meanwhile. */
static void started_again(const char *failing)
{
    struct harness_job first, second;
    struct adapter_status status;
    char path[128], text[64], part[256];
    FILE *f;

    snprintf(part, sizeof part,
             ONCE_LET_GO "[ -e $dir/once ] || { touch $dir/once; %s; }; rm -f $dir/claim.json; echo first >>$test/ran", failing);
    job_with(&first, part);
    job_with(&second, "echo second >>$test/ran");
    harness_submit_ok(&h, &first);
    harness_submit_ok(&h, &second);
    harness_let_go(&h);
    until_in(local_job_find(h.adapter, first.name), LOCAL_LOOKING);
    TEST_UNTIL(local_job_find(h.adapter, first.name)->state != LOCAL_LOOKING, uv_run(&h.loop, UV_RUN_ONCE));
    assert_int_equal(harness_status(&h, &first).state, ADAPTER_JOB_QUEUED);
    assert_true(h.adapter->used.slots == 0);
    assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
    status = harness_wait_ended(&h, &first);
    assert_true(status.reason[0] == '\0' && !status.node_lost);
    harness_wait_ended(&h, &second);
    snprintf(path, sizeof path, "%s/ran", h.dir);
    f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, "first\nsecond\n");
}

static void one_without_room_is_started_again(void **state)
{
    started_again("exit 69");
}

/* Neither it nor the daemon can use the run directory. */
static void one_whose_directory_fails_is_started_again(void **state)
{
    started_again("ln -s claim.json $dir/claim.json; exit 72");
}

static void cancel_now(struct harness_job *job)
{
    static struct answer cancelled;

    cancelled = (struct answer){0};
    ops->cancel(h.adapter, &job->job, answer_done, &cancelled);
}

static void one_that_is_cancelled_is_not_started_again(void **state)
{
    struct harness_job job;
    struct adapter_status status;

    job_with(&job, ONCE_LET_GO "exit 69");
    harness_submit_ok(&h, &job);
    harness_let_go(&h);
    until_in(local_job_find(h.adapter, job.name), LOCAL_LOOKING);
    cancel_now(&job);
    status = harness_wait_ended(&h, &job);
    assert_string_equal(status.reason, "cancelled before it started");
    assert_false(status.node_lost);
    assert_true(h.adapter->used.slots == 0 && h.adapter->queue.n == 0);
}

static void one_that_is_cancelled_before_its_claim_is_not_lost(void **state)
{
    struct harness_job job;
    struct adapter_status status;

    job_with(&job, "echo >$test/fifo; exec sleep 1000");
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_UNSURE); /* of which it would die */
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
    harness_cancel(&h, &job);
    status = harness_wait_ended(&h, &job);
    assert_string_equal(status.reason, "cancelled before it started");
    assert_false(status.node_lost);
}

/* A file system that fails for a while is no end of a job. */
static void what_cannot_be_read_is_looked_at_again(void **state)
{
    static const char *const files[] = {"claim.json", "ended.json"};
    struct harness_job jobs[2];

    for (int i = 0; i < 2; i++) {
        char path[160];

        job_with(&jobs[i], SAY_AND("exit 3"));
        if (i == 1)
            claim_of_the_dead(&jobs[i], NULL);
        snprintf(path, sizeof path, "%s/%s", jobs[i].dir, files[i]);
        assert_int_equal(mkdir(path, 0700), 0); /* which is no regular file */
        harness_submit_ok(&h, &jobs[i]);
    }
    for (int i = 0; i < 2; i++) {
        const struct local_job *job = local_job_find(h.adapter, jobs[i].name);
        char path[160];

        TEST_UNTIL(job->look_again != NULL || job->state == LOCAL_ENDED, uv_run(&h.loop, UV_RUN_ONCE));
        assert_int_equal(harness_status(&h, &jobs[i]).state, ADAPTER_JOB_RUNNING);
        snprintf(path, sizeof path, "%s/%s", jobs[i].dir, files[i]);
        assert_int_equal(rmdir(path), 0);
        if (i == 0)
            claim_of_the_dead(&jobs[i], NULL);
        harness_put(&jobs[i], "ended.json", "{\"version\": 1, \"reason\": \"it is over\"}");
        assert_string_equal(harness_wait_ended(&h, &jobs[i]).reason, "it is over");
    }
}

static void adopted(struct harness_job *job, pid_t pid)
{
    job_with(job, "exit 1");
    harness_claim(job, pid, process_start_time(pid), (double)(time_now_ms() / 1000), NULL);
    assert_int_equal(harness_status(&h, job).state, ADAPTER_JOB_RUNNING);
}

/* Before a runner blocks both signals it would die of one. */
static void signals_wait_until_a_runner_is_ready(void **state)
{
    static const int blocked[][2] = {{SIGUSR1, SIGUSR1}, {SIGUSR2, SIGUSR2}, {SIGTERM, SIGTERM}};
    struct harness_job job, queued;
    struct answer later;
    pid_t pid;
    int status;

    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++) {
        pid = harness_process_that_blocks(blocked[i][0], blocked[i][1]);
        adopted(&job, pid);
        assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_UNSURE);
        assert_int_equal(harness_signal(&h, &job, SIGUSR2), ADAPTER_UNSURE);
        assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_UNSURE); /* it is gone, which is not noticed yet */
        assert_true(harness_wait_ended(&h, &job).node_lost);
        assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_REFUSED);
    }
    pid = harness_process_that_blocks(SIGUSR1, SIGUSR2);
    adopted(&job, pid);
    assert_int_equal(harness_signal(&h, &job, SIGUSR2), ADAPTER_OK);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == SIGUSR2);
    harness_wait_ended(&h, &job);
    job_with(&job, "exec sleep 1000");
    job.job.resources.cpus_per_task = 16;
    harness_submit_ok(&h, &job);
    job_with(&queued, "exit 0");
    harness_submit(&h, &queued, &later);
    assert_int_equal(harness_signal(&h, &queued, SIGUSR1), ADAPTER_UNSURE);
    harness_cancel(&h, &job);
    harness_wait_ended(&h, &queued);
}

static pid_t first_by_another_daemon(struct harness_job *job)
{
    pid_t other = harness_process_that_blocks(SIGUSR1, SIGUSR2);

    job_with(job, ONCE_LET_GO "exit 3");
    harness_claim(job, other, process_start_time(other), (double)(time_now_ms() / 1000), NULL);
    harness_submit_ok(&h, job);
    harness_let_go(&h);
    until_in(local_job_find(h.adapter, job->name), LOCAL_LOOKING);
    return other;
}

static void assert_ended_by_term(struct harness_job *job, pid_t pid)
{
    int status;

    harness_wait_ended(&h, job);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* Its runner is the job's by then. */
static void another_daemons_runner_is_taken_over(void **state)
{
    struct harness_job job;
    pid_t other = first_by_another_daemon(&job);

    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
    until_in(local_job_find(h.adapter, job.name), LOCAL_RUNNING);
    assert_int_equal(local_job_find(h.adapter, job.name)->pid, other);
    harness_cancel(&h, &job);
    assert_ended_by_term(&job, other);
}

/* It is told to end as soon as it is known; nothing is signalled while it is not. */
static void what_is_cancelled_meanwhile_is_ended_whoever_runs_it(void **state)
{
    struct harness_job job;
    struct answer signalled = {0};
    pid_t other = first_by_another_daemon(&job);

    ops->signal(h.adapter, &job.job, SIGUSR1, answer_done, &signalled);
    cancel_now(&job);
    harness_until(&h, &signalled.answers, 1);
    assert_int_equal(signalled.answer, ADAPTER_REFUSED);
    assert_ended_by_term(&job, other);
}

/* While no daemon watched it. */
static void one_whose_time_is_long_over_is_killed_at_once(void **state)
{
    struct harness_job job;
    struct adapter_status status;
    pid_t pid = harness_process_that_blocks(SIGTERM, SIGTERM);
    int ended;

    job_with(&job, "exit 1");
    job.job.resources.walltime_ms = 1000;
    harness_claim(&job, pid, process_start_time(pid), (double)(time_now_ms() / 1000 - 86400), NULL);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
    status = harness_wait_ended(&h, &job);
    assert_non_null(strstr(status.reason, "walltime"));
    assert_false(status.node_lost);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
}

/* Not a look earlier: a daemon that counted wrong would kill what goes on again in time. */
static void one_that_stays_stopped_is_killed_at_the_sixth_look(void **state)
{
    struct harness_job job;
    struct adapter_status status;
    pid_t pid = harness_process_that_blocks(SIGUSR1, SIGUSR2);
    const struct local_job *known;

    adopted(&job, pid);
    known = local_job_find(h.adapter, job.name);
    kill(pid, SIGSTOP);
    TEST_UNTIL(known->seen_stopped == 5 || known->killed_for != NULL, uv_run(&h.loop, UV_RUN_ONCE));
    assert_null(known->killed_for);
    kill(pid, SIGCONT);
    TEST_UNTIL(known->seen_stopped == 0, uv_run(&h.loop, UV_RUN_ONCE));
    kill(pid, SIGSTOP);
    status = harness_wait_ended(&h, &job);
    assert_non_null(strstr(status.reason, "stopped"));
    assert_false(status.node_lost);
    waitpid(pid, NULL, 0);
}

/* Whatever the daemon blocks, ignores, and has open. */
static void a_runner_begins_afresh(void **state)
{
    static const char *const masks[] = {"SigBlk", "SigIgn"};
    struct harness_job job;
    char path[160], name[16];
    unsigned long long mask;
    sigset_t blocked;
    int pid, group, session;
    FILE *f;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGHUP, SIG_IGN);
    job_with(&job, "cut -d' ' -f1,5,6 /proc/$$/stat >$dir/begun; open=$(for n in 0 1 2; do readlink /proc/$$/fd/$n; done); echo \"$open\" >>$dir/begun; "
                   "grep -E '^Sig(Blk|Ign)' /proc/self/status >>$dir/begun");
    harness_submit_ok(&h, &job);
    harness_wait_ended(&h, &job);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    snprintf(path, sizeof path, "%s/begun", job.dir);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d %d %d\n", &pid, &group, &session), 3);
    assert_true(pid == session && pid == group);
    for (int i = 0; i < 3; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        assert_string_equal(line, "/dev/null\n");
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fscanf(f, "%15[^:]: %llx\n", name, &mask), 2);
        assert_string_equal(name, masks[i]);
        if ((mask & ~(3ull << 31)) != 0) /* 32 and 33 are the C library's */
            fail_msg("%s is %llx", name, mask);
    }
    fclose(f);
}

/* A child of this process that is no runner, and that nobody has waited for. */
static void children_of_others_are_left_to_them(void **state)
{
    struct harness_job jobs[3];
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        _exit(7);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    for (int i = 0; i < 3; i++) {
        job_with(&jobs[i], "exit 0");
        harness_submit_ok(&h, &jobs[i]);
    }
    for (int i = 0; i < 3; i++)
        harness_wait_ended(&h, &jobs[i]);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), pid);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(how_a_runner_ended_is_told),
        {"one_without_room_is_started_again", one_without_room_is_started_again, open_all, close_all, "{\"slots\": 1, \"gpus\": 0}"},
        {"one_whose_directory_fails_is_started_again", one_whose_directory_fails_is_started_again, open_all, close_all, "{\"slots\": 1, \"gpus\": 0}"},
        CASE(one_that_is_cancelled_is_not_started_again),
        CASE(one_that_is_cancelled_before_its_claim_is_not_lost),
        CASE(what_cannot_be_read_is_looked_at_again),
        CASE(signals_wait_until_a_runner_is_ready),
        CASE(another_daemons_runner_is_taken_over),
        CASE(what_is_cancelled_meanwhile_is_ended_whoever_runs_it),
        CASE(one_whose_time_is_long_over_is_killed_at_once),
        {"one_that_stays_stopped_is_killed_at_the_sixth_look", one_that_stays_stopped_is_killed_at_the_sixth_look, open_all, close_all,
         "{\"slots\": 16, \"gpus\": 0, \"stopped\": \"1500ms\"}"},
        CASE(a_runner_begins_afresh),
        CASE(children_of_others_are_left_to_them),
    };

    test_limit(100);
    log_init("test", LOG_LEVEL_ERROR);
    ops = adapter_named("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* An adapter's answers about jobs that it did not start itself, or whose runner was killed. */
#include "common/log.h"
#include "common/process.h"
#include "common/timefmt.h"
#include "scheduler-adapters/local.h"
#include "tests/unit/adapter_harness.h"
#include "tests/unit/adapter_named.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static struct harness h;
static char line[256];

static int open_with_3(void **state)
{
    harness_open(&h, ops, "{\"slots\": 3, \"gpus\": 0}");
    return 0;
}

static int open_with_looks(void **state)
{
    harness_open(&h, ops, "{\"slots\": 3, \"gpus\": 0, \"stopped\": \"6s\"}"); /* a look each second */
    return 0;
}

static int close_all(void **state)
{
    harness_close(&h);
    return 0;
}

static void an_adopted_job_can_be_cancelled(void **state)
{
    struct harness_job job, other;
    pid_t runner;

    harness_job(&h, &job, STUBBORN, 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    harness_job(&h, &other, STUBBORN, 0, 1);
    harness_submit_ok(&h, &other);
    harness_line(&h, line, sizeof line);
    harness_destroy_adapter(&h);
    harness_create_adapter(&h);
    harness_cancel(&h, &job); /* without a poll before */
    assert_int_equal(harness_status(&h, &other).state, ADAPTER_JOB_RUNNING);
    runner = harness_runner(&other);
    kill(runner, SIGKILL); /* an adopted runner that is killed */
    assert_true(harness_wait_ended(&h, &other).node_lost);
    assert_int_equal(harness_processes(&other), 0);
    assert_false(harness_wait_ended(&h, &job).node_lost);
    assert_int_equal(harness_processes(&job), 0);
    assert_int_equal(harness_exit(&job).end.outcome, ATTEMPT_CANCELLED);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void until_marked(const struct local_job *job, int times)
{
    uint64_t until = uv_hrtime() + (uint64_t)harness_wait_s() * 1000000000u;

    while (job->seen_stopped != times) {
        uv_run(&h.loop, UV_RUN_ONCE);
        if (uv_hrtime() > until)
            fail_msg("its runner is seen to be stopped %d times, and not %d", job->seen_stopped, times);
    }
}

/* One that is stopped now and then, as with its whole machine, has done nothing wrong. */
static void a_runner_that_goes_on_is_not_counted_as_stopped(void **state)
{
    struct harness_job job;
    const struct local_job *known;
    pid_t runner;

    harness_job(&h, &job, REPORT_AND_WAIT, 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    runner = harness_runner(&job);
    known = local_job_find(h.adapter, job.name);
    assert_non_null(known);
    for (int i = 0; i < 2; i++) {
        kill(runner, SIGSTOP);
        until_marked(known, 1);
        kill(runner, SIGCONT);
        until_marked(known, 0);
    }
    harness_let_go(&h);
    assert_false(harness_wait_ended(&h, &job).node_lost);
}

/* A claim whose pid has been given to another program since. */
static void another_program_with_the_pid_is_left_alone(void **state)
{
    struct harness_job job;
    struct adapter_status status;
    char path[160], boot_id[BOOT_ID_SIZE];
    pid_t innocent = fork();
    FILE *f;

    if (innocent == 0) {
        execlp("sleep", "sleep", "100", (char *)NULL);
        _exit(127);
    }
    harness_job(&h, &job, "true", 0, 1);
    snprintf(path, sizeof path, "%s/claim.json", job.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"version\": 1, \"pid\": %d, \"start_time\": 1, \"boot_id\": \"%s\", \"time\": 1}", (int)innocent,
            process_boot_id(boot_id));
    fclose(f);
    harness_cancel(&h, &job);
    status = harness_status(&h, &job);
    assert_int_equal(status.state, ADAPTER_JOB_ENDED);
    assert_true(status.node_lost);
    assert_int_equal(waitpid(innocent, NULL, WNOHANG), 0);
    kill(innocent, SIGKILL);
    waitpid(innocent, NULL, 0);
}

/* The jobs of a pilot have other names, and its mark. */
static void what_a_dead_runner_leaves_is_removed(void **state)
{
    struct harness_job job;
    struct error err;
    char tmpdir[128], byte;
    int ready[2], ended;
    pid_t pid;

    harness_job(&h, &job, "true", 0, 1);
    assert_int_equal(job_tmpdir_name(tmpdir, sizeof tmpdir, &err), 0);
    assert_int_equal(job_tmpdir_make(tmpdir, &err), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("STRETTO_PILOT", job.name, 1);
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* it is that program by now */
    close(ready[0]);
    harness_claim(&job, pid, 1, 1, tmpdir);
    assert_true(harness_status(&h, &job).node_lost);
    assert_int_equal(waitpid(pid, &ended, WNOHANG), pid); /* before the answer */
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    assert_int_equal(access(tmpdir, F_OK), -1);
}

static void assert_limit(const struct harness_job *job, int64_t from_s, int64_t to_s)
{
    const struct local_job *known = local_job_find(h.adapter, job->name);
    uint64_t due;

    assert_non_null(known);
    assert_non_null(known->limit);
    due = uv_timer_get_due_in(known->limit);
    if (due < (uint64_t)from_s * 1000 || due > (uint64_t)to_s * 1000)
        fail_msg("it is killed in %llu ms", (unsigned long long)due);
}

/* The time that an adopted runner has had counts, and a cancel gives none more than it had. */
static void an_adopted_runner_is_killed_when_its_time_is_over(void **state)
{
    static const struct {
        int walltime, grace, ago, before, after; /* s: how much is left before it is cancelled, and after that */
    } cases[] = {{3600, 600, 1000, 3230, 610}, {3600, 600, 4000, 230, 230}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct harness_job job;
        pid_t runner;

        signal(SIGTERM, SIG_IGN); /* of which it is not to die */
        runner = fork();
        if (runner == 0)
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (runner == 0)
            pause();
        signal(SIGTERM, SIG_DFL);
        harness_job(&h, &job, "true", cases[i].walltime, cases[i].grace);
        harness_claim(&job, runner, process_start_time(runner), (double)(time_now_ms() / 1000 - cases[i].ago), NULL);
        assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
        assert_limit(&job, cases[i].before - 200, cases[i].before); /* this machine may have been held up */
        harness_cancel(&h, &job);
        assert_limit(&job, cases[i].after - 200, cases[i].after);
        kill(runner, SIGKILL);
        assert_true(harness_wait_ended(&h, &job).node_lost);
        waitpid(runner, NULL, 0);
    }
}

/* One answer is about jobs that are known, and about others that have left files or nothing; each is about its own. */
static void every_job_of_a_question_has_its_own_answer(void **state)
{
    enum { KNOWN, OVER, NOTHING, LOST, QUEUED, N };
    struct harness_job jobs[N];
    struct adapter_status *of;
    struct answer a;

    for (int i = 0; i < N; i++)
        harness_job(&h, &jobs[i], i == KNOWN ? REPORT_AND_WAIT : "true", 0, 1);
    harness_submit_ok(&h, &jobs[KNOWN]);
    harness_line(&h, line, sizeof line);
    jobs[QUEUED].job.resources.cpus_per_task = 3;
    harness_submit_ok(&h, &jobs[QUEUED]);
    harness_claim(&jobs[OVER], getpid(), 1, 1000000001, NULL);
    harness_put(&jobs[OVER], "ended.json", "{\"version\": 1, \"reason\": \"it is over\"}");
    harness_claim(&jobs[LOST], getpid(), 1, 1000000002, NULL);
    harness_poll(&h, jobs, N, &a);
    of = a.statuses;
    assert_int_equal(of[KNOWN].state, ADAPTER_JOB_RUNNING);
    assert_int_equal(of[OVER].state, ADAPTER_JOB_ENDED);
    assert_string_equal(of[OVER].reason, "it is over");
    assert_string_equal(of[OVER].host, "here");
    assert_true(of[OVER].started_ms == INT64_C(1000000001000) && !of[OVER].node_lost);
    assert_int_equal(of[NOTHING].state, ADAPTER_JOB_UNKNOWN);
    assert_true(of[NOTHING].reason[0] == '\0' && of[NOTHING].host[0] == '\0');
    assert_int_equal(of[LOST].state, ADAPTER_JOB_ENDED);
    assert_string_equal(of[LOST].reason, "the runner was killed");
    assert_true(of[LOST].node_lost && of[LOST].started_ms == INT64_C(1000000002000));
    assert_int_equal(of[QUEUED].state, ADAPTER_JOB_QUEUED);
    assert_string_equal(of[QUEUED].scheduler_id, "local");
    assert_true(of[QUEUED].started_ms == 0);
    free(a.statuses);
    assert_int_equal(harness_signal(&h, &jobs[OVER], SIGUSR1), ADAPTER_REFUSED);
    harness_cancel(&h, &jobs[OVER]); /* there is nothing to be done */
    harness_let_go(&h);
    harness_wait_ended(&h, &jobs[QUEUED]);
}

/* Of a job that cannot be looked at nothing is ordered; those asked about with it are not answered either. */
static void what_cannot_be_read_is_not_known(void **state)
{
    struct harness_job jobs[2];
    struct adapter_status statuses[2];
    struct adapter_job list[2];
    struct answer a;
    char path[160];

    for (int i = 0; i < 2; i++)
        harness_job(&h, &jobs[i], "true", 0, 1);
    harness_claim(&jobs[1], getpid(), 1, 1, NULL);
    snprintf(path, sizeof path, "%s/ended.json", jobs[1].dir);
    assert_int_equal(mkdir(path, 0700), 0); /* which is no regular file */
    for (int i = 0; i < 2; i++)
        list[i] = jobs[i].job;
    a = (struct answer){.n = 2, .statuses = statuses};
    ops->poll(h.adapter, list, 2, answer_poll, &a);
    harness_until(&h, &a.answers, 1);
    assert_int_equal(a.answer, ADAPTER_UNSURE);
    assert_true(a.err.text[0] != '\0');
    a = (struct answer){0};
    ops->cancel(h.adapter, &list[1], answer_done, &a);
    harness_until(&h, &a.answers, 1);
    assert_int_equal(a.answer, ADAPTER_UNSURE);
    assert_true(a.err.text[0] != '\0');
    assert_int_equal(harness_signal(&h, &jobs[1], SIGUSR2), ADAPTER_UNSURE);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(harness_status(&h, &jobs[1]).state, ADAPTER_JOB_ENDED);
}

/* It finds the runner by itself. */
static void an_adopted_job_can_be_signalled_before_it_is_asked_about(void **state)
{
    struct harness_job job;
    pid_t runner;

    harness_job(&h, &job, "trap 'echo got > $FIFO; exit 0' USR2; echo ready > $FIFO; while :; do sleep 0.05; done", 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    runner = harness_runner(&job);
    harness_destroy_adapter(&h);
    harness_create_adapter(&h);
    assert_int_equal(harness_signal(&h, &job, SIGUSR2), ADAPTER_OK);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "got");
    assert_false(harness_wait_ended(&h, &job).node_lost);
    waitpid(runner, NULL, 0);
}

/* Without a poke the daemon would see neither before it asks of its own accord. */
static void its_start_and_its_end_are_told(void **state)
{
    struct harness_job job;
    struct answer a = {0};

    harness_job(&h, &job, REPORT_AND_WAIT, 0, 1);
    ops->submit(h.adapter, &job.job, answer_submit, &a);
    TEST_UNTIL(h.pokes == 1, uv_run(&h.loop, UV_RUN_ONCE));
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_RUNNING);
    harness_line(&h, line, sizeof line);
    assert_int_equal(h.pokes, 1);
    harness_let_go(&h);
    TEST_UNTIL(h.pokes == 2, uv_run(&h.loop, UV_RUN_ONCE));
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_ENDED);
}

/* The newest of them, in memory; if there are more, their directories tell of the first. */
static void ended_jobs_are_remembered(void **state)
{
    enum { KEPT = 4096 };
    static struct answer cancelled[KEPT + 1];
    struct harness_job first, job;
    struct answer a;

    harness_job(&h, &first, REPORT_AND_WAIT, 0, 1);
    first.job.resources.cpus_per_task = 3;
    harness_submit_ok(&h, &first);
    memset(cancelled, 0, sizeof cancelled);
    a = (struct answer){0};
    for (unsigned i = 0; i <= KEPT; i++) {
        struct adapter_job queued = first.job;
        char name[64];

        snprintf(name, sizeof name, "st-many-%u", i);
        queued.name = name;
        queued.dir = "/nowhere";
        ops->submit(h.adapter, &queued, answer_submit, &a);
        ops->cancel(h.adapter, &queued, answer_done, &cancelled[i]);
        job.job = queued;
    }
    harness_until(&h, &a.answers, KEPT + 1);
    harness_until(&h, &cancelled[KEPT].answers, 1);
    assert_int_equal(harness_status(&h, (job.job.name = "st-many-0", &job)).state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(harness_status(&h, (job.job.name = "st-many-1", &job)).state, ADAPTER_JOB_ENDED);
    assert_int_equal(harness_status(&h, (job.job.name = "st-many-4096", &job)).state, ADAPTER_JOB_ENDED);
    harness_line(&h, line, sizeof line);
    harness_let_go(&h);
    harness_wait_ended(&h, &first);
}

/* It has done nothing of the job, which costs no retry. */
static void a_runner_that_is_killed_before_its_claim_is_a_lost_node(void **state)
{
    struct harness_job job;
    struct adapter_status status;

    harness_hang_runners(&h, true);
    harness_job(&h, &job, "true", 0, 1);
    harness_submit_ok(&h, &job);
    assert_int_equal(kill((pid_t)atoi(harness_status(&h, &job).scheduler_id + strlen("local:")), SIGKILL), 0);
    status = harness_wait_ended(&h, &job);
    assert_true(status.node_lost);
    assert_string_equal(status.reason, "the runner was killed by signal 9 before it started");
}

#define WITH_3(test) cmocka_unit_test_setup_teardown(test, open_with_3, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_3(an_adopted_job_can_be_cancelled),
        cmocka_unit_test_setup_teardown(a_runner_that_goes_on_is_not_counted_as_stopped, open_with_looks, close_all),
        WITH_3(another_program_with_the_pid_is_left_alone),
        WITH_3(what_a_dead_runner_leaves_is_removed),
        WITH_3(an_adopted_runner_is_killed_when_its_time_is_over),
        WITH_3(every_job_of_a_question_has_its_own_answer),
        WITH_3(what_cannot_be_read_is_not_known),
        WITH_3(an_adopted_job_can_be_signalled_before_it_is_asked_about),
        WITH_3(its_start_and_its_end_are_told),
        WITH_3(ended_jobs_are_remembered),
        WITH_3(a_runner_that_is_killed_before_its_claim_is_a_lost_node),
    };

    test_limit(200);
    log_init("test", LOG_LEVEL_ERROR);
    ops = adapter_named("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

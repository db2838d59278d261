/* What every adapter that starts runners must do, with real runners, real tasks and a real loop. */
#include "common/log.h"
#include "common/timefmt.h"
#include "tasks/proto/control.h"
#include "scheduler-adapters/plugin.h"
#include "scheduler-adapters/registry.h"
#include "tests/unit/adapter_harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>


static const struct adapter_ops *ops;
static struct harness h;
static char line[256];

/* An adapter's settings for so many CPU slots: STRETTO_ADAPTER_CONFIG with %d in it. */
static void open_with(int slots)
{
    const char *given = getenv("STRETTO_ADAPTER_CONFIG"), *config = given ? given : "{\"slots\": %d, \"gpus\": 0}";
    const char *number = strstr(config, "%d");
    char text[1024];

    snprintf(text, sizeof text, "%.*s%d%s", number ? (int)(number - config) : (int)strlen(config), config, slots,
             number ? number + 2 : "");
    if (number == NULL)
        snprintf(text, sizeof text, "%s", config);
    harness_open(&h, ops, text);
}

static int open_with_3(void **state)
{
    open_with(3);
    return 0;
}

static int open_with_1(void **state)
{
    open_with(1);
    return 0;
}

static int close_all(void **state)
{
    harness_close(&h);
    return 0;
}

static int exists(const char *dir, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void a_job_runs_and_its_end_is_told(void **state)
{
    struct adapter_status status;
    struct harness_job good, bad, dead;
    struct exitrec rec;

    harness_job(&h, &good, "exit 0", 0, 1);
    harness_job(&h, &bad, "echo no mesh >&2; exit 3", 0, 1);
    harness_job(&h, &dead, "kill -SEGV $$", 0, 1);
    harness_submit_ok(&h, &good);
    harness_submit_ok(&h, &bad);
    harness_submit_ok(&h, &dead);
    status = harness_wait_ended(&h, &good);
    assert_false(status.node_lost);
    assert_true(status.started_ms > 0 || harness_polls); /* what cannot be known need not be told */
    assert_int_equal(harness_exit(&good).outcome, EXITREC_SUCCEEDED);
    harness_wait_ended(&h, &bad);
    rec = harness_exit(&bad);
    assert_int_equal(rec.outcome, EXITREC_FAILED);
    assert_int_equal(rec.exit_code, 3);
    assert_non_null(strstr(rec.reason, "no mesh"));
    harness_wait_ended(&h, &dead);
    assert_int_equal(harness_exit(&dead).signal, SIGSEGV);
}

static void impossible_jobs_are_refused(void **state)
{
    static const struct {
        struct adapter_resources want;
        const char *pointer;
    } cases[] = {
        {{.nodes = 2, .tasks = 1, .cpus_per_task = 1, .copies = 1}, "/nodes"},
        {{.nodes = 1, .tasks = 4, .cpus_per_task = 1, .copies = 1}, "/tasks"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 4, .copies = 1}, "/cpus_per_task"},
        {{.nodes = 1, .tasks = 2, .cpus_per_task = 1, .copies = 2}, "/tasks"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1, .gpus = 1}, "/gpus"},
        {{.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1, .memory = INT64_MAX}, "/memory"},
    };
    struct harness_job job;
    struct error err;
    struct answer a;

    harness_job(&h, &job, "true", 0, 1);
    assert_int_equal(ops->slots(h.adapter), 3);
    assert_int_equal(ops->check(h.adapter, &job.job.resources, &err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ops->check(h.adapter, &cases[i].want, &err), -1);
        assert_string_equal(err.code, "resources_impossible");
        assert_string_equal(err.pointer, cases[i].pointer);
        job.job.resources = cases[i].want;
        harness_submit(&h, &job, &a);
        assert_int_equal(a.answer, ADAPTER_REFUSED);
        assert_true(a.err.text[0] != '\0');
    }
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
}

static void a_queued_job_that_is_cancelled_never_starts(void **state)
{
    struct harness_job first, second;
    struct adapter_status status;

    harness_job(&h, &first, REPORT_AND_WAIT, 0, 1);
    harness_job(&h, &second, "true", 0, 1);
    harness_submit_ok(&h, &first);
    harness_submit_ok(&h, &second);
    assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
    harness_cancel(&h, &second);
    status = harness_status(&h, &second);
    assert_int_equal(status.state, ADAPTER_JOB_ENDED);
    assert_string_equal(status.reason, "cancelled before it started");
    harness_let_go(&h);
    harness_wait_ended(&h, &first);
    assert_false(exists(second.dir, "claim.json"));
    harness_cancel(&h, &second);
    assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_ENDED);
}

static void withdraw(const char *name, const char *id)
{
    struct answer a = {.in_call = true};

    ops->withdraw(h.adapter, name, id, answer_done, &a);
    a.in_call = false;
    harness_until(&h, &a.answers, 1);
    assert_int_equal(a.answer, ADAPTER_OK);
}

/* A queued job that nobody asks for is told, a running one is not; it alone is withdrawn. */
static void a_surplus_job_is_told_and_withdrawn(void **state)
{
    struct harness_job first, second;
    struct adapter_status status;
    struct answer none;
    char id[64];

    harness_job(&h, &first, REPORT_AND_WAIT, 0, 1);
    harness_job(&h, &second, "true", 0, 1);
    harness_submit_ok(&h, &first);
    harness_line(&h, line, sizeof line); /* it runs: till then it waits, too, and is told */
    harness_submit_ok(&h, &second);
    h.surplus = 0;
    status = harness_status(&h, &second);
    assert_int_equal(status.state, ADAPTER_JOB_QUEUED);
    assert_int_equal(h.surplus, 0);
    assert_int_equal(harness_status(&h, &first).state, ADAPTER_JOB_RUNNING);
    assert_int_equal(h.surplus, ops->withdraw != NULL);
    if (ops->withdraw != NULL) {
        h.surplus = 0;
        harness_poll(&h, &first, 0, &none); /* to hear of it alone */
        free(none.statuses);
        assert_int_equal(h.surplus, 1);
        assert_string_equal(h.surplus_name, second.name);
        assert_string_equal(h.surplus_id, status.scheduler_id);
        snprintf(id, sizeof id, "%s", h.surplus_id);
        withdraw(first.name, harness_status(&h, &first).scheduler_id); /* it runs: it is left alone */
        withdraw(second.name, "no such id");
        assert_int_equal(harness_status(&h, &first).state, ADAPTER_JOB_RUNNING);
        assert_int_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
        withdraw(second.name, id);
        assert_int_not_equal(harness_status(&h, &second).state, ADAPTER_JOB_QUEUED);
        withdraw(second.name, id); /* it is gone */
    }
    harness_let_go(&h);
    assert_int_equal(harness_wait_ended(&h, &first).node_lost, false);
    assert_int_equal(harness_exit(&first).outcome, EXITREC_SUCCEEDED);
    if (ops->withdraw != NULL)
        assert_false(exists(second.dir, "claim.json"));
    else
        harness_wait_ended(&h, &second);
}

static void a_running_job_is_cancelled_with_its_whole_tree(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, STUBBORN, 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    assert_true(harness_processes(&job) >= 3);
    harness_cancel(&h, &job);
    assert_false(harness_wait_ended(&h, &job).node_lost);
    assert_int_equal(harness_processes(&job), 0);
    assert_int_equal(harness_exit(&job).outcome, EXITREC_CANCELLED);
}

/* Cancelling may hit a runner at any point of its start. */
static void a_job_is_cancelled_while_it_starts(void **state)
{
    for (int i = 0; i < 20; i++) {
        struct harness_job job;
        struct adapter_status status;

        harness_job(&h, &job, "sleep 100", 0, 1);
        harness_submit_ok(&h, &job);
        usleep((useconds_t)i * 2000); /* not to wait for anything: to hit another point each time */
        harness_cancel(&h, &job);
        status = harness_wait_ended(&h, &job);
        assert_false(status.node_lost);
        assert_int_equal(harness_processes(&job), 0);
        if (exists(job.dir, "ended.json"))
            assert_int_equal(harness_exit(&job).outcome, EXITREC_CANCELLED);
    }
}

static void a_job_ends_at_its_walltime(void **state)
{
    double before = (double)time_now_ms() / 1000;
    struct harness_job job;
    struct exitrec rec;

    harness_job(&h, &job, STUBBORN, 1, 1);
    harness_submit_ok(&h, &job);
    assert_false(harness_wait_ended(&h, &job).node_lost);
    assert_int_equal(harness_processes(&job), 0);
    rec = harness_exit(&job);
    assert_int_equal(rec.outcome, EXITREC_TIMEOUT);
    assert_true(rec.ended - before > 1.9); /* the walltime, and the grace */
}

/* What holds for every batch system, whatever its slots are called. */
static void a_job_that_is_submitted_twice_runs_once(void **state)
{
    struct harness_job job;
    struct answer first, second;
    char path[128];
    int runs = 0;
    FILE *f;

    harness_job(&h, &job, "echo ran >> $DIR/log", 0, 1);
    harness_submit(&h, &job, &first);
    harness_submit(&h, &job, &second);
    assert_int_equal(second.answer, ADAPTER_OK);
    assert_string_equal(first.scheduler_id, second.scheduler_id);
    harness_wait_ended(&h, &job);
    harness_submit(&h, &job, &second);
    harness_wait_ended(&h, &job);
    assert_int_equal(harness_exit(&job).outcome, EXITREC_SUCCEEDED);
    snprintf(path, sizeof path, "%s/log", h.dir);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        runs++;
    fclose(f);
    assert_int_equal(runs, 1);
}

static void a_runner_that_hangs_is_killed_with_its_tree(void **state)
{
    struct harness_job job;
    struct adapter_status status;

    harness_job(&h, &job, STUBBORN, 0, 0);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    kill(harness_runner(&job), SIGSTOP);
    harness_cancel(&h, &job);
    status = harness_wait_ended(&h, &job);
    assert_non_null(strstr(status.reason, "in time"));
    assert_false(status.node_lost);
    assert_int_equal(harness_processes(&job), 0);
}

static void an_unknown_job_is_unknown(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, "true", 0, 1);
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
    harness_cancel(&h, &job);
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_REFUSED);
    job.job.dir = "/nowhere/at/all";
    assert_int_equal(harness_status(&h, &job).state, ADAPTER_JOB_UNKNOWN);
}

static void a_thousand_queued_jobs_are_polled_by_one_call(void **state)
{
    enum { N = 1000 };
    struct harness_job *jobs = calloc(N + 1, sizeof *jobs);
    struct answer a;

    harness_job(&h, &jobs[0], "echo ready > $FIFO; sleep 100", 0, 1);
    harness_submit_ok(&h, &jobs[0]);
    for (size_t i = 1; i <= N; i++) {
        harness_job(&h, &jobs[i], "true", 0, 1);
        harness_submit_ok(&h, &jobs[i]);
    }
    harness_poll(&h, jobs, N + 1, &a);
    assert_int_equal(a.statuses[0].state, ADAPTER_JOB_RUNNING);
    for (size_t i = 1; i <= N; i++)
        assert_int_equal(a.statuses[i].state, ADAPTER_JOB_QUEUED);
    free(a.statuses);
    for (size_t i = N + 1; i > 0; i--)
        harness_cancel(&h, &jobs[i - 1]);
    harness_wait_ended(&h, &jobs[0]);
    free(jobs);
}

static void slots_are_never_exceeded_and_all_used(void **state)
{
    enum { N = 24 };
    struct harness_job jobs[N];
    int running = 0, most = 0, c;
    char path[128];
    FILE *f;

    for (size_t i = 0; i < N; i++) {
        harness_job(&h, &jobs[i], "echo + >> $DIR/log; sleep 0.1; echo - >> $DIR/log", 0, 1);
        harness_submit_ok(&h, &jobs[i]);
    }
    for (size_t i = 0; i < N; i++)
        harness_wait_ended(&h, &jobs[i]);
    snprintf(path, sizeof path, "%s/log", h.dir);
    f = fopen(path, "r");
    assert_non_null(f);
    while ((c = fgetc(f)) != EOF) {
        running += (c == '+') - (c == '-');
        most = running > most ? running : most;
    }
    fclose(f);
    assert_int_equal(running, 0);
    assert_true(harness_polls ? most <= 3 : most == 3); /* what is submitted slowly may not fill them */
}

static void a_big_job_does_not_starve(void **state)
{
    struct harness_job small, big, later;

    harness_job(&h, &small, REPORT_AND_WAIT, 0, 1);
    harness_job(&h, &big, "echo big > $FIFO", 0, 1);
    harness_job(&h, &later, "echo later > $FIFO", 0, 1);
    big.job.resources.cpus_per_task = 3;
    harness_submit_ok(&h, &small);
    harness_submit_ok(&h, &big);
    harness_submit_ok(&h, &later);
    harness_line(&h, line, sizeof line);
    assert_int_equal(harness_status(&h, &later).state, ADAPTER_JOB_QUEUED);
    harness_let_go(&h);
    harness_wait_ended(&h, &later);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "big");
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "later");
}

static void signals_reach_the_tasks(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, "trap 'echo got > $FIFO; exit 0' USR1; echo ready > $FIFO; sleep 100 & wait", 0, 1);
    harness_submit_ok(&h, &job);
    harness_line(&h, line, sizeof line);
    assert_int_equal(harness_signal(&h, &job, SIGUSR1), ADAPTER_OK);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "got");
    harness_wait_ended(&h, &job);
    assert_int_equal(harness_signal(&h, &job, SIGKILL), ADAPTER_REFUSED);
}

/* The harness opened its fifo without O_CLOEXEC. */
static void tasks_inherit_no_descriptor(void **state)
{
    struct harness_job job;

    harness_job(&h, &job, "set -- /proc/$$/fd/*; n=0; for f; do case $(readlink $f) in */fifo) n=1;; esac; done; exit $n",
                0, 1);
    harness_submit_ok(&h, &job);
    harness_wait_ended(&h, &job);
    assert_int_equal(harness_exit(&job).exit_code, 0);
}

static void a_runner_that_is_not_there_is_told(void **state)
{
    const char *runner = h.host.runner;
    struct harness_job job;
    struct answer a;

    harness_destroy_adapter(&h);
    h.host.runner = "/nowhere/stretto-run";
    harness_create_adapter(&h);
    harness_job(&h, &job, "true", 0, 1);
    harness_submit(&h, &job, &a);
    assert_int_equal(a.answer, ADAPTER_REFUSED);
    assert_non_null(strstr(a.err.text, "/nowhere/stretto-run"));
    h.host.runner = runner;
}

static void a_broken_descriptor_ends_the_job(void **state)
{
    struct harness_job job;
    struct adapter_status status;
    char path[160];
    FILE *f;

    harness_job(&h, &job, "true", 0, 1);
    snprintf(path, sizeof path, "%s/job.json", job.dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("{}", f);
    fclose(f);
    harness_submit_ok(&h, &job);
    status = harness_wait_ended(&h, &job);
    assert_false(status.node_lost);
    if (strstr(status.reason, "/version") == NULL)
        fail_msg("it was told: %s", status.reason);
}

static void calls_under_way_are_answered_when_it_is_destroyed(void **state)
{
    enum { N = 50 };
    struct harness_job job;
    struct answer a[N] = {0}, done = {0}, submitted = {0};
    struct adapter_status statuses[N];

    harness_job(&h, &job, "true", 0, 1);
    for (int i = 0; i < N; i++) {
        a[i] = (struct answer){.in_call = true, .n = 1, .statuses = &statuses[i]};
        ops->find(h.adapter, &job.job, 1, answer_poll, &a[i]);
        a[i].in_call = false;
    }
    ops->cancel(h.adapter, &job.job, answer_done, &done);
    job.job.resources.nodes = 100000; /* refused: nothing is to start */
    ops->submit(h.adapter, &job.job, answer_submit, &submitted);
    harness_destroy_adapter(&h);
    for (int i = 0; i < N; i++) {
        assert_int_equal(a[i].answers, 1);
        assert_int_equal(a[i].answer, ADAPTER_UNSURE);
    }
    assert_int_equal(done.answers, 1);
    assert_int_equal(submitted.answers, 1);
}

static void *bind_control(void *context)
{
    void *pull = zmq_socket(context, ZMQ_PULL);

    snprintf(h.control, sizeof h.control, "ipc://%s/control", h.dir);
    zmq_setsockopt(pull, ZMQ_RCVTIMEO, &(int){HARNESS_WAIT_S * 1000}, sizeof(int));
    assert_int_equal(zmq_bind(pull, h.control), 0);
    return pull;
}

static void assert_nudge(void *pull, const struct harness_job *job, enum control_what what)
{
    struct control_message message;
    struct error err;
    int n = zmq_recv(pull, line, sizeof line, 0);

    assert_true(n > 0);
    assert_int_equal(control_parse(line, (size_t)n, &message, &err), 0);
    assert_string_equal(message.job, job->name);
    assert_string_equal(message.key, HARNESS_CONTROL_KEY);
    assert_int_equal(message.what, what);
}

/* As a batch system on another host would start it. */
static void a_runner_nudges_where_to_look(void **state)
{
    void *context = zmq_ctx_new(), *pull = bind_control(context);
    struct harness_job job;
    pid_t runner;
    int status;

    harness_job(&h, &job, "true", 0, 1);
    runner = fork();
    if (runner == 0) {
        execl(h.host.runner, h.host.runner, job.dir, (char *)NULL);
        _exit(127);
    }
    assert_nudge(pull, &job, CONTROL_CLAIM);
    assert_nudge(pull, &job, CONTROL_EXIT);
    assert_nudge(pull, &job, CONTROL_ENDED);
    assert_int_equal(waitpid(runner, &status, 0), runner);
    assert_int_equal(status, 0);
    zmq_close(pull);
    zmq_ctx_term(context);
}

/* Its start and its end are seen anyway: what is told is an end of a task after which it goes on. */
static void a_runner_that_is_watched_nudges_only_for_news(void **state)
{
    void *context = zmq_ctx_new(), *pull = bind_control(context);
    struct harness_job quiet, leaving;

    harness_job(&h, &quiet, "true", 0, 1);
    harness_submit_ok(&h, &quiet);
    harness_wait_ended(&h, &quiet);
    harness_job(&h, &leaving, "(trap '' TERM; echo ready > $FIFO; while :; do sleep 100; done) & read x < $DIR/go", 0, 1);
    snprintf(line, sizeof line, "%s/go", h.dir);
    assert_int_equal(mkfifo(line, 0600), 0);
    harness_submit_ok(&h, &leaving);
    harness_line(&h, line, sizeof line);
    harness_let_go(&h);
    assert_nudge(pull, &leaving, CONTROL_EXIT);
    harness_wait_ended(&h, &leaving);
    assert_int_equal(zmq_recv(pull, line, sizeof line, ZMQ_DONTWAIT), -1);
    zmq_close(pull);
    zmq_ctx_term(context);
}

static void wrong_configuration_is_refused(void **state)
{
    static const char *const wrong[] = {"{\"slots\": 0}",         "{\"slots\": \"2\"}",     "{\"gpus\": -1}",
                                        "{\"cpus\": 2}",          "{\"gpus\": [0, -1]}",   "{\"gpus\": [0, \"0\"]}",
                                        "{\"gpus\": [\"a,b\"]}",  "{\"gpus\": [\"\"]}",    "{\"gpus\": true}",
                                        "{\"memory\": \"much\"}"};
    struct adapter_host host = h.host;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *config = json_loads(wrong[i], 0, NULL);
        struct error err = {0};

        host.config = config;
        assert_null(ops->create(&host, &err));
        assert_true(err.pointer[0] == '/');
        json_decref(config);
    }
}

#define WITH_3(test) cmocka_unit_test_setup_teardown(test, open_with_3, close_all)
#define WITH_1(test) cmocka_unit_test_setup_teardown(test, open_with_1, close_all)

int main(void)
{
    const char *plugin = getenv("STRETTO_ADAPTER_PLUGIN"), *name = getenv("STRETTO_ADAPTER");
    const struct CMUnitTest of_any[] = {
        WITH_3(a_job_runs_and_its_end_is_told),
        WITH_3(a_job_that_is_submitted_twice_runs_once),
        WITH_1(a_queued_job_that_is_cancelled_never_starts),
        WITH_1(a_surplus_job_is_told_and_withdrawn),
        WITH_3(a_running_job_is_cancelled_with_its_whole_tree),
        WITH_3(a_job_ends_at_its_walltime),
        WITH_3(an_unknown_job_is_unknown),
        WITH_3(slots_are_never_exceeded_and_all_used),
        WITH_3(signals_reach_the_tasks),
        WITH_3(a_runner_nudges_where_to_look),
        WITH_3(a_runner_that_is_not_there_is_told),
        WITH_3(a_broken_descriptor_ends_the_job),
        WITH_3(calls_under_way_are_answered_when_it_is_destroyed),
    };
    /* what differs most from one batch system to another */
    const struct CMUnitTest of_slow[] = {
        WITH_1(a_queued_job_that_is_cancelled_never_starts),
        WITH_1(a_surplus_job_is_told_and_withdrawn),
        WITH_3(an_unknown_job_is_unknown),
        WITH_3(signals_reach_the_tasks),
        WITH_3(calls_under_way_are_answered_when_it_is_destroyed),
    };
    const struct CMUnitTest tests[] = {
        WITH_3(a_job_runs_and_its_end_is_told),
        WITH_3(a_job_that_is_submitted_twice_runs_once),
        WITH_3(impossible_jobs_are_refused),
        WITH_1(a_queued_job_that_is_cancelled_never_starts),
        WITH_1(a_surplus_job_is_told_and_withdrawn),
        WITH_3(a_running_job_is_cancelled_with_its_whole_tree),
        WITH_3(a_job_is_cancelled_while_it_starts),
        WITH_3(a_job_ends_at_its_walltime),
        WITH_3(a_runner_that_hangs_is_killed_with_its_tree),
        WITH_3(an_unknown_job_is_unknown),
        WITH_1(a_thousand_queued_jobs_are_polled_by_one_call),
        WITH_3(slots_are_never_exceeded_and_all_used),
        WITH_3(a_big_job_does_not_starve),
        WITH_3(signals_reach_the_tasks),
        WITH_3(a_runner_nudges_where_to_look),
        WITH_3(a_runner_that_is_watched_nudges_only_for_news),
        WITH_3(tasks_inherit_no_descriptor),
        WITH_3(a_runner_that_is_not_there_is_told),
        WITH_3(a_broken_descriptor_ends_the_job),
        WITH_3(calls_under_way_are_answered_when_it_is_destroyed),
        WITH_3(wrong_configuration_is_refused),
    };

    alarm(1500);
    log_init("test", LOG_LEVEL_ERROR);
    if (plugin != NULL) {
        struct error err;

        ops = plugin_open(plugin, &err);
        if (ops == NULL) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        harness_polls = true;
        return getenv("STRETTO_ADAPTER_SLOW") != NULL ? cmocka_run_group_tests(of_slow, NULL, NULL)
                                                      : cmocka_run_group_tests(of_any, NULL, NULL);
    }
    ops = adapter_registry_find(name ? name : "local");
    assert_non_null(ops);
    if (name != NULL) {
        harness_polls = true;
        return cmocka_run_group_tests(of_any, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

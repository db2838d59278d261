/* The accounts of the local adapter: no GPU has two jobs, memory is never exceeded, big jobs get their turn. */
#include "common/files.h"
#include "common/log.h"
#include "scheduler-adapters/local.h"
#include "tests/unit/adapter_harness.h"
#include "tests/unit/adapter_named.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct adapter_ops *ops;
static struct harness h;
static char line[256];

static int open_with_gpus(void **state)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    harness_open(&h, ops, "{\"slots\": 100, \"gpus\": 4, \"memory\": \"3GiB\"}");
    return 0;
}

static int close_all(void **state)
{
    while (waitpid(-1, NULL, WNOHANG) > 0) /* of adapters that were destroyed */
        ;
    harness_close(&h);
    return 0;
}

static const char *read_file(const char *name)
{
    static char text[4096];
    char path[128];
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", h.dir, name);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static void assert_succeeded(struct harness_job *job)
{
    assert_false(harness_wait_ended(&h, job).node_lost);
    assert_int_equal(harness_exit(job).end.exit_code, 0);
}

static void not_yet(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* A runner that was started, and waits before it can claim its job, as one does that the machine gives no time to. */
static void a_runner_that_has_claimed_nothing_is_waited_for(void **state)
{
    struct harness_job starting, next;
    struct answer a = {.n = 1, .statuses = calloc(1, sizeof *a.statuses)};
    static uv_timer_t timer;
    static bool over;

    harness_hang_runners(&h, true);
    harness_job(&h, &starting, "true", 0, 1);
    starting.job.resources.gpus = 1;
    harness_submit_ok(&h, &starting);
    harness_hang_runners(&h, false);
    ops->find(h.adapter, &starting.job, 1, answer_poll, &a);
    harness_job(&h, &next, "true", 0, 1);
    harness_submit_ok(&h, &next);
    uv_timer_init(&h.loop, &timer);
    timer.data = &over;
    uv_timer_start(&timer, not_yet, 500, 0); /* nothing is waited for: this is how long a wrong answer may take */
    while (!over)
        uv_run(&h.loop, UV_RUN_ONCE);
    assert_int_equal(a.answers, 0);
    assert_int_equal(harness_status(&h, &next).state, ADAPTER_JOB_QUEUED);
    close(open(h.hold, O_WRONLY)); /* it goes on, and gives up */
    harness_until(&h, &a.answers, 1);
    assert_int_equal(a.statuses[0].state, ADAPTER_JOB_UNKNOWN);
    assert_succeeded(&next);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&h.loop, UV_RUN_NOWAIT);
    free(a.statuses);
}

/* Ids need not be of one length. */
static void ids_that_begin_alike_are_told_apart(void **state)
{
    struct harness_job has_one, wants_other;

    harness_destroy_adapter(&h);
    json_decref(h.config);
    h.host.config = h.config = json_loads("{\"slots\": 4, \"gpus\": [1, 10]}", 0, NULL);
    harness_create_adapter(&h);
    harness_job(&h, &has_one, REPORT_AND_WAIT, 0, 1);
    has_one.job.resources.gpus = 1;
    harness_submit_ok(&h, &has_one);
    harness_line(&h, line, sizeof line);
    harness_destroy_adapter(&h);
    harness_create_adapter(&h);
    assert_int_equal(harness_status(&h, &has_one).state, ADAPTER_JOB_RUNNING);
    harness_job(&h, &wants_other, "echo $STRETTO_GPUS > $FIFO", 0, 1);
    wants_other.job.resources.gpus = 1;
    harness_submit_ok(&h, &wants_other);
    harness_line(&h, line, sizeof line);
    assert_string_equal(line, "10");
    assert_succeeded(&wants_other);
    harness_let_go(&h);
    assert_succeeded(&has_one);
}

static void a_cancelled_job_of_the_queue_gives_nothing_back(void **state)
{
    struct harness_job has_most, waits, next;

    harness_job(&h, &has_most, REPORT_AND_WAIT, 0, 1);
    has_most.job.resources.memory = INT64_C(2) << 30;
    harness_submit_ok(&h, &has_most);
    harness_line(&h, line, sizeof line);
    harness_job(&h, &waits, "true", 0, 1);
    waits.job.resources.memory = INT64_C(2) << 30;
    harness_submit_ok(&h, &waits);
    assert_int_equal(harness_status(&h, &waits).state, ADAPTER_JOB_QUEUED);
    harness_cancel(&h, &waits);
    assert_int_equal(harness_status(&h, &waits).state, ADAPTER_JOB_ENDED);
    harness_job(&h, &next, "true", 0, 1);
    next.job.resources.memory = INT64_C(2) << 30;
    harness_submit_ok(&h, &next); /* answered once it has started, if there is room */
    assert_int_equal(harness_status(&h, &next).state, ADAPTER_JOB_QUEUED);
    harness_let_go(&h);
    assert_succeeded(&has_most);
    assert_succeeded(&next);
}

/* Nothing is known of a job whose claim cannot be read: it may have GPUs. */
static void nothing_starts_while_a_job_cannot_be_looked_at(void **state)
{
    struct harness_job hidden, next;
    struct answer a = {.n = 1, .statuses = calloc(1, sizeof *a.statuses)};
    char path[160];

    harness_job(&h, &hidden, "true", 0, 1);
    snprintf(path, sizeof path, "%s/claim.json", hidden.dir);
    assert_int_equal(mkdir(path, 0700), 0); /* which is no regular file */
    ops->find(h.adapter, &hidden.job, 1, answer_poll, &a);
    harness_until(&h, &a.answers, 1);
    assert_int_equal(a.answer, ADAPTER_UNSURE);
    harness_job(&h, &next, "true", 0, 1);
    harness_submit_ok(&h, &next);
    assert_int_equal(rmdir(path), 0);
    a.answers = 0;
    ops->find(h.adapter, &next.job, 1, answer_poll, &a);
    harness_until(&h, &a.answers, 1);
    assert_int_equal(a.statuses[0].state, ADAPTER_JOB_QUEUED);
    assert_succeeded(&next);
    free(a.statuses);
}

/* As ids are listed, or as the daemon itself may see them; and where nobody counts, nothing is hidden. */
static void gpus_are_named_by_the_configuration(void **state)
{
    static const struct {
        const char *config, *visible, *wanted;
        int gpus;
    } cases[] = {
        {"{\"gpus\": [\"GPU-8932f937\", 5]}", NULL, "GPU-8932f937,5", 2},
        {"{}", "3,GPU-77", "3,GPU-77", 2},
        {"{\"gpus\": 1}", "3,GPU-77", "3", 1},
        {"{\"gpus\": 0}", "3,GPU-77", "3,GPU-77", 0},
        {"{}", "-1", "-1", 0},
        {"{}", "2,-1,3", "2", 1}, /* as CUDA reads it */
        {"{}", "2,,3", "2", 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct harness_job job;

        harness_destroy_adapter(&h);
        json_decref(h.config);
        h.host.config = h.config = json_loads(cases[i].config, 0, NULL);
        if (cases[i].visible != NULL)
            setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
        harness_create_adapter(&h);
        harness_job(&h, &job, "echo $CUDA_VISIBLE_DEVICES > $FIFO", 0, 1);
        job.job.resources.gpus = cases[i].gpus;
        harness_submit_ok(&h, &job);
        harness_line(&h, line, sizeof line);
        assert_string_equal(line, cases[i].wanted);
        assert_succeeded(&job);
        job.job.resources.gpus = cases[i].gpus + 1;
        assert_int_equal(ops->check(h.adapter, &job.job.resources, &(struct error){0}), -1);
        unsetenv("CUDA_VISIBLE_DEVICES");
    }
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    {
        json_t *config = json_pack("{s:i}", "gpus", 3);
        struct adapter_host host = h.host;
        struct error err = {0};

        host.config = config;
        assert_null(ops->create(&host, &err));
        assert_string_equal(err.pointer, "/gpus");
        json_decref(config);
        host.config = config = json_pack("{s:[i, s, s]}", "gpus", 5, "GPU-77", "5"); /* which is the first again */
        assert_null(ops->create(&host, &err));
        assert_string_equal(err.pointer, "/gpus/2");
        json_decref(config);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void put_in(const char *root, const char *file, const char *text)
{
    char path[200], *slash;
    struct error err;

    snprintf(path, sizeof path, "%s/%s", root, file);
    slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(dir_make(path, &err), 0);
    *slash = '/';
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
}

/* The least of the machine's and of the limits of its control group and of all above that one, of either version. */
static void memory_is_what_this_process_may_use(void **state)
{
    static const struct {
        const char *groups, *files[4], *limits[4];
        int64_t bytes; /* 0: the machine's */
    } cases[] = {
        {"", {NULL}, {NULL}, 0},
        {"0::/user/job\n", {"sys/fs/cgroup/user/job/memory.max"}, {"5000\n"}, 5000},
        {"0::/user/job\n", {"sys/fs/cgroup/user/job/memory.max", "sys/fs/cgroup/user/memory.max"}, {"5000\n", "4000\n"}, 4000},
        {"0::/user/job\n", {"sys/fs/cgroup/user/job/memory.max", "sys/fs/cgroup/user/memory.max"}, {"5000\n", "6000\n"}, 5000},
        {"0::/user/job\n", {"sys/fs/cgroup/user/job/memory.max", "sys/fs/cgroup/user/memory.max"}, {"max\n", "6000\n"}, 6000},
        {"0::/a/b/c\n", {"sys/fs/cgroup/a/b/c/memory.max", "sys/fs/cgroup/memory.max"}, {"9000\n", "7000\n"}, 7000},
        {"0::/user/job\n", {"sys/fs/cgroup/user/job/memory.max"}, {"max\n"}, 0},
        {"0::/user/job\n", {"sys/fs/cgroup/user/job/memory.max"}, {"0\n"}, 0},
        {"nonsense\nmore:nonsense\n0::/user/job\n", {"sys/fs/cgroup/user/job/memory.max"}, {"5000\n"}, 5000},
        {"0::/user/job\n", {"sys/fs/cgroup/other/memory.max"}, {"5\n"}, 0},
        {"4:memory:/job\n3:cpu:/x\n0::/\n", {"sys/fs/cgroup/memory/job/memory.limit_in_bytes"}, {"3000\n"}, 3000},
        {"4:memory:/job\n0::/u\n", {"sys/fs/cgroup/memory/job/memory.limit_in_bytes", "sys/fs/cgroup/u/memory.max"}, {"3000\n", "2000\n"}, 2000},
        {"4:cpu:/job\n", {"sys/fs/cgroup/memory/job/memory.limit_in_bytes"}, {"3000\n"}, 0},
        {"4:memory:/job\n", {"sys/fs/cgroup/memory/job/memory.limit_in_bytes"}, {"9223372036854771712\n"}, 0}, /* version 1's "max" */
    };
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[100];

        snprintf(root, sizeof root, "%s/machine-%zu", h.dir, i);
        put_in(root, "proc/self/cgroup", cases[i].groups);
        for (int k = 0; cases[i].files[k] != NULL; k++)
            put_in(root, cases[i].files[k], cases[i].limits[k]);
        if (local_machine_memory(root) != (cases[i].bytes > 0 ? cases[i].bytes : machine))
            fail_msg("case %zu: %lld", i, (long long)local_machine_memory(root));
    }
}

/* One CPU counts as two slots, or a training would keep its members waiting for ever. */
static void slots_are_the_cpus_that_this_process_may_use(void **state)
{
    cpu_set_t all, some;
    int n;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int most = 1; most <= CPU_COUNT(&all) && most <= 3; most++) {
        CPU_ZERO(&some);
        for (int cpu = 0; CPU_COUNT(&some) < most; cpu++)
            if (CPU_ISSET(cpu, &all))
                CPU_SET(cpu, &some);
        assert_int_equal(sched_setaffinity(0, sizeof some, &some), 0);
        harness_destroy_adapter(&h);
        json_decref(h.config);
        h.host.config = h.config = json_object();
        harness_create_adapter(&h);
        n = ops->slots(h.adapter);
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
        assert_int_equal(n, most > 2 ? most : 2);
    }
}

static void memory_is_never_exceeded_and_all_used(void **state)
{
    enum { N = 12 };
    struct harness_job jobs[N], none;
    int running = 0, most = 0;

    for (int i = 0; i < N; i++) { /* the first three wait for each other */
        harness_job(&h, &jobs[i], "echo + >> $DIR/log; until [ $(grep -c + $DIR/log) -ge 3 ]; do sleep 0.01; done; sleep 0.1; "
                    "echo - >> $DIR/log", 0, 1);
        jobs[i].job.resources.memory = INT64_C(1) << 30;
        harness_submit_ok(&h, &jobs[i]);
    }
    for (int i = 0; i < N; i++)
        assert_succeeded(&jobs[i]);
    for (const char *p = read_file("log"); *p; p++) {
        running += (*p == '+') - (*p == '-');
        most = running > most ? running : most;
    }
    assert_int_equal(running, 0);
    assert_int_equal(most, 3);

    /* copies count each; who asks for nothing takes nothing */
    harness_job(&h, &jobs[0], REPORT_AND_WAIT, 0, 1);
    jobs[0].job.resources.memory = INT64_C(1) << 30;
    jobs[0].job.resources.copies = 3;
    harness_submit_ok(&h, &jobs[0]);
    harness_line(&h, line, sizeof line);
    harness_job(&h, &none, "true", 0, 1);
    harness_submit_ok(&h, &none);
    assert_succeeded(&none);
    jobs[0].job.resources.copies = 4;
    assert_int_equal(ops->check(h.adapter, &jobs[0].job.resources, &(struct error){0}), -1);
    harness_let_go(&h);
    assert_succeeded(&jobs[0]);
}

#define WITH_GPUS(test) cmocka_unit_test_setup_teardown(test, open_with_gpus, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GPUS(a_runner_that_has_claimed_nothing_is_waited_for),
        WITH_GPUS(ids_that_begin_alike_are_told_apart),
        WITH_GPUS(nothing_starts_while_a_job_cannot_be_looked_at),
        WITH_GPUS(gpus_are_named_by_the_configuration),
        WITH_GPUS(memory_is_what_this_process_may_use),
        WITH_GPUS(slots_are_the_cpus_that_this_process_may_use),
        WITH_GPUS(memory_is_never_exceeded_and_all_used),
        WITH_GPUS(a_cancelled_job_of_the_queue_gives_nothing_back),
    };

    test_limit(300);
    log_init("test", LOG_LEVEL_ERROR);
    ops = adapter_named("local");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

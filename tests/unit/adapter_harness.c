#include "tests/unit/adapter_harness.h"

#include "common/files.h"
#include "common/process.h"
#include "tasks/proto/claim.h"
#include "tests/unit/jobdesc_whole.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_slow(void)
{
    return getenv("STRETTO_ADAPTER_SLOW") != NULL;
}

static void poked(void *arg)
{
    struct harness *h = arg;

    h->pokes++;
}

static void ended(void *arg, const char *name, const struct adapter_status *status, json_t *records)
{
    struct harness *h = arg;

    poked(h);
    assert_int_equal(status->state, ADAPTER_JOB_ENDED);
    assert_null(json_object_get(h->ended, name));
    json_object_set_new(h->ended, name, records != NULL ? json_incref(records) : json_null());
}

static void duplicate(void *arg, const char *name, const char *scheduler_id)
{
    struct harness *h = arg;

    h->duplicate++;
    snprintf(h->duplicate_name, sizeof h->duplicate_name, "%s", name);
    snprintf(h->duplicate_id, sizeof h->duplicate_id, "%s", scheduler_id);
}

static void said(void *arg, enum adapter_log level, const char *job, const char *sentence)
{
}

bool harness_polls;
static bool has_waited_in_vain;

static void tick(uv_timer_t *ticker)
{
    poked(ticker->data);
}

static void too_late(uv_timer_t *guard)
{
    ((struct harness *)guard->data)->late = true;
}

void harness_create_adapter(struct harness *h)
{
    struct error err = {0};
    unsigned left = alarm(test_wait_s()); /* what never returns is a failure, too */

    h->adapter = h->ops->create(&h->host, &err);
    alarm(left);
    assert_string_equal(err.text, "");
    assert_non_null(h->adapter);
}

static char runner[512];

void harness_open(struct harness *h, const struct adapter_ops *ops, const char *config)
{
    const char *builddir = getenv("builddir");
    uint64_t tick_ms = is_slow() ? 2000 : 100;

    memset(h, 0, sizeof *h);
    snprintf(runner, sizeof runner, "%s/stretto-run", builddir ? builddir : ".");
    if (runner[0] != '/')
        assert_non_null(realpath("stretto-run", runner));
    snprintf(h->dir, sizeof h->dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(h->dir));
    snprintf(h->fifo, sizeof h->fifo, "%s/fifo", h->dir);
    assert_int_equal(mkfifo(h->fifo, 0600), 0);
    h->fifo_fd = open(h->fifo, O_RDWR); /* inherited by whoever does not take care */
    assert_int_equal(uv_loop_init(&h->loop), 0);
    uv_timer_init(&h->loop, &h->guard);
    h->guard.data = h;
    uv_timer_init(&h->loop, &h->ticker);
    h->ticker.data = h;
    if (harness_polls)
        uv_timer_start(&h->ticker, tick, tick_ms, tick_ms);
    h->config = json_loads(config, 0, NULL);
    h->ended = json_object();
    h->ops = ops;
    h->host = (struct adapter_host){
        .loop = &h->loop, .runner = runner, .config = h->config, .poke = poked, .ended = ended, .duplicate = duplicate,
        .log = said, .arg = h};
    harness_create_adapter(h);
}

static void gone(void *arg)
{
    ++*(unsigned *)arg;
}

void harness_destroy_adapter(struct harness *h)
{
    unsigned destroyed = 0, left = alarm((unsigned)harness_wait_s() + 5);

    h->ops->destroy(h->adapter, gone, &destroyed);
    alarm(left);
    harness_until(h, &destroyed, 1);
    assert_int_equal(destroyed, 1);
    h->adapter = NULL;
}

void harness_hang_runners(struct harness *h, bool hang)
{
    static char hanging[160];
    FILE *f;

    harness_destroy_adapter(h);
    snprintf(h->hold, sizeof h->hold, "%s/hold", h->dir);
    snprintf(hanging, sizeof hanging, "%s/hanging", h->dir);
    if (hang) {
        assert_int_equal(mkfifo(h->hold, 0600), 0);
        f = fopen(hanging, "w");
        assert_non_null(f);
        fprintf(f, "#!/bin/sh\nread -r line <%s\nexit 66\n", h->hold);
        fclose(f);
        assert_int_equal(chmod(hanging, 0700), 0);
    }
    h->host.runner = hang ? hanging : runner;
    harness_create_adapter(h);
}

void harness_close(struct harness *h)
{
    char rm[128];
    unsigned left;

    process_signal_marked("DIR", h->dir, SIGKILL); /* a test that failed may have left its tasks running */
    if (h->adapter != NULL)
        harness_destroy_adapter(h);
    uv_close((uv_handle_t *)&h->guard, NULL);
    uv_close((uv_handle_t *)&h->ticker, NULL);
    left = alarm(test_wait_s()); /* what was left open would keep the loop for ever */
    uv_run(&h->loop, UV_RUN_DEFAULT);
    alarm(left);
    assert_int_equal(uv_loop_close(&h->loop), 0); /* no handle was left */
    json_decref(h->config);
    json_decref(h->ended);
    close(h->fifo_fd);
    snprintf(rm, sizeof rm, "rm -rf '%s'", h->dir);
    assert_int_equal(system(rm), 0);
}

void harness_job(struct harness *h, struct harness_job *job, const char *script, int walltime, int grace)
{
    static unsigned serial;
    json_t *argv = json_pack("[s, s, s]", "sh", "-c", script);
    json_t *env = json_pack("{s:s, s:s}", "FIFO", h->fifo, "DIR", h->dir);
    struct jobdesc_task task = {.id = "1.0", .argv = argv, .env = env, .ntasks = 1};
    struct jobdesc desc = {.ensemble = 1, .walltime_ms = walltime * 1000, .grace_ms = grace * 1000, .ntasks = 1,
                           .tasks = &task};
    char path[160], *text;
    struct error err;

    memset(job, 0, sizeof *job);
    snprintf(job->name, sizeof job->name, "st-test-%d-%u", (int)getpid(), serial++);
    snprintf(job->dir, sizeof job->dir, "%.50s/%.60s", h->dir, job->name);
    snprintf(job->task_dir, sizeof job->task_dir, "%.118s/task", job->dir);
    assert_int_equal(mkdir(job->dir, 0700), 0);
    desc.job = job->name;
    desc.control = h->control[0] ? h->control : NULL;
    task.dir = job->task_dir;
    text = jobdesc_whole(&desc);
    snprintf(path, sizeof path, "%s/job.json", job->dir);
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
    free(text);
    json_decref(argv);
    json_decref(env);
    job->job = (struct adapter_job){.name = job->name, .dir = job->dir, .grace_ms = grace * 1000,
                                    .resources = {.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1,
                                                  .walltime_ms = walltime * 1000}};
}

char *harness_by_jobfd(struct harness *h, struct harness_job *job, const char *script)
{
    struct error err;
    char path[160], *text;
    size_t size;

    harness_job(h, job, script, 0, 1);
    snprintf(path, sizeof path, "%s/job.json", job->dir);
    assert_int_equal(file_read(path, 1 << 20, &text, &size, &err), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(job->dir), 0);
    job->job.descriptor = text;
    return text;
}

int harness_wait_s(void)
{
    return (has_waited_in_vain ? 2 : (int)test_wait_s()) * (is_slow() ? 3 : 1);
}

static void fail_for_waiting(const char *what)
{
    has_waited_in_vain = true;
    fail_msg("%s: not within its time", what);
}

void harness_until(struct harness *h, const unsigned *counter, unsigned value)
{
    unsigned left = alarm((unsigned)harness_wait_s() + 5); /* for an adapter that keeps the loop from turning */

    h->late = false;
    uv_update_time(&h->loop);
    uv_timer_start(&h->guard, too_late, (uint64_t)harness_wait_s() * 1000, 0);
    while (*counter < value && !h->late)
        uv_run(&h->loop, UV_RUN_ONCE);
    uv_timer_stop(&h->guard);
    alarm(left);
    if (h->late)
        fail_for_waiting("an answer of the adapter");
}

static struct answer *count(void *arg, enum adapter_answer answer, const struct error *err)
{
    struct answer *a = arg;

    assert_false(a->in_call);
    a->answers++;
    a->answer = answer;
    if (err != NULL)
        a->err = *err;
    return a;
}

void answer_submit(void *arg, enum adapter_answer answer, const char *scheduler_id, const struct error *err)
{
    struct answer *a = count(arg, answer, err);

    assert_int_equal(scheduler_id != NULL, answer == ADAPTER_OK);
    snprintf(a->scheduler_id, sizeof a->scheduler_id, "%s", scheduler_id ? scheduler_id : "");
}

void answer_poll(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                 const struct error *err)
{
    struct answer *a = count(arg, answer, err);

    assert_int_equal(statuses != NULL, answer == ADAPTER_OK);
    if (statuses != NULL) {
        assert_int_equal(n, a->n);
        memcpy(a->statuses, statuses, n * sizeof *statuses);
    }
}

void answer_done(void *arg, enum adapter_answer answer, const struct error *err)
{
    count(arg, answer, err);
}

void harness_submit(struct harness *h, struct harness_job *job, struct answer *a)
{
    *a = (struct answer){.in_call = true};
    h->ops->submit(h->adapter, &job->job, answer_submit, a);
    a->in_call = false;
    harness_until(h, &a->answers, 1);
    assert_int_equal(a->answers, 1);
}

void harness_submit_ok(struct harness *h, struct harness_job *job)
{
    struct answer a;

    harness_submit(h, job, &a);
    assert_int_equal(a.answer, ADAPTER_OK);
    assert_true(a.scheduler_id[0] != '\0');
}

void harness_poll(struct harness *h, struct harness_job *jobs, size_t n, struct answer *a)
{
    struct adapter_job *list = calloc(n, sizeof *list);

    for (size_t i = 0; i < n; i++)
        list[i] = jobs[i].job;
    *a = (struct answer){.in_call = true, .n = n, .statuses = calloc(n, sizeof *a->statuses)};
    h->ops->poll(h->adapter, list, n, answer_poll, a);
    a->in_call = false;
    free(list);
    harness_until(h, &a->answers, 1);
    assert_int_equal(a->answers, 1);
    assert_int_equal(a->answer, ADAPTER_OK);
}

struct adapter_status harness_status(struct harness *h, struct harness_job *job)
{
    struct adapter_status status;
    struct answer a;

    harness_poll(h, job, 1, &a);
    status = a.statuses[0];
    free(a.statuses);
    return status;
}

void harness_cancel(struct harness *h, struct harness_job *job)
{
    struct answer a = {.in_call = true};

    h->ops->cancel(h->adapter, &job->job, answer_done, &a);
    a.in_call = false;
    harness_until(h, &a.answers, 1);
    assert_int_equal(a.answer, ADAPTER_OK);
}

enum adapter_answer harness_signal(struct harness *h, struct harness_job *job, int sig)
{
    struct answer a = {.in_call = true};

    h->ops->signal(h->adapter, &job->job, sig, answer_done, &a);
    a.in_call = false;
    harness_until(h, &a.answers, 1);
    return a.answer;
}

struct adapter_status harness_wait_ended(struct harness *h, struct harness_job *job)
{
    uint64_t until = uv_hrtime() + (uint64_t)harness_wait_s() * 1000000000;

    for (;;) {
        unsigned pokes = h->pokes;
        struct adapter_status status = harness_status(h, job);

        if (status.state == ADAPTER_JOB_ENDED)
            return status;
        assert_int_not_equal(status.state, ADAPTER_JOB_UNKNOWN);
        if (uv_hrtime() > until) /* it is poked on and on */
            fail_for_waiting("the end of a job");
        harness_until(h, &h->pokes, pokes + 1);
    }
}

json_t *harness_records(struct harness *h, struct harness_job *job)
{
    json_t *records = json_object_get(h->ended, job->name);

    assert_true(json_is_null(records) || json_is_array(records));
    return json_is_null(records) ? NULL : json_incref(records);
}

struct exitrec harness_exit(struct harness_job *job)
{
    struct error err = {0};
    struct exitrec rec;
    char path[160];

    snprintf(path, sizeof path, "%s/exit.json", job->task_dir);
    if (exitrec_read(path, &rec, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(rec.job, job->name);
    return rec;
}

void harness_line(struct harness *h, char *line, size_t size)
{
    size_t n = 0;
    struct pollfd fifo = {.fd = h->fifo_fd, .events = POLLIN};

    while (n + 1 < size) {
        if (poll(&fifo, 1, harness_wait_s() * 1000) == 0)
            fail_for_waiting("a line of a task");
        if (read(h->fifo_fd, &line[n], 1) != 1 || line[n] == '\n')
            break;
        n++;
    }
    line[n] = '\0';
}

void harness_let_go(struct harness *h)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/go", h->dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

int harness_processes(struct harness_job *job)
{
    return process_signal_marked("STRETTO_JOB", job->name, 0);
}

pid_t harness_runner(struct harness_job *job)
{
    struct claim claim;
    struct error err;

    assert_int_equal(claim_read(job->dir, &claim, &err), 0);
    assert_true(claim_alive(&claim));
    return claim.pid;
}

void harness_claim(const struct harness_job *job, pid_t pid, unsigned long long start_time, double time,
                   const char *tmpdir)
{
    char path[160], boot_id[BOOT_ID_SIZE];
    FILE *f;

    snprintf(path, sizeof path, "%s/claim.json", job->dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"version\": 1, \"pid\": %d, \"start_time\": %llu, \"boot_id\": \"%s\", \"host\": \"here\", \"time\": %f%s%s%s}",
            (int)pid, start_time, process_boot_id(boot_id), time, tmpdir != NULL ? ", \"tmpdir\": \"" : "", tmpdir != NULL ? tmpdir : "",
            tmpdir != NULL ? "\"" : "");
    fclose(f);
}

void harness_put(const struct harness_job *job, const char *name, const char *text)
{
    struct error err;
    char path[160];

    snprintf(path, sizeof path, "%s/%s", job->dir, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
}

pid_t harness_process_that_blocks(int one, int other)
{
    sigset_t set;
    pid_t pid;

    sigemptyset(&set);
    if (one != 0)
        sigaddset(&set, one);
    if (other != 0)
        sigaddset(&set, other);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;; usleep(10000)) /* sigwait() would not block them while it waits */
            for (int sig = 1; sigpending(&set) == 0 && sig < 32; sig++)
                if (sigismember(&set, sig))
                    _exit(sig);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    assert_true(pid > 0);
    return pid;
}

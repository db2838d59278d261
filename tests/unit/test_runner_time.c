/* What a runner does when: the end of the walltime, the warning before it, the grace, the end that a scheduler has set. In virtual time, on a
 * machine whose processes do what the test says. */
#include "tasks/runner/deadline.h"
#include "tasks/runner/machine.h"
#include "tasks/runner/metrics.h"
#include "tasks/runner/run.h"
#include "tasks/runner/tree.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/runner/looks.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define START 1000000
#define UNIX_START 1700000000000
#define NEVER INT64_MAX
#define SIGNALS_MAX 64
#define WAITS_MAX 1000

static char dir[64];
static int64_t now;
static int runner_signals[2]; /* in place of its signalfd */

/* The one process of the job's task. Times are ms. */
static struct {
    int64_t ends_at;  /* by itself, after the start */
    int64_t lasts;    /* beyond SIGTERM; NEVER: it ignores it */
    int64_t warned;   /* likewise beyond the warning */
    int64_t dies;     /* likewise beyond SIGKILL, as in a system call that does not come back */
    int status;       /* as wait4() gives it, where no signal ends it */
    bool there;
} process;

/* That of another task, which comes before it in the job's list: when it ends by itself, after the start; NEVER: there is none. */
static int64_t other_ends_at = NEVER;
static bool other_is_there, other_fails; /* fails: it is a rank, and cannot be started */

static int64_t told_at; /* when the runner gets this signal */
static int told_sig = SIGTERM;
static int64_t gone_at = NEVER; /* when the directory of its task is removed, with that above it */
static int64_t disk_full_until; /* until then no exit record can be written, after the start */
static bool is_watched, is_shared; /* by the daemon, on its host; by runners that have its other tasks */
static int result; /* of run_job() */
static int64_t given_up_at = NEVER; /* when the daemon takes the place of its exit record, after the start */
static char record_path[128];
static int64_t stalls_at = NEVER, stalls_until; /* the runner, which was about to wake up, wakes up then */
static int64_t reports_at = NEVER; /* when the process writes `reports` into the file of its metrics, which is read then */
static const char *reports;
static struct jobdesc_metrics of_metrics;
static int64_t step_until;
static int64_t pilot_over = NEVER; /* when the time of the pilot around it is over, after the start */

static struct {
    int64_t at; /* since the start */
    int sig;
} sent[SIGNALS_MAX];
static size_t n_sent, n_waits;

static void end_in(int64_t ms, int status)
{
    if (ms == NEVER || now - START + ms >= process.ends_at)
        return;
    process.ends_at = now - START + ms;
    process.status = status;
}

static void get_signal(int sig)
{
    if (!process.there)
        return;
    assert_true(n_sent < SIGNALS_MAX);
    sent[n_sent].at = now - START;
    sent[n_sent++].sig = sig;
    if (sig == SIGTERM)
        end_in(process.lasts, process.status);
    else if (sig == SIGKILL)
        end_in(process.dies, SIGKILL);
    else
        end_in(process.warned, process.status);
}

static int64_t monotonic_ms(void)
{
    return now;
}

static int64_t unix_ms(void)
{
    return UNIX_START + now - START;
}

static int wait_until_something_happens(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int64_t until = timeout_ms < 0 ? NEVER : now + timeout_ms;

    if (process.there && process.ends_at != NEVER && START + process.ends_at < until)
        until = START + process.ends_at;
    if (other_is_there && START + other_ends_at < until)
        until = START + other_ends_at;
    if (told_at != NEVER && START + told_at < until)
        until = START + told_at;
    if (given_up_at != NEVER && START + given_up_at < until)
        until = START + given_up_at;
    if (gone_at != NEVER && START + gone_at < until)
        until = START + gone_at;
    if (until == NEVER)
        fail_msg("the runner waits for ever");
    if (stalls_at != NEVER && until >= START + stalls_at && until < START + stalls_until)
        until = START + stalls_until;
    if (++n_waits > WAITS_MAX)
        fail_msg("the runner goes on waking up, and does nothing");
    now = until > now ? until : now;
    if (told_at != NEVER && now >= START + told_at) {
        struct signalfd_siginfo info = {.ssi_signo = (uint32_t)told_sig};

        told_at = NEVER;
        assert_int_equal(write(runner_signals[1], &info, sizeof info), sizeof info);
    }
    if (reports != NULL && now >= START + reports_at) { /* which wakes nobody up */
        char path[160];
        struct error err;

        snprintf(path, sizeof path, "%.*s/metrics.jsonl", (int)(strrchr(record_path, '/') - record_path), record_path);
        assert_int_equal(file_write_whole(path, reports, strlen(reports), 0600, &err), 0);
        reports = NULL;
    }
    if (gone_at != NEVER && now >= START + gone_at) {
        char rm[128];

        gone_at = NEVER;
        snprintf(rm, sizeof rm, "rm -rf '%.*s'", (int)(strrchr(record_path, '/') - record_path), record_path);
        assert_int_equal(system(rm), 0);
        rm[strlen(rm) - 1] = '\0';
        assert_int_equal(symlink("/nowhere/at/all", rm + strlen("rm -rf '")), 0); /* so that it cannot be made again */
    }
    if (given_up_at != NEVER && now >= START + given_up_at) {
        static const char fence[] = "{\"given_up\": true}\n";
        struct error err;

        given_up_at = NEVER;
        assert_int_equal(file_write_whole(record_path, fence, sizeof fence - 1, 0600, &err), 0);
    }
    return 0;
}

static pid_t reap(int *status, struct rusage *usage)
{
    memset(usage, 0, sizeof *usage);
    if (other_is_there && now >= START + other_ends_at) {
        other_is_there = false;
        *status = 0;
        return 101;
    }
    if (!process.there) {
        errno = ECHILD;
        return -1;
    }
    if (process.ends_at == NEVER || now < START + process.ends_at)
        return 0;
    process.there = false;
    *status = process.status;
    usage->ru_maxrss = 2048;
    return 100;
}

static int signal_process(pid_t pid, int sig)
{
    assert_true(pid == 100 || pid == -100);
    get_signal(sig);
    return 0;
}

static const struct machine machine = {monotonic_ms, unix_ms, wait_until_something_happens, reap, signal_process};

/* In place of exitrec_write(), which it calls unless the disk is full. */

int __real_exitrec_write(const char *path, const struct exitrec *rec, struct error *err);

int __wrap_exitrec_write(const char *path, const struct exitrec *rec, struct error *err)
{
    if (now >= START + disk_full_until)
        return __real_exitrec_write(path, rec, err);
    errno = ENOSPC;
    return error_errno(err, "file_write", "%s", path);
}

/* In place of task_start.c and tree.c. */

void task_start(struct task *t)
{
    struct error err;

    assert_int_equal(dir_make(t->desc->dir, &err), 0);
    if (t->desc != &t->job->desc->tasks[t->job->desc->ntasks - 1] && other_fails) {
        t->ended = true;
        t->rec.outcome = EXITREC_FAILED;
        return;
    }
    if (t->desc != &t->job->desc->tasks[t->job->desc->ntasks - 1]) {
        other_is_there = true;
        t->pid = t->session = 101;
        return;
    }
    process.there = true;
    t->pid = t->session = 100;
    if (reports != NULL)
        t->metrics = metrics_create(t->job->desc, t->desc, unix_ms(), now);
}

void tree_look(struct tree *tree, const struct tree_task *tasks, size_t n)
{
    *tree = (struct tree){0};
}

void tree_free(struct tree *tree)
{
}

int tree_signal(const struct tree *tree, size_t task, int sig)
{
    return 0;
}

int tree_signal_below(int sig)
{
    return 0;
}

void tree_signal_running(pid_t leader, const char *mark, int sig)
{
    get_signal(sig);
}

ssize_t tree_children(void)
{
    return process.there + other_is_there;
}

/* A job of one task, or of two, to its end. Returns the record of the last, to be freed. */
static json_t *run(int64_t walltime_ms, int64_t grace_ms, struct jobdesc_checkpoint checkpoint)
{
    static int number;
    char *task_dir = xasprintf("%s/%d", dir, ++number), *record = xasprintf("%s/exit.json", task_dir);
    char *other_dir = xasprintf("%s/%d", dir, ++number);
    struct jobdesc_task tasks[] = {{.id = "7.0", .dir = other_dir, .ntasks = 1}, {.id = "7.1", .dir = task_dir, .ntasks = 1, .until = step_until}};
    size_t n = other_ends_at != NEVER || other_fails ? 2 : 1;
    struct jobdesc desc = {.job = "st-runner-time", .kind = other_fails ? JOBDESC_TRAINING : JOBDESC_MEMBERS, .ensemble = 7, .walltime_ms = walltime_ms, .grace_ms = grace_ms, .metrics = of_metrics,
                           .checkpoint = checkpoint, .ntasks = n, .tasks = &tasks[2 - n]};
    struct job job = {.machine = &machine, .desc = &desc, .jobfd = -1, .watched = is_watched, .shared = is_shared};
    struct control_sender *control;
    struct error err;
    json_t *json;

    snprintf(record_path, sizeof record_path, "%s", record);
    now = START;
    n_sent = n_waits = 0;
    assert_int_equal(pipe2(runner_signals, O_NONBLOCK | O_CLOEXEC), 0);
    deadline_set(&job, START, pilot_over != NEVER ? START + pilot_over : NEVER);
    control = control_sender_create(NULL, desc.job, NULL);
    result = run_job(&job, dir, runner_signals[0], START, control);
    control_sender_destroy(control);
    close(runner_signals[0]);
    close(runner_signals[1]);
    json = file_read_json(record, &err);
    assert_int_equal(json != NULL, result == 0);
    free(record);
    free(task_dir);
    free(other_dir);
    told_at = other_ends_at = stalls_at = NEVER;
    reports = NULL;
    told_sig = SIGTERM;
    disk_full_until = 0;
    other_fails = is_watched = is_shared = false;
    return json;
}

static void assert_sent(size_t n, const int64_t (*wanted)[2])
{
    for (size_t i = 0; i < n && i < n_sent; i++) {
        assert_int_equal(sent[i].sig, wanted[i][0]);
        assert_int_equal(sent[i].at, wanted[i][1]);
    }
    assert_int_equal(n_sent, n);
}
#define SENT(...) assert_sent(sizeof (int64_t[][2]){__VA_ARGS__} / sizeof (int64_t[2]), (const int64_t[][2]){__VA_ARGS__})

static void assert_record(json_t *record, const char *outcome, const char *reason)
{
    assert_string_equal(json_string_value(json_object_get(record, "outcome")), outcome);
    assert_string_equal(json_string_value(json_object_get(record, "reason")), reason);
    json_decref(record);
}

static const struct jobdesc_checkpoint none, before_2m = {.any = true, .before_ms = 120000, .signal = SIGUSR1, .keep = 1};

/* A process that would run for an hour, and does nothing on signals but what the test says. */
static void begin(void)
{
    process.ends_at = 3600000;
    process.lasts = process.warned = NEVER;
    process.dies = 0;
    process.status = 0;
    told_at = NEVER;
}

static void at_the_walltime_sigterm_and_after_the_grace_sigkill(void **state)
{
    begin();
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 600000}, {SIGKILL, 630000});
    begin();
    process.lasts = 29999;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 600000});
    assert_int_equal(now, START + 629999);
}

static void what_does_not_die_is_killed_again(void **state)
{
    begin();
    process.dies = 10000;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    assert_int_equal(now, START + 640000);
    assert_in_range(n_sent, 10, 30);
    assert_int_equal(sent[1].at, 630000);
    for (size_t i = 2; i < n_sent; i++)
        assert_in_range(sent[i].at - sent[i - 1].at, 20, 1000);
}

/* Another attempt may run by then. It is not warned either, since what it leaves is no checkpoint of that one. */
static void what_was_given_up_is_ended(void **state)
{
    json_t *record;

    begin();
    given_up_at = 100000;
    record = run(0, 30000, before_2m);
    assert_true(json_is_true(json_object_get(record, "given_up")));
    json_decref(record);
    assert_int_equal(n_sent, 2);
    assert_int_equal(sent[0].sig, SIGTERM);
    assert_in_range(sent[0].at, 100000, 160000);
    assert_int_equal(sent[1].sig, SIGKILL);
    assert_int_equal(sent[1].at, sent[0].at + 30000);
    assert_int_equal(now, START + sent[1].at);
}

static void behind_a_rank_that_cannot_be_started_none_is(void **state)
{
    begin();
    other_fails = true;
    assert_record(run(0, 30000, none), "cancelled", "another rank failed before it started");
    assert_false(process.there);
    assert_int_equal(now, START);
}

/* Of one that has ended the record is its own, and no sign of anything. */
static void it_is_seen_wherever_a_task_still_runs(void **state)
{
    json_t *record;

    begin();
    other_ends_at = 50000;
    given_up_at = 100000;
    record = run(0, 30000, none);
    assert_true(json_is_true(json_object_get(record, "given_up")));
    json_decref(record);
    assert_int_equal(n_sent, 2);
    assert_in_range(sent[0].at, 100000, 160000);
}

static void without_a_walltime_it_takes_its_time(void **state)
{
    begin();
    assert_record(run(0, 30000, none), "succeeded", "");
    assert_int_equal(n_sent, 0);
    assert_int_equal(now, START + 3600000);
}

static void the_warning_comes_before(void **state)
{
    begin();
    assert_record(run(600000, 30000, before_2m), "timeout", "ended at the walltime of 600 s");
    SENT({SIGUSR1, 480000}, {SIGTERM, 600000}, {SIGKILL, 630000});
}

static void told_to_end_it_has_its_grace(void **state)
{
    begin();
    told_at = 100000;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
    SENT({SIGTERM, 100000}, {SIGKILL, 130000});
    begin(); /* of which half is for the warning */
    told_at = 100000;
    assert_record(run(600000, 30000, before_2m), "cancelled", "cancelled");
    SENT({SIGUSR1, 100000}, {SIGTERM, 115000}, {SIGKILL, 130000});
    begin();
    told_at = 500000; /* it has been warned */
    assert_record(run(600000, 30000, before_2m), "cancelled", "cancelled");
    SENT({SIGUSR1, 480000}, {SIGTERM, 500000}, {SIGKILL, 530000});
}

/* The runner wakes up after the walltime, and was told to end by then, since nothing had ended at the walltime. */
static void told_to_end_when_its_time_is_over_it_ends_for_that(void **state)
{
    begin();
    stalls_at = 590000;
    stalls_until = 605000;
    told_at = 601000;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 605000}, {SIGKILL, 635000});
    begin(); /* it was not warned yet */
    stalls_at = 470000;
    stalls_until = 605000;
    told_at = 601000;
    assert_record(run(600000, 30000, before_2m), "timeout", "ended at the walltime of 600 s");
    SENT({SIGUSR1, 605000}, {SIGTERM, 620000}, {SIGKILL, 635000});
    begin(); /* it was told sooner than the runner, and died of that */
    process.ends_at = 599500;
    process.status = SIGTERM;
    told_at = 600500;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    begin(); /* before the time is over it is the signal that ends it */
    stalls_at = 590000;
    stalls_until = 599000;
    told_at = 598000;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
}

static void every_signal_that_ends_a_job_is_one(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        begin();
        told_at = 100000;
        told_sig = signals[i];
        assert_record(run(600000, 30000, none), "cancelled", "cancelled");
        SENT({SIGTERM, 100000}, {SIGKILL, 130000});
    }
}

/* It is not warned another time, before the walltime or when it is cancelled. */
static void other_signals_go_on_to_the_task(void **state)
{
    static const int signals[] = {SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        begin();
        told_at = 100000;
        told_sig = signals[i];
        assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
        SENT({signals[i], 100000}, {SIGTERM, 600000}, {SIGKILL, 630000});
    }
}

/* A batch system tells all processes of a job, and some hear of it sooner: the runner waits for its own signal, but not for ever. */
static void one_that_died_as_told_is_held_for_a_while(void **state)
{
    begin();
    process.ends_at = 100000;
    process.status = SIGTERM;
    told_at = 101999;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
    assert_int_equal(now, START + 101999);
    begin();
    process.ends_at = 100000;
    process.status = SIGTERM;
    assert_record(run(600000, 30000, none), "failed", "killed by signal 15 (Terminated)");
    assert_int_equal(now, START + 102000);
    begin();
    process.ends_at = 100000;
    process.status = 3 << 8; /* so may it end in its own way */
    told_at = 101000;
    assert_record(run(600000, 30000, none), "cancelled", "cancelled");
    begin();
    process.ends_at = 599000;
    process.status = 3 << 8; /* the walltime, which is over meanwhile, has not ended it */
    assert_record(run(600000, 30000, none), "failed", "exit status 3");
    assert_int_equal(now, START + 600000);
    begin();
    process.ends_at = 599000;
    process.status = SIGTERM;
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    assert_int_equal(now, START + 600000);
    begin();
    process.ends_at = 100000;
    process.status = 3 << 8;
    is_watched = true; /* nobody tells the tasks of a local job but its runner */
    assert_record(run(600000, 30000, none), "failed", "exit status 3");
    assert_int_equal(now, START + 100000);
}

static bool is_there(const char *name)
{
    char path[128];
    bool there;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    there = access(path, F_OK) == 0;
    unlink(path);
    return there;
}

/* Where others run the other tasks of a job, none of them says that the job has ended. */
static void the_end_of_the_job_is_told_once(void **state)
{
    json_t *ended;
    char path[128];
    struct error err;

    is_there("ended.json");
    begin();
    told_at = 100000;
    json_decref(run(600000, 30000, none));
    snprintf(path, sizeof path, "%s/ended.json", dir);
    ended = file_read_json(path, &err);
    assert_non_null(ended);
    assert_string_equal(json_string_value(json_object_get(ended, "reason")), "told to end");
    assert_true(json_number_value(json_object_get(ended, "time")) == (double)(UNIX_START + 130000) / 1000);
    json_decref(ended);
    assert_true(is_there("ended.json"));
    begin();
    process.ends_at = 1000;
    is_shared = true;
    json_decref(run(600000, 30000, none));
    assert_false(is_there("ended.json"));
}

/* A full disk is waited for: after the walltime for as long as a batch system may have patience, and otherwise for ten minutes, however
 * long the task has run. */
static void a_full_disk_is_waited_for(void **state)
{
    begin();
    disk_full_until = 643000; /* tried at 642.7 s, and then each 10 s */
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    assert_in_range(now, START + 643000, START + 655000);
    begin();
    disk_full_until = 3600000 + 590000;
    assert_record(run(0, 30000, none), "succeeded", "");
    assert_in_range(now, START + disk_full_until, START + 3600000 + 610000);
    begin();
    disk_full_until = NEVER - START;
    assert_null(run(0, 30000, none));
    assert_int_equal(result, -1);
    assert_in_range(now, START + 3600000 + 600000, START + 3600000 + 620000);
    begin();
    disk_full_until = NEVER - START;
    assert_null(run(600000, 30000, none));
    assert_in_range(now, START + 645000, START + 665000);
}

/* The daemon is to look for records that are not there, and must not be told that all are. */
static void without_its_record_the_job_has_not_ended(void **state)
{
    is_there("ended.json");
    begin();
    gone_at = 100000;
    assert_null(run(600000, 30000, none));
    assert_int_equal(result, -1);
    assert_false(is_there("ended.json"));
    assert_in_range(now, START + 640000, START + 660000); /* it tries for a while */
}

/* By `name`, in ms from the start. */
static void set_end(const char *name, int64_t ms)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)((UNIX_START + ms) / 1000));
    setenv(name, text, 1);
}

static void it_ends_before_the_scheduler_ends_it(void **state)
{
    begin();
    set_end("STRETTO_JOB_END", 300000);
    assert_record(run(600000, 30000, none), "timeout", "ended before the batch system would end the job");
    SENT({SIGTERM, 260000}, {SIGKILL, 290000}); /* 10 s are left for the record */
    begin();
    set_end("STRETTO_JOB_END", 641000);
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    SENT({SIGTERM, 600000}, {SIGKILL, 630000});
    unsetenv("STRETTO_JOB_END");
    begin();
    set_end("SLURM_JOB_END_TIME", 300000);
    assert_record(run(600000, 30000, before_2m), "timeout", "ended before the batch system would end the job");
    SENT({SIGUSR1, 140000}, {SIGTERM, 260000}, {SIGKILL, 290000});
    unsetenv("SLURM_JOB_END_TIME");
}

static void it_ends_before_its_allocation_does(void **state)
{
    begin();
    set_end("STRETTO_ALLOCATION_END", 300000);
    assert_record(run(600000, 30000, before_2m), "timeout", "ended with what was left of its allocation's time");
    SENT({SIGUSR1, 140000}, {SIGTERM, 260000}, {SIGKILL, 290000});
    begin(); /* one without checkpoints may as well get done */
    assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
    for (int i = 0; i < 2; i++) { /* in a pilot, too, whichever ends first */
        begin();
        pilot_over = i == 0 ? 400000 : 250000;
        assert_record(run(600000, 30000, before_2m), "timeout", "ended with what was left of its allocation's time");
        assert_int_equal(sent[1].at, i == 0 ? 260000 : 250000);
    }
    pilot_over = NEVER;
    unsetenv("STRETTO_ALLOCATION_END");
}

/* What is put down to the time of the pilot costs the member nothing, and its own walltime does. */
static void it_ends_with_its_pilot_only_where_that_is_earlier(void **state)
{
    json_t *record;

    pilot_over = 300000;
    begin();
    record = run(600000, 30000, none);
    assert_true(json_is_true(json_object_get(record, "late")));
    assert_record(record, "timeout", "ended with what was left of its allocation's time");
    SENT({SIGTERM, 300000}, {SIGKILL, 330000});
    begin();
    record = run(200000, 30000, none);
    assert_null(json_object_get(record, "late"));
    assert_record(record, "timeout", "ended at the walltime of 200 s");
    SENT({SIGTERM, 200000}, {SIGKILL, 230000});
    pilot_over = NEVER;
}

/* Nothing wakes the runner up when metrics are written: it looks every two seconds. */
static void one_that_diverges_is_ended_while_it_runs(void **state)
{
    for (int ends = 0; ends < 2; ends++) {
        begin();
        process.lasts = 10000;
        process.status = SIGTERM;
        of_metrics.diverged = ends ? JOBDESC_DIVERGED_END : JOBDESC_DIVERGED_IGNORE;
        reports_at = 100000;
        reports = "{\"step\": 1, \"loss\": NaN}\n";
        if (ends) {
            json_t *record = run(600000, 30000, none);

            assert_string_equal(json_string_value(json_object_get(record, "outcome")), "diverged");
            json_decref(record);
            assert_int_equal(n_sent, 1); /* once, however long it takes */
            assert_int_equal(sent[0].sig, SIGTERM);
            assert_in_range(sent[0].at, 100000, 104000);
        } else {
            assert_record(run(600000, 30000, none), "timeout", "ended at the walltime of 600 s");
            SENT({SIGTERM, 600000});
        }
    }
    of_metrics = (struct jobdesc_metrics){0};
}

/* It is warned as before the walltime, so that it leaves a checkpoint, and told to end only where it goes on. */
static void one_beyond_its_rung_is_ended(void **state)
{
    const struct {
        struct jobdesc_checkpoint checkpoint;
        int64_t warned;
        const char *reports;
        size_t sent;
    } cases[] = {
        {before_2m, NEVER, "{\"step\": 10, \"loss\": 1}\n{\"step\": 11, \"loss\": 1}\n", 2},
        {before_2m, 5000, "{\"step\": 10, \"loss\": 1}\n{\"step\": 11, \"loss\": 1}\n", 1},
        {none, NEVER, "{\"step\": 10, \"loss\": 1}\n{\"step\": 11, \"loss\": 1}\n", 1},
        {before_2m, NEVER, "{\"step\": 9, \"loss\": 1}\n{\"step\": 10, \"loss\": 1}\n", 0}, /* it may end there by itself */
    };

    of_metrics.rung = "loss";
    step_until = 10;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        process.ends_at = 400000;
        process.lasts = 1000;
        process.warned = cases[i].warned;
        reports_at = 100000;
        reports = cases[i].reports;
        json_decref(run(0, 30000, cases[i].checkpoint));
        assert_int_equal(n_sent, cases[i].sent);
        if (n_sent > 0)
            assert_in_range(sent[0].at, 100000, 104000);
        if (n_sent > 0)
            assert_int_equal(sent[0].sig, i < 2 ? SIGUSR1 : SIGTERM);
        if (n_sent == 2) {
            assert_int_equal(sent[1].sig, SIGTERM);
            assert_int_equal(sent[1].at, sent[0].at + 120000);
            assert_int_equal(now, START + sent[1].at + 1000);
        }
    }
    step_until = 0;
    of_metrics = (struct jobdesc_metrics){0};
}

static void memory_is_told_in_bytes(void **state)
{
    json_t *record;

    begin();
    process.ends_at = 1000;
    record = run(600000, 30000, none);
    assert_int_equal(json_integer_value(json_object_get(record, "max_rss")), 2048 * 1024);
    assert_true(json_number_value(json_object_get(record, "ended")) == UNIX_START / 1000 + 1);
    assert_record(record, "succeeded", "");
}

/* Ranks record their checkpoints themselves. */
static void checkpoints_are_looked_for_of_members_alone(void **state)
{
    for (int kind = 0; kind < 2; kind++)
        for (int any = 0; any < 2; any++) {
            struct jobdesc desc = {.kind = kind == 0 ? JOBDESC_MEMBERS : JOBDESC_TRAINING, .checkpoint = {.any = any}};
            struct job job = {.machine = &machine, .desc = &desc};
            struct looks looks;
            struct error err;

            assert_int_equal(looks_init(&looks, &job, NULL, NULL, NULL, &err), 0);
            assert_int_equal(looks.looker != NULL, kind == 0 && any == 1);
            assert_int_equal(looks_watch_fd(&looks) >= 0, kind == 0 && any == 1);
            assert_int_equal(looks_done_fd(&looks) >= 0, kind == 0 && any == 1);
            looks_fini(&looks);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_are_looked_for_of_members_alone),
        cmocka_unit_test(at_the_walltime_sigterm_and_after_the_grace_sigkill),
        cmocka_unit_test(what_does_not_die_is_killed_again),
        cmocka_unit_test(what_was_given_up_is_ended),
        cmocka_unit_test(behind_a_rank_that_cannot_be_started_none_is),
        cmocka_unit_test(it_is_seen_wherever_a_task_still_runs),
        cmocka_unit_test(without_a_walltime_it_takes_its_time),
        cmocka_unit_test(the_warning_comes_before),
        cmocka_unit_test(told_to_end_it_has_its_grace),
        cmocka_unit_test(told_to_end_when_its_time_is_over_it_ends_for_that),
        cmocka_unit_test(every_signal_that_ends_a_job_is_one),
        cmocka_unit_test(other_signals_go_on_to_the_task),
        cmocka_unit_test(one_that_died_as_told_is_held_for_a_while),
        cmocka_unit_test(the_end_of_the_job_is_told_once),
        cmocka_unit_test(a_full_disk_is_waited_for),
        cmocka_unit_test(without_its_record_the_job_has_not_ended),
        cmocka_unit_test(it_ends_before_the_scheduler_ends_it),
        cmocka_unit_test(it_ends_before_its_allocation_does),
        cmocka_unit_test(it_ends_with_its_pilot_only_where_that_is_earlier),
        cmocka_unit_test(one_that_diverges_is_ended_while_it_runs),
        cmocka_unit_test(one_beyond_its_rung_is_ended),
        cmocka_unit_test(memory_is_told_in_bytes),
    };
    char rm[128];
    int rc;

    unsetenv("STRETTO_JOB_END");
    unsetenv("SLURM_JOB_END_TIME");
    unsetenv("STRETTO_ALLOCATION_END");
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    test_limit(60); /* a loop without an end is a failure, too */
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}

#include "tests/unit/runner_rig.h"

#include "tasks/runner/deadline.h"
#include "tasks/runner/looks.h"
#include "tasks/runner/run.h"
#include "tasks/runner/tree.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/proto/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITS_MAX 3000
#define PID 100
#define OTHER_PID 101
#define LEFT_PID 200
#define TICKS_PER_MS 1 /* of CPU time while a process works: more than any kernel's */

char dir[64];
int64_t now;
static int runner_signals[2]; /* in place of its signalfd */
struct rig_process process;
struct rig_left left[LEFT_MAX];
static size_t n_left;
int64_t other_ends_at = NEVER;
int other_status;
bool other_is_there, other_fails;
int64_t told_at;
int told_sig = SIGTERM;
int64_t gone_at = NEVER;
int64_t disk_full_until;
bool is_watched, is_shared;
int result;
int64_t given_up_at = NEVER;
int64_t stalls_at = NEVER, stalls_until;
int64_t reports_at = NEVER;
const char *reports;
int64_t writes_at = NEVER;
const char *writes;
int64_t does_at = NEVER;
void (*does)(void);
struct jobdesc_metrics of_metrics;
int64_t step_until;
int64_t pilot_over = NEVER;
void (*adjust)(struct jobdesc *desc, struct job *job);
void (*started)(struct task *t);
int n_started;
char record_path[128], other_record[128];
struct rig_sent sent[SIGNALS_MAX];
size_t n_sent, n_waits;
char nudges[200];

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
    else if (sig != SIGCONT)
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

static void remove_directories(void)
{
    char rm[160];

    snprintf(rm, sizeof rm, "rm -rf '%.*s'", (int)(strrchr(record_path, '/') - record_path), record_path);
    assert_int_equal(system(rm), 0);
    rm[strlen(rm) - 1] = '\0';
    assert_int_equal(symlink("/nowhere/at/all", rm + strlen("rm -rf '")), 0); /* so that it cannot be made again */
}

static void write_beside_record(const char *name, const char *text)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(record_path, '/') - record_path), record_path, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
}

/* Not under another name first: nobody can tell whether it is whole. */
static void write_plainly(const char *name)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(record_path, '/') - record_path), record_path, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(name, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Returns whether it is time for something, which then is no longer to come. */
static bool is_due(int64_t *at)
{
    if (*at == NEVER || now < START + *at)
        return false;
    *at = NEVER;
    return true;
}

static void do_what_is_due(void)
{
    if (is_due(&told_at)) {
        struct signalfd_siginfo info = {.ssi_signo = (uint32_t)told_sig};

        assert_int_equal(write(runner_signals[1], &info, sizeof info), sizeof info);
    }
    if (reports != NULL && now >= START + reports_at) { /* which wakes nobody up */
        write_beside_record("metrics.jsonl", reports);
        reports = NULL;
    }
    if (is_due(&writes_at))
        write_plainly(writes);
    if (is_due(&does_at))
        does();
    if (is_due(&gone_at))
        remove_directories();
    if (is_due(&given_up_at))
        write_beside_record("exit.json", "{\"given_up\": true, \"job\": \"st-runner-time\"}\n");
}

static int wait_until_something_happens(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int64_t until = timeout_ms < 0 ? NEVER : now + timeout_ms;
    const int64_t events[] = {process.there ? process.ends_at : NEVER, other_is_there ? other_ends_at : NEVER, told_at, given_up_at, gone_at,
                              writes_at, does_at};

    if (++n_waits > WAITS_MAX)
        fail_msg("the runner goes on waking up, and does nothing");
    if (poll(fds, n, 0) > 0)
        return 0;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i] != NEVER && START + events[i] < until)
            until = START + events[i];
    for (size_t i = 0; i < n_left; i++)
        if (left[i].there && left[i].ends_at != NEVER && START + left[i].ends_at < until)
            until = START + left[i].ends_at;
    if (until == NEVER)
        fail_msg("the runner waits for ever");
    if (stalls_at != NEVER && until >= START + stalls_at && until < START + stalls_until)
        until = START + stalls_until;
    now = until > now ? until : now;
    do_what_is_due();
    return 0;
}

static pid_t reap(int *status, struct rusage *usage)
{
    bool any = process.there || other_is_there;

    memset(usage, 0, sizeof *usage);
    if (other_is_there && now >= START + other_ends_at) {
        other_is_there = false;
        *status = other_status;
        return OTHER_PID;
    }
    if (process.there && process.ends_at != NEVER && now >= START + process.ends_at) {
        process.there = false;
        *status = process.status;
        usage->ru_maxrss = 2048;
        return PID;
    }
    for (size_t i = 0; i < n_left; i++) {
        any = any || left[i].there;
        if (!left[i].there || left[i].ends_at == NEVER || now < START + left[i].ends_at)
            continue;
        left[i].there = false;
        *status = 0;
        return LEFT_PID + (pid_t)i;
    }
    if (any)
        return 0;
    errno = ECHILD;
    return -1;
}

static int signal_process(pid_t pid, int sig)
{
    assert_true(pid == PID || pid == -PID || pid == OTHER_PID || pid == -OTHER_PID);
    if (pid == PID || pid == -PID)
        get_signal(sig);
    else if (sig == SIGKILL)
        other_ends_at = now - START;
    return 0;
}

const struct machine machine = {monotonic_ms, unix_ms, wait_until_something_happens, reap, signal_process};

/* In place of exitrec_write(), which it calls unless the disk is full. */

int __real_exitrec_write(const char *path, const struct exitrec *rec, struct error *err);

int __wrap_exitrec_write(const char *path, const struct exitrec *rec, struct error *err)
{
    if (now >= START + disk_full_until)
        return __real_exitrec_write(path, rec, err);
    errno = ENOSPC;
    return error_errno(err, "file_write", "%s", path);
}

/* In place of control_nudge(): nobody listens. */

void __wrap_control_nudge(const char *path, const char *job, enum control_what kind);

void __wrap_control_nudge(const char *path, const char *job, enum control_what kind)
{
    size_t n = strlen(nudges);

    assert_true(n + 1 < sizeof nudges);
    nudges[n] = kind == CONTROL_STATUS ? 'S' : kind == CONTROL_CLAIM ? 'C' : kind == CONTROL_EXIT ? 'X' : 'E';
    nudges[n + 1] = '\0';
}

/* In place of pthread_create(): without a thread, the runner looks for checkpoints itself, in no time. */

int __wrap_pthread_create(void *thread, const void *attributes, void *(*routine)(void *), void *arg);

int __wrap_pthread_create(void *thread, const void *attributes, void *(*routine)(void *), void *arg)
{
    return EAGAIN;
}

/* In place of task_start.c and tree.c. */

static struct tree_task tasks_seen[2];

void task_start(struct task *t)
{
    bool last = t->desc == &t->job->desc->tasks[t->job->desc->ntasks - 1];
    struct error err;

    n_started++;
    assert_int_equal(dir_make(t->desc->dir, &err), 0);
    if (!last && other_fails) {
        t->rec.end.outcome = ATTEMPT_FAILED;
        return;
    }
    assert_int_equal(checkpoints_begin(&t->checkpoints, t->job->desc, t->desc, &err), 0);
    if (t->checkpoints.desc != NULL)
        watch_add(t->job->watch, t->checkpoints.dir, (size_t)(t->desc - t->job->desc->tasks), LOOKS_FILES);
    process.there = process.there || last;
    other_is_there = other_is_there || !last;
    t->pid = t->session = last ? PID : OTHER_PID;
    if (reports != NULL && last)
        t->metrics = metrics_create(t->job->desc, t->desc, unix_ms(), now);
    if (started != NULL)
        started(t);
}

static void add_seen(struct tree *tree, pid_t pid, size_t task, char state, int64_t worked_ms)
{
    tree->items[tree->n++] = (struct tree_process){.pid = pid, .parent = getpid(), .name = "program", .state = state, .start = 5, .task = task,
                                                   .ticks = (unsigned long long)(TICKS_PER_MS * worked_ms), .below = true};
}

void tree_look(struct tree *tree, const struct tree_task *tasks, size_t n)
{
    int64_t since = now - START;

    assert_in_range(n, 0, 2);
    *tree = (struct tree){.items = xcalloc(2 + LEFT_MAX, sizeof *tree->items)};
    for (size_t i = 0; i < n; i++)
        tasks_seen[i] = tasks[i];
    if (other_is_there)
        add_seen(tree, OTHER_PID, 0, 'S', since);
    if (process.there)
        add_seen(tree, PID, n - 1, process.state != 0 ? process.state : 'S', since < process.works_until ? since : process.works_until);
    for (size_t i = 0; i < n_left; i++)
        if (left[i].there)
            add_seen(tree, LEFT_PID + (pid_t)i, left[i].task, 'S', 0);
}

void tree_free(struct tree *tree)
{
    free(tree->items);
    *tree = (struct tree){0};
}

static int signal_left(size_t i, int sig)
{
    int64_t lasts = sig == SIGTERM ? left[i].lasts : sig == SIGKILL ? left[i].dies : NEVER;

    if (!left[i].there || (left[i].ends_at != NEVER && now >= START + left[i].ends_at))
        return 0;
    if (sig == SIGTERM && left[i].term_at == NEVER)
        left[i].term_at = now - START;
    if (sig == SIGKILL && left[i].kill_at == NEVER)
        left[i].kill_at = now - START;
    if (lasts != NEVER && (left[i].ends_at == NEVER || now - START + lasts < left[i].ends_at))
        left[i].ends_at = now - START + lasts;
    return 1;
}

int tree_signal(const struct tree *tree, size_t task, int sig)
{
    int n = 0;

    for (size_t i = 0; i < tree->n; i++) {
        if (task != TREE_ALL && tree->items[i].task != task)
            continue;
        if (tree->items[i].pid >= LEFT_PID) {
            n += signal_left((size_t)(tree->items[i].pid - LEFT_PID), sig);
        } else {
            n++;
            if (tree->items[i].pid == PID && sig != 0)
                get_signal(sig);
        }
    }
    return n;
}

int tree_signal_below(int sig)
{
    int n = 0;

    for (size_t i = 0; i < n_left; i++)
        n += signal_left(i, sig);
    return n;
}

void tree_signal_running(pid_t leader, const char *mark, int sig)
{
    assert_int_equal(strncmp(mark, "st-runner-time/7.", 17), 0);
    if (leader == PID)
        get_signal(sig);
}

ssize_t tree_children(void)
{
    ssize_t n = process.there + other_is_there;

    for (size_t i = 0; i < n_left; i++)
        n += left[i].there;
    return n;
}

void begin(void)
{
    process = (struct rig_process){.ends_at = 3600000, .lasts = NEVER, .warned = NEVER};
    told_at = NEVER;
    n_left = 0;
}

struct rig_left *leave(size_t task, int64_t lasts)
{
    assert_true(n_left < LEFT_MAX);
    left[n_left] = (struct rig_left){.ends_at = NEVER, .lasts = lasts, .task = task, .there = true, .term_at = NEVER, .kill_at = NEVER};
    return &left[n_left++];
}

json_t *run(int64_t walltime_ms, int64_t grace_ms, struct jobdesc_checkpoint checkpoint)
{
    static int number;
    char *task_dir = xasprintf("%s/%d", dir, ++number), *record = xasprintf("%s/exit.json", task_dir);
    char *other_dir = xasprintf("%s/%d", dir, ++number);
    char *training_dir = xasprintf("%s/g1", dir);
    json_t *env = json_pack("{s:s, s:s}", "STRETTO_TRAINING_DIR", training_dir, "STRETTO_CHECKPOINT_DIR", task_dir);
    struct jobdesc_task tasks[] = {{.id = "7.0", .dir = other_dir, .ntasks = 1, .env = env},
                                   {.id = "7.1", .dir = task_dir, .ntasks = 1, .env = env, .until = step_until}};
    size_t n = other_ends_at != NEVER || other_fails ? 2 : 1;
    struct jobdesc desc = {.job = "st-runner-time", .kind = other_fails ? JOBDESC_TRAINING : JOBDESC_MEMBERS, .ensemble = 7, .walltime_ms = walltime_ms,
                           .grace_ms = grace_ms, .metrics = of_metrics, .checkpoint = checkpoint, .ntasks = n, .tasks = &tasks[2 - n]};
    struct job job = {.machine = &machine, .desc = &desc, .jobfd = -1, .watched = is_watched, .shared = is_shared, .host = "here"};
    struct error err;
    json_t *json;

    snprintf(record_path, sizeof record_path, "%s", record);
    snprintf(other_record, sizeof other_record, "%s/exit.json", other_dir);
    now = START;
    n_sent = n_waits = 0;
    nudges[0] = '\0';
    n_started = 0;
    assert_int_equal(pipe2(runner_signals, O_NONBLOCK | O_CLOEXEC), 0);
    if (adjust != NULL)
        adjust(&desc, &job);
    deadline_set(&job, START, pilot_over != NEVER ? START + pilot_over : NEVER);
    result = run_job(&job, dir, runner_signals[0], START);
    close(runner_signals[0]);
    close(runner_signals[1]);
    json = file_read_json(record, &err);
    assert_int_equal(json != NULL, result == 0);
    json_decref(env);
    free(record);
    free(training_dir);
    free(task_dir);
    free(other_dir);
    told_at = other_ends_at = stalls_at = writes_at = does_at = NEVER;
    reports = NULL;
    told_sig = SIGTERM;
    disk_full_until = 0;
    other_fails = is_watched = is_shared = false;
    other_status = 0;
    adjust = NULL;
    started = NULL;
    return json;
}

void assert_sent(size_t n, const int64_t (*wanted)[2])
{
    for (size_t i = 0; i < n && i < n_sent; i++) {
        assert_int_equal(sent[i].sig, wanted[i][0]);
        assert_int_equal(sent[i].at, wanted[i][1]);
    }
    assert_int_equal(n_sent, n);
}

void assert_record(json_t *record, const char *outcome, const char *reason)
{
    assert_string_equal(json_string_value(json_object_get(record, "outcome")), outcome);
    assert_string_equal(json_string_value(json_object_get(record, "reason")), reason);
    json_decref(record);
}

bool is_there(const char *name)
{
    char path[128];
    bool there;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    there = access(path, F_OK) == 0;
    unlink(path);
    return there;
}

int rig_main(const char *name, const struct CMUnitTest *tests, size_t n)
{
    char rm[128];
    int rc;

    unsetenv("STRETTO_JOB_END");
    unsetenv("SLURM_JOB_END_TIME");
    unsetenv("STRETTO_ALLOCATION_END");
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    test_limit(60); /* a loop without an end is a failure, too */
    rc = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}

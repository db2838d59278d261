#include "tests/unit/pilot_rig.h"

#include "common/files.h"
#include "common/jobfd.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "tasks/runner/run.h"
#include "tasks/runner/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITS_MAX 2000

char dir[64];
int64_t now;
const struct rig_event *events;
int64_t journal_full_until, synced_at;
bool writes_little, without_inotify;
int n_synced, n_waits, n_terminated, n_killed;
bool keeps_on;
int64_t terminated_at;
static int signals[2]; /* in place of its signalfd */
static int n_batches;
static int stay[2]; /* a job that stays ends when it gets a byte */
static int before; /* descriptors that were open before there was a pilot */
static int n_there; /* processes of jobs that stay */

static int64_t monotonic_ms(void)
{
    return now;
}

static int64_t unix_ms(void)
{
    return UNIX_START + now - START;
}

/* Waits for a process that is about to end, whose end the pilot is told then. Returns whether there was one. */
static bool let_job_end(void)
{
    siginfo_t ended;

    return tree_children() > n_there && waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) == 0;
}

static int wait_until_something_happens(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int64_t until = now + timeout_ms;

    if (++n_waits > WAITS_MAX)
        fail_msg("the pilot goes on waking up, and does nothing");
    if (let_job_end() || poll(fds, n, 0) > 0)
        return 1;
    if (timeout_ms < 0)
        fail_msg("the pilot waits for ever");
    if (events != NULL && events->what != NULL && START + events->at <= until) {
        now = START + events->at > now ? START + events->at : now;
        events->what(events->arg);
        events++;
    } else {
        now = until;
    }
    return 0;
}

static int signal_process(pid_t pid, int sig)
{
    if (sig == SIGTERM && n_terminated++ == 0)
        terminated_at = now - START;
    n_killed += sig == SIGKILL;
    if (sig == SIGKILL || (sig == SIGTERM && !keeps_on))
        n_there--;
    return kill(pid, sig);
}

const struct machine machine_real = {.monotonic_ms = monotonic_ms, .unix_ms = unix_ms, .poll = wait_until_something_happens, .kill = signal_process};

/* In place of calls of pilot_journal.c and pilot.c. */

ssize_t __real_write(int fd, const void *data, size_t size);

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    bool is_journal = (fcntl(fd, F_GETFL) & O_APPEND) != 0;

    if (is_journal && now < START + journal_full_until) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(fd, data, is_journal && writes_little && size > 7 ? 7 : size);
}

int __wrap_fdatasync(int fd)
{
    n_synced++;
    synced_at = now - START;
    return 0;
}

int __real_inotify_add_watch(int fd, const char *path, uint32_t mask);

int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    return without_inotify ? -1 : __real_inotify_add_watch(fd, path, mask);
}

/* In place of main.c. */

static int count_descriptors(void)
{
    DIR *open_ones = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(open_ones) != NULL)
        n++;
    closedir(open_ones);
    return n - 3; /* ".", ".." and its own */
}

static bool is_null(int fd)
{
    struct stat st, null;

    return fstat(fd, &st) == 0 && stat("/dev/null", &null) == 0 && st.st_rdev == null.st_rdev;
}

/* A runner that tells what it has. Its directory says whether it stays, fails, or has no room. */
int run_job_in_copy(const char *jobdir, int jobfd, const char *gpus, pid_t pilot, int64_t started_ms, int64_t until_ms)
{
    const char *name = strrchr(jobdir, '/') + 1;
    char *text, *job, byte;
    struct error err;
    json_t *report;
    cpu_set_t set;
    size_t size;
    int cpu = -1;

    sched_getaffinity(0, sizeof set, &set);
    for (int i = CPU_SETSIZE - 1; i >= 0; i--)
        cpu = CPU_ISSET(i, &set) ? i : cpu;
    job = jobfd_read(jobfd, &size, &err);
    report = json_pack("[{s:s, s:s, s:i, s:b, s:b, s:b, s:I, s:I, s:s?, s:i, s:i, s:s?}]", "dir", jobdir, "descriptor", job, "descriptors",
                       count_descriptors() - before, "leads", (int)(getsid(0) == getpid()), "quiet", (int)(is_null(0) && is_null(1) && is_null(2)), "child",
                       (int)(getppid() == pilot), "started", (json_int_t)(started_ms - START), "until",
                       (json_int_t)(until_ms == INT64_MAX ? -1 : until_ms - START), "gpus", gpus, "cpus", CPU_COUNT(&set), "cpu", cpu, "pilot",
                       getenv("STRETTO_PILOT"));
    text = json_dumps(report, 0);
    jobfd_answer(jobfd, text, strlen(text), &err);
    free(text);
    free(job);
    json_decref(report);
    if (strncmp(name, "stay", 4) == 0) {
        close(stay[1]);
        while (read(stay[0], &byte, 1) < 0 && errno == EINTR)
            ;
    }
    return strcmp(name, "fail") == 0 ? 74 : 0;
}

void hand_over(const char *order)
{
    char *path = xasprintf("%s/node0/inbox/%d.jsonl", dir, ++n_batches);
    struct error err;

    for (const char *at = order; (at = strstr(at, "/stay")) != NULL; at++)
        n_there++;
    if (file_write_whole(path, order, strlen(order), 0600, &err) < 0)
        abort();
    free(path);
}

void stop(const char *signal)
{
    struct signalfd_siginfo info = {.ssi_signo = (uint32_t)atoi(signal)};

    if (__real_write(signals[1], &info, sizeof info) != sizeof info)
        abort();
}

void end_jobs(const char *ignored)
{
    if (__real_write(stay[1], "12345678", 8) != 8)
        abort();
    n_there = 0;
}

void configure(const char *more)
{
    json_t *config = json_pack("{s:s, s:i, s:i}", "job", "st-pilot", "nodes", 1, "idle", 60),
           *other = json_loads(more, 0, NULL);
    char *path = xasprintf("%s/pilot.json", dir), rm[200];
    struct error err;

    assert_non_null(other);
    json_object_update(config, other);
    snprintf(rm, sizeof rm, "rm -rf '%s'/node* '%s'/environment", dir, dir);
    assert_int_equal(system(rm), 0);
    journal_full_until = 0;
    assert_int_equal(file_write_json(path, config, 0600, &err), 0);
    free(path);
    json_decref(config);
    json_decref(other);
    events = NULL;
    writes_little = without_inotify = keeps_on = false;
}

int fly(bool on_node)
{
    int status;

    while (tree_children() > 0) { /* of a test that has failed */
        tree_signal_below(SIGKILL);
        waitpid(-1, NULL, 0);
    }
    now = START;
    n_synced = n_waits = n_batches = n_terminated = n_killed = 0;
    n_there = 0;
    terminated_at = -1;
    before = count_descriptors();
    assert_int_equal(pipe2(signals, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pipe2(stay, O_CLOEXEC), 0);
    signal(SIGTERM, keeps_on ? SIG_IGN : SIG_DFL); /* as in its jobs */
    status = pilot_main(dir, on_node, signals[0]);
    for (int i = 0; i < 2; i++) {
        close(signals[i]);
        if (stay[i] >= 0)
            close(stay[i]);
    }
    return status;
}

/* Calls it for each line of a journal. */
static void each_line(int node, void (*take)(json_t *line, void *arg), void *arg)
{
    char *path = xasprintf("%s/node%d/journal.jsonl", dir, node), *text, *rest = NULL;
    struct error err;
    size_t size;

    if (file_read(path, 1 << 20, &text, &size, &err) == 0) {
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

            assert_non_null(json);
            assert_true(json_is_number(json_object_get(json, "time")));
            take(json, arg);
            json_decref(json);
        }
        free(text);
    }
    free(path);
}

static void add_line(json_t *line, void *arg)
{
    const char *job = json_string_value(json_object_get(line, "job")),
               *what = json_string_value(json_object_get(line, "what"));
    const char *why = json_string_value(json_object_get(line, "why"));
    struct text *told = arg;

    text_add(told, "%s%s", told->size > 0 ? "; " : "", what);
    if (strcmp(what, "ready") == 0)
        text_add(told, " %lld %lld", (long long)json_integer_value(json_object_get(line, "cpus")),
                 (long long)json_integer_value(json_object_get(line, "gpus")));
    if (job != NULL)
        text_add(told, " %s", job);
    if (json_object_get(line, "status") != NULL)
        text_add(told, " %lld", (long long)json_integer_value(json_object_get(line, "status")));
    if (why != NULL)
        text_add(told, " %s", why);
}

char *told_on(int node)
{
    struct text told = {0};

    text_put(&told, "", 0);
    each_line(node, add_line, &told);
    return told.data;
}

void assert_told(const char *wanted)
{
    char *told = told_on(0), *behind_ready = strchr(told, ';');

    assert_non_null(behind_ready);
    assert_string_equal(behind_ready + 2, wanted);
    free(told);
}

struct wanted {
    const char *what, *job;
    json_t *found;
};

static void find_line(json_t *line, void *arg)
{
    const char *job = json_string_value(json_object_get(line, "job"));
    struct wanted *wanted = arg;

    if (wanted->found == NULL && strcmp(json_string_value(json_object_get(line, "what")), wanted->what) == 0 &&
        (wanted->job == NULL || (job != NULL && strcmp(job, wanted->job) == 0)))
        wanted->found = json_incref(line);
}

json_t *line_of(int node, const char *what, const char *job)
{
    struct wanted wanted = {what, job, NULL};

    each_line(node, find_line, &wanted);
    return wanted.found;
}

json_t *report_of(const char *job)
{
    json_t *line = line_of(0, "end", job), *report;

    assert_non_null(line);
    report = json_incref(json_array_get(json_object_get(line, "records"), 0));
    json_decref(line);
    assert_non_null(report);
    return report;
}

int pilot_rig_main(const char *name, const struct CMUnitTest *tests, size_t n)
{
    static const char *const unset[] = {"SLURM_JOB_ID", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE", "PBS_JOBID", "NCPUS", "PBS_NUM_PPN",
                                        "ALPS_APP_PE", "ALPS_APP_ID", "ALPS_APP_DEPTH", "CUDA_VISIBLE_DEVICES", "STRETTO_GPUS", "STRETTO_DEADLINE"};
    char rm[96];
    int rc;

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        unsetenv(unset[i]);
    log_init("pilot", LOG_LEVEL_NONE);
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    test_limit(60); /* what never comes is a failure, too */
    rc = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}

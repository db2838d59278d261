/* The end of a task and its words: by its status, by what the runner did to it, and by what it left. */
#include "tasks/runner/task.h"

#include "common/files.h"
#include "tasks/proto/streams.h"
#include "tasks/runner/oom.h"
#include "tasks/runner/tree.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIX_MS INT64_C(1700000000500)

static char dir[64], oom_file[96];

static int64_t unix_ms(void)
{
    return UNIX_MS;
}

static const struct machine machine = {.unix_ms = unix_ms, .monotonic_ms = unix_ms};

/* In place of tree.c, checkpoints.c and rendezvous.c. */

void tree_look(struct tree *tree, const struct tree_task *tasks, size_t n)
{
}

void tree_free(struct tree *tree)
{
}

int tree_signal(const struct tree *tree, size_t task, int sig)
{
    return 0;
}

void checkpoints_fini(struct checkpoints *c)
{
    json_decref(c->whole);
}

void rendezvous_fini(struct rendezvous *r)
{
}

static void put(const char *name, const char *text)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
}

static int open_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(oom_file, sizeof oom_file, "%s/oom", dir);
    return 0;
}

static int close_dir(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

enum file { UNASKED, MISSING, THERE }; /* what success leaves behind */

#define EXIT(code) ((code) << 8)

#define REQUIRED JOBDESC_STREAMS_REQUIRED
#define OPTIONAL JOBDESC_STREAMS_OPTIONAL
#define OPEN "exit status 0, but it did not close the stream that it had opened: samples may be missing"
#define NEVER "exit status 0, but it never opened a stream to the training, as members must unless the spec says \"streams\": \"optional\""

/* Zeros are: exit status 0, nothing done to it, one member without checkpoints or streams. */
struct end {
    int status;
    enum stop why;
    enum file file;
    enum attempt_outcome outcome;
    const char *reason;
    bool warned, late, cut_short, checkpoints, leaves_one, oom;
    enum told told;
    enum jobdesc_kind kind;
    size_t ranks;
    const char *last_line; /* on its standard error */
    enum jobdesc_streams streams;
    const char *marks, *notice; /* the ends of its streams, a letter for each */
};

static const struct end ends[] = {
    {.outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.file = THERE, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.file = MISSING, .outcome = ATTEMPT_FAILED, .reason = "exit status 0, but \"result\" is missing"},
    {.status = EXIT(3), .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.status = EXIT(3), .file = THERE, .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.status = EXIT(3), .last_line = "no mesh", .outcome = ATTEMPT_FAILED, .reason = "exit status 3: no mesh"},
    {.status = SIGSEGV, .outcome = ATTEMPT_FAILED, .reason = "killed by signal 11 (Segmentation fault)"},
    {.status = SIGTERM, .outcome = ATTEMPT_FAILED, .reason = "killed by signal 15 (Terminated)"},

    /* what the runner has ended, or would have */
    {.status = SIGTERM, .why = STOP_TIMEOUT, .outcome = ATTEMPT_TIMEOUT, .reason = "ended at the walltime of 90 s"},
    {.status = SIGKILL, .why = STOP_TIMEOUT, .late = true, .outcome = ATTEMPT_TIMEOUT, .reason = "ended with what was left of its allocation's time"},
    {.status = SIGTERM, .why = STOP_TIMEOUT, .cut_short = true, .outcome = ATTEMPT_TIMEOUT, .reason = "ended before the batch system would end the job"},
    {.why = STOP_TIMEOUT, .outcome = ATTEMPT_TIMEOUT, .reason = "ended at the walltime of 90 s"},
    {.why = STOP_TIMEOUT, .file = MISSING, .outcome = ATTEMPT_TIMEOUT, .reason = "ended at the walltime of 90 s"},
    {.why = STOP_TIMEOUT, .file = THERE, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.status = EXIT(1), .why = STOP_TIMEOUT, .file = THERE, .outcome = ATTEMPT_TIMEOUT, .reason = "ended at the walltime of 90 s"},
    {.status = SIGTERM, .why = STOP_CANCEL, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled"},
    {.why = STOP_CANCEL, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled"},
    {.why = STOP_CANCEL, .file = THERE, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.status = SIGTERM, .why = STOP_RANK, .kind = JOBDESC_TRAINING, .ranks = 2, .outcome = ATTEMPT_CANCELLED, .reason = "ended, because another rank failed"},
    {.status = SIGTERM, .why = STOP_GIVEN_UP, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled"},

    /* out of time by itself */
    {.warned = true, .checkpoints = true, .outcome = ATTEMPT_TIMEOUT, .reason = "stopped near the end of its time: exit status 0"},
    {.warned = true, .checkpoints = true, .file = MISSING, .outcome = ATTEMPT_TIMEOUT, .reason = "stopped near the end of its time: exit status 0, and \"result\" is missing"},
    {.warned = true, .checkpoints = true, .file = THERE, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.status = EXIT(3), .warned = true, .checkpoints = true, .file = MISSING, .outcome = ATTEMPT_TIMEOUT, .reason = "stopped near the end of its time: exit status 3"},
    {.status = SIGUSR1, .warned = true, .checkpoints = true, .outcome = ATTEMPT_TIMEOUT, .reason = "ended near the end of its time by signal 10 (User defined signal 1)"},
    {.checkpoints = true, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.checkpoints = true, .leaves_one = true, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.checkpoints = true, .leaves_one = true, .file = MISSING, .outcome = ATTEMPT_TIMEOUT,
     .reason = "stopped before the end of its time: exit status 0, and \"result\" is missing"},
    {.checkpoints = true, .file = MISSING, .outcome = ATTEMPT_FAILED, .reason = "exit status 0, but \"result\" is missing"},
    {.status = EXIT(3), .checkpoints = true, .leaves_one = true, .file = MISSING, .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.warned = true, .kind = JOBDESC_TRAINING, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},

    /* streams */
    {.streams = REQUIRED, .marks = "c", .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.streams = REQUIRED, .marks = "cc", .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.streams = REQUIRED, .marks = "", .outcome = ATTEMPT_FAILED, .reason = NEVER},
    {.streams = REQUIRED, .marks = "o", .outcome = ATTEMPT_FAILED, .reason = OPEN},
    {.streams = REQUIRED, .marks = "o", .last_line = "no mesh", .outcome = ATTEMPT_FAILED, .reason = OPEN ": no mesh"},
    {.streams = REQUIRED, .marks = "o", .status = EXIT(3), .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.streams = REQUIRED, .marks = "coc", .outcome = ATTEMPT_FAILED,
     .reason = "exit status 0, but it did not close all streams that it had opened: samples may be missing"},
    {.streams = REQUIRED, .marks = "o", .file = THERE, .outcome = ATTEMPT_FAILED, .reason = OPEN},
    {.streams = REQUIRED, .marks = "o", .file = THERE, .why = STOP_CANCEL, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled"},
    {.streams = REQUIRED, .marks = "o", .file = THERE, .why = STOP_TIMEOUT, .outcome = ATTEMPT_TIMEOUT, .reason = "ended at the walltime of 90 s"},
    {.streams = REQUIRED, .marks = "c", .file = THERE, .why = STOP_TIMEOUT, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.streams = REQUIRED, .marks = "o", .checkpoints = true, .leaves_one = true, .outcome = ATTEMPT_FAILED, .reason = OPEN},
    {.streams = REQUIRED, .marks = "o", .checkpoints = true, .warned = true, .outcome = ATTEMPT_TIMEOUT,
     .reason = "stopped near the end of its time: exit status 0"},
    {.streams = REQUIRED, .marks = "p", .checkpoints = true, .leaves_one = true, .outcome = ATTEMPT_TIMEOUT,
     .reason = "stopped before the end of its time: exit status 0"},
    {.streams = REQUIRED, .marks = "p", .checkpoints = true, .outcome = ATTEMPT_FAILED,
     .reason = "exit status 0, but it stopped at a checkpoint before its end, and there is none to go on from"},
    {.streams = OPTIONAL, .marks = "", .outcome = ATTEMPT_SUCCEEDED, .reason = "", .notice = "it opened no stream to the training"},
    {.streams = OPTIONAL, .marks = "c", .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.streams = OPTIONAL, .marks = "o", .outcome = ATTEMPT_FAILED, .reason = OPEN},

    /* without a sign of life */
    {.status = SIGTERM, .told = TOLD_STOPPED, .outcome = ATTEMPT_FAILED, .reason = "ended, since all its processes were stopped for 2.5 s"},
    {.status = SIGTERM, .told = TOLD_BLOCKED, .outcome = ATTEMPT_FAILED,
     .reason = "ended, since it showed no sign of life for 2.5 s: no sample, no report, no output, no CPU time"},
    {.status = SIGTERM, .told = TOLD_BLOCKED, .kind = JOBDESC_TRAINING, .ranks = 2, .outcome = ATTEMPT_FAILED,
     .reason = "ended, since no rank showed any sign of life for 2.5 s: no sample, no report, no output, no CPU time"},
    {.told = TOLD_BLOCKED, .outcome = ATTEMPT_FAILED,
     .reason = "ended, since it showed no sign of life for 2.5 s: no sample, no report, no output, no CPU time"},
    {.told = TOLD_BLOCKED, .checkpoints = true, .leaves_one = true, .warned = true, .outcome = ATTEMPT_FAILED,
     .reason = "ended, since it showed no sign of life for 2.5 s: no sample, no report, no output, no CPU time"},
    {.status = SIGTERM, .told = TOLD_BLOCKED, .why = STOP_CANCEL, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled"},

    /* want of memory: itself, or a child of its shell or launcher */
    {.status = SIGKILL, .oom = true, .outcome = ATTEMPT_FAILED, .reason = "out of memory: killed by the kernel, with 2 MiB in use"},
    {.status = EXIT(137), .oom = true, .outcome = ATTEMPT_FAILED,
     .reason = "out of memory: exit status 137, after the kernel killed a process; the largest had 2 MiB in use"},
    {.status = EXIT(9), .oom = true, .outcome = ATTEMPT_FAILED,
     .reason = "out of memory: exit status 9, after the kernel killed a process; the largest had 2 MiB in use"},
    {.status = EXIT(3), .oom = true, .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.status = SIGKILL, .outcome = ATTEMPT_FAILED, .reason = "killed by signal 9 (Killed)"},
    {.status = SIGKILL, .oom = true, .why = STOP_CANCEL, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled"},
};

static void leave_marks(const char *marks)
{
    struct error err;

    for (uint64_t i = 0; marks != NULL && marks[i] != '\0'; i++) {
        assert_int_equal(streams_open(dir, i, &err), 0);
        if (marks[i] != 'o')
            assert_int_equal(streams_end(dir, i, marks[i] == 'c' ? STREAM_CLOSED : STREAM_PAUSED, &err), 0);
    }
}

static void leave_no_marks(void)
{
    struct streams left;

    streams_count(dir, &left);
    assert_int_equal(left.open + left.closed + left.paused, 0);
}

static void an_end_has_its_outcome_and_its_reason(void **state)
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct end *end = &ends[i];
        const struct rusage usage = {.ru_maxrss = 2048, .ru_utime = {.tv_sec = 7, .tv_usec = 250000}, .ru_stime = {.tv_sec = 1, .tv_usec = 500000}};
        struct jobdesc_task task = {.id = "7.1", .dir = dir, .success_file = end->file != UNASKED ? "result" : NULL};
        struct jobdesc desc = {.job = "st-1-2", .kind = end->kind, .walltime_ms = 90000, .ntasks = end->ranks > 0 ? end->ranks : 1, .tasks = &task, .streams = end->streams};
        struct oom oom = {.file = oom_file};
        struct job job = {.machine = &machine, .desc = &desc, .late = end->late, .cut_short = end->cut_short, .oom = &oom, .host = "n7"};
        char path[160];
        struct task t;

        snprintf(path, sizeof path, "%s/result", dir);
        unlink(path);
        if (end->file == THERE)
            put("result", "");
        put("stderr", end->last_line != NULL ? end->last_line : "");
        put("oom", end->oom ? "oom 1\noom_kill 1\n" : "oom 1\noom_kill 0\n");
        task_init(&t, &job, &task);
        t.pid = t.session = 100;
        t.warned = end->warned;
        t.told = end->told;
        t.silent_ms = end->told != TOLD_NOT ? 2500 : 0;
        t.checkpoints.desc = end->checkpoints ? &desc.checkpoint : NULL;
        t.checkpoints.whole = end->leaves_one ? json_pack("[{}]") : NULL;
        task_end(&t, end->status, &usage, end->why);
        assert_int_equal(t.pid, 0);
        leave_marks(end->marks);
        assert_int_equal(task_looks_whole(&t), end->status == 0 && end->file != MISSING && (end->outcome == ATTEMPT_SUCCEEDED || end->marks == NULL || strcmp(end->marks, "c") == 0));
        assert_true(task_read_metrics(&t));
        task_conclude(&t);
        leave_no_marks();
        assert_string_equal(t.rec.end.notice, end->notice != NULL ? end->notice : "");
        if (t.rec.end.outcome != end->outcome || strcmp(t.rec.end.reason, end->reason) != 0)
            fail_msg("case %zu is %s: %s", i, attempt_outcome_name(t.rec.end.outcome), t.rec.end.reason);
        assert_int_equal(t.rec.end.exit_code, WIFEXITED(end->status) ? WEXITSTATUS(end->status) : -1);
        assert_int_equal(t.rec.end.signal, WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0);
        assert_int_equal(t.rec.end.late, end->outcome == ATTEMPT_TIMEOUT && end->late);
        assert_true(t.rec.end.cpu_ms == 8750 && t.rec.end.memory_peak == 2 << 20);
        assert_int_equal(t.rec.end.ended_ms, UNIX_MS);
        assert_string_equal(t.rec.job, "st-1-2");
        assert_string_equal(t.rec.id, "7.1");
        assert_string_equal(t.rec.end.host, "n7");
        assert_ptr_equal(t.rec.end.checkpoints, t.checkpoints.whole);
        task_fini(&t);
    }
}

/* A batch system tells every process of a job to end, by one of these; a shell reports its child's. */
static void one_that_died_as_told_is_known(void **state)
{
    static const struct {
        int status;
        bool told;
    } cases[] = {{SIGTERM, true}, {SIGINT, true}, {SIGHUP, true}, {EXIT(143), true}, {EXIT(130), true}, {EXIT(129), true},
                 {SIGKILL, false}, {SIGUSR1, false}, {SIGSEGV, false}, {EXIT(15), false}, {EXIT(0), false}, {EXIT(137), false}};
    const struct rusage usage = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jobdesc_task task = {.id = "7.1", .dir = dir};
        struct jobdesc desc = {.job = "st-1-2", .ntasks = 1, .tasks = &task};
        struct job job = {.machine = &machine, .desc = &desc};
        struct task t;

        task_init(&t, &job, &task);
        task_end(&t, cases[i].status, &usage, STOP_NONE);
        if (task_died_as_told(&t) != cases[i].told)
            fail_msg("status %#x", (unsigned)cases[i].status);
    }
}

/* Of a task that reports "acc", and may be one that is to go up to step 10. Zeros are as in struct end. */
struct reported {
    int64_t until;
    bool last, resumed, warned;
    const char *points; /* the lines that it reported */
    int status;
    enum stop why;
    enum told told;
    enum file file;
    const char *least; /* not NULL: success needs "acc" to be at least 0.9 at last */
    enum jobdesc_diverged diverged;
    const char *last_line;

    enum attempt_outcome outcome;
    const char *reason, *notice;
    bool at_rung, final;
    int64_t rung_step;
    double rung_value;
};

#define AT(step, value) "{\"step\": " #step ", \"acc\": " #value "}\n"

static const struct reported reported[] = {
    {.until = 10, .points = AT(9, 0.25) AT(10, 0.5), .outcome = ATTEMPT_REACHED, .reason = "reached step 10, with acc 0.5", .at_rung = true,
     .rung_step = 10, .rung_value = 0.5},
    {.until = 10, .points = AT(9, 0.25), .outcome = ATTEMPT_REACHED, .reason = "reached step 9, with acc 0.25", .at_rung = true, .rung_step = 9,
     .rung_value = 0.25},
    {.until = 10, .points = AT(9, 0.25), .warned = true, .outcome = ATTEMPT_TIMEOUT, .reason = "stopped near the end of its time: exit status 0"},
    {.until = 10, .points = AT(9, 0.25), .why = STOP_TIMEOUT, .outcome = ATTEMPT_TIMEOUT, .reason = "ended at the walltime of 90 s"},
    {.until = 10, .points = AT(9, 0.25), .status = EXIT(3), .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.until = 10, .points = AT(10, 0.5), .status = EXIT(3), .outcome = ATTEMPT_FAILED, .reason = "exit status 3", .at_rung = true, .rung_step = 10,
     .rung_value = 0.5},
    {.until = 10, .points = AT(10, 0.5), .status = SIGTERM, .why = STOP_CANCEL, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled", .at_rung = true,
     .rung_step = 10, .rung_value = 0.5},
    {.until = 10, .points = AT(10, 0.5) AT(11, 0.75), .told = TOLD_ARRIVED, .status = SIGTERM, .outcome = ATTEMPT_REACHED,
     .reason = "reached step 10, with acc 0.5", .at_rung = true, .rung_step = 10, .rung_value = 0.5},
    {.until = 10, .points = AT(10, 0.5) AT(11, 0.75), .status = SIGTERM, .told = TOLD_BLOCKED, .outcome = ATTEMPT_FAILED,
     .reason = "ended, since it showed no sign of life for 2.5 s: no sample, no report, no output, no CPU time", .at_rung = true, .rung_step = 10,
     .rung_value = 0.5},
    {.until = 10, .points = AT(12, 0.5), .outcome = ATTEMPT_REACHED, .reason = "reached step 12, with acc 0.5", .at_rung = true, .rung_step = 12,
     .rung_value = 0.5},
    {.until = 10, .last = true, .points = AT(10, 0.5), .outcome = ATTEMPT_SUCCEEDED, .reason = "", .at_rung = true, .rung_step = 10, .rung_value = 0.5},
    {.until = 10, .last = true, .points = AT(11, 0.5), .told = TOLD_ARRIVED, .status = SIGTERM, .outcome = ATTEMPT_SUCCEEDED, .reason = "", .at_rung = true,
     .rung_step = 11, .rung_value = 0.5},
    {.until = 10, .last = true, .points = AT(11, 0.5), .told = TOLD_ARRIVED, .status = SIGTERM, .file = MISSING, .outcome = ATTEMPT_FAILED,
     .reason = "killed by signal 15 (Terminated)", .at_rung = true, .rung_step = 11, .rung_value = 0.5},
    {.until = 10, .last = true, .points = AT(11, 0.5), .told = TOLD_ARRIVED, .status = SIGTERM, .file = THERE, .outcome = ATTEMPT_SUCCEEDED, .reason = "",
     .at_rung = true, .rung_step = 11, .rung_value = 0.5},
    {.until = 10, .resumed = true, .points = "", .outcome = ATTEMPT_REACHED, .reason = "reached step 10 before"},
    {.until = 10, .resumed = true, .last = true, .points = "", .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.until = 10, .resumed = true, .points = "", .status = EXIT(3), .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.until = 10, .resumed = true, .points = AT(5, 0.5), .outcome = ATTEMPT_SUCCEEDED, .reason = "",
     .notice = "it ended by itself after step 5, before step 10"},
    {.until = 10, .points = AT(8, 0.5), .outcome = ATTEMPT_SUCCEEDED, .reason = "", .notice = "it ended by itself after step 8, before step 10"},
    {.until = 10, .points = AT(0, 0.5) "oops\n", .outcome = ATTEMPT_SUCCEEDED, .reason = "",
     .notice = "1 line of metrics.jsonl is no metrics, the first at line 2: it is no JSON object; it ended by itself after step 0, before step 10"},
    {.until = 10, .points = "{\"step\": 10, \"loss\": 1}\n", .last_line = "no mesh", .outcome = ATTEMPT_FAILED,
     .reason = "it reported no metric \"acc\", by which members are stopped early: no mesh"},

    {.points = AT(3, 0.95), .least = "acc", .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.points = AT(3, 0.5), .least = "acc", .last_line = "no mesh", .outcome = ATTEMPT_FAILED, .reason = "acc was 0.5 at last, below 0.9: no mesh",
     .final = true},
    {.points = "", .least = "acc", .outcome = ATTEMPT_FAILED, .reason = "it reported no metric \"acc\""},
    {.points = AT(3, 0.5), .least = "acc", .status = EXIT(3), .outcome = ATTEMPT_FAILED, .reason = "exit status 3"},
    {.points = AT(3, 0.95), .least = "acc", .file = MISSING, .outcome = ATTEMPT_FAILED, .reason = "exit status 0, but \"result\" is missing"},

    {.points = AT(3, NaN), .outcome = ATTEMPT_DIVERGED, .reason = "acc was NaN at its last step, 3"},
    {.points = AT(3, NaN), .status = SIGKILL, .why = STOP_TIMEOUT, .outcome = ATTEMPT_DIVERGED, .reason = "acc was NaN at its last step, 3"},
    {.points = AT(3, NaN), .status = SIGTERM, .why = STOP_CANCEL, .outcome = ATTEMPT_CANCELLED, .reason = "cancelled"},
    {.points = AT(3, NaN), .status = SIGTERM, .told = TOLD_STOPPED, .outcome = ATTEMPT_FAILED,
     .reason = "ended, since all its processes were stopped for 2.5 s"},
    {.points = AT(3, NaN), .diverged = JOBDESC_DIVERGED_IGNORE, .outcome = ATTEMPT_SUCCEEDED, .reason = ""},
    {.points = AT(3, NaN) AT(4, 1), .diverged = JOBDESC_DIVERGED_END, .status = SIGTERM, .outcome = ATTEMPT_DIVERGED, .reason = "acc was NaN or infinite"},
};

static void what_it_reported_counts(void **state)
{
    for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
        const struct reported *r = &reported[i];
        const struct rusage usage = {0};
        struct jobdesc_task task = {.id = "7.1", .dir = dir, .until = r->until, .last = r->last,
                                    .success_file = r->file != UNASKED ? "result" : NULL};
        struct jobdesc desc = {.job = "st-1-2", .walltime_ms = 90000, .ntasks = 1, .tasks = &task, .merged = true,
                               .metrics = {.rung = r->until > 0 ? "acc" : NULL, .name = r->least, .has_least = true, .least = 0.9,
                                           .diverged = r->diverged}};
        struct job job = {.machine = &machine, .desc = &desc};
        json_t *resumed = json_object();
        char path[160];
        struct stat st;
        struct task t;

        snprintf(path, sizeof path, "%s/result", dir);
        unlink(path);
        if (r->file == THERE)
            put("result", "");
        put("stdout", r->last_line != NULL ? r->last_line : "");
        put("metrics.jsonl", r->points);
        snprintf(path, sizeof path, "%s/points", dir);
        unlink(path);
        task_init(&t, &job, &task);
        t.metrics = metrics_create(&desc, &task, UNIX_MS, UNIX_MS);
        t.rec.end.resumed = r->resumed ? resumed : NULL;
        t.warned = r->warned;
        t.checkpoints.desc = r->warned ? &desc.checkpoint : NULL;
        t.told = r->told;
        t.silent_ms = 2500;
        task_end(&t, r->status, &usage, r->why);
        assert_true(task_read_metrics(&t));
        task_conclude(&t);
        if (t.rec.end.outcome != r->outcome || strcmp(t.rec.end.reason, r->reason) != 0 || t.rec.end.at_rung != r->at_rung ||
            t.rec.end.final != r->final ||
            (r->at_rung && (t.rec.end.rung_step != r->rung_step || t.rec.end.rung_value != r->rung_value)) ||
            strcmp(t.rec.end.notice, r->notice != NULL ? r->notice : "") != 0)
            fail_msg("case %zu is %s: %s (notice \"%s\", %sfinal, %s step %lld with %g)", i,
                     attempt_outcome_name(t.rec.end.outcome), t.rec.end.reason, t.rec.end.notice, t.rec.end.final ? "" : "not ",
                     t.rec.end.at_rung ? "at" : "not at", (long long)t.rec.end.rung_step, t.rec.end.rung_value);
        assert_int_equal(t.rec.points, stat(path, &st) == 0 ? st.st_size : 0);
        assert_int_equal(t.rec.points > 0, strstr(r->points, "step") != NULL);
        json_decref(resumed);
        task_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_end_has_its_outcome_and_its_reason, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(what_it_reported_counts, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(one_that_died_as_told_is_known, open_dir, close_dir),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

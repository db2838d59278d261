/* The times at which a pilot starts jobs, gives them back, and kills their runners. Time is virtual; runners are
 * processes that are only numbers, or end at once. */
#include "tasks/runner/pilot.h"
#include "tasks/runner/run.h"

#include "common/jobfd.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>
#include <utlist.h>

#define GRACE 60000
#define MORE 5000 /* that a runner has beyond the grace, to write the records */

static int64_t now;
static pid_t last_pid;
static int last_sig, n_sent;

static int64_t monotonic_ms(void)
{
    return now;
}

static int signal_process(pid_t pid, int sig)
{
    last_pid = pid;
    last_sig = sig;
    n_sent++;
    return 0;
}

static const struct machine machine = {.monotonic_ms = monotonic_ms, .unix_ms = monotonic_ms, .kill = signal_process};

/* In place of pilot_journal.c and main.c. */

static char said[1000]; /* a line for each of what the journal would have */

static void say(const char *fmt, ...)
{
    size_t n = strlen(said);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(said + n, sizeof said - n, fmt, ap);
    va_end(ap);
}

void pilot_say_start(struct node_pilot *p, const struct pilot_job *job)
{
    say("start %s\n", job->name);
}

void pilot_say_end(struct node_pilot *p, const struct pilot_job *job, const char *records, int status)
{
    say("end %s %d %s\n", job->name, status, records != NULL ? records : "-");
}

void pilot_say_return(struct node_pilot *p, const char *job, const char *why)
{
    say("return %s: %s\n", job, why);
}

/* The behaviour of the runners that are started, before they end with `status`. */
static int status;
static const char *records;
static bool hangs;

int run_job_in_copy(const char *jobdir, int jobfd, const char *gpus, pid_t pilot, int64_t started_ms, int64_t until_ms)
{
    struct error err;
    char text[200];

    if (records != NULL && gpus != NULL)
        snprintf(text, sizeof text, "[\"%s\"]", gpus);
    else if (records != NULL)
        snprintf(text, sizeof text, "%s", records);
    if (records != NULL)
        jobfd_answer(jobfd, text, strlen(text), &err);
    while (hangs)
        pause();
    return status;
}

/* A pilot with one job that runs, since `now`, and one that waits for room. */
static void begin(struct node_pilot *p)
{
    struct pilot_job *job;

    *p = (struct node_pilot){
        .machine = &machine, .room.cpus = 1, .room.memory = 1, .deadline_ms = INT64_MAX, .config.stopped_ms = 300000};
    now = 1000000;
    n_sent = 0;
    pilot_take(p, "{\"job\": \"a\", \"dir\": \"/a\", \"cpus\": 1, \"memory\": 1, \"grace\": 60, \"descriptor\": {}}");
    pilot_take(p, "{\"job\": \"b\", \"dir\": \"/b\", \"cpus\": 1, \"memory\": 1, \"grace\": 60, \"descriptor\": {}}");
    job = p->jobs.queue;
    assert_string_equal(job->name, "a");
    DL_DELETE(p->jobs.queue, job);
    DL_APPEND(p->jobs.running, job);
    job->pid = 100;
    p->room.used_cpus = p->room.used_memory = 1;
    p->jobs.n_running = 1;
}

static void end_after_grace(struct node_pilot *p)
{
    assert_int_equal(n_sent, 1);
    assert_int_equal(last_sig, SIGTERM);
    assert_int_equal(last_pid, 100);
    now += GRACE + MORE - 1;
    pilot_kill_overdue(p, now);
    assert_int_equal(n_sent, 1);
    now++;
    pilot_kill_overdue(p, now);
    assert_int_equal(n_sent, 2);
    assert_int_equal(last_sig, SIGKILL);
    pilot_forget(p);
}

/* A pilot of 4 CPUs, 100 bytes and two GPUs. */
static void begin_empty(struct node_pilot *p)
{
    static struct pilot_gpu gpus[2];

    gpus[0] = (struct pilot_gpu){.id = "g0"};
    gpus[1] = (struct pilot_gpu){.id = "g1"};
    *p = (struct node_pilot){.machine = &machine,
                             .config.name = "p",
                             .room.cpus = 4,
                             .room.memory = 100,
                             .deadline_ms = INT64_MAX,
                             .config.stopped_ms = 300000,
                             .journal.fd = -1,
                             .inbox.notify = -1,
                             .signal_fd = -1,
                             .room.gpus = gpus,
                             .room.n_gpus = 2,
                             .room.knows_gpus = true};
    now = 1000000;
    n_sent = 0;
    said[0] = '\0';
    status = 0;
    records = "[]";
    hangs = false;
}

static void hand_over(struct node_pilot *p, const char *name, int cpus, int gpus, int memory, int least_s)
{
    char line[300];

    snprintf(
        line, sizeof line,
        "{\"job\": \"%s\", \"dir\": \"/%s\", \"cpus\": %d, \"gpus\": %d, \"memory\": %d, \"least\": %d, \"grace\": 60,"
        " \"descriptor\": {}}",
        name, name, cpus, gpus, memory, least_s);
    pilot_take(p, line);
}

/* Until all that run have ended. */
static void wait_for_all(struct node_pilot *p)
{
    siginfo_t ended;

    while (p->jobs.n_running > 0) {
        assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
        pilot_reap(p);
    }
}

static void assert_said(const char *wanted)
{
    assert_string_equal(said, wanted);
    said[0] = '\0';
}

/* The number of the next descriptor that is opened. */
static int next_fd(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void each_start_takes_room_that_its_end_gives_back(void **state)
{
    int first_fd = next_fd();
    struct node_pilot p;

    begin_empty(&p);
    hand_over(&p, "a", 2, 1, 60, 0);
    hand_over(&p, "b", 1, 0, 60, 0); /* there is no memory for it */
    hand_over(&p, "c", 1, 0, 10, 0); /* there is, but it came later */
    pilot_start_what_fits(&p);
    assert_said("start a\n");
    assert_int_equal(p.room.used_cpus, 2);
    assert_int_equal(p.room.used_memory, 60);
    wait_for_all(&p);
    assert_said("end a 0 [\"g0\"]\n");
    pilot_start_what_fits(&p);
    assert_said("start b\nstart c\n");
    wait_for_all(&p);
    said[0] = '\0';
    hand_over(&p, "d", 4, 2, 100, 0);
    pilot_start_what_fits(&p);
    assert_said("start d\n");
    wait_for_all(&p);
    assert_said("end d 0 [\"g0,g1\"]\n");
    assert_int_equal(p.room.used_cpus + p.room.used_memory, 0);
    assert_int_equal(next_fd(), first_fd); /* a pilot has thousands of jobs */
    assert_null(p.jobs.all);
    pilot_forget(&p);
}

/* There may be room for its directories later; while the node is being given back there is nothing to wait for. */
static void a_runner_without_room_is_started_again_after_a_while(void **state)
{
    struct node_pilot p;

    begin_empty(&p);
    status = EX_UNAVAILABLE;
    hand_over(&p, "a", 1, 0, 0, 0);
    pilot_start_what_fits(&p);
    wait_for_all(&p);
    assert_said("start a\n");
    assert_non_null(p.jobs.queue);
    pilot_start_what_fits(&p);
    now += 999;
    pilot_start_what_fits(&p);
    assert_said("");
    now++;
    status = EX_OSFILE; /* its file system may be writable later */
    pilot_start_what_fits(&p);
    assert_said("start a\n");
    wait_for_all(&p);
    assert_said("");
    now += 1000;
    pilot_start_what_fits(&p);
    assert_said("start a\n");
    pilot_stop(&p);
    wait_for_all(&p);
    assert_said("end a 72 -\n");
    assert_null(p.jobs.queue);
    pilot_forget(&p);
}

static void a_runner_that_fails_tells_no_records(void **state)
{
    struct node_pilot p;

    begin_empty(&p);
    status = EX_IOERR;
    hand_over(&p, "a", 1, 0, 0, 0);
    pilot_start_what_fits(&p);
    wait_for_all(&p);
    assert_said("start a\nend a 74 -\n");
    status = 0;
    records = "{}"; /* these are none */
    p.room.knows_gpus = false;
    hand_over(&p, "b", 1, 0, 0, 0);
    pilot_start_what_fits(&p);
    wait_for_all(&p);
    assert_said("start b\nend b 0 -\n");
    pilot_forget(&p);
}

static void so_have_all_when_the_pilot_ends(void **state)
{
    struct node_pilot p;

    begin(&p);
    pilot_stop(&p);
    assert_null(p.jobs.queue);
    end_after_grace(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_start_takes_room_that_its_end_gives_back),
        cmocka_unit_test(a_runner_without_room_is_started_again_after_a_while),
        cmocka_unit_test(a_runner_that_fails_tells_no_records),
        cmocka_unit_test(so_have_all_when_the_pilot_ends),
    };

    test_limit(60); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

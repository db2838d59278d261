/* When a pilot kills the runners of its jobs. In virtual time, with processes that are only numbers. */
#include "tasks/runner/pilot.h"

#include "common/xalloc.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
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

void pilot_say_start(struct pilot *p, const struct pilot_job *job)
{
}

void pilot_say_end(struct pilot *p, const struct pilot_job *job, const char *records, int status)
{
}

void pilot_say_return(struct pilot *p, const char *job, const char *why)
{
}

int pilot_run_job(const char *jobdir, int letter, const char *gpus, pid_t pilot, int64_t started_ms, int64_t until_ms)
{
    return 0;
}

/* A pilot with one job that runs, since `now`, and one that waits for room. */
static void begin(struct pilot *p)
{
    struct pilot_job *job;

    *p = (struct pilot){.machine = &machine, .cpus = 1, .memory = 1, .deadline_ms = INT64_MAX, .stopped_ms = 300000};
    now = 1000000;
    n_sent = 0;
    pilot_take(p, "{\"job\": \"a\", \"dir\": \"/a\", \"cpus\": 1, \"memory\": 1, \"grace\": 60, \"descriptor\": {}}");
    pilot_take(p, "{\"job\": \"b\", \"dir\": \"/b\", \"cpus\": 1, \"memory\": 1, \"grace\": 60, \"descriptor\": {}}");
    job = p->queue;
    assert_string_equal(job->name, "a");
    DL_DELETE(p->queue, job);
    DL_APPEND(p->running, job);
    job->pid = 100;
    p->used_cpus = p->used_memory = 1;
    p->n_running = 1;
}

static void end_after_grace(struct pilot *p)
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

static void a_cancelled_job_has_its_grace(void **state)
{
    struct pilot p;

    begin(&p);
    pilot_take(&p, "{\"cancel\": \"a\"}");
    pilot_start_what_fits(&p);
    assert_non_null(p.queue); /* while it ends, its place is its own */
    end_after_grace(&p);
}

static void so_have_all_when_the_pilot_ends(void **state)
{
    struct pilot p;

    begin(&p);
    pilot_stop(&p);
    assert_null(p.queue);
    end_after_grace(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_job_has_its_grace),
        cmocka_unit_test(so_have_all_when_the_pilot_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Everything that tests of adapters need: a loop, an adapter with real runners, and calls that wait for their
 * answer. */
#ifndef TESTS_ADAPTER_HARNESS_H
#define TESTS_ADAPTER_HARNESS_H
#include "scheduler-adapters/adapter.h"
#include "tasks/proto/exitrec.h"
#include "tests/unit/unit.h"


/* A script that reports, and then ignores SIGTERM. So do its child and a process that left its session. */
#define STUBBORN                                                                                                       \
    "trap '' TERM; (trap '' TERM; while :; do sleep 100; done) & "                                                     \
    "setsid sh -c \"trap '' TERM; echo ready > $FIFO; while :; do sleep 100; done\" & while :; do sleep 100; done"
#define UNTIL_LET_GO "while [ ! -e $DIR/go ]; do sleep 0.05; done"
#define REPORT_AND_WAIT "echo ready > $FIFO; " UNTIL_LET_GO

struct harness {
    uv_loop_t loop;
    uv_timer_t guard, ticker;
    bool late;
    const struct adapter_ops *ops;
    struct adapter *adapter;
    struct adapter_host host;
    json_t *config;
    unsigned pokes; /* reports of an end among them */
    json_t *ended;  /* the name of each job whose end was reported → its records, or null */
    unsigned duplicate; /* how many jobs were reported as a duplicate, and the last of them */
    char duplicate_name[64], duplicate_id[64];
    char dir[64];  /* the test's directory */
    char fifo[80]; /* tasks write a line to it; it is open here, so that neither end blocks or breaks */
    int fifo_fd;
    char hold[160]; /* once somebody opens it for writing, a runner that hangs gives up */
    char control[96]; /* the socket that runners nudge; "": none */
};

/* The batch systems of some adapters report nothing by themselves, so that these adapters need not poke. With
 * harness_polls the test asks them ten times a second, or every two seconds where STRETTO_ADAPTER_SLOW is set, because
 * each question is expensive for them. */
extern bool harness_polls;

struct harness_job {
    char name[64], dir[128], task_dir[128];
    struct adapter_job job;
};

/* The answer to a call. `answers` counts how often it was answered. */
struct answer {
    unsigned answers;
    bool in_call; /* set by the caller while the call is on the stack */
    enum adapter_answer answer;
    char scheduler_id[64];
    struct adapter_status *statuses;
    size_t n;
    struct error err;
};

void harness_open(struct harness *h, const struct adapter_ops *ops, const char *config);
void harness_close(struct harness *h);
/* They act as a daemon that ends and one that starts again: jobs go on. */
void harness_destroy_adapter(struct harness *h);
void harness_create_adapter(struct harness *h);

/* Prepares a job with one task, `sh -c script`, which has FIFO and DIR (the test's directory) in its environment. The
 * times are in seconds; walltime 0: none. */
void harness_job(struct harness *h, struct harness_job *job, const char *script, int walltime, int grace);

/* Hands over the job's descriptor and directory in a job fd. Nothing of them is written to the disk, and not even the
 * job's directory exists. Returns the text, which is to be freed once the job has ended. */
char *harness_by_jobfd(struct harness *h, struct harness_job *job, const char *script);

/* Returns how long a test waits for an event, in seconds. Once an event has not come, the next tests wait for less
 * time. */
int harness_wait_s(void);
/* Runs the loop until *counter is at least `value`. Fails the test after harness_wait_s(). */
void harness_until(struct harness *h, const unsigned *counter, unsigned value);

void harness_submit(struct harness *h, struct harness_job *job, struct answer *a);
void harness_submit_ok(struct harness *h, struct harness_job *job);
void harness_poll(struct harness *h, struct harness_job *jobs, size_t n, struct answer *a);
struct adapter_status harness_status(struct harness *h, struct harness_job *job);
void harness_cancel(struct harness *h, struct harness_job *job);
enum adapter_answer harness_signal(struct harness *h, struct harness_job *job, int sig);

/* Waits until the job has ended, and polls after each poke. Fails the test after harness_wait_s(). */
struct adapter_status harness_wait_ended(struct harness *h, struct harness_job *job);
struct exitrec harness_exit(struct harness_job *job);
/* Returns the exit records that came with the end of the job, a new reference; NULL: none. */
json_t *harness_records(struct harness *h, struct harness_job *job);
/* Reads a line that a task wrote to the fifo. Fails the test after harness_wait_s(). */
void harness_line(struct harness *h, char *line, size_t size);
/* Lets tasks go on that wait in UNTIL_LET_GO or REPORT_AND_WAIT. */
void harness_let_go(struct harness *h);
/* Begins a new adapter whose runners hang before they claim their job, as on a file system that does not answer; or one
 * with real runners again. */
void harness_hang_runners(struct harness *h, bool hang);

/* Returns the number of processes of the job, without its runner. */
int harness_processes(struct harness_job *job);
pid_t harness_runner(struct harness_job *job); /* read from its claim */

/* Starts a process that blocks these signals (0: none) and takes SIGTERM as it comes. It ends with the number of the
 * signal that it gets, and with this program. */
pid_t harness_process_that_blocks(int one, int other);
/* Writes the claim of a process, on the host "here"; tmpdir may be NULL. */
void harness_claim(const struct harness_job *job, pid_t pid, unsigned long long start_time, double time,
                   const char *tmpdir);
/* Writes a file in the job's directory. */
void harness_put(const struct harness_job *job, const char *name, const char *text);

/* Callbacks that fill a struct answer. */
void answer_submit(void *arg, enum adapter_answer answer, const char *scheduler_id, const struct error *err);
void answer_poll(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                 const struct error *err);
void answer_done(void *arg, enum adapter_answer answer, const struct error *err);

#endif

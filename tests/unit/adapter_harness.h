/* What tests of adapters need: a loop, an adapter with real runners, and calls that wait for their answer. */
#ifndef TESTS_ADAPTER_HARNESS_H
#define TESTS_ADAPTER_HARNESS_H
#include "scheduler-adapters/adapter.h"
#include "tasks/proto/exitrec.h"
#include "tests/unit/unit.h"

#define HARNESS_CONTROL_KEY "00112233445566778899aabbccddeeff"

/* Reports, then ignores SIGTERM, with a child that does and one that left its session. */
#define STUBBORN                                                                                                       \
    "trap '' TERM; (trap '' TERM; while :; do sleep 100; done) & "                                                     \
    "setsid sh -c \"trap '' TERM; echo ready > $FIFO; while :; do sleep 100; done\" & while :; do sleep 100; done"
#define REPORT_AND_WAIT "echo ready > $FIFO; while [ ! -e $DIR/go ]; do sleep 0.05; done"

struct harness {
    uv_loop_t loop;
    uv_timer_t guard, ticker;
    bool late;
    const struct adapter_ops *ops;
    struct adapter *adapter;
    struct adapter_host host;
    json_t *config;
    unsigned pokes;
    unsigned surplus; /* jobs that were told to be too many; the last of them */
    char surplus_name[64], surplus_id[64];
    char dir[64];  /* of the test */
    char fifo[80]; /* tasks write a line to it; open here, so that neither end blocks or breaks */
    int fifo_fd;
    char control[96]; /* endpoint that runners nudge; "" for none */
};

/* For adapters that need not poke, since their batch system tells nothing by itself: look ten times a second, or
 * every two seconds where STRETTO_ADAPTER_SLOW is set, since each look costs it much. */
extern bool harness_polls;

struct harness_job {
    char name[64], dir[128], task_dir[128];
    struct adapter_job job;
};

/* The answer to a call; `answers` counts. */
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
/* As a daemon that ends and starts again: jobs go on. */
void harness_destroy_adapter(struct harness *h);
void harness_create_adapter(struct harness *h);

/* A job with one task, `sh -c script` (FIFO and DIR, the test's directory, in its environment). Seconds; 0 walltime:
 * none. */
void harness_job(struct harness *h, struct harness_job *job, const char *script, int walltime, int grace);

/* The same, with what is written to disk otherwise in a letter: nothing of it lies anywhere else, and not even its directory is
 * there. Returns the text, to be freed once the job has ended. */
char *harness_by_letter(struct harness *h, struct harness_job *job, const char *script);

/* How long a test waits for what should come, in seconds. Once something has not come, the next tests wait for less. */
int harness_wait_s(void);
/* Run the loop until *counter is at least `value`; fails the test after harness_wait_s(). */
void harness_until(struct harness *h, const unsigned *counter, unsigned value);

void harness_submit(struct harness *h, struct harness_job *job, struct answer *a);
void harness_submit_ok(struct harness *h, struct harness_job *job);
void harness_poll(struct harness *h, struct harness_job *jobs, size_t n, struct answer *a);
struct adapter_status harness_status(struct harness *h, struct harness_job *job);
void harness_cancel(struct harness *h, struct harness_job *job);
enum adapter_answer harness_signal(struct harness *h, struct harness_job *job, int sig);

/* Wait, poke by poke, until the job has ended; fails the test after harness_wait_s(). */
struct adapter_status harness_wait_ended(struct harness *h, struct harness_job *job);
struct exitrec harness_exit(struct harness_job *job);
/* What the adapter hands over of its exit records, a new reference; NULL: nothing. */
json_t *harness_records(struct harness *h, struct harness_job *job);
/* A line that a task wrote to the fifo; fails the test after harness_wait_s(). */
void harness_line(struct harness *h, char *line, size_t size);
/* End what waits by REPORT_AND_WAIT. */
void harness_let_go(struct harness *h);
/* Processes of the job, the runner not counted. */
int harness_processes(struct harness_job *job);
pid_t harness_runner(struct harness_job *job); /* by its claim */

/* Callbacks for struct answer */
void answer_submit(void *arg, enum adapter_answer answer, const char *scheduler_id, const struct error *err);
void answer_poll(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                 const struct error *err);
void answer_done(void *arg, enum adapter_answer answer, const struct error *err);

#endif

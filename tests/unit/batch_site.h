/* A site whose batch system is scripts, which write down what they are asked, for tests of what adapters ask for and of what they make of
 * the answers. */
#ifndef TESTS_BATCH_SITE_H
#define TESTS_BATCH_SITE_H
#include "scheduler-adapters/adapter.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>

#define MINUTE_MS 60000
#define TOLD_MAX 8

/* All that was told of a call. */
struct told {
    unsigned answers;
    enum adapter_answer answer;
    char id[64], code[64], text[400];
    struct adapter_status statuses[TOLD_MAX];
    size_t n;
};

struct site {
    char dir[64];
    uv_loop_t loop;
    const struct adapter_ops *ops;
    struct adapter *a; /* NULL: not begun */
    json_t *config;    /* of the adapter, which borrows it */
    unsigned pokes;
    char surplus[200], said[2000]; /* "NAME ID;" of each that was told to be too many; what was logged, a line each */
};
extern struct site site;

/* cmocka's setup and teardown: a directory and a loop; the adapter is begun by the test. */
int site_open(void **state);
int site_close(void **state);
void site_begin(const struct adapter_ops *ops);
void site_end(void); /* the adapter, before the teardown */

void site_put(const char *name, const char *text, mode_t mode); /* a file */
void site_remove(const char *name);
/* A command that writes down its arguments, each in brackets, a line a call, and then does what `script` says, in the site's directory. */
void site_command(const char *name, const char *script);
/* All commands of Slurm: its jobs have the ids 7, 8, …, the file "listed" is what squeue prints, and it keeps accounts. */
void site_slurm_commands(void);
/* All commands of OpenPBS, or of Torque: likewise, but for what qstat prints of jobs, which is none. */
void site_pbs_commands(const char *version);
char *site_asked(const char *name); /* a line a call, to be freed; "" never */
unsigned site_count_asked(const char *name);
void site_forget(const char *name); /* what it was asked */
void site_assert_asked(const char *name, const char *words);
void site_assert_not_asked(const char *name, const char *words);

/* A job of one process with a walltime of 58 minutes; with a grace of 5 minutes. */
extern const struct adapter_resources site_plain;
struct adapter_job site_job(const struct adapter_resources *resources);
/* The job st-0-NUMBER, in a directory of that name. */
void site_submit(struct adapter_job job, int number, struct told *told);
void site_submit_ok(struct adapter_job job, int number);
/* Jobs by the numbers of their names. */
struct site_known {
    int number;
    const char *id; /* NULL: none was told */
    int64_t submitted_ms;
};
void site_poll(const struct site_known *jobs, size_t n, struct told *told);
struct adapter_status site_status(int number, const char *id); /* of one that was submitted long ago */
void site_cancel(int number, int64_t grace_ms, struct told *told);
void site_signal(int number, int sig, struct told *told);
void site_withdraw(int number, const char *id, struct told *told);
/* Run the loop until it has so many answers; the calls above check that none comes from inside of them. */
void site_until(const struct told *told, unsigned answers);

#endif

/* A site whose batch system consists of scripts, which write down how they are called. Tests see there what adapters
 * ask for, and how they understand the answers. */
#ifndef TESTS_BATCH_SITE_H
#define TESTS_BATCH_SITE_H
#include "scheduler-adapters/adapter.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>

#define MINUTE_MS 60000
#define TOLD_MAX 32

/* All answers to a call. */
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
    uv_timer_t guard; /* while an answer is waited for */
    const struct adapter_ops *ops;
    struct adapter *a; /* NULL: not created yet */
    json_t *config;    /* the adapter's configuration, which it borrows */
    const char *runner; /* NULL: /bin/sh */
    unsigned pokes;
    void (*at_duplicate)(void); /* called after a job was reported as a duplicate; NULL: nothing is */
    char duplicate[200], said[2000]; /* "NAME ID;" of each job that was reported as a duplicate; the lines of the log */
};
extern struct site site;

/* cmocka's setup and teardown. They make a directory and a loop; the test creates the adapter. */
int site_open(void **state);
int site_close(void **state);
void site_begin(const struct adapter_ops *ops);
void site_end(void); /* destroys the adapter, before the teardown */

void site_put(const char *name, const char *text, mode_t mode); /* writes a file */
void site_remove(const char *name);
/* Makes a command that writes down its arguments, each in brackets, in one line for each call. Then it does what
 * `script` says, in the site's directory. Whatever waits there calls "pause", a moment at a time, which ends the script
 * when the test has gone. */
void site_command(const char *name, const char *script);
/* Makes all commands of Slurm. Its jobs have the ids 7, 8, …, squeue prints the file "listed", and the site keeps
 * accounts. */
void site_slurm_commands(void);
/* Makes all commands of OpenPBS, or of Torque. Jobs have the ids 7.server, 8.server, …, and qstat prints the file
 * "listed", or no jobs if there is none. */
void site_pbs_commands(const char *version);
char *site_asked(const char *name); /* one line for each call; to be freed; "": it was never called */
unsigned site_count_asked(const char *name);
void site_forget(const char *name); /* deletes what was written down of its calls */
void site_assert_asked(const char *name, const char *words);
void site_assert_not_asked(const char *name, const char *words);
/* Compares all calls of it with `lines`, in which @ stands for the site's directory. */
void site_assert_lines(const char *name, const char *lines);

/* A job of one process with a walltime of 58 minutes and a grace of 5 minutes. */
extern const struct adapter_resources site_plain;
struct adapter_job site_job(const struct adapter_resources *resources);
/* Submits the job as st-0-NUMBER, in a directory of that name. */
void site_submit(struct adapter_job job, int number, struct told *told);
void site_submit_ok(struct adapter_job job, int number);
struct told site_submit_next(struct adapter_job job); /* under a number that no other of these has */
/* A job that the daemon knows, by the number in its name. */
struct site_known {
    int number;
    const char *id; /* NULL: the daemon was told none */
    int64_t submitted_ms;
};
void site_poll(const struct site_known *jobs, size_t n, struct told *told);
void site_find(const struct site_known *jobs, size_t n, struct told *told); /* as after a lost answer */
struct adapter_status site_status(int number, const char *id); /* of a job that was submitted long ago */
void site_cancel(int number, int64_t grace_ms, struct told *told);
void site_signal(int number, int sig, struct told *told);
void site_withdraw(int number, const char *id, struct told *told);
/* Options that a spec, or the adapter's settings, may name or not; each word ends with a blank. */
struct site_options {
    const char *words;
    int refused; /* the number of the word that is; -1: none */
};
/* Checks them as the spec's and as the settings'. `config` has the other settings, and is taken over. */
void site_check_options(const struct adapter_ops *ops, json_t *config, const struct site_options *cases, size_t n);
/* Runs the loop until there are so many answers, and fails the test where they do not come. The calls above verify that
 * none comes before they return. */
void site_until(const struct told *told, unsigned answers);
/* Runs the loop until the condition holds. */
#define SITE_UNTIL(condition) TEST_UNTIL(condition, (usleep(2000), uv_run(&site.loop, UV_RUN_NOWAIT)))

#define CASE(test) cmocka_unit_test_setup_teardown(test, site_open, site_close)
/* The end of main(): what never comes is a failure, too. */
#define SITE_RUN(tests) (test_limit(300), cmocka_run_group_tests(tests, NULL, NULL))
#endif

/* Job descriptor: the daemon's orders to the runner (docs/run-directory.md, job.json).
 *
 * Parsing checks every key that is known and ignores the others; errors name the place by a JSON pointer. */
#ifndef TASKS_PROTO_JOBDESC_H
#define TASKS_PROTO_JOBDESC_H
#include "common/error.h"

#include "tasks/proto/retries.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define JOB_NAME_MAX 63
#define JOB_TASKS_MAX 100000

enum jobdesc_kind { JOBDESC_MEMBERS, JOBDESC_TRAINING, JOBDESC_PILOT };

struct jobdesc_task {
    const char *id;       /* "7.123", or "7.training.0": unique in the job, printable, no '/' */
    const char *dir;      /* absolute; the runner makes it if it is missing */
    const json_t *argv;   /* array of at least one string */
    const json_t *env;    /* object of strings, or NULL */
    const json_t *path;   /* array of absolute directories, or NULL */
    const char *launcher; /* NULL: argv is run as it is, or by `launch` */
    /* the words of a launcher before argv, or NULL; "{hosts}" and the like in them are filled in by the runner */
    const json_t *launch;
    int64_t ntasks;           /* processes to launch, >= 1 */
    int64_t nodes;            /* on which they run, >= 1 */
    const char *success_file; /* path or pattern, relative to dir, or NULL */
    /* instead of those of the job, if they depend on the task; or NULL */
    const char *glob, *metrics_file;
    const json_t *artefacts;
    const char *results; /* absolute: the directory for links to its artefacts, or NULL */
    const char *owner;   /* with results: the member whose they are, over all attempts and follow-ups */
    /* arguments added if there is a checkpoint to go on from, or NULL; "{checkpoint}" stands for its path */
    const json_t *resume;
    int64_t since;    /* the first attempt whose checkpoints count as its own; 0: all count */
    int64_t since_in; /* the ensemble whose attempts `since` counts; 0: the job's */
    int64_t until;    /* it is to end at this step of the job's metrics.rung; 0: it is not */
    bool last;        /* with until: that is the last step that it ever goes to */
};

/* Set for jobs whose tasks leave checkpoints. */
struct jobdesc_checkpoint {
    bool any;
    int64_t before_ms; /* ms before the end at which the tasks are warned */
    int signal;        /* the signal for that; 0: none */
    const char *glob;  /* pattern of files that are checkpoints; NULL: only those count that the library records */
    int64_t keep;      /* checkpoints to keep of each task */
};

/* When a task whose metrics are NaN or infinite counts as diverged: if one is at its end, at once, or never. */
enum jobdesc_diverged { JOBDESC_DIVERGED_FAIL, JOBDESC_DIVERGED_END, JOBDESC_DIVERGED_IGNORE };

/* The format of a file of metrics. JOBDESC_LINES: JSON lines or CSV, depending on its first line. JOBDESC_TENSORBOARD:
 * `file` is a pattern for event files, and directories of such. */
enum jobdesc_format { JOBDESC_LINES, JOBDESC_TENSORBOARD };

/* The metrics that tasks report, and the values that these must reach. */
struct jobdesc_metrics {
    const char *file; /* relative to the task's directory; NULL: none but $STRETTO_METRICS */
    enum jobdesc_format format;
    enum jobdesc_diverged diverged;
    const char *rung;               /* the metric by whose steps tasks with `until` end; NULL: there are none */
    const char *name;               /* the metric by which success is judged; NULL: none is */
    bool has_least, has_most, best; /* best: its best value counts, and not the last */
    double least, most;
};

/* Says whether the ranks of a training may begin again in this job, if their memory has all samples. */
struct jobdesc_restarts {
    bool any;
    int64_t retries;          /* that the training has in all */
    int64_t failures, losses; /* that it has had so far (retries.h) */
    struct learnt from;       /* by the checkpoint that its ranks begin from */
};

/* Says whether a member opens a stream to a training: there is no training, it may, or it must. */
enum jobdesc_streams { JOBDESC_STREAMS_NONE, JOBDESC_STREAMS_OPTIONAL, JOBDESC_STREAMS_REQUIRED };

struct jobdesc {
    const char *job;
    int64_t ensemble;
    enum jobdesc_kind kind;
    const char *control; /* path of the control socket, or NULL */
    int64_t walltime_ms; /* 0: none */
    int64_t grace_ms;
    int64_t silence_ms; /* a task that shows no sign of life for so long is ended; 0: no limit */
    int64_t
        stopped_ms; /* with silence_ms: a task whose processes are all stopped for so long is ended; 0: silence_ms */
    struct jobdesc_restarts restarts;
    bool tmpdir;                  /* its tasks have a temporary directory */
    const char *umask;            /* of its tasks, as umask_parse() takes it; NULL: 0077 */
    bool merged;                  /* the standard error of its tasks goes into the file of their standard output */
    enum jobdesc_streams streams; /* a task that opened a stream must have closed it to succeed */
    const json_t *artefacts;      /* patterns of files below a task's dir that it leaves when it succeeds, or NULL */
    const json_t *attest; /* absolute paths of files that its tasks hash, beside what they run; NULL: they do not */
    struct jobdesc_checkpoint checkpoint;
    struct jobdesc_metrics metrics;
    size_t ntasks;
    struct jobdesc_task *tasks;
    json_t *root; /* owns the strings of a parsed descriptor; NULL for one that was put together */
};

/* 1 to 63 of [A-Za-z0-9._-], not beginning with a dot or a dash. */
bool job_name_valid(const char *name);

/* Returns the number of a signal named "USR1" or "SIGUSR1", 0 if it is none that a task can be warned by. */
int jobdesc_signal(const char *name);
const char *jobdesc_signal_name(int number); /* NULL for other numbers */

const char *jobdesc_diverged_name(enum jobdesc_diverged diverged);
int jobdesc_diverged_parse(const char *name, enum jobdesc_diverged *out); /* 0 or -1 */
const char *jobdesc_format_name(enum jobdesc_format format);
int jobdesc_format_parse(const char *name, enum jobdesc_format *out); /* 0 or -1 */

/* Parses JSON, and keeps a reference on root. The caller frees the result by jobdesc_free(). */
struct jobdesc *jobdesc_parse(json_t *root, struct error *err);

/* Reads a file; errno ENOENT if there is none. */
struct jobdesc *jobdesc_read(const char *path, struct error *err);

/* Keeps only this one of its tasks, which must exist. */
void jobdesc_keep(struct jobdesc *desc, size_t task);

void jobdesc_free(struct jobdesc *desc);

/* These return the value that counts for a task: its own, or that of its job; NULL for none. */
const char *jobdesc_glob(const struct jobdesc *desc, const struct jobdesc_task *task);
const char *jobdesc_metrics_file(const struct jobdesc *desc, const struct jobdesc_task *task);
const json_t *jobdesc_artefacts(const struct jobdesc *desc, const struct jobdesc_task *task);
#endif

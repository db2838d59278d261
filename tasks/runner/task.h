/* One task of a job: it is started, ended, and recorded. */
#ifndef TASKS_RUNNER_TASK_H
#define TASKS_RUNNER_TASK_H
#include "tasks/proto/exitrec.h"
#include "tasks/proto/jobdesc.h"
#include "tasks/runner/checkpoints.h"
#include "tasks/runner/cpus.h"
#include "tasks/runner/machine.h"
#include "tasks/runner/metrics.h"
#include "tasks/runner/rendezvous.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The reasons why the runner ends its tasks. STOP_RANK: one of a training's ranks failed, and the others would wait for
 * it. STOP_GIVEN_UP: the daemon has given the job up, so that other jobs may do its work by now. */
enum stop { STOP_NONE, STOP_TIMEOUT, STOP_CANCEL, STOP_RANK, STOP_GIVEN_UP };

/* The reason why the runner has told one task to end. */
enum told {
    TOLD_NOT,
    TOLD_DIVERGED, /* a metric was NaN or infinite */
    TOLD_ARRIVED,  /* it went beyond the step up to which it was to go, or is a rank that was done */
    TOLD_STOPPED,  /* it has shown no sign of life (tasks/runner/silence.h), since its processes were stopped, */
    TOLD_BLOCKED,  /* or although they were not */
};

/* How far what a task has left is read. */
enum task_reading { READING_NOT, READING_CHECKPOINTS, READING_METRICS, READING_REST };

#define TASK_ALIVE "alive" /* STRETTO_ALIVE, in the task's directory */

struct ran; /* tasks/runner/ran.h */

/* The part that all tasks of the job share. */
struct job {
    const struct machine *machine;
    const struct jobdesc *desc;
    bool watched;     /* the daemon sees the end of this process */
    pid_t daemon;     /* that daemon, as long as it is our parent */
    int jobfd;        /* the descriptor for the exit records, which the daemon reads; -1: none */
    const char *gpus; /* ids, divided among the tasks, separated by commas; NULL: GPUs are not counted */
    struct cpus cpus; /* divided among the tasks; none: they are not the job's own, or its one task has them all */
    bool shared;      /* other runners have its other tasks, so this one does not write that the job has ended */
    const char *const *launch; /* the command that replaces the tasks' launchers; NULL: none */
    const char *tmpdir;        /* NULL: the job asked for none */
    struct oom *oom;           /* reports ends for lack of memory; NULL: none */
    struct restarts *restarts; /* of the ranks of a training; NULL: they are started once */
    struct watch *watch;       /* of directories with checkpoints; NULL: none */
    int64_t deadline;          /* Unix seconds; 0: none */
    bool cut_short;            /* the deadline is before the walltime's end, since the scheduler would end the job */
    bool late; /* the deadline is earlier, since the job was started when too little was left of its allocation */
    int64_t deadline_ms; /* the deadline by time_monotonic_ms(), INT64_MAX: none */
    char host[64];
};

struct task {
    const struct job *job;
    const struct jobdesc_task *desc;
    char mark[2 * JOB_NAME_MAX + 2]; /* STRETTO_TASK: "JOB/ID" */
    pid_t pid;                       /* 0 if it does not run */
    pid_t session;                   /* the session that its first process leads, or has led; 0: it was never started */
    bool new_end;                    /* its end is new, and processes that it left have not been looked for */
    int64_t kill_at; /* monotonic ms when processes that it left are killed; INT64_MAX: there are none */
    struct checkpoints checkpoints;
    struct rendezvous rendezvous;
    enum task_reading reading;
    /* monotonic ms until which the last look waits for processes that it left; 0: it does not wait */
    int64_t linger_until;
    /* monotonic ms until which its end is held back, as the whole job seems to have been told to end; 0: no */
    int64_t held_until;
    enum stop why; /* why the runner ended it; valid when it has ended */
    bool warned;   /* it was warned that the end is near */
    enum told told;
    int64_t silent_ms;       /* for how long it has shown no sign of life, with TOLD_STOPPED and TOLD_BLOCKED */
    json_t *artefacts;       /* those in its record; NULL: none */
    struct metrics *metrics; /* NULL: it is no member, or was never started */
    enum stop unread;        /* why they were not read to their end; STOP_NONE: they were */
    int64_t arrived_until; /* monotonic ms until which one that has arrived may end by itself; INT64_MAX: it may not */
    struct ran *ran;       /* what it runs; NULL: that is not recorded, or it was never started */
    struct exitrec rec;    /* valid when it has ended */
};

/* Returns whether it was told to end because it has shown no sign of life. */
static inline bool task_is_silent(const struct task *t)
{
    return t->told >= TOLD_STOPPED;
}

size_t gpus_count(const char *list); /* the number of ids in a list separated by commas */

void task_init(struct task *t, const struct job *job, const struct jobdesc_task *desc);

/* Makes its directory and starts it in a session of its own. If that fails, the task has ended, with the reason. */
void task_start(struct task *t);

/* Records a task that was never started, because the job was ended before. */
void task_skip(struct task *t, enum stop why);

/* task_end(): its process was waited for; `why` says whether the runner had told it to end. task_conclude() decides the
 * outcome afterwards: when its metrics were read, and its checkpoints looked for. */
void task_end(struct task *t, int status, const struct rusage *usage, enum stop why);
void task_conclude(struct task *t);
bool task_read_metrics(struct task *t); /* of one that has ended; returns whether there is no more to be read */
/* The rest is not read, since the job was told to end for this reason. */
void task_leave_metrics(struct task *t, enum stop why);
bool task_died_as_told(const struct task *t); /* it died by a signal that a batch system sends to jobs that it ends */
bool task_looks_whole(const struct task *t);  /* it exited with 0, and its success_file is there */
bool task_leaves_checkpoints(const struct task *t);
bool task_is_gone(const struct task *t); /* none of its processes is left running */

void task_fini(struct task *t);

#endif

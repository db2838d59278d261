/* One task of a job: started, ended, recorded. */
#ifndef TASKS_RUNNER_TASK_H
#define TASKS_RUNNER_TASK_H
#include "tasks/proto/exitrec.h"
#include "tasks/proto/jobdesc.h"
#include "tasks/runner/checkpoints.h"
#include "tasks/runner/cpus.h"
#include "tasks/runner/machine.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Why the runner ends its tasks. STOP_RANK: one of a training's ranks failed, and the others would wait for it. STOP_GIVEN_UP: the daemon
 * has given the job up, so that others may do its work by now. */
enum stop { STOP_NONE, STOP_TIMEOUT, STOP_CANCEL, STOP_RANK, STOP_GIVEN_UP };

/* Why the runner ends one task: it has shown no sign of life (tasks/runner/silence.h), and its processes were stopped, or were not. */
enum silent { SILENT_NOT, SILENT_STOPPED, SILENT_BLOCKED };

#define TASK_ALIVE "alive" /* STRETTO_ALIVE, in the task's directory */

/* What all tasks of the job share. */
struct job {
    const struct machine *machine;
    const struct jobdesc *desc;
    bool watched; /* the daemon sees this process end */
    pid_t daemon; /* that does, as long as it is our parent */
    int letter;   /* to answer to it with what became of the tasks; -1: none */
    const char *gpus; /* to be divided among the tasks, separated by commas; NULL: nobody keeps count of GPUs */
    struct cpus cpus; /* to be divided likewise; none: they are not the job's own, or its one task has them all */
    bool shared; /* other runners have the rest of its tasks: that it has ended is not ours to tell */
    const char *const *launch; /* the command that starts tasks with a launcher, in place of it; NULL: as they say */
    const char *tmpdir; /* NULL: it asked for none */
    struct oom *oom; /* tells of ends for want of memory; NULL: none */
    struct watch *watch; /* of directories with checkpoints; NULL: none */
    int64_t deadline; /* Unix seconds; 0: none */
    bool cut_short; /* that is before the walltime's end, since its scheduler would end it, */
    bool late;      /* or since it was started when less was left of its allocation */
    int64_t deadline_ms; /* the same by time_monotonic_ms(), INT64_MAX: none */
    char host[64];
};

struct task {
    const struct job *job;
    const struct jobdesc_task *desc;
    char mark[2 * JOB_NAME_MAX + 2]; /* STRETTO_TASK: "JOB/ID" */
    pid_t pid;                       /* 0 where it does not run */
    pid_t session;                   /* that its first process leads, or has led; 0: it was never started */
    bool ended;
    bool new_end; /* and what it left has not been looked for */
    int64_t kill_at; /* monotonic ms when what it left behind is killed; INT64_MAX: it left nothing */
    struct checkpoints checkpoints;
    bool looked_at; /* for the last time */
    int64_t linger_until; /* monotonic ms until which that waits for what it left running; 0: it does not */
    int64_t held_until; /* monotonic ms until which it may turn out that the whole job was told to end, as it seems to have been; 0: no */
    enum stop why;  /* it ended; valid since then */
    bool warned; /* it ran when the end was near */
    enum silent silent;
    struct exitrec rec; /* valid once ended */
};

size_t gpus_count(const char *list); /* how many a list separated by commas names */

void task_init(struct task *t, const struct job *job, const struct jobdesc_task *desc);

/* Make its directory and start it in a session of its own. Where that fails it has ended, with the reason. */
void task_start(struct task *t);

/* It was never started, because the job was ended before. */
void task_skip(struct task *t, enum stop why);

/* Its process was waited for. `why` says whether the runner had told it to end. What came of it is decided next, by
 * task_conclude(): of one that leaves checkpoints, when they were looked for. */
void task_end(struct task *t, int status, const struct rusage *usage, enum stop why);
void task_conclude(struct task *t);
bool task_died_as_told(const struct task *t); /* by what a batch system sends to those that it ends */
bool task_looks_whole(const struct task *t);  /* ended with exit status 0, and what success leaves behind is there */
bool task_leaves_checkpoints(const struct task *t);
bool task_is_gone(const struct task *t); /* nothing of it is left running */

void task_fini(struct task *t);

#endif

/* Restarts of a training's ranks in their job, after one of them has failed. Each rank has memory here that outlives
 * its process (tasks/proto/kept.h). The next process finds in it the samples that were acknowledged to members. All
 * ranks begin again together, from the newest checkpoint. If the memory of any rank does not have all of that, the job
 * ends instead, and the daemon starts another one. */
#ifndef TASKS_RUNNER_RESTARTS_H
#define TASKS_RUNNER_RESTARTS_H
#include "tasks/proto/retries.h"
#include "tasks/runner/task.h"

struct restarts {
    const struct job *job;
    int64_t failures, losses; /* that the training has had so far (tasks/proto/retries.h) */
    struct learnt from;       /* by the checkpoint that its ranks began from the last time */
    int number;               /* how often they have */
    int *memory;              /* a memfd for each task; NULL: none begins again */
    size_t recorded;          /* tasks whose end is recorded */
    bool given_up;            /* the job ends, and they do not begin again */
    bool wanted;              /* a rank has failed; when all processes have ended, they begin again */
    json_t *list;             /* what restarts.json says of each time */
};

void restarts_init(struct restarts *r, struct job *job, const struct task *tasks);
void restarts_fini(struct restarts *r);

/* A task has ended, and is concluded. Returns whether its end is not to be recorded, because all tasks begin again:
 * those that still run are to be ended then. `may`: nothing else ends the job. */
bool restarts_take(struct restarts *r, const struct task *t, bool may);

/* Everything has ended, and the tasks are to be started: notes that in restarts.json (docs/run-directory.md). */
void restarts_begin(struct restarts *r);

/* The job ends after all: ends of tasks are to be recorded from now on. */
void restarts_give_up(struct restarts *r);
#endif

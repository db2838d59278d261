/* The checkpoints of one task: which it goes on from, and which it leaves. */
#ifndef TASKS_RUNNER_CHECKPOINTS_H
#define TASKS_RUNNER_CHECKPOINTS_H
#include "tasks/proto/ckptdir.h"
#include "tasks/proto/ckptfind.h"
#include "tasks/proto/jobdesc.h"

struct checkpoints {
    const struct jobdesc_checkpoint *desc; /* NULL: the task leaves none */
    const char *dir;
    struct ckpt_chain chain;
    int64_t attempt;
    struct ckpt_files before; /* what was there when it started: none of it is new */
    char *resume;             /* absolute path of the one that it goes on from, or NULL */
    json_t *resumed;          /* … as its record has it */
    json_t *whole;            /* those that are whole, once it has ended; NULL: it is not known */
};

/* Before its start. The newest that is whole is read in full. -1 where it cannot be told: starting afresh would lose what
 * there may be. */
int checkpoints_begin(struct checkpoints *c, const struct jobdesc *job, const struct jobdesc_task *task, struct error *err);

/* After its end. `clean`: it ended by itself, with exit status 0 and nothing of it left running, so that what it wrote is
 * whole; otherwise only what it had left alone for a while is. */
void checkpoints_end(struct checkpoints *c, bool clean);

void checkpoints_fini(struct checkpoints *c);

#endif

/* The checkpoints of one task: the one that it goes on from, and those that it leaves.
 *
 * Looking for them reads whole files, which takes time: the loop makes a look, and a thread of its own runs it
 * (tasks/runner/looker.h). */
#ifndef TASKS_RUNNER_CHECKPOINTS_H
#define TASKS_RUNNER_CHECKPOINTS_H
#include "tasks/proto/ckptdir.h"
#include "tasks/proto/ckptfind.h"
#include "tasks/proto/jobdesc.h"
#include "tasks/runner/looker.h"

/* A file that was closed after writing, or renamed to this name, by a process on this host. */
struct sighting {
    char *path;
    bool renamed;
    int64_t at_ms;                 /* monotonic */
    int64_t size, mtime_ns, inode; /* at that time */
};

struct sightings {
    struct sighting *items; /* one for each path */
    size_t n;
};

struct checkpoints {
    const struct jobdesc_checkpoint *desc; /* NULL: the task leaves none */
    const char *glob;                      /* of files that are checkpoints; NULL: only what the library records */
    const char *dir;
    struct ckpt_chain chain;
    int64_t ensemble, attempt; /* the task's */
    struct ckpt_files before;  /* the files when it started: none of them is new */
    char *resume;              /* absolute path of the checkpoint that it goes on from, or NULL */
    json_t *resumed;           /* the same as its record has it */
    json_t *whole;             /* those that are complete, once it has ended; NULL: not known */
    struct sightings seen;     /* seen since it started, and not looked at */
    int64_t looked_ms;         /* the last look while it ran */
    int64_t recorded_ms;       /* when the library first wrote a record since the last look; 0: it did not */
    bool looking;
};

enum look_when {
    LOOK_RUNNING, /* files that have come to rest count */
    /* the task ended by itself, with exit status 0 and no process left running: all files that it wrote count */
    LOOK_CLEAN,
    LOOK_ENDED, /* the task ended otherwise: files that had come to rest before count */
};

struct look {
    struct errand errand; /* must be first */
    struct checkpoints *of;
    enum look_when when;
    int64_t now_ms;
    struct sightings seen;
    json_t *whole; /* the result; NULL: it could not be found out, for the reason in `note` */
    char note[512];
};

/* Prepares a task before its start. The newest complete checkpoint is read in full. -1 if it cannot be found out:
 * starting afresh would lose the checkpoints that there may be. */
int checkpoints_begin(struct checkpoints *c, const struct jobdesc *job, const struct jobdesc_task *task,
                      struct error *err);

/* Notes that a file in the directory was closed after writing, or renamed. */
void checkpoints_saw(struct checkpoints *c, const char *name, bool renamed, int64_t now_ms);

/* Notes that a checkpoint was recorded, which happens in another directory. */
void checkpoints_recorded(struct checkpoints *c, int64_t now_ms);

/* Returns when a look is due while the task runs; INT64_MAX: there is no reason for one, or one is under way. */
int64_t checkpoints_due(const struct checkpoints *c);

struct look *look_create(struct checkpoints *c, enum look_when when, int64_t now_ms);
/* runs on the thread: records new complete files, and removes those that need not be kept */
void look_run(struct look *look);
void look_taken(struct look *look); /* hands the result to the task, and frees the look */

void checkpoints_fini(struct checkpoints *c);

#endif

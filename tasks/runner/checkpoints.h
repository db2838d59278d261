/* The checkpoints of one task: which it goes on from, and which it leaves.
 *
 * Looking for them reads whole files, which takes its time: looks are made by the loop and run by a thread of their own
 * (tasks/runner/looker.h). */
#ifndef TASKS_RUNNER_CHECKPOINTS_H
#define TASKS_RUNNER_CHECKPOINTS_H
#include "tasks/proto/ckptdir.h"
#include "tasks/proto/ckptfind.h"
#include "tasks/proto/jobdesc.h"

/* A file that was closed after writing, or renamed to this name, by a process on this host. */
struct sighting {
    char *path;
    bool renamed;
    int64_t at_ms; /* monotonic */
    int64_t size, mtime_ns, inode; /* then */
};

struct sightings {
    struct sighting *items; /* one for each path */
    size_t n;
};

struct checkpoints {
    const struct jobdesc_checkpoint *desc; /* NULL: the task leaves none */
    const char *dir;
    struct ckpt_chain chain;
    int64_t ensemble, attempt; /* that run */
    struct ckpt_files before; /* what was there when it started: none of it is new */
    char *resume;             /* absolute path of the one that it goes on from, or NULL */
    json_t *resumed;          /* … as its record has it */
    json_t *whole;            /* those that are whole, once it has ended; NULL: it is not known */
    struct sightings seen;    /* since it started, and not looked at */
    int64_t looked_ms;        /* the last time, while it ran */
    int64_t recorded_ms;      /* when the library wrote to the books, since they were looked at; 0: it did not */
    bool looking;
};

enum look_when {
    LOOK_RUNNING, /* what has come to rest counts */
    LOOK_CLEAN,   /* it ended by itself, with exit status 0 and nothing of it left running: all that it wrote does */
    LOOK_ENDED,   /* it ended otherwise: what had come to rest before does */
};

struct look {
    struct look *next;
    struct checkpoints *of;
    enum look_when when;
    int64_t now_ms;
    struct sightings seen;
    json_t *whole; /* found; NULL: it could not be told, and why: */
    char note[512];
};

/* Before its start. The newest that is whole is read in full. -1 where it cannot be told: starting afresh would lose what
 * there may be. */
int checkpoints_begin(struct checkpoints *c, const struct jobdesc *job, const struct jobdesc_task *task, struct error *err);

/* A file in the directory was closed after writing, or renamed. */
void checkpoints_saw(struct checkpoints *c, const char *name, bool renamed, int64_t now_ms);

/* Something was recorded in its books, which are in a directory of their own. */
void checkpoints_recorded(struct checkpoints *c, int64_t now_ms);

/* When there is reason to look while it runs; INT64_MAX: there is none, or somebody is looking. */
int64_t checkpoints_due(const struct checkpoints *c);

struct look *look_create(struct checkpoints *c, enum look_when when, int64_t now_ms);
void look_run(struct look *look);  /* by the thread: records what is new and whole, and removes what need not be kept */
void look_taken(struct look *look); /* what it found goes to its task, and it is freed */

void checkpoints_fini(struct checkpoints *c);

#endif

/* Tasks that are hung: they have shown no sign of life for the time of the job's "silence". The signs of life of a task
 * are:
 *
 * - CPU time of its processes, 1 % of a processor at least
 * - processes that start and end
 * - output, and files in its directory and its checkpoint directory
 * - calls of the library, and waits in the library (tasks/proto/alive.h)
 *
 * A task is never regarded as hung while some of its processes cannot be seen from here, or wait for a disk or a
 * debugger. Time in which the runner itself did not run, because its job was suspended, does not count. */
#ifndef TASKS_RUNNER_SILENCE_H
#define TASKS_RUNNER_SILENCE_H
#include "tasks/runner/leftovers.h"
#include "tasks/runner/task.h"

#include <stdint.h>

/* The state of a task at one time. */
struct sight {
    unsigned long long ticks; /* CPU time, in clock ticks */
    uint64_t processes;       /* a digest of its processes */
    uint64_t files;           /* a digest of the times and sizes of its files */
    bool stopped;             /* all of its processes are stopped, as by SIGSTOP */
    bool learns;              /* a rank that learns from batches (tasks/proto/alive.h) */
    bool excused;             /* it may be at work, whatever its other signs are */
};

struct silence {
    struct sight last;
    bool seen;          /* `last` is valid */
    int64_t quiet_ms;   /* time without a sign of life */
    int64_t stopped_ms; /* time in which all of its processes were stopped */
};

/* Notes the state passed_ms after the last one, which was planned after pause_ms: if it comes much later, the runner
 * was suspended. */
void silence_note(struct silence *s, const struct sight *sight, int64_t passed_ms, int64_t pause_ms);

struct silences {
    int64_t limit_ms;    /* 0: no limit, and nothing is done */
    int64_t stopped_ms;  /* the limit for tasks that are stopped, and for ranks of a group that learn */
    int64_t pause_ms;    /* between two looks */
    int64_t looked, due; /* monotonic */
    struct silence *items;
};

void silences_init(struct silences *s, const struct job *job, int64_t now);
void silences_fini(struct silences *s);

/* Returns how long a task of this job may be stopped. */
static inline int64_t silence_stopped_ms(const struct jobdesc *desc)
{
    return desc->stopped_ms > 0 ? desc->stopped_ms : desc->silence_ms;
}

/* Looks at all running tasks if it is time to; sets `silent` of those that are hung. Returns how many these are.
 *
 * A rank that waits for another one is as quiet as a rank that is hung. So a rank of a training is hung if all ranks
 * are quiet, or if it was stopped. Several ranks that learn from batches wait for nothing but each other, and for
 * samples in the library, which is a sign of life: for them the shorter limit holds. A pilot that has nothing to do is
 * quiet: it is hung only if it was stopped. */
size_t silences_look(struct silences *s, struct leftovers *l, int64_t now);

/* Does the last part of that: sets `silent` by what has been noted of each task. */
size_t silences_judge(const struct silences *s, const struct leftovers *l);

int64_t silences_due(const struct silences *s); /* INT64_MAX: never */

#endif

/* Allocations as pilots: a few large jobs of an ensemble, of kind `pilot`, in which the jobs of its members run.
 *
 * To its adapter a pilot is a job like any other: intent, a unique name, claim, poll, cancel. Its runner starts a pilot
 * (stretto-run --pilot) on each of its nodes. That gets jobs from an inbox in the run directory and reports on them in
 * a journal there (docs/run-directory.md). A member job is bound to one node of one pilot for its life (job_row.pilot,
 * .node). Its fate stands in that journal and in its files, and no adapter is asked about it. A job that its node
 * returned, or that had not begun when its pilot ended, costs its members nothing. */
#ifndef DAEMON_ENGINE_MEMORY_PILOT_H
#define DAEMON_ENGINE_MEMORY_PILOT_H
#include "common/text.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/job_scheduler.h"
#include "daemon/store/attempt.h"

#include <stdbool.h>

/* The state of reading a node's journal. */
enum journal_reading {
    JOURNAL_NOT_READ,
    JOURNAL_READ_ONCE,
    JOURNAL_READ_TWICE, /* it is being read, and will be read once more, since there is news */
};

struct pilot_node {
    struct pilot *pilot;
    int64_t number;
    bool ready, over; /* its journal says so */
    bool closed;      /* it has returned a job that was wanted: it takes no more */
    bool whole;       /* its journal was read to the end, since memory was loaded, or since the pilot's job is over */
    enum journal_reading reading;
    int64_t offset;     /* read so far */
    int64_t fits;       /* jobs of members that run there at once */
    int64_t jobs;       /* that are bound to it, and not over */
    struct text orders; /* for its inbox: not written yet, */
    int64_t *handed;    /* and the jobs whose hand-over they report */
    size_t n_handed;
    bool writing;
    struct alarm flush;
};

struct pilot {
    struct live_job *job;
    struct pilot_node *nodes;
    int64_t n_nodes;
    int64_t deadline_ms; /* 0: none is known */
    bool begun;          /* a job of members has begun in it */
    enum attempt_outcome outcome;
    char reason[512];         /* why it ended, and */
    char given_back[200];     /* its node's report on it */
    bool finishing, finished; /* its job is over; and all that its journals say is known */
    struct alarm look;
    struct pilot *prev, *next; /* of its ensemble */
};

/* The allocations of a live ensemble. */
struct allocation {
    struct live_ensemble *ensemble;
    const struct job_scheduler *scheduler; /* of the jobs inside */
    struct pilot *pilots;                  /* oldest first */
    int64_t queue_ms;                      /* how long the last one waited */
    int64_t run_ms;                        /* how long jobs of members ran recently; 0: none has ended yet */
    int64_t fits;                          /* jobs of members in a pilot at once; 0: not known yet */
    int failures;                          /* pilots in a row that ended by themselves before anything began in them */
    int64_t not_before;                    /* that the next one is asked for */
    struct alarm wake;
};

#endif

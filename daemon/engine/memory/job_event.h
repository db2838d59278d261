/* Four states of a job, one for each question about it, and the events that change them. Nothing else changes them.
 * Code that learns something about a job, or begins or ends an operation, posts an event (job_post() in job.h). The
 * table at the top of job_event.c has the consequences. */
#ifndef DAEMON_ENGINE_MEMORY_JOB_EVENT_H
#define DAEMON_ENGINE_MEMORY_JOB_EVENT_H
#include "daemon/store/job.h"

#include <stdbool.h>

/* A belief is about the job's scheduler, or its pilot, and what it has of the job. Nearly every one may follow
 * any other, because schedulers forget jobs, are late, and come back with older states; so no belief proves
 * anything. */
enum job_belief {
    BELIEF_UNASKED, /* nobody has asked since a restart: the job must be looked up by its name */
    BELIEF_DOUBT,   /* its submission was not answered: it is looked up by its name after a while */
    BELIEF_ABSENT,  /* the scheduler does not have it: it was never sent, or is to be sent again */
    BELIEF_QUEUED,
    BELIEF_RUNNING,
    BELIEF_ENDED,
    BELIEF_FORGOTTEN, /* the scheduler took it, and does not know it any more */
    BELIEF_RETURNED,  /* the pilot has not started it, and never will */
    BELIEF_COUNT
};

/* A proof is what the run directory shows of a job. The first claim counts, and is never taken back. */
enum job_proof {
    PROOF_NONE,
    PROOF_CLAIMED, /* a runner has claimed the job: another one that is still queued can do nothing */
    PROOF_FENCED,  /* a runner has claimed it, but its later records of the open attempts do not count any more */
    PROOF_SEALED,  /* the daemon has claimed the job: no runner can start it any more */
    PROOF_COUNT
};

/* The knowledge whether the scheduler may have received a job. A job that was sent may start, even if it is believed to
 * be gone. */
enum job_sent {
    SENT_NEVER,
    SENT_NOW,    /* one submission was sent: it is under way, or was the last one */
    SENT_BEFORE, /* an earlier submission was forgotten, or not answered, or is from before a restart */
    SENT_COUNT
};

/* The operation that is under way for a job. No other one begins before it is over. */
enum job_pending {
    PENDING_NONE,
    PENDING_COMMIT, /* the intent to submit it is being committed */
    PENDING_WRITE,  /* its files are being written */
    PENDING_SUBMIT,
    PENDING_COLLECT,     /* its claim and its exit records are being read */
    PENDING_CLAIM,       /* the daemon is sealing the job, or fencing its exit records */
    PENDING_CHECKPOINTS, /* checkpoints of its members are being looked for */
    PENDING_SWEEP,       /* the job is over, and all others of its name are being cancelled */
};

struct job_states {
    enum job_belief belief;
    enum job_proof proof;
    enum job_sent sent;
    enum job_pending pending;
};

enum job_event {
    /* An operation begins. */
    EVENT_COMMITTING, /* its intent is to be committed */
    EVENT_WRITING,    /* its files are to be written */
    EVENT_SENDING,    /* it is to be submitted, or handed over to its pilot */
    EVENT_COLLECTING, /* its files are to be read, or points of metrics that they count */
    EVENT_SEALING,    /* the daemon is to claim it */
    EVENT_FENCING,    /* fences are to be written in the places of its exit records */
    EVENT_SEARCHING,  /* checkpoints are to be looked for */
    EVENT_SWEEPING,   /* others of its name are to be cancelled */

    /* An operation is over. */
    EVENT_COMMITTED,
    EVENT_WRITTEN,       /* its files are written, or could not be */
    EVENT_ACCEPTED,      /* the scheduler has accepted it, or the inbox of its pilot has it */
    EVENT_NOT_TAKEN,     /* the scheduler has not accepted it for now, and never did before */
    EVENT_REFUSED,       /* the scheduler never accepts this submission */
    EVENT_UNANSWERED,    /* nobody knows whether the scheduler accepted it, now or before */
    EVENT_NOT_HANDED,    /* the inbox of its pilot could not be written, or the pilot is over */
    EVENT_COLLECTED,     /* its files, or the points, are read, or could not be */
    EVENT_SEALED,        /* the daemon has claimed it */
    EVENT_NOT_SEALED,    /* somebody had claimed it before, or its claim could not be written */
    EVENT_FENCE_WRITTEN, /* each exit record's place is taken, by a fence or a record; or that failed */
    EVENT_SEARCHED,      /* checkpoints were looked for */
    EVENT_SWEPT,         /* others of its name were cancelled, or could not be */

    /* The scheduler, or the pilot, says something about it. */
    EVENT_TOLD_QUEUED,
    EVENT_TOLD_RUNNING,
    EVENT_TOLD_ENDED,     /* also the journal or the end of its pilot */
    EVENT_TOLD_ABSENT,    /* the scheduler does not know a job that is to be submitted */
    EVENT_TOLD_FORGOTTEN, /* the scheduler does not know a job that it had accepted */
    EVENT_RETURNED,       /* the pilot gives it back without having started it */
    EVENT_TAKEN,          /* it turns out that a submission was accepted of which the answer is lost or late */

    /* The run directory shows something. */
    EVENT_CLAIM,  /* the claim of a runner */
    EVENT_SEAL,   /* a claim of the daemon, maybe of one before a restart */
    EVENT_FENCED, /* fences in the places of all records of open attempts */

    EVENT_TIMER,     /* the wait is over after which a job in doubt is looked up */
    EVENT_STARTED,   /* it has started, by any report */
    EVENT_AGAIN,     /* the scheduler forgot it before it started: it is to be submitted once more */
    EVENT_NOT_THERE, /* its pilot does not know it: it is to be handed over, maybe once more */
    EVENT_ORPHANED,  /* its pilot is over and may have started it: its files say */
    EVENT_OVER,      /* everything about it is known and stored */
    EVENT_COUNT
};

/* Sets the states of a job that is new, or that was `loaded` from the store after a restart: its submission may then
 * have been sent. */
void job_states_init(struct job_states *states, bool loaded);
/* Changes the states, and the one in the job's row, by an event. An event that is impossible in a state is a bug: it
 * fails a stretto_assert(), and leaves that state as it is. */
void job_states_change(struct job_states *states, enum job_state *row, enum job_event event);

#endif

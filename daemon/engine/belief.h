/* A belief is what a job's scheduler, or its pilot, seems to have of it. Only events change a belief, and the table in
 * belief.c has all of them. Nearly every belief may follow any other, because schedulers forget jobs, are late, and
 * come back with older states; so no belief proves anything. For what the run directory proves see enum job_proof
 * (job.h). */
#ifndef DAEMON_ENGINE_BELIEF_H
#define DAEMON_ENGINE_BELIEF_H

enum job_belief {
    BELIEF_UNASKED,   /* nobody has asked since a restart: the job must be looked up by its name */
    BELIEF_DOUBT,     /* its submission was not answered: it is looked up by its name after a while */
    BELIEF_ABSENT,    /* the scheduler does not have it: it was never sent, or is to be sent again */
    BELIEF_QUEUED,
    BELIEF_RUNNING,
    BELIEF_ENDED,
    BELIEF_FORGOTTEN, /* the scheduler took it, and does not know it any more */
    BELIEF_RETURNED,  /* the pilot has not started it, and never will */
    BELIEF_COUNT
};

enum job_event {
    EVENT_WAITED,      /* the wait is over after which a job in doubt is looked up */
    EVENT_NOT_TAKEN,   /* the scheduler has not accepted it for now, and never did before */
    EVENT_UNANSWERED,  /* nobody knows whether the scheduler accepted it, now or before */
    EVENT_TAKEN,       /* the scheduler has accepted it, or must have, since it has started */
    EVENT_SEND_AGAIN,  /* the scheduler forgot it before it started: it is to be submitted once more */
    EVENT_TOLD_QUEUED, /* the scheduler says that it is queued */
    EVENT_TOLD_RUNNING, /* the scheduler says that it runs */
    EVENT_TOLD_ENDED,  /* the scheduler, or the journal or the end of its pilot, says that it has ended */
    EVENT_TOLD_ABSENT, /* the scheduler does not know a job that is to be submitted */
    EVENT_TOLD_FORGOTTEN, /* the scheduler does not know a job that it had accepted */
    EVENT_RETURNED,    /* the pilot gives it back without having started it */
    EVENT_COUNT
};

/* Returns the belief that follows, or BELIEF_COUNT if the event is impossible in this belief. */
enum job_belief belief_after(enum job_belief belief, enum job_event event);

#endif

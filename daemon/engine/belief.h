/* What the scheduler of a job, or its pilot, is believed to have of it. A belief changes by events alone, and the table in
 * belief.c has all of them. Schedulers forget jobs, are late, and come back with older states: so nearly every belief may
 * follow any other, and no belief proves anything. What the run directory proves is enum job_proof (job.h). */
#ifndef DAEMON_ENGINE_BELIEF_H
#define DAEMON_ENGINE_BELIEF_H

enum job_belief {
    BELIEF_UNASKED,   /* nobody has asked since a restart: the job is to be looked up by its name */
    BELIEF_DOUBT,     /* its submission was not answered: it is looked up after a while, not at once */
    BELIEF_ABSENT,    /* the scheduler does not have it: it was never sent, or is to be sent again */
    BELIEF_QUEUED,
    BELIEF_RUNNING,
    BELIEF_ENDED,
    BELIEF_FORGOTTEN, /* the scheduler took it, and does not know it any more */
    BELIEF_RETURNED,  /* the pilot has not started it, and never will */
    BELIEF_COUNT
};

enum job_event {
    EVENT_WAITED,      /* the time is over after which a job in doubt is looked up */
    EVENT_NOT_TAKEN,   /* the scheduler has not taken it for now, and never did before */
    EVENT_UNANSWERED,  /* nobody knows whether the scheduler took it, now or before */
    EVENT_TAKEN,       /* the scheduler has taken it, or must have: somebody has started it */
    EVENT_SEND_AGAIN,  /* the scheduler forgot it before it started: it is to be submitted once more */
    EVENT_TOLD_QUEUED, /* the scheduler says so; likewise the next four */
    EVENT_TOLD_RUNNING,
    EVENT_TOLD_ENDED,  /* also of a job in a pilot: by the pilot's journal, or by the end of the pilot */
    EVENT_TOLD_ABSENT, /* it does not know a job that is to be submitted, */
    EVENT_TOLD_FORGOTTEN, /* or one that it took */
    EVENT_RETURNED,    /* the pilot gives it back */
    EVENT_COUNT
};

/* The belief that follows. BELIEF_COUNT: the event cannot happen then. */
enum job_belief belief_after(enum job_belief belief, enum job_event event);

#endif

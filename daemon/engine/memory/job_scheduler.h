/* The scheduler of a job: its adapter, or, for a job inside a pilot, that pilot. The steps of a job's life are the same
 * for both, and use these. */
#ifndef DAEMON_ENGINE_MEMORY_JOB_SCHEDULER_H
#define DAEMON_ENGINE_MEMORY_JOB_SCHEDULER_H
#include <stdbool.h>

struct adapter_job;
struct engine;
struct live_job;

struct job_scheduler {
    bool polled;         /* it is asked again and again about its jobs; otherwise it reports news by itself */
    bool sure;           /* it finds by its name each job that it was given, and a job is over when it says so */
    bool hands_over;     /* it gives the descriptor to the job's runner: no job.json is written */
    bool has_duplicates; /* it may have several jobs of one name */
    /* It may return a job, or end before it starts one. This costs the job's members nothing, and the job is not
     * submitted again: they get another one. */
    bool returns_jobs;

    /* Returns whether it takes the job, if that is submitted now. If it does not, the job is lost. */
    bool (*takes)(const struct live_job *job);
    /* Submits the job, whose state is PENDING_SUBMIT until the answer comes. */
    void (*submit)(struct engine *engine, struct live_job *job, const struct adapter_job *ajob);
    /* Orders the end of the job. If the order may have to be given again, `ending.cancel_again_ms` then says when. */
    void (*cancel)(struct engine *engine, struct live_job *job, const struct adapter_job *ajob);
    /* Returns the exit records of a job that is gone, as adapter_ops.take_records does. */
    char *(*take_records)(struct live_job *job);
};

/* Returns the job's scheduler. */
const struct job_scheduler *job_scheduler(const struct live_job *job);

#endif

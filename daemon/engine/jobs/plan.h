/* The files that are written before a job is submitted. */
#ifndef DAEMON_ENGINE_JOBS_PLAN_H
#define DAEMON_ENGINE_JOBS_PLAN_H
#include <stdbool.h>
#include <stddef.h>

struct adapter_job;
struct engine;
struct live_job;

struct job_plan {
    char **dirs;
    size_t n_dirs;
    struct rundir_file *files;
    size_t n_files;
    char *descriptor; /* if the adapter hands it over: it is then not written as a file */
    bool failed;      /* the parameters of a member cannot be read: the plan is to be dropped */
    struct plan_refusal {
        size_t slot;
        char reason[200];
    } * refused; /* tasks that can never start: the plan is to be dropped, and made again without them */
    size_t n_refused;
};

void plan_drop(struct job_plan *plan);
void plan_job(const struct engine *engine, const struct live_job *job, struct job_plan *plan);
void plan_adapter_job(const struct live_job *job, char *dir, struct adapter_job *out);

#endif

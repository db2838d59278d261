/* Writes a job descriptor piece by piece, which the daemon does once for every job:
 *
 *     jobdesc_begin, { jobdesc_task_begin, jobdesc_arg…, jobdesc_env…, jobdesc_task_end }…, jobdesc_end
 *
 * The arguments come before the environment; there must be at least one of each. */
#ifndef TASKS_PROTO_JOBDESC_TEXT_H
#define TASKS_PROTO_JOBDESC_TEXT_H
#include "common/text.h"
#include "tasks/proto/jobdesc.h"

struct jobdesc_text {
    struct text text;
    size_t tasks;
    enum { JOBDESC_AT_NOTHING, JOBDESC_AT_ARGS, JOBDESC_AT_ENV } at;
};

/* jobdesc_begin() writes all of desc except its tasks, and jobdesc_task_begin() all of the task except argv and env. */
void jobdesc_begin(struct jobdesc_text *t, const struct jobdesc *desc);
void jobdesc_task_begin(struct jobdesc_text *t, const struct jobdesc_task *task);
void jobdesc_arg(struct jobdesc_text *t, const char *value);
void jobdesc_env(struct jobdesc_text *t, const char *name, const char *value); /* each name only once */
void jobdesc_task_end(struct jobdesc_text *t);
char *jobdesc_end(struct jobdesc_text *t); /* to be freed */

#endif

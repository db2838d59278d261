/* The lives of pilots, and which jobs run in them. */
#ifndef DAEMON_ENGINE_JOBS_PILOT_LIFE_H
#define DAEMON_ENGINE_JOBS_PILOT_LIFE_H
#include <stdbool.h>

struct allocation;
struct engine;
struct live_ensemble;
struct live_job;
struct pilot;

struct allocation *allocation_new(struct live_ensemble *ens);
void allocation_free(struct engine *engine, struct allocation *alloc);
void pilot_begin(struct engine *engine, struct live_job *job); /* makes the job a pilot */
void pilot_free(struct engine *engine, struct pilot *pilot);
void pilot_tell_end(struct engine *engine, const struct live_job *job); /* the event */
/* Returns whether a job that is over has had all of its journals read. If not, the job is touched once that is done. */
bool pilot_is_finished(struct engine *engine, struct live_job *job);
/* Binds a job to its node, by its row; to none if it is not inside a pilot, or that is gone. */
void pilot_bind(struct engine *engine, struct live_job *job);
void pilot_unbind(struct live_job *job);

#endif

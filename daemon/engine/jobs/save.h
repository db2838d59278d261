/* Rows of jobs, and that their members run, are written a little later than these are known. */
#ifndef DAEMON_ENGINE_JOBS_SAVE_H
#define DAEMON_ENGINE_JOBS_SAVE_H
#include <stdint.h>

struct alarm;
struct engine;
struct live_job;
struct slot;

/* Writes the rows that job_save_later() put off and that are due. */
void save_all(struct engine *engine, int64_t due_ms);
void save_due(struct engine *engine, struct alarm *alarm);
void job_save_later(struct engine *engine, struct live_job *job);
void job_save(struct engine *engine, struct live_job *job);
/* Takes the job off the list of unsaved ones, because its row was written, or the job is being freed. */
void job_saved(struct engine *engine, struct live_job *job);
/* Writes that the slot runs, and the event of that, if it is still untold. */
void slot_tell_running(struct engine *engine, struct live_job *job, struct slot *slot);

#endif

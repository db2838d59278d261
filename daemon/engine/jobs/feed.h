/* Points of metrics that members report: reading the files in which their runners hand them over. */
#ifndef DAEMON_ENGINE_JOBS_FEED_H
#define DAEMON_ENGINE_JOBS_FEED_H
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_job;
struct slot;

/* Begins to read the files of a job that runs; ends it for a job that is freed. */
void feed_begin(struct engine *engine, struct live_job *job);
void feed_end(struct engine *engine, struct live_job *job);

/* Has files read that are to be read now: many in one order, and all that they have new stored in one transaction. */
void feed_read(struct engine *engine);

/* Notes how large the exit record says that the slot's file is. Returns whether some of it is still to be read. */
bool feed_lacks(struct slot *slot, int64_t size);
/* Reads the points that slots lack. The job, whose collection waits for that, is touched afterwards. */
void feed_rest(struct engine *engine, struct live_job *job);
#endif

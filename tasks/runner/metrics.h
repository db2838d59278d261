/* The metrics that a task reports in files: those of $STRETTO_METRICS, and a file that its program writes anyway. The
 * runner reads on in them as they grow, and hands points on to the daemon in the file "points" (tasks/proto/points.h).
 * A task decides with them, at its end, whether it has diverged, and whether it has reached what the spec asks for. */
#ifndef TASKS_RUNNER_METRICS_H
#define TASKS_RUNNER_METRICS_H
#include "tasks/proto/jobdesc.h"
#include "tasks/proto/points.h"

#include <stdbool.h>
#include <stdint.h>

#define METRICS_FILE "metrics.jsonl" /* what $STRETTO_METRICS names, in the task's directory */

struct metrics; /* of a task */

/* Begins with a task that starts at this Unix time. */
struct metrics *metrics_create(const struct jobdesc *job, const struct jobdesc_task *task, int64_t unix_ms,
                               int64_t now_ms);
void metrics_destroy(struct metrics *m); /* NULL is allowed */

/* Reads new points, if it is time to, and hands them on. */
void metrics_work(struct metrics *m, int64_t unix_ms, int64_t now_ms);
int64_t metrics_due(const struct metrics *m); /* by the monotonic clock */

/* Reads on, since the task has ended, and hands it on. Returns whether that is all: files that are large are read in
 * several calls, so that the runner does other things meanwhile. */
bool metrics_end(struct metrics *m, int64_t unix_ms);
/* Leaves the rest of the files unread: from now on metrics_end() only hands on. */
void metrics_cut(struct metrics *m);

/* Returns whether the task has diverged: one of its metrics is NaN or infinite at its end; or, while it runs, has been
 * so, if the spec ends it then. `why`, if it is not NULL, gets a phrase. */
bool metrics_diverged(const struct metrics *m, bool ended, char *why, size_t size);

/* The first point of the metric, at the step up to which the task is to go or beyond, by which it has got there. */
struct metrics_rung {
    int64_t step;
    double value;
    bool beyond; /* it has reported a later step since, so that it does not end there by itself */
};

/* Returns whether there is such a point. */
bool metrics_at_rung(const struct metrics *m, struct metrics_rung *rung);
/* The same of a task that has ended by itself: one whose steps count from 0 has got there with the step before. */
bool metrics_ended_at_rung(const struct metrics *m, struct metrics_rung *rung);
/* Returns the last step at which the task reported that metric, -1 if it did not. */
int64_t metrics_rung_step(const struct metrics *m);

enum metrics_verdict { METRICS_REACHED, METRICS_MISSED, METRICS_ABSENT };

/* Returns whether the task has reached the value that the spec asks for; `why` gets a phrase if it has not. */
enum metrics_verdict metrics_judge(const struct metrics *m, char *why, size_t size);

/* Returns whether the task has reported progress 1: it says that it has finished. */
bool metrics_finished(const struct metrics *m);

int64_t metrics_size(const struct metrics *m); /* bytes of the file of points */

/* Writes the mistakes in the reported metrics; "" if there were none. */
void metrics_notice(const struct metrics *m, char *out, size_t size);

#endif

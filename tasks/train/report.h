/* Reports to the daemon: status-rankR.json and metrics-rankR.jsonl, written by a thread of its own at most once a
 * second, and done-rankR.json (docs/run-directory.md). */
#ifndef TASKS_TRAIN_REPORT_H
#define TASKS_TRAIN_REPORT_H
#include "tasks/train/config.h"
#include "tasks/train/stretto-train.h"

struct report;

/* Starts the thread, which calls `stats`; that must not hold a lock for long. The arguments outlive the report. */
struct report *report_start(const struct train_config *config,
                            void (*stats)(void *arg, struct stretto_train_stats *stats), void *arg, struct error *err);

/* Writes what is queued, and stops the thread. NULL is allowed. */
void report_stop(struct report *report);

/* Queues a metric point, which is written within a second. -1 if there is no memory. */
int report_metric(struct report *report, const char *name, int64_t step, double value);

/* Notes values of members, of which each one's mean is written within a second. -1 if there is no memory. */
int report_members(struct report *report, int count, const int64_t *member, const double *value);

/* Writes the points that are queued now. */
void report_flush(struct report *report);

/* Returns the samples per second of the last status. */
double report_rate(struct report *report);

/* Writes metrics, a last status, and the done record, at once; `state` is how the training ended;
 * `early`: it is done although more samples may come. */
int report_done(struct report *report, enum stretto_train_state state, bool early, struct error *err);
#endif

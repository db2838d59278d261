/* Telling the daemon: status-rankR.json and metrics-rankR.jsonl, written by a thread of their own at most once a
 * second, and done-rankR.json (docs/run-directory.md). */
#ifndef TASKS_TRAIN_REPORT_H
#define TASKS_TRAIN_REPORT_H
#include "tasks/train/config.h"
#include "tasks/train/stretto-train.h"

struct report;

/* Starts the thread. `stats` is asked from it, and must not hold a lock for long; arguments outlive the report. */
struct report *report_start(const struct train_config *config, void (*stats)(void *arg, struct st_train_stats *stats),
                            void *arg, struct error *err);

/* Writes what is still to be written. NULL is taken. */
void report_stop(struct report *report);

/* Queue a metric point; written within a second. -1 where there is no memory. */
int report_metric(struct report *report, const char *name, int64_t step, double value);

/* The samples a second that the last status told. */
double report_rate(struct report *report);

/* Write metrics, a last status, and the done record, now. */
int report_done(struct report *report, struct error *err);
#endif

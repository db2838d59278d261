/* The curves of runs of a sweep: reads their points over HTTP, one page at a time. */
#ifndef CLI_SWEEP_CURVE_H
#define CLI_SWEEP_CURVE_H
#include "cli/sweep_read.h"

/* The attempts of a run: when they began and ended, in Unix seconds; NAN if that is not known. */
struct attempts {
    double *starts, *ends;
    int64_t n;
};

int attempts_read(struct cli *cli, const struct sweep_run *run, struct attempts *attempts, struct error *err);
void attempts_fini(struct attempts *attempts);
/* Returns the time for which all attempts together ran. */
double attempts_time(const struct attempts *attempts);

double sweep_number(const json_t *obj, const char *key); /* NAN for null or anything that is no number */
double sweep_moment(const json_t *obj, const char *key); /* Unix seconds of a time; NAN if there is none */

/* Finds how long a run took, and how long its curve is. `own` has its member's figures of the metric. */
int sweep_measure(struct cli *cli, const struct sweep_query *query, const json_t *own, const struct attempts *attempts,
                  struct sweep_run *run, struct error *err);

/* Chooses the horizon if the query has none. It is the larger of two lengths: the median of the lengths of the curves
 * of ranked runs, and the length by which nine of ten runs have their second point. */
void sweep_choose_horizon(struct sweep_query *query, const struct sweep *sweep);

/* Computes the figures of a ranked run from its points. A ranking by area leaves out a run that has no curve. */
int sweep_read_curve(struct cli *cli, struct sweep_query *query, enum sweep_figure by, struct sweep_run *run,
                     struct error *err);
#endif

/* Reads the runs of a sweep over HTTP: members of ensembles, and the points of their metric one page at a time. */
#ifndef CLI_SWEEP_READ_H
#define CLI_SWEEP_READ_H
#include "cli/cli.h"
#include "cli/curve.h"
#include "cli/sweep.h"

/* A range that a run's last value of a metric must be in. */
struct sweep_range {
    char metric[128]; /* "" for no range */
    bool above, strictly;
    double limit;
};

struct sweep_query {
    const int64_t *ensembles;
    size_t n_ensembles;
    const char *metric;
    const char *group, *repeat; /* parameters; NULL for none. "ensemble" is the number of the ensemble */
    struct sweep_range accept;
    double target;   /* NAN for none */
    bool over_steps; /* areas and curves are over steps rather than time */
    double horizon;  /* seconds or steps from the first point of each run on; NAN: chosen by sweep_read() */
    size_t curves;   /* is set to the number of runs with an area */
    size_t carried;  /* is set to the number of those that ended before the horizon, whose last value was carried on */
    bool higher;
    json_t *rules;     /* an object: the remarks on each ensemble that has some (sweep_rules.h) */
    json_t *artefacts; /* an object: those of each run of which they were read */
    json_t *metrics;   /* an object: the figures of all metrics of each such run */
};

/* Reads "accuracy>=0.74" and the like. Returns -1 if the text is something else. */
int sweep_range_parse(const char *text, struct sweep_range *range);
bool sweep_range_has(const struct sweep_range *range, double value);

/* Reads all runs, and computes their figures. sweep->by is set before. */
int sweep_read(struct cli *cli, struct sweep_query *query, struct sweep *sweep, struct error *err);

/* Reads what the best runs left, overall and of each group, at most `max` of them. */
int sweep_read_artefacts(struct cli *cli, struct sweep_query *query, const struct sweep *sweep, size_t max,
                         struct error *err);
void sweep_query_fini(struct sweep_query *query);

/* Reads the points of a run once more, and calls `each` with every point: seconds or steps from the first one on. */
int sweep_read_points(struct cli *cli, const struct sweep_query *query, const struct sweep_run *run,
                      void (*each)(void *arg, double at, double value), void *arg, struct error *err);

/* Adds a value of a parameter as people read it. */
struct text;
void sweep_put_value(struct text *out, const json_t *value);

/* Reads the member of a run; NULL with err. */
json_t *sweep_member(struct cli *cli, const struct sweep_run *run, struct error *err);
#endif

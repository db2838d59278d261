/* A sweep: runs with different parameters that are compared by a metric. This part only computes. */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H
#include <stdbool.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum sweep_fate {
    SWEEP_RANKED,
    SWEEP_OUTSIDE,  /* it succeeded, but not within the range that was asked for */
    SWEEP_STOPPED,  /* early, at a rung */
    SWEEP_DIVERGED, /* its metric ended in NaN or an infinity */
    SWEEP_FAILED,
    SWEEP_AGAINST,    /* it ran something else than the rules say */
    SWEEP_UNFINISHED, /* it waits, runs, was cancelled or goes on elsewhere */
    SWEEP_UNMEASURED, /* it succeeded, and has no such metric */
    SWEEP_NO_CURVE,   /* it succeeded, and has fewer than two points up to the horizon of a ranking by area */
    SWEEP_FATES
};
extern const char *const sweep_fate_names[SWEEP_FATES];

enum sweep_figure {
    SWEEP_AREA, /* under the curve up to the horizon */
    SWEEP_LAST,
    SWEEP_BEST,
    SWEEP_REACHED, /* seconds until the target */
    SWEEP_RAN,     /* seconds that the run took */
    SWEEP_FIGURES
};

struct sweep_run {
    int64_t ensemble, index;
    enum sweep_fate fate;
    char *parameters; /* for people: "lr=0.1 batch=64" */
    json_t *values;   /* of the parameters, an object */
    char *config;     /* all parameters in which configurations differ, in a form that is the same for the same ones */
    char *shown;      /* the same for people */
    char *group;      /* the value of the parameter that makes groups; NULL: there are no groups */
    char *reason;     /* "" for none */
    double figures[SWEEP_FIGURES];    /* NAN for none */
    double core_seconds, gpu_seconds; /* of all attempts */
    double span;                      /* of its curve, from the first finite point to the last one; NAN: not known */
    int64_t attempts, points, not_finite;
    double started, ended; /* of its last attempt, in Unix seconds; NAN if it is not known */
};

/* Mean, sample standard deviation (NAN for one) and number of the runs that have the figure. */
struct sweep_stat {
    double mean, deviation;
    size_t n;
};

/* Runs that differ only in the parameters that repeat them, such as a seed. */
struct sweep_config {
    const struct sweep_run *const *runs;
    size_t n;
    size_t fates[SWEEP_FATES];
    struct sweep_stat stats[SWEEP_FIGURES]; /* of its runs that are ranked */
    size_t rank;                            /* from 1 on; 0: none of its runs is ranked */
};

struct sweep_group {
    const char *value;
    double number;                   /* the value as a number; NAN: it is none */
    const struct sweep_config *best; /* NULL: none of the group is ranked */
    size_t configs, ranked;
    double speed_up, efficiency; /* against the group with the smallest number; NAN: not known */
};

struct sweep {
    bool higher;            /* higher values of the metric are better */
    enum sweep_figure by;   /* by which configurations are ranked */
    enum sweep_figure time; /* by which groups are compared: SWEEP_REACHED or SWEEP_RAN */
    bool by_ensemble;       /* groups are ensembles, whose numbers are of nothing: there is no speed-up between them */
    struct sweep_run *runs;
    size_t n_runs;
    /* made by sweep_settle() */
    const struct sweep_run **sorted;
    struct sweep_config *configs; /* those that are ranked first, the best before all */
    size_t n_configs, n_ranked;
    struct sweep_group *groups; /* numbers first, by value; then texts */
    size_t n_groups;
    size_t fates[SWEEP_FATES]; /* number of runs */
};

/* Adds a run, of which the caller fills in all fields. It stays where it is until the next call. */
struct sweep_run *sweep_add(struct sweep *sweep);
/* Makes configurations, ranks and groups of all runs. */
void sweep_settle(struct sweep *sweep);
void sweep_fini(struct sweep *sweep);

/* Returns mean, deviation and number of those of the values that are finite. */
struct sweep_stat sweep_stat_of(const double *values, size_t n);
#endif

#include "cli/sweep.h"

#include "cli/curve.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const sweep_fate_names[SWEEP_FATES] = {
    [SWEEP_RANKED] = "ranked",
    [SWEEP_OUTSIDE] = "outside the range",
    [SWEEP_STOPPED] = "stopped",
    [SWEEP_DIVERGED] = "diverged",
    [SWEEP_FAILED] = "failed",
    [SWEEP_AGAINST] = "against the rules",
    [SWEEP_UNFINISHED] = "unfinished",
    [SWEEP_UNMEASURED] = "without the metric",
    [SWEEP_NO_CURVE] = "without a curve",
};

struct sweep_run *sweep_add(struct sweep *sweep)
{
    if ((sweep->n_runs & (sweep->n_runs - 1)) == 0) /* the room doubles */
        sweep->runs = xrealloc(sweep->runs, sweep->n_runs > 0 ? 2 * sweep->n_runs : 1, sizeof *sweep->runs);
    sweep->runs[sweep->n_runs] = (struct sweep_run){0};
    return &sweep->runs[sweep->n_runs++];
}

struct sweep_stat sweep_stat_of(const double *values, size_t n)
{
    struct sweep_stat stat = {.mean = NAN, .deviation = NAN};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            stat.n++;
        }
    if (stat.n == 0)
        return stat;
    stat.mean = sum / (double)stat.n;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            squares += (values[i] - stat.mean) * (values[i] - stat.mean);
    if (stat.n > 1)
        stat.deviation = sqrt(squares / (double)(stat.n - 1));
    return stat;
}

static int run_by_place(const struct sweep_run *a, const struct sweep_run *b)
{
    if (a->ensemble != b->ensemble)
        return a->ensemble < b->ensemble ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int by_config(const void *x, const void *y)
{
    const struct sweep_run *a = *(const struct sweep_run *const *)x, *b = *(const struct sweep_run *const *)y;
    int order = strcmp(a->config, b->config);

    return order != 0 ? order : run_by_place(a, b);
}

static void sum_up(struct sweep_config *config, double *scratch)
{
    for (int figure = 0; figure < SWEEP_FIGURES; figure++) {
        size_t n = 0;

        for (size_t i = 0; i < config->n; i++)
            if (config->runs[i]->fate == SWEEP_RANKED)
                scratch[n++] = config->runs[i]->figures[figure];
        config->stats[figure] = sweep_stat_of(scratch, n);
    }
}

static void make_configs(struct sweep *sweep)
{
    double *scratch = xcalloc(sweep->n_runs + 1, sizeof *scratch);

    sweep->sorted = xcalloc(sweep->n_runs + 1, sizeof *sweep->sorted);
    sweep->configs = xcalloc(sweep->n_runs + 1, sizeof *sweep->configs);
    for (size_t i = 0; i < sweep->n_runs; i++)
        sweep->sorted[i] = &sweep->runs[i];
    qsort(sweep->sorted, sweep->n_runs, sizeof *sweep->sorted, by_config);
    for (size_t i = 0; i < sweep->n_runs; i++) {
        const struct sweep_run *run = sweep->sorted[i];

        if (i == 0 || strcmp(run->config, sweep->sorted[i - 1]->config) != 0)
            sweep->configs[sweep->n_configs++].runs = &sweep->sorted[i];
        sweep->configs[sweep->n_configs - 1].n++;
        sweep->configs[sweep->n_configs - 1].fates[run->fate]++;
        sweep->fates[run->fate]++;
    }
    for (size_t i = 0; i < sweep->n_configs; i++)
        sum_up(&sweep->configs[i], scratch);
    free(scratch);
}

struct rank_order {
    enum sweep_figure by;
    bool higher;
};

/* Ranked ones come first; among them those whose ranked runs all have the figure; then the better ones. */
static int by_rank(const void *x, const void *y, void *arg)
{
    const struct sweep_config *a = x, *b = y;
    const struct rank_order *order = arg;
    const struct sweep_stat *of_a = &a->stats[order->by], *of_b = &b->stats[order->by];
    bool whole_a = of_a->n > 0 && of_a->n == a->fates[SWEEP_RANKED];
    bool whole_b = of_b->n > 0 && of_b->n == b->fates[SWEEP_RANKED];

    if ((a->fates[SWEEP_RANKED] > 0) != (b->fates[SWEEP_RANKED] > 0))
        return a->fates[SWEEP_RANKED] > 0 ? -1 : 1;
    if (whole_a != whole_b)
        return whole_a ? -1 : 1;
    if (curve_better(order->higher, of_a->mean, of_b->mean))
        return -1;
    if (curve_better(order->higher, of_b->mean, of_a->mean))
        return 1;
    return run_by_place(a->runs[0], b->runs[0]);
}

static void rank_configs(struct sweep *sweep)
{
    struct rank_order order = {sweep->by, sweep->higher && sweep->by != SWEEP_REACHED && sweep->by != SWEEP_RAN};

    qsort_r(sweep->configs, sweep->n_configs, sizeof *sweep->configs, by_rank, &order);
    while (sweep->n_ranked < sweep->n_configs && sweep->configs[sweep->n_ranked].fates[SWEEP_RANKED] > 0) {
        sweep->configs[sweep->n_ranked].rank = sweep->n_ranked + 1;
        sweep->n_ranked++;
    }
}

static double number_of_text(const char *text)
{
    char *end;
    double number = strtod(text, &end);

    return *text != '\0' && *end == '\0' && isfinite(number) ? number : NAN;
}

static int by_value(const void *x, const void *y)
{
    const struct sweep_group *a = x, *b = y;

    if (isnan(a->number) != isnan(b->number))
        return isnan(a->number) ? 1 : -1;
    if (!isnan(a->number) && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return strcmp(a->value, b->value);
}

static struct sweep_group *find_group(struct sweep *sweep, const char *value)
{
    for (size_t i = 0; i < sweep->n_groups; i++)
        if (strcmp(sweep->groups[i].value, value) == 0)
            return &sweep->groups[i];
    sweep->groups = xrealloc(sweep->groups, sweep->n_groups + 1, sizeof *sweep->groups);
    sweep->groups[sweep->n_groups] =
        (struct sweep_group){.value = value, .number = number_of_text(value), .speed_up = NAN, .efficiency = NAN};
    return &sweep->groups[sweep->n_groups++];
}

/* Compares the best of each group with that of the group with the smallest number. */
static void compare_groups(struct sweep *sweep)
{
    const struct sweep_group *base = &sweep->groups[0];
    double time = base->best != NULL ? base->best->stats[sweep->time].mean : NAN;

    for (size_t i = 0; i < sweep->n_groups; i++) {
        struct sweep_group *group = &sweep->groups[i];

        if (sweep->by_ensemble || group->best == NULL || isnan(group->number) || base->number <= 0)
            continue;
        group->speed_up = time / group->best->stats[sweep->time].mean;
        group->efficiency = group->speed_up * base->number / group->number;
    }
}

void sweep_settle(struct sweep *sweep)
{
    make_configs(sweep);
    rank_configs(sweep);
    for (size_t i = 0; i < sweep->n_configs; i++) { /* the best first */
        const struct sweep_config *config = &sweep->configs[i];
        struct sweep_group *group;

        if (config->runs[0]->group == NULL)
            continue;
        group = find_group(sweep, config->runs[0]->group);
        group->configs++;
        group->ranked += config->rank > 0;
        if (group->best == NULL && config->rank > 0)
            group->best = config;
    }
    if (sweep->n_groups == 0)
        return;
    qsort(sweep->groups, sweep->n_groups, sizeof *sweep->groups, by_value);
    compare_groups(sweep);
}

void sweep_fini(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->n_runs; i++) {
        free(sweep->runs[i].parameters);
        json_decref(sweep->runs[i].values);
        free(sweep->runs[i].config);
        free(sweep->runs[i].shown);
        free(sweep->runs[i].group);
        free(sweep->runs[i].reason);
    }
    free(sweep->runs);
    free(sweep->sorted);
    free(sweep->configs);
    free(sweep->groups);
}

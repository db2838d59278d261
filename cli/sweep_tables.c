#include "cli/sweep_print.h"

#include "cli/render.h"
#include "cli/sweep_curve.h"
#include "cli/sweep_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of the ranking beside rank, parameters, number and hours: one for each figure. */
static const char *const figure_names[SWEEP_FIGURES] = {"area", "last", "best", "time to target", "time"};

static bool is_time(enum sweep_figure figure)
{
    return figure == SWEEP_REACHED || figure == SWEEP_RAN;
}

static char *figure_text(char buf[RENDER_SIZE], enum sweep_figure figure, double value)
{
    if (isnan(value))
        snprintf(buf, RENDER_SIZE, "-");
    else if (is_time(figure))
        render_duration(buf, value);
    else
        snprintf(buf, RENDER_SIZE, "%.6g", value);
    return buf;
}

/* Adds a mean, with its spread if there are several runs, and their number if not all of them have the figure. */
static void put_stat(struct sheet *sheet, const struct sweep_config *config, enum sweep_figure figure)
{
    const struct sweep_stat *stat = &config->stats[figure];
    char mean[RENDER_SIZE], deviation[RENDER_SIZE], of[48] = "";

    if (stat->n > 0 && stat->n < config->fates[SWEEP_RANKED])
        snprintf(of, sizeof of, " (%zu of %zu)", stat->n, config->fates[SWEEP_RANKED]);
    figure_text(mean, figure, stat->mean);
    if (isnan(stat->deviation))
        sheet_cellf(sheet, "%s%s", mean, of);
    else
        sheet_cellf(sheet, "%s ± %s%s", mean, figure_text(deviation, figure, stat->deviation), of);
}

static void put_run_number(struct sheet *sheet, const struct sweep_config *config)
{
    size_t ranked = config->fates[SWEEP_RANKED];

    if (ranked == config->n)
        sheet_cellf(sheet, "%zu", ranked);
    else
        sheet_cellf(sheet, "%zu of %zu", ranked, config->n);
}

/* Notes up to where areas are taken, and how many of them rest on a curve that ended before. */
static void note_area(struct sheet *sheet, const struct sweep_query *query)
{
    char horizon[RENDER_SIZE];

    if (!isfinite(query->horizon))
        return;
    if (query->over_steps)
        snprintf(horizon, sizeof horizon, "%.15g steps", query->horizon);
    else
        render_duration(horizon, query->horizon);
    sheet_note(sheet, "The area is that under the curve of each run over the first %s from its first point on.",
               horizon);
    if (query->carried > 0)
        sheet_note(sheet, "%zu of %zu curves end before that; their last value is carried on.", query->carried,
                   query->curves);
}

/* Returns for text what the numbers are: how runs were ranked, and up to where curves were integrated. */
static void note_ranking(struct sheet *sheet, const struct sweep *sweep, const struct sweep_query *query)
{
    sheet_note(sheet, "Ranked by %s of \"%s\"; %s.", figure_names[sweep->by], query->metric,
               is_time(sweep->by) ? "less time is better"
               : sweep->higher    ? "higher is better"
                                  : "lower is better");
    note_area(sheet, query);
    if (query->accept.metric[0] != '\0')
        sheet_note(sheet, "Only runs are ranked whose last \"%s\" is %s%s %g.", query->accept.metric,
                   query->accept.above ? "above" : "below", query->accept.strictly ? "" : " or at",
                   query->accept.limit);
    if (!isnan(query->target))
        sheet_note(sheet, "The target is %g.", query->target);
    if (query->repeat != NULL)
        sheet_note(sheet, "Runs that differ in \"%s\" alone are repetitions: mean ± standard deviation.",
                   query->repeat);
}

static void print_ranking(const struct sweep *sweep, const struct sweep_query *query, size_t top, enum sheet_form form,
                          FILE *to)
{
    static const char *const headers[] = {">rank", "run",   "parameters",      ">runs", ">area",
                                          ">last", ">best", ">time to target", ">time", NULL};
    struct sheet *sheet = sheet_create("Ranking", headers);
    size_t n = top > 0 && top < sweep->n_ranked ? top : sweep->n_ranked;

    for (size_t i = 0; i < n; i++) {
        const struct sweep_config *config = &sweep->configs[i];

        sheet_cellf(sheet, "%zu", config->rank);
        sheet_cellf(sheet, "%lld.%lld%s", (long long)config->runs[0]->ensemble, (long long)config->runs[0]->index,
                    config->n > 1 ? "…" : "");
        sheet_cell(sheet, config->runs[0]->shown);
        put_run_number(sheet, config);
        for (int figure = 0; figure < SWEEP_FIGURES; figure++)
            put_stat(sheet, config, (enum sweep_figure)figure);
    }
    if (n == 0)
        sheet_note(sheet, "No run is ranked.");
    else
        note_ranking(sheet, sweep, query);
    if (sweep->fates[SWEEP_NO_CURVE] > 0)
        sheet_note(sheet, "%zu of %zu runs are not ranked, since they have fewer than two points up to the horizon.",
                   sweep->fates[SWEEP_NO_CURVE], sweep->n_runs);
    if (n < sweep->n_ranked)
        sheet_note(sheet, "The best %zu of %zu configurations; --top 0 shows all.", n, sweep->n_ranked);
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

static void put_factor(struct sheet *sheet, double value)
{
    if (isnan(value))
        sheet_cell(sheet, "-");
    else
        sheet_cellf(sheet, "%.3g", value);
}

static void print_groups(const struct sweep *sweep, const struct sweep_query *query, size_t top, enum sheet_form form,
                         FILE *to)
{
    const char *headers[] = {query->group, ">ranked",         "best run", "parameters", ">area",       ">last",
                             ">best",      ">time to target", ">time",    ">speed-up",  ">efficiency", NULL};
    struct sheet *sheet;
    size_t n = top > 0 && top < sweep->n_groups ? top : sweep->n_groups;

    if (sweep->n_groups == 0)
        return;
    sheet = sheet_create("The best of each group", headers);
    for (size_t i = 0; i < n; i++) {
        const struct sweep_group *group = &sweep->groups[i];
        const struct sweep_run *run = group->best != NULL ? group->best->runs[0] : NULL;

        sheet_cell(sheet, group->value[0] != '\0' ? group->value : "-");
        sheet_cellf(sheet, "%zu of %zu", group->ranked, group->configs);
        if (run != NULL)
            sheet_cellf(sheet, "%lld.%lld", (long long)run->ensemble, (long long)run->index);
        else
            sheet_cell(sheet, "-");
        sheet_cell(sheet, run != NULL ? run->shown : "-");
        for (int figure = 0; figure < SWEEP_FIGURES; figure++) {
            if (group->best != NULL)
                put_stat(sheet, group->best, (enum sweep_figure)figure);
            else
                sheet_cell(sheet, "-");
        }
        put_factor(sheet, group->speed_up);
        put_factor(sheet, group->efficiency);
    }
    if (!isnan(sweep->groups[0].number))
        sheet_note(sheet, "Speed-up and efficiency are by the %s, against %s = %s.", figure_names[sweep->time],
                   query->group, sweep->groups[0].value);
    if (n < sweep->n_groups)
        sheet_note(sheet, "The first %zu of %zu groups; --top 0 shows all.", n, sweep->n_groups);
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

static void put_unranked(struct sheet *sheet, const struct sweep_run *run)
{
    char text[RENDER_SIZE];

    sheet_cellf(sheet, "%lld.%lld", (long long)run->ensemble, (long long)run->index);
    sheet_cell(sheet, sweep_fate_names[run->fate]);
    sheet_cell(sheet, run->parameters);
    sheet_cell(sheet,
               run->fate == SWEEP_DIVERGED ? "not finite" : figure_text(text, SWEEP_LAST, run->figures[SWEEP_LAST]));
    sheet_cell(sheet, run->reason);
}

static void print_unranked(const struct sweep *sweep, size_t top, enum sheet_form form, FILE *to)
{
    static const char *const headers[] = {"run", "fate", "parameters", ">last", "reason", NULL};
    size_t all = sweep->n_runs - sweep->fates[SWEEP_RANKED], n = 0;
    struct sheet *sheet;

    if (all == 0)
        return;
    sheet = sheet_create("Not ranked", headers);
    for (int fate = SWEEP_RANKED + 1; fate < SWEEP_FATES; fate++)
        for (size_t i = 0; i < sweep->n_runs && (top == 0 || n < top); i++)
            if (sweep->runs[i].fate == (enum sweep_fate)fate) {
                put_unranked(sheet, &sweep->runs[i]);
                n++;
            }
    if (n < all)
        sheet_note(sheet, "The first %zu of %zu; --top 0 shows all.", n, all);
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

static void print_numbers(const struct sweep *sweep, enum sheet_form form, FILE *to)
{
    static const char *const headers[] = {"runs", ">number", ">core hours", ">GPU hours", NULL};
    struct sheet *sheet = sheet_create("Runs and what they used", headers);
    double cores = 0, gpus = 0;

    for (int fate = 0; fate < SWEEP_FATES; fate++) {
        double core_seconds = 0, gpu_seconds = 0;

        for (size_t i = 0; i < sweep->n_runs; i++)
            if (sweep->runs[i].fate == (enum sweep_fate)fate) {
                core_seconds += sweep->runs[i].core_seconds;
                gpu_seconds += sweep->runs[i].gpu_seconds;
            }
        cores += core_seconds;
        gpus += gpu_seconds;
        if (sweep->fates[fate] == 0)
            continue;
        sheet_cell(sheet, sweep_fate_names[fate]);
        sheet_cellf(sheet, "%zu", sweep->fates[fate]);
        sheet_cellf(sheet, "%.4g", core_seconds / 3600);
        sheet_cellf(sheet, "%.4g", gpu_seconds / 3600);
    }
    sheet_cell(sheet, "all");
    sheet_cellf(sheet, "%zu", sweep->n_runs);
    sheet_cellf(sheet, "%.4g", cores / 3600);
    sheet_cellf(sheet, "%.4g", gpus / 3600);
    sheet_note(sheet,
               "Hours are those of all attempts that have ended, times the CPUs and GPUs that the spec asks for.");
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

/* Prints what the best runs reached by all of their metrics, such as an accuracy beside the loss. */
static void print_best_metrics(const struct sweep_query *query, enum sheet_form form, FILE *to)
{
    static const char *const headers[] = {"run", "metric", ">last", ">least", ">greatest", NULL};
    static const char *const keys[] = {"last", "min", "max"};
    struct sheet *sheet;
    const char *run, *name;
    json_t *metrics, *own;
    char text[RENDER_SIZE];

    if (json_object_size(query->metrics) == 0)
        return;
    sheet = sheet_create("Metrics of the best runs", headers);
    json_object_foreach (query->metrics, run, metrics)
        json_object_foreach (metrics, name, own) {
            sheet_cell(sheet, run);
            sheet_cell(sheet, name);
            for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
                sheet_cell(sheet, figure_text(text, SWEEP_LAST, sweep_number(own, keys[i])));
        }
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

static void print_best_artefacts(const struct sweep_query *query, enum sheet_form form, FILE *to)
{
    static const char *const headers[] = {"run", "artefact", ">bytes", "SHA-256", NULL};
    struct sheet *sheet;
    const char *run;
    json_t *list, *artefact;
    size_t i;

    if (json_object_size(query->artefacts) == 0)
        return;
    sheet = sheet_create("What the best runs left", headers);
    json_object_foreach (query->artefacts, run, list)
        json_array_foreach (list, i, artefact) {
            sheet_cell(sheet, run);
            sheet_cell(sheet, get_string(artefact, "path"));
            sheet_cellf(sheet, "%lld", (long long)get_int(artefact, "size"));
            sheet_cell(sheet, get_string(artefact, "sha256"));
        }
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

void sweep_print_tables(const struct sweep *sweep, const struct sweep_query *query, size_t top, enum sheet_form form,
                        FILE *to)
{
    print_ranking(sweep, query, top, form, to);
    print_groups(sweep, query, top, form, to);
    print_best_metrics(query, form, to);
    print_unranked(sweep, top, form, to);
    sweep_print_rules(query, form, to);
    print_best_artefacts(query, form, to);
    print_numbers(sweep, form, to);
}

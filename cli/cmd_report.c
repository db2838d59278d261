#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/mllog.h"
#include "cli/sweep_print.h"
#include "common/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENSEMBLES_MAX 100
#define TOP 20

enum {
    OPTION_HIGHER = 1000,
    OPTION_HORIZON,
    OPTION_STEPS,
    OPTION_TARGET,
    OPTION_ACCEPT,
    OPTION_TOP,
    OPTION_HTML,
    OPTION_MARKDOWN,
    OPTION_CSV,
    OPTION_MLLOG,
    OPTION_SET
};

struct report_options {
    int64_t ensembles[ENSEMBLES_MAX];
    struct sweep_query query;
    enum sweep_figure by; /* SWEEP_FIGURES: not said */
    int64_t top;
    const char *horizon; /* NULL: not said */
    bool csv, markdown;
    const char *html; /* a file; NULL for none */
    bool mllog;
    struct mllog_query log;
    size_t n_runs; /* arguments that name a run */
};

static double parse_number(struct argp_state *state, const char *arg, const char *what)
{
    char *end;
    double number = strtod(arg, &end);

    if (end == arg || *end != '\0' || !isfinite(number))
        argp_error(state, "%s must be a number, not \"%s\"", what, arg);
    return number;
}

/* Reads --horizon once it is known whether --steps is given. */
static double parse_horizon(struct argp_state *state, const char *arg, bool over_steps)
{
    double steps = over_steps ? parse_number(state, arg, "--horizon with --steps") : 0;
    int64_t ms = 0;

    if (over_steps ? steps <= 0 : duration_parse(arg, &ms) < 0 || ms <= 0)
        argp_error(state, "--horizon must be %s, not \"%s\"",
                   over_steps ? "a number of steps above 0" : "a duration such as 90s or 2h", arg);
    return over_steps ? steps : (double)ms / 1000;
}

static enum sweep_figure parse_figure(const struct argp_state *state, const char *arg)
{
    static const char *const names[SWEEP_FIGURES] = {"area", "last", "best", "target", "time"};
    int figure = 0;

    while (figure < SWEEP_FIGURES && strcmp(arg, names[figure]) != 0)
        figure++;
    if (figure == SWEEP_FIGURES)
        argp_error(state, "--by is area, last, best, target or time, not \"%s\"", arg);
    return (enum sweep_figure)figure;
}

static void check_report_options(struct argp_state *state, const struct report_options *report)
{
    const struct sweep_query *query = &report->query;

    if (query->group != NULL && query->repeat != NULL && strcmp(query->group, query->repeat) == 0)
        argp_error(state, "--group and --repeat cannot be the same parameter");
    if (report->by == SWEEP_REACHED && isnan(query->target))
        argp_error(state, "--by target needs --target");
    if (report->csv && report->markdown)
        argp_error(state, "--csv or --markdown?");
    if (report->mllog && (report->n_runs != 1 || query->n_ensembles > 0))
        argp_error(state, "--mllog is of one run, such as 7.3");
    if (!report->mllog && (report->n_runs > 0 || json_object_size(report->log.said) > 0))
        argp_error(state, report->n_runs > 0 ? "a report is of ensembles, such as 7, and only --mllog is of a run"
                                             : "--set is for --mllog");
}

static error_t parse_report_option(int key, char *arg, struct argp_state *state)
{
    struct report_options *report = state->input;
    struct sweep_query *query = &report->query;
    struct ref ref;

    switch (key) {
    case 'm': query->metric = arg; return 0;
    case 'b': report->by = parse_figure(state, arg); return 0;
    case 'g': query->group = arg; return 0;
    case 'r': query->repeat = arg; return 0;
    case OPTION_HIGHER: query->higher = true; return 0;
    case OPTION_HORIZON: report->horizon = arg; return 0;
    case OPTION_STEPS: query->over_steps = true; return 0;
    case OPTION_TARGET: query->target = parse_number(state, arg, "--target"); return 0;
    case OPTION_ACCEPT:
        if (sweep_range_parse(arg, &query->accept) < 0)
            argp_error(state, "--accept must be such as accuracy>=0.74, not \"%s\"", arg);
        return 0;
    case OPTION_TOP: report->top = arg_number(state, arg, "--top", 0); return 0;
    case OPTION_CSV: report->csv = true; return 0;
    case OPTION_MARKDOWN: report->markdown = true; return 0;
    case OPTION_HTML: report->html = arg; return 0;
    case OPTION_MLLOG: report->mllog = true; return 0;
    case OPTION_SET:
        if (mllog_say(report->log.said, arg) < 0)
            argp_error(state, "--set must be such as submission_org=ours, not \"%s\"", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (ref_parse(arg, &ref) == 0 && ref.index >= 0) {
            report->log.run = ref;
            report->n_runs++;
            return 0;
        }
        if (query->n_ensembles == ENSEMBLES_MAX)
            argp_error(state, "%d ensembles at most", ENSEMBLES_MAX);
        report->ensembles[query->n_ensembles++] = arg_ensemble(state, arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "of which ensembles? `stretto status` lists them"); return 0;
    case ARGP_KEY_END:
        if (report->horizon != NULL)
            query->horizon = parse_horizon(state, report->horizon, query->over_steps);
        check_report_options(state, report);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"metric", 'm', "NAME", 0, "the metric by which runs are compared; default loss", 0},
    {"higher", OPTION_HIGHER, NULL, 0, "higher values of it are better", 0},
    {"by", 'b', "FIGURE", 0, "rank by area (under the curve over time, the default), last, best, target or time", 0},
    {"steps", OPTION_STEPS, NULL, 0, "areas and curves are over steps rather than time", 0},
    {"horizon", OPTION_HORIZON, "DURATION", 0,
     "the area up to this time after the first point of each run, or with --steps this number of steps; default the "
     "median length of the curves, or more where they have few points",
     0},
    {"target", OPTION_TARGET, "VALUE", 0, "the time until the metric reaches this value", 0},
    {"accept", OPTION_ACCEPT, "RANGE", 0,
     "rank only runs whose last value is in this range, such as accuracy>=0.74; by time where nothing else is said", 0},
    {"group", 'g', "PARAMETER", 0, "the best for each value of this parameter, such as workers", 0},
    {"repeat", 'r', "PARAMETER", 0, "runs that differ in this parameter alone, such as seed, are repetitions", 0},
    {"top", OPTION_TOP, "N", 0, "tables of at most N rows, 0 for all; default 20", 0},
    {"csv", OPTION_CSV, NULL, 0, "a row for each run, as comma-separated values", 0},
    {"markdown", OPTION_MARKDOWN, NULL, 0, "as Markdown", 0},
    {"html", OPTION_HTML, "FILE", 0, "also write a page with curves that needs no network (-: to standard output)", 0},
    {"mllog", OPTION_MLLOG, NULL, 0,
     "the log lines of MLPerf for one run, whose evaluations are the points of the metric", 0},
    {"set", OPTION_SET, "KEY=VALUE", 0, "a line of --mllog, such as submission_org=ours; {lr} stands for a parameter",
     0},
    {0}};
static const struct argp argp = {options,
                                 parse_report_option,
                                 "ID...\nID.INDEX",
                                 "Compares the members of ensembles, such as trainings with different learning rates.",
                                 0,
                                 0,
                                 0};

/* Sets --by, or the default that follows from the other options. */
static void choose_figure(const struct report_options *report, struct sweep *sweep)
{
    sweep->higher = report->query.higher;
    sweep->time = isnan(report->query.target) ? SWEEP_RAN : SWEEP_REACHED;
    sweep->by = report->by < SWEEP_FIGURES               ? report->by
                : report->query.accept.metric[0] != '\0' ? sweep->time
                                                         : SWEEP_AREA;
}

static int write_page(struct cli *cli, const struct report_options *report, const struct sweep *sweep,
                      struct error *err)
{
    bool standard = strcmp(report->html, "-") == 0;
    FILE *to = standard ? stdout : fopen(report->html, "w");
    int rc;

    if (to == NULL)
        return error_errno(err, "file_write", "cannot write %s", report->html);
    rc = sweep_print_page(cli, sweep, &report->query, (size_t)report->top, to, err);
    if (!standard && (fclose(to) != 0 && rc == 0))
        rc = error_errno(err, "file_write", "cannot write %s", report->html);
    return rc;
}

static int print_sweep(struct cli *cli, const struct report_options *report, const struct sweep *sweep,
                       struct error *err)
{
    if (report->html != NULL && write_page(cli, report, sweep, err) < 0)
        return -1;
    if (report->html != NULL && strcmp(report->html, "-") == 0)
        return 0;
    if (cli->json)
        sweep_print_json(sweep, &report->query, stdout);
    else if (report->csv)
        sweep_print_csv(sweep, stdout);
    else
        sweep_print_tables(sweep, &report->query, (size_t)report->top, report->markdown ? SHEET_MARKDOWN : SHEET_TEXT,
                           stdout);
    return 0;
}

static int print_log(struct cli *cli, struct report_options *report, struct error *err)
{
    int rc;

    report->log.metric = report->query.metric;
    report->log.higher = report->query.higher;
    report->log.target = report->query.target;
    rc = mllog_print(cli, &report->log, stdout, err);
    json_decref(report->log.said);
    return rc < 0 ? cli_fail(err) : CLI_HOLDS;
}

int cmd_report(struct cli *cli, int argc, char **argv)
{
    struct report_options report = {
        .query = {.metric = "loss", .target = NAN, .horizon = NAN}, .by = SWEEP_FIGURES, .top = TOP};
    struct sweep sweep = {0};
    struct error err;
    int rc;

    report.query.ensembles = report.ensembles;
    report.log.said = json_object();
    if (cli_parse(cli, &argp, argc, argv, &report, &err) < 0) {
        json_decref(report.log.said);
        return cli_fail(&err);
    }
    if (report.mllog)
        return print_log(cli, &report, &err);
    json_decref(report.log.said);
    choose_figure(&report, &sweep);
    rc = sweep_read(cli, &report.query, &sweep, &err);
    if (rc == 0) {
        sweep_settle(&sweep);
        rc = sweep_read_artefacts(cli, &report.query, &sweep, report.top > 0 ? (size_t)report.top : SIZE_MAX, &err);
    }
    if (rc == 0)
        rc = print_sweep(cli, &report, &sweep, &err);
    sweep_query_fini(&report.query);
    sweep_fini(&sweep);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

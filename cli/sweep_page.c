/* A report as one page that works without a network: tables, and curves as inline SVG. */
#include "cli/sweep_print.h"

#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CURVES 12 /* of the best configurations */
#define PLOTS 8   /* of groups */
#define EACH 6    /* curves in the plot of a group */
#define BARS 24
#define COLUMNS 400 /* dots of a curve at most: one for each piece of time */
#define WIDTH 900
#define HEIGHT 380
#define LEFT 70
#define RIGHT 15
#define TOP 15
#define BOTTOM 40

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1100px;padding:0 1rem;color:#1b1b1f;"
    "background:#fff}h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;"
    "display:block;overflow-x:auto}th,td{padding:.25rem .7rem;border-bottom:1px solid #ddd;text-align:left;"
    "white-space:nowrap}.number{text-align:right;font-variant-numeric:tabular-nums}p{margin:.4rem 0;color:#444}"
    ".bars{display:grid;grid-template-columns:auto 1fr;gap:.2rem .7rem;font-size:.9rem}.bars span{white-space:nowrap}"
    ".bars div{display:flex;align-items:center;gap:.5rem}.bars i{display:block;height:.8rem;min-width:1px}"
    "svg{max-width:100%;height:auto}ul{list-style:none;padding:0;columns:2}"
    "@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171b}th,td{border-color:#3a3a42}p{color:#bbb}}";

static const char *const colours[CURVES] = {"#4269d0", "#c77e00", "#e0433b", "#2f9e9e", "#3ca951", "#d75fa0",
                                            "#9564d8", "#7f8ea3", "#8a6a4d", "#5f5fd0", "#a0a000", "#40a0f0"};

/* A curve in as many pieces of time as the picture has room for, of which each keeps its last value. */
struct dots {
    double value[COLUMNS]; /* NAN if there is none */
    double span;           /* seconds */
};

static void take_dot(void *arg, double time, double value)
{
    struct dots *dots = arg;
    size_t column = dots->span > 0 ? (size_t)(time / dots->span * (COLUMNS - 1)) : 0;

    if (isfinite(value) && column < COLUMNS)
        dots->value[column] = value;
}

struct scale {
    double low, high;
    bool logarithmic;
};

static double svg_height(const struct scale *scale, double value)
{
    double part = scale->logarithmic ? log(value / scale->low) / log(scale->high / scale->low)
                                     : (value - scale->low) / (scale->high - scale->low);

    return TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
}

static double left_of(size_t column)
{
    return LEFT + (double)column / (COLUMNS - 1) * (WIDTH - LEFT - RIGHT);
}

/* The curves of one picture: the best configurations of all runs, or of a group. */
struct svg_plot {
    const char *group; /* NULL: of all */
    const struct sweep_config *configs[CURVES];
    struct dots *dots[CURVES];
    size_t n;
};

struct plots {
    struct svg_plot all[PLOTS];
    size_t n;
    double span; /* of all of them, so that they can be compared */
    struct scale scale;
};

static void stretch(struct scale *scale, const struct dots *dots)
{
    for (size_t k = 0; k < COLUMNS; k++) {
        scale->low = fmin(scale->low, dots->value[k]); /* a number rather than NAN */
        scale->high = fmax(scale->high, dots->value[k]);
    }
}

/* The axis is logarithmic if values are positive and differ by more than a factor of 50. */
static struct scale find_scale(const struct plots *plots)
{
    struct scale scale = {INFINITY, -INFINITY, false};

    for (size_t i = 0; i < plots->n; i++)
        for (size_t k = 0; k < plots->all[i].n; k++)
            stretch(&scale, plots->all[i].dots[k]);
    scale.logarithmic = scale.low > 0 && scale.high / scale.low > 50;
    if (scale.low == scale.high) {
        scale.low -= 0.5;
        scale.high += 0.5;
    }
    return scale;
}

static void print_axes(const struct plots *plots, const struct sweep_query *query, FILE *to)
{
    const struct scale *scale = &plots->scale;

    for (int i = 0; i <= 4; i++) {
        double part = i / 4.0, time = plots->span * part, x = LEFT + part * (WIDTH - LEFT - RIGHT), y;
        double value = scale->logarithmic ? scale->low * pow(scale->high / scale->low, part)
                                          : scale->low + part * (scale->high - scale->low);

        y = svg_height(scale, value);
        fprintf(to, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#8884\"/>", LEFT, WIDTH - RIGHT, y, y);
        fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>", LEFT - 8, y + 4, value);
        fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.3g%s</text>\n", x, HEIGHT - BOTTOM + 20,
                i < 4 ? "middle" : "end", time, query->over_steps ? "" : " s");
    }
}

/* Draws up to where areas are taken. */
static void print_horizon(const struct plots *plots, const struct sweep_query *query, FILE *to)
{
    double x = LEFT + query->horizon / plots->span * (WIDTH - LEFT - RIGHT);
    bool right = x > WIDTH / 2.0;

    if (!isfinite(query->horizon) || query->horizon > plots->span)
        return;
    fprintf(to, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"currentColor\" stroke-dasharray=\"5 4\"/>",
            x, x, TOP, HEIGHT - BOTTOM);
    fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">horizon</text>\n", right ? x - 6 : x + 6, TOP + 12,
            right ? "end" : "start");
}

static void print_curve(const struct dots *dots, const struct scale *scale, const struct sweep_config *config,
                        const char *colour, FILE *to)
{
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" points=\"", colour);
    for (size_t k = 0; k < COLUMNS; k++)
        if (!isnan(dots->value[k]))
            fprintf(to, "%.1f,%.1f ", left_of(k), svg_height(scale, dots->value[k]));
    fprintf(to, "\"><title>%zu. ", config->rank);
    sheet_print_text(config->runs[0]->shown, SHEET_HTML, to);
    fputs("</title></polyline>\n", to);
}

static void print_legend(const struct svg_plot *plot, FILE *to)
{
    fputs("<ul>\n", to);
    for (size_t i = 0; i < plot->n; i++) {
        fprintf(to,
                "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect width=\"14\" height=\"14\" "
                "fill=\"%s\"/></svg> %zu. ",
                colours[i], plot->configs[i]->rank);
        sheet_print_text(plot->configs[i]->runs[0]->shown, SHEET_HTML, to);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
}

static void print_plot(const struct plots *plots, const struct svg_plot *plot, const struct sweep_query *query,
                       FILE *to)
{
    fputs("<section>\n<h2>Curves", to);
    if (plot->group != NULL) {
        fputs(" of ", to);
        sheet_print_text(query->group, SHEET_HTML, to);
        fputs(" = ", to);
        sheet_print_text(plot->group, SHEET_HTML, to);
    }
    fprintf(to, "</h2>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"", WIDTH,
            HEIGHT, WIDTH, HEIGHT);
    sheet_print_text(query->metric, SHEET_HTML, to);
    fputs(query->over_steps ? " over steps" : " over time", to);
    fputs("\" font-size=\"12\" fill=\"currentColor\">\n", to);
    print_axes(plots, query, to);
    print_horizon(plots, query, to);
    for (size_t i = plot->n; i-- > 0;) /* the best one above all */
        print_curve(plot->dots[i], &plots->scale, plot->configs[i], colours[i], to);
    fputs("</svg>\n", to);
    print_legend(plot, to);
    fputs("<p>", to);
    sheet_print_text(query->metric, SHEET_HTML, to);
    fprintf(to,
            " over the %s from the first point of each run on, of the best %zu configurations%s%s.</p>\n</section>\n",
            query->over_steps ? "steps" : "time", plot->n, query->repeat != NULL ? " (the first run of each)" : "",
            plots->scale.logarithmic ? "; the axis is logarithmic" : "");
}

/* Returns the number of the group that a configuration is of. */
static size_t group_of(const struct sweep *sweep, const struct sweep_config *config)
{
    size_t i = 0;

    while (i < sweep->n_groups && strcmp(sweep->groups[i].value, config->runs[0]->group) != 0)
        i++;
    return i;
}

/* Prints a bar for the area of each of the best configurations; those of a group have the same colour. */
static void print_bars(const struct sweep *sweep, FILE *to)
{
    size_t n = sweep->n_ranked < BARS ? sweep->n_ranked : BARS;
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(sweep->configs[i].stats[SWEEP_AREA].mean)); /* not of NAN */
    if (most == 0)
        return;
    fputs("<section>\n<h2>Areas</h2>\n<div class=\"bars\">\n", to);
    for (size_t i = 0; i < n; i++) {
        const struct sweep_config *config = &sweep->configs[i];
        double area = config->stats[SWEEP_AREA].mean;

        if (isnan(area))
            continue;
        fprintf(to, "<span>%zu. ", config->rank);
        sheet_print_text(config->runs[0]->shown, SHEET_HTML, to);
        fprintf(to, "</span><div><i style=\"width:%.1f%%;background:%s\"></i>%.6g</div>\n", 80 * fabs(area) / most,
                colours[group_of(sweep, config) % CURVES], area);
    }
    fputs("</div>\n<p>The area under the curve of the best configurations, in the order of their ranks", to);
    fputs(sweep->n_groups > 0 ? "; each group has a colour.</p>\n</section>\n" : ".</p>\n</section>\n", to);
}

/* Returns the first run of the configuration that is ranked. */
static const struct sweep_run *run_of(const struct sweep_config *config)
{
    size_t i = 0;

    while (config->runs[i]->fate != SWEEP_RANKED)
        i++;
    return config->runs[i];
}

/* Chooses which configurations are drawn: the best of each group, or of all if there are no groups. */
static void choose_plots(const struct sweep *sweep, struct plots *plots)
{
    size_t each = sweep->n_groups > 0 ? EACH : CURVES;

    plots->n = sweep->n_groups == 0 ? 1 : sweep->n_groups < PLOTS ? sweep->n_groups : PLOTS;
    for (size_t i = 0; i < plots->n && sweep->n_groups > 0; i++)
        plots->all[i].group = sweep->groups[i].value;
    for (size_t i = 0; i < sweep->n_ranked; i++) {
        size_t at = sweep->n_groups > 0 ? group_of(sweep, &sweep->configs[i]) : 0;
        double span = run_of(&sweep->configs[i])->span;

        if (at >= plots->n || plots->all[at].n == each)
            continue;
        plots->all[at].configs[plots->all[at].n++] = &sweep->configs[i];
        plots->span = span > plots->span ? span : plots->span;
    }
}

static int read_dots(struct cli *cli, const struct sweep_query *query, struct plots *plots, struct error *err)
{
    for (size_t i = 0; i < plots->n; i++)
        for (size_t k = 0; k < plots->all[i].n; k++) {
            struct dots *dots = plots->all[i].dots[k] = xcalloc(1, sizeof *dots);

            for (size_t c = 0; c < COLUMNS; c++)
                dots->value[c] = NAN;
            dots->span = plots->span;
            if (sweep_read_points(cli, query, run_of(plots->all[i].configs[k]), take_dot, dots, err) < 0)
                return -1;
        }
    return 0;
}

static void print_page_head(const struct sweep_query *query, FILE *to)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Report of ",
          to);
    sheet_print_text(query->metric, SHEET_HTML, to);
    fprintf(to, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>Report of ", style);
    sheet_print_text(query->metric, SHEET_HTML, to);
    for (size_t i = 0; i < query->n_ensembles; i++)
        fprintf(to, "%s%lld", i == 0 ? ", ensemble " : " and ", (long long)query->ensembles[i]);
    fputs("</h1>\n", to);
}

int sweep_print_page(struct cli *cli, const struct sweep *sweep, const struct sweep_query *query, size_t top, FILE *to,
                     struct error *err)
{
    struct plots *plots = xcalloc(1, sizeof *plots);
    int rc;

    choose_plots(sweep, plots);
    rc = read_dots(cli, query, plots, err);
    if (rc == 0) {
        plots->scale = find_scale(plots);
        print_page_head(query, to);
        for (size_t i = 0; i < plots->n; i++)
            if (plots->all[i].n > 0)
                print_plot(plots, &plots->all[i], query, to);
        print_bars(sweep, to);
        sweep_print_tables(sweep, query, top, SHEET_HTML, to);
        fputs("</body>\n</html>\n", to);
    }
    for (size_t i = 0; i < plots->n; i++)
        for (size_t k = 0; k < plots->all[i].n; k++)
            free(plots->all[i].dots[k]);
    free(plots);
    return rc;
}

/* A report as one page that works without a network: tables, and curves as inline SVG. */
#include "cli/sweep_print.h"

#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>

#define CURVES 12   /* of the best configurations */
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
    "svg{max-width:100%;height:auto}ul{list-style:none;padding:0;columns:2}"
    "@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171b}th,td{border-color:#3a3a42}p{color:#bbb}}";

static const char *const colours[CURVES] = {"#4269d0", "#c77e00", "#e0433b", "#2f9e9e", "#3ca951", "#d75fa0",
                                            "#9564d8", "#7f8ea3", "#8a6a4d", "#5f5fd0", "#a0a000", "#40a0f0"};

/* A curve in as many pieces of time as the picture has room for, of which each keeps its last value. */
struct dots {
    double value[COLUMNS]; /* NAN where there is none */
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

/* The axis is logarithmic where values are positive and differ by more than a factor of 50. */
static struct scale find_scale(const struct dots *dots, size_t n)
{
    struct scale scale = {INFINITY, -INFINITY, false};

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < COLUMNS; k++) {
            double value = dots[i].value[k];

            scale.low = value < scale.low ? value : scale.low;
            scale.high = value > scale.high ? value : scale.high;
        }
    scale.logarithmic = scale.low > 0 && scale.high / scale.low > 50;
    if (scale.low == scale.high) {
        scale.low -= 0.5;
        scale.high += 0.5;
    }
    return scale;
}

static double height_of(const struct scale *scale, double value)
{
    double part = scale->logarithmic ? log(value / scale->low) / log(scale->high / scale->low)
                                     : (value - scale->low) / (scale->high - scale->low);

    return TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
}

static double left_of(size_t column)
{
    return LEFT + (double)column / (COLUMNS - 1) * (WIDTH - LEFT - RIGHT);
}

static void print_axes(const struct scale *scale, double span, const char *unit, FILE *to)
{
    for (int i = 0; i <= 4; i++) {
        double part = i / 4.0, time = span * part, x = LEFT + part * (WIDTH - LEFT - RIGHT), y;
        double value = scale->logarithmic ? scale->low * pow(scale->high / scale->low, part)
                                          : scale->low + part * (scale->high - scale->low);

        y = height_of(scale, value);
        fprintf(to, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#8884\"/>", LEFT, WIDTH - RIGHT, y, y);
        fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>", LEFT - 8, y + 4, value);
        fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g%s</text>\n", x, HEIGHT - BOTTOM + 20, time,
                unit);
    }
}

static void print_curve(const struct dots *dots, const struct scale *scale, const struct sweep_config *config,
                        const char *colour, FILE *to)
{
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" points=\"", colour);
    for (size_t k = 0; k < COLUMNS; k++)
        if (!isnan(dots->value[k]))
            fprintf(to, "%.1f,%.1f ", left_of(k), height_of(scale, dots->value[k]));
    fprintf(to, "\"><title>%zu. ", config->rank);
    sheet_print_text(config->runs[0]->shown, SHEET_HTML, to);
    fputs("</title></polyline>\n", to);
}

static void print_legend(const struct sweep *sweep, size_t n, FILE *to)
{
    fputs("<ul>\n", to);
    for (size_t i = 0; i < n; i++) {
        fprintf(to,
                "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect width=\"14\" height=\"14\" "
                "fill=\"%s\"/></svg> %zu. ",
                colours[i], sweep->configs[i].rank);
        sheet_print_text(sweep->configs[i].runs[0]->shown, SHEET_HTML, to);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
}

/* Returns the longest curve of the runs. */
static double span_of(const struct sweep_run *const *runs, size_t n)
{
    double span = 0;

    for (size_t i = 0; i < n; i++)
        span = runs[i]->span > span ? runs[i]->span : span;
    return span;
}

static void print_curves(const struct sweep *sweep, const struct sweep_query *query, const struct dots *dots, size_t n,
                         double span, FILE *to)
{
    struct scale scale = find_scale(dots, n);

    fprintf(to,
            "<section>\n<h2>Curves</h2>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
            "aria-label=\"",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    sheet_print_text(query->metric, SHEET_HTML, to);
    fputs(query->over_steps ? " over steps" : " over time", to);
    fputs("\" font-size=\"12\" fill=\"currentColor\">\n", to);
    print_axes(&scale, span, query->over_steps ? "" : " s", to);
    for (size_t i = n; i-- > 0;) /* the best one above all */
        print_curve(&dots[i], &scale, &sweep->configs[i], colours[i], to);
    fputs("</svg>\n", to);
    print_legend(sweep, n, to);
    fputs("<p>", to);
    sheet_print_text(query->metric, SHEET_HTML, to);
    fprintf(to,
            " over the %s from the first point of each run on, of the best %zu configurations%s%s.</p>\n</section>\n",
            query->over_steps ? "steps" : "time", n, query->repeat != NULL ? " (the first run of each)" : "",
            scale.logarithmic ? "; the axis is logarithmic" : "");
}

/* Returns the first run of the configuration that is ranked. */
static const struct sweep_run *run_of(const struct sweep_config *config)
{
    size_t i = 0;

    while (config->runs[i]->fate != SWEEP_RANKED)
        i++;
    return config->runs[i];
}

int sweep_print_page(struct cli *cli, const struct sweep *sweep, const struct sweep_query *query, size_t top, FILE *to,
                     struct error *err)
{
    size_t n = sweep->n_ranked < CURVES ? sweep->n_ranked : CURVES;
    const struct sweep_run *runs[CURVES];
    struct dots *dots = xcalloc(CURVES, sizeof *dots);
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        runs[i] = run_of(&sweep->configs[i]);
    for (size_t i = 0; i < n && rc == 0; i++) {
        for (size_t k = 0; k < COLUMNS; k++)
            dots[i].value[k] = NAN;
        dots[i].span = span_of(runs, n);
        rc = sweep_read_points(cli, query, runs[i], take_dot, &dots[i], err);
    }
    if (rc == 0) {
        fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Report of ",
              to);
        sheet_print_text(query->metric, SHEET_HTML, to);
        fprintf(to, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>Report of ", style);
        sheet_print_text(query->metric, SHEET_HTML, to);
        for (size_t i = 0; i < query->n_ensembles; i++)
            fprintf(to, "%s%lld", i == 0 ? ", ensemble " : " and ", (long long)query->ensembles[i]);
        fputs("</h1>\n", to);
        if (n > 0)
            print_curves(sweep, query, dots, n, dots[0].span, to);
        sweep_print_tables(sweep, query, top, SHEET_HTML, to);
        fputs("</body>\n</html>\n", to);
    }
    free(dots);
    return rc;
}

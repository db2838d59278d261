#include "cli/plot.h"

#include "cli/render.h"
#include "cli/terminal.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABELS 10 /* columns of the labels on the left, with the line beside them */

struct plot {
    int columns, lines;     /* size of the area without labels */
    bool fine, logarithmic; /* fine: each character has 2 × 4 dots */
    double least, most;
    long long first, last; /* steps at the ends */
    unsigned char *cells;  /* the dots of each character */
};

static int dots_across(void)
{
    return terminal_has_utf8() ? 2 : 1;
}

int plot_dots(int columns)
{
    return (columns > LABELS + 10 ? columns - LABELS : 10) * dots_across();
}

/* Returns where a value is on the axis; NAN if it has no place there. */
static double plot_value(const struct plot *plot, const json_t *value)
{
    double number = json_number_value(value);

    if (!json_is_number(value) || (plot->logarithmic && number <= 0))
        return NAN;
    return plot->logarithmic ? log10(number) : number;
}

/* Finds the least and the greatest value and step. Returns how many points are not shown. fmin() and fmax() ignore
 * NAN. */
static long long find_plot_range(struct plot *plot, const json_t *buckets)
{
    long long not_shown = 0;
    json_t *bucket;
    size_t i;

    plot->least = plot->most = NAN;
    json_array_foreach (buckets, i, bucket) {
        double low = plot_value(plot, json_object_get(bucket, "min")),
               high = plot_value(plot, json_object_get(bucket, "max"));

        plot->least = fmin(plot->least, isnan(low) ? high : low);
        plot->most = fmax(plot->most, high);
        not_shown += get_int(bucket, "not_finite");
    }
    plot->first = get_int(json_array_get(buckets, 0), "step");
    plot->last = get_int(json_array_get(buckets, json_array_size(buckets) - 1), "last_step");
    return not_shown;
}

/* Returns the row of dots for a value; 0 is the lowest. */
static int plot_row(const struct plot *plot, double at)
{
    int dots = plot->lines * (plot->fine ? 4 : 1);
    double part = plot->most > plot->least ? (at - plot->least) / (plot->most - plot->least) : 0.5;

    return (int)lround(part * (dots - 1));
}

static void draw_bucket(struct plot *plot, const json_t *bucket)
{
    /* bits of U+2800 for the dots of a character, from below */
    static const unsigned char bits[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
    double low = plot_value(plot, json_object_get(bucket, "min")),
           high = plot_value(plot, json_object_get(bucket, "max"));
    double span = (double)(plot->last - plot->first),
           middle = ((double)get_int(bucket, "step") + (double)get_int(bucket, "last_step")) / 2;
    int dots = plot->columns * (plot->fine ? 2 : 1), up = plot->fine ? 4 : 1;
    int x = span > 0 ? (int)lround((middle - (double)plot->first) / span * (dots - 1)) : 0;

    if (isnan(high))
        return;
    for (int y = plot_row(plot, isnan(low) ? high : low), to = plot_row(plot, high); y <= to; y++) {
        unsigned char *cell = &plot->cells[(plot->lines - 1 - y / up) * plot->columns + x / (plot->fine ? 2 : 1)];

        *cell |= plot->fine ? bits[x % 2][y % 4] : 1;
    }
}

static void print_label(const struct plot *plot, int line, FILE *to)
{
    double part = plot->lines > 1 ? 1 - (double)line / (plot->lines - 1) : 0.5,
           at = plot->least + part * (plot->most - plot->least);
    json_t *value = json_real(plot->logarithmic ? pow(10, at) : at);
    char text[RENDER_SIZE] = "";

    if (line == 0 || line == plot->lines - 1 || line == plot->lines / 2)
        render_number(text, value);
    fprintf(to, "%*.*s %s", LABELS - 2, LABELS - 2, text, plot->fine ? "\xe2\x94\x82" : "|");
    json_decref(value);
}

static void print_area(const struct plot *plot, FILE *to)
{
    for (int line = 0; line < plot->lines; line++) {
        print_label(plot, line, to);
        fputs(style_on(STYLE_BUSY), to);
        for (int x = 0; x < plot->columns; x++) {
            unsigned char cell = plot->cells[line * plot->columns + x];

            if (!plot->fine || cell == 0)
                fputc(cell ? '*' : ' ', to);
            else
                fprintf(to, "%c%c%c", 0xe2, 0xa0 | (cell >> 6), 0x80 | (cell & 0x3f));
        }
        fprintf(to, "%s\n", style_off(STYLE_BUSY));
    }
    fprintf(to, "%*s %lld%*lld\n", LABELS - 1, "step", plot->first,
            plot->columns - snprintf(NULL, 0, "%lld", plot->first), plot->last);
}

void plot_print(const json_t *buckets, int columns, int lines, bool logarithmic, FILE *to)
{
    struct plot plot = {.lines = lines, .fine = terminal_has_utf8(), .logarithmic = logarithmic};
    long long not_shown = find_plot_range(&plot, buckets);
    json_t *bucket;
    size_t i;

    plot.columns = plot_dots(columns) / dots_across();
    if (isnan(plot.most)) {
        fprintf(to, "%*s nothing that could be drawn\n", LABELS - 1, "");
    } else {
        plot.cells = xcalloc((size_t)lines * (size_t)plot.columns, 1);
        json_array_foreach (buckets, i, bucket)
            draw_bucket(&plot, bucket);
        print_area(&plot, to);
        free(plot.cells);
    }
    if (not_shown > 0)
        fprintf(to, "%*s %lld of its points are not finite\n", LABELS - 1, "", not_shown);
}

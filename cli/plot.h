/* Curves in a terminal, drawn with braille characters, or with other ones where the locale has none. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Dots beside one another in a plot of so many columns, labels included: for how many buckets of steps there is room. */
int plot_dots(int columns);
/* The buckets of a series, as the API gives them, so wide and so high: in each the least to the greatest value, so that no spike is lost. What
 * is not finite is no dot, and is counted below. `logarithmic`: the axis of values; what is not above zero is then no dot either. */
void plot_print(const json_t *buckets, int columns, int lines, bool logarithmic, FILE *to);
#endif

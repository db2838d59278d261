/* Curves in a terminal, drawn with braille characters, or with others if the locale has no braille. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Returns how many dots, and so buckets, fit side by side into a plot of so many columns, labels included. */
int plot_dots(int columns);
/* Draws the buckets of a series, as the API gives them, in so many columns and lines. Each bucket is drawn from its
 * least to its greatest value, so that no spike is lost. Values that are not finite are not drawn, but counted below.
 * `logarithmic` is about the axis of values; values that are not above zero are then not drawn, either. */
void plot_print(const json_t *buckets, int columns, int lines, bool logarithmic, FILE *to);
#endif

/* Prints a sweep: as tables for people, or as one row for each run for programs. */
#ifndef CLI_SWEEP_PRINT_H
#define CLI_SWEEP_PRINT_H
#include "cli/sheet.h"
#include "cli/sweep.h"
#include "cli/sweep_read.h"

/* Tables of at most `top` rows: how runs were ranked, groups, runs that are not ranked, costs. */
void sweep_print_tables(const struct sweep *sweep, const struct sweep_query *query, size_t top, enum sheet_form form,
                        FILE *to);

/* A line for each run, below a header: CSV (RFC 4180); and the same as one JSON document. */
void sweep_print_csv(const struct sweep *sweep, FILE *to);
void sweep_print_json(const struct sweep *sweep, const struct sweep_query *query, FILE *to);

/* Writes one page that needs nothing else: the tables, and the curves of the best configurations. Reads their points.
 * Returns -1 with err. */
int sweep_print_page(struct cli *cli, const struct sweep *sweep, const struct sweep_query *query, size_t top, FILE *to,
                     struct error *err);
#endif

/* The rules of a report: whether each attempt ran the program that its rules, and its reference, name. */
#ifndef CLI_SWEEP_RULES_H
#define CLI_SWEEP_RULES_H
#include "cli/sheet.h"
#include "cli/sweep_read.h"

#include <jansson.h>

/* Reads what the runs of ensembles with rules ran, compares it, and takes runs out of the ranking that ran something
 * else. Fills in query->rules, an object: of each such ensemble what the report says of it. */
int sweep_read_rules(struct cli *cli, struct sweep_query *query, struct sweep *sweep, struct error *err);

/* Prints which parts were compared, and with what result. */
void sweep_print_rules(const struct sweep_query *query, enum sheet_form form, FILE *to);
#endif

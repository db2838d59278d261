/* Reports about an ensemble for people. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H
#include "cli/cli.h"

#include <jansson.h>
#include <stdio.h>

/* Prints where it stands, for `stretto status ID`. */
void report_status(const json_t *ensemble, FILE *to);

/* Prints to stdout how it ended: members by state, samples, batches, first and last losses, reasons of failed members,
 * and the curl lines that show the same. Leaves out what the daemon no longer knows. */
void report_final(struct cli *cli, const json_t *ensemble);
#endif

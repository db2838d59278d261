/* An ensemble in full, for people. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H
#include "cli/cli.h"

#include <jansson.h>
#include <stdio.h>

/* Where it stands: `stretto status ID`. */
void report_status(const json_t *ensemble, FILE *to);

/* How it ended: members by state, samples, batches, losses first and last, reasons of failed members, and the curl lines
 * that show the same. To stdout; what the daemon cannot tell any more is left out. */
void report_final(struct cli *cli, const json_t *ensemble);
#endif

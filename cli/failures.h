/* Why attempts of an ensemble failed, for people. */
#ifndef CLI_FAILURES_H
#define CLI_FAILURES_H
#include "cli/cli.h"

#include <stdint.h>

/* The first few causes, after an empty line, each with an example and the end of its stderr; nothing where none failed, or where it
 * cannot be asked for. */
void failures_print(struct cli *cli, int64_t ensemble);
#endif

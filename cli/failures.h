/* Shows people why attempts of an ensemble failed. */
#ifndef CLI_FAILURES_H
#define CLI_FAILURES_H
#include "cli/cli.h"

#include <stdint.h>

/* Prints an empty line and the first few causes, each with an example and the end of its stderr. Prints nothing if
 * no attempt failed, or the daemon does not answer. */
void failures_print(struct cli *cli, int64_t ensemble);
#endif

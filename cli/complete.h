/* What may come next on a command line that is being typed: for the shells' completion, which asks
 * `stretto __complete WORD...` (the words after "stretto", the last one as far as it is typed, perhaps empty) and gets a line
 * "CANDIDATE<tab>DESCRIPTION" for each, or the line ":files". All of it comes from the tables that the commands themselves
 * are parsed by, so that it cannot differ from them. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H
#include "cli/cli.h"

/* Print what fits, and return the exit status, which is always CLI_HOLDS: a shell has no use for messages here. */
int complete(struct cli *cli, const struct command *commands, int n, char **words);

/* For cli_parse(), where cli->completion is set: what fits by a command's argp. Does not return. */
void complete_by_argp(struct cli *cli, const struct argp *argp) __attribute__((noreturn));
#endif

/* Offers words for a command line that is being typed. The completion of the shells asks `stretto __complete WORD...`:
 * the words after "stretto", the last one as far as it is typed, perhaps empty. It gets a line
 * "CANDIDATE<tab>DESCRIPTION" for each word, or the line ":files". All of it comes from the tables by which the
 * commands are parsed, so that it cannot differ from them. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H
#include "cli/cli.h"

/* Prints the candidates. Returns the exit status, which is always CLI_HOLDS, since a shell has no use for messages
 * here. */
int complete(struct cli *cli, const struct cli_command *commands, int n, char **words);

/* Called by cli_parse() if cli->completion is set: offers what a command's argp allows. Does not return. */
void complete_by_argp(struct cli *cli, const struct argp *argp) __attribute__((noreturn));
#endif

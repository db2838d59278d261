/* Commands that POST one verb without a body to one ensemble. They take an ID and no options of their own. */
#ifndef CLI_VERB_H
#define CLI_VERB_H
#include "cli/cli.h"

#include <stdint.h>

struct verb {
    const char *name;   /* the last part of the path */
    struct argp argp;   /* has arg_one_ensemble() as its parser */
    const char *state;  /* the state in which the ensemble must be afterwards, else the command exits with CLI_NOT_SO */
    const char *done;   /* printed then, for example "paused; what runs goes on" */
    const char *not_so; /* printed otherwise, after "ensemble 7 was complete already: " */
};

/* Runs the command. Returns its exit status. */
int verb_run(struct cli *cli, const struct verb *verb, int argc, char **argv);
#endif

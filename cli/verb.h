/* Commands that say one thing to one ensemble: ID, no options of their own, a POST without a body. */
#ifndef CLI_VERB_H
#define CLI_VERB_H
#include "cli/cli.h"

#include <stdint.h>

struct verb {
    const char *name;  /* the last part of the path */
    struct argp argp;  /* of arg_one_ensemble() */
    const char *state; /* in which the ensemble must be afterwards, or the command exits CLI_NOT_SO */
    const char *done;  /* what is so then: "paused; what runs goes on" */
    const char *not_so; /* after "ensemble 7 was complete already: " */
};

/* Run it to its exit status. */
int verb_run(struct cli *cli, const struct verb *verb, int argc, char **argv);
#endif

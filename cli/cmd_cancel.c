#include "cli/args.h"
#include "cli/cli.h"
#include "cli/verb.h"

static const struct verb verb = {
    .name = "cancel",
    .argp = {NULL, arg_one_ensemble, "ID",
             "End ensemble ID: pending members are never started, running ones and the training are ended.",
             0, 0, 0},
    .state = "cancelled",
    .done = "cancelled; what still runs is being ended",
    .not_so = "nothing to cancel",
};

int cmd_cancel(struct cli *cli, int argc, char **argv)
{
    return verb_run(cli, &verb, argc, argv);
}

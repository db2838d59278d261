#include "cli/args.h"
#include "cli/cli.h"
#include "cli/verb.h"

static const struct verb verb = {
    .name = "pause",
    .argp = {NULL, arg_one_ensemble, "ID",
             "Start no more members of ensemble ID until it is resumed. What is submitted or running goes on.", 0, 0,
             0},
    .state = "paused",
    .done = "paused; what is under way goes on",
    .not_so = "nothing to pause",
};

int cmd_pause(struct cli *cli, int argc, char **argv)
{
    return verb_run(cli, &verb, argc, argv);
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/verb.h"

static const struct verb verb = {
    .name = "resume",
    .argp = {NULL, arg_one_ensemble, "ID", "Let a paused ensemble ID go on.", 0, 0, 0},
    .state = "running",
    .done = "running",
    .not_so = "nothing to resume",
};

int cmd_resume(struct cli *cli, int argc, char **argv)
{
    return verb_run(cli, &verb, argc, argv);
}

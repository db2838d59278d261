#include "cli/args.h"
#include "cli/cli.h"
#include "cli/watch.h"

static const struct argp argp = {
    NULL, arg_one_ensemble, "ID",
    "Wait until ensemble ID has ended, with a progress bar on a terminal, and report. The exit status is 0 only if "
    "every member succeeded and the training is done.",
    0, 0, 0};

int cmd_wait(struct cli *cli, int argc, char **argv)
{
    int64_t id = 0;
    struct error err;

    if (cli_parse(cli, &argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    return watch_and_report(cli, id);
}

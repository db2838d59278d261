#include "cli/args.h"
#include "cli/cli.h"
#include "cli/watch.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
    int64_t *id = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (*id)
            argp_error(state, "one ID at a time, please");
        *id = arg_ensemble(state, arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which ensemble? `stretto status` lists them"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    NULL, parse, "ID",
    "Wait until ensemble ID has ended, with a progress bar on a terminal, and report. The exit status is 0 only if every "
    "member succeeded and the training is done.",
    0, 0, 0};

int cmd_wait(struct cli *cli, int argc, char **argv)
{
    int64_t id = 0;
    struct error err;

    if (cli_parse(cli, &argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    return watch_and_report(cli, id);
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/watch.h"

struct wait_options {
    int64_t id;
    bool family;
};

static error_t parse_wait_option(int key, char *arg, struct argp_state *state)
{
    struct wait_options *wait = state->input;

    switch (key) {
    case 'f': wait->family = true; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &wait->id; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp id_argp = {NULL, arg_one_ensemble, NULL, NULL, NULL, NULL, NULL};
static const struct argp_child children[] = {{&id_argp, 0, NULL, 0}, {0}};
static const struct argp_option options[] = {
    {"family", 'f', NULL, 0, "also for its follow-ups, one after the other, where these are not made by themselves", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_wait_option,
    "ID",
    "Wait until ensemble ID has ended, with a progress bar on a terminal, and report; and until its follow-ups have, "
    "where these are made by themselves. The exit status is 0 only if every member succeeded and the training is done.",
    children,
    0,
    0};

int cmd_wait(struct cli *cli, int argc, char **argv)
{
    struct wait_options wait = {0};
    struct error err;

    if (cli_parse(cli, &argp, argc, argv, &wait, &err) < 0)
        return cli_fail(&err);
    return watch_and_report(cli, wait.id, wait.family);
}

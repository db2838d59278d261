#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    NULL, parse, "ID", "End ensemble ID: pending members are never started, running ones and the training are ended.",
    0, 0, 0};

int cmd_cancel(struct cli *cli, int argc, char **argv)
{
    int64_t id = 0;
    json_t *ensemble = NULL;
    char *path, *text = NULL;
    struct error err;
    bool over;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    path = xasprintf("/v1/ensembles/%lld/cancel", (long long)id);
    rc = client_post(cli->client, path, NULL, &ensemble, &text, &err);
    free(path);
    if (rc < 0)
        return cli_fail(&err);
    over = strcmp(get_string(ensemble, "state"), "complete") == 0;
    if (cli->json)
        render_document(text);
    else if (over)
        fprintf(stderr, "stretto: ensemble %lld was complete already: nothing to cancel\n", (long long)id);
    else
        printf("ensemble %lld: cancelled; what still runs is being ended\n", (long long)id);
    json_decref(ensemble);
    free(text);
    return over ? CLI_NOT_SO : CLI_HOLDS;
}

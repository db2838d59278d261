#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

static const struct argp argp = {
    NULL, arg_one_ensemble,
    "ID", "No more members are suggested to ensemble ID: it ends when those that it has have ended.",
    0,    0,
    0};

int cmd_close(struct cli *cli, int argc, char **argv)
{
    int64_t id = 0, left;
    json_t *ensemble = NULL;
    char *path, *text = NULL;
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    path = xasprintf("/v1/ensembles/%lld/close", (long long)id);
    rc = client_post(cli->client, path, NULL, &ensemble, &text, &err);
    free(path);
    if (rc < 0)
        return cli_fail(&err);
    left = get_int(ensemble, "count") - ensemble_finished(ensemble);
    if (cli->json)
        render_document(text);
    else
        printf("ensemble %lld: closed, with %lld members, of which %lld have not ended yet\n", (long long)id,
               (long long)get_int(ensemble, "count"), (long long)left);
    json_decref(ensemble);
    free(text);
    return CLI_HOLDS;
}

#include "cli/verb.h"

#include "cli/args.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int verb_run(struct cli *cli, const struct verb *verb, int argc, char **argv)
{
    int64_t id = 0;
    json_t *ensemble = NULL;
    char *path, *text = NULL;
    struct error err;
    bool holds;
    int rc;

    if (cli_parse(cli, &verb->argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    path = xasprintf("/v1/ensembles/%lld/%s", (long long)id, verb->name);
    rc = client_post(cli->client, path, NULL, &ensemble, &text, &err);
    free(path);
    if (rc < 0)
        return cli_fail(&err);
    holds = strcmp(get_string(ensemble, "state"), verb->state) == 0;
    if (cli->json)
        render_document(text);
    else if (holds)
        printf("ensemble %lld: %s\n", (long long)id, verb->done);
    else
        fprintf(stderr, "stretto: ensemble %lld was %s already: %s\n", (long long)id, get_string(ensemble, "state"),
                verb->not_so);
    json_decref(ensemble);
    free(text);
    return holds ? CLI_HOLDS : CLI_NOT_SO;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/jsonx.h"
#include "common/xalloc.h"

#include <stdlib.h>

static const struct argp id_argp = {.parser = arg_one_ensemble};
static const struct argp_child children[] = {{&id_argp, 0, NULL, 0}, {0}};

static error_t parse_spec_option(int key, char *arg, struct argp_state *state)
{
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

static const struct argp argp = {
    NULL, parse_spec_option, "ID", "The spec of ensemble ID, which can be changed and submitted again.", children, 0,
    0};

int cmd_spec(struct cli *cli, int argc, char **argv)
{
    char *path, *text = NULL, *lines;
    json_t *spec = NULL;
    struct error err;
    int64_t id = 0;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    path = xasprintf("/v1/ensembles/%lld/spec", (long long)id);
    rc = client_get(cli->client, path, &spec, &text, &err);
    free(path);
    if (rc < 0)
        return cli_fail(&err);
    lines = cli->json ? NULL : jsonx_dumps(spec, JSON_INDENT(2));
    render_document(lines != NULL ? lines : text);
    free(lines);
    free(text);
    json_decref(spec);
    return CLI_HOLDS;
}

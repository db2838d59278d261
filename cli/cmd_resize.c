#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct resize {
    int64_t id, width;
    bool now;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct resize *resize = state->input;

    switch (key) {
    case 'w': resize->width = arg_number(state, arg, "--width", 1); return 0;
    case 'n': resize->now = true; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &resize->id; return 0;
    case ARGP_KEY_END:
        if (resize->width == 0)
            argp_error(state, "how many members at once? Say --width N");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"width", 'w', "N", 0, "how many members may be submitted or running at once", 0},
    {"now", 'n', NULL, 0, "if that is fewer than are: stop the youngest, which are pending again, at no cost", 0},
    {0}};
static const struct argp id_argp = {.parser = arg_one_ensemble};
static const struct argp_child children[] = {{&id_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    options, parse, "ID", "Change the width of ensemble ID while it runs.", children, 0, 0};

int cmd_resize(struct cli *cli, int argc, char **argv)
{
    struct resize resize = {0};
    json_t *ensemble = NULL;
    char *path, *body, *text = NULL;
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &resize, &err) < 0)
        return cli_fail(&err);
    path = xasprintf("/v1/ensembles/%lld", (long long)resize.id);
    body = xasprintf("{\"width\": %lld, \"when\": \"%s\"}", (long long)resize.width, resize.now ? "now" : "later");
    rc = client_patch(cli->client, path, body, &ensemble, &text, &err);
    free(path);
    free(body);
    if (rc < 0)
        return cli_fail(&err);
    if (cli->json)
        render_document(text);
    else
        printf("ensemble %lld: width %lld; %lld in flight\n", (long long)resize.id,
               (long long)get_int(ensemble, "width"),
               (long long)(ensemble_members(ensemble, "submitted") + ensemble_members(ensemble, "running")));
    json_decref(ensemble);
    free(text);
    return CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct resize {
    int64_t id, width, ranks;
    bool now;
};

static error_t parse_resize_option(int key, char *arg, struct argp_state *state)
{
    struct resize *resize = state->input;

    switch (key) {
    case 'w': resize->width = arg_number(state, arg, "--width", 1); return 0;
    case 'r': resize->ranks = arg_number(state, arg, "--ranks", 1); return 0;
    case 'n': resize->now = true; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &resize->id; return 0;
    case ARGP_KEY_END:
        if (resize->width == 0 && resize->ranks == 0)
            argp_error(state, "how many members at once, or ranks of the training? Say --width N or --ranks N");
        if (resize->now && resize->width == 0)
            argp_error(state, "--now goes with --width");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"width", 'w', "N", 0, "how many members may be submitted or running at once", 0},
    {"ranks", 'r', "N", 0, "how many ranks the training is to have; it goes on from a checkpoint", 0},
    {"now", 'n', NULL, 0, "if that is fewer than are: stop the youngest, which are pending again, at no cost", 0},
    {0}};
static const struct argp id_argp = {.parser = arg_one_ensemble};
static const struct argp_child children[] = {{&id_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    options,  parse_resize_option,
    "ID",     "Change the width of ensemble ID, or the number of its training's ranks, while it runs.",
    children, 0,
    0};

static int patch(struct cli *cli, char *path, char *body, json_t **out, struct error *err)
{
    char *text = NULL;
    int rc = client_patch(cli->client, path, body, out, &text, err);

    if (rc == 0 && cli->json)
        render_document(text);
    free(path);
    free(body);
    free(text);
    return rc;
}

static int change_width(struct cli *cli, const struct resize *resize, struct error *err)
{
    json_t *ensemble = NULL;
    int rc =
        patch(cli, xasprintf("/v1/ensembles/%lld", (long long)resize->id),
              xasprintf("{\"width\": %lld, \"when\": \"%s\"}", (long long)resize->width, resize->now ? "now" : "later"),
              &ensemble, err);

    if (rc == 0 && !cli->json)
        printf("ensemble %lld: width %lld; %lld in flight\n", (long long)resize->id,
               (long long)get_int(ensemble, "width"),
               (long long)(ensemble_members(ensemble, "submitted") + ensemble_members(ensemble, "running")));
    json_decref(ensemble);
    return rc;
}

static int change_ranks(struct cli *cli, const struct resize *resize, struct error *err)
{
    int64_t id = ensemble_training_id(cli->client, resize->id, err);
    json_t *training = NULL;

    if (id < 0 || patch(cli, xasprintf("/v1/trainings/%lld", (long long)id),
                        xasprintf("{\"ranks\": %lld}", (long long)resize->ranks), &training, err) < 0)
        return -1;
    if (!cli->json && get_int(training, "wanted_ranks") > 0)
        printf("training %lld: %lld rank%s, as soon as its %lld %s saved a checkpoint\n", (long long)id,
               (long long)get_int(training, "wanted_ranks"), get_int(training, "wanted_ranks") == 1 ? "" : "s",
               (long long)get_int(training, "ranks"), get_int(training, "ranks") == 1 ? "has" : "have");
    else if (!cli->json)
        printf("training %lld: %lld rank%s\n", (long long)id, (long long)get_int(training, "ranks"),
               get_int(training, "ranks") == 1 ? "" : "s");
    json_decref(training);
    return 0;
}

int cmd_resize(struct cli *cli, int argc, char **argv)
{
    struct resize resize = {0};
    struct error err;

    if (cli_parse(cli, &argp, argc, argv, &resize, &err) < 0 ||
        (resize.width > 0 && change_width(cli, &resize, &err) < 0) ||
        (resize.ranks > 0 && change_ranks(cli, &resize, &err) < 0))
        return cli_fail(&err);
    return CLI_HOLDS;
}

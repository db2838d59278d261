#include "cli/args.h"
#include "cli/checkpoint.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "cli/table.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static error_t parse_checkpoints_option(int key, char *arg, struct argp_state *state)
{
    struct ref *ref = state->input;

    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (ref->ensemble)
        argp_error(state, "one ID at a time, please");
    if (ref_parse(arg, ref) < 0)
        argp_error(state,
                   "\"%s\" is neither an ensemble's id, such as 7, nor a member, such as 7.123, nor a training, such "
                   "as 7.training",
                   arg);
    return 0;
}

static const struct argp argp = {
    NULL,
    parse_checkpoints_option,
    "[ID]\nID.INDEX\nID.training",
    "The checkpoints that members and trainings can go on from: all, those of the family of ensemble ID, or those of "
    "member ID.INDEX or training ID.training, the newest last.",
    0,
    0,
    0};

static void print_checkpoints_page(void *arg, const json_t *items)
{
    struct table *table = arg;
    json_t *checkpoint;
    size_t i;

    json_array_foreach (items, i, checkpoint) {
        if (strcmp(get_string(checkpoint, "of"), "training") == 0)
            table_cellf(table, "%lld.training", (long long)get_int(checkpoint, "ensemble"));
        else
            table_cellf(table, "%lld.%lld", (long long)get_int(checkpoint, "ensemble"),
                        (long long)get_int(checkpoint, "member"));
        checkpoint_cells(table, checkpoint);
    }
    table_print(table, stdout);
}

/* Returns the path of the list, or NULL with err. */
static char *checkpoints_path(struct cli *cli, const struct ref *ref, struct error *err)
{
    long long id = ref->ensemble;
    int64_t training;

    if (ref->ensemble == 0)
        return xstrdup("/v1/checkpoints?limit=500");
    if (ref->index >= 0)
        return xasprintf("/v1/checkpoints?limit=500&ensemble=%lld&member=%lld", id, (long long)ref->index);
    if (!ref->training)
        return xasprintf("/v1/checkpoints?limit=500&ensemble=%lld", id);
    training = ensemble_training_id(cli->client, id, err);
    return training < 0 ? NULL : xasprintf("/v1/checkpoints?limit=500&training=%lld", (long long)training);
}

int cmd_checkpoints(struct cli *cli, int argc, char **argv)
{
    const char *headers[] = {"of", CHECKPOINT_HEADERS, NULL};
    struct ref ref = {.index = -1};
    struct table *table;
    struct error err;
    char *path;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &ref, &err) < 0)
        return cli_fail(&err);
    path = checkpoints_path(cli, &ref, &err);
    if (path == NULL)
        return cli_fail(&err);
    table = table_create(headers);
    rc = pages_each(cli, path, "checkpoints", print_checkpoints_page, table, &err);
    table_destroy(table);
    free(path);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/checkpoint.h"
#include "cli/cli.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "cli/table.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct ref *ref = state->input;

    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (ref->ensemble)
        argp_error(state, "one ID at a time, please");
    if (ref_parse(arg, ref) < 0 || ref->training)
        argp_error(state, "\"%s\" is neither an ensemble's id, such as 7, nor a member, such as 7.123", arg);
    return 0;
}

static const struct argp argp = {
    NULL, parse, "[ID]\nID.INDEX",
    "The checkpoints that members can go on from: all, those of the family of ensemble ID, or those of member "
    "ID.INDEX, the newest last.",
    0, 0, 0};

static void print_page(void *arg, const json_t *items)
{
    struct table *table = arg;
    json_t *checkpoint;
    size_t i;

    json_array_foreach (items, i, checkpoint) {
        table_cellf(table, "%lld.%lld", (long long)get_int(checkpoint, "ensemble"),
                    (long long)get_int(checkpoint, "member"));
        checkpoint_cells(table, checkpoint);
    }
    table_print(table, stdout);
}

int cmd_checkpoints(struct cli *cli, int argc, char **argv)
{
    const char *headers[] = {"member", CHECKPOINT_HEADERS, NULL};
    struct ref ref = {.index = -1};
    struct table *table;
    struct error err;
    char *ensemble, *member, *path;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &ref, &err) < 0)
        return cli_fail(&err);
    ensemble = ref.ensemble ? xasprintf("&ensemble=%lld", (long long)ref.ensemble) : xstrdup("");
    member = ref.index >= 0 ? xasprintf("&member=%lld", (long long)ref.index) : xstrdup("");
    path = xasprintf("/v1/checkpoints?limit=500%s%s", ensemble, member);
    table = table_create(headers);
    rc = pages_each(cli, path, "checkpoints", print_page, table, &err);
    table_destroy(table);
    free(path);
    free(member);
    free(ensemble);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

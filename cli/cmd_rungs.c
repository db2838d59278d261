/* stretto rungs: how far early stopping is. */
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "cli/table.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static error_t parse_rungs_option(int key, char *arg, struct argp_state *state)
{
    int64_t *id = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (*id != 0)
            argp_error(state, "one ID at a time, please");
        *id = arg_ensemble(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (*id == 0)
            argp_error(state, "of which ensemble? `stretto status` lists them");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    NULL,
    parse_rungs_option,
    "ID",
    "The rungs of ensemble ID, whose members are stopped early: at which step each is, how many members have reached "
    "it, were promoted from it, were stopped there and are on their way to it, and the best of them.",
    NULL,
    0,
    0};

static void add_rung_row(struct table *table, int64_t id, const json_t *rung)
{
    const json_t *best = json_object_get(rung, "best");
    char text[RENDER_SIZE];

    table_cellf(table, "%lld", (long long)get_int(rung, "rung"));
    table_cellf(table, "%lld", (long long)get_int(rung, "step"));
    table_cellf(table, "%lld", (long long)get_int(rung, "arrived"));
    table_cellf(table, "%lld", (long long)get_int(rung, "promoted"));
    table_cellf(table, "%lld", (long long)get_int(rung, "stopped"));
    table_cellf(table, "%lld", (long long)get_int(rung, "under_way"));
    if (json_is_object(best)) {
        table_cell(table, render_metric(text, json_object_get(best, "value")));
        table_cellf(table, "%lld.%lld", (long long)id, (long long)get_int(best, "index"));
    } else {
        table_cell(table, "-");
        table_cell(table, "-");
    }
}

static void print_rungs(int64_t id, const json_t *reply)
{
    const char *headers[] = {">rung", ">step", ">arrived", ">promoted", ">stopped", ">under way", NULL, "member", NULL};
    char *metric = render_text(get_string(reply, "metric")), *best = xasprintf(">best %s", metric);
    struct table *table;
    json_t *rung;
    size_t i;

    if (strcmp(get_string(reply, "rule"), "asha") != 0)
        headers[3] = ">ran on"; /* members never pause there, and so they are not promoted */
    headers[6] = best;
    table = table_create(headers);
    json_array_foreach (json_object_get(reply, "rungs"), i, rung)
        add_rung_row(table, id, rung);
    table_print(table, stdout);
    table_destroy(table);
    free(best);
    free(metric);
}

int cmd_rungs(struct cli *cli, int argc, char **argv)
{
    json_t *reply = NULL;
    struct error err;
    int64_t id = 0;
    char *path, *text = NULL;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    path = xasprintf("/v1/ensembles/%lld/rungs", (long long)id);
    rc = client_get(cli->client, path, &reply, &text, &err);
    free(path);
    if (rc == 0 && cli->json)
        render_document(text);
    else if (rc == 0)
        print_rungs(id, reply);
    json_decref(reply);
    free(text);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

/* stretto results: how members of an open ensemble have ended, in the order in which they did. */
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/render.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "common/jsonx.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY_MS 500

struct results_options {
    int64_t id, after;
    bool follow;
};

static error_t parse_results_option(int key, char *arg, struct argp_state *state)
{
    struct results_options *results = state->input;

    switch (key) {
    case 'f': results->follow = true; return 0;
    case 'a': results->after = arg_number(state, arg, "--after", 0); return 0;
    case ARGP_KEY_ARG:
        if (results->id != 0)
            argp_error(state, "one ID at a time, please");
        results->id = arg_ensemble(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (results->id == 0)
            argp_error(state, "of which ensemble? `stretto status` lists them");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"after", 'a', "NUMBER", 0, "only those after the result of this number", 0},
    {"follow", 'f', NULL, 0, "go on as more members end, until the ensemble has ended or Ctrl-C", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_results_option,
    "ID",
    "How members of ensemble ID, to which they were suggested, have ended, in the order in which they did. With "
    "--json, one object a line.",
    0,
    0,
    0};

static void print_named_value(FILE *out, const char *blank, const char *name, const json_t *value)
{
    struct text text = {0};

    text_json(&text, value);
    fprintf(out, "%s%s=%s", blank, name, text.data);
    free(text.data);
}

/* Adds the values of an object as "lr=0.1 batch=32"; those of metrics are the last ones. */
static void cell_of(struct table *table, const json_t *values, bool metrics)
{
    char *text = NULL, number[RENDER_SIZE];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *name, *blank = "";
    json_t *value;

    json_object_foreach ((json_t *)values, name, value) {
        if (metrics)
            fprintf(out, "%s%s=%s", blank, name, render_metric(number, json_object_get(value, "last")));
        else if (json_is_string(value))
            fprintf(out, "%s%s=%s", blank, name, json_string_value(value));
        else if (json_is_number(value))
            fprintf(out, "%s%s=%s", blank, name, render_number(number, value));
        else
            print_named_value(out, blank, name, value);
        blank = " ";
    }
    fclose(out);
    table_cell(table, text);
    free(text);
}

static void print_result(struct cli *cli, struct table *table, const json_t *result)
{
    if (cli->json) {
        jsonx_print(result, stdout);
        putchar('\n');
        return;
    }
    table_cellf(table, "%lld", (long long)get_int(result, "number"));
    table_cellf(table, "%lld.%lld", (long long)get_int(result, "ensemble"), (long long)get_int(result, "index"));
    table_cell(table, get_string(result, "name"));
    table_state(table, get_string(result, "state"));
    cell_of(table, json_object_get(result, "parameters"), false);
    cell_of(table, json_object_get(result, "metrics"), true);
    table_cell(table, get_string(result, "reason"));
}

/* Prints the results that there are. */
static int print_new(struct cli *cli, struct results_options *results, struct table *table, struct error *err)
{
    size_t n = 1;

    while (n > 0) {
        char *path = xasprintf("/v1/ensembles/%lld/results?limit=500&after=%lld", (long long)results->id,
                               (long long)results->after);
        json_t *page = NULL, *result;
        size_t i;
        int rc = client_get(cli->client, path, &page, NULL, err);

        free(path);
        if (rc < 0)
            return -1;
        n = json_array_size(json_object_get(page, "results"));
        json_array_foreach (json_object_get(page, "results"), i, result)
            print_result(cli, table, result);
        if (n > 0 && !cli->json)
            table_print(table, stdout);
        fflush(stdout);
        results->after = get_int(page, "next");
        json_decref(page);
    }
    return 0;
}

/* Returns 1 if the ensemble has ended, so that what is not printed yet is the rest; 0 if not; -1 with err. */
static int has_ended(struct cli *cli, int64_t id, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)id);
    json_t *ensemble = NULL;
    int rc = client_get(cli->client, path, &ensemble, NULL, err);

    if (rc == 0)
        rc = ensemble_ended(ensemble);
    json_decref(ensemble);
    free(path);
    return rc;
}

static int follow_results(struct cli *cli, struct results_options *results, struct table *table, struct error *err)
{
    int ended, rc;

    do {
        ended = has_ended(cli, results->id, err);
        rc = ended < 0 ? -1 : print_new(cli, results, table, err);
        if (rc < 0 && !watch_may_pass(err))
            return -1;
        if (rc == 0 && ended == 1)
            return 0;
    } while (!watch_sleep(LOOK_EVERY_MS));
    return error_set(err, CLIENT_INTERRUPTED, "interrupted");
}

int cmd_results(struct cli *cli, int argc, char **argv)
{
    const char *headers[] = {">result", "member", "name", "state", "parameters", "metrics", "reason", NULL};
    struct results_options results = {.id = 0};
    struct table *table;
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &results, &err) < 0)
        return cli_fail(&err);
    table = table_create(headers);
    if (results.follow)
        watch_begin(cli);
    rc = results.follow ? follow_results(cli, &results, table, &err) : print_new(cli, &results, table, &err);
    table_destroy(table);
    if (rc < 0 && strcmp(err.code, CLIENT_INTERRUPTED) == 0)
        return CLI_INTERRUPTED;
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "cli/table.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct jobs {
    int64_t ensemble; /* 0 for all */
    const char *state, *adapter;
};

static error_t parse_jobs_option(int key, char *arg, struct argp_state *state)
{
    struct jobs *jobs = state->input;

    switch (key) {
    case 's': jobs->state = arg; return 0;
    case 'a': jobs->adapter = arg; return 0;
    case ARGP_KEY_ARG:
        if (jobs->ensemble)
            argp_error(state, "one ID at a time, please");
        jobs->ensemble = arg_ensemble(state, arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"state", 's', "STATE", 0, "only those that are intent, submitted, running or ended", 0},
    {"adapter", 'a', "NAME", 0, "only those of this batch system", 0},
    {0}};
static const struct argp argp = {options, parse_jobs_option,
                                 "[ID]",  "Submissions to batch systems, newest first: all, or those of ensemble ID.",
                                 0,       0,
                                 0};

static void print_jobs_page(void *arg, const json_t *items)
{
    struct table *table = arg;
    json_t *job;
    size_t i;

    json_array_foreach (items, i, job) {
        table_cellf(table, "%lld", (long long)get_int(job, "id"));
        table_cellf(table, "%lld", (long long)get_int(job, "ensemble"));
        table_cell(table, get_string(job, "kind"));
        table_cellf(table, "%lld", (long long)get_int(job, "size"));
        table_cell(table, get_string(job, "adapter"));
        table_state(table, get_string(job, "state"));
        table_cell(table, get_string(job, "scheduler_id"));
        table_cell(table, get_string(job, "name"));
        table_age(table, get_string(job, "submitted"));
        table_age(table, get_string(job, "ended"));
        table_cell(table, get_reason(job));
    }
    table_print(table, stdout);
}

/* Returns "&NAME=VALUE" for a query, or "" if there is no value; to be freed. */
static char *term(const char *name, const char *value)
{
    char *escaped = value ? client_escape(value) : NULL;
    char *text = value ? xasprintf("&%s=%s", name, escaped) : xstrdup("");

    free(escaped);
    return text;
}

int cmd_jobs(struct cli *cli, int argc, char **argv)
{
    const char *headers[] = {">id",          ">ensemble", "kind",      ">size", "adapter", "state",
                             "scheduler id", "name",      "submitted", "ended", "reason",  NULL};
    struct jobs jobs = {0};
    struct table *table;
    struct error err;
    char *id, *state, *adapter, *path;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &jobs, &err) < 0)
        return cli_fail(&err);
    id = jobs.ensemble ? xasprintf("&ensemble=%lld", (long long)jobs.ensemble) : xstrdup("");
    state = term("state", jobs.state);
    adapter = term("adapter", jobs.adapter);
    path = xasprintf("/v1/jobs?limit=500%s%s%s", id, state, adapter);
    table = table_create(headers);
    rc = pages_each(cli, path, "jobs", print_jobs_page, table, &err);
    table_destroy(table);
    free(path);
    free(adapter);
    free(state);
    free(id);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

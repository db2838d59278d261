#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/failures.h"
#include "cli/pages.h"
#include "cli/progress.h"
#include "cli/render.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_EVERY_MS 2000
#define OPTION_SORT 256 /* beyond the letters, since it has none */

struct status {
    int64_t id;        /* 0 for all */
    const char *state; /* NULL for any */
    const char *sort;  /* NULL for the newest first */
    bool reverse;
    bool watch, all;
};

static error_t parse_status_option(int key, char *arg, struct argp_state *state)
{
    struct status *status = state->input;

    switch (key) {
    case 'w': status->watch = true; return 0;
    case 'a': status->all = true; return 0;
    case 's': status->state = arg; return 0;
    case OPTION_SORT: status->sort = arg; return 0;
    case 'r': status->reverse = true; return 0;
    case ARGP_KEY_ARG:
        if (status->id)
            argp_error(state, "one ID at a time, please");
        status->id = arg_ensemble(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (status->id && (status->all || status->state != NULL || status->sort != NULL))
            argp_error(state, "%s is for the list",
                       status->all            ? "--all"
                       : status->sort != NULL ? "--sort"
                                              : "--state");
        if (status->reverse && status->sort == NULL)
            argp_error(state, "--reverse goes with --sort");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"watch", 'w', NULL, 0, "go on showing it until Ctrl-C or the end", 0},
    {"all", 'a', NULL, 0,
     "in the list, follow-ups by themselves, and not as one with the ensemble that they go on with", 0},
    {"state", 's', "STATE[,STATE...]", 0,
     "in the list, only those that are running, paused, complete, cancelled or failed; follow-ups by themselves", 0},
    {"sort", OPTION_SORT, "KEY", 0,
     "the list by created, name, state, progress, rate, or last:, min: or max: and the name of a metric, such as "
     "min:validation_loss, the least first; follow-ups by themselves",
     0},
    {"reverse", 'r', NULL, 0, "where the list is sorted, the greatest first", 0},
    {0}};
static const struct argp argp = {
    options, parse_status_option, "[ID]", "How ensemble ID is doing, or all of them, newest first.", 0, 0, 0};

struct ensemble_table {
    struct cli *cli;
    struct table *table;
    bool all;
    json_t *shown;      /* has the roots of the families that are listed already as keys */
    const char *metric; /* what the list is sorted by, as "min:validation_loss"; NULL if that is no metric */
};

/* Returns the state in a word for people. Work that nobody goes on with is not "complete", and an ensemble that waits
 * for another one does not run. */
static const char *ensemble_state_word(const json_t *ensemble, const json_t *counts, bool followed_up)
{
    const char *state = get_string(ensemble, "state");

    if (strcmp(state, "complete") == 0 && get_int(counts, "unfinished") > 0)
        return followed_up ? "followed up" : "unfinished";
    return strcmp(state, "running") == 0 && get_int(ensemble, "after") != 0 ? "waiting" : state;
}

/* Adds a row. `family` is NULL, or the family that begins with `root` and whose newest ensemble this is. */
static void add_ensemble_row(struct table *table, const json_t *ensemble, const json_t *family, int64_t root)
{
    const json_t *training = ensemble_training(ensemble);
    const json_t *counts = json_object_get(family != NULL ? family : ensemble, "members");
    char text[RENDER_SIZE];
    long long id = get_int(ensemble, "id");

    if (family != NULL)
        table_cellf(table, "%lld..%lld", (long long)root, id);
    else
        table_cellf(table, "%lld", id);
    table_cell(table, get_string(ensemble, "name"));
    table_state(table,
                ensemble_state_word(ensemble, counts, json_array_size(json_object_get(ensemble, "follow_ups")) > 0));
    table_cellf(table, "%lld/%lld", (long long)ensemble_final(counts),
                (long long)(family != NULL ? ensemble_sum(counts) : get_int(ensemble, "count")));
    table_cellf(table, "%lld", (long long)get_int(counts, "running"));
    table_cellf(table, "%lld", (long long)get_int(counts, "failed"));
    table_state(table, training ? get_string(training, "state") : "-");
    table_cell(table, ensemble_eta(ensemble) < 0 ? "-" : render_duration(text, ensemble_eta(ensemble)));
    table_age(table, get_string(ensemble, "created"));
}

/* Adds an ensemble and its follow-ups as one row, in the place of the newest of them. */
static int add_family(struct ensemble_table *list, const json_t *newest, struct error *err)
{
    int64_t root = get_int(newest, "root");
    char *key = xasprintf("%lld", (long long)root), *path = xasprintf("/v1/ensembles/%s", key);
    json_t *first = NULL;
    int rc = 0;

    if (json_object_get(list->shown, key) == NULL)
        rc = client_get(list->cli->client, path, &first, NULL, err);
    if (first != NULL) {
        json_object_set_new(list->shown, key, json_true());
        add_ensemble_row(list->table, newest, json_object_get(first, "family"), root);
    }
    json_decref(first);
    free(path);
    free(key);
    return rc;
}

/* Adds the cell of a metric: "last:NAME", "min:NAME" or "max:NAME". */
static void add_metric_cell(struct table *table, const json_t *training, const char *key)
{
    const char *name = strchr(key, ':') + 1;
    const json_t *range = json_object_get(json_object_get(training, "metric_ranges"), name);
    const json_t *value = key[0] == 'l' ? json_object_get(json_object_get(training, "metrics"), name)
                                        : json_object_get(range, key[1] == 'i' ? "min" : "max");
    char text[RENDER_SIZE];

    table_cell(table, value != NULL ? render_metric(text, value) : "-");
}

static void print_ensembles_page(void *arg, const json_t *items)
{
    struct ensemble_table *list = arg;
    struct error err;
    json_t *ensemble;
    size_t i;

    json_array_foreach (items, i, ensemble) {
        bool of_family =
            get_int(ensemble, "follow_up_of") != 0 || json_array_size(json_object_get(ensemble, "follow_ups")) > 0;

        if (list->all || !of_family || add_family(list, ensemble, &err) < 0)
            add_ensemble_row(list->table, ensemble, NULL, 0);
        if (list->metric != NULL)
            add_metric_cell(list->table, ensemble_training(ensemble), list->metric);
    }
    table_print(list->table, stdout);
}

static char *ensembles_path(const struct status *status)
{
    char *state = client_escape(status->state != NULL ? status->state : "");
    char *sort = client_escape(status->sort != NULL ? status->sort : "");
    char *path = xasprintf("/v1/ensembles?limit=200%s%s%s%s%s", status->state != NULL ? "&state=" : "", state,
                           status->sort != NULL ? "&sort=" : "", sort, status->reverse ? "&order=desc" : "");

    free(sort);
    free(state);
    return path;
}

/* Returns the metric that the list is sorted by, as "min:validation_loss", or NULL. */
static const char *sorted_metric(const struct status *status)
{
    return status->sort != NULL && strchr(status->sort, ':') != NULL ? status->sort : NULL;
}

static int show_list(struct cli *cli, const struct status *status, struct error *err)
{
    const char *headers[] = {">id",      "name", "state",   ">members", ">running", ">failed",
                             "training", ">eta", "created", NULL,       NULL};
    struct ensemble_table list = {cli, NULL, status->all || status->state != NULL || status->sort != NULL,
                                  json_object(), sorted_metric(status)};
    char *path = ensembles_path(status);
    char *metric = xasprintf(">%s", list.metric != NULL ? list.metric : "");
    int rc;

    if (list.metric != NULL)
        headers[9] = metric;
    list.table = table_create(headers);
    rc = pages_each(cli, path, "ensembles", print_ensembles_page, &list, err);
    free(path);
    free(metric);
    table_destroy(list.table);
    json_decref(list.shown);
    return rc;
}

static int watch_list(struct cli *cli, const struct status *status)
{
    struct error err;
    int rc;

    watch_begin(cli);
    do {
        fputs("\033[H\033[2J", stdout);
        rc = show_list(cli, status, &err);
        fflush(stdout); /* before a message, which clearing the screen would take away */
        if (rc < 0)
            return cli_fail(&err);
    } while (!watch_sleep(LIST_EVERY_MS));
    return CLI_INTERRUPTED;
}

/* A block of lines on the terminal that the next one is drawn over. */
struct status_lines {
    int lines;
};

static void hide_block(void *arg)
{
    struct status_lines *block = arg;

    if (block->lines > 0)
        printf("\033[%dA\r\033[J", block->lines);
    block->lines = 0;
    fflush(stdout);
}

static void show_block(void *arg, const json_t *ensemble)
{
    struct status_lines *block = arg;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    report_status(ensemble, out);
    fclose(out);
    hide_block(block);
    printf("\033[?7l%s\033[?7h", text); /* without wrapping, so that each line takes one */
    for (const char *c = text; *c; c++)
        block->lines += *c == '\n';
    fflush(stdout);
    free(text);
}

static int watch_one(struct cli *cli, int64_t id, bool terminal)
{
    struct status_lines block = {0};
    struct progress_bar *progress = progress_create(stdout);
    struct view blocks = {show_block, hide_block, &block}, lines = {progress_show, progress_hide, progress};
    json_t *ensemble;
    char *text;
    int rc = watch_ensemble(cli, id, terminal ? &blocks : &lines, &ensemble, &text);

    if (rc == CLI_HOLDS) {
        if (!terminal)
            report_status(ensemble, stdout);
        json_decref(ensemble);
        free(text);
    }
    progress_destroy(progress);
    return rc;
}

/* Adds the family to an ensemble. The API gives it only with the first ensemble of a family, but status shows it with
 * each. */
static void add_family_of(struct cli *cli, json_t *ensemble)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)get_int(ensemble, "root"));
    json_t *first = NULL;
    struct error err;

    if (get_int(ensemble, "follow_up_of") != 0 && client_get(cli->client, path, &first, NULL, &err) == 0)
        json_object_set(ensemble, "family", json_object_get(first, "family"));
    json_decref(first);
    free(path);
}

static int show_one(struct cli *cli, int64_t id)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)id), *text = NULL;
    json_t *ensemble = NULL;
    struct error err;
    int rc = client_get(cli->client, path, &ensemble, &text, &err);

    free(path);
    if (rc < 0)
        return cli_fail(&err);
    if (cli->json) {
        render_document(text);
    } else {
        add_family_of(cli, ensemble);
        report_status(ensemble, stdout);
        failures_print(cli, id);
    }
    json_decref(ensemble);
    free(text);
    return CLI_HOLDS;
}

int cmd_status(struct cli *cli, int argc, char **argv)
{
    struct status status = {0};
    bool terminal = isatty(STDOUT_FILENO);
    struct error err;

    if (cli_parse(cli, &argp, argc, argv, &status, &err) < 0)
        return cli_fail(&err);
    if (status.watch && (cli->json || (status.id == 0 && !terminal))) {
        fprintf(stderr, "stretto: --watch is for people at a terminal; programs use `stretto wait ID --json`\n");
        return CLI_USAGE;
    }
    if (status.watch)
        return status.id ? watch_one(cli, status.id, terminal) : watch_list(cli, &status);
    if (status.id)
        return show_one(cli, status.id);
    return show_list(cli, &status, &err) < 0 ? cli_fail(&err) : CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/failures.h"
#include "cli/pages.h"
#include "cli/progress.h"
#include "cli/render.h"
#include "cli/report.h"
#include "cli/watch.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_EVERY_MS 2000

struct status {
    int64_t id; /* 0: all */
    bool watch;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct status *status = state->input;

    switch (key) {
    case 'w': status->watch = true; return 0;
    case ARGP_KEY_ARG:
        if (status->id)
            argp_error(state, "one ID at a time, please");
        status->id = arg_ensemble(state, arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {{"watch", 'w', NULL, 0, "go on showing it until Ctrl-C or the end", 0}, {0}};
static const struct argp argp = {options, parse, "[ID]", "How ensemble ID is doing, or all of them, newest first.", 0, 0, 0};

static void print_page(void *arg, const json_t *items)
{
    struct table *table = arg;
    json_t *ensemble;
    size_t i;

    json_array_foreach(items, i, ensemble) {
        const json_t *training = ensemble_training(ensemble);
        char text[RENDER_SIZE];

        table_cellf(table, "%lld", (long long)get_int(ensemble, "id"));
        table_cell(table, get_string(ensemble, "name"));
        table_cell(table, get_string(ensemble, "state"));
        table_cellf(table, "%lld/%lld", (long long)ensemble_finished(ensemble), (long long)get_int(ensemble, "count"));
        table_cellf(table, "%lld", (long long)ensemble_members(ensemble, "running"));
        table_cellf(table, "%lld", (long long)ensemble_members(ensemble, "failed"));
        table_cell(table, training ? get_string(training, "state") : "-");
        table_cell(table, ensemble_eta(ensemble) < 0 ? "-" : render_duration(text, ensemble_eta(ensemble)));
        table_cell(table, get_string(ensemble, "created"));
    }
    table_print(table, stdout);
}

static int show_list(struct cli *cli, struct error *err)
{
    const char *headers[] = {">id", "name", "state", ">members", ">running", ">failed", "training", ">eta", "created", NULL};
    struct table *table = table_create(headers);
    int rc = pages_each(cli, "/v1/ensembles?limit=200", "ensembles", print_page, table, err);

    table_destroy(table);
    return rc;
}

static int watch_list(struct cli *cli)
{
    struct error err;

    watch_begin(cli);
    do {
        fputs("\033[H\033[2J", stdout);
        if (show_list(cli, &err) < 0)
            return cli_fail(&err);
        fflush(stdout);
    } while (!watch_sleep(LIST_EVERY_MS));
    return CLI_INTERRUPTED;
}

/* A block on the terminal that is drawn over. */
struct block {
    int lines;
};

static void hide_block(void *arg)
{
    struct block *block = arg;

    if (block->lines > 0)
        printf("\033[%dA\r\033[J", block->lines);
    block->lines = 0;
    fflush(stdout);
}

static void show_block(void *arg, const json_t *ensemble)
{
    struct block *block = arg;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    report_status(ensemble, out);
    fclose(out);
    hide_block(block);
    printf("\033[?7l%s\033[?7h", text); /* a line that wrapped would be two */
    for (const char *c = text; *c; c++)
        block->lines += *c == '\n';
    fflush(stdout);
    free(text);
}

static int watch_one(struct cli *cli, int64_t id, bool terminal)
{
    struct block block = {0};
    struct progress *progress = progress_create(stdout);
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
        return status.id ? watch_one(cli, status.id, terminal) : watch_list(cli);
    if (status.id)
        return show_one(cli, status.id);
    return show_list(cli, &err) < 0 ? cli_fail(&err) : CLI_HOLDS;
}

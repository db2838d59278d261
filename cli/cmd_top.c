#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/plot.h"
#include "cli/render.h"
#include "cli/report.h"
#include "cli/screen.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/watch.h"
#include "common/member_state.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_MS 1000
#define COLUMNS 80 /* width if the output is no terminal */
#define LINES 24
#define ROWS_MOST 1000
#define PLOT_LEAST 4 /* lines; a lower curve is not worth drawing */
#define PLOT_MOST 12

static error_t parse_top_option(int key, char *arg, struct argp_state *state)
{
    return key == ARGP_KEY_NO_ARGS ? 0 : arg_one_ensemble(key, arg, state);
}

static const struct argp argp = {
    NULL,
    parse_top_option,
    "[ID]",
    "How ensemble ID is doing, or all that are not over, refreshed in place until q or Ctrl-C.\v"
    "Where there are more ensembles than lines, the newest are shown; `stretto status --state running,paused` lists "
    "all.",
    0,
    0,
    0};

static int columns(void)
{
    return terminal_width() > 0 ? terminal_width() : COLUMNS;
}

/* Prints a bar of the members, with a letter and a colour for each state. */
static void put_member_bar(const json_t *ensemble, FILE *out)
{
    int64_t count = get_int(ensemble, "count"), before = 0;
    int cells = columns() - 2, at = 0;

    fputc('[', out);
    for (enum member_state state = 0; state < MEMBER_STATE_COUNT && count > 0; state++) {
        const char *name = member_state_name(state);
        enum style style = style_of_state(name);
        int to;

        before += ensemble_members(ensemble, name);
        to = (int)(before * cells / count);
        fputs(style_on(style), out);
        for (; at < to; at++)
            fputc(name[0], out);
        fputs(style_off(style), out);
    }
    fprintf(out, "%*s]\n", cells - at, "");
}

static void put_sum(const json_t *ranks, const char *name, const char *key, FILE *out)
{
    json_t *rank;
    int64_t sum = 0;
    size_t i;

    json_array_foreach ((json_t *)ranks, i, rank)
        sum += get_int(rank, key);
    fprintf(out, "%lld %s", (long long)sum, name);
}

/* Prints the buffer of the training, and how long it waits. */
static void put_training(struct cli *cli, const json_t *training, FILE *out)
{
    char *path = xasprintf("/v1/trainings/%lld/ranks", (long long)get_int(training, "id"));
    const json_t *waits = json_object_get(training, "waits"), *ranks;
    json_t *reply = NULL;
    struct error err;

    if (client_get(cli->client, path, &reply, NULL, &err) == 0) {
        ranks = json_object_get(reply, "ranks");
        fputs("buffer     ", out);
        put_sum(ranks, "samples of ", "population", out);
        put_sum(ranks, "at most, ", "capacity", out);
        put_sum(ranks, "never drawn\n", "unseen", out);
    }
    if (json_is_object(waits))
        fprintf(out, "waits      %.0f %% of the time for samples, %.0f %% for room in the buffer\n",
                100 * json_number_value(json_object_get(waits, "for_samples")),
                100 * json_number_value(json_object_get(waits, "for_room")));
    json_decref(reply);
    free(path);
}

static void put_loss(struct cli *cli, const json_t *ensemble, int lines, FILE *out)
{
    const char *name =
        ensemble_metric(ensemble, "train_loss")
            ? "train_loss"
            : json_object_iter_key(json_object_iter(json_object_get(ensemble_training(ensemble), "metrics")));
    char *escaped, *path, *shown;
    json_t *reply = NULL;
    struct error err;

    if (name == NULL || lines < PLOT_LEAST)
        return;
    escaped = client_escape(name);
    shown = render_text(name);
    path = xasprintf("/v1/trainings/%lld/metrics?name=%s&buckets=%d",
                     (long long)get_int(ensemble_training(ensemble), "id"), escaped, plot_dots(columns()));
    if (client_get(cli->client, path, &reply, NULL, &err) == 0) {
        fprintf(out, "\n%s%s%s\n", style_on(STYLE_BOLD), shown, style_off(STYLE_BOLD));
        plot_print(json_object_get(json_object_get(json_object_get(reply, "series"), name), "buckets"), columns(),
                   lines < PLOT_MOST ? lines : PLOT_MOST, false, out);
    }
    json_decref(reply);
    free(path);
    free(shown);
    free(escaped);
}

static int count_lines(FILE *out, char *const *text)
{
    int lines = 0;

    fflush(out);
    for (const char *c = *text; *c; c++)
        lines += *c == '\n';
    return lines;
}

static int put_one(struct cli *cli, int64_t id, FILE *out, char **text, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)id);
    int height = terminal_height() > 0 ? terminal_height() : LINES;
    json_t *ensemble = NULL;
    int rc = client_get(cli->client, path, &ensemble, NULL, err);

    free(path);
    if (rc < 0)
        return -1;
    put_member_bar(ensemble, out);
    report_status(ensemble, out);
    if (ensemble_training(ensemble)) {
        put_training(cli, ensemble_training(ensemble), out);
        put_loss(cli, ensemble, height - count_lines(out, text) - 4, out);
    }
    json_decref(ensemble);
    return 0;
}

static int put_all(struct cli *cli, FILE *out, struct error *err)
{
    const char *headers[] = {">id", "name", "state", ">members", ">running", ">failed", ">eta", "waiting", NULL};
    int rows = terminal_height() > 0 ? terminal_height() - 2 : ROWS_MOST;
    char *path = xasprintf("/v1/ensembles?state=running,paused&limit=%d", rows < 1           ? 1
                                                                          : rows < ROWS_MOST ? rows
                                                                                             : ROWS_MOST);
    struct table *table;
    json_t *reply = NULL, *ensemble;
    size_t i;
    int rc = client_get(cli->client, path, &reply, NULL, err);

    free(path);
    if (rc < 0)
        return -1;
    table = table_create(headers);
    json_array_foreach (json_object_get(reply, "ensembles"), i, ensemble) {
        char text[RENDER_SIZE], *waiting = render_sentence(ensemble_notice(ensemble));

        table_cellf(table, "%lld", (long long)get_int(ensemble, "id"));
        table_cell(table, get_string(ensemble, "name"));
        table_state(table, get_string(ensemble, "state"));
        table_cellf(table, "%lld/%lld", (long long)ensemble_finished(ensemble), (long long)get_int(ensemble, "count"));
        table_cellf(table, "%lld", (long long)ensemble_members(ensemble, "running"));
        table_cellf(table, "%lld", (long long)ensemble_members(ensemble, "failed"));
        table_cell(table, ensemble_eta(ensemble) < 0 ? "-" : render_duration(text, ensemble_eta(ensemble)));
        table_cell(table, waiting);
        free(waiting);
    }
    table_print(table, out);
    if (json_is_string(json_object_get(reply, "next")))
        fputs("and older ones: `stretto status --state running,paused` lists them all\n", out);
    table_destroy(table);
    json_decref(reply);
    return 0;
}

/* Returns all that is shown, to be freed; NULL with err on failure. */
static char *draw_top(struct cli *cli, int64_t id, struct error *err)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int rc = id != 0 ? put_one(cli, id, out, &text, err) : put_all(cli, out, err);

    fclose(out);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

static int refresh(struct cli *cli, int64_t id, struct error *err)
{
    char *text = draw_top(cli, id, err), *away;

    if (text == NULL && !watch_may_pass(err))
        return -1;
    if (text != NULL) {
        screen_draw(text);
    } else {
        away = xasprintf("%s\n", err->text);
        screen_draw(away);
        free(away);
    }
    free(text);
    return 0;
}

int cmd_top(struct cli *cli, int argc, char **argv)
{
    int64_t id = 0;
    struct error err;
    char *text;
    int rc = 0;

    if (cli_parse(cli, &argp, argc, argv, &id, &err) < 0)
        return cli_fail(&err);
    if (cli->json) {
        fprintf(stderr, "stretto: top is for people; programs use `stretto status --json`\n");
        return CLI_USAGE;
    }
    text =
        draw_top(cli, id, &err); /* a first failure is printed before the second screen opens, where it stays visible */
    if (text == NULL)
        return cli_fail(&err);
    if (!terminal_is()) {
        fputs(text, stdout);
        free(text);
        return CLI_HOLDS;
    }
    watch_begin(cli);
    screen_begin();
    screen_draw(text);
    free(text);
    while (rc == 0 && !screen_wait(EVERY_MS) && !watch_sleep(0))
        rc = refresh(cli, id, &err);
    screen_end();
    return rc < 0 && strcmp(err.code, CLIENT_INTERRUPTED) != 0 ? cli_fail(&err) : CLI_HOLDS;
}

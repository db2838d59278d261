#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/plot.h"
#include "cli/render.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 32
#define LINES 12
#define COLUMNS 80 /* width if the output is no terminal */

struct metrics_options {
    struct ref ref;               /* an ensemble, of whose training they are, or a member */
    const char *names[NAMES_MAX]; /* empty for all */
    size_t n_names;
    bool said, plot, csv, logarithmic;
    char *base; /* the path of the training or of the member */
};

static error_t parse_metrics_option(int key, char *arg, struct argp_state *state)
{
    struct metrics_options *m = state->input;

    switch (key) {
    case 'p': m->plot = true; return 0;
    case 'c': m->csv = true; return 0;
    case 'l': m->plot = m->logarithmic = true; return 0;
    case ARGP_KEY_ARG:
        if (!m->said) {
            m->said = true;
            if (ref_parse(arg, &m->ref) < 0 || m->ref.training)
                argp_error(state, "\"%s\" is neither an ensemble's id, such as 7, nor a member, such as 7.123", arg);
        } else if (m->n_names < NAMES_MAX)
            m->names[m->n_names++] = arg;
        else
            argp_error(state, "%d names at most", NAMES_MAX);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "of which ensemble? `stretto status` lists them"); return 0;
    case ARGP_KEY_END:
        if (m->plot && m->csv)
            argp_error(state, "--plot or --csv?");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {{"plot", 'p', NULL, 0, "as curves", 0},
                                             {"log", 'l', NULL, 0, "as curves on a logarithmic axis", 0},
                                             {"csv", 'c', NULL, 0, "all points exactly, as comma-separated values", 0},
                                             {0}};
static const struct argp argp = {
    options,
    parse_metrics_option,
    "ID [NAME...]\nID.INDEX [NAME...]",
    "The metrics, such as losses, that the training of ensemble ID, or member ID.INDEX, reported.",
    0,
    0,
    0};

static bool is_wanted(const struct metrics_options *m, const char *name)
{
    bool wanted = m->n_names == 0;

    for (size_t i = 0; i < m->n_names; i++)
        wanted = wanted || strcmp(m->names[i], name) == 0;
    return wanted;
}

static json_t *get_series(struct cli *cli, const struct metrics_options *m, const char *name, int buckets,
                          struct error *err)
{
    char *escaped = client_escape(name);
    char *path = xasprintf("%s/metrics?name=%s&buckets=%d", m->base, escaped, buckets);
    json_t *reply = NULL, *series = NULL;

    if (client_get(cli->client, path, &reply, NULL, err) == 0) {
        series = json_incref(json_object_get(json_object_get(json_object_get(reply, "series"), name), "buckets"));
        if (series == NULL)
            error_set(err, "no_metric", "there is no metric \"%s\"", name);
    }
    json_decref(reply);
    free(path);
    free(escaped);
    return series;
}

static int plot_metric(struct cli *cli, const struct metrics_options *m, const char *name, struct error *err)
{
    int columns = terminal_width() > 0 ? terminal_width() : COLUMNS;
    json_t *buckets = get_series(cli, m, name, plot_dots(columns), err);
    char *shown = render_text(name);

    if (buckets != NULL) {
        printf("%s%s%s%s\n", style_on(STYLE_BOLD), shown, style_off(STYLE_BOLD),
               m->logarithmic ? " (logarithmic)" : "");
        plot_print(buckets, columns, LINES, m->logarithmic, stdout);
    }
    free(shown);
    json_decref(buckets);
    return buckets != NULL ? 0 : -1;
}

/* Prints a name, in quotes if CSV needs them. On a terminal control characters are replaced; elsewhere it is
 * exact. */
static void print_csv_name(const char *name)
{
    char *shown = terminal_width() > 0 ? render_text(name) : xstrdup(name);

    if (strpbrk(shown, ",\"\r\n") == NULL) {
        fputs(shown, stdout);
    } else {
        putchar('"');
        for (const char *c = shown; *c; c++)
            printf(*c == '"' ? "\"\"" : "%c", *c);
        putchar('"');
    }
    free(shown);
}

/* Prints the shortest text that means this number and no other; NaN, Infinity or -Infinity if it is not finite. */
static void print_exactly(const json_t *value)
{
    char text[TEXT_REAL];

    fputs(text_real(text, text_metric_value(value)), stdout);
}

/* Prints what a row of a long series, in which neighbours were merged, has besides its last value. */
static void print_merged(const json_t *point)
{
    const json_t *count = json_object_get(point, "count");

    printf(",%lld,", json_is_integer(count) ? (long long)json_integer_value(count) : 1);
    print_exactly(json_object_get(point, json_is_integer(count) ? "min" : "value"));
    putchar(',');
    print_exactly(json_object_get(point, json_is_integer(count) ? "max" : "value"));
}

static int write_points(struct cli *cli, const struct metrics_options *m, const char *name, struct error *err)
{
    char *escaped = client_escape(name), *cursor = xstrdup("");
    int rc = 0;

    while (rc == 0 && cursor != NULL) {
        char *path =
            xasprintf("%s/points?name=%s&limit=1000%s%s", m->base, escaped, cursor[0] ? "&cursor=" : "", cursor);
        json_t *page = NULL, *point;
        const char *next;
        size_t i;

        rc = client_get(cli->client, path, &page, NULL, err);
        json_array_foreach (json_object_get(page, "points"), i, point) {
            print_csv_name(name);
            printf(",%lld,%lld,%s,", (long long)get_int(point, "step"),
                   (long long)get_int(point, m->ref.index < 0 ? "rank" : "attempt"), get_string(point, "time"));
            print_exactly(json_object_get(point, "value"));
            if (m->ref.index >= 0)
                print_merged(point);
            putchar('\n');
        }
        next = json_string_value(json_object_get(page, "next"));
        free(cursor);
        cursor = next ? xstrdup(next) : NULL;
        json_decref(page);
        free(path);
    }
    free(cursor);
    free(escaped);
    return rc;
}

static int add_metric_row(struct cli *cli, const struct metrics_options *m, const char *name, struct table *table,
                          struct error *err)
{
    static const char *const keys[] = {"first", "last", "min", "max", NULL};
    json_t *buckets = get_series(cli, m, name, 1, err), *all = json_array_get(buckets, 0);
    char text[RENDER_SIZE];

    if (buckets == NULL)
        return -1;
    table_cell(table, name);
    for (const char *const *key = keys; *key; key++)
        table_cell(table, render_metric(text, json_object_get(all, *key)));
    table_cellf(table, "%lld", (long long)get_int(all, "count"));
    table_cellf(table, "%lld", (long long)get_int(all, "not_finite"));
    table_cellf(table, "%lld", (long long)get_int(all, "last_step"));
    json_decref(buckets);
    return 0;
}

static int show_all(struct cli *cli, const struct metrics_options *m, const json_t *metrics, struct error *err)
{
    const char *headers[] = {"metric",  ">first",      ">last",      ">least", ">greatest",
                             ">points", ">not finite", ">last step", NULL};
    struct table *table = table_create(headers);
    const char *name;
    json_t *value;
    int rc = 0;

    if (m->csv)
        printf("name,step,%s\n", m->ref.index < 0 ? "rank,time,value" : "attempt,time,value,count,min,max");
    json_object_foreach ((json_t *)metrics, name, value) {
        if (!is_wanted(m, name) || rc < 0)
            continue;
        rc = m->csv    ? write_points(cli, m, name, err)
             : m->plot ? plot_metric(cli, m, name, err)
                       : add_metric_row(cli, m, name, table, err);
    }
    if (!m->csv && !m->plot)
        table_print(table, stdout);
    table_destroy(table);
    return rc;
}

/* Finds the training of the ensemble. Returns its metrics by name, a new reference, or NULL. */
static json_t *find_training_metrics(struct cli *cli, struct metrics_options *m, struct error *err)
{
    long long id = (long long)m->ref.ensemble;
    char *path = xasprintf("/v1/ensembles/%lld", id);
    json_t *ensemble = NULL, *metrics = NULL;

    if (client_get(cli->client, path, &ensemble, NULL, err) == 0) {
        const json_t *training = ensemble_training(ensemble);

        metrics = json_incref(json_object_get(training, "metrics"));
        if (training == NULL)
            error_set(err, "no_training",
                      "ensemble %lld has no training; `stretto metrics %lld.INDEX` shows those of a member", id, id);
        else
            m->base = xasprintf("/v1/trainings/%lld", (long long)get_int(training, "id"));
    }
    json_decref(ensemble);
    free(path);
    return metrics;
}

static json_t *find_member_metrics(struct cli *cli, struct metrics_options *m, struct error *err)
{
    json_t *member = NULL, *metrics = NULL;

    m->base = xasprintf("/v1/ensembles/%lld/members/%lld", (long long)m->ref.ensemble, (long long)m->ref.index);
    if (client_get(cli->client, m->base, &member, NULL, err) == 0)
        metrics = json_incref(json_object_get(member, "metrics"));
    json_decref(member);
    return metrics;
}

/* Finds the member or training that has the metrics, and checks that it has those that the user named. Returns them by
 * name, or NULL. */
static json_t *find_metrics(struct cli *cli, struct metrics_options *m, struct error *err)
{
    json_t *metrics = m->ref.index < 0 ? find_training_metrics(cli, m, err) : find_member_metrics(cli, m, err);
    char whose[64];

    for (size_t i = 0; i < m->n_names && metrics != NULL; i++) {
        if (json_object_get(metrics, m->names[i]) != NULL)
            continue;
        if (m->ref.index < 0)
            snprintf(whose, sizeof whose, "the training of ensemble %lld", (long long)m->ref.ensemble);
        else
            snprintf(whose, sizeof whose, "member %lld.%lld", (long long)m->ref.ensemble, (long long)m->ref.index);
        error_set(err, "no_metric", "%s has reported no metric \"%.100s\"", whose, m->names[i]);
        json_decref(metrics);
        metrics = NULL;
    }
    return metrics;
}

/* Prints one answer of the API. */
static int show_answer(struct cli *cli, const struct metrics_options *m, const char *query, struct error *err)
{
    char *path = xasprintf("%s/metrics?%s", m->base, query), *text = NULL;
    int rc = client_get(cli->client, path, NULL, &text, err);

    if (rc == 0)
        render_document(text);
    free(text);
    free(path);
    return rc;
}

/* Prints an answer for each series that is wanted, or one with all of them. */
static int show_json(struct cli *cli, const struct metrics_options *m, struct error *err)
{
    int rc = m->n_names == 0 ? show_answer(cli, m, "limit=1000", err) : 0;

    for (size_t i = 0; i < m->n_names && rc == 0; i++) {
        char *escaped = client_escape(m->names[i]), *query = xasprintf("name=%s", escaped);

        rc = show_answer(cli, m, query, err);
        free(query);
        free(escaped);
    }
    return rc;
}

int cmd_metrics(struct cli *cli, int argc, char **argv)
{
    struct metrics_options m = {0};
    json_t *metrics;
    struct error err;
    int rc = -1;

    if (cli_parse(cli, &argp, argc, argv, &m, &err) < 0)
        return cli_fail(&err);
    metrics = find_metrics(cli, &m, &err);
    if (metrics != NULL)
        rc = cli->json ? show_json(cli, &m, &err) : show_all(cli, &m, metrics, &err);
    json_decref(metrics);
    free(m.base);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/checkpoint.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/member_query.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "cli/table.h"
#include "common/jsonx.h"
#include "common/member_state.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_MAX 5
#define USE_HEADERS ">queued", ">ran", ">CPU", ">memory"
#define N(array) (sizeof array / sizeof *array)

/* The columns: metrics stand before `use`, which only --long has; print_members_page() adds the cells. */
static const char *const first[] = {">index", "state", ">attempts", ">done"};
static const char *const use[] = {"host", USE_HEADERS};
static const char *const last[] = {"parameters", "reason"};

struct members {
    struct ref ref;
    bool said;
    struct member_query query;
    const char *metrics[METRICS_MAX];
    size_t n_metrics;
    const char *sort; /* a metric, or what the API sorts by; NULL: by index */
    bool descending;
    bool is_long;
};

enum { OPTION_FROM = 0x100, OPTION_TO, OPTION_HOST, OPTION_CAUSE, OPTION_METRIC, OPTION_SORT, OPTION_DESCENDING };

struct member_table {
    const struct members *members;
    struct table *table;
    const char *headers[N(first) + METRICS_MAX + N(use) + N(last) + 1];
    char *names[METRICS_MAX]; /* of the metrics' columns */
};

static void add_metric_option(struct members *members, const char *name, const struct argp_state *state)
{
    for (size_t i = 0; i < members->n_metrics; i++)
        if (strcmp(members->metrics[i], name) == 0)
            return;
    if (members->n_metrics == METRICS_MAX || name[0] == '\0' || strchr(name, ',') != NULL)
        argp_error(state, "--metric: up to %d names of metrics, without commas", METRICS_MAX);
    members->metrics[members->n_metrics++] = name;
}

/* Returns whether members can be sorted by this without a metric. */
static bool is_sort_without_metric(const char *name)
{
    static const char *const keys[] = {"attempts", "took", "cpu", "memory"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], name) == 0)
            return true;
    return false;
}

static error_t parse_members_option(int key, char *arg, struct argp_state *state)
{
    struct members *members = state->input;

    switch (key) {
    case 's': members->query.state = arg; return 0;
    case OPTION_FROM: members->query.from = arg; return 0;
    case OPTION_TO: members->query.to = arg; return 0;
    case OPTION_HOST: members->query.host = arg; return 0;
    case OPTION_CAUSE: members->query.cause = arg; return 0;
    case 'w':
        if (member_query_where(&members->query, arg) < 0)
            argp_error(state, "\"%s\" is neither NAME=VALUE nor NAME=LOW..HIGH, or its name was there before", arg);
        return 0;
    case 'l': members->is_long = true; return 0;
    case OPTION_METRIC: add_metric_option(members, arg, state); return 0;
    case OPTION_SORT:
        members->sort = arg;
        if (!is_sort_without_metric(arg))
            add_metric_option(members, arg, state);
        return 0;
    case OPTION_DESCENDING: members->descending = true; return 0;
    case ARGP_KEY_ARG:
        if (members->said)
            argp_error(state, "one ID at a time, please");
        members->said = true;
        if (ref_parse(arg, &members->ref) < 0 || members->ref.training)
            argp_error(state, "\"%s\" is neither an ensemble's id, such as 7, nor a member, such as 7.123", arg);
        return 0;
    case ARGP_KEY_END:
        if (!members->said)
            argp_error(state, "of which ensemble? `stretto status` lists them");
        if (members->is_long && members->ref.index >= 0)
            argp_error(state, "--long is for the members of an ensemble; one member is always told in full");
        if (members->descending && members->sort == NULL)
            argp_error(state, "--descending has no meaning without --sort");
        if ((!member_query_is_any(&members->query) || members->n_metrics > 0 || members->sort != NULL) &&
            members->ref.index >= 0)
            argp_error(state, "options that choose among the members of an ensemble do not go with one member");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"state", 's', "STATE[,STATE...]", 0, "only those in one of the states below", 0},
    {"from", OPTION_FROM, "INDEX", 0, "only those from this index on", 0},
    {"to", OPTION_TO, "INDEX", 0, "only those up to this index", 0},
    {"where", 'w', "NAME=LOW..HIGH", 0,
     "only those with a parameter in a range, of which an end may be missing, or, as NAME=VALUE, with one value; may "
     "be said for several parameters",
     0},
    {"host", OPTION_HOST, "HOST", 0, "only those whose latest attempt was on this host", 0},
    {"cause", OPTION_CAUSE, "CAUSE", 0,
     "only those of which an attempt failed for this cause, as `stretto status --json` and the API have it", 0},
    {"metric", OPTION_METRIC, "NAME", 0, "with the last value of this metric; may be said for several metrics", 0},
    {"sort", OPTION_SORT, "NAME", 0,
     "by the last value of this metric, or by attempts, took, cpu or memory; the least first, those without one last",
     0},
    {"descending", OPTION_DESCENDING, NULL, 0, "the greatest first, where they are sorted", 0},
    {"long", 'l', NULL, 0,
     "with the latest attempt of each: host, time in the queue, time since it started, CPU time, peak of memory", 0},
    {0}};
#define STATE_HELP(symbol, name, final, style, sign, place, fill, ink, dark_fill, dark_ink, help)                      \
    "  " name ": " help "\n"

static const struct argp argp = {options,
                                 parse_members_option,
                                 "ID\nID.INDEX",
                                 "The members of ensemble ID, or member ID.INDEX with all its attempts."
                                 "\vStates:\n" MEMBER_STATES(STATE_HELP),
                                 0,
                                 0,
                                 0};

#define SHORT_ENOUGH                                                                                                   \
    8 /* characters: a parameter such as 0.00025 is shown in full, and one drawn at random is rounded */

static void print_value(FILE *out, const json_t *value)
{
    struct text text = {0};

    text_json(&text, value);
    fputs(text.data, out);
    free(text.data);
}

static void put_parameters(struct table *table, const json_t *parameters)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *name, *separator = "";
    json_t *value;

    json_object_foreach ((json_t *)parameters, name, value) {
        char number[RENDER_SIZE], whole[TEXT_REAL];

        fprintf(out, "%s%s=", separator, name);
        if (json_is_real(value) && strlen(text_real(whole, json_real_value(value))) <= SHORT_ENOUGH)
            fputs(whole, out);
        else if (json_is_real(value))
            fputs(render_number(number, value), out);
        else if (json_is_string(value))
            fputs(json_string_value(value), out);
        else
            print_value(out, value);
        separator = " ";
    }
    fclose(out);
    table_cell(table, text);
    free(text);
}

static void put_span(struct table *table, const json_t *attempt, const char *from, const char *to)
{
    double seconds = render_seconds_between(attempt, from, to);
    char text[RENDER_SIZE];

    table_cell(table, seconds < 0 ? "-" : render_duration(text, seconds));
}

/* Adds the cells that belong to USE_HEADERS. */
static void put_use(struct table *table, const json_t *attempt)
{
    const json_t *cpu = json_object_get(attempt, "cpu_seconds");
    char text[RENDER_SIZE];

    put_span(table, attempt, "submitted", "started");
    put_span(table, attempt, "started", "ended");
    table_cell(table, json_is_number(cpu) ? render_duration(text, json_number_value(cpu)) : "-");
    table_cell(table, render_size(text, json_object_get(attempt, "memory_peak")));
}

static void put_reason(struct table *table, const json_t *member)
{
    const char *reason = get_string(member, "reason"), *retry = get_string(member, "retry_at");
    char text[RENDER_SIZE];

    if (retry[0] != '\0')
        table_cellf(table, "%s%sretry %s", reason, reason[0] ? "; " : "", render_age(text, retry));
    else
        table_cell(table, reason);
}

static void put_progress(struct table *table, const json_t *progress)
{
    if (json_is_number(progress))
        table_cellf(table, "%.0f%%", 100 * json_number_value(progress));
    else
        table_cell(table, "-");
}

/* Adds the last value of each metric that was asked for; "-" if the member has not reported it. */
static void put_metrics(struct table *table, const struct members *members, const json_t *metrics)
{
    char text[RENDER_SIZE];

    for (size_t i = 0; i < members->n_metrics; i++) {
        const json_t *figures = json_object_get(metrics, members->metrics[i]);

        table_cell(table, figures == NULL ? "-" : render_metric(text, json_object_get(figures, "last")));
    }
}

static void print_members_page(void *arg, const json_t *items)
{
    const struct member_table *listing = arg;
    struct table *table = listing->table;
    json_t *member;
    size_t i;

    json_array_foreach (items, i, member) {
        table_cellf(table, "%lld", (long long)get_int(member, "index"));
        table_state(table, get_string(member, "state"));
        table_cellf(table, "%lld", (long long)get_int(member, "attempts"));
        put_progress(table, json_object_get(member, "progress"));
        put_metrics(table, listing->members, json_object_get(member, "metrics"));
        if (listing->members->is_long) {
            const json_t *attempt = json_object_get(member, "last_attempt");
            const char *host = get_string(attempt, "host");

            table_cell(table, host[0] ? host : "-");
            put_use(table, attempt);
        }
        put_parameters(table, json_object_get(member, "parameters"));
        put_reason(table, member);
    }
    table_print(table, stdout);
}

static void begin_table(struct member_table *l)
{
    const struct members *members = l->members;
    size_t n = 0;

    for (size_t i = 0; i < N(first); i++)
        l->headers[n++] = first[i];
    for (size_t i = 0; i < members->n_metrics; i++)
        l->headers[n++] = l->names[i] = xasprintf(">%s", members->metrics[i]);
    for (size_t i = 0; i < N(use) && members->is_long; i++)
        l->headers[n++] = use[i];
    for (size_t i = 0; i < N(last); i++)
        l->headers[n++] = last[i];
    l->headers[n] = NULL;
    l->table = table_create(l->headers);
}

static void end_table(struct member_table *l)
{
    table_destroy(l->table);
    for (size_t i = 0; i < l->members->n_metrics; i++)
        free(l->names[i]);
}

/* Adds the metrics that are asked for to the path, and the order. */
static void put_query(const struct members *members, struct text *path)
{
    char *escaped;

    for (size_t i = 0; i < members->n_metrics; i++) {
        escaped = client_escape(members->metrics[i]);
        text_add(path, "%s%s", i == 0 ? "&metrics=" : ",", escaped);
        free(escaped);
    }
    if (members->sort == NULL)
        return;
    escaped = client_escape(members->sort);
    text_add(path, "&sort=%s%s&order=%s", is_sort_without_metric(members->sort) ? "" : "metric:", escaped,
             members->descending ? "desc" : "asc");
    free(escaped);
}

static int list_members(struct cli *cli, const struct members *members, struct error *err)
{
    struct member_table listing = {.members = members};
    struct text path = {0};
    int rc;

    begin_table(&listing);
    text_add(&path, "/v1/ensembles/%lld/members?limit=500", (long long)members->ref.ensemble);
    member_query_put(&members->query, &path);
    put_query(members, &path);
    rc = pages_each(cli, path.data, "members", print_members_page, &listing, err);
    free(path.data);
    end_table(&listing);
    return rc;
}

static void print_attempts(const json_t *attempts)
{
    const char *headers[] = {">attempt", "job",       "state",     "outcome", ">exit", "host",
                             "from",     "submitted", USE_HEADERS, "reason",  NULL};
    struct table *table = table_create(headers);
    char number[RENDER_SIZE];
    json_t *attempt;
    size_t i;

    json_array_foreach (attempts, i, attempt) {
        const json_t *sig = json_object_get(attempt, "signal");

        table_cellf(table, "%lld", (long long)get_int(attempt, "number"));
        table_cell(table, get_string(attempt, "job"));
        table_cell(table, get_string(attempt, "state"));
        table_state(table, get_string(attempt, "outcome"));
        if (json_is_integer(sig))
            table_cellf(table, "signal %lld", (long long)json_integer_value(sig));
        else
            table_cell(table, render_number(number, json_object_get(attempt, "exit_code")));
        table_cell(table, get_string(attempt, "host"));
        table_cell(table, get_string(attempt, "resumed"));
        table_age(table, get_string(attempt, "submitted"));
        put_use(table, attempt);
        table_cell(table, get_reason(attempt));
    }
    table_print(table, stdout);
    table_destroy(table);
    json_array_foreach (attempts, i, attempt) {
        char *notice = render_sentence(get_string(attempt, "notice"));

        if (notice[0] != '\0')
            printf("notice of attempt %lld: %s\n", (long long)get_int(attempt, "number"), notice);
        free(notice);
    }
}

static void print_checkpoints(const json_t *checkpoints)
{
    const char *headers[] = {CHECKPOINT_HEADERS, NULL};
    struct table *table = table_create(headers);
    json_t *checkpoint;
    size_t i;

    json_array_foreach (checkpoints, i, checkpoint)
        checkpoint_cells(table, checkpoint);
    table_print(table, stdout);
    table_destroy(table);
}

static void print_member_artefacts(const json_t *artefacts)
{
    const char *headers[] = {"artefact", ">size", "SHA-256", NULL};
    struct table *table = table_create(headers);
    char size[RENDER_SIZE];
    json_t *artefact;
    size_t i;

    json_array_foreach (artefacts, i, artefact) {
        table_cell(table, get_string(artefact, "path"));
        table_cell(table, render_size(size, json_object_get(artefact, "size")));
        table_cell(table, get_string(artefact, "sha256"));
    }
    table_print(table, stdout);
    table_destroy(table);
}

static void print_member_metrics(const json_t *metrics)
{
    const char *headers[] = {"metric", ">last", ">least", ">greatest", ">points", ">last step", NULL};
    struct table *table;
    char text[RENDER_SIZE];
    const char *name;
    json_t *figures;

    if (json_object_size(metrics) == 0)
        return;
    table = table_create(headers);
    json_object_foreach ((json_t *)metrics, name, figures) {
        table_cell(table, name);
        table_cell(table, render_metric(text, json_object_get(figures, "last")));
        table_cell(table, render_metric(text, json_object_get(figures, "min")));
        table_cell(table, render_metric(text, json_object_get(figures, "max")));
        table_cellf(table, "%lld", (long long)get_int(figures, "points"));
        table_cellf(table, "%lld", (long long)get_int(figures, "step"));
    }
    putchar('\n');
    table_print(table, stdout);
    table_destroy(table);
}

static int show_member(struct cli *cli, const struct ref *ref, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld/members/%lld", (long long)ref->ensemble, (long long)ref->index);
    json_t *member = NULL;
    char *text = NULL, *parameters, *resources, *reason, age[RENDER_SIZE];

    if (client_get(cli->client, path, &member, &text, err) < 0) {
        free(path);
        return -1;
    }
    free(path);
    if (cli->json) {
        render_document(text);
    } else {
        reason = render_text(get_string(member, "reason"));
        parameters = jsonx_dumps(json_object_get(member, "parameters"), JSON_ENCODE_ANY);
        resources = jsonx_dumps(json_object_get(member, "resources"), 0);
        printf("member %lld.%lld: %s%s%s\n", (long long)ref->ensemble, (long long)ref->index,
               get_string(member, "state"), reason[0] ? ": " : "", reason);
        if (get_string(member, "retry_at")[0])
            printf("retry      at %s\n", render_moment(age, get_string(member, "retry_at")));
        printf("parameters %s\n", parameters ? parameters : "-");
        if (resources != NULL)
            printf("resources  %s\n", resources);
        if (get_string(member, "results")[0]) {
            char *results = render_text(get_string(member, "results"));

            printf("results    %s\n", results);
            free(results);
        }
        print_member_metrics(json_object_get(member, "metrics"));
        if (json_array_size(json_object_get(member, "attempts")) > 0) {
            putchar('\n');
            print_attempts(json_object_get(member, "attempts"));
        }
        if (json_array_size(json_object_get(member, "checkpoints")) > 0) {
            putchar('\n');
            print_checkpoints(json_object_get(member, "checkpoints"));
        }
        if (json_array_size(json_object_get(member, "artefacts")) > 0) {
            putchar('\n');
            print_member_artefacts(json_object_get(member, "artefacts"));
        }
        free(parameters);
        free(resources);
        free(reason);
    }
    json_decref(member);
    free(text);
    return 0;
}

int cmd_members(struct cli *cli, int argc, char **argv)
{
    struct members members = {0};
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &members, &err) < 0)
        return cli_fail(&err);
    rc = members.ref.index < 0 ? list_members(cli, &members, &err) : show_member(cli, &members.ref, &err);
    member_query_fini(&members.query);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

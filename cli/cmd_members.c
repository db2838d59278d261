#include "cli/args.h"
#include "cli/checkpoint.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/member_query.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "cli/table.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct members {
    struct ref ref;
    bool said;
    struct member_query query;
    bool is_long;
};

enum { OPTION_FROM = 0x100, OPTION_TO, OPTION_HOST, OPTION_CAUSE };

struct listing {
    struct table *table;
    bool is_long;
};

static error_t parse(int key, char *arg, struct argp_state *state)
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
        if (!member_query_is_any(&members->query) && members->ref.index >= 0)
            argp_error(state, "options that choose among the members of an ensemble do not go with one member");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"state", 's', "STATE[,STATE...]", 0,
     "only those that are pending, submitted, running, succeeded, failed, unfinished or cancelled",
     0},
    {"from", OPTION_FROM, "INDEX", 0, "only those from this index on", 0},
    {"to", OPTION_TO, "INDEX", 0, "only those up to this index", 0},
    {"where", 'w', "NAME=LOW..HIGH", 0,
     "only those with a parameter in a range, of which an end may be missing, or, as NAME=VALUE, with one value; may "
     "be said for several parameters",
     0},
    {"host", OPTION_HOST, "HOST", 0, "only those whose latest attempt was on this host", 0},
    {"cause", OPTION_CAUSE, "CAUSE", 0,
     "only those of which an attempt failed for this cause, as `stretto status --json` and the API have it", 0},
    {"long", 'l', NULL, 0,
     "with the latest attempt of each: host, time in the queue, time since it started, CPU time, peak of memory", 0},
    {0}};
static const struct argp argp = {
    options, parse, "ID\nID.INDEX", "The members of ensemble ID, or member ID.INDEX with all its attempts.", 0, 0, 0};

static void put_parameters(struct table *table, const json_t *parameters)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *name, *separator = "";
    json_t *value;

    json_object_foreach((json_t *)parameters, name, value) {
        char number[RENDER_SIZE];

        fprintf(out, "%s%s=", separator, name);
        if (json_is_real(value))
            fputs(render_number(number, value), out);
        else if (json_is_string(value))
            fputs(json_string_value(value), out);
        else
            json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
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

#define USE_HEADERS ">queued", ">ran", ">CPU", ">memory"

static void print_page(void *arg, const json_t *items)
{
    const struct listing *listing = arg;
    struct table *table = listing->table;
    json_t *member;
    size_t i;

    json_array_foreach(items, i, member) {
        table_cellf(table, "%lld", (long long)get_int(member, "index"));
        table_state(table, get_string(member, "state"));
        table_cellf(table, "%lld", (long long)get_int(member, "attempts"));
        if (listing->is_long) {
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

static int list_members(struct cli *cli, const struct members *members, struct error *err)
{
    const char *short_headers[] = {">index", "state", ">attempts", "parameters", "reason", NULL};
    const char *long_headers[] = {">index", "state", ">attempts", "host", USE_HEADERS, "parameters", "reason", NULL};
    struct listing listing = {table_create(members->is_long ? long_headers : short_headers), members->is_long};
    struct text path = {0};
    int rc;

    text_add(&path, "/v1/ensembles/%lld/members?limit=500", (long long)members->ref.ensemble);
    member_query_put(&members->query, &path);
    rc = pages_each(cli, path.data, "members", print_page, &listing, err);
    free(path.data);
    table_destroy(listing.table);
    return rc;
}

static void print_attempts(const json_t *attempts)
{
    const char *headers[] = {">attempt", "job", "state", "outcome", ">exit", "host",
                             "from", "submitted", USE_HEADERS, "reason", NULL};
    struct table *table = table_create(headers);
    char number[RENDER_SIZE];
    json_t *attempt;
    size_t i;

    json_array_foreach(attempts, i, attempt) {
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

static void print_artefacts(const json_t *artefacts)
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

static int show_member(struct cli *cli, const struct ref *ref, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld/members/%lld", (long long)ref->ensemble, (long long)ref->index);
    json_t *member = NULL;
    char *text = NULL, *parameters, *reason, age[RENDER_SIZE];

    if (client_get(cli->client, path, &member, &text, err) < 0) {
        free(path);
        return -1;
    }
    free(path);
    if (cli->json) {
        render_document(text);
    } else {
        reason = render_text(get_string(member, "reason"));
        parameters = json_dumps(json_object_get(member, "parameters"), JSON_ENCODE_ANY);
        printf("member %lld.%lld: %s%s%s\n", (long long)ref->ensemble, (long long)ref->index,
               get_string(member, "state"), reason[0] ? ": " : "", reason);
        if (get_string(member, "retry_at")[0])
            printf("retry      at %s\n", render_moment(age, get_string(member, "retry_at")));
        printf("parameters %s\n", parameters ? parameters : "-");
        if (get_string(member, "results")[0]) {
            char *results = render_text(get_string(member, "results"));

            printf("results    %s\n", results);
            free(results);
        }
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
            print_artefacts(json_object_get(member, "artefacts"));
        }
        free(parameters);
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

/* stretto suggest: more members for an open ensemble, from the command line or from lines of JSON. */
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/jsonx.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 1000 /* suggestions in one call */
#define CODE "spec_file"

struct suggest {
    int64_t id;
    const char *file, *name;
    json_t *parameters;
    int64_t priority;
    bool has_priority;
};

/* Reads a value as JSON if it is a number, true, false, "a string", a list or an object, and else as text. */
static json_t *suggested_value(const char *text, const struct argp_state *state)
{
    json_error_t why;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &why);

    if (value == NULL && json_error_code(&why) == json_error_numeric_overflow)
        argp_error(state, "%s is more than an integer of 63 bits or a double holds; '\"%s\"' is a text", text, text);
    if (value != NULL && !json_is_null(value))
        return value;
    json_decref(value);
    return json_string(text);
}

static void add_parameter(struct suggest *suggest, const char *arg, const struct argp_state *state)
{
    const char *value = strchr(arg, '=');
    char *name;

    if (value == NULL || value == arg)
        argp_error(state, "a parameter is NAME=VALUE, not \"%s\"", arg);
    name = xasprintf("%.*s", (int)(value - arg), arg);
    if (json_object_get(suggest->parameters, name) != NULL)
        argp_error(state, "\"%s\" was there before", name);
    if (json_object_set_new(suggest->parameters, name, suggested_value(value + 1, state)) < 0)
        argp_error(state, "\"%s\" is not UTF-8", arg);
    free(name);
}

static int64_t priority_of(const char *arg, const struct argp_state *state)
{
    bool negative = arg[0] == '-';
    int64_t number = arg_number(state, arg + negative, "--priority", 0);

    return negative ? -number : number;
}

static error_t parse_suggest_option(int key, char *arg, struct argp_state *state)
{
    struct suggest *suggest = state->input;
    bool of_one = suggest->name != NULL || suggest->has_priority || json_object_size(suggest->parameters) > 0;

    switch (key) {
    case 'f': suggest->file = arg; return 0;
    case 'n': suggest->name = arg; return 0;
    case 'p':
        suggest->priority = priority_of(arg, state);
        suggest->has_priority = true;
        return 0;
    case ARGP_KEY_ARG:
        if (suggest->id == 0)
            suggest->id = arg_ensemble(state, arg);
        else
            add_parameter(suggest, arg, state);
        return 0;
    case ARGP_KEY_END:
        if (suggest->id == 0)
            argp_error(state, "to which ensemble? `stretto status` lists them");
        if (suggest->file != NULL && of_one)
            argp_error(state, "with --file, the lines of the file have names, priorities and parameters");
        if (suggest->file == NULL && json_object_size(suggest->parameters) == 0)
            argp_error(state, "which parameters? They are NAME=VALUE, or --file has them");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"file", 'f', "FILE", 0,
     "many, from a file (- for standard input) of lines of JSON: each is an object of parameters, or one with "
     "\"parameters\", \"name\" and \"priority\"",
     0},
    {"name", 'n', "NAME", 0, "a name, by which the same suggestion is made only once, however often it is said", 0},
    {"priority", 'p', "N", 0, "those of the highest priority are started first; 0 without this", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_suggest_option,
    "ID NAME=VALUE...\nID -f FILE",
    "Suggest members to ensemble ID, whose spec names the parameters that each has (\"open\").",
    0,
    0,
    0};

/* Sends the suggestions, and empties the list. */
static int send_list(struct cli *cli, int64_t id, json_t *list, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld/suggestions", (long long)id), *text = NULL, *body;
    json_t *request = json_pack("{s:O}", "suggestions", list), *reply = NULL, *item;
    size_t i;
    int rc;

    body = jsonx_dumps(request, JSON_COMPACT);
    rc = client_post(cli->client, path, body, &reply, &text, err);
    if (rc == 0 && cli->json)
        render_document(text);
    json_array_foreach (json_object_get(reply, "suggestions"), i, item) {
        char *name = render_text(get_string(item, "name"));

        if (!cli->json)
            printf("%lld.%lld%s%s%s\n", (long long)id, (long long)get_int(item, "index"), name[0] != '\0' ? " " : "",
                   name, json_is_true(json_object_get(item, "new")) ? "" : " (suggested before)");
        free(name);
    }
    json_array_clear(list);
    json_decref(request);
    json_decref(reply);
    free(body);
    free(text);
    free(path);
    return rc;
}

/* Adds a line of the file. Returns -1 with err if it is no object. */
static int add_line(json_t *list, const char *line, const char *shown, size_t number, struct error *err)
{
    json_error_t where;
    json_t *json = json_loads(line, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);

    if (json == NULL)
        return error_set(err, CODE, "%s:%zu:%d: %s", shown, number, where.column, where.text);
    if (!json_is_object(json)) {
        json_decref(json);
        return error_set(err, CODE, "%s:%zu: a line is an object of parameters", shown, number);
    }
    if (!json_is_object(json_object_get(json, "parameters")))
        json = json_pack("{s:o}", "parameters", json);
    json_array_append_new(list, json);
    return 0;
}

static int send_file(struct cli *cli, const struct suggest *suggest, struct error *err)
{
    bool standard_input = strcmp(suggest->file, "-") == 0;
    const char *shown = standard_input ? "standard input" : suggest->file;
    FILE *in = standard_input ? stdin : fopen(suggest->file, "re");
    json_t *list = json_array();
    char *line = NULL;
    size_t room = 0, number = 0;
    int rc = 0;

    if (in == NULL) {
        json_decref(list);
        return error_errno(err, CODE, "%s: cannot be opened", shown);
    }
    while (rc == 0 && (errno = 0, getline(&line, &room, in)) >= 0) {
        number++;
        if (line[strspn(line, " \t\r\n")] != '\0')
            rc = add_line(list, line, shown, number, err);
        if (rc == 0 && json_array_size(list) == AT_ONCE)
            rc = send_list(cli, suggest->id, list, err);
    }
    if (rc == 0 && ferror(in))
        rc = error_errno(err, CODE, "%s: cannot be read", shown);
    if (rc == 0 && json_array_size(list) > 0)
        rc = send_list(cli, suggest->id, list, err);
    if (!standard_input)
        fclose(in);
    json_decref(list);
    free(line);
    return rc;
}

static int send_one(struct cli *cli, const struct suggest *suggest, struct error *err)
{
    json_t *one = json_pack("{s:O, s:I}", "parameters", suggest->parameters, "priority", (json_int_t)suggest->priority),
           *list = json_array();
    int rc;

    if (suggest->name != NULL)
        json_object_set_new(one, "name", json_string(suggest->name));
    json_array_append_new(list, one);
    rc = send_list(cli, suggest->id, list, err);
    json_decref(list);
    return rc;
}

int cmd_suggest(struct cli *cli, int argc, char **argv)
{
    struct suggest suggest = {.parameters = json_object()};
    struct error err;
    int rc = cli_parse(cli, &argp, argc, argv, &suggest, &err);

    if (rc == 0)
        rc = suggest.file != NULL ? send_file(cli, &suggest, &err) : send_one(cli, &suggest, &err);
    json_decref(suggest.parameters);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

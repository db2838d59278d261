#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct argp argp = {
    NULL,
    NULL,
    "",
    "The batch systems that a spec can name, how they are doing, and the plugins that were refused. The exit status "
    "is 0 only if each that was asked answers, each that an ensemble under way needs is set up, and no plugin was "
    "refused.",
    0,
    0,
    0};

static const char *state_word(const char *state)
{
    return strcmp(state, "not_asked") == 0    ? "not asked yet"
           : strcmp(state, "not_set_up") == 0 ? "not set up"
           : strcmp(state, "silent") == 0     ? "no answer"
                                              : state;
}

static void print_adapters(const json_t *adapters)
{
    const char *headers[] = {"name", "state", ">slots", ">submitted", ">running", "last answer", "from", NULL};
    struct table *table = table_create(headers);
    char number[RENDER_SIZE];
    json_t *adapter;
    size_t i;

    json_array_foreach (adapters, i, adapter) {
        const json_t *jobs = json_object_get(adapter, "jobs");
        const char *answered = get_string(adapter, "answered"), *plugin = get_string(adapter, "plugin");

        table_cell(table, get_string(adapter, "name"));
        table_state(table, state_word(get_string(adapter, "state")));
        table_cell(table, render_number(number, json_object_get(adapter, "slots")));
        table_cellf(table, "%lld", (long long)(get_int(jobs, "intent") + get_int(jobs, "submitted")));
        table_cellf(table, "%lld", (long long)get_int(jobs, "running"));
        if (answered[0])
            table_age(table, answered);
        else
            table_cell(table, "-");
        table_cell(table, plugin[0] ? plugin : "built in");
    }
    table_print(table, stdout);
    table_destroy(table);
}

/* Prints why adapters do not answer, below the table, if nothing is cut. */
static void print_reasons(const json_t *adapters)
{
    json_t *adapter;
    size_t i;

    json_array_foreach (adapters, i, adapter) {
        char *name = render_text(get_string(adapter, "name")), *reason = render_sentence(get_string(adapter, "reason"));

        if (reason[0])
            printf("%s: %s\n", name, reason);
        free(name);
        free(reason);
    }
}

static void print_refused(const json_t *refused)
{
    json_t *plugin;
    size_t i;

    json_array_foreach (refused, i, plugin) {
        char *reason = render_text(get_string(plugin, "reason"));

        printf("refused: %s (%s)\n", reason, get_string(plugin, "code"));
        free(reason);
    }
}

/* Returns whether all adapters are well. One that is not set up is no failure while no ensemble needs it, since most
 * machines have only one batch system. */
static bool all_are_well(const json_t *adapters)
{
    json_t *adapter;
    size_t i;

    json_array_foreach (adapters, i, adapter) {
        const char *state = get_string(adapter, "state");

        if (strcmp(state, "silent") == 0 || (strcmp(state, "not_set_up") == 0 && get_int(adapter, "ensembles") > 0))
            return false;
    }
    return true;
}

int cmd_adapters(struct cli *cli, int argc, char **argv)
{
    json_t *reply = NULL;
    const json_t *adapters, *refused;
    char *text = NULL;
    struct error err;
    bool holds;

    if (cli_parse(cli, &argp, argc, argv, NULL, &err) < 0 ||
        client_get(cli->client, "/v1/adapters", &reply, &text, &err) < 0)
        return cli_fail(&err);
    adapters = json_object_get(reply, "adapters");
    refused = json_object_get(reply, "refused");
    holds = all_are_well(adapters) && json_array_size(refused) == 0;
    if (cli->json) {
        render_document(text);
    } else {
        print_adapters(adapters);
        print_reasons(adapters);
        print_refused(refused);
    }
    json_decref(reply);
    free(text);
    return holds ? CLI_HOLDS : CLI_NOT_SO;
}

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"

#include <stdio.h>
#include <stdlib.h>

static const struct argp argp = {
    NULL, NULL, "",
    "The batch systems that a spec can name, whether they answer, and the plugins that were refused. The exit status is 0 "
    "only if all of them answer and none was refused.",
    0, 0, 0};

static void print_adapters(const json_t *adapters)
{
    const char *headers[] = {"name", "answers", ">slots", ">submitted", ">running", "last answer", "from", "reason", NULL};
    struct table *table = table_create(headers);
    char number[RENDER_SIZE];
    json_t *adapter;
    size_t i;

    json_array_foreach (adapters, i, adapter) {
        const json_t *jobs = json_object_get(adapter, "jobs");
        const char *answered = get_string(adapter, "answered"), *plugin = get_string(adapter, "plugin");
        bool answers = json_is_true(json_object_get(adapter, "answers"));

        table_cell(table, get_string(adapter, "name"));
        table_cell(table, answers ? "yes" : "no");
        table_cell(table, render_number(number, json_object_get(adapter, "slots")));
        table_cellf(table, "%lld", (long long)(get_int(jobs, "intent") + get_int(jobs, "submitted")));
        table_cellf(table, "%lld", (long long)get_int(jobs, "running"));
        table_cell(table, answered[0] ? answered : "-");
        table_cell(table, plugin[0] ? plugin : "built in");
        table_cell(table, get_string(adapter, "reason"));
    }
    table_print(table, stdout);
    table_destroy(table);
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

static bool all_answer(const json_t *adapters)
{
    json_t *adapter;
    size_t i;

    json_array_foreach (adapters, i, adapter)
        if (!json_is_true(json_object_get(adapter, "answers")))
            return false;
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
    holds = all_answer(adapters) && json_array_size(refused) == 0;
    if (cli->json) {
        render_document(text);
    } else {
        print_adapters(adapters);
        print_refused(refused);
    }
    json_decref(reply);
    free(text);
    return holds ? CLI_HOLDS : CLI_NOT_SO;
}

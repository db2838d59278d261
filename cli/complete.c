#include "cli/complete.h"

#include "cli/client.h"
#include "cli/credentials.h"
#include "cli/render.h"
#include "common/member_state.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HURRY_MS 500 /* a slower daemon counts as none, while somebody waits after pressing Tab */
#define SHOWN "50"   /* number of ids that are offered, since nobody reads more */

struct completion {
    const struct cli_command *command;
    int n;           /* number of words after the command, without the last one */
    char **words;    /* these words */
    const char *now; /* the last word, as far as it is typed */
};

/* Options whose values are words out of a list. tests/t/0605-completion.t checks that the daemon accepts them. */
static const struct {
    const char *command, *option;
    const char *const values[MEMBER_STATE_COUNT + 1];
} choices[] = {
    {"status", "state", {"running", "paused", "complete", "cancelled", "failed"}},
#define STATE_VALUE(symbol, name, ...) name,
    {"members", "state", {MEMBER_STATES(STATE_VALUE)}},
    {"jobs", "state", {"intent", "submitted", "running", "ended"}},
    {"resubmit", "state", {"failed", "unfinished", "stopped"}},
    {"follow-up", "state", {"failed", "unfinished"}},
    {"token", "role", {"reader", "operator", "admin"}},
};

static void offer(const char *now, const char *candidate, const char *description)
{
    char *text;

    if (strncmp(candidate, now, strlen(now)) != 0)
        return;
    text = render_text(description);
    printf("%s\t%s\n", candidate, text);
    free(text);
}

static const struct argp_option *find_in(const struct argp_option *options, const char *word)
{
    size_t n = strcspn(word, "=");

    for (const struct argp_option *o = options; o != NULL && (o->name != NULL || o->key != 0); o++) {
        bool is_long = o->name != NULL && strncmp(word, "--", 2) == 0 && strlen(o->name) == n - 2 &&
                       strncmp(word + 2, o->name, n - 2) == 0;
        bool is_short = word[0] == '-' && word[1] == o->key && word[2] == '\0';

        if (is_long || is_short)
            return o;
    }
    return NULL;
}

/* Returns the option that a word is, the command's own or one of all commands; NULL if there is no such option. */
static const struct argp_option *find_option(const struct argp *argp, const char *word)
{
    const struct argp_option *own = argp != NULL ? find_in(argp->options, word) : NULL;

    return own != NULL ? own : find_in(cli_common_argp.options, word);
}

/* Returns whether the word after this one is its value. */
static bool wants_value(const struct argp *argp, const char *word)
{
    const struct argp_option *option = word[0] == '-' ? find_option(argp, word) : NULL;

    return option != NULL && option->arg != NULL && strchr(word, '=') == NULL;
}

static void offer_options(const struct argp_option *options, const char *now)
{
    for (const struct argp_option *o = options; o != NULL && (o->name != NULL || o->key != 0); o++) {
        char *text;

        if (o->name == NULL || (o->flags & OPTION_HIDDEN))
            continue;
        text = xasprintf("--%s%s", o->name, o->arg ? "=" : "");
        offer(now, text, o->doc);
        free(text);
    }
}

/* Returns a list of the daemon, or NULL if it does not answer at once. */
static json_t *ask_daemon(struct cli *cli, const char *path)
{
    struct error err;
    char *token = NULL;
    json_t *reply = NULL;

    if (cli->client == NULL && credentials_token(&token, &err) == 0) {
        cli->client = client_create(cli->url, token, &err);
        if (cli->client != NULL)
            client_trust(cli->client, getenv("STRETTO_CA_FILE"));
    }
    free(token);
    if (cli->client != NULL) {
        client_hurry(cli->client, HURRY_MS);
        client_get(cli->client, path, &reply, NULL, &err);
    }
    return reply;
}

/* Offers a value that stands behind a prefix in the same word. */
static void offer_behind(const char *prefix, const char *value, const char *now)
{
    char *whole = xasprintf("%s%s", prefix, value);

    if (strncmp(value, now, strlen(now)) == 0)
        offer("", whole, "");
    free(whole);
}

static void offer_adapters(struct cli *cli, const char *prefix, const char *now)
{
    json_t *reply = ask_daemon(cli, "/v1/adapters"), *item;
    size_t i;

    json_array_foreach (json_object_get(reply, "adapters"), i, item)
        offer_behind(prefix, get_string(item, "name"), now);
    json_decref(reply);
}

static void offer_value(struct cli *cli, const struct argp_option *option, const char *prefix, const char *now)
{
    const struct completion *c = cli->completion;

    if (option->name != NULL && strcmp(option->name, "adapter") == 0)
        offer_adapters(cli, prefix, now);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strcmp(choices[i].command, c->command->name) != 0 || option->name == NULL ||
            strcmp(choices[i].option, option->name) != 0)
            continue;
        for (const char *const *value = choices[i].values; *value != NULL; value++)
            offer_behind(prefix, *value, now);
    }
}

static void offer_ensembles(struct cli *cli, const char *now)
{
    json_t *reply = ask_daemon(cli, "/v1/ensembles?limit=" SHOWN), *item;
    size_t i;

    json_array_foreach (json_object_get(reply, "ensembles"), i, item) {
        char *id = xasprintf("%lld", (long long)get_int(item, "id"));
        char *about = xasprintf("%s: %s", get_string(item, "name"), get_string(item, "state"));

        offer(now, id, about);
        free(about);
        free(id);
    }
    json_decref(reply);
}

static void offer_members(struct cli *cli, const char *now)
{
    long long ensemble = atoll(now);
    char *path = xasprintf("/v1/ensembles/%lld/members?limit=" SHOWN, ensemble);
    json_t *reply = ask_daemon(cli, path), *item;
    size_t i;

    json_array_foreach (json_object_get(reply, "members"), i, item) {
        char *id = xasprintf("%lld.%lld", ensemble, (long long)get_int(item, "index"));

        offer(now, id, get_string(item, "state"));
        free(id);
    }
    json_decref(reply);
    free(path);
}

/* Offers values for an argument by its word in an argp's args_doc, such as "ID.INDEX". Words in small letters stand for
 * themselves. */
static void offer_argument(struct cli *cli, const char *kind, const char *now)
{
    if (strncmp(kind, "SPEC", 4) == 0) {
        puts(":files");
    } else if (strcmp(kind, "ID") == 0 || (strncmp(kind, "ID.", 3) == 0 && strchr(now, '.') == NULL)) {
        offer_ensembles(cli, now);
    } else if (strcmp(kind, "ID.INDEX") == 0) {
        offer_members(cli, now);
    } else if (strcmp(kind, "ID.training") == 0) {
        char *id = xasprintf("%lld.training", (long long)atoll(now));

        offer(now, id, "");
        free(id);
    } else if (kind[0] >= 'a' && kind[0] <= 'z') {
        offer(now, kind, "");
    }
}

/* Offers the argument that comes next by one line of an args_doc, if the line fits the words before it. */
static void offer_form(struct cli *cli, char *form, char *const *arguments, size_t n)
{
    char *rest, *kind = strtok_r(form, " []", &rest);
    bool value = false;

    for (size_t i = 0; kind != NULL; kind = strtok_r(NULL, " []", &rest)) {
        if (kind[0] == '-' || value) { /* an option in this line, or its value */
            value = kind[0] == '-';
            continue;
        }
        if (i == n) {
            offer_argument(cli, kind, cli->completion->now);
            return;
        }
        if (kind[0] >= 'a' && kind[0] <= 'z' && strcmp(kind, arguments[i]) != 0)
            return;
        i++;
    }
}

static void offer_arguments(struct cli *cli, const struct argp *argp)
{
    const struct completion *c = cli->completion;
    char **arguments = xcalloc((size_t)c->n + 1, sizeof *arguments), *forms = xstrdup(argp->args_doc), *rest, *form;
    bool offered_ids = false;
    size_t n = 0;

    for (int i = 0; i < c->n; i++) {
        if (c->words[i][0] == '-' && c->words[i][1] != '\0')
            i += wants_value(argp, c->words[i]);
        else
            arguments[n++] = c->words[i];
    }
    for (form = strtok_r(forms, "\n", &rest); form != NULL; form = strtok_r(NULL, "\n", &rest)) {
        bool ids = strncmp(form + strspn(form, "["), "ID", 2) == 0 && strchr(c->now, '.') == NULL;

        if (!ids || !offered_ids) /* "ID" and "ID.INDEX" both offer ids, once */
            offer_form(cli, form, arguments, n);
        offered_ids = offered_ids || ids;
    }
    free(forms);
    free(arguments);
}

void complete_by_argp(struct cli *cli, const struct argp *argp)
{
    const struct completion *c = cli->completion;
    const char *before = c->n > 0 ? c->words[c->n - 1] : "", *equals = strchr(c->now, '=');

    if (wants_value(argp, before)) {
        offer_value(cli, find_option(argp, before), "", c->now);
    } else if (c->now[0] == '-' && equals != NULL) {
        const struct argp_option *option = find_option(argp, c->now);
        char *prefix = xasprintf("%.*s", (int)(equals + 1 - c->now), c->now);

        if (option != NULL && option->arg != NULL)
            offer_value(cli, option, prefix, equals + 1);
        free(prefix);
    } else if (c->now[0] == '-') {
        offer_options(argp->options, c->now);
        offer_options(cli_common_argp.options, c->now);
        offer(c->now, "--help", "Give this help list");
    } else {
        offer_arguments(cli, argp);
    }
    client_destroy(cli->client);
    fflush(stdout);
    exit(CLI_HOLDS);
}

/* Takes over --url from the options before the command, since ids come from the daemon. */
static void take_url(struct cli *cli, int n, char **words)
{
    for (int i = 0; i < n; i++) {
        if (strncmp(words[i], "--url=", 6) == 0)
            cli->url = words[i] + 6;
        else if (i + 1 < n && (strcmp(words[i], "--url") == 0 || strcmp(words[i], "-u") == 0))
            cli->url = words[i + 1];
    }
}

int complete(struct cli *cli, const struct cli_command *commands, int n, char **words)
{
    struct completion c = {.now = n > 0 ? words[n - 1] : ""};
    int at = 0;

    n = n > 0 ? n - 1 : 0;
    take_url(cli, n, words);
    while (at < n && words[at][0] == '-')
        at += 1 + wants_value(NULL, words[at]);
    if (at > n)
        return CLI_HOLDS; /* the word is the value of an option, about which nothing is known */
    if (at == n) {
        for (; commands->name != NULL; commands++)
            offer(c.now, commands->name, commands->summary);
        if (c.now[0] == '-')
            offer_options(cli_common_argp.options, c.now);
        return CLI_HOLDS;
    }
    while (commands->name != NULL && strcmp(commands->name, words[at]) != 0)
        commands++;
    if (commands->name == NULL)
        return CLI_HOLDS;
    c.command = commands;
    c.n = n - at - 1;
    c.words = words + at + 1;
    cli->completion = &c;
    return commands->run(cli, 1, (char *[]){words[at], NULL});
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { NONE, CREATE, LIST, REVOKE };

struct token {
    enum action action;
    int64_t id;
    const char *role, *label, *expires;
};

static enum action action_of(const struct argp_state *state, const char *word)
{
    if (strcmp(word, "create") == 0)
        return CREATE;
    if (strcmp(word, "list") == 0)
        return LIST;
    if (strcmp(word, "revoke") != 0)
        argp_error(state, "\"%s\" is none of create, list, revoke", word);
    return REVOKE;
}

static void check(const struct argp_state *state, const struct token *token)
{
    if (token->action == NONE)
        argp_error(state, "create, list or revoke?");
    if (token->action == CREATE && token->role == NULL)
        argp_error(state, "--role is needed: reader, operator or admin");
    if (token->action != CREATE && (token->role || token->label || token->expires))
        argp_error(state, "--role, --label and --expires are for create");
    if (token->action == REVOKE && token->id == 0)
        argp_error(state, "which token? `stretto token list` shows them");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct token *token = state->input;

    switch (key) {
    case 'r': token->role = arg; return 0;
    case 'l': token->label = arg; return 0;
    case 'e': token->expires = arg; return 0;
    case ARGP_KEY_ARG:
        if (token->action == NONE)
            token->action = action_of(state, arg);
        else if (token->action == REVOKE && token->id == 0)
            token->id = arg_number(state, arg, "the ID", 1);
        else
            argp_error(state, "\"%s\" is too much", arg);
        return 0;
    case ARGP_KEY_END: check(state, token); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"role", 'r', "ROLE", 0, "reader (may look), operator (may do all but what is about tokens) or admin", 0},
    {"label", 'l', "TEXT", 0, "what it is for", 0},
    {"expires", 'e', "DURATION", 0, "when it ends, such as 30d; without it, never", 0},
    {0}};
static const struct argp argp = {options, parse, "create --role ROLE\nlist\nrevoke NUMBER",
                                 "Who may call the daemon over TCP. `create` prints a new token, once; revoked ones stay "
                                 "in the list.",
                                 0, 0, 0};

static int create(struct cli *cli, const struct token *token, struct error *err)
{
    json_t *wish = json_pack("{s:s, s:s*, s:s*}", "role", token->role, "label", token->label, "expires", token->expires);
    json_t *made = NULL;
    char *body = wish ? json_dumps(wish, 0) : NULL, *text = NULL;
    int rc;

    json_decref(wish);
    if (body == NULL)
        return error_set(err, "token_label", "the role, the label and the duration must be text in UTF-8");
    rc = client_post(cli->client, "/v1/tokens", body, &made, &text, err);
    free(body);
    if (rc == 0 && cli->json) {
        render_document(text);
    } else if (rc == 0) {
        printf("%s\n", get_string(made, "token"));
        fflush(stdout);
        fprintf(stderr, "stretto: token %lld, %s; it is not shown again\n", (long long)get_int(made, "id"),
                get_string(made, "role"));
    }
    json_decref(made);
    free(text);
    return rc;
}

static void print_page(void *arg, const json_t *items)
{
    struct table *table = arg;
    json_t *item;
    size_t i;

    json_array_foreach(items, i, item) {
        table_cellf(table, "%lld", (long long)get_int(item, "id"));
        for (const char *const *key = (const char *const[]){"role", "label", "created", "expires", "revoked",
                                                            "last_used", NULL}; *key; key++)
            table_cell(table, get_string(item, *key));
    }
    table_print(table, stdout);
}

static int list(struct cli *cli, struct error *err)
{
    const char *headers[] = {">id", "role", "label", "created", "expires", "revoked", "last used", NULL};
    struct table *table = table_create(headers);
    int rc = pages_each(cli, "/v1/tokens?limit=500", "tokens", print_page, table, err);

    table_destroy(table);
    return rc;
}

static int revoke(struct cli *cli, int64_t id, struct error *err)
{
    char *path = xasprintf("/v1/tokens/%lld", (long long)id), *text = NULL;
    int rc = client_delete(cli->client, path, NULL, &text, err);

    free(path);
    if (rc == 0 && cli->json)
        render_document(text);
    else if (rc == 0)
        printf("token %lld: revoked\n", (long long)id);
    free(text);
    return rc;
}

int cmd_token(struct cli *cli, int argc, char **argv)
{
    struct token token = {0};
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &token, &err) < 0)
        return cli_fail(&err);
    if (token.action == CREATE)
        rc = create(cli, &token, &err);
    else
        rc = token.action == LIST ? list(cli, &err) : revoke(cli, token.id, &err);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/grants.h"
#include "cli/render.h"

#include <stdio.h>
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

static void check_token_options(const struct argp_state *state, const struct token *token)
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

static error_t parse_token_option(int key, char *arg, struct argp_state *state)
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
    case ARGP_KEY_END: check_token_options(state, token); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"role", 'r', "ROLE", 0, "reader (may look), operator (may do all but what is about tokens) or admin", 0},
    {"label", 'l', "TEXT", 0, "what it is for", 0},
    {"expires", 'e', "DURATION", 0, "when it ends, such as 30d; without it, never", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_token_option,
    "create --role ROLE\nlist\nrevoke NUMBER",
    "Who may call the daemon over TCP. `create` prints a new token, once; revoked ones stay in the list.",
    0,
    0,
    0};

static void show_token(void *arg, const json_t *made)
{
    printf("%s\n", get_string(made, "token"));
    fflush(stdout);
    fprintf(stderr, "stretto: token %lld, %s; it is not shown again\n", (long long)get_int(made, "id"),
            get_string(made, "role"));
}

static int create_token(struct cli *cli, const struct token *token, struct error *err)
{
    json_t *wish =
        json_pack("{s:s, s:s*, s:s*}", "role", token->role, "label", token->label, "expires", token->expires);

    return grant_make(cli, "/v1/tokens", wish, "token_label", show_token, NULL, err);
}

static int list_tokens(struct cli *cli, struct error *err)
{
    static const struct grant_column columns[] = {
        {">id", "id", GRANT_NUMBER},           {"role", "role", GRANT_TEXT},
        {"label", "label", GRANT_TEXT},        {"created", "created", GRANT_AGE},
        {"expires", "expires", GRANT_AGE},     {"revoked", "revoked", GRANT_AGE},
        {"last used", "last_used", GRANT_AGE}, {0}};

    return grants_list(cli, "/v1/tokens?limit=500", "tokens", columns, err);
}

int cmd_token(struct cli *cli, int argc, char **argv)
{
    struct token token = {0};
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &token, &err) < 0)
        return cli_fail(&err);
    if (token.action == CREATE)
        rc = create_token(cli, &token, &err);
    else
        rc = token.action == LIST ? list_tokens(cli, &err) : grant_revoke(cli, "/v1/tokens", "token", token.id, &err);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

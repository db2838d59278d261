#include "cli/cli.h"
#include "cli/client.h"
#include "cli/complete.h"
#include "cli/credentials.h"

#include <stdlib.h>

static const struct argp_option common_options[] = {
    {"url", 'u', "URL", 0,
     "where the daemon is: unix:/PATH, http://HOST:PORT or https://HOST:PORT (else STRETTO_URL, else the socket in the "
     "default state directory)",
     10},
    {"json", 'j', NULL, 0, "print what the HTTP API answered, unchanged", 10},
    {0},
};

static error_t parse_common_option(int key, char *arg, struct argp_state *state)
{
    struct cli *cli = state->input;

    switch (key) {
    case 'u': cli->url = arg; return 0;
    case 'j': cli->json = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_common_argp = {.options = common_options, .parser = parse_common_option};

/* The parsers of a command line: the command's own, and the common one, which gets the struct cli. */
struct both {
    const struct argp *argp;
    struct cli *cli;
    void *input;
};

static error_t parse_both(int key, char *arg, struct argp_state *state)
{
    struct both *both = state->input;

    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = both->input;
    state->child_inputs[1] = both->cli;
    return 0;
}

int cli_parse(struct cli *cli, const struct argp *argp, int argc, char **argv, void *input, struct error *err)
{
    struct both both = {argp, cli, input};
    struct argp_child children[] = {{argp, 0, NULL, 0}, {&cli_common_argp, 0, NULL, 10}, {0}};
    struct argp all = {.parser = parse_both, .children = children, .args_doc = argp->args_doc, .doc = argp->doc};
    struct argp own = *argp;
    char *token = NULL;

    if (cli->completion != NULL)
        complete_by_argp(cli, argp);
    own.args_doc = own.doc = NULL; /* the parent's --help has them already */
    children[0].argp = &own;
    argp_parse(&all, argc, argv, 0, NULL, &both);
    if (credentials_token(&token, err) < 0)
        return -1;
    cli->client = client_create(cli->url, token, err);
    free(token);
    if (cli->client == NULL)
        return -1;
    client_trust(cli->client, getenv("STRETTO_CA_FILE"));
    return 0;
}

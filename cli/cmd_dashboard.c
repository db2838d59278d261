#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/grants.h"
#include "cli/render.h"
#include "common/shell_word.h"
#include "common/xalloc.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT 8787 /* default port on the browser's machine */

struct dashboard {
    const char *role, *expires;
    int64_t port, revoke;
    bool list, revoke_all;
};

static void check_dashboard_options(const struct argp_state *state, const struct dashboard *d)
{
    bool revoke = d->revoke != 0 || d->revoke_all;

    if (d->list && revoke)
        argp_error(state, "--list or --revoke?");
    if ((d->list || revoke) && (d->role || d->expires || d->port))
        argp_error(state, "--operator, --expires and --port are for a new link");
    if (d->port > 65535)
        argp_error(state, "a port is 65535 at most");
}

static error_t parse_dashboard_option(int key, char *arg, struct argp_state *state)
{
    struct dashboard *d = state->input;

    switch (key) {
    case 'o': d->role = "operator"; return 0;
    case 'e': d->expires = arg; return 0;
    case 'p': d->port = arg_number(state, arg, "--port", 1); return 0;
    case 'l': d->list = true; return 0;
    case 'r':
        d->revoke_all = strcmp(arg, "all") == 0;
        if (!d->revoke_all)
            d->revoke = arg_number(state, arg, "--revoke", 1);
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "\"%s\" is too much", arg); return 0;
    case ARGP_KEY_END: check_dashboard_options(state, d); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"operator", 'o', 0, 0, "the page may change things, too: pause, resume, cancel", 0},
    {"expires", 'e', "DURATION", 0, "when the browser's session ends; 12h by default", 0},
    {"port", 'p', "PORT", 0, "of the browser's machine, for ssh -L; 8787 by default", 0},
    {"list", 'l', 0, 0, "the sessions that browsers have now", 0},
    {"revoke", 'r', "NUMBER|all", 0, "end a session, or all of them and the links not used yet", 0},
    {0}};
static const struct argp argp = {
    options, parse_dashboard_option,
    "",      "Print a link that opens the dashboard in a web browser. It works once, within five minutes.",
    0,       0,
    0};

/* Returns a word for a shell, in quotes if it needs them. */
static char *quoted(const char *word)
{
    bool plain = word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@,:")] == '\0';

    return plain ? xstrdup(word) : shell_word(word);
}

/* Returns the address of this machine that the user's own ssh connection came to. The machine's name may be unknown
 * elsewhere, or lead to another machine if login nodes share an alias. Returns NULL if the user has not come over
 * ssh, or comes from this machine. */
static char *address_of_ssh(void)
{
    const char *connection = getenv("SSH_CONNECTION"); /* has CLIENT PORT SERVER PORT */
    char server[64];

    if (connection == NULL || sscanf(connection, "%*63s %*15s %63s", server) != 1 ||
        server[strspn(server, "0123456789abcdefABCDEF.:")] != '\0' || strncmp(server, "127.", 4) == 0 ||
        strcmp(server, "::1") == 0)
        return NULL;
    return xstrdup(server);
}

/* Prints how to reach the daemon by ssh -L. `to` is the path of its socket, or its HOST:PORT as seen from its
 * machine. */
static void print_tunnel(const struct dashboard *d, const char *to, const char *login)
{
    long long port = d->port != 0 ? d->port : PORT;
    char *forward = xasprintf("%lld:%s", port, to), *word = quoted(forward), *address = address_of_ssh();
    const struct passwd *user = getpwuid(geteuid());
    char name[256] = "localhost";
    const char *host = address != NULL ? address : name;

    gethostname(name, sizeof name - 1);
    printf("On the machine with your browser, leave this running:\n\n    ssh -L %s %s%s%s\n\n"
           "(%s is %s. If your machine cannot reach it, replace it by the name with which you log in here.)\n\n",
           word, user != NULL ? user->pw_name : "", user != NULL ? "@" : "", host, host,
           address != NULL ? "the address to which your own ssh came" : "what this machine calls itself");
    printf("and open there, once, within five minutes:\n\n    http://localhost:%lld/#login=%s\n", port, login);
    free(address);
    free(word);
    free(forward);
}

/* Prints the TCP addresses that the daemon listens on besides its default socket, from the file where it lists them. */
static void print_listeners(const char *socket, const char *login)
{
    char *path = xasprintf("%.*s/listen.json", (int)(strrchr(socket, '/') - socket), socket);
    json_t *file = json_load_file(path, 0, NULL), *item;
    size_t i;

    json_array_foreach (json_object_get(file, "listeners"), i, item) {
        const char *url = get_string(item, "url");

        if (strncmp(url, "http", 4) == 0 && strstr(url, "//0.0.0.0") == NULL && strstr(url, "//[::]") == NULL)
            printf("\nIf your browser can reach this machine, this address works as well:\n\n    %s/#login=%s\n", url,
                   login);
    }
    json_decref(file);
    free(path);
}

static void print_links(const struct cli *cli, const struct dashboard *d, const json_t *made)
{
    const struct url *url = client_url(cli->client);
    const char *login = get_string(made, "login");
    char until[RENDER_SIZE];

    if (url->socket != NULL) {
        print_tunnel(d, url->socket, login);
        print_listeners(url->socket, login);
    } else if (d->port != 0) {
        print_tunnel(d, strstr(url->base, "://") + 3, login);
    } else {
        printf("Open this, once, within five minutes:\n\n    %s/#login=%s\n", url->base, login);
    }
    printf("\nThe page may %s, until %s.\n",
           strcmp(get_string(made, "role"), "operator") == 0 ? "look and change things" : "look",
           render_moment(until, get_string(made, "session_expires")));
}

struct link_wish {
    const struct cli *cli;
    const struct dashboard *wish;
};

static void show_dashboard_link(void *arg, const json_t *made)
{
    const struct link_wish *links = arg;

    print_links(links->cli, links->wish, made);
}

static int make_dashboard_link(struct cli *cli, const struct dashboard *d, struct error *err)
{
    json_t *wish = json_pack("{s:s*, s:s*}", "role", d->role, "expires", d->expires);
    struct link_wish links = {cli, d};

    return grant_make(cli, "/v1/logins", wish, "session_expires", show_dashboard_link, &links, err);
}

static int list_dashboard_logins(struct cli *cli, struct error *err)
{
    static const struct grant_column columns[] = {{">id", "id", GRANT_NUMBER},
                                                  {"role", "role", GRANT_TEXT},
                                                  {">token", "token", GRANT_NUMBER},
                                                  {"created", "created", GRANT_AGE},
                                                  {"expires", "expires", GRANT_AGE},
                                                  {"last used", "last_used", GRANT_AGE},
                                                  {0}};

    return grants_list(cli, "/v1/sessions?limit=500", "sessions", columns, err);
}

static int end_all(struct cli *cli, struct error *err)
{
    char *text = NULL;
    json_t *answer = NULL;
    int rc = client_delete(cli->client, "/v1/sessions", &answer, &text, err);

    if (rc == 0 && cli->json)
        render_document(text);
    else if (rc == 0)
        printf("%lld sessions: revoked\n", (long long)get_int(answer, "ended"));
    json_decref(answer);
    free(text);
    return rc;
}

int cmd_dashboard(struct cli *cli, int argc, char **argv)
{
    struct dashboard d = {0};
    struct error err;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &d, &err) < 0)
        return cli_fail(&err);
    if (d.list)
        rc = list_dashboard_logins(cli, &err);
    else if (d.revoke_all)
        rc = end_all(cli, &err);
    else
        rc = d.revoke != 0 ? grant_revoke(cli, "/v1/sessions", "session", d.revoke, &err)
                           : make_dashboard_link(cli, &d, &err);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/pages.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT 8787 /* of the browser's machine, where none is given */

struct dashboard {
    const char *role, *expires;
    int64_t port, revoke;
    bool list, revoke_all;
};

static void check(const struct argp_state *state, const struct dashboard *d)
{
    bool revoke = d->revoke != 0 || d->revoke_all;

    if (d->list && revoke)
        argp_error(state, "--list or --revoke?");
    if ((d->list || revoke) && (d->role || d->expires || d->port))
        argp_error(state, "--operator, --expires and --port are for a new link");
    if (d->port > 65535)
        argp_error(state, "a port is 65535 at most");
}

static error_t parse(int key, char *arg, struct argp_state *state)
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
    case ARGP_KEY_END: check(state, d); return 0;
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
    options, parse, "", "Print a link that opens the dashboard in a web browser. It works once, within five minutes.", 0, 0, 0};

/* In quotes where a shell would take it for more than one word. */
static char *quoted(const char *word)
{
    bool plain = word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@,:")] == '\0';

    return plain ? xstrdup(word) : xasprintf(strchr(word, '\'') ? "\"%s\"" : "'%s'", word);
}

static char *user_and_host(void)
{
    const struct passwd *user = getpwuid(geteuid());
    char host[256] = "localhost";

    gethostname(host, sizeof host - 1);
    return user != NULL ? xasprintf("%s@%s", user->pw_name, host) : xstrdup(host);
}

/* `to`: the socket's path, or HOST:PORT as that machine sees it. */
static void print_tunnel(const struct dashboard *d, const char *to, const char *login)
{
    long long port = d->port != 0 ? d->port : PORT;
    char *forward = xasprintf("%lld:%s", port, to), *word = quoted(forward), *where = user_and_host();

    printf("On the machine with your browser, leave this running:\n\n    ssh -L %s %s\n\n"
           "and open there, once, within five minutes:\n\n    http://localhost:%lld/#login=%s\n",
           word, where, port, login);
    free(where);
    free(word);
    free(forward);
}

/* The daemon may listen on TCP besides: it says so in a file beside its default socket. */
static void print_listeners(const char *socket, const char *login)
{
    char *path = xasprintf("%.*s/listen.json", (int)(strrchr(socket, '/') - socket), socket);
    json_t *file = json_load_file(path, 0, NULL), *item;
    size_t i;

    json_array_foreach(json_object_get(file, "listeners"), i, item) {
        const char *url = get_string(item, "url");

        if (strncmp(url, "http", 4) == 0 && strstr(url, "//0.0.0.0") == NULL && strstr(url, "//[::]") == NULL)
            printf("\nWhere the browser reaches it, this does as well, instead:\n\n    %s/#login=%s\n", url, login);
    }
    json_decref(file);
    free(path);
}

static void print_links(const struct cli *cli, const struct dashboard *d, const json_t *made)
{
    const struct url *url = client_url(cli->client);
    const char *login = get_string(made, "login");

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
           get_string(made, "session_expires"));
}

static int begin(struct cli *cli, const struct dashboard *d, struct error *err)
{
    json_t *wish = json_pack("{s:s*, s:s*}", "role", d->role, "expires", d->expires), *made = NULL;
    char *body = wish ? json_dumps(wish, 0) : NULL, *text = NULL;
    int rc;

    json_decref(wish);
    if (body == NULL)
        return error_set(err, "session_expires", "the duration must be text in UTF-8");
    rc = client_post(cli->client, "/v1/logins", body, &made, &text, err);
    free(body);
    if (rc == 0 && cli->json)
        render_document(text);
    else if (rc == 0)
        print_links(cli, d, made);
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
        table_cell(table, get_string(item, "role"));
        if (json_is_integer(json_object_get(item, "token")))
            table_cellf(table, "%lld", (long long)get_int(item, "token"));
        else
            table_cell(table, "");
        for (const char *const *key = (const char *const[]){"created", "expires", "last_used", NULL}; *key; key++)
            table_cell(table, get_string(item, *key));
    }
    table_print(table, stdout);
}

static int list(struct cli *cli, struct error *err)
{
    const char *headers[] = {">id", "role", ">token", "created", "expires", "last used", NULL};
    struct table *table = table_create(headers);
    int rc = pages_each(cli, "/v1/sessions?limit=500", "sessions", print_page, table, err);

    table_destroy(table);
    return rc;
}

static int end_sessions(struct cli *cli, const struct dashboard *d, struct error *err)
{
    char *one = xasprintf("/v1/sessions/%lld", (long long)d->revoke), *text = NULL;
    json_t *answer = NULL;
    int rc = client_delete(cli->client, d->revoke_all ? "/v1/sessions" : one, &answer, &text, err);

    free(one);
    if (rc == 0 && cli->json)
        render_document(text);
    else if (rc == 0 && d->revoke_all)
        printf("%lld sessions: revoked\n", (long long)get_int(answer, "ended"));
    else if (rc == 0)
        printf("session %lld: revoked\n", (long long)d->revoke);
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
        rc = list(cli, &err);
    else
        rc = d.revoke != 0 || d.revoke_all ? end_sessions(cli, &d, &err) : begin(cli, &d, &err);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

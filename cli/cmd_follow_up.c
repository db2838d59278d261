#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/lock.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { OPTION_ADAPTER = 256 };

struct follow_up {
    int64_t id; /* 0 if none was given */
    bool all;
    json_t *states, *resources, *body;
};

static error_t parse_follow_up_option(int key, char *arg, struct argp_state *state)
{
    struct follow_up *f = state->input;

    switch (key) {
    case 'a': f->all = true; return 0;
    case 's':
        if (f->states == NULL)
            json_object_set_new(f->body, "states", f->states = json_array());
        json_array_append_new(f->states, json_string(arg));
        return 0;
    case 'w': json_object_set_new(f->body, "width", json_integer(arg_number(state, arg, "--width", 1))); return 0;
    case 'p': json_object_set_new(f->body, "pack", json_integer(arg_number(state, arg, "--pack", 1))); return 0;
    case OPTION_ADAPTER: json_object_set_new(f->body, "adapter", json_string(arg)); return 0;
    case 't':
    case 'q':
        if (f->resources == NULL)
            json_object_set_new(f->body, "resources", f->resources = json_object());
        json_object_set_new(f->resources, key == 't' ? "walltime" : "queue", json_string(arg));
        return 0;
    case ARGP_KEY_ARG:
        if (f->id)
            argp_error(state, "one ID at a time, or --all");
        f->id = arg_ensemble(state, arg);
        return 0;
    case ARGP_KEY_END:
        if (f->all == (f->id != 0))
            argp_error(state, "of which ensemble? An ID, or --all");
        if (f->all && f->states)
            argp_error(state, "--all is about unfinished members; --state needs an ID");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"all", 'a', NULL, 0, "of every ensemble that needs one; says nothing where none does, as cron wants it", 0},
    {"state", 's', "STATE", 0, "of members that are failed, or unfinished (as by default); may be repeated", 0},
    {"width", 'w', "N", 0, "how many members may be in flight at once", 0},
    {"pack", 'p', "N", 0, "how many share a job", 0},
    {"walltime", 't', "DURATION", 0, "of a job", 0},
    {"queue", 'q', "NAME", 0, "of the batch system", 0},
    {"adapter", OPTION_ADAPTER, "NAME", 0, "another batch system", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_follow_up_option,
    "ID\n--all",
    "Let members that are out of time go on in an ensemble of their own. Without options it is like the one before "
    "it. While one is under way no other is made.",
    0,
    0,
    0};

static void print_follow_up(const json_t *ensemble)
{
    printf("ensemble %lld follows up %lld: %lld members, %s\n", (long long)get_int(ensemble, "id"),
           (long long)get_int(ensemble, "follow_up_of"), (long long)get_int(ensemble, "count"),
           get_string(ensemble, "state"));
}

/* Makes one call, and prints the reply if it is to be JSON. */
static int post(struct cli *cli, const char *path, const json_t *body, json_t **reply, struct error *err)
{
    char *request = json_dumps(body, JSON_COMPACT), *text = NULL;
    int rc = client_post(cli->client, path, request ? request : "{}", reply, &text, err);

    free(request);
    if (rc == 0 && cli->json)
        render_document(text);
    free(text);
    return rc;
}

static int one(struct cli *cli, const struct follow_up *f, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld/follow-up", (long long)f->id);
    json_t *reply = NULL;
    int rc = post(cli, path, f->body, &reply, err);

    free(path);
    if (rc == 0 && !cli->json)
        print_follow_up(reply);
    json_decref(reply);
    return rc < 0 ? cli_fail(err) : CLI_HOLDS;
}

static int print_follow_up_refused(const json_t *refused)
{
    char *detail = render_text(get_string(refused, "detail"));

    fprintf(stderr, "stretto: ensemble %lld is not followed up: %s (%s)\n", (long long)get_int(refused, "ensemble"),
            detail, get_string(refused, "code"));
    free(detail);
    return CLI_REFUSED;
}

static int all(struct cli *cli, const struct follow_up *f, struct error *err)
{
    int64_t after = 0;
    int status = CLI_HOLDS;

    if (!lock_take(cli, "follow-up")) /* another process is doing the same */
        return CLI_HOLDS;
    do {
        json_t *reply = NULL, *item;
        size_t i;

        if (after != 0)
            json_object_set_new(f->body, "after", json_integer(after));
        if (post(cli, "/v1/follow-ups", f->body, &reply, err) < 0)
            return cli_fail(err);
        json_array_foreach (json_object_get(reply, "follow_ups"), i, item)
            if (!cli->json)
                print_follow_up(item);
        json_array_foreach (json_object_get(reply, "refused"), i, item)
            status = print_follow_up_refused(item);
        after = get_int(reply, "next");
        json_decref(reply);
    } while (after != 0);
    return status;
}

int cmd_follow_up(struct cli *cli, int argc, char **argv)
{
    struct follow_up f = {.body = json_object()};
    struct error err;
    int status;

    if (cli_parse(cli, &argp, argc, argv, &f, &err) < 0)
        status = cli_fail(&err);
    else
        status = f.all ? all(cli, &f, &err) : one(cli, &f, &err);
    json_decref(f.body);
    return status;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct resubmit {
    struct ref ref;
    bool said;
    json_t *states;   /* NULL for the daemon's default */
    const char *from; /* NULL for the daemon's default */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct resubmit *resubmit = state->input;

    switch (key) {
    case 's':
        if (resubmit->states == NULL)
            resubmit->states = json_array();
        json_array_append_new(resubmit->states, json_string(arg));
        return 0;
    case 'f':
        resubmit->from = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (resubmit->said)
            argp_error(state, "one ID at a time, please");
        resubmit->said = true;
        if (ref_parse(arg, &resubmit->ref) < 0 || resubmit->ref.training)
            argp_error(state, "\"%s\" is neither an ensemble's id, such as 7, nor a member, such as 7.123", arg);
        return 0;
    case ARGP_KEY_END:
        if (!resubmit->said)
            argp_error(state, "members of which ensemble? `stretto status` lists them");
        if (resubmit->states && resubmit->ref.index >= 0)
            argp_error(state, "--state chooses among the members of an ensemble");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"state", 's', "STATE", 0, "only those that are failed, or unfinished; may be repeated", 0},
    {"from", 'f', "WHERE", 0,
     "from their checkpoints, where they have one (\"checkpoint\", as without this), or from the \"start\"", 0},
    {0}};
static const struct argp argp = {
    options, parse, "ID\nID.INDEX",
    "Let members that ended without success go again, with all their retries: those of ensemble ID, or member "
    "ID.INDEX.",
    0, 0, 0};

static char *call_path(const struct ref *ref)
{
    return ref->index >= 0
               ? xasprintf("/v1/ensembles/%lld/members/%lld/resubmit", (long long)ref->ensemble, (long long)ref->index)
               : xasprintf("/v1/ensembles/%lld/resubmit", (long long)ref->ensemble);
}

int cmd_resubmit(struct cli *cli, int argc, char **argv)
{
    struct resubmit resubmit = {0};
    json_t *reply = NULL, *body;
    char *path, *request, *text = NULL;
    struct error err;
    int rc = cli_parse(cli, &argp, argc, argv, &resubmit, &err);

    body = resubmit.states ? json_pack("{s:o}", "states", resubmit.states) : json_object();
    if (resubmit.from != NULL)
        json_object_set_new(body, "from", json_string(resubmit.from));
    request = json_dumps(body, JSON_COMPACT);
    path = call_path(&resubmit.ref);
    if (rc == 0)
        rc = client_post(cli->client, path, request ? request : "{}", &reply, &text, &err);
    free(path);
    free(request);
    json_decref(body);
    if (rc < 0)
        return cli_fail(&err);
    if (cli->json)
        render_document(text);
    else
        printf("ensemble %lld: %lld members resubmitted\n", (long long)resubmit.ref.ensemble,
               (long long)get_int(reply, "resubmitted"));
    json_decref(reply);
    free(text);
    return CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cancel {
    struct ref ref;
    bool said;
};

static error_t parse_cancel_option(int key, char *arg, struct argp_state *state)
{
    struct cancel *cancel = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (cancel->said)
            argp_error(state, "one ID at a time, please");
        cancel->said = true;
        if (ref_parse(arg, &cancel->ref) < 0 || cancel->ref.training)
            argp_error(state, "\"%s\" is neither an ensemble's id, such as 7, nor a member, such as 7.123", arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which ensemble, or member? `stretto status` lists them"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    NULL,
    parse_cancel_option,
    "ID\nID.INDEX",
    "End ensemble ID: pending members are never started, running ones and the training are ended. Or end member "
    "ID.INDEX alone.",
    0,
    0,
    0};

/* Reports the result to the user. Returns whether the ensemble or member is cancelled now. */
static bool print_cancelled(const struct cli *cli, const struct ref *ref, const json_t *reply)
{
    long long id = ref->ensemble, index = ref->index;
    const char *state = get_string(reply, "state");
    bool cancelled = index >= 0 ? json_is_true(json_object_get(reply, "cancelled")) : strcmp(state, "cancelled") == 0;

    if (cli->json)
        return cancelled;
    if (index >= 0 && cancelled)
        printf("member %lld.%lld: cancelled; if it runs, it is being ended\n", id, index);
    else if (index >= 0)
        fprintf(stderr, "stretto: member %lld.%lld had ended already: nothing to cancel\n", id, index);
    else if (cancelled)
        printf("ensemble %lld: cancelled; what still runs is being ended\n", id);
    else
        fprintf(stderr, "stretto: ensemble %lld was %s already: nothing to cancel\n", id, state);
    return cancelled;
}

int cmd_cancel(struct cli *cli, int argc, char **argv)
{
    struct cancel cancel = {0};
    json_t *reply = NULL;
    char *path, *text = NULL;
    struct error err;
    bool cancelled;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &cancel, &err) < 0)
        return cli_fail(&err);
    path = cancel.ref.index >= 0 ? xasprintf("/v1/ensembles/%lld/members/%lld/cancel", (long long)cancel.ref.ensemble,
                                             (long long)cancel.ref.index)
                                 : xasprintf("/v1/ensembles/%lld/cancel", (long long)cancel.ref.ensemble);
    rc = client_post(cli->client, path, NULL, &reply, &text, &err);
    free(path);
    if (rc < 0)
        return cli_fail(&err);
    if (cli->json)
        render_document(text);
    cancelled = print_cancelled(cli, &cancel.ref, reply);
    json_decref(reply);
    free(text);
    return cancelled ? CLI_HOLDS : CLI_NOT_SO;
}

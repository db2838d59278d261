#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

static error_t parse_hosts_option(int key, char *arg, struct argp_state *state)
{
    struct ref *ref = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one at a time, please");
        if (ref_parse(arg, ref) < 0 || (ref->index < 0 && !ref->training))
            argp_error(state, "\"%s\" is neither a member, such as 7.123, nor a training, such as 7.training", arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the hosts of which member, such as 7.123, or training, such as 7.training?");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {NULL,
                                 parse_hosts_option,
                                 "ID.INDEX\nID.training",
                                 "The hosts that a member or a training runs on now, as HOST:SLOTS a line; none where "
                                 "it does not run.\v"
                                 "For launchers that ask a host discovery script. A host leaves the list before its "
                                 "processes are told to end.",
                                 NULL,
                                 0,
                                 0};

/* Returns the hosts in the reply, borrowed. Only the last attempt of a member may run. */
static const json_t *hosts_in(const json_t *reply, bool training)
{
    const json_t *attempts = json_object_get(reply, "attempts");
    size_t n = json_array_size(attempts);

    if (training)
        return json_object_get(json_object_get(reply, "training"), "hosts");
    return n > 0 ? json_object_get(json_array_get(attempts, n - 1), "hosts") : NULL;
}

static void print_hosts(const struct cli *cli, const json_t *hosts)
{
    char *text = cli->json ? json_dumps(hosts, JSON_COMPACT) : NULL;
    json_t *item;
    size_t i;

    if (cli->json)
        render_document(text != NULL ? text : "[]");
    free(text);
    if (cli->json)
        return;
    json_array_foreach ((json_t *)hosts, i, item) {
        char *host = render_text(json_string_value(json_object_get(item, "host")));

        printf("%s:%lld\n", host, (long long)json_integer_value(json_object_get(item, "slots")));
        free(host);
    }
}

int cmd_hosts(struct cli *cli, int argc, char **argv)
{
    struct ref ref = {0};
    json_t *reply = NULL;
    struct error err;
    char *path;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &ref, &err) < 0)
        return cli_fail(&err);
    path = ref.training ? xasprintf("/v1/ensembles/%lld", (long long)ref.ensemble)
                        : xasprintf("/v1/ensembles/%lld/members/%lld", (long long)ref.ensemble, (long long)ref.index);
    rc = client_get(cli->client, path, &reply, NULL, &err);
    free(path);
    if (rc == 0 && ref.training && !json_is_object(json_object_get(reply, "training")))
        rc = error_set(&err, "training_not_found", "ensemble %lld has no training", (long long)ref.ensemble);
    if (rc < 0) {
        json_decref(reply);
        return cli_fail(&err);
    }
    print_hosts(cli, hosts_in(reply, ref.training));
    json_decref(reply);
    return CLI_HOLDS;
}

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct resubmit {
    struct ref ref;
    bool said;
    bool of_training, of_members; /* there are options for these alone */
    json_t *body;
};

static json_t *body_object(struct resubmit *resubmit, const char *key, json_t *empty)
{
    json_t *value = json_object_get(resubmit->body, key);

    if (value != NULL) {
        json_decref(empty);
        return value;
    }
    json_object_set_new(resubmit->body, key, empty);
    return empty;
}

static void add_variable(struct resubmit *resubmit, const char *arg, struct argp_state *state)
{
    const char *value = strchr(arg, '=');
    char *name;

    if (value == NULL || value == arg)
        argp_error(state, "--env takes NAME=VALUE, not \"%s\"", arg);
    name = xasprintf("%.*s", (int)(value - arg), arg);
    json_object_set_new(body_object(resubmit, "env", json_object()), name, json_string(value + 1));
    free(name);
}

/* A number, or else a name. */
static json_t *checkpoint(const char *arg)
{
    bool number = arg[0] != '\0' && arg[strspn(arg, "0123456789")] == '\0' && strlen(arg) < 19;

    return number ? json_integer(strtoll(arg, NULL, 10)) : json_string(arg);
}

/* Takes the id, and after "--" the command of a training. */
static void take_argument(struct resubmit *resubmit, char *arg, struct argp_state *state)
{
    bool of_command = resubmit->said && state->quoted > 0 && state->next > state->quoted;

    if (of_command) {
        json_array_append_new(body_object(resubmit, "command", json_array()), json_string(arg));
        resubmit->of_training = true;
        return;
    }
    if (resubmit->said)
        argp_error(state, "one ID at a time, please; the command of a training comes after --");
    resubmit->said = true;
    if (ref_parse(arg, &resubmit->ref) < 0)
        argp_error(state,
                   "\"%s\" is neither an ensemble's id, such as 7, nor a member, such as 7.123, nor a training, "
                   "such as 7.training",
                   arg);
}

static void check_resubmit_options(const struct resubmit *resubmit, struct argp_state *state)
{
    if (!resubmit->said)
        argp_error(state, "members of which ensemble? `stretto status` lists them");
    if (resubmit->of_members && (resubmit->ref.index >= 0 || resubmit->ref.training))
        argp_error(state, "--state chooses among the members of an ensemble");
    if (resubmit->of_training && !resubmit->ref.training)
        argp_error(state,
                   "a checkpoint, ranks, variables, resources and a command are for a training: say %lld.training",
                   (long long)resubmit->ref.ensemble);
}

static error_t parse_resubmit_option(int key, char *arg, struct argp_state *state)
{
    struct resubmit *resubmit = state->input;
    json_t *resources;

    resubmit->of_training = resubmit->of_training || (key > 0 && key < 128 && strchr("cretq", key) != NULL);
    switch (key) {
    case 's':
        json_array_append_new(body_object(resubmit, "states", json_array()), json_string(arg));
        resubmit->of_members = true;
        return 0;
    case 'f': json_object_set_new(resubmit->body, "from", json_string(arg)); return 0;
    case 'c': json_object_set_new(resubmit->body, "checkpoint", checkpoint(arg)); return 0;
    case 'r':
        json_object_set_new(resubmit->body, "ranks", json_integer(arg_number(state, arg, "--ranks", 1)));
        return 0;
    case 'e': add_variable(resubmit, arg, state); return 0;
    case 't':
    case 'q':
        resources = body_object(resubmit, "resources", json_object());
        json_object_set_new(resources, key == 't' ? "walltime" : "queue", json_string(arg));
        return 0;
    case ARGP_KEY_ARG: take_argument(resubmit, arg, state); return 0;
    case ARGP_KEY_END: check_resubmit_options(resubmit, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"state", 's', "STATE", 0, "only those that are failed, unfinished or stopped; may be repeated", 0},
    {"from", 'f', "WHERE", 0,
     "from their checkpoints, where they have one (\"checkpoint\", as without this), or from the \"start\"", 0},
    {"checkpoint", 'c', "NAME", 0, "the checkpoint that a training goes on from; the newest without this", 0},
    {"ranks", 'r', "N", 0, "how many ranks the training is to have", 0},
    {"env", 'e', "NAME=VALUE", 0, "a variable of the training's environment; may be repeated", 0},
    {"walltime", 't', "DURATION", 0, "of the training's job", 0},
    {"queue", 'q', "NAME", 0, "of the training's job", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_resubmit_option,
    "ID\nID.INDEX\nID.training [-- COMMAND...]",
    "Let members that ended without success go again, with all their retries: those of ensemble ID, or member "
    "ID.INDEX. Or let a training that is over go on, from a checkpoint, also with another command.",
    0,
    0,
    0};

static char *call_path(struct cli *cli, const struct ref *ref, struct error *err)
{
    long long ensemble = ref->ensemble, training;

    if (ref->index >= 0)
        return xasprintf("/v1/ensembles/%lld/members/%lld/resubmit", ensemble, (long long)ref->index);
    if (!ref->training)
        return xasprintf("/v1/ensembles/%lld/resubmit", ensemble);
    training = (long long)ensemble_training_id(cli->client, ensemble, err);
    return training < 0 ? NULL : xasprintf("/v1/trainings/%lld/resubmit", training);
}

static void print_resubmitted(const struct ref *ref, const json_t *reply)
{
    const char *from = get_string(reply, "resumed_from");

    if (ref->training)
        printf("training %lld of ensemble %lld: generation %lld %s%s\n", (long long)get_int(reply, "id"),
               (long long)ref->ensemble, (long long)get_int(reply, "generation"),
               from[0] != '\0' ? "goes on from checkpoint " : "begins at the start", from);
    else
        printf("ensemble %lld: %lld members resubmitted\n", (long long)ref->ensemble,
               (long long)get_int(reply, "resubmitted"));
}

int cmd_resubmit(struct cli *cli, int argc, char **argv)
{
    struct resubmit resubmit = {.body = json_object()};
    json_t *reply = NULL;
    char *path = NULL, *request, *text = NULL;
    struct error err;
    int rc = cli_parse(cli, &argp, argc, argv, &resubmit, &err);

    request = json_dumps(resubmit.body, JSON_COMPACT);
    if (rc == 0)
        path = call_path(cli, &resubmit.ref, &err);
    rc = path != NULL ? client_post(cli->client, path, request ? request : "{}", &reply, &text, &err) : -1;
    free(path);
    free(request);
    json_decref(resubmit.body);
    if (rc < 0)
        return cli_fail(&err);
    if (cli->json)
        render_document(text);
    else
        print_resubmitted(&resubmit.ref, reply);
    json_decref(reply);
    free(text);
    return CLI_HOLDS;
}

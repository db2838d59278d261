#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct logs {
    struct ref ref;
    bool said, errors, follow;
    int64_t attempt; /* 0: the last one */
    int64_t rank;    /* -1: not said */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct logs *logs = state->input;

    switch (key) {
    case 'e': logs->errors = true; return 0;
    case 'f': logs->follow = true; return 0;
    case 'a': logs->attempt = arg_number(state, arg, "--attempt", 1); return 0;
    case 'r': logs->rank = arg_number(state, arg, "--rank", 0); return 0;
    case ARGP_KEY_ARG:
        if (logs->said)
            argp_error(state, "one member at a time, please");
        logs->said = true;
        if (ref_parse(arg, &logs->ref) < 0 || (logs->ref.index < 0 && !logs->ref.training))
            argp_error(state, "\"%s\" is neither a member, such as 7.123, nor a training, such as 7.training", arg);
        return 0;
    case ARGP_KEY_END:
        if (!logs->said)
            argp_error(state, "whose? A member, such as 7.123, or a training, such as 7.training");
        if (logs->ref.training && logs->attempt)
            argp_error(state, "--attempt is for members");
        if (!logs->ref.training && logs->rank >= 0)
            argp_error(state, "--rank is for trainings");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"stderr", 'e', NULL, 0, "standard error instead of standard output", 0},
    {"follow", 'f', NULL, 0, "go on as more is written, until its writer has ended", 0},
    {"attempt", 'a', "N", 0, "of attempt N (from 1) instead of the last one", 0},
    {"rank", 'r', "R", 0, "of rank R of the training instead of rank 0", 0},
    {0}};
static const struct argp argp = {
    options, parse, "ID.INDEX\nID.training", "What a member, or the training, printed, as it is.", 0, 0, 0};

/* The path of the output; NULL with err where the ensemble has no training. */
static char *output_path(struct cli *cli, const struct logs *logs, struct error *err)
{
    const char *stream = logs->errors ? "stderr" : "stdout";
    long long id = logs->ref.ensemble;
    json_t *ensemble = NULL;
    char *path;
    int64_t training;

    if (!logs->ref.training)
        return xasprintf("/v1/ensembles/%lld/members/%lld/%s?follow=%d%s%.0lld", id, (long long)logs->ref.index, stream,
                         logs->follow, logs->attempt ? "&attempt=" : "", (long long)logs->attempt);

    path = xasprintf("/v1/ensembles/%lld", id);
    if (client_get(cli->client, path, &ensemble, NULL, err) < 0) {
        free(path);
        return NULL;
    }
    free(path);
    training = get_int(json_object_get(ensemble, "training"), "id");
    json_decref(ensemble);
    if (training == 0) {
        error_set(err, "no_training", "ensemble %lld has no training", id);
        return NULL;
    }
    return xasprintf("/v1/trainings/%lld/%s?follow=%d&rank=%lld", (long long)training, stream, logs->follow,
                     (long long)(logs->rank < 0 ? 0 : logs->rank));
}

int cmd_logs(struct cli *cli, int argc, char **argv)
{
    struct logs logs = {.rank = -1};
    struct error err;
    char *path;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &logs, &err) < 0 || (path = output_path(cli, &logs, &err)) == NULL)
        return cli_fail(&err);
    rc = client_get_text(cli->client, path, stdout, logs.follow, &err);
    free(path);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

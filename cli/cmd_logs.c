#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/harmless.h"
#include "cli/terminal.h"
#include "cli/watch.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY_EVERY_MS 500
#define VAIN_MAX 20 /* how often in a row an answer may break off without a byte */

struct logs_options {
    struct ref ref;
    bool said, errors, follow, raw;
    int64_t attempt; /* 0 for the last one */
    int64_t rank;    /* -1 if it was not given */
};

static error_t parse_logs_option(int key, char *arg, struct argp_state *state)
{
    struct logs_options *logs = state->input;

    switch (key) {
    case 'e': logs->errors = true; return 0;
    case 'f': logs->follow = true; return 0;
    case 'R': logs->raw = true; return 0;
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
            argp_error(state, "of which member, such as 7.123, or training, such as 7.training?");
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
    {"raw", 'R', NULL, 0, "on a terminal as well, what was printed as it is, with all that the terminal then does", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_logs_option,
    "ID.INDEX\nID.training",
    "What a member, or the training, printed: as it is, or on a terminal with control characters as less shows them.",
    0,
    0,
    0};

/* Returns the number under a key of a document, or the length of the array there; -1 with err on failure. */
static int64_t number_in_document(struct cli *cli, char *path, const char *object, const char *key, struct error *err)
{
    json_t *document = NULL;
    const json_t *value;
    int64_t number = -1;

    if (client_get(cli->client, path, &document, NULL, err) == 0) {
        value = json_object_get(object ? json_object_get(document, object) : document, key);
        number = json_is_array(value) ? (int64_t)json_array_size(value) : json_integer_value(value);
    }
    json_decref(document);
    free(path);
    return number;
}

/* Returns the path of the output with a query, or NULL with err if there is none. The query names an attempt, so
 * that the same one is followed even if another has begun when the daemon comes back. */
static char *output_path(struct cli *cli, const struct logs_options *logs, struct error *err)
{
    const char *stream = logs->errors ? "stderr" : "stdout";
    long long id = logs->ref.ensemble, index = logs->ref.index;
    int64_t training, attempt = logs->attempt;

    if (!logs->ref.training) {
        if (logs->follow && attempt == 0)
            attempt =
                number_in_document(cli, xasprintf("/v1/ensembles/%lld/members/%lld", id, index), NULL, "attempts", err);
        return attempt < 0 ? NULL
                           : xasprintf("/v1/ensembles/%lld/members/%lld/%s?follow=%d%s%.0lld", id, index, stream,
                                       logs->follow, attempt ? "&attempt=" : "", (long long)attempt);
    }
    training = number_in_document(cli, xasprintf("/v1/ensembles/%lld", id), "training", "id", err);
    if (training == 0)
        error_set(err, "no_training", "ensemble %lld has no training", id);
    return training <= 0 ? NULL
                         : xasprintf("/v1/trainings/%lld/%s?follow=%d&rank=%lld", (long long)training, stream,
                                     logs->follow, (long long)(logs->rank < 0 ? 0 : logs->rank));
}

/* Follows the output until its writer ends, over restarts of the daemon. Bytes that were printed are not asked for
 * again. */
static int follow_output(struct cli *cli, const char *path, FILE *to, struct error *err)
{
    bool away = false;
    int64_t at = 0, n;
    int rc, vain = 0;

    for (;;) {
        /* asks /readyz first, since the next byte of the output may take long */
        rc = away ? client_get(cli->client, "/readyz", NULL, NULL, err) : 0;
        if (rc == 0) {
            char *rest = at > 0 ? xasprintf("%s&from=%lld", path, (long long)at) : xstrdup(path);

            if (away)
                fprintf(stderr, "stretto: the daemon is back\n");
            away = false;
            rc = client_get_text(cli->client, rest, to, true, &n, err);
            free(rest);
            vain = n > 0 ? 0 : vain + (n == 0);
            at += n > 0 ? n : 0;
        }
        if (rc == 0 || strcmp(err->code, CLIENT_NO_DAEMON) != 0 || vain == VAIN_MAX)
            return rc;
        if (!away)
            fprintf(stderr, "stretto: the daemon does not answer; trying until it is back (Ctrl-C to stop trying)\n");
        away = true;
        if (watch_sleep(TRY_EVERY_MS)) {
            error_set(err, CLIENT_INTERRUPTED, "interrupted");
            return -1;
        }
    }
}

static int print_output(struct cli *cli, const struct logs_options *logs, const char *path, FILE *to, struct error *err)
{
    int64_t n;

    if (!logs->follow)
        return client_get_text(cli->client, path, to, false, &n, err);
    watch_begin(cli);
    return follow_output(cli, path, to, err);
}

int cmd_logs(struct cli *cli, int argc, char **argv)
{
    struct logs_options logs = {.rank = -1};
    struct error err;
    FILE *to = stdout;
    char *path;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &logs, &err) < 0 || (path = output_path(cli, &logs, &err)) == NULL)
        return cli_fail(&err);
    if (terminal_width() > 0 && !logs.raw)
        to = harmless_open(stdout);
    rc = print_output(cli, &logs, path, to, &err);
    if (to != stdout)
        fclose(to);
    free(path);
    if (rc < 0 && strcmp(err.code, CLIENT_INTERRUPTED) == 0)
        return CLI_INTERRUPTED;
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}

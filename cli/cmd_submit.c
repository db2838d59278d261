#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/render.h"
#include "cli/spec_file.h"
#include "cli/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct submit {
    const char *spec;
    bool wait;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct submit *submit = state->input;

    switch (key) {
    case 'w': submit->wait = true; return 0;
    case ARGP_KEY_ARG:
        if (submit->spec)
            argp_error(state, "one SPEC at a time, please");
        submit->spec = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which SPEC? A file's name, or - for standard input"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"wait", 'w', NULL, 0, "show progress until the ensemble has ended, then report", 0}, {0}};
static const struct argp argp = {options, parse, "SPEC", "Run the ensemble that the file SPEC describes.", 0, 0, 0};

/* Warns that an ensemble was accepted but cannot start as things are. */
static void warn(const json_t *ensemble)
{
    char *text = render_sentence(ensemble_notice(ensemble));

    fprintf(stderr, "stretto: warning: %s; ensemble %lld waits until that has changed\n", text,
            (long long)get_int(ensemble, "id"));
    free(text);
}

int cmd_submit(struct cli *cli, int argc, char **argv)
{
    struct submit submit = {0};
    json_t *ensemble = NULL;
    char *spec = NULL, *text = NULL;
    struct error err;
    long long id;
    int status;

    if (cli_parse(cli, &argp, argc, argv, &submit, &err) < 0 || (spec = spec_file_read(submit.spec, &err)) == NULL ||
        client_post(cli->client, "/v1/ensembles", spec, &ensemble, &text, &err) < 0) {
        free(spec);
        return cli_fail(&err);
    }
    id = get_int(ensemble, "id");
    if (cli->json && !submit.wait) {
        render_document(text);
    } else {
        char *name = render_text(get_string(ensemble, "name"));

        if (json_is_true(json_object_get(ensemble, "open")))
            fprintf(cli->json ? stderr : stdout, "ensemble %lld %s: accepted; it takes suggestions\n", id, name);
        else
            fprintf(cli->json ? stderr : stdout, "ensemble %lld %s: accepted, %lld members\n", id, name,
                    (long long)get_int(ensemble, "count"));
        fflush(stdout);
        free(name);
    }
    if (!submit.wait && strncmp(get_string(json_object_get(ensemble, "notice"), "code"), "adapter_", 8) == 0)
        warn(ensemble);
    status = submit.wait ? watch_and_report(cli, id) : CLI_HOLDS;
    json_decref(ensemble);
    free(text);
    free(spec);
    return status;
}

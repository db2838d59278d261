#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/render.h"
#include "cli/spec_file.h"
#include "cli/watch.h"
#include "common/jsonx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPECS_MAX 100

struct submit {
    const char *specs[SPECS_MAX];
    size_t n;
    int64_t after; /* 0: none */
    bool wait;
};

static error_t parse_submit_option(int key, char *arg, struct argp_state *state)
{
    struct submit *submit = state->input;

    switch (key) {
    case 'w': submit->wait = true; return 0;
    case 'a': submit->after = arg_ensemble(state, arg); return 0;
    case ARGP_KEY_ARG:
        if (submit->n == SPECS_MAX)
            argp_error(state, "at most %d SPECs", SPECS_MAX);
        submit->specs[submit->n++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which SPEC? A file's name, or - for standard input"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"wait", 'w', NULL, 0, "show progress until the ensemble has ended, then report; of several, the last", 0},
    {"after", 'a', "ID", 0, "begin when ensemble ID has completed", 0},
    {0}};
static const struct argp argp = {
    options,
    parse_submit_option,
    "SPEC [SPEC...]",
    "Run the ensemble that the file SPEC describes. Of several, each begins when the one before has completed.",
    0,
    0,
    0};

/* Warns that an ensemble was accepted but cannot start as things are. */
static void warn_of_notice(const json_t *ensemble)
{
    char *text = render_sentence(ensemble_notice(ensemble));

    fprintf(stderr, "stretto: warning: %s; ensemble %lld waits until that has changed\n", text,
            (long long)get_int(ensemble, "id"));
    free(text);
}

/* Reads a spec, and has it begin after another ensemble if `after` is not 0. Returns its text, or NULL with err. */
static char *read_spec(const char *name, int64_t after, struct error *err)
{
    char *text = spec_file_read(name, err);
    json_t *spec = text != NULL && after != 0 ? json_loads(text, 0, NULL) : NULL;

    if (spec == NULL)
        return text;
    free(text);
    text = NULL;
    if (json_object_get(spec, "after") != NULL) {
        error_set(err, "spec_file", "%s: /after: it says itself after which ensemble it begins", name);
    } else {
        json_object_set_new(spec, "after", json_pack("{s:I}", "ensemble", (json_int_t)after));
        text = jsonx_dumps(spec, JSON_COMPACT);
    }
    json_decref(spec);
    return text;
}

static void print_submitted(struct cli *cli, const struct submit *submit, const json_t *ensemble, const char *text)
{
    long long id = get_int(ensemble, "id"), count = get_int(ensemble, "count");
    const char *members = count == 1 ? "member" : "members";
    FILE *to = cli->json ? stderr : stdout;
    char *name;

    if (cli->json && !submit->wait) {
        render_document(text);
    } else {
        name = render_text(get_string(ensemble, "name"));
        if (json_is_true(json_object_get(ensemble, "open")))
            fprintf(to, "ensemble %lld %s: accepted; it takes suggestions\n", id, name);
        else if (get_int(ensemble, "after") != 0)
            fprintf(to, "ensemble %lld %s: accepted, %lld %s, after ensemble %lld\n", id, name, count, members,
                    (long long)get_int(ensemble, "after"));
        else
            fprintf(to, "ensemble %lld %s: accepted, %lld %s\n", id, name, count, members);
        fflush(stdout);
        free(name);
    }
    if (!submit->wait && strncmp(get_string(json_object_get(ensemble, "notice"), "code"), "adapter_", 8) == 0)
        warn_of_notice(ensemble);
}

/* Submits one spec, and sets *id. */
static int submit_one(struct cli *cli, const struct submit *submit, const char *name, int64_t after, int64_t *id,
                      struct error *err)
{
    char *spec = read_spec(name, after, err), *text = NULL;
    json_t *ensemble = NULL;
    int rc = spec != NULL ? client_post(cli->client, "/v1/ensembles", spec, &ensemble, &text, err) : -1;

    if (rc == 0) {
        *id = get_int(ensemble, "id");
        print_submitted(cli, submit, ensemble, text);
    }
    json_decref(ensemble);
    free(text);
    free(spec);
    return rc;
}

int cmd_submit(struct cli *cli, int argc, char **argv)
{
    struct submit submit = {0};
    struct error err;
    int64_t id = 0;

    if (cli_parse(cli, &argp, argc, argv, &submit, &err) < 0)
        return cli_fail(&err);
    for (size_t i = 0; i < submit.n; i++)
        if (submit_one(cli, &submit, submit.specs[i], i > 0 ? id : submit.after, &id, &err) < 0) {
            if (i > 0)
                fprintf(stderr,
                        "stretto: %s is not accepted; what was submitted before it, up to ensemble %lld, goes on\n",
                        submit.specs[i], (long long)id);
            return cli_fail(&err);
        }
    return submit.wait ? watch_and_report(cli, id, false) : CLI_HOLDS;
}

/* Questions to qstat: about all jobs, and about jobs that are over. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAST_WORDS 5
static const char *const past_words[PAST_WORDS] = {"-x", "-t", "-f", "-F", "json"};

static void mark(struct batch_listing *listing)
{
    const struct pbs *pbs = pbs_of(batch_listing_adapter(listing));
    struct batch_rows *rows = batch_listing_rows(listing);

    rows->kind = (int)pbs->kind;
    rows->user = pbs->user;
}

/* Lists all jobs: asking by ids would need thousands of them. */
static void list_now(void *arg)
{
    static const char *const openpbs[] = {"-t", "-f", "-F", "json", NULL}, *const torque[] = {"-t", "-f", "-x", NULL};
    struct batch_listing *listing = arg;
    struct pbs *pbs = pbs_of(batch_listing_adapter(listing));

    if (pbs->kind == PBS_KIND_UNKNOWN) {
        batch_listing_fail(listing, &pbs->kind_unknown);
        return;
    }
    mark(listing);
    if (pbs_pieces_are_due(pbs))
        pbs_pieces_begin(pbs, listing);
    else
        batch_listing_run(listing, PBS_QSTAT, pbs->kind == PBS_KIND_TORQUE ? torque : openpbs);
}

void pbs_list(struct adapter *a, struct batch_listing *listing)
{
    pbs_kind_ready(pbs_of(a), list_now, listing);
}

int pbs_parse(struct batch_rows *rows, char *text, size_t size, struct error *err)
{
    batch_text_clean(text, size);
    return rows->kind == PBS_KIND_TORQUE ? pbs_xml_parse(rows, text, size, err) : pbs_json_parse(rows, text, size, err);
}

/* If some of the ids are not known, qstat says so for each, lists the others, and exits with another status than
 * 0. */
static void listed_back(void *arg, struct command_result *result)
{
    struct batch_listing *listing = arg;

    if (strstr(result->err, "not configured to maintain job history") != NULL)
        pbs_of(batch_listing_adapter(listing))->no_history = true;
    if (result->end != COMMAND_EXITED || result->out[0] == '\0')
        batch_listing_none(listing);
    else
        batch_listing_read(listing, result->out, result->out_size);
}

/* Writes the array "12[].server" for a job of it, "12[3].server", or the id itself. */
static void array_of(const char *id, char out[PBS_ID_MAX])
{
    const char *open = strchr(id, '['), *close = open != NULL ? strchr(open, ']') : NULL;

    if (close != NULL)
        snprintf(out, PBS_ID_MAX, "%.*s%s", (int)(open + 1 - id), id, close);
    else
        snprintf(out, PBS_ID_MAX, "%s", id);
}

/* qstat connects to the server once for each id, so an array is asked for as a whole: -t lists its jobs. */
void pbs_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg)
{
    struct batch_listing *listing = batch_listing_new(a, cb, arg);
    char(*asked)[PBS_ID_MAX];
    const char **args;
    size_t n_asked = 0;

    if (pbs_of(a)->kind == PBS_KIND_TORQUE || pbs_of(a)->no_history) {
        batch_listing_none(listing);
        return;
    }
    mark(listing);
    asked = xcalloc(n, sizeof *asked);
    args = xcalloc(n + PAST_WORDS + 1, sizeof *args);
    memcpy(args, past_words, sizeof past_words);
    for (size_t i = 0; i < n; i++) {
        array_of(ids[i], asked[n_asked]);
        if (n_asked > 0 && strcmp(asked[n_asked - 1], asked[n_asked]) == 0)
            continue;
        args[PAST_WORDS + n_asked] = asked[n_asked];
        n_asked++;
    }
    batch_run_costing(a, a->questions, PBS_QSTAT, args, NULL, PBS_LIST_MAX, (unsigned)n_asked, listed_back, listing);
    free(args);
    free(asked);
}

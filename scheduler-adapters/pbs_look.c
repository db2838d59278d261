/* Questions to qstat: about all jobs, and about jobs that are over. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

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

/* Where some of the ids are not known, qstat says so for each, lists the others, and exits with another status than
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

void pbs_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg)
{
    struct batch_listing *listing = batch_listing_new(a, cb, arg);
    const char **args;

    if (pbs_of(a)->kind == PBS_KIND_TORQUE || pbs_of(a)->no_history) {
        batch_listing_none(listing);
        return;
    }
    mark(listing);
    args = xcalloc(n + 5, sizeof *args);
    args[0] = "-x";
    args[1] = "-f";
    args[2] = "-F";
    args[3] = "json";
    memcpy(args + 4, ids, n * sizeof *ids);
    batch_run(a, a->questions, PBS_QSTAT, args, NULL, PBS_LIST_MAX, listed_back, listing);
    free(args);
}

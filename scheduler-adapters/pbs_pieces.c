/* A listing in pieces. `qstat -t` lists all jobs with each job of each array. It may not come: on a server that deletes
 * thousands of jobs it has used up all memory of a host. Then all jobs are listed without -t, and each array of ours by
 * itself. That goes on for a while, since the next full listing may not come either. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_ARRAYS 4 /* qstat makes a connection for each */
#define PIECES_MS 600000

static const char *const words[] = {"-t", "-f", "-F", "json", NULL};
enum { WORDS = sizeof words / sizeof *words - 1 };

static void list_arrays(struct pbs *pbs, struct batch_listing *listing)
{
    const char *args[WORDS + PIECE_ARRAYS + 1] = {NULL};
    struct pbs_pieces *pieces = &pbs->pieces;
    size_t n = 0;

    memcpy(args, words, WORDS * sizeof *words);
    while (n < PIECE_ARRAYS && pieces->at < pieces->n)
        args[WORDS + n++] = pieces->arrays[pieces->at++];
    batch_listing_run_costing(listing, PBS_QSTAT, args, (unsigned)n);
}

/* Takes the arrays out of the rows, to be listed by themselves. */
static void take_arrays(struct pbs_pieces *pieces, struct batch_rows *rows)
{
    size_t kept = 0;

    pieces->arrays = xcalloc(rows->n + 1, sizeof *pieces->arrays);
    for (size_t i = 0; i < rows->n; i++) {
        if (strstr(rows->row[i].id, "[]") != NULL)
            snprintf(pieces->arrays[pieces->n++], PBS_ID_MAX, "%s", rows->row[i].id);
        else
            rows->row[kept++] = rows->row[i];
    }
    rows->n = kept;
    rows->kind = PBS_KIND_OPENPBS;
}

static void end_pieces(struct pbs *pbs)
{
    free(pbs->pieces.arrays);
    pbs->pieces = (struct pbs_pieces){.until = pbs->pieces.until};
}

bool pbs_pieces_are_due(const struct pbs *pbs)
{
    return pbs->kind == PBS_KIND_OPENPBS && uv_now(pbs->batch.host.loop) < pbs->pieces.until;
}

void pbs_pieces_begin(struct pbs *pbs, struct batch_listing *listing)
{
    end_pieces(pbs);
    pbs->pieces.listing = listing;
    batch_listing_rows(listing)->kind = PBS_KIND_OPENPBS_ARRAYS;
    batch_listing_run(listing, PBS_QSTAT, words + 1);
}

/* A command that has printed too much, or taken too much of something, or was killed by somebody who saw that. */
static bool is_too_much(const struct command_result *result)
{
    return result->end == COMMAND_OUT_OF_TIME || result->end == COMMAND_TOO_LONG || result->end == COMMAND_TOO_LARGE ||
           result->end == COMMAND_KILLED;
}

bool pbs_list_on(struct adapter *a, struct batch_listing *listing, const struct command_result *failed)
{
    struct pbs *pbs = pbs_of(a);
    bool in_pieces = pbs->pieces.listing == listing;

    if (in_pieces && failed != NULL && pbs->pieces.arrays != NULL && batch_only_gone(a, failed)) {
        bool is_empty = failed->out[0] == '\0'; /* some arrays have ended meanwhile; the others are listed */

        batch_listing_read(listing, is_empty ? "{}\n" : failed->out, is_empty ? 3 : failed->out_size);
        return true;
    }
    if (in_pieces && failed == NULL) {
        if (pbs->pieces.arrays == NULL)
            take_arrays(&pbs->pieces, batch_listing_rows(listing));
        if (pbs->pieces.at < pbs->pieces.n) {
            list_arrays(pbs, listing);
            return true;
        }
    }
    if (in_pieces) {
        end_pieces(pbs);
        return false;
    }
    if (failed == NULL || !is_too_much(failed) || pbs->kind != PBS_KIND_OPENPBS || a->closing)
        return false;
    a->host.log(a->host.arg, ADAPTER_LOG_WARN, NULL,
                "qstat does not list all jobs at once: arrays are listed one by one for ten minutes");
    pbs->pieces.until = uv_now(a->host.loop) + PIECES_MS;
    pbs_pieces_begin(pbs, listing);
    return true;
}

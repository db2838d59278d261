#include "daemon/engine/ensembles/after.h"

#include "common/log_changes.h"
#include "daemon/engine/ensembles/end.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/spec/spec.h"
#include "daemon/store/family.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#define CHAIN_MAX 100 /* ensembles that wait for each other, of which it is told */

enum prospect {
    PROSPECT_LATER,      /* something of it is still to be done */
    PROSPECT_UNFINISHED, /* nothing is under way, and members are unfinished: a follow-up completes them */
    PROSPECT_COMPLETE,
    PROSPECT_NEVER
};

/* Finds how the family of an ensemble is. *newest is its newest ensemble, and *unfinished the number of its members
 * that are unfinished. Returns -1 if the store cannot be read, or there is no such ensemble. */
static int ask_family(struct engine *engine, int64_t id, struct ensemble_row *newest, int64_t *unfinished,
                      struct error *err)
{
    int64_t n[MEMBER_STATE_COUNT], root;
    int rc = store_ensemble_get(engine->store, id, newest, err);

    if (rc == 0)
        return error_set(err, "ensemble_not_found", "there is no ensemble %" PRId64, id);
    if (rc < 0)
        return -1;
    root = ensemble_root(newest);
    *unfinished = 0;
    rc = store_family_newest(engine->store, root, newest, err);
    if (rc == 0)
        error_set(err, "store_io", "the family of ensemble %" PRId64 " is damaged", id);
    if (rc != 1)
        return -1;
    if (ensemble_is_stopped(newest))
        return PROSPECT_NEVER;
    if (!ensemble_is_over(newest))
        return PROSPECT_LATER;
    if (store_family_tally(engine->store, root, n, err) < 0)
        return -1;
    *unfinished = n[MEMBER_UNFINISHED];
    if (member_counts_open(n) > 0) /* an earlier ensemble's that go again */
        return PROSPECT_LATER;
    return *unfinished > 0 ? PROSPECT_UNFINISHED : PROSPECT_COMPLETE;
}

int after_check(struct engine *engine, const struct spec *spec, struct error *err)
{
    struct ensemble_row newest;
    int64_t unfinished;

    if (spec->after == 0)
        return 0;
    switch (ask_family(engine, spec->after, &newest, &unfinished, err)) {
    case -1:
        if (strcmp(err->code, "ensemble_not_found") != 0)
            return -1;
        return error_at(err, "spec_impossible_value", "/after/ensemble", "there is no ensemble %" PRId64, spec->after);
    case PROSPECT_NEVER:
        return error_at(err, "spec_impossible_value", "/after/ensemble",
                        "ensemble %" PRId64 " %s, and will not complete", newest.id,
                        newest.state == ENSEMBLE_FAILED ? "has failed" : "was cancelled");
    }
    return 0;
}

static void begin_after(struct engine *engine, struct live_ensemble *ens)
{
    struct error err;

    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(ens->row.id),
               "ensemble %" PRId64 " begins, since ensemble %" PRId64 " is complete", ens->row.id, ens->row.after);
    engine_event(engine, "ensemble.begun", ens->row.id, -1, json_pack("{s:I}", "after", (json_int_t)ens->row.after));
    ens->row.after = 0;
    store_ensemble_update(engine->store, &ens->row, &err);
}

static void give_up(struct engine *engine, struct live_ensemble *ens, const struct ensemble_row *newest)
{
    char reason[200];

    snprintf(reason, sizeof reason, "ensemble %" PRId64 ", after which it was to begin, %s", newest->id,
             newest->state == ENSEMBLE_FAILED ? "has failed" : "was cancelled");
    engine_stop_ensemble(engine, ens, reason);
}

bool after_look(struct engine *engine, struct live_ensemble *ens)
{
    struct ensemble_row newest;
    int64_t unfinished;
    struct error err;

    if (ens->row.after == 0 || ensemble_is_over(&ens->row))
        return false;
    switch (ask_family(engine, ens->row.after, &newest, &unfinished, &err)) {
    case -1: store_doom(engine->store, &err); return true; /* the turn is rolled back, and memory rebuilt */
    case PROSPECT_COMPLETE: begin_after(engine, ens); return false;
    case PROSPECT_NEVER: give_up(engine, ens, &newest); return false;
    default: return true;
    }
}

/* Adds to a text, as far as there is room. */
static void stop_append(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void stop_append(char *out, size_t size, const char *fmt, ...)
{
    size_t len = strlen(out);
    va_list args;

    va_start(args, fmt);
    vsnprintf(out + len, size - len, fmt, args);
    va_end(args);
}

/* Explains why the ensemble that is waited for does not go on by itself. Returns the code, NULL if it does. */
static const char *explain_prospect(int prospect, const struct ensemble_row *newest, int64_t unfinished, char *out,
                                    size_t size)
{
    if (prospect == PROSPECT_UNFINISHED) {
        stop_append(out, size,
                    ", of which %" PRId64 " members are unfinished: `stretto follow-up %" PRId64 "` lets them go on",
                    unfinished, newest->id);
        return "waits_for_follow_up";
    }
    if (newest->state != ENSEMBLE_PAUSED)
        return NULL;
    stop_append(out, size, ", which was paused%s%s: `stretto resume %" PRId64 "` lets it go on",
                newest->paused_by[0] ? " " : "", newest->paused_by, newest->id);
    if (newest->reason[0] == '\0')
        return "waits_for_paused";
    stop_append(out, size, "; %s", newest->reason);
    return "waits_for_held";
}

const char *after_explain(struct engine *engine, const struct ensemble_row *row, char *out, size_t size)
{
    int64_t after = row->after, unfinished;
    struct ensemble_row newest;
    const char *code = NULL;
    struct error err;
    int prospect;

    snprintf(out, size, "it begins when ensemble %" PRId64 " has completed", after);
    for (int depth = 0; depth < CHAIN_MAX && after != 0 && code == NULL; depth++) {
        prospect = ask_family(engine, after, &newest, &unfinished, &err);
        if (prospect < 0)
            break;
        if (newest.id != after)
            stop_append(out, size, ", and its follow-up %" PRId64 " as well", newest.id);
        code = explain_prospect(prospect, &newest, unfinished, out, size);
        after = newest.after;
        if (code == NULL && after != 0)
            stop_append(out, size, ", which itself waits for ensemble %" PRId64, after);
    }
    return code != NULL ? code : "waits_for_ensemble";
}

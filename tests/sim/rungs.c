/* Members of the simulated cluster that are stopped early: what they report at their rungs, and what must follow
 * from it. Nothing is drawn here, so that other schedules stay what they are: values follow from a member's id and
 * attempt. */
#include "tests/sim/cluster.h"

#include "common/xalloc.h"
#include "daemon/store/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRUTH "//rungs" /* "ENSEMBLE.INDEX.ATTEMPT" → the step and the value that it reported at its rung */

static char *key_of(const json_t *task)
{
    return xasprintf("%s.%s", json_string_value(json_object_get(task, "id")),
                     json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_ATTEMPT")));
}

static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h ^ (h >> 29);
}

static json_int_t until_of(const json_t *task)
{
    return json_integer_value(json_object_get(task, "until"));
}

static bool is_last(const json_t *task)
{
    return json_is_true(json_object_get(task, "last"));
}

/* Some members that do not end with their rung end by themselves before it. */
static bool ends_before(const char *key)
{
    return hash(key) % 17 == 3;
}

const char *rungs_outcome(const json_t *task, const char *outcome)
{
    char *key;

    if (until_of(task) == 0 || is_last(task) || strcmp(outcome, "succeeded") != 0)
        return outcome;
    key = key_of(task);
    if (!ends_before(key))
        outcome = "reached";
    free(key);
    return outcome;
}

/* Few values, so that many are equal; some are not finite, and of some the point is lost. */
void rungs_record(struct cluster *c, const json_t *task, const char *outcome, json_t *record)
{
    bool reached = strcmp(outcome, "reached") == 0, good = reached || strcmp(outcome, "succeeded") == 0;
    json_t *truth = json_object_get(sim_files(c->sim), TRUTH), *rung;
    uint64_t h;
    char *key;

    if (until_of(task) == 0 || !good || (!reached && !is_last(task)))
        return;
    if (truth == NULL) {
        truth = json_object();
        json_object_set_new(sim_files(c->sim), TRUTH, truth);
    }
    key = key_of(task);
    h = hash(key);
    rung = json_pack("{s:I, s:o}", "step", until_of(task) + (json_int_t)(h % 3), "value",
                     h % 13 == 5 ? json_null() : json_real((double)(h % 9) / 4 - 1));
    if (reached && h % 19 == 7) { /* an earlier attempt had reported it, and nobody knows what */
        json_decref(rung);
        rung = json_pack("{s:I, s:n}", "step", until_of(task), "value");
    } else {
        json_object_set(record, "rung", rung);
    }
    json_object_set_new(truth, key, rung);
    free(key);
}

struct arrival {
    int64_t number, rung, index, attempt, step, promoted;
    double value;
    bool known, due; /* due: the rule promotes it */
};

struct arrivals {
    struct arrival *list;
    size_t n;
    bool more_is_better;
};

static const struct arrivals *sorted; /* for qsort() */

static int by_value(const void *a, const void *b)
{
    const struct arrival *x = &sorted->list[*(const size_t *)a], *y = &sorted->list[*(const size_t *)b];
    double sign = sorted->more_is_better ? -1 : 1;

    if (x->known != y->known)
        return x->known ? -1 : 1;
    if (x->known && x->value != y->value)
        return sign * x->value < sign * y->value ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Sorts all that had arrived at a rung with the arrival `now`, and promotes the best that are not. */
static void replay_one(struct sim *sim, struct arrivals *all, size_t now, int64_t reduction, bool may_end)
{
    size_t *order = xcalloc(now + 1, sizeof *order), n = 0;

    for (size_t i = 0; i <= now; i++)
        if (all->list[i].rung == all->list[now].rung)
            order[n++] = i;
    sorted = all;
    qsort(order, n, sizeof *order, by_value);
    for (size_t i = 0; i < n / (size_t)reduction; i++) {
        struct arrival *a = &all->list[order[i]];
        bool was_due = a->due;

        if (!a->known || a->promoted < 0)
            continue;
        a->due = true;
        if (!was_due && a->promoted != all->list[now].number && !(may_end && a->promoted == 0))
            sim_violate(sim, "member %lld is among the best of rung %lld with arrival %lld, and was promoted by %lld",
                        (long long)a->index, (long long)a->rung, (long long)all->list[now].number,
                        (long long)a->promoted);
    }
    free(order);
}

static void check_truth(struct sim *sim, int64_t ensemble, const struct arrival *a)
{
    char *key = xasprintf("%lld.%lld.%lld", (long long)ensemble, (long long)a->index, (long long)a->attempt);
    const json_t *truth = json_object_get(json_object_get(sim_files(sim), TRUTH), key);
    const json_t *value = json_object_get(truth, "value");

    if (truth == NULL || json_integer_value(json_object_get(truth, "step")) != a->step ||
        json_is_real(value) != a->known || (a->known && json_real_value(value) != a->value))
        sim_violate(sim, "attempt %s is said to have reached rung %lld with %g at step %lld, and has not", key,
                    (long long)a->rung, a->value, (long long)a->step);
    free(key);
}

static void read_arrivals(struct sim *sim, int64_t ensemble, struct arrivals *all)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err,
                                     "SELECT number, rung, idx, attempt, step, promoted, value FROM arrival WHERE "
                                     "ensemble = ?1 ORDER BY number",
                                     "i", ensemble);

    while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
        struct arrival *a;

        all->list = xrealloc(all->list, all->n + 1, sizeof *all->list);
        a = &all->list[all->n++];
        *a = (struct arrival){.number = sqlite3_column_int64(stmt, 0), .rung = sqlite3_column_int64(stmt, 1),
                              .index = sqlite3_column_int64(stmt, 2), .attempt = sqlite3_column_int64(stmt, 3),
                              .step = sqlite3_column_int64(stmt, 4), .promoted = sqlite3_column_int64(stmt, 5),
                              .known = sqlite3_column_type(stmt, 6) != SQLITE_NULL,
                              .value = sqlite3_column_double(stmt, 6)};
    }
}

static void replay(struct sim *sim, int64_t ensemble, int64_t reduction, int64_t rungs, bool more_is_better,
                   bool may_end)
{
    struct arrivals all = {.more_is_better = more_is_better};

    read_arrivals(sim, ensemble, &all);
    for (size_t i = 0; i < all.n; i++) {
        check_truth(sim, ensemble, &all.list[i]);
        if (all.list[i].number != (int64_t)i + 1)
            sim_violate(sim, "arrival %lld comes after %zu others", (long long)all.list[i].number, i);
        if (all.list[i].rung < rungs)
            replay_one(sim, &all, i, reduction, may_end);
    }
    for (size_t i = 0; i < all.n; i++)
        if (all.list[i].promoted > 0 && !all.list[i].due)
            sim_violate(sim, "member %lld was promoted from rung %lld, and was never among its best",
                        (long long)all.list[i].index, (long long)all.list[i].rung);
    free(all.list);
}

void watch_rungs(struct sim *sim)
{
    int64_t last = sim_number(sim, "SELECT coalesce(max(id), 0) FROM ensemble");

    for (int64_t id = 1; id <= last; id++) {
        struct error err;
        sqlite3_stmt *stmt = store_query(
            sim_store(sim), &err,
            "SELECT json_extract(spec, '$.early_stopping.rungs.reduction'), json_array_length(spec, "
            "'$.early_stopping.rungs.steps'), json_extract(spec, '$.early_stopping.goal') = 'max', EXISTS (SELECT 1 FROM "
            "event v WHERE v.ensemble = e.id AND v.kind = 'ensemble.ending') FROM ensemble e WHERE id = ?1 AND "
            "json_extract(spec, '$.early_stopping.rule') = 'asha'",
            "i", id);
        int64_t reduction = 0, rungs = 0;
        bool more = false, may_end = false;

        while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
            reduction = sqlite3_column_int64(stmt, 0);
            rungs = sqlite3_column_int64(stmt, 1);
            more = sqlite3_column_int(stmt, 2) != 0;
            may_end = sqlite3_column_int(stmt, 3) != 0;
        }
        if (reduction > 0)
            replay(sim, id, reduction, rungs, more, may_end);
    }
    SIM_HOLDS(sim, "stopped members that are not waiting at a rung, or the other way round",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE (m.state = 'stopped') <> EXISTS (SELECT 1 "
          "FROM arrival a WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.promoted = 0 AND a.rung < "
          "json_array_length(e.spec, '$.early_stopping.rungs.steps')) AND coalesce(json_extract(e.spec, "
          "'$.early_stopping.rule'), 'asha') = 'asha'");
    SIM_HOLDS(sim, "rungs whose counts are not what has arrived",
          "SELECT count(*) FROM rung r WHERE (r.arrived, r.promoted, r.cancelled) <> (SELECT count(*), sum(promoted > -2 AND "
          "promoted <> 0), sum(promoted = -2) FROM arrival "
          "a WHERE a.ensemble = r.ensemble AND a.rung = r.number)");
    SIM_HOLDS(sim, "attempts for another rung than the next one of their members",
          "SELECT count(*) FROM attempt a JOIN ensemble e ON e.id = a.ensemble WHERE a.rung IS NOT NULL AND "
          "json_extract(e.spec, '$.early_stopping.rule') = 'asha' AND a.rung <> 1 + (SELECT count(*) FROM arrival r WHERE "
          "r.ensemble = a.ensemble AND r.idx = a.idx AND r.attempt < a.number)");
    SIM_HOLDS(sim, "members that have reached a rung, and have not arrived there",
          "SELECT count(*) FROM attempt a JOIN ensemble e ON e.id = a.ensemble WHERE a.outcome = 'reached' AND e.state NOT "
          "IN ('cancelled', 'failed') AND NOT EXISTS (SELECT 1 FROM arrival r WHERE r.ensemble = a.ensemble AND r.idx = a.idx "
          "AND r.attempt = a.number) AND NOT EXISTS (SELECT 1 FROM event v WHERE v.ensemble = a.ensemble AND v.idx = a.idx "
          "AND v.kind = 'member.cancelled')"); /* it may have been resubmitted since */
    SIM_HOLDS(sim, "unfinished members in complete ensembles with early stopping",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE m.state = 'unfinished' AND e.state = "
          "'complete' AND json_extract(e.spec, '$.early_stopping') IS NOT NULL");
    SIM_HOLDS(sim, "promotions that were not told, or the other way round",
          "SELECT (SELECT count(*) FROM arrival a JOIN ensemble e ON e.id = a.ensemble WHERE promoted > 0 AND json_extract("
          "e.spec, '$.early_stopping.rule') = 'asha') - (SELECT count(*) FROM event WHERE kind = "
          "'member.promoted')");
}

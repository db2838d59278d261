#include "daemon/store/bulk.h"

#include "common/xalloc.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/training_checkpoint.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"cancel", "resubmit", "stop"};

static const char *state_of(const struct bulk *bulk)
{
    return bulk->kind == BULK_RESUBMIT ? member_state_name(bulk->state) : "";
}

int store_bulk_put(struct store *store, const struct bulk *bulk, struct error *err)
{
    return store_exec(
        store, err,
        "INSERT OR REPLACE INTO bulk_operation (ensemble, kind, state, next, afresh, checkpoint) VALUES (?1, ?2, ?3, "
        "?4, ?5, ?6)",
        "ittibi", bulk->ensemble, kinds[bulk->kind], state_of(bulk), bulk->next, (int)bulk->afresh, bulk->checkpoint);
}

int store_bulk_first(struct store *store, int64_t ensemble, struct bulk *bulk, struct error *err)
{
    sqlite3_stmt *stmt =
        store_query(store, err,
                    "SELECT kind, state, next, afresh, checkpoint FROM bulk_operation WHERE ensemble = ?1 "
                    "ORDER BY kind, state LIMIT 1",
                    "i", ensemble);
    int rc = stmt ? store_row(store, stmt, err) : -1;
    char word[16];

    if (rc <= 0)
        return rc;
    *bulk = (struct bulk){.ensemble = ensemble};
    store_text(stmt, 0, word, sizeof word);
    while (bulk->kind < BULK_STOP && strcmp(kinds[bulk->kind], word) != 0)
        bulk->kind++;
    store_text(stmt, 1, word, sizeof word);
    if (bulk->kind == BULK_RESUBMIT && member_state_parse(word, &bulk->state) < 0)
        bulk->state = MEMBER_FAILED; /* cannot happen, since nothing else writes this column */
    bulk->next = sqlite3_column_int64(stmt, 2);
    if (bulk->next < 0)
        bulk->next = 0; /* cannot happen, either */
    bulk->afresh = sqlite3_column_int(stmt, 3);
    bulk->checkpoint = sqlite3_column_int64(stmt, 4);
    return store_row_taken(store, stmt, err);
}

int store_bulk_end(struct store *store, const struct bulk *bulk, struct error *err)
{
    return store_exec(store, err, "DELETE FROM bulk_operation WHERE ensemble = ?1 AND kind = ?2 AND state = ?3", "itt",
                      bulk->ensemble, kinds[bulk->kind], state_of(bulk));
}

int store_bulk_end_all(struct store *store, int64_t ensemble, struct error *err)
{
    return store_exec(store, err, "DELETE FROM bulk_operation WHERE ensemble = ?1", "i", ensemble);
}

/* Sends back the members of a piece of a bulk operation that are not whole in its checkpoint. */
struct bulk_piece {
    struct store *store;
    const struct bulk *bulk;
    uint32_t *ended;   /* for each member from bulk->next on the attempt that had told its end by the checkpoint */
    int64_t run, last; /* the members from `run` to `last` that are in the state are to be sent back; run -1 for none */
    struct member_span changed;
    struct error *err;
};

/* A member of the piece, and its last attempt. */
struct candidate {
    int64_t index, attempt;
};

static int end_run(struct bulk_piece *p)
{
    int64_t from = p->run;

    p->run = -1;
    return from < 0 ? 0
                    : store_member_reset(p->store, p->bulk->ensemble, p->bulk->state, from, p->last, p->bulk->afresh,
                                         p->err);
}

static int collect_candidate(void *arg, const struct member_row *row)
{
    struct candidate **next = arg;

    if (row->successor == 0)
        *(*next)++ = (struct candidate){row->index, row->attempts};
    return 0;
}

/* Returns whether nothing of the member is missing. An earlier attempt that had told its end may have left steps to the
 * last one. */
static bool is_whole(const struct bulk_piece *p, const struct candidate *member)
{
    uint32_t ended = p->ended[member->index - p->bulk->next];

    return ended > 0 && ended >= member->attempt;
}

static int reset_piece(struct bulk_piece *p, const struct candidate *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_whole(p, &members[i])) {
            if (end_run(p) < 0)
                return -1;
            continue;
        }
        if (p->run < 0)
            p->run = members[i].index;
        p->last = members[i].index;
        if (p->changed.last < p->changed.first)
            p->changed.first = members[i].index;
        p->changed.last = members[i].index;
    }
    return end_run(p);
}

/* Like store_member_reset(), for the members up to `last` that are not whole in the bulk operation's checkpoint. */
static int reset_missing(struct store *store, const struct bulk *bulk, int limit, int64_t last,
                         struct member_span *span, struct error *err)
{
    struct bulk_piece p = {
        .store = store, .bulk = bulk, .run = -1, .err = err, .changed = {bulk->next, bulk->next - 1}};
    size_t n = (size_t)(last - bulk->next) + 1;
    struct candidate *members = xcalloc((size_t)limit, sizeof *members), *next = members;
    int rc;

    p.ended = xcalloc(n, sizeof *p.ended);
    rc = store_training_checkpoint_ended(store, bulk->ensemble, bulk->checkpoint, bulk->next, p.ended, n, err);
    if (rc == 0) /* it is kept until the bulk operation is done */
        rc = store_damaged(store, "a checkpoint of a training has gone", err);
    if (rc == 1)
        rc = store_member_each_between(store, bulk->ensemble, bulk->state, bulk->next, last, collect_candidate, &next,
                                       err);
    if (rc == 0)
        rc = reset_piece(&p, members, (size_t)(next - members));
    *span = p.changed;
    free(members);
    free(p.ended);
    return rc;
}

int store_bulk_piece(struct store *store, struct bulk *bulk, int limit, struct member_span *span, struct error *err)
{
    enum member_state from = bulk->kind == BULK_CANCEL ? MEMBER_PENDING : bulk->state;
    struct member_span changed;
    int64_t n, last;
    int rc = 0;

    if (store_member_slice(store, bulk->ensemble, from, bulk->next, limit, &n, &last, err) < 0)
        return -1;
    changed = (struct member_span){bulk->next, n > 0 ? last : bulk->next - 1};
    if (n > 0 && bulk->kind == BULK_CANCEL)
        rc = store_member_cancel(store, bulk->ensemble, bulk->next, last, err);
    else if (n > 0 && bulk->checkpoint > 0)
        rc = reset_missing(store, bulk, limit, last, &changed, err);
    else if (n > 0)
        rc = store_member_reset(store, bulk->ensemble, from, bulk->next, last, bulk->afresh, err);
    if (rc < 0)
        return -1;
    if (span != NULL)
        *span = changed;
    if (n == limit) {
        bulk->next = last + 1;
        return 1;
    }
    return bulk->kind == BULK_CANCEL ? store_ensemble_cancel_untried(store, bulk->ensemble, err) : 0;
}

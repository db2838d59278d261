#include "daemon/store/chore.h"

#include "common/xalloc.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/training_checkpoint.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"cancel", "resubmit", "stop"};

static const char *state_of(const struct chore *chore)
{
    return chore->kind == CHORE_RESUBMIT ? member_state_name(chore->state) : "";
}

int store_chore_put(struct store *store, const struct chore *chore, struct error *err)
{
    return store_exec(store, err,
                      "INSERT OR REPLACE INTO chore (ensemble, kind, state, next, afresh, checkpoint) VALUES (?1, ?2, ?3, "
                      "?4, ?5, ?6)",
                      "ittibi", chore->ensemble, kinds[chore->kind], state_of(chore), chore->next, (int)chore->afresh,
                      chore->checkpoint);
}

int store_chore_first(struct store *store, int64_t ensemble, struct chore *chore, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT kind, state, next, afresh, checkpoint FROM chore WHERE ensemble = ?1 "
                                     "ORDER BY kind, state LIMIT 1",
                                     "i", ensemble);
    int rc = stmt ? store_row(store, stmt, err) : -1;
    char word[16];

    if (rc <= 0)
        return rc;
    *chore = (struct chore){.ensemble = ensemble};
    store_text(stmt, 0, word, sizeof word);
    while (chore->kind < CHORE_STOP && strcmp(kinds[chore->kind], word) != 0)
        chore->kind++;
    store_text(stmt, 1, word, sizeof word);
    if (chore->kind == CHORE_RESUBMIT && member_state_parse(word, &chore->state) < 0)
        chore->state = MEMBER_FAILED; /* cannot happen, since nothing else writes this column */
    chore->next = sqlite3_column_int64(stmt, 2);
    if (chore->next < 0)
        chore->next = 0; /* cannot happen, either */
    chore->afresh = sqlite3_column_int(stmt, 3);
    chore->checkpoint = sqlite3_column_int64(stmt, 4);
    return store_row_taken(store, stmt, err);
}

int store_chore_end(struct store *store, const struct chore *chore, struct error *err)
{
    return store_exec(store, err, "DELETE FROM chore WHERE ensemble = ?1 AND kind = ?2 AND state = ?3", "itt",
                      chore->ensemble, kinds[chore->kind], state_of(chore));
}

int store_chore_end_all(struct store *store, int64_t ensemble, struct error *err)
{
    return store_exec(store, err, "DELETE FROM chore WHERE ensemble = ?1", "i", ensemble);
}

/* Sends back the members of a piece of a chore that are not whole in its checkpoint. */
struct piece {
    struct store *store;
    const struct chore *chore;
    uint32_t *ended;    /* for each member from chore->next on the attempt that had told its end by the checkpoint */
    int64_t run, last;  /* the members from `run` to `last` that are in the state are to be sent back; run -1 for none */
    struct member_span changed;
    struct error *err;
};

/* A member of the piece, and its last attempt. */
struct candidate {
    int64_t index, attempt;
};

static int end_run(struct piece *p)
{
    int64_t from = p->run;

    p->run = -1;
    return from < 0 ? 0
                    : store_member_reset(p->store, p->chore->ensemble, p->chore->state, from, p->last, p->chore->afresh,
                                         p->err);
}

static int collect(void *arg, const struct member_row *row)
{
    struct candidate **next = arg;

    if (row->heir == 0)
        *(*next)++ = (struct candidate){row->index, row->attempts};
    return 0;
}

/* Tells whether nothing of the member is missing. An earlier attempt that had told its end may have left steps to the last
 * one. */
static bool is_whole(const struct piece *p, const struct candidate *member)
{
    uint32_t ended = p->ended[member->index - p->chore->next];

    return ended > 0 && ended >= member->attempt;
}

static int reset_piece(struct piece *p, const struct candidate *members, size_t n)
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

/* Like store_member_reset(), for the members up to `last` that are not whole in the chore's checkpoint. */
static int reset_missing(struct store *store, const struct chore *chore, int limit, int64_t last,
                         struct member_span *span, struct error *err)
{
    struct piece p = {.store = store, .chore = chore, .run = -1, .err = err, .changed = {chore->next, chore->next - 1}};
    size_t n = (size_t)(last - chore->next) + 1;
    struct candidate *members = xcalloc((size_t)limit, sizeof *members), *next = members;
    int rc;

    p.ended = xcalloc(n, sizeof *p.ended);
    rc = store_training_checkpoint_ended(store, chore->ensemble, chore->checkpoint, chore->next, p.ended, n, err);
    if (rc == 0) /* it is kept until the chore is done */
        rc = store_damaged(store, "a checkpoint of a training has gone", err);
    if (rc == 1)
        rc = store_member_each_between(store, chore->ensemble, chore->state, chore->next, last, collect, &next, err);
    if (rc == 0)
        rc = reset_piece(&p, members, (size_t)(next - members));
    *span = p.changed;
    free(members);
    free(p.ended);
    return rc;
}

int store_chore_piece(struct store *store, struct chore *chore, int limit, struct member_span *span, struct error *err)
{
    enum member_state from = chore->kind == CHORE_CANCEL ? MEMBER_PENDING : chore->state;
    struct member_span changed;
    int64_t n, last;
    int rc = 0;

    if (store_member_slice(store, chore->ensemble, from, chore->next, limit, &n, &last, err) < 0)
        return -1;
    changed = (struct member_span){chore->next, n > 0 ? last : chore->next - 1};
    if (n > 0 && chore->kind == CHORE_CANCEL)
        rc = store_member_cancel(store, chore->ensemble, chore->next, last, err);
    else if (n > 0 && chore->checkpoint > 0)
        rc = reset_missing(store, chore, limit, last, &changed, err);
    else if (n > 0)
        rc = store_member_reset(store, chore->ensemble, from, chore->next, last, chore->afresh, err);
    if (rc < 0)
        return -1;
    if (span != NULL)
        *span = changed;
    if (n == limit) {
        chore->next = last + 1;
        return 1;
    }
    return chore->kind == CHORE_CANCEL ? store_ensemble_cancel_untried(store, chore->ensemble, err) : 0;
}

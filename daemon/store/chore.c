#include "daemon/store/chore.h"

#include "daemon/store/ensemble.h"

#include <string.h>

static const char *const kinds[] = {"cancel", "resubmit", "stop"};

static const char *state_of(const struct chore *chore)
{
    return chore->kind == CHORE_RESUBMIT ? member_state_name(chore->state) : "";
}

int store_chore_put(struct store *store, const struct chore *chore, struct error *err)
{
    return store_exec(store, err,
                      "INSERT OR REPLACE INTO chore (ensemble, kind, state, next, afresh) VALUES (?1, ?2, ?3, ?4, ?5)",
                      "ittib", chore->ensemble, kinds[chore->kind], state_of(chore), chore->next, (int)chore->afresh);
}

int store_chore_first(struct store *store, int64_t ensemble, struct chore *chore, struct error *err)
{
    sqlite3_stmt *stmt = store_query(store, err,
                                     "SELECT kind, state, next, afresh FROM chore WHERE ensemble = ?1 ORDER BY kind, "
                                     "state LIMIT 1",
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

int store_chore_piece(struct store *store, struct chore *chore, int limit, struct member_span *span, struct error *err)
{
    enum member_state from = chore->kind == CHORE_CANCEL ? MEMBER_PENDING : chore->state;
    int64_t n, last;
    int rc = 0;

    if (store_member_slice(store, chore->ensemble, from, chore->next, limit, &n, &last, err) < 0)
        return -1;
    if (n > 0 && chore->kind == CHORE_CANCEL)
        rc = store_member_cancel(store, chore->ensemble, chore->next, last, err);
    else if (n > 0)
        rc = store_member_reset(store, chore->ensemble, from, chore->next, last, chore->afresh, err);
    if (rc < 0)
        return -1;
    if (span != NULL)
        *span = (struct member_span){chore->next, n > 0 ? last : chore->next - 1};
    if (n == limit) {
        chore->next = last + 1;
        return 1;
    }
    return chore->kind == CHORE_CANCEL ? store_ensemble_cancel_untried(store, chore->ensemble, err) : 0;
}

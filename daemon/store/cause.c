#include "daemon/store/cause.h"

#include "daemon/store/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const blanks = " \t\n\"'(),;=[]{}<>|";

/* Returns the length of a path, without a colon or full stop that belongs to the sentence around it. */
static size_t path_size(const char *text)
{
    size_t n = strcspn(text, blanks);

    while (n > 1 && (text[n - 1] == ':' || text[n - 1] == '.'))
        n--;
    return n;
}

static bool ends_with(const char *begin, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(end - begin) >= n && memcmp(end - n, word, n) == 0;
}

/* Returns whether a number distinguishes causes: an exit status or a signal. */
static bool is_kept(const char *begin, const char *at, size_t size)
{
    return size <= 3 && strspn(at, "0123456789") >= size &&
           (ends_with(begin, at, "status ") || ends_with(begin, at, "signal "));
}

void cause_text(const char *reason, char *out, size_t size)
{
    const char *in = reason;
    size_t n = 0;

    if (*reason == '\0')
        reason = in = "no reason is known";
    while (*in != '\0' && n + 8 < size) {
        bool begins = in == reason || strchr(blanks, in[-1]) != NULL, has_digit = false;
        size_t word = 0;

        for (; isalnum((unsigned char)in[word]); word++)
            has_digit = has_digit || isdigit((unsigned char)in[word]);
        if (*in == '/' && begins && path_size(in) > 1) {
            n += (size_t)snprintf(out + n, size - n, "/…");
            in += path_size(in);
        } else if (has_digit && !is_kept(reason, in, word)) {
            out[n++] = '#';
            in += word;
        } else {
            do
                out[n++] = *in++;
            while (word-- > 1 && n + 8 < size);
        }
    }
    out[n] = '\0';
}

/* The SQL function stretto_cause(REASON) */
static void sql_cause(sqlite3_context *context, int n, sqlite3_value **values)
{
    const char *reason = (const char *)sqlite3_value_text(values[0]);
    char text[CAUSE_SIZE];

    cause_text(reason != NULL ? reason : "", text, sizeof text);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

int store_causes_init(struct store *store, struct error *err)
{
    if (sqlite3_create_function(store->db, "stretto_cause", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, sql_cause,
                                NULL, NULL) != SQLITE_OK)
        return store_error(store, "cannot tell causes", err);
    return 0;
}

/* Returns 1 if the member has failed for this cause before, 0 if not, -1 on error. */
static int had_before(struct store *store, const struct attempt_row *attempt, const char *text, struct error *err)
{
    sqlite3_stmt *stmt = store_query(
        store, err,
        "SELECT 1 FROM attempt WHERE ensemble = ?1 AND idx = ?2 AND number < ?3 AND outcome = ?4 AND "
        "stretto_cause(reason) = ?5 LIMIT 1",
        "iiitt", attempt->ensemble, attempt->index, attempt->number, attempt_outcome_name(attempt->end.outcome), text);
    int rc = stmt ? store_row(store, stmt, err) : -1;

    if (rc == 1)
        store_done(stmt);
    return rc;
}

/* Reads the one number that a query answers with. */
static int cause_read_number(struct store *store, sqlite3_stmt *stmt, int64_t *n, struct error *err)
{
    if (stmt == NULL || store_row(store, stmt, err) != 1)
        return -1;
    *n = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return 0;
}

int store_cause_total(struct store *store, int64_t ensemble, int64_t *n, struct error *err)
{
    return cause_read_number(
        store, store_query(store, err, "SELECT count(*) FROM cause WHERE ensemble = ?1", "i", ensemble), n, err);
}

int store_cause_diverged(struct store *store, int64_t ensemble, int64_t *n, struct error *err)
{
    return cause_read_number(
        store,
        store_query(store, err,
                    "SELECT coalesce(sum(members), 0) FROM cause WHERE ensemble = ?1 AND outcome = "
                    "'diverged'",
                    "i", ensemble),
        n, err);
}

/* Counts an attempt with others of its cause. Returns 1 if that was done, 0 if there is no such cause yet, -1 on
 * error. */
static int add_to(struct store *store, const struct attempt_row *attempt, const char *text, bool before,
                  struct error *err)
{
    if (store_exec(store, err,
                   "UPDATE cause SET attempts = attempts + 1, members = members + ?4, idx = ?5, number = ?6 WHERE "
                   "ensemble = ?1 AND outcome = ?2 AND text = ?3",
                   "ittbii", attempt->ensemble, attempt_outcome_name(attempt->end.outcome), text, (int)!before,
                   attempt->index, attempt->number) < 0)
        return -1;
    return store_changes(store) > 0;
}

int store_cause_count(struct store *store, const struct attempt_row *attempt, struct error *err)
{
    char text[CAUSE_SIZE];
    int64_t n;
    int before, rc;

    cause_text(attempt->end.reason, text, sizeof text);
    before = had_before(store, attempt, text, err);
    rc = before < 0 ? -1 : add_to(store, attempt, text, before == 1, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (store_cause_total(store, attempt->ensemble, &n, err) < 0)
        return -1;
    if (n >= CAUSES_MAX) {
        snprintf(text, sizeof text, "%s", CAUSE_OTHER);
        rc = add_to(store, attempt, text, before == 1, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    return store_exec(
        store, err,
        "INSERT INTO cause (ensemble, outcome, text, members, attempts, idx, number) VALUES (?1, ?2, ?3, 1, 1, ?4, ?5)",
        "ittii", attempt->ensemble, attempt_outcome_name(attempt->end.outcome), text, attempt->index, attempt->number);
}

static void cause_read(sqlite3_stmt *stmt, struct cause_row *row)
{
    store_text(stmt, 0, row->text, sizeof row->text);
    store_text(stmt, 1, row->outcome, sizeof row->outcome);
    row->members = sqlite3_column_int64(stmt, 2);
    row->attempts = sqlite3_column_int64(stmt, 3);
    row->index = sqlite3_column_int64(stmt, 4);
    row->number = sqlite3_column_int64(stmt, 5);
}

int store_cause_each(struct store *store, int64_t ensemble, int limit,
                     int (*each)(void *arg, const struct cause_row *row), void *arg, struct error *err)
{
    struct cause_row row;

    return store_each_row(
        store,
        store_query(store, err,
                    "SELECT text, outcome, members, attempts, idx, number FROM cause WHERE ensemble = ?1 ORDER BY "
                    "members DESC, attempts DESC, outcome, text LIMIT ?2",
                    "ii", ensemble, (int64_t)limit),
        cause_read, &row, each, arg, err);
}

#include "daemon/store/ensemble_order.h"

#include "daemon/store/internal.h"

#include <math.h>
#include <stdio.h>

#define PLACE 17 /* the column after those of the ensemble; the place's id and value stand there */
#define COLUMNS                                                                                                        \
    "e.id, e.name, e.state, e.reason, e.adapter, e.stream_key, e.count, e.width, e.next_index, e.created, e.ended, "   \
    "e.root, e.parent, e.paused_by, e.paused, e.intake, e.after"

/* The parameters of all queries: ?1 and ?2 are the value and the id of the place behind which they go on. ?3 is the
 * limit, ?4 the family, ?5 the pattern of the name, ?6 the metric, ?7 to ?11 are the states. The + keeps SQLite from
 * looking the states up in an index that has another order. */
#define PASSES                                                                                                         \
    "(?4 IS NULL OR e.id = ?4 OR e.root = ?4) AND e.name LIKE ?5 ESCAPE '\\' AND +e.state IN (?7, ?8, ?9, ?10, ?11)"
#define FROM_THERE(value, id, from, condition)                                                                         \
    "SELECT " COLUMNS ", " id ", " value " FROM " from " " condition " AND " PASSES
/* The statement reads ensembles with the same value, and those behind them; SQLite merges the two as it reads them from
 * the index. */
#define SORTED(value, id, from, than, direction)                                                                       \
    FROM_THERE(value, id, from, value " = ?1 AND " id " " than " ?2")                                                  \
    " UNION ALL " FROM_THERE(value, id, from, value " " than " ?1") " ORDER BY 19 " direction ", 18 " direction        \
                                                                    " LIMIT ?3"
#define BOTH(value, id, from)                                                                                          \
    {                                                                                                                  \
        SORTED(value, id, from, ">", "ASC"), SORTED(value, id, from, "<", "DESC")                                      \
    }

#define LAST_FINITE "abs(s.last) < 9e999" /* the condition of the index; 9e999 is infinite */
#define OF_SERIES(column, has_value)                                                                                   \
    "series s INDEXED BY series_by_" column " CROSS JOIN training t ON t.id = s.training "                             \
    "CROSS JOIN ensemble e ON e.id = t.ensemble WHERE s.name = ?6 AND " has_value " AND"
#define WITHOUT(has_value)                                                                                             \
    "SELECT " COLUMNS ", e.id, 0 FROM ensemble e WHERE e.id < ?2 AND NOT EXISTS (SELECT 1 FROM training t "            \
    "CROSS JOIN series s ON s.training = t.id AND s.name = ?6 WHERE t.ensemble = e.id AND " has_value ") "             \
    "AND " PASSES " ORDER BY e.id DESC LIMIT ?3"

static const char *const queries[][2] = {
    [ENSEMBLE_BY_CREATED] = BOTH("e.id", "e.id", "ensemble e WHERE"),
    [ENSEMBLE_BY_NAME] = BOTH("e.name COLLATE NOCASE", "e.id", "ensemble e INDEXED BY ensemble_by_name WHERE"),
    [ENSEMBLE_BY_STATE] = BOTH("e.state", "e.id", "ensemble e INDEXED BY ensemble_by_state WHERE"),
    [ENSEMBLE_BY_PROGRESS] =
        BOTH("p.share", "p.ensemble",
             "progress p INDEXED BY progress_by_share CROSS JOIN ensemble e ON e.id = p.ensemble WHERE"),
    [ENSEMBLE_BY_LAST] = BOTH("s.last", "s.training", OF_SERIES("last", LAST_FINITE)),
    [ENSEMBLE_BY_MIN] = BOTH("s.least", "s.training", OF_SERIES("least", "s.least IS NOT NULL")),
    [ENSEMBLE_BY_MAX] = BOTH("s.greatest", "s.training", OF_SERIES("greatest", "s.greatest IS NOT NULL")),
};

/* Ensembles without a value of the metric */
static const char *const queries_without[] = {
    [ENSEMBLE_BY_LAST] = WITHOUT(LAST_FINITE),
    [ENSEMBLE_BY_MIN] = WITHOUT("s.least IS NOT NULL"),
    [ENSEMBLE_BY_MAX] = WITHOUT("s.greatest IS NOT NULL"),
};

struct sorting {
    struct store *store;
    const struct ensemble_order *order;
    const struct ensemble_filter *filter;
    struct ensemble_place place; /* of the last ensemble that was read */
    int left;                    /* how many more are wanted; 0 once `each` has had enough */
    int (*each)(void *arg, const struct ensemble_row *row, const struct ensemble_place *place);
    void *arg;
    struct error *err;
};

struct placed {
    struct ensemble_row row;
    int64_t id;
    double value;
    char text[256];
};

static void read_placed(sqlite3_stmt *stmt, struct placed *placed)
{
    store_ensemble_read(stmt, &placed->row);
    placed->id = sqlite3_column_int64(stmt, PLACE);
    placed->value = sqlite3_column_double(stmt, PLACE + 1);
    store_text(stmt, PLACE + 1, placed->text, sizeof placed->text);
}

static int take_placed(void *arg, const struct placed *placed)
{
    struct sorting *s = arg;

    s->place.id = placed->id;
    s->place.value = placed->value;
    snprintf(s->place.text, sizeof s->place.text, "%s", placed->text);
    s->left = s->each(s->arg, &placed->row, &s->place) != 0 ? 0 : s->left - 1;
    return s->left == 0;
}

static bool is_text(enum ensemble_key key)
{
    return key == ENSEMBLE_BY_NAME || key == ENSEMBLE_BY_STATE;
}

static int read_query(struct sorting *s, const char *sql)
{
    const struct ensemble_filter *filter = s->filter;
    char pattern[STORE_PATTERN];
    struct placed placed;
    sqlite3_stmt *stmt;

    store_ensemble_pattern(filter, pattern);
#define ASKED(state) store_ensemble_asked(filter, ENSEMBLE_##state)
#define REST                                                                                                           \
    s->place.id, (int64_t)s->left, filter->root, pattern, s->order->metric, ASKED(RUNNING), ASKED(PAUSED),             \
        ASKED(COMPLETE), ASKED(CANCELLED), ASKED(FAILED)
    if (is_text(s->order->key))
        stmt = store_query(s->store, s->err, sql, "tiimttttttt", s->place.text, REST);
    else
        stmt = store_query(s->store, s->err, sql, "diimttttttt", s->place.value, REST);
    return store_each_row(s->store, stmt, read_placed, &placed, take_placed, s, s->err);
}

int store_ensemble_each_sorted(struct store *store, const struct ensemble_order *order,
                               const struct ensemble_filter *filter, const struct ensemble_place *after, int limit,
                               int (*each)(void *arg, const struct ensemble_row *row,
                                           const struct ensemble_place *place),
                               void *arg, struct error *err)
{
    struct sorting s = {store, order, filter, *after, limit, each, arg, err};
    bool begins = after->id == 0, of_metric = order->key >= ENSEMBLE_BY_LAST;

    if (begins) {
        s.place = (struct ensemble_place){order->descending ? INT64_MAX : 0, true,
                                          order->descending ? INFINITY : -INFINITY, ""};
        snprintf(s.place.text, sizeof s.place.text, "%s", order->descending ? "\xff" : "");
    }
    if (s.place.has_value && read_query(&s, queries[order->key][order->descending]) < 0)
        return -1;
    if (!of_metric || s.left == 0)
        return 0;
    if (s.place.has_value)
        s.place = (struct ensemble_place){.id = INT64_MAX};
    return read_query(&s, queries_without[order->key]);
}

#include "api/member_sort.h"

#include "api/member_filter.h"
#include "common/xalloc.h"
#include "daemon/store/attempt.h"
#include "daemon/store/series.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum key { ATTEMPTS, TOOK, CPU, MEMORY, LAST, MIN, MAX, AREA, KEYS };

static const char *const names[KEYS] = {"attempts", "took", "cpu", "memory", "metric:", "min:", "max:", "area:"};

/* A member without a value comes after all others. */
struct place {
    int64_t index;
    bool has_value;
    double value;
};

struct member_sort {
    struct request *r;
    int64_t ensemble, limit, n;
    enum key key;
    const char *metric; /* its name, if the key is of one */
    bool descending;
    struct place after; /* the index is -1 for the beginning */
    struct place *list; /* the first ones behind it, up to one more than the page has */
    int64_t from;
    struct place piece[MEMBER_FILTER_PIECE];
};

static bool is_before(const struct member_sort *sort, const struct place *a, const struct place *b)
{
    if (a->has_value != b->has_value)
        return a->has_value;
    if (a->has_value && a->value != b->value)
        return sort->descending ? a->value > b->value : a->value < b->value;
    return a->index < b->index;
}

/* A cursor is the index of the last member of the page and, if it has a value, a colon and the value. */
static int read_sort_cursor(struct member_sort *sort, struct error *err)
{
    const char *cursor = request_query(sort->r, "cursor");
    struct place *after = &sort->after;
    char *rest;

    after->index = -1;
    if (cursor == NULL)
        return 0;
    errno = 0;
    after->index = strtoll(cursor, &rest, 10);
    after->has_value = *rest == ':';
    if (after->has_value)
        after->value = strtod(rest + 1, &rest);
    if (*cursor < '0' || *cursor > '9' || rest[-1] == ':' || *rest != '\0' || errno != 0 || isnan(after->value))
        return error_set(err, "query_wrong_value",
                         "query parameter \"cursor\" must be the \"next\" of a page of the same list, not \"%.60s\"",
                         cursor);
    return 0;
}

static bool is_sort_key(enum key key, const char *name)
{
    size_t len = strlen(names[key]);

    return key < LAST ? strcmp(names[key], name) == 0 : strncmp(names[key], name, len) == 0 && name[len] != '\0';
}

static int read_sort_query(struct member_sort *sort, const char *name, struct error *err)
{
    const char *order = request_query(sort->r, "order");

    while (sort->key < KEYS && !is_sort_key(sort->key, name))
        sort->key++;
    if (sort->key == KEYS)
        return error_set(
            err, "query_wrong_value",
            "query parameter \"sort\" must be attempts, took, cpu, memory, or metric:, min:, max: or area: "
            "with the name of a metric after it, not \"%.60s\"",
            name);
    if (sort->key >= LAST)
        sort->metric = strchr(name, ':') + 1;
    if (order != NULL && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0)
        return error_set(err, "query_wrong_value", "query parameter \"order\" must be asc or desc, not \"%.60s\"",
                         order);
    sort->descending = order != NULL && strcmp(order, "desc") == 0;
    return read_sort_cursor(sort, err);
}

int member_sort_create(struct request *r, const struct ensemble_row *ensemble, int64_t limit, struct member_sort **made,
                       struct error *err)
{
    const char *name = request_query(r, "sort");
    struct member_sort *sort;

    *made = NULL;
    if (name == NULL && request_query(r, "order") != NULL)
        return error_set(err, "query_wrong_value", "query parameter \"order\" has no meaning without \"sort\"");
    if (name == NULL)
        return 0;
    sort = xcalloc(1, sizeof *sort);
    sort->r = r;
    sort->ensemble = ensemble->id;
    sort->limit = limit;
    if (read_sort_query(sort, name, err) < 0) {
        free(sort);
        return -1;
    }
    sort->list = xcalloc((size_t)limit + 1, sizeof *sort->list);
    *made = sort;
    return 0;
}

void member_sort_destroy(struct member_sort *sort)
{
    if (sort != NULL)
        free(sort->list);
    free(sort);
}

/* Notes the value of an attempt; those of a member come by number, so that the latest stays. */
static int note_attempt(void *arg, const struct attempt_row *row)
{
    struct member_sort *sort = arg;
    struct place *place = &sort->piece[row->index - sort->from];
    int64_t end = row->end.ended_ms != 0 ? row->end.ended_ms : request_now_ms(sort->r);

    place->has_value = sort->key == ATTEMPTS || (sort->key == TOOK ? row->end.started_ms != 0 : row->end.measured);
    place->value = sort->key == ATTEMPTS ? (double)row->number
                   : sort->key == TOOK   ? (double)(end - row->end.started_ms)
                   : sort->key == CPU    ? (double)row->end.cpu_ms
                                         : (double)row->end.memory_peak;
    return 0;
}

static int note_series(void *arg, const struct series_row *row)
{
    struct member_sort *sort = arg;
    struct place *place = &sort->piece[row->index - sort->from];

    place->value = sort->key == LAST  ? row->last
                   : sort->key == MIN ? row->min
                   : sort->key == MAX ? row->max
                                      : row->area;
    place->has_value = row->points > 0 && isfinite(place->value);
    return 0;
}

/* Puts a member in its place among those that are kept, if it is one of the first. */
static void sort_keep_place(struct member_sort *sort, const struct place *place)
{
    int64_t low = 0, high = sort->n;

    if (sort->after.index >= 0 && !is_before(sort, &sort->after, place))
        return;
    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (is_before(sort, &sort->list[middle], place))
            low = middle + 1;
        else
            high = middle;
    }
    if (low > sort->limit)
        return;
    if (sort->n <= sort->limit)
        sort->n++;
    memmove(&sort->list[low + 1], &sort->list[low], (size_t)(sort->n - 1 - low) * sizeof *sort->list);
    sort->list[low] = *place;
}

int member_sort_look(struct member_sort *sort, int64_t from, int64_t end, const unsigned char *states,
                     struct error *err)
{
    sort->from = from;
    for (int64_t i = 0; i < end - from; i++)
        sort->piece[i] = (struct place){from + i, sort->key == ATTEMPTS, 0};
    if (sort->metric != NULL
            ? store_series_each_of(request_store(sort->r), sort->ensemble, from, end, sort->metric, note_series, sort,
                                   err) < 0
            : store_attempt_each_in(request_store(sort->r), sort->ensemble, from, end, note_attempt, sort, err) < 0)
        return -1;
    for (int64_t i = 0; i < end - from; i++)
        if (states[i] != MEMBER_FILTER_NONE)
            sort_keep_place(sort, &sort->piece[i]);
    return 0;
}

bool member_sort_is_full(const struct member_sort *sort, int64_t at)
{
    const struct place untried = {at, sort->key == ATTEMPTS, 0};

    return sort->n > sort->limit && !is_before(sort, &untried, &sort->list[sort->limit]);
}

int64_t member_sort_nth(const struct member_sort *sort, int64_t n)
{
    return n < sort->n && n < sort->limit ? sort->list[n].index : -1;
}

json_t *member_sort_next(const struct member_sort *sort)
{
    const struct place *last = &sort->list[sort->limit - 1];

    if (sort->n <= sort->limit)
        return json_null();
    return last->has_value ? json_sprintf("%" PRId64 ":%.17g", last->index, last->value)
                           : json_sprintf("%" PRId64, last->index);
}

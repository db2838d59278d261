#include "api/ensemble_lists.h"

#include "api/ensemble_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name; /* with a colon if the name of a metric follows */
    enum ensemble_key key;
} keys[] = {
    {"created", ENSEMBLE_BY_CREATED},   {"name", ENSEMBLE_BY_NAME}, {"state", ENSEMBLE_BY_STATE},
    {"progress", ENSEMBLE_BY_PROGRESS}, {"rate", ENSEMBLE_BY_RATE}, {"last:", ENSEMBLE_BY_LAST},
    {"min:", ENSEMBLE_BY_MIN},          {"max:", ENSEMBLE_BY_MAX},
};

static int read_order(struct ensemble_page *page)
{
    const char *sort = request_query(page->r, "sort"), *order = request_query(page->r, "order");

    if (order != NULL && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0)
        return error_set(page->err, "query_wrong_value", "query parameter \"order\" must be asc or desc, not \"%.60s\"",
                         order);
    page->order = (struct ensemble_order){.descending = order != NULL && strcmp(order, "desc") == 0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t size = strlen(keys[i].name);
        bool of_metric = keys[i].name[size - 1] == ':';

        if (of_metric ? strncmp(sort, keys[i].name, size) != 0 || sort[size] == '\0' : strcmp(sort, keys[i].name) != 0)
            continue;
        page->order.key = keys[i].key;
        page->order.metric = of_metric ? sort + size : NULL;
        return 0;
    }
    return error_set(
        page->err, "query_wrong_value",
        "query parameter \"sort\" must be created, name, state, progress, rate, or last:, min: or max: and "
        "the name of a metric, not \"%.60s\"",
        sort);
}

static bool is_text_order(const struct ensemble_order *order)
{
    return order->key == ENSEMBLE_BY_NAME || order->key == ENSEMBLE_BY_STATE;
}

/* A cursor is the id of the place, and, if there is a value, a colon and the value. */
static int read_ensemble_cursor(struct ensemble_page *page)
{
    const char *cursor = request_query(page->r, "cursor");
    struct ensemble_place *after = &page->after;
    char *rest;

    *after = (struct ensemble_place){0};
    if (cursor == NULL)
        return 0;
    errno = 0;
    after->id = strtoll(cursor, &rest, 10);
    after->has_value = *rest == ':';
    if (*cursor < '1' || *cursor > '9' || errno != 0 || (!after->has_value && *rest != '\0'))
        goto wrong;
    if (!after->has_value)
        return 0;
    if (is_text_order(&page->order)) {
        if (snprintf(after->text, sizeof after->text, "%s", rest + 1) < (int)sizeof after->text)
            return 0;
    } else {
        after->value = strtod(rest + 1, &rest);
        if (*rest == '\0' && rest[-1] != ':' && isfinite(after->value))
            return 0;
    }
wrong:
    return error_set(page->err, "query_wrong_value",
                     "query parameter \"cursor\" must be the \"next\" of a page of the same list, not \"%.60s\"",
                     cursor);
}

/* Reads sort, order, limit and cursor of the query. Returns 0, or -1 with page->err filled. */
static int ensemble_page_read(struct ensemble_page *page)
{
    page->limit = 100;
    if (request_query_int(page->r, "limit", 1, 1000, &page->limit, page->err) < 0 || read_order(page) < 0 ||
        read_ensemble_cursor(page) < 0)
        return -1;
    page->items = json_array();
    return 0;
}

int ensemble_page_add(struct ensemble_page *page, const struct ensemble_row *row, const struct ensemble_place *place)
{
    json_t *json;

    page->more = (int64_t)json_array_size(page->items) == page->limit;
    if (page->more)
        return 1;
    json = ensemble_json(page->r, row, page->err);
    page->failed = json == NULL || json_array_append_new(page->items, json) < 0;
    page->last = *place;
    return page->failed;
}

static json_t *ensemble_cursor_json(const struct ensemble_page *page)
{
    const struct ensemble_place *last = &page->last;

    if (!page->more)
        return json_null();
    if (!last->has_value)
        return json_sprintf("%" PRId64, last->id);
    if (is_text_order(&page->order))
        return json_sprintf("%" PRId64 ":%s", last->id, last->text);
    return json_sprintf("%" PRId64 ":%.17g", last->id, last->value);
}

void ensemble_page_reply(struct ensemble_page *page, int rc)
{
    if (rc < 0 || page->failed) {
        json_decref(page->items);
        request_reply_problem(page->r, page->err);
        return;
    }
    request_reply_json(page->r, 200,
                       json_pack("{s:o, s:o}", "ensembles", page->items, "next", ensemble_cursor_json(page)));
}

static int add_to_ensemble_page(void *arg, const struct ensemble_row *row, const struct ensemble_place *place)
{
    return ensemble_page_add(arg, row, place);
}

void ensembles_sorted(const struct ensemble_page *asked)
{
    struct ensemble_page page = *asked;
    struct error err;
    int rc;

    page.err = &err;
    rc = ensemble_page_read(&page);
    if (rc == 0 && page.order.key == ENSEMBLE_BY_RATE) {
        ensembles_by_rate(&page);
        return;
    }
    if (rc == 0)
        rc = store_ensemble_each_sorted(request_store(page.r), &page.order, &page.filter, &page.after,
                                        (int)page.limit + 1, add_to_ensemble_page, &page, &err);
    ensemble_page_reply(&page, rc);
}

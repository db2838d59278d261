#include "api/ensemble_json.h"
#include "api/ensemble_lists.h"
#include "api/ensemble_trouble.h"
#include "api/find.h"
#include "api/handlers.h"
#include "api/listing.h"

#include <string.h>

#define NAME_MAX_BYTES 255

static int list_ensemble(void *arg, const struct ensemble_row *row)
{
    struct listing *list = arg;

    return listing_takes(list) ? listing_put(list, row->id, ensemble_json(list->r, row, &list->err)) : 1;
}

/* Reads which ensembles are asked for. */
static int read_ensemble_filter(struct request *r, struct ensemble_filter *filter, struct error *err)
{
    const char *names[ENSEMBLE_STATE_COUNT];
    struct ensemble_row row;
    int64_t named = 0;

    for (int i = 0; i < ENSEMBLE_STATE_COUNT; i++)
        names[i] = ensemble_state_name((enum ensemble_state)i);
    *filter = (struct ensemble_filter){0};
    if (request_query_words(r, "state", names, ENSEMBLE_STATE_COUNT, &filter->states, err) < 0 ||
        request_query_int(r, "family", 1, INT64_MAX, &named, err) < 0)
        return -1;
    if (named != 0 && find_named_ensemble(r, named, &row, err) < 0)
        return -1;
    filter->root = named != 0 ? ensemble_root(&row) : 0;
    filter->name = request_query(r, "name");
    if (filter->name != NULL && strlen(filter->name) > NAME_MAX_BYTES)
        return error_set(err, "query_wrong_value", "query parameter \"name\" is longer than any name: %d bytes at most",
                         NAME_MAX_BYTES);
    return 0;
}

/* Answers with the newest first. */
static void list_newest(struct request *r)
{
    struct listing list;
    struct ensemble_filter filter;
    int rc = listing_begin(&list, r);

    if (rc == 0)
        rc = read_ensemble_filter(r, &filter, &list.err);
    if (rc == 0)
        rc = store_ensemble_each(request_store(r), list.before, &filter, (int)list.limit + 1, list_ensemble, &list,
                                 &list.err);
    listing_reply(&list, "ensembles", rc);
}

/* Answers with those that somebody should look at, newest first. */
static void list_troubled(struct request *r)
{
    struct ensemble_filter filter;
    struct error err;

    if (strcmp(request_query(r, "trouble"), "1") != 0)
        request_reply_error(r, "query_wrong_value", "query parameter \"trouble\" must be 1, or be left out");
    else if (request_query(r, "sort") != NULL || request_query(r, "order") != NULL)
        request_reply_error(r, "query_wrong_value", "query parameters \"trouble\" and \"sort\" exclude each other");
    else if (read_ensemble_filter(r, &filter, &err) < 0)
        request_reply_problem(r, &err);
    else
        ensembles_in_trouble(r, &filter);
}

void ensembles_get(struct request *r)
{
    struct ensemble_page page = {.r = r};
    struct error err;

    if (request_query(r, "trouble") != NULL)
        list_troubled(r);
    else if (request_query(r, "sort") == NULL && request_query(r, "order") == NULL)
        list_newest(r);
    else if (request_query(r, "sort") == NULL)
        request_reply_error(r, "query_wrong_value", "query parameter \"order\" has no meaning without \"sort\"");
    else if (read_ensemble_filter(r, &page.filter, &err) < 0)
        request_reply_problem(r, &err);
    else
        ensembles_sorted(&page);
}

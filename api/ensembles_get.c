#include "api/ensemble_json.h"
#include "api/find.h"
#include "api/handlers.h"
#include "api/listing.h"

static int add(void *arg, const struct ensemble_row *row)
{
    struct listing *list = arg;

    return listing_takes(list) ? listing_put(list, row->id, ensemble_json(list->r, row, &list->err)) : 1;
}

/* Reads which ensembles are asked for. */
static int read_filter(struct request *r, struct ensemble_filter *filter, struct error *err)
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
    return 0;
}

void ensembles_get(struct request *r)
{
    struct listing list;
    struct ensemble_filter filter;
    int rc = listing_begin(&list, r);

    if (rc == 0)
        rc = read_filter(r, &filter, &list.err);
    if (rc == 0)
        rc = store_ensemble_each(request_store(r), list.before, &filter, (int)list.limit + 1, add, &list, &list.err);
    listing_reply(&list, "ensembles", rc);
}

#include "api/ensemble_json.h"
#include "api/find.h"
#include "api/handlers.h"
#include "api/listing.h"
#include "daemon/store/family.h"

static int add(void *arg, const struct ensemble_row *row)
{
    struct listing *list = arg;

    return listing_takes(list) ? listing_put(list, row->id, ensemble_json(list->r, row, &list->err)) : 1;
}

void ensembles_get(struct request *r)
{
    struct listing list;
    struct ensemble_row row;
    int64_t named = 0;
    int rc = listing_begin(&list, r), limit = (int)list.limit + 1;

    if (rc == 0)
        rc = request_query_int(r, "family", 1, INT64_MAX, &named, &list.err);
    if (rc == 0 && named != 0)
        rc = find_named_ensemble(r, named, &row, &list.err);
    if (rc == 0 && named != 0)
        rc = store_family_each(request_store(r), ensemble_root(&row), list.before, limit, add, &list, &list.err);
    else if (rc == 0)
        rc = store_ensemble_each(request_store(r), list.before, limit, add, &list, &list.err);
    listing_reply(&list, "ensembles", rc);
}

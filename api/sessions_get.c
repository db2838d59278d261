#include "api/handlers.h"
#include "api/listing.h"
#include "api/session.h"

static int list_session(void *arg, const struct session_row *row)
{
    struct listing *list = arg;

    return listing_takes(list) ? listing_put(list, row->id, session_json(row)) : 1;
}

void sessions_get(struct request *r)
{
    struct listing list;
    int rc = listing_begin(&list, r);

    if (rc == 0)
        rc = store_session_each(request_store(r), list.before, (int)list.limit + 1, request_now_ms(r), list_session,
                                &list, &list.err);
    listing_reply(&list, "sessions", rc);
}

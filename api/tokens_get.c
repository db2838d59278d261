#include "api/handlers.h"
#include "api/listing.h"
#include "api/token.h"

static int list_token(void *arg, const struct token_row *row)
{
    struct listing *list = arg;

    return listing_takes(list) ? listing_put(list, row->id, token_json(row)) : 1;
}

void tokens_get(struct request *r)
{
    struct listing list;
    int rc = listing_begin(&list, r);

    if (rc == 0)
        rc = store_token_each(request_store(r), list.before, (int)list.limit + 1, list_token, &list, &list.err);
    listing_reply(&list, "tokens", rc);
}

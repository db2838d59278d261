#include "api/listing.h"

#include <inttypes.h>
#include <stdio.h>

int listing_begin(struct listing *list, struct request *r)
{
    *list = (struct listing){.r = r, .items = json_array(), .limit = 100};
    if (request_query_int(r, "limit", 1, 1000, &list->limit, &list->err) < 0)
        return -1;
    return request_query_int(r, "cursor", 1, INT64_MAX, &list->before, &list->err);
}

bool listing_takes(struct listing *list)
{
    if ((int64_t)json_array_size(list->items) < list->limit)
        return true;
    list->next = list->last;
    return false;
}

int listing_put(struct listing *list, int64_t id, json_t *json)
{
    list->last = id;
    if (json != NULL)
        return json_array_append_new(list->items, json);
    json_decref(list->items);
    list->items = NULL;
    return 1;
}

void listing_reply(struct listing *list, const char *key, int rc)
{
    char cursor[24];

    if (rc < 0 || list->items == NULL) {
        json_decref(list->items);
        request_reply_problem(list->r, &list->err);
        return;
    }
    snprintf(cursor, sizeof cursor, "%" PRId64, list->next);
    request_reply_json(list->r, 200,
                       json_pack("{s:o, s:s?}", key, list->items, "next", list->next > 0 ? cursor : NULL));
}

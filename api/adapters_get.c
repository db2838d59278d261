#include "api/handlers.h"
#include "api/request.h"
#include "api/value.h"

void adapters_get(struct request *r)
{
    const char *const *name = request_config(r)->adapters;
    json_t *list = json_array();

    for (; *name != NULL; name++)
        json_array_append_new(list, json_pack("{s:o}", "name", value_text(*name)));
    request_reply_json(r, 200, json_pack("{s:o}", "adapters", list));
}

#include "api/handlers.h"
#include "api/request.h"
#include "api/value.h"

void adapters_get(struct request *r)
{
    const struct adapters *all = request_config(r)->adapters;
    json_t *list = json_array(), *refused = json_array();

    for (size_t i = 0; i < adapters_count(all); i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "name", value_text(adapters_name(all, i)), "plugin",
                                              value_text_or_null(adapters_path(all, i) ? adapters_path(all, i) : "")));
    for (const struct adapters_refused *one = adapters_refused(all); one->path != NULL; one++)
        json_array_append_new(refused, json_pack("{s:o, s:o, s:o}", "path", value_text(one->path), "code",
                                                 value_text(one->err.code), "reason", value_text(one->err.text)));
    request_reply_json(r, 200, json_pack("{s:o, s:o}", "adapters", list, "refused", refused));
}

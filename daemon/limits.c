#include "daemon/limits.h"

#include "common/jsonx.h"

int limits_take(const json_t *adapters, const char *name, json_t **section, int64_t *max_jobs, struct error *err)
{
    const json_t *given = json_object_get(adapters, name);

    *section = NULL;
    *max_jobs = 0;
    if (given == NULL)
        return 0;
    if (!json_is_object(given))
        return error_at(err, "config_invalid", "", "the section of adapter \"%.60s\" is an object, not %s", name,
                        jsonx_type_name(given));
    if (jsonx_int(given, "", "max_jobs", JSONX_OPTIONAL, 1, 1000000, max_jobs, err) < 0)
        return -1;
    *section = json_deep_copy(given);
    json_object_del(*section, "max_jobs");
    return 0;
}

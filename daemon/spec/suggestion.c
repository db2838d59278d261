#include "daemon/spec/suggestion.h"

#include "common/jsonx.h"
#include "common/text.h"
#include "daemon/spec/value.h"

#include <stdlib.h>

/* Checks one value of a suggestion, and adds the bytes that it takes. */
static int check_suggested_value(const json_t *values, const char *name, bool numeric, const char *at, struct text *all,
                                 struct error *err)
{
    const json_t *value = json_object_get(values, name);
    char place[256];

    jsonx_pointer(place, sizeof place, at, name);
    if (value == NULL)
        return error_at(err, "spec_missing_key", place, "the parameter \"%s\" is missing", name);
    if (numeric && !json_is_number(value))
        return error_at(err, "spec_wrong_type", place,
                        "\"%s\" must be a number, which the training gets with each sample, not %s", name,
                        jsonx_type_name(value));
    if (value_check(value, place, err) < 0)
        return -1;
    text_json(all, value);
    if (all->size > ROWS_BYTES_MAX)
        return error_at(err, "spec_impossible_value", at, "the parameters have more than %zu bytes", ROWS_BYTES_MAX);
    return 0;
}

int suggestion_check(const struct params *p, const json_t *values, bool numeric, const char *at, struct error *err)
{
    const char *known[PARAMS_MAX + 1] = {NULL};
    struct text all = {0};
    int rc;

    for (size_t i = 0; i < params_size(p); i++)
        known[i] = params_name(p, i);
    rc = jsonx_only(values, at, known, err);
    for (size_t i = 0; rc == 0 && i < params_size(p); i++)
        rc = check_suggested_value(values, known[i], numeric, at, &all, err);
    free(all.data);
    return rc;
}

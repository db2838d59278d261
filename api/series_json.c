#include "api/series_json.h"

#include "api/value.h"
#include "daemon/store/series.h"

#include <math.h>
#include <string.h>

struct wanted_series {
    json_t *metrics;
    const char *names; /* NULL: all */
};

static bool is_among(const char *names, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = names;; p++) {
        if (strncmp(p, name, len) == 0 && (p[len] == ',' || p[len] == '\0'))
            return true;
        p = strchr(p, ',');
        if (p == NULL)
            return false;
    }
}

static int add_series_json(void *arg, const struct series_row *row)
{
    const struct wanted_series *wanted = arg;
    json_t *json;

    if (row->points == 0 || (wanted->names != NULL && !is_among(wanted->names, row->name)))
        return 0;
    json = json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "last", value_metric(row->last), "min",
                     value_real(row->min), "max", value_real(row->max), "area", value_real(row->area), "points",
                     (json_int_t)row->points, "not_finite", (json_int_t)row->not_finite, "step", (json_int_t)row->step,
                     "attempt", (json_int_t)row->attempt, "first_time", value_time(row->first_time_ms), "last_time",
                     value_time(row->time_ms));
    json_object_set_new(wanted->metrics, row->name, json);
    return 0;
}

int series_json_add(json_t *member, struct store *store, int64_t ensemble, int64_t index, const char *names,
                    struct error *err)
{
    struct wanted_series wanted = {json_object(), names != NULL && strcmp(names, "*") != 0 ? names : NULL};

    json_object_set_new(member, "metrics", wanted.metrics);
    return store_series_each(store, ensemble, index, "", add_series_json, &wanted, err);
}

#include "daemon/spec/remains.h"

#include "common/xalloc.h"
#include "daemon/spec/params.h"

#include <math.h>
#include <stdlib.h>

struct remains {
    size_t prefix;  /* parameters up to the last one that is named; for draws all */
    int64_t block;  /* points that differ in the others only */
    uint32_t *kept; /* combinations of the prefix, in order */
    size_t n, room;
};

static void keep_combination(struct remains *remains, int64_t combination)
{
    if (remains->n == remains->room) {
        remains->room = remains->room > 0 ? 2 * remains->room : 64;
        remains->kept = xrealloc(remains->kept, remains->room, sizeof *remains->kept);
    }
    remains->kept[remains->n++] = (uint32_t)combination;
}

static struct exclude_value parameter_value(const struct exclude_parameter *parameter, size_t i)
{
    const json_t *json = json_array_get(parameter->values, i);

    return (struct exclude_value){json, json_is_number(json) ? json_number_value(json) : NAN};
}

/* Goes on to the next combination, the last parameter varying fastest. */
static void next_grid_point(const struct exclude_parameter *parameters, size_t prefix, size_t *at,
                            struct exclude_value *values)
{
    for (size_t i = prefix; i-- > 0;) {
        bool done = ++at[i] < json_array_size(parameters[i].values);

        at[i] = done ? at[i] : 0;
        values[i] = parameter_value(&parameters[i], at[i]);
        if (done)
            return;
    }
}

struct remains *remains_of_grid(const struct exclude *exclude, const struct exclude_parameter *parameters, size_t n,
                                const char *at, struct error *err)
{
    struct remains *remains = xcalloc(1, sizeof *remains);
    struct exclude_value values[PARAMS_MAX];
    size_t digits[PARAMS_MAX] = {0};
    int64_t combinations = 1;

    remains->block = 1;
    for (size_t i = 0; i < n; i++) {
        values[i] = parameter_value(&parameters[i], 0);
        if (exclude_names(exclude, i))
            remains->prefix = i + 1;
    }
    for (size_t i = 0; i < n; i++)
        *(i < remains->prefix ? &combinations : &remains->block) *= (int64_t)json_array_size(parameters[i].values);
    if (combinations > REMAINS_WORK_MAX / (int64_t)exclude_size(exclude)) {
        error_at(
            err, "spec_impossible_value", at,
            "%lld combinations are too many to look at: combinations times objects of \"exclude\" are at most %lld. "
            "Only the parameters up to the last one that is named count, so let those come first in the grid",
            (long long)combinations, (long long)REMAINS_WORK_MAX);
        goto fail;
    }
    for (int64_t i = 0; i < combinations; i++, next_grid_point(parameters, remains->prefix, digits, values))
        if (!exclude_meets(exclude, values))
            keep_combination(remains, i);
    if (remains->n > 0)
        return remains;
    error_at(err, "spec_impossible_value", at, "all points of the grid are excluded");
fail:
    remains_destroy(remains);
    return NULL;
}

struct remains *remains_of_draws(const struct exclude *exclude, size_t n, int64_t count,
                                 double (*draw)(void *arg, int64_t point, size_t parameter), void *arg, const char *at,
                                 struct error *err)
{
    struct remains *remains = xcalloc(1, sizeof *remains);
    struct exclude_value values[PARAMS_MAX] = {{NULL, 0}};
    int64_t most = REMAINS_WORK_MAX / (int64_t)exclude_size(exclude);

    remains->prefix = n;
    remains->block = 1;
    for (int64_t point = 0; point < most && (int64_t)remains->n < count; point++) {
        for (size_t i = 0; i < n; i++)
            if (exclude_names(exclude, i))
                values[i].number = draw(arg, point, i);
        if (!exclude_meets(exclude, values))
            keep_combination(remains, point);
    }
    if ((int64_t)remains->n == count)
        return remains;
    error_at(err, "spec_impossible_value", at, "of %lld draws only %zu are not excluded, and \"count\" is %lld",
             (long long)most, remains->n, (long long)count);
    remains_destroy(remains);
    return NULL;
}

void remains_destroy(struct remains *remains)
{
    if (remains == NULL)
        return;
    free(remains->kept);
    free(remains);
}

int64_t remains_count(const struct remains *remains)
{
    return (int64_t)remains->n * remains->block;
}

int64_t remains_point(const struct remains *remains, int64_t index)
{
    return remains->kept[index / remains->block] * remains->block + index % remains->block;
}

bool *remains_combinations(const struct remains *remains, const struct exclude_parameter *parameters,
                           const size_t *which, const size_t *n, size_t count)
{
    size_t all = 1, strides[PARAMS_MAX], prefix_strides[PARAMS_MAX], stride = 1;
    bool *has;

    for (size_t i = remains->prefix; i-- > 0;) {
        prefix_strides[i] = stride;
        stride *= json_array_size(parameters[i].values);
    }
    for (size_t i = 0; i < count; i++) {
        strides[i] = all;
        all *= n[i];
    }
    has = xcalloc(all, sizeof *has);
    for (size_t k = 0; k < remains->n; k++) { /* those that have the first value of each parameter that is not named */
        size_t number = 0;

        for (size_t i = 0; i < count; i++)
            if (which[i] < remains->prefix)
                number += remains->kept[k] / prefix_strides[which[i]] % n[i] * strides[i];
        has[number] = true;
    }
    for (size_t number = 0; number < all; number++) { /* the others occur where that one does */
        size_t first = number;

        for (size_t i = 0; i < count; i++)
            if (which[i] >= remains->prefix)
                first -= number / strides[i] % n[i] * strides[i];
        has[number] = has[first];
    }
    return has;
}

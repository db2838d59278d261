/* Reads `elastic`: limits within which the daemon itself changes the width and the number of ranks. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"

#include <stdio.h>

#define AT "/elastic"
#define EVERY_MS 30000

/* Reads [LEAST, MOST]. Returns 1, 0 if the key is not there, or -1. */
static int parse_elastic_range(const json_t *elastic, const char *key, int64_t limit, struct spec_range *range,
                               struct error *err)
{
    const json_t *pair = NULL;
    int64_t *const out[] = {&range->least, &range->most};
    char place[64];

    jsonx_pointer(place, sizeof place, AT, key);
    if (jsonx_array(elastic, AT, key, JSONX_OPTIONAL, 2, &pair, err) < 0)
        return -1;
    if (pair == NULL)
        return 0;
    if (json_array_size(pair) != 2)
        return error_at(err, "spec_impossible_value", place, "\"%s\" has two numbers: the least and the most", key);
    for (size_t i = 0; i < 2; i++) {
        const json_t *item = json_array_get(pair, i);
        char at[80];

        snprintf(at, sizeof at, "%s/%zu", place, i);
        if (!json_is_integer(item))
            return error_at(err, "spec_wrong_type", at, "the limits of \"%s\" are integers, not %s", key,
                            jsonx_type_name(item));
        *out[i] = json_integer_value(item);
        if (*out[i] < 1 || *out[i] > limit)
            return error_at(err, "spec_impossible_value", at, "a limit of \"%s\" is from 1 to %lld", key,
                            (long long)limit);
    }
    if (range->least > range->most)
        return error_at(err, "spec_impossible_value", place, "the least of \"%s\" (%lld) is above the most (%lld)", key,
                        (long long)range->least, (long long)range->most);
    return 1;
}

/* Brings a value that the spec does not give into the limits, and refuses one outside of them that it gives. */
static int begin_within(const struct spec_range *range, const json_t *obj, const char *at, const char *key,
                        int64_t *value, struct error *err)
{
    const json_t *given = json_object_get(obj, key);
    char place[64];

    if (*value >= range->least && *value <= range->most)
        return 0;
    if (given != NULL && !json_is_null(given))
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, key),
                        "\"%s\" (%lld) is not within the limits of \"elastic\", %lld to %lld", key, (long long)*value,
                        (long long)range->least, (long long)range->most);
    *value = *value < range->least ? range->least : range->most;
    return 0;
}

/* Checks that no number of ranks and no width within the limits lets the ranks wait for each other. */
static int check_buffer(const struct spec *spec, struct error *err)
{
    int64_t width = spec->elastic.width.most > 0 ? spec->elastic.width.most : spec->width;
    int64_t ranks = spec->elastic.ranks.most > 0 ? spec->elastic.ranks.most : spec->ranks;

    return spec_check_ranks(spec, ranks, width, err);
}

int spec_parse_elastic(struct spec *spec, const json_t *elastic, struct error *err)
{
    static const char *const keys[] = {"width", "ranks", "every", NULL};
    const json_t *training = json_object_get(spec->json, "training");
    int width, ranks;

    spec->elastic.every_ms = EVERY_MS;
    if (!spec->has_training)
        return error_at(err, "spec_impossible_value", AT,
                        "\"elastic\" follows whether ranks or members are waiting, and there is no training");
    if (jsonx_only(elastic, AT, keys, err) < 0 ||
        jsonx_duration(elastic, AT, "every", JSONX_OPTIONAL, 1000, &spec->elastic.every_ms, err) < 0)
        return -1;
    width = parse_elastic_range(elastic, "width", SPEC_WIDTH_MAX, &spec->elastic.width, err);
    ranks = width < 0 ? -1 : parse_elastic_range(elastic, "ranks", SPEC_RANKS_MAX, &spec->elastic.ranks, err);
    if (width < 0 || ranks < 0)
        return -1;
    if (width == 0 && ranks == 0)
        return error_at(err, "spec_missing_key", AT, "\"elastic\" has \"width\", \"ranks\" or both: [least, most]");
    if (ranks > 0 && !spec->training_checkpoint.any)
        return error_at(err, "spec_impossible_value", AT "/ranks",
                        "another number of ranks goes on from a checkpoint: \"training\" has no \"checkpoint\"");
    if (width > 0 && begin_within(&spec->elastic.width, spec->json, "", "width", &spec->width, err) < 0)
        return -1;
    if (ranks > 0 && begin_within(&spec->elastic.ranks, training, "/training", "ranks", &spec->ranks, err) < 0)
        return -1;
    spec->training.resources.copies = (int)spec->ranks;
    return check_buffer(spec, err);
}

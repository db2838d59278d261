#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "tasks/proto/buffer_policies.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SAMPLE_BYTES_MAX (INT64_C(1) << 31)
#define DIMENSIONS_MAX 4
#define FIELDS_MAX 64
#define FAILURE_AFTER_MS 60000
#define FAILURE_AFTER_MAX_MS (INT64_C(30) * 86400000)
#define HUNG_TIMES 15 /* so many times as long, ranks may show no sign of life */
#define BATCH 10      /* samples of a batch, unless the spec says otherwise */

static int64_t field_item_size(const char *name)
{
    static const struct {
        const char *name;
        int64_t size;
    } known[] = {{"float32", 4}, {"float64", 8}, {"int32", 4}, {"int64", 8}, {"uint8", 1}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].size;
    return 0;
}

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return false;
    return strlen(name) <= 63;
}

/* Checks "max", which a field has if its first extent is -1, and which no other field may have. *max is 0 without
 * it. */
static int check_max(const json_t *field, const json_t *shape, const char *at, int64_t *max, struct error *err)
{
    bool varies = json_integer_value(json_array_get(shape, 0)) == -1, given = json_object_get(field, "max") != NULL;
    char place[256];

    *max = 0;
    jsonx_pointer(place, sizeof place, at, "max");
    if (varies && !given)
        return error_at(err, "spec_missing_key", place,
                        "where the first extent varies (-1), \"max\" tells the largest that it can be");
    if (!varies && given)
        return error_at(err, "spec_impossible_value", place, "\"max\" is for a field whose first extent is -1");
    return varies ? jsonx_int(field, at, "max", JSONX_REQUIRED, 1, INT32_MAX, max, err) : 0;
}

static int check_training_field(const json_t *field, const char *at, struct error *err)
{
    static const char *const keys[] = {"dtype", "shape", "max", NULL};
    const char *dtype = NULL;
    const json_t *shape = NULL, *extent;
    char place[256];
    int64_t bytes, max;
    size_t i;

    if (!json_is_object(field))
        return error_at(err, "spec_wrong_type", at, "a field must be an object with \"dtype\" and \"shape\"");
    if (jsonx_only(field, at, keys, err) < 0 || jsonx_string(field, at, "dtype", JSONX_REQUIRED, &dtype, err) < 0 ||
        jsonx_array(field, at, "shape", JSONX_REQUIRED, 1, &shape, err) < 0)
        return -1;
    bytes = field_item_size(dtype);
    if (bytes == 0)
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "dtype"),
                        "unknown dtype \"%.60s\"; known: float32, float64, int32, int64, uint8", dtype);
    if (check_max(field, shape, at, &max, err) < 0)
        return -1;
    jsonx_pointer(place, sizeof place, at, "shape");
    if (json_array_size(shape) > DIMENSIONS_MAX)
        return error_at(err, "spec_impossible_value", place, "a field has at most %d dimensions", DIMENSIONS_MAX);
    json_array_foreach (shape, i, extent) {
        int64_t n = i == 0 && max > 0 ? max : (int64_t)json_integer_value(extent);

        if (!json_is_integer(extent) || n < 1)
            return error_at(err, json_is_integer(extent) ? "spec_impossible_value" : "spec_wrong_type", place,
                            "extent %zu of \"shape\" must be a positive integer%s", i, i == 0 ? ", or -1" : "");
        if (__builtin_mul_overflow(bytes, n, &bytes) || bytes > SAMPLE_BYTES_MAX)
            return error_at(err, "spec_impossible_value", place, "a field has at most 2 GiB a time step");
    }
    return 0;
}

static int check_fields(const json_t *fields, struct error *err)
{
    const char *name;
    json_t *field;
    char place[256];

    if (json_object_size(fields) == 0 || json_object_size(fields) > FIELDS_MAX)
        return error_at(err, "spec_impossible_value", "/training/fields", "1 to %d fields must be named", FIELDS_MAX);
    json_object_foreach ((json_t *)fields, name, field) {
        jsonx_pointer(place, sizeof place, "/training/fields", name);
        if (!is_identifier(name))
            return error_at(err, "spec_impossible_value", place,
                            "a field's name is a word of letters, digits and _ (at most 63)");
        if (check_training_field(field, place, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_buffer_policy(const char *name)
{
#define IS_POLICY(known) || strcmp(name, #known) == 0
    return false BUFFER_POLICIES(IS_POLICY);
}

/* Checks the buffer and writes the defaults into it, so that all readers get a complete object. */
static int complete_buffer(json_t *training, struct error *err)
{
    static const char *const keys[] = {"policy", "capacity", "threshold", "batch", "seed", NULL};
    static const char at[] = "/training/buffer";
    int64_t capacity = 1000, threshold = -1, batch = -1, seed = 0;
    const char *policy = BUFFER_POLICY_DEFAULT;
    const json_t *given = NULL;
    json_t *buffer;

    if (jsonx_object(training, "/training", "buffer", JSONX_OPTIONAL, &given, err) < 0)
        return -1;
    if (given != NULL &&
        (jsonx_only(given, at, keys, err) < 0 || jsonx_string(given, at, "policy", JSONX_OPTIONAL, &policy, err) < 0 ||
         jsonx_int(given, at, "capacity", JSONX_OPTIONAL, 1, INT32_MAX, &capacity, err) < 0 ||
         jsonx_int(given, at, "threshold", JSONX_OPTIONAL, 0, INT32_MAX, &threshold, err) < 0 ||
         jsonx_int(given, at, "batch", JSONX_OPTIONAL, 1, 1000000, &batch, err) < 0 ||
         jsonx_int(given, at, "seed", JSONX_OPTIONAL, 0, INT64_MAX, &seed, err) < 0))
        return -1;
    if (!is_buffer_policy(policy))
        return error_at(err, "spec_impossible_value", "/training/buffer/policy",
                        "unknown policy \"%.60s\"; known:" BUFFER_POLICY_NAMES, policy);
    if (batch < 0)
        batch = capacity < BATCH ? capacity : BATCH;
    if (batch > capacity)
        return error_at(err, "spec_impossible_value", "/training/buffer/batch",
                        "a batch of %lld samples is above the capacity of the buffer (%lld)", (long long)batch,
                        (long long)capacity);
    if (threshold < 0)
        threshold = capacity / 6; /* as in the publication of the Reservoir */
    if (threshold > capacity)
        return error_at(err, "spec_impossible_value", "/training/buffer/threshold",
                        "the threshold (%lld) is above the capacity (%lld): nothing would ever be drawn",
                        (long long)threshold, (long long)capacity);
    buffer = json_pack("{s:s, s:I, s:I, s:I, s:I}", "policy", policy, "capacity", (json_int_t)capacity, "threshold",
                       (json_int_t)threshold, "batch", (json_int_t)batch, "seed", (json_int_t)seed);
    json_object_set_new(training, "buffer", buffer);
    return 0;
}

/* Checks that ranks cannot block each other. Ranks that learn in step draw in step. If one is full of samples that were
 * never drawn, so that its members wait, all others must have enough samples to draw, too. The dealing
 * (tasks/proto/dealing.h) gives ranks numbers of samples that differ by at most two for each member whose steps are
 * consecutive. If ranks differ by more than their buffers can bridge, a notice says so while the ensemble runs. */
int spec_check_ranks(const struct spec *spec, int64_t ranks, int64_t width, struct error *err)
{
    const json_t *buffer = spec->buffer;
    int64_t capacity = json_integer_value(json_object_get(buffer, "capacity"));
    int64_t threshold = json_integer_value(json_object_get(buffer, "threshold"));

    if (ranks == 1 || capacity >= threshold + 2 * width)
        return 0;
    return error_at(
        err, "spec_impossible_value", "/training/buffer/capacity",
        "%lld ranks could come to wait for each other for ever: with more than one, the capacity (%lld) must be at "
        "least the threshold (%lld) and twice the width (%lld)",
        (long long)ranks, (long long)capacity, (long long)threshold, (long long)width);
}

static int parse_from(struct spec *spec, const json_t *training, struct error *err)
{
    static const char *const keys[] = {"ensemble", "checkpoint", NULL};
    static const char at[] = "/training/from";
    const json_t *from = NULL;

    if (jsonx_object(training, "/training", "from", JSONX_OPTIONAL, &from, err) < 0)
        return -1;
    if (from == NULL)
        return 0;
    if (jsonx_only(from, at, keys, err) < 0 ||
        jsonx_int(from, at, "ensemble", JSONX_REQUIRED, 1, INT64_MAX, &spec->from_ensemble, err) < 0)
        return -1;
    return jsonx_string(from, at, "checkpoint", JSONX_OPTIONAL, &spec->from_checkpoint, err);
}

/* Reads the one knob from which the times follow after which ranks have failed. A rank that is stopped has failed for
 * certain; ranks without a sign of life may only wait for something else, such as a GPU. A rank on several nodes is not
 * judged, since its runner sees the processes of its own node only. */
static int parse_failure_after(struct spec *spec, const json_t *obj, struct error *err)
{
    int64_t hung;

    spec->failure_after_ms = FAILURE_AFTER_MS;
    if (jsonx_duration(obj, "/training", "failure_after", JSONX_OPTIONAL, 1000, &spec->failure_after_ms, err) < 0)
        return -1;
    if (spec->failure_after_ms > FAILURE_AFTER_MAX_MS)
        return error_at(err, "spec_impossible_value", "/training/failure_after",
                        "\"failure_after\" is 30 days at most");
    hung = HUNG_TIMES * spec->failure_after_ms;
    if (spec->training.resources.nodes == 1) {
        spec->training.stopped_ms = spec->failure_after_ms;
        spec->training.silence_ms = hung;
    }
    return 0;
}

static int parse_optional_streams(struct spec *spec, const json_t *obj, struct error *err)
{
    const char *streams = "required";

    if (jsonx_string(obj, "/training", "streams", JSONX_OPTIONAL, &streams, err) < 0)
        return -1;
    spec->streams_optional = strcmp(streams, "optional") == 0;
    if (!spec->streams_optional && strcmp(streams, "required") != 0)
        return error_at(err, "spec_impossible_value", "/training/streams",
                        "unknown streams \"%.60s\"; known: required, optional", streams);
    return 0;
}

int spec_parse_training(struct spec *spec, json_t *obj, struct error *err)
{
    static const char *const keys[] = {"command",       "env",        "ranks",   "adapter", "resources", "fields",
                                       "buffer",        "checkpoint", "from",    "retries", "steps",     "umask",
                                       "failure_after", "output",     "streams", NULL};

    spec->ranks = 1;
    spec->training_adapter = spec->adapter;
    spec->training_retries = 1;
    if (jsonx_only(obj, "/training", keys, err) < 0 ||
        jsonx_string(obj, "/training", "adapter", JSONX_OPTIONAL, &spec->training_adapter, err) < 0 ||
        spec_parse_command(&spec->training, obj, "/training", NULL, err) < 0 ||
        jsonx_int(obj, "/training", "ranks", JSONX_OPTIONAL, 1, SPEC_RANKS_MAX, &spec->ranks, err) < 0 ||
        jsonx_int(obj, "/training", "retries", JSONX_OPTIONAL, 0, 1000, &spec->training_retries, err) < 0 ||
        jsonx_int(obj, "/training", "steps", JSONX_OPTIONAL, 1, INT32_MAX, &spec->steps, err) < 0 ||
        spec_parse_resources(&spec->training, obj, "/training", NULL, err) < 0 ||
        parse_failure_after(spec, obj, err) < 0 || parse_optional_streams(spec, obj, err) < 0 ||
        jsonx_object(obj, "/training", "fields", JSONX_REQUIRED, &spec->fields, err) < 0 ||
        check_fields(spec->fields, err) < 0 || complete_buffer(obj, err) < 0 ||
        spec_parse_training_checkpoint(spec, obj, err) < 0 || parse_from(spec, obj, err) < 0)
        return -1;
    spec->buffer = json_object_get(obj, "buffer");
    if (spec_check_ranks(spec, spec->ranks, spec->width, err) < 0)
        return -1;
    spec->training.resources.copies = (int)spec->ranks;
    spec->training.resources.together = true;
    spec->has_training = true;
    return 0;
}

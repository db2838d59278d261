#include "tasks/train/config.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/buffer_policies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_rank_variable(const char *name, int64_t min, int *out, struct error *err)
{
    const char *text = getenv(name);
    char *end;
    long value;

    if (text == NULL || *text == '\0')
        return error_set(err, "not_under_stretto", "%s is not set", name);
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || value < min || value > 65536)
        return error_set(err, "train_environment", "%s is no number of a rank: \"%s\"", name, text);
    *out = (int)value;
    return 0;
}

static int read_key(const json_t *json, uint64_t *key, struct error *err)
{
    const char *text;
    char *end;

    if (jsonx_string(json, "", "stream_key", JSONX_REQUIRED, &text, err) < 0)
        return -1;
    *key = strtoull(text, &end, 16);
    if (strlen(text) != 16 || *end != '\0')
        return error_at(err, "spec_impossible_value", "/stream_key", "\"stream_key\" must be 16 hex digits");
    return 0;
}

static int read_parameters(struct train_config *c, struct error *err)
{
    const json_t *names;

    if (jsonx_strings(c->json, "", "parameters", JSONX_REQUIRED, 0, &names, err) < 0)
        return -1;
    c->parameters = (int)json_array_size(names);
    c->parameter = calloc((size_t)c->parameters + 1, sizeof *c->parameter);
    if (c->parameter == NULL)
        return error_set(err, "train_memory", "no memory for the parameters");
    for (int i = 0; i < c->parameters; i++)
        c->parameter[i] = json_string_value(json_array_get(names, (size_t)i));
    return 0;
}

static int read_buffer(struct train_config *c, struct error *err)
{
    const json_t *buffer;
    int64_t capacity = 0, threshold = 0, batch = 0, seed = 0;

    c->buffer.policy = BUFFER_POLICY_DEFAULT;
    if (jsonx_object(c->json, "", "buffer", JSONX_REQUIRED, &buffer, err) < 0 ||
        jsonx_string(buffer, "/buffer", "policy", JSONX_OPTIONAL, &c->buffer.policy, err) < 0 ||
        jsonx_int(buffer, "/buffer", "capacity", JSONX_REQUIRED, 1, INT32_MAX, &capacity, err) < 0 ||
        jsonx_int(buffer, "/buffer", "threshold", JSONX_OPTIONAL, 0, INT32_MAX, &threshold, err) < 0 ||
        jsonx_int(buffer, "/buffer", "batch", JSONX_REQUIRED, 1, INT32_MAX, &batch, err) < 0 ||
        jsonx_int(buffer, "/buffer", "seed", JSONX_OPTIONAL, INT64_MIN, INT64_MAX, &seed, err) < 0)
        return -1;
    c->buffer.capacity = (size_t)capacity;
    c->buffer.threshold = (size_t)threshold;
    c->buffer.batch = (size_t)batch;
    /* each rank draws in its own order, and each generation and process in another one */
    c->buffer.seed = (uint64_t)seed + (uint64_t)c->rank * 0x9e3779b97f4a7c15u +
                     (uint64_t)(c->generation - 1) * 0xd1342543de82ef95u + (uint64_t)c->restart * 0xaf251af3b0f025b5u;
    return 0;
}

static int read_checkpoint_settings(struct train_config *c, struct error *err)
{
    const json_t *given = NULL, *resume = NULL;
    double every = 0, before = 0;

    c->checkpoint.keep = 1;
    c->checkpoint.retain = -1;
    if (jsonx_object(c->json, "", "checkpoint", JSONX_OPTIONAL, &given, err) < 0)
        return -1;
    if (given == NULL)
        return 0;
    if (jsonx_string(given, "/checkpoint", "dir", JSONX_REQUIRED, &c->checkpoint.dir, err) < 0 ||
        jsonx_number(given, "/checkpoint", "every", JSONX_OPTIONAL, &every, err) < 0 ||
        jsonx_number(given, "/checkpoint", "before", JSONX_OPTIONAL, &before, err) < 0 ||
        jsonx_int(given, "/checkpoint", "keep", JSONX_OPTIONAL, 1, 1000, &c->checkpoint.keep, err) < 0 ||
        jsonx_int(given, "/checkpoint", "retain", JSONX_OPTIONAL, 0, INT32_MAX, &c->checkpoint.retain, err) < 0 ||
        jsonx_object(c->json, "", "resume", JSONX_OPTIONAL, &resume, err) < 0)
        return -1;
    c->checkpoint.every_ms = time_ms_of(every);
    c->checkpoint.before_ms = time_ms_of(before);
    if (resume == NULL)
        return 0;
    if (jsonx_string(resume, "/resume", "name", JSONX_REQUIRED, &c->checkpoint.resume, err) < 0 ||
        jsonx_int(resume, "/resume", "step", JSONX_REQUIRED, 0, INT64_MAX, &c->checkpoint.resume_step, err) < 0)
        return -1;
    return 0;
}

static int read_from(struct train_config *c, struct error *err)
{
    const json_t *from = NULL;

    if (jsonx_object(c->json, "", "from", JSONX_OPTIONAL, &from, err) < 0)
        return -1;
    if (from == NULL)
        return 0;
    if (jsonx_string(from, "/from", "dir", JSONX_REQUIRED, &c->checkpoint.from.dir, err) < 0)
        return -1;
    return jsonx_string(from, "/from", "name", JSONX_REQUIRED, &c->checkpoint.from.name, err);
}

static int read_json(struct train_config *c, struct error *err)
{
    int64_t ensemble, generation, ranks, count, steps = 0;
    const json_t *fields;

    c->job = "";
    if (jsonx_int(c->json, "", "ensemble", JSONX_REQUIRED, 0, INT64_MAX, &ensemble, err) < 0 ||
        jsonx_int(c->json, "", "generation", JSONX_REQUIRED, 1, UINT32_MAX, &generation, err) < 0 ||
        jsonx_int(c->json, "", "ranks", JSONX_REQUIRED, 1, 65536, &ranks, err) < 0 ||
        jsonx_int(c->json, "", "count", JSONX_REQUIRED, 0, UINT32_MAX, &count, err) < 0 ||
        jsonx_int(c->json, "", "steps", JSONX_OPTIONAL, 1, INT32_MAX, &steps, err) < 0 ||
        jsonx_string(c->json, "", "stream", JSONX_REQUIRED, &c->stream, err) < 0 ||
        jsonx_bool(c->json, "", "network", JSONX_OPTIONAL, &c->network, err) < 0 ||
        jsonx_string(c->json, "", "interface", JSONX_OPTIONAL, &c->interface, err) < 0 ||
        jsonx_string(c->json, "", "job", JSONX_OPTIONAL, &c->job, err) < 0 ||
        jsonx_string(c->json, "", "control", JSONX_OPTIONAL, &c->control, err) < 0 ||
        jsonx_object(c->json, "", "fields", JSONX_REQUIRED, &fields, err) < 0 || read_key(c->json, &c->key, err) < 0)
        return -1;
    c->generation = (uint32_t)generation;
    if (read_parameters(c, err) < 0 || read_buffer(c, err) < 0 || read_checkpoint_settings(c, err) < 0 ||
        read_from(c, err) < 0 || field_set_parse(fields, "/fields", &c->fields, err) < 0)
        return -1;
    c->ensemble = (uint64_t)ensemble;
    c->ranks = (int)ranks;
    c->count = (uint64_t)count;
    c->steps = (uint64_t)steps;
    for (int i = 0; i < c->fields.count; i++) {
        c->sample_bytes += c->fields.field[i].bytes;
        c->varies = c->varies || field_varies(&c->fields.field[i]);
    }
    c->dealing = dealing_create(c->ranks);
    if (c->dealing == NULL)
        return error_set(err, "train_memory", "no memory for the training's configuration");
    if (c->rank >= c->ranks)
        return error_set(err, "train_environment", "STRETTO_RANK is %d, but the training has %d ranks", c->rank,
                         c->ranks);
    return 0;
}

int train_config_read(struct train_config *config, struct error *err)
{
    const char *dir = getenv("STRETTO_TRAINING_DIR");
    char *path;

    memset(config, 0, sizeof *config);
    if (dir == NULL || *dir == '\0')
        return error_set(err, "not_under_stretto", "STRETTO_TRAINING_DIR is not set");
    if (read_rank_variable("STRETTO_RANK", 0, &config->rank, err) < 0 ||
        (getenv("STRETTO_RESTART") != NULL && read_rank_variable("STRETTO_RESTART", 0, &config->restart, err) < 0))
        return -1;
    config->dir = strdup(dir);
    path = alloc_printf("%s/training.json", dir);
    if (config->dir == NULL || path == NULL) {
        free(path);
        train_config_fini(config);
        return error_set(err, "train_memory", "no memory for the training's configuration");
    }
    config->json = file_read_json(path, err);
    if (config->json == NULL || read_json(config, err) < 0) {
        if (config->json != NULL)
            error_set(err, "train_config", "%s: %s%s%s", path, err->text, *err->pointer ? " at " : "", err->pointer);
        free(path);
        train_config_fini(config);
        return -1;
    }
    free(path);
    return 0;
}

void train_config_fini(struct train_config *config)
{
    free(config->dir);
    dealing_destroy(config->dealing);
    free(config->parameter);
    free(config->checkpoint.newest);
    field_set_fini(&config->fields);
    json_decref(config->json);
    memset(config, 0, sizeof *config);
}

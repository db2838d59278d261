/* Specs, as a client sends them: JSON, the whole check, parameters, command lines. */
#include "tests/fuzz/fuzz.h"

#include "api/body.h"
#include "common/log.h"
#include "daemon/spec/sizes.h"
#include "daemon/spec/template.h"

/* Does what the engine does with a member of an accepted spec. */
static void draw(const struct spec *spec, int64_t index, bool fits)
{
    json_t *values = params_at(spec->params, index), *word;
    struct text filled = {0};
    size_t i;

    MUST(json_is_object(values));
    MUST(json_object_size(values) == params_size(spec->params));
    /* as engine/plan_tasks.c gives them */
    json_object_set_new(values, "index", json_integer(index));
    json_object_set_new(values, "seed", json_integer((json_int_t)(params_seed(spec->params, index) >> 1)));
    json_object_set_new(values, "ensemble", json_integer(7));
    json_object_set_new(values, "attempt", json_integer(1));
    json_array_foreach (spec->members.command, i, word) {
        int rc = template_fill(&filled, json_string_value(word), NULL, values, SIZES_STRING_MAX);

        MUST(rc == 0 || !fits);
    }
    free(filled.data);
    json_decref(values);
}

static void parse(const json_t *json)
{
    struct error err = {.code = "", .text = ""};
    const char *path = NULL;
    bool fits;
    struct spec *spec, *again;
    json_t *copy;
    char *text;

    if (spec_parameter_file(json, &path, &err) != 0)
        return;
    spec = spec_parse(json, NULL, &err);
    if (spec == NULL) {
        must_tell(&err);
        return;
    }
    MUST(params_count(spec->params) > 0 && spec->width > 0 && spec->pack > 0 && spec->retries >= 0);
    fits = spec_check_sizes(spec, &err) == 0;
    if (!fits)
        must_tell(&err);
    draw(spec, 0, fits);
    draw(spec, params_count(spec->params) - 1, fits);
    /* what was accepted is read again from the database after a restart */
    text = json_dumps(spec->json, JSON_COMPACT);
    MUST(text != NULL);
    copy = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    MUST(copy != NULL);
    again = spec_parse(copy, NULL, &err);
    MUST(again != NULL);
    MUST(params_count(again->params) == params_count(spec->params));
    spec_destroy(again);
    spec_destroy(spec);
    json_decref(copy);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t budget = 0;
    struct body body;
    struct error err = {.code = "", .text = ""};
    int line, column;
    json_t *json;

    log_init("fuzz", LOG_LEVEL_NONE);
    body_init(&body, &budget);
    if (size > 0)
        MUST(body_append(&body, (const char *)data, size, &err) == 0);
    json = body_json(&body, &line, &column, &err);
    if (json == NULL) {
        must_tell(&err);
        MUST(line > 0 && column > 0);
    } else {
        parse(json);
    }
    json_decref(json);
    body_fini(&body);
    MUST(budget == 0);
    return 0;
}

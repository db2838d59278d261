#include "daemon/spec/spec.h"

#include "common/below.h"
#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/spec/internal.h"
#include "daemon/spec/needs.h"

#include <stdlib.h>
#include <string.h>

static int check_spec_name(const char *name, struct error *err)
{
    if (strlen(name) > 200)
        return error_at(err, "spec_impossible_value", "/name", "a name has at most 200 bytes");
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return error_at(err, "spec_impossible_value", "/name", "a name has no control characters");
    return 0;
}

int spec_check_relative(const char *path, const char *pointer, const char *what, struct error *err)
{
    if (path[0] == '/')
        return error_at(err, "spec_impossible_value", pointer, "the path must be relative to %s", what);
    if (!path_stays_below(path))
        return error_at(err, "spec_impossible_value", pointer, "the path must not leave %s", what);
    return 0;
}

static int parse_members(struct spec *spec, const json_t *members, struct rows *rows, struct error *err)
{
    static const char *const keys[] = {"command",   "env",     "parameters", "resources", "checkpoint",
                                       "success",   "retries", "umask",      "silence",   "output",
                                       "artefacts", "results", "metrics",    "diverged",  NULL};
    const json_t *parameters = NULL;

    if (jsonx_only(members, "/members", keys, err) < 0 ||
        jsonx_object(members, "/members", "parameters", JSONX_OPTIONAL, &parameters, err) < 0)
        return -1;
    spec->params = params_parse(parameters, "/members/parameters", rows, err);
    if (spec->params != NULL && spec->stopping.rule == STOPPING_ASHA)
        params_know(spec->params, "until");
    if (spec->params == NULL || spec_parse_command(&spec->members, members, "/members", spec->params, err) < 0 ||
        spec_parse_resources(&spec->members, members, "/members", spec->params, err) < 0 ||
        needs_measure(spec, err) < 0 || spec_parse_silence(&spec->members, members, "/members", err) < 0 ||
        spec_parse_metrics(spec, members, err) < 0 || spec_parse_results(spec, members, err) < 0 ||
        spec_parse_checkpoint(spec, members, err) < 0)
        return -1;
    spec->retries = 3;
    return jsonx_int(members, "/members", "retries", JSONX_OPTIONAL, 0, 1000, &spec->retries, err);
}

/* Reads "max_same_failures"; null turns it off, as 0 does. */
static int parse_same_failures(struct spec *spec, struct error *err)
{
    bool many = params_are_open(spec->params) || params_count(spec->params) >= SPEC_SAME_FAILURES_FROM;

    spec->same_failures = many ? SPEC_SAME_FAILURES : 0;
    if (json_is_null(json_object_get(spec->json, "max_same_failures")))
        spec->same_failures = 0;
    return jsonx_int(spec->json, "", "max_same_failures", JSONX_OPTIONAL, 0, SPEC_SAME_FAILURES_MAX,
                     &spec->same_failures, err);
}

static int parse_start(struct spec *spec, bool has_training, struct error *err)
{
    const char *start = "training-first";

    if (jsonx_string(spec->json, "", "start", JSONX_OPTIONAL, &start, err) < 0)
        return -1;
    spec->members_first = strcmp(start, "members-first") == 0;
    if (!spec->members_first && strcmp(start, "training-first") != 0)
        return error_at(err, "spec_impossible_value", "/start",
                        "unknown start \"%.60s\"; known: training-first, members-first", start);
    if (spec->members_first && !has_training)
        return error_at(err, "spec_impossible_value", "/start",
                        "there is no training that members could be started before");
    return 0;
}

static int parse_spec(struct spec *spec, struct rows *rows, struct error *err)
{
    /* clang-format off */
    static const char *const keys[] = {"name", "adapter", "members", "width", "pack", "refill", "share", "start",
                                       "allocation", "training", "follow_up", "max_failures", "max_same_failures",
                                       "rules", "elastic", "early_stopping", "after", NULL};
    /* clang-format on */
    const json_t *members = NULL, *training = NULL, *allocation = NULL, *elastic = NULL;

    spec->adapter = "local";
    spec->pack = 1;
    spec->share = 1;
    if (!json_is_object(spec->json))
        return error_at(err, "spec_wrong_type", "", "a spec is a JSON object, not %s", jsonx_type_name(spec->json));
    if (jsonx_only(spec->json, "", keys, err) < 0 ||
        jsonx_string(spec->json, "", "name", JSONX_REQUIRED, &spec->name, err) < 0 ||
        check_spec_name(spec->name, err) < 0 ||
        jsonx_string(spec->json, "", "adapter", JSONX_OPTIONAL, &spec->adapter, err) < 0 ||
        jsonx_object(spec->json, "", "members", JSONX_REQUIRED, &members, err) < 0 ||
        spec_parse_stopping(spec, err) < 0 || parse_members(spec, members, rows, err) < 0 ||
        spec_parse_rules(spec, err) < 0)
        return -1;
    spec->width = params_are_open(spec->params) || params_count(spec->params) > 100 ? 100 : params_count(spec->params);
    if (jsonx_int(spec->json, "", "width", JSONX_OPTIONAL, 1, SPEC_WIDTH_MAX, &spec->width, err) < 0 ||
        jsonx_int(spec->json, "", "max_failures", JSONX_OPTIONAL, 1, INT64_MAX, &spec->max_failures, err) < 0 ||
        parse_same_failures(spec, err) < 0 ||
        jsonx_int(spec->json, "", "pack", JSONX_OPTIONAL, 1, SPEC_PACK_MAX, &spec->pack, err) < 0 ||
        jsonx_bool(spec->json, "", "refill", JSONX_OPTIONAL, &spec->refill, err) < 0 ||
        jsonx_int(spec->json, "", "share", JSONX_OPTIONAL, 1, 1000, &spec->share, err) < 0 ||
        jsonx_object(spec->json, "", "allocation", JSONX_OPTIONAL, &allocation, err) < 0 ||
        jsonx_object(spec->json, "", "training", JSONX_OPTIONAL, &training, err) < 0 ||
        jsonx_object(spec->json, "", "elastic", JSONX_OPTIONAL, &elastic, err) < 0)
        return -1;
    spec->members.resources.copies = (int)spec->pack;
    if (spec->members.needs == NULL && spec->pack > 1 && spec->members.resources.nodes > 1 &&
        spec_starts_copies(&spec->members))
        return error_at(
            err, "spec_impossible_value", "/pack",
            "members whose \"copies\" are on several nodes cannot share a job: each needs all of its nodes' CPUs");
    if (parse_start(spec, training != NULL, err) < 0 ||
        (allocation != NULL && spec_parse_allocation(spec, allocation, err) < 0) ||
        (training != NULL && spec_parse_training(spec, (json_t *)training, err) < 0) ||
        (spec->refill && spec_refill(spec, err) < 0) || needs_check(spec, err) < 0 ||
        (elastic != NULL && spec_parse_elastic(spec, elastic, err) < 0))
        return -1;
    return spec_parse_follow_up(spec, err) < 0 || spec_parse_after(spec, err) < 0 ? -1 : 0;
}

int spec_parameter_file(const json_t *json, const char **path, struct error *err)
{
    return params_file(json_object_get(json_object_get(json, "members"), "parameters"), "/members/parameters", path,
                       err);
}

struct spec *spec_parse(const json_t *json, struct rows *rows, struct error *err)
{
    struct spec *spec = xcalloc(1, sizeof *spec);

    spec->json = json_deep_copy(json);
    if (parse_spec(spec, rows, err) == 0)
        return spec;
    spec_tell_home(err);
    params_keep_rows(spec->params);
    spec_destroy(spec);
    return NULL;
}

bool spec_starts_copies(const struct spec_task *task)
{
    return task->resources.launcher != NULL && strcmp(task->resources.launcher, SPEC_COPIES) == 0;
}

bool spec_trains_beside(const struct spec *spec)
{
    return spec->has_training && strcmp(spec->training_adapter, spec->adapter) == 0;
}

void spec_destroy(struct spec *spec)
{
    if (spec == NULL)
        return;
    params_destroy(spec->params);
    json_decref(spec->json);
    free(spec);
}

/* Reads what a spec says about success: by a file, by a metric, and of metrics that diverge. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "daemon/spec/paths.h"
#include "tasks/proto/points.h"

#include <string.h>

#define AT "/members/success"

/* Reads the metric by which success is judged, if `success` names one. */
static int parse_metric(struct spec_metrics *m, const json_t *success, struct error *err)
{
    static const char *const others[] = {"at_least", "at_most", "of", NULL};
    const char *of = "last";
    char place[64];

    if (jsonx_string(success, AT, "metric", JSONX_OPTIONAL, &m->success, err) < 0)
        return -1;
    for (const char *const *key = others; m->success == NULL && *key != NULL; key++)
        if (json_object_get(success, *key) != NULL)
            return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, AT, *key),
                            "\"%s\" has no meaning without \"metric\"", *key);
    if (m->success == NULL)
        return 0;
    if (!points_name_valid(m->success))
        return error_at(err, "spec_impossible_value", AT "/metric",
                        "a metric's name has 1 to %d bytes, without control characters", POINTS_NAME_MAX);
    m->has_least = json_object_get(success, "at_least") != NULL;
    m->has_most = json_object_get(success, "at_most") != NULL;
    if (jsonx_number(success, AT, "at_least", JSONX_OPTIONAL, &m->least, err) < 0 ||
        jsonx_number(success, AT, "at_most", JSONX_OPTIONAL, &m->most, err) < 0 ||
        jsonx_string(success, AT, "of", JSONX_OPTIONAL, &of, err) < 0)
        return -1;
    if (!m->has_least && !m->has_most)
        return error_at(err, "spec_missing_key", AT,
                        "with \"metric\" goes \"at_least\" or \"at_most\": the value that is success");
    if (m->has_least && m->has_most && m->least > m->most)
        return error_at(err, "spec_impossible_value", AT "/at_least", "no value is at least %g and at most %g",
                        m->least, m->most);
    m->best = strcmp(of, "best") == 0;
    if (!m->best && strcmp(of, "last") != 0)
        return error_at(err, "spec_impossible_value", AT "/of", "unknown value \"%.60s\"; known: last, best", of);
    if (m->best && m->has_least && m->has_most)
        return error_at(
            err, "spec_impossible_value", AT "/of",
            "\"best\" needs to know whether more is better: with \"at_least\" alone, or with \"at_most\" alone");
    return 0;
}

static int parse_success(struct spec *spec, const json_t *members, struct error *err)
{
    static const char *const keys[] = {"file", "metric", "at_least", "at_most", "of", NULL};
    const json_t *success = NULL;

    if (jsonx_object(members, "/members", "success", JSONX_OPTIONAL, &success, err) < 0)
        return -1;
    if (success == NULL)
        return 0;
    if (jsonx_only(success, AT, keys, err) < 0 || parse_metric(&spec->metrics, success, err) < 0 ||
        jsonx_string(success, AT, "file", spec->metrics.success == NULL ? JSONX_REQUIRED : JSONX_OPTIONAL,
                     &spec->success_file, err) < 0)
        return -1;
    if (spec->success_file == NULL)
        return 0;
    return spec_check_path(spec, spec->success_file, AT "/file", "the member's directory", err);
}

int spec_parse_metrics(struct spec *spec, const json_t *members, struct error *err)
{
    static const char *const keys[] = {"file", "format", "points", NULL};
    struct spec_metrics *m = &spec->metrics;
    const char *diverged = "fail", *format = NULL;
    const json_t *metrics = NULL;

    *m = (struct spec_metrics){.points = SPEC_POINTS};
    if (jsonx_object(members, "/members", "metrics", JSONX_OPTIONAL, &metrics, err) < 0 ||
        jsonx_string(members, "/members", "diverged", JSONX_OPTIONAL, &diverged, err) < 0)
        return -1;
    if (jobdesc_diverged_parse(diverged, &m->diverged) < 0)
        return error_at(err, "spec_impossible_value", "/members/diverged",
                        "unknown value \"%.60s\"; known: fail, end, ignore", diverged);
    if (metrics != NULL &&
        (jsonx_only(metrics, "/members/metrics", keys, err) < 0 ||
         jsonx_string(metrics, "/members/metrics", "file", JSONX_OPTIONAL, &m->file, err) < 0 ||
         jsonx_string(metrics, "/members/metrics", "format", JSONX_OPTIONAL, &format, err) < 0 ||
         jsonx_int(metrics, "/members/metrics", "points", JSONX_OPTIONAL, 10, SPEC_POINTS_MAX, &m->points, err) < 0))
        return -1;
    if (format != NULL && jobdesc_format_parse(format, &m->format) < 0)
        return error_at(err, "spec_impossible_value", "/members/metrics/format",
                        "unknown format \"%.60s\"; known: lines, tensorboard", format);
    if (format != NULL && m->file == NULL)
        return error_at(err, "spec_missing_key", "/members/metrics/file",
                        "there is no file that could have this format");
    if (m->file != NULL && spec_check_path(spec, m->file, "/members/metrics/file", "the member's directory", err) < 0)
        return -1;
    return parse_success(spec, members, err);
}

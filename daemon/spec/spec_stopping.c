/* Reads `early_stopping`: the rule by which members end before their last step, and the steps at which it decides. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "tasks/proto/points.h"

#include <stdio.h>
#include <string.h>

#define AT "/early_stopping"
#define RUNGS AT "/rungs"
#define REDUCTION_MAX 1000
#define MEMBERS_MIN 5 /* as in other programs that have this rule */
#define MEMBERS_MAX 10000000

static const char *const rules[] = {
    [STOPPING_ASHA] = "asha", [STOPPING_ASHA_STOP] = "asha-stop", [STOPPING_MEDIAN] = "median"};

const char *stopping_rule_name(enum stopping_rule rule)
{
    return rules[rule];
}

static int find_rule(const char *name, enum stopping_rule *rule)
{
    for (size_t i = STOPPING_ASHA; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i], name) == 0) {
            *rule = (enum stopping_rule)i;
            return 0;
        }
    }
    return -1;
}

/* Fills in min, min * reduction, … below max, and max; with the rule of the median, min, min + every, … */
static int parse_rung_range(struct spec_stopping *s, const json_t *rungs, struct error *err)
{
    int64_t least = 1, most = 0, every = 0;

    if (jsonx_int(rungs, RUNGS, "min", JSONX_OPTIONAL, 1, POINTS_STEP_MAX, &least, err) < 0 ||
        jsonx_int(rungs, RUNGS, "max", JSONX_REQUIRED, 1, POINTS_STEP_MAX, &most, err) < 0)
        return -1;
    if (most <= least)
        return error_at(err, "spec_impossible_value", RUNGS "/max",
                        "the last rung, \"max\", must be above \"min\", %lld", (long long)least);
    every = least;
    if (s->rule == STOPPING_MEDIAN &&
        jsonx_int(rungs, RUNGS, "every", JSONX_OPTIONAL, 1, POINTS_STEP_MAX, &every, err) < 0)
        return -1;
    for (int64_t step = least; step < most; step = s->rule == STOPPING_MEDIAN ? step + every : step * s->reduction) {
        if (s->n == SPEC_RUNGS_MAX - 1) /* otherwise a step is below 2^53 * 1000 */
            return error_at(err, "spec_impossible_value", RUNGS,
                            "there are at most %d rungs, and a rung every %lld steps up to step %lld makes more",
                            SPEC_RUNGS_MAX, (long long)every, (long long)most);
        s->steps[s->n++] = step;
    }
    s->steps[s->n++] = most;
    return 0;
}

static int parse_steps(struct spec_stopping *s, const json_t *steps, struct error *err)
{
    const json_t *step;
    char at[64];
    size_t i;

    if (json_array_size(steps) > SPEC_RUNGS_MAX)
        return error_at(err, "spec_impossible_value", RUNGS "/steps", "there are at most %d rungs", SPEC_RUNGS_MAX);
    json_array_foreach ((json_t *)steps, i, step) {
        snprintf(at, sizeof at, RUNGS "/steps/%zu", i);
        if (!json_is_integer(step))
            return error_at(err, "spec_wrong_type", at, "a step is an integer, not %s", jsonx_type_name(step));
        if (json_integer_value(step) < 1 || json_integer_value(step) > POINTS_STEP_MAX)
            return error_at(err, "spec_impossible_value", at, "a step is from 1 to %lld", (long long)POINTS_STEP_MAX);
        if (i > 0 && json_integer_value(step) <= s->steps[i - 1])
            return error_at(err, "spec_impossible_value", at, "each step must be above the one before, %lld",
                            (long long)s->steps[i - 1]);
        s->steps[i] = json_integer_value(step);
    }
    s->n = i;
    return 0;
}

static int parse_rungs(struct spec_stopping *s, const json_t *rungs, struct error *err)
{
    static const char *const halving[] = {"min", "max", "steps", "reduction", NULL};
    static const char *const median[] = {"min", "max", "steps", "every", NULL};
    const json_t *steps = NULL;

    s->reduction = s->rule == STOPPING_MEDIAN ? 2 : 3;
    if (jsonx_only(rungs, RUNGS, s->rule == STOPPING_MEDIAN ? median : halving, err) < 0 ||
        jsonx_int(rungs, RUNGS, "reduction", JSONX_OPTIONAL, 2, REDUCTION_MAX, &s->reduction, err) < 0 ||
        jsonx_array(rungs, RUNGS, "steps", JSONX_OPTIONAL, 2, &steps, err) < 0)
        return -1;
    if (steps == NULL)
        return parse_rung_range(s, rungs, err);
    if (json_object_get(rungs, "min") != NULL || json_object_get(rungs, "max") != NULL ||
        json_object_get(rungs, "every") != NULL)
        return error_at(err, "spec_impossible_value", RUNGS "/steps",
                        "the rungs are given by \"steps\", or by \"min\" and \"max\", not by both");
    return parse_steps(s, steps, err);
}

int spec_parse_stopping(struct spec *spec, struct error *err)
{
    static const char *const keys[] = {"rule", "metric", "goal", "rungs", "min_members", NULL};
    struct spec_stopping *s = &spec->stopping;
    const json_t *obj = NULL, *rungs = NULL;
    const char *rule = NULL, *goal = "min";

    if (jsonx_object(spec->json, "", "early_stopping", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    if (json_is_object(json_object_get(spec->json, "training")))
        return error_at(err, "spec_impossible_value", AT,
                        "members that stream into a training cannot be stopped early: the training needs all of their "
                        "samples");
    if (jsonx_only(obj, AT, keys, err) < 0 || jsonx_string(obj, AT, "rule", JSONX_REQUIRED, &rule, err) < 0 ||
        jsonx_string(obj, AT, "metric", JSONX_REQUIRED, &s->metric, err) < 0 ||
        jsonx_string(obj, AT, "goal", JSONX_OPTIONAL, &goal, err) < 0 ||
        jsonx_object(obj, AT, "rungs", JSONX_REQUIRED, &rungs, err) < 0)
        return -1;
    if (find_rule(rule, &s->rule) < 0)
        return error_at(err, "spec_impossible_value", AT "/rule",
                        "unknown rule \"%.60s\"; known: asha, asha-stop, median", rule);
    s->min_members = MEMBERS_MIN;
    if (s->rule == STOPPING_MEDIAN
            ? jsonx_int(obj, AT, "min_members", JSONX_OPTIONAL, 1, MEMBERS_MAX, &s->min_members, err) < 0
            : json_object_get(obj, "min_members") != NULL)
        return s->rule == STOPPING_MEDIAN ? -1
                                          : error_at(err, "spec_impossible_value", AT "/min_members",
                                                     "only the rule \"median\" has \"min_members\"");
    if (!points_name_valid(s->metric))
        return error_at(err, "spec_impossible_value", AT "/metric",
                        "the name of a metric has 1 to %d bytes and no control characters", POINTS_NAME_MAX);
    s->more_is_better = strcmp(goal, "max") == 0;
    if (!s->more_is_better && strcmp(goal, "min") != 0)
        return error_at(err, "spec_impossible_value", AT "/goal", "unknown goal \"%.60s\"; known: min, max", goal);
    return parse_rungs(s, rungs, err);
}

bool spec_stops_only(const struct spec *spec)
{
    return spec->stopping.rule != STOPPING_NONE && spec->stopping.rule != STOPPING_ASHA;
}

int64_t spec_rung_until(const struct spec *spec, int64_t rung)
{
    return spec_stops_only(spec) ? 0 : spec_rung_step(spec, rung);
}

int64_t spec_rung_step(const struct spec *spec, int64_t rung)
{
    return rung > 0 && (size_t)rung <= spec->stopping.n ? spec->stopping.steps[rung - 1] : 0;
}

bool spec_rung_is_last(const struct spec *spec, int64_t rung)
{
    return (size_t)rung == spec->stopping.n;
}

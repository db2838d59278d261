/* Reads `checkpoint`: when members are warned, where their checkpoints are, and how they go on from one. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "daemon/spec/template.h"
#include "tasks/proto/jobdesc.h"

#include <stdio.h>
#include <string.h>

static const char at[] = "/members/checkpoint";

static bool known(void *arg, const char *name)
{
    return strcmp(name, "checkpoint") == 0 || spec_known_placeholder(arg, name);
}

static int check_resume(const struct spec *spec, const json_t *resume, struct error *err)
{
    const json_t *item;
    char place[64];
    size_t i;

    json_array_foreach ((json_t *)resume, i, item) {
        snprintf(place, sizeof place, "%s/resume/%zu", at, i);
        if (template_check(json_string_value(item), known, spec->params, place, err) < 0)
            return -1;
    }
    return 0;
}

static int check_signal(struct spec_checkpoint *c, const char *name, struct error *err)
{
    c->signal = jobdesc_signal(name);
    if (c->signal == 0)
        return error_at(
            err, "spec_impossible_value", "/members/checkpoint/signal",
            "\"%.40s\" is no signal that members can be warned by: USR1, USR2, TERM, INT, HUP, QUIT, ALRM, CONT, URG, "
            "XCPU or WINCH",
            name);
    if (c->before_ms == 0)
        return error_at(err, "spec_missing_key", "/members/checkpoint/before",
                        "\"signal\" needs \"before\": how long before the end it is sent");
    return 0;
}

static int check_before(const struct spec *spec, struct error *err)
{
    int64_t walltime = spec->members.resources.walltime_ms;

    if (spec->checkpoint.before_ms == 0)
        return 0;
    if (walltime == 0)
        return error_at(err, "spec_missing_key", "/members/resources/walltime",
                        "\"checkpoint\" with \"before\" needs a \"walltime\", before whose end members are warned");
    if (spec->checkpoint.before_ms >= walltime)
        return error_at(err, "spec_impossible_value", "/members/checkpoint/before",
                        "\"before\" must be shorter than the walltime of %g s", (double)walltime / 1000);
    return 0;
}

int spec_parse_checkpoint(struct spec *spec, const json_t *members, struct error *err)
{
    static const char *const keys[] = {"before", "signal", "grace", "glob", "resume", "keep", "attempts", NULL};
    struct spec_checkpoint *c = &spec->checkpoint;
    const json_t *obj = NULL;
    const char *name = NULL;

    if (jsonx_object(members, "/members", "checkpoint", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    *c = (struct spec_checkpoint){.any = true, .keep = 2, .attempts = 3};
    if (jsonx_only(obj, at, keys, err) < 0 ||
        jsonx_duration(obj, at, "before", JSONX_OPTIONAL, 1, &c->before_ms, err) < 0 ||
        jsonx_string(obj, at, "signal", JSONX_OPTIONAL, &name, err) < 0 ||
        jsonx_duration(obj, at, "grace", JSONX_OPTIONAL, 0, &spec->members.grace_ms, err) < 0 ||
        jsonx_string(obj, at, "glob", JSONX_OPTIONAL, &c->glob, err) < 0 ||
        jsonx_strings(obj, at, "resume", JSONX_OPTIONAL, 1, &c->resume, err) < 0 ||
        jsonx_int(obj, at, "keep", JSONX_OPTIONAL, 1, 1000, &c->keep, err) < 0 ||
        jsonx_int(obj, at, "attempts", JSONX_OPTIONAL, 1, 1000, &c->attempts, err) < 0 ||
        check_before(spec, err) < 0 || (name != NULL && check_signal(c, name, err) < 0) ||
        check_resume(spec, c->resume, err) < 0)
        return -1;
    if (c->glob != NULL)
        return spec_check_relative(c->glob, "/members/checkpoint/glob", "the checkpoint directory", err);
    return 0;
}

int64_t spec_least_time_ms(const struct spec *spec)
{
    int64_t walltime = spec->members.resources.walltime_ms, before = spec->checkpoint.before_ms;

    if (before == 0)
        return walltime;
    return 2 * before < (walltime + before) / 2 ? 2 * before : (walltime + before) / 2;
}

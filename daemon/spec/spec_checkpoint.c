/* Reads `checkpoint` of members and of trainings: when they are warned, how many checkpoints are kept, if those of
 * members are, and how members go on from one. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "daemon/spec/paths.h"
#include "daemon/spec/template.h"
#include "tasks/proto/jobdesc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

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
        snprintf(place, sizeof place, "/members/checkpoint/resume/%zu", i);
        if (template_check(json_string_value(item), known, spec->params, place, err) < 0)
            return -1;
    }
    return 0;
}

static int check_signal(struct spec_checkpoint *c, const char *name, const char *at, struct error *err)
{
    char place[64];

    c->signal = jobdesc_signal(name);
    if (c->signal == 0)
        return error_at(
            err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "signal"),
            "\"%.40s\" is no signal that processes can be warned by: USR1, USR2, TERM, INT, HUP, QUIT, ALRM, CONT, "
            "URG, XCPU or WINCH",
            name);
    if (c->before_ms == 0)
        return error_at(err, "spec_missing_key", jsonx_pointer(place, sizeof place, at, "before"),
                        "\"signal\" needs \"before\": how long before the end it is sent");
    return 0;
}

/* Checks "before" of a checkpoint at `at`, which is an object in that of the task. */
static int check_before(const struct spec_checkpoint *c, const struct spec_task *task, const char *at,
                        struct error *err)
{
    int64_t walltime = task->resources.walltime_ms;
    char place[64];

    if (c->before_ms == 0)
        return 0;
    if (walltime == 0) {
        snprintf(place, sizeof place, "%.*s/resources/walltime", (int)(strrchr(at, '/') - at), at);
        return error_at(err, "spec_missing_key", place,
                        "\"checkpoint\" with \"before\" needs a \"walltime\", before whose end processes are warned");
    }
    if (c->before_ms >= walltime)
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "before"),
                        "\"before\" must be shorter than the walltime of %g s", (double)walltime / 1000);
    return 0;
}

/* Reads the keys that members and trainings have in common. The task's resources must have been read before. */
static int parse_common_checkpoint(struct spec_checkpoint *c, struct spec_task *task, const json_t *obj, const char *at,
                                   struct error *err)
{
    const char *name = NULL;

    *c = (struct spec_checkpoint){.any = true, .keep = 2};
    if (jsonx_duration(obj, at, "before", JSONX_OPTIONAL, 1, &c->before_ms, err) < 0 ||
        jsonx_string(obj, at, "signal", JSONX_OPTIONAL, &name, err) < 0 ||
        jsonx_duration(obj, at, "grace", JSONX_OPTIONAL, 0, &task->grace_ms, err) < 0 ||
        jsonx_int(obj, at, "keep", JSONX_OPTIONAL, 1, 1000, &c->keep, err) < 0 || check_before(c, task, at, err) < 0)
        return -1;
    return name != NULL ? check_signal(c, name, at, err) : 0;
}

int spec_parse_checkpoint(struct spec *spec, const json_t *members, struct error *err)
{
    static const char *const keys[] = {"before", "signal", "grace", "glob", "resume", "keep", "attempts", NULL};
    static const char at[] = "/members/checkpoint";
    struct spec_checkpoint *c = &spec->checkpoint;
    const json_t *obj = NULL;

    if (jsonx_object(members, "/members", "checkpoint", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    if (jsonx_only(obj, at, keys, err) < 0 || parse_common_checkpoint(c, &spec->members, obj, at, err) < 0)
        return -1;
    c->attempts = 3;
    if (jsonx_string(obj, at, "glob", JSONX_OPTIONAL, &c->glob, err) < 0 ||
        jsonx_strings(obj, at, "resume", JSONX_OPTIONAL, 1, &c->resume, err) < 0 ||
        jsonx_int(obj, at, "attempts", JSONX_OPTIONAL, 1, 1000, &c->attempts, err) < 0 ||
        check_resume(spec, c->resume, err) < 0)
        return -1;
    if (c->glob != NULL)
        return spec_check_path(spec, c->glob, "/members/checkpoint/glob", "the checkpoint directory", err);
    return 0;
}

int spec_parse_training_checkpoint(struct spec *spec, const json_t *training, struct error *err)
{
    static const char *const keys[] = {"every", "before", "signal", "grace", "keep", "retain", NULL};
    static const char at[] = "/training/checkpoint";
    struct spec_checkpoint *c = &spec->training_checkpoint;
    const json_t *obj = NULL;

    if (jsonx_object(training, "/training", "checkpoint", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    if (jsonx_only(obj, at, keys, err) < 0 || parse_common_checkpoint(c, &spec->training, obj, at, err) < 0 ||
        jsonx_duration(obj, at, "every", JSONX_OPTIONAL, 1, &c->every_ms, err) < 0)
        return -1;
    c->retain = -1;
    if (jsonx_int(obj, at, "retain", JSONX_OPTIONAL, 0, INT32_MAX, &c->retain, err) < 0)
        return -1;
    if (c->before_ms > 0 && c->signal == 0)
        c->signal = SIGUSR1;
    return 0;
}

int64_t spec_least_time_ms(const struct spec *spec)
{
    return spec_least_time_of(spec, spec->members.resources.walltime_ms);
}

int64_t spec_least_time_of(const struct spec *spec, int64_t walltime)
{
    int64_t before = spec->checkpoint.before_ms;

    if (before == 0)
        return walltime;
    return 2 * before < (walltime + before) / 2 ? 2 * before : (walltime + before) / 2;
}

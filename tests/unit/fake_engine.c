#include "tests/unit/fake_engine.h"

#include "common/xalloc.h"
#include "daemon/adapters.h"
#include "daemon/engine/engine.h"
#include "daemon/spec/spec.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct spec *spec;
static char *spec_text;

bool engine_allocation(struct engine *engine, int64_t ensemble, struct engine_allocation *out)
{
    *out = (struct engine_allocation){.count = 71, .asked = 72, .running = 73};
    return true;
}

bool engine_elastic(struct engine *engine, int64_t ensemble, struct engine_elastic *out)
{
    *out = (struct engine_elastic){.limits = {.width = {4, 200}}, .width_by_hand = true, .changed_ms = 74000, .reason = "changed"};
    return true;
}

bool engine_notice(struct engine *engine, const struct ensemble_row *row, struct engine_notice *out)
{
    *out = (struct engine_notice){.code = "held", .text = "it waits"};
    return true;
}

void engine_job_waits_for(struct engine *engine, int64_t job, char *out, size_t size)
{
    snprintf(out, size, "%s", "resources");
}

void engine_training_waits_for(struct engine *engine, int64_t ensemble, char *out, size_t size)
{
    snprintf(out, size, "%s", "priority");
}

bool engine_training_waits(struct engine *engine, int64_t ensemble, double *for_samples, double *for_room)
{
    *for_samples = 0.25;
    *for_room = 0.125;
    return true;
}

bool engine_can_resize_training(struct engine *engine, int64_t ensemble)
{
    return true;
}

int64_t engine_training_retries_left(struct engine *engine, int64_t ensemble)
{
    return 0;
}

json_t *engine_training_hosts(struct engine *engine, int64_t ensemble)
{
    return json_pack("[{s:s, s:i}]", "host", "n7", "slots", 2);
}

json_t *engine_member_hosts(struct engine *engine, int64_t job, int64_t index)
{
    return json_pack("[{s:s, s:I}]", "host", "n8", "slots", (json_int_t)(100 * job + index));
}

const struct spec *engine_spec(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *error)
{
    *owned = NULL;
    return engine_spec_again(engine, ensemble, owned, error);
}

const struct spec *engine_spec_again(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *error)
{
    return spec;
}

char *engine_ensemble_dir(const struct engine *engine, int64_t ensemble)
{
    return xasprintf("/run/e%lld", (long long)ensemble);
}

char *engine_generation_dir(const struct engine *engine, int64_t ensemble, int64_t generation)
{
    return xasprintf("/run/e%lld/g%lld", (long long)ensemble, (long long)generation);
}

int64_t engine_checkpoint_home_of(const struct engine *engine, int64_t ensemble)
{
    return ensemble;
}

char *engine_checkpoint_path(const struct engine *engine, int64_t home, int64_t index, const char *path)
{
    return xasprintf("/run/e%lld/m%lld/%s", (long long)home, (long long)index, path);
}

char *engine_training_checkpoint_path(const struct engine *engine, int64_t ensemble, const char *name)
{
    return xasprintf("/run/e%lld/%s", (long long)ensemble, name);
}

char *engine_results_path(const struct engine *engine, int64_t home, const char *path)
{
    return xasprintf("/run/e%lld/results/%s", (long long)home, path);
}

bool engine_adapter(struct engine *engine, const char *name, struct engine_adapter *out)
{
    if (strcmp(name, "local") != 0)
        return false;
    *out = (struct engine_adapter){.state = 1, .slots = 8, .answered_ms = 81000, .failing_since_ms = 82000, .next_ms = 83000,
                                   .reason = "why", .ensembles = 84, .sentence = "all of it"};
    return true;
}

const char *engine_adapter_state_name(enum engine_adapter_state state)
{
    return state == 1 ? "one" : "another";
}

size_t adapters_count(const struct adapters *adapters)
{
    return 2;
}

const char *adapters_name(const struct adapters *adapters, size_t i)
{
    return i == 0 ? "local" : "other";
}

const char *adapters_path(const struct adapters *adapters, size_t i)
{
    return i == 0 ? NULL : "/p.so";
}

const struct adapters_refused *adapters_refused(const struct adapters *adapters)
{
    static struct adapters_refused refused[] = {{.path = "/q.so", .err = {.code = "plugin_unusable", .text = "no"}}, {.path = NULL}};

    return refused;
}

/* The one of the last turn is no longer there. */
static void renew_spec(void)
{
    struct spec *last = spec;
    struct error error;
    json_t *json = spec_text != NULL ? json_loads(spec_text, 0, NULL) : NULL;

    assert_int_equal(json != NULL, spec_text != NULL);
    spec = json != NULL ? spec_parse(json, NULL, &error) : NULL;
    json_decref(json);
    spec_destroy(last);
    if (spec == NULL && spec_text != NULL)
        fail_msg("%s", error.text);
}

void fake_engine_spec(const char *text)
{
    free(spec_text);
    spec_text = text != NULL ? xstrdup(text) : NULL;
    renew_spec();
    fake_between_turns = renew_spec;
}

#include "cli/ensemble.h"

#include "cli/render.h"
#include "common/member_state.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

bool ensemble_ended(const json_t *ensemble)
{
    const char *state = get_string(ensemble, "state");
    const char *training = get_string(ensemble_training(ensemble), "state");

    if (strcmp(state, "cancelled") != 0 && strcmp(state, "failed") != 0)
        return strcmp(state, "complete") == 0;
    return ensemble_finished(ensemble) == get_int(ensemble, "count") && strcmp(training, "pending") != 0 &&
           strcmp(training, "submitted") != 0 && strcmp(training, "running") != 0;
}

bool ensemble_succeeded(const json_t *ensemble)
{
    const json_t *training = ensemble_training(ensemble);
    int64_t unneeded = get_int(json_object_get(training, "ended_early"), "members");

    return strcmp(get_string(ensemble, "state"), "complete") == 0 &&
           ensemble_members(ensemble, "succeeded") + ensemble_members(ensemble, "stopped") ==
               get_int(ensemble, "count") - unneeded &&
           (training == NULL || strcmp(get_string(training, "state"), "done") == 0);
}

int64_t ensemble_members(const json_t *ensemble, const char *state)
{
    return get_int(json_object_get(ensemble, "members"), state);
}

int64_t ensemble_final(const json_t *counts)
{
    int64_t sum = 0;

    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++)
        sum += member_state_is_final(state) ? get_int(counts, member_state_name(state)) : 0;
    return sum;
}

int64_t ensemble_sum(const json_t *counts)
{
    int64_t sum = 0;

    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++)
        sum += get_int(counts, member_state_name(state));
    return sum;
}

int64_t ensemble_finished(const json_t *ensemble)
{
    return ensemble_final(json_object_get(ensemble, "members"));
}

bool ensemble_held(const json_t *ensemble)
{
    const char *code = get_string(json_object_get(ensemble, "notice"), "code");

    return strcmp(code, "held") == 0 || strcmp(code, "waits_for_held") == 0;
}

const char *ensemble_notice(const json_t *ensemble)
{
    return get_string(json_object_get(ensemble, "notice"), "text");
}

const json_t *ensemble_training(const json_t *ensemble)
{
    const json_t *training = json_object_get(ensemble, "training");

    return json_is_object(training) ? training : NULL;
}

int64_t ensemble_training_id(struct client *client, int64_t ensemble, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld", (long long)ensemble);
    json_t *json = NULL;
    int64_t id = -1;

    if (client_get(client, path, &json, NULL, err) == 0) {
        id = ensemble_training(json) != NULL ? get_int(ensemble_training(json), "id") : -1;
        if (id < 0)
            error_set(err, "training_not_found", "ensemble %lld has no training", (long long)ensemble);
    }
    json_decref(json);
    free(path);
    return id;
}

const json_t *ensemble_metric(const json_t *ensemble, const char *name)
{
    return json_object_get(json_object_get(ensemble_training(ensemble), "metrics"), name);
}

double ensemble_eta(const json_t *ensemble)
{
    double at = render_time_parse(get_string(ensemble, "eta")), left;

    if (at < 0)
        return -1;
    left = at - (double)time_now_ms() / 1000;
    return left > 0 ? left : 0;
}

/* Makes the spec for a training that is resubmitted with changes. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"

#include <stdio.h>
#include <string.h>

static int merge_change(json_t *training, const json_t *changes, const char *key, struct error *err)
{
    const json_t *change = NULL;
    json_t *value = json_object_get(training, key);

    if (jsonx_object(changes, "", key, JSONX_OPTIONAL, &change, err) < 0)
        return -1;
    if (change == NULL)
        return 0;
    if (!json_is_object(value)) {
        value = json_object();
        json_object_set_new(training, key, value);
    }
    json_object_update(value, (json_t *)change);
    return 0;
}

json_t *spec_resubmit(const json_t *spec, const json_t *changes, struct error *err)
{
    static const char *const keys[] = {"from", "checkpoint", "command", "env", "ranks", "resources", NULL};
    static const char *const copied[] = {"command", "ranks"};
    json_t *out, *training;

    if (jsonx_only(changes, "", keys, err) < 0)
        return NULL;
    out = json_deep_copy(spec);
    training = json_object_get(out, "training");
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *value = json_object_get(changes, copied[i]);

        if (value != NULL && !json_is_null(value))
            json_object_set(training, copied[i], value);
    }
    if (merge_change(training, changes, "env", err) < 0 || merge_change(training, changes, "resources", err) < 0) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* Sets the error's pointer. The buffer is too small for the number of ranks, or the jobs of members have no room beside
 * the training. Neither place is in the body, but the key that asks too much is. */
void spec_resubmit_place(struct error *err)
{
    static const char training[] = "/training/", buffer[] = "/training/buffer";
    char *at = err->pointer;

    if (strncmp(at, buffer, strlen(buffer)) == 0)
        snprintf(at, sizeof err->pointer, "/ranks");
    else if (strncmp(at, training, strlen(training)) == 0)
        memmove(at, at + strlen(training) - 1, strlen(at) - strlen(training) + 2);
    else if (at[0] != '\0')
        snprintf(at, sizeof err->pointer, "/resources");
}

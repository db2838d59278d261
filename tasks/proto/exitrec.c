#include "tasks/proto/exitrec.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/text.h"
#include "common/timefmt.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Makes a JSON string of a text that was cut to size: it may end within a character, which JSON would refuse. */
static json_t *cut_json(const char *text)
{
    for (size_t len = strlen(text), cut = 0; cut < 4 && cut <= len; cut++) {
        json_t *value = json_stringn(text, len - cut);

        if (value != NULL)
            return value;
    }
    return json_string("(not UTF-8)");
}

json_t *exitrec_json(const struct exitrec *rec)
{
    const struct attempt_end *end = &rec->end;
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:o, s:f, s:f, s:s, s:o, s:o, s:o, s:f, s:I}", "version", 1, "job", rec->job, "id",
                  rec->id, "host", cut_json(end->host), "started", (double)end->started_ms / 1000, "ended",
                  (double)end->ended_ms / 1000, "outcome", attempt_outcome_name(end->outcome), "exit_code",
                  end->exit_code < 0 ? json_null() : json_integer(end->exit_code), "signal",
                  end->signal == 0 ? json_null() : json_integer(end->signal), "reason", cut_json(end->reason),
                  "cpu_seconds", (double)end->cpu_ms / 1000, "max_rss", (json_int_t)end->memory_peak);

    if (end->late)
        json_object_set_new(json, "late", json_true());
    if (end->how == ATTEMPT_KILLED)
        json_object_set_new(json, "killed", json_true());
    if (end->final)
        json_object_set_new(json, "final", json_true());
    if (rec->points > 0)
        json_object_set_new(json, "points", json_integer(rec->points));
    if (end->at_rung)
        json_object_set_new(json, "rung",
                            json_pack("{s:I, s:o}", "step", (json_int_t)end->rung_step, "value",
                                      isfinite(end->rung_value) ? json_real(end->rung_value) : json_null()));
    if (end->notice[0] != '\0')
        json_object_set_new(json, "notice", cut_json(end->notice));
    if (end->checkpoints != NULL)
        json_object_set(json, "checkpoints", (json_t *)end->checkpoints);
    if (end->resumed != NULL)
        json_object_set(json, "resumed", (json_t *)end->resumed);
    if (end->artefacts != NULL)
        json_object_set(json, "artefacts", (json_t *)end->artefacts);
    if (end->ran != NULL)
        json_object_set(json, "ran", (json_t *)end->ran);
    return json;
}

int exitrec_write(const char *path, const struct exitrec *rec, struct error *err)
{
    json_t *value = exitrec_json(rec);
    int rc = file_create_json(path, value, 0600, err);
    int saved = errno;

    json_decref(value);
    errno = saved;
    return rc;
}

/* Reads a string that may be empty, which jsonx_string() refuses. */
static int exitrec_take_text(const json_t *obj, const char *key, char *out, size_t size, struct error *err)
{
    const json_t *value = json_object_get(obj, key);

    out[0] = '\0';
    if (value == NULL || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return error_at(err, "exitrec_invalid", jsonx_pointer((char[256]){0}, 256, "", key),
                        "\"%s\" must be a string, not %s", key, jsonx_type_name(value));
    text_copy(out, size, json_string_value(value));
    return 0;
}

static int take_name(const json_t *obj, const char *key, char out[64], struct error *err)
{
    const char *text = NULL;

    if (jsonx_string(obj, "", key, JSONX_REQUIRED, &text, err) < 0)
        return -1;
    if (strlen(text) > 63)
        return error_at(err, "exitrec_invalid", jsonx_pointer((char[256]){0}, 256, "", key), "\"%s\" is too long", key);
    text_copy(out, 64, text);
    return 0;
}

/* Reads the point by which the task has reached the step up to which it was to go, if it has. */
static int take_rung(const json_t *root, struct attempt_end *end, struct error *err)
{
    const json_t *rung = NULL, *value;

    if (jsonx_object(root, "", "rung", JSONX_OPTIONAL, &rung, err) < 0)
        return -1;
    end->at_rung = rung != NULL;
    end->rung_value = NAN;
    value = json_object_get(rung, "value");
    if (rung == NULL)
        return 0;
    if (!json_is_null(value) && jsonx_number(rung, "/rung", "value", JSONX_REQUIRED, &end->rung_value, err) < 0)
        return -1;
    return jsonx_int(rung, "/rung", "step", JSONX_REQUIRED, 0, INT64_MAX, &end->rung_step, err);
}

/* Reads a time of Unix, or a length, in seconds. */
static int take_seconds(const json_t *root, const char *key, enum jsonx_need need, int64_t *ms, struct error *err)
{
    double seconds = 0;

    if (jsonx_number(root, "", key, need, &seconds, err) < 0)
        return -1;
    *ms = time_ms_of(seconds);
    if (seconds != 0 && *ms == 0 && !(seconds > 0 && seconds < 0.001))
        return error_at(err, "exitrec_invalid", jsonx_pointer((char[256]){0}, 256, "", key), "\"%s\" is no time", key);
    return 0;
}

static int take_outcome(const json_t *root, struct attempt_end *end, struct error *err)
{
    const char *name = NULL;
    int64_t exit_code = -1, sig = 0;
    bool killed = false;

    if (jsonx_string(root, "", "outcome", JSONX_REQUIRED, &name, err) < 0 ||
        jsonx_int(root, "", "exit_code", JSONX_OPTIONAL, 0, 255, &exit_code, err) < 0 ||
        jsonx_int(root, "", "signal", JSONX_OPTIONAL, 1, 127, &sig, err) < 0 ||
        jsonx_bool(root, "", "late", JSONX_OPTIONAL, &end->late, err) < 0 ||
        jsonx_bool(root, "", "killed", JSONX_OPTIONAL, &killed, err) < 0 ||
        jsonx_bool(root, "", "final", JSONX_OPTIONAL, &end->final, err) < 0)
        return -1;
    end->outcome = attempt_outcome_named(name);
    if (end->outcome == ATTEMPT_OPEN || end->outcome == ATTEMPT_LOST) /* a runner that is lost writes none */
        return error_at(err, "exitrec_invalid", "/outcome", "unknown outcome \"%.40s\"", name);
    end->how = killed ? ATTEMPT_KILLED : ATTEMPT_RAN;
    end->exit_code = (int)exit_code;
    end->signal = (int)sig;
    return 0;
}

int exitrec_parse(const json_t *root, struct exitrec *rec, struct error *err)
{
    struct attempt_end *end = &rec->end;
    int64_t version;

    memset(rec, 0, sizeof *rec);
    if (jsonx_int(root, "", "version", JSONX_REQUIRED, 1, 1, &version, err) < 0 ||
        take_name(root, "job", rec->job, err) < 0 || take_name(root, "id", rec->id, err) < 0 ||
        exitrec_take_text(root, "host", end->host, sizeof end->host, err) < 0 ||
        take_seconds(root, "started", JSONX_REQUIRED, &end->started_ms, err) < 0 ||
        take_seconds(root, "ended", JSONX_REQUIRED, &end->ended_ms, err) < 0 || take_outcome(root, end, err) < 0 ||
        exitrec_take_text(root, "reason", end->reason, sizeof end->reason, err) < 0 ||
        take_seconds(root, "cpu_seconds", JSONX_OPTIONAL, &end->cpu_ms, err) < 0 ||
        jsonx_int(root, "", "max_rss", JSONX_OPTIONAL, 0, INT64_MAX, &end->memory_peak, err) < 0 ||
        jsonx_int(root, "", "points", JSONX_OPTIONAL, 0, INT64_MAX, &rec->points, err) < 0 ||
        take_rung(root, end, err) < 0 || exitrec_take_text(root, "notice", end->notice, sizeof end->notice, err) < 0 ||
        jsonx_array(root, "", "checkpoints", JSONX_OPTIONAL, 0, &end->checkpoints, err) < 0 ||
        jsonx_object(root, "", "resumed", JSONX_OPTIONAL, &end->resumed, err) < 0 ||
        jsonx_array(root, "", "artefacts", JSONX_OPTIONAL, 0, &end->artefacts, err) < 0 ||
        jsonx_object(root, "", "ran", JSONX_OPTIONAL, &end->ran, err) < 0)
        return -1;
    end->measured = end->ended_ms > end->started_ms; /* otherwise the task was not started */
    end->recorded = true;
    if (end->outcome == ATTEMPT_SUCCEEDED && end->exit_code != 0 && !end->at_rung)
        return error_at(err, "exitrec_invalid", "/exit_code", "succeeded without exit status 0");
    return 0;
}

int exitrec_read(const char *path, struct exitrec *rec, struct error *err)
{
    json_t *root = file_read_json(path, err);
    int rc;

    if (root == NULL)
        return -1;
    rc = exitrec_parse(root, rec, err);
    rec->end.checkpoints = rec->end.resumed = rec->end.artefacts = rec->end.ran = NULL;
    json_decref(root);
    if (rc < 0)
        errno = EBADMSG;
    return rc;
}

int job_ended_write(const char *path, const struct job_ended *ended, struct error *err)
{
    json_t *value = json_pack("{s:i, s:f, s:o}", "version", 1, "time", ended->time, "reason", cut_json(ended->reason));
    int rc = file_write_json(path, value, 0600, err);
    int saved = errno;

    json_decref(value);
    errno = saved;
    return rc;
}

int job_ended_read(const char *path, struct job_ended *ended, struct error *err)
{
    json_t *root = file_read_json(path, err);
    int64_t version;
    int rc = -1;

    if (root == NULL)
        return -1;
    ended->time = 0;
    if (jsonx_int(root, "", "version", JSONX_REQUIRED, 1, 1, &version, err) == 0 &&
        jsonx_number(root, "", "time", JSONX_OPTIONAL, &ended->time, err) == 0 &&
        exitrec_take_text(root, "reason", ended->reason, sizeof ended->reason, err) == 0)
        rc = 0;
    json_decref(root);
    if (rc < 0)
        errno = EBADMSG;
    return rc;
}

#include "tasks/proto/exitrec.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char *const outcome_names[] = {
    [EXITREC_SUCCEEDED] = "succeeded", [EXITREC_FAILED] = "failed",     [EXITREC_TIMEOUT] = "timeout",
    [EXITREC_CANCELLED] = "cancelled", [EXITREC_DIVERGED] = "diverged", [EXITREC_REACHED] = "reached",
};

const char *exitrec_outcome_name(enum exitrec_outcome outcome)
{
    return outcome_names[outcome];
}

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
    json_t *json = json_pack(
        "{s:i, s:s, s:s, s:o, s:f, s:f, s:s, s:o, s:o, s:o, s:f, s:f, s:I}", "version", 1, "job", rec->job, "id",
        rec->id, "host", cut_json(rec->host), "started", rec->started, "ended", rec->ended, "outcome",
        outcome_names[rec->outcome], "exit_code", rec->exit_code < 0 ? json_null() : json_integer(rec->exit_code),
        "signal", rec->signal == 0 ? json_null() : json_integer(rec->signal), "reason", cut_json(rec->reason),
        "user_seconds", rec->user_seconds, "system_seconds", rec->system_seconds, "max_rss", (json_int_t)rec->max_rss);

    if (rec->late)
        json_object_set_new(json, "late", json_true());
    if (rec->killed)
        json_object_set_new(json, "killed", json_true());
    if (rec->final)
        json_object_set_new(json, "final", json_true());
    if (rec->points > 0)
        json_object_set_new(json, "points", json_integer(rec->points));
    if (rec->at_rung)
        json_object_set_new(json, "rung",
                            json_pack("{s:I, s:o}", "step", (json_int_t)rec->rung_step, "value",
                                      isfinite(rec->rung_value) ? json_real(rec->rung_value) : json_null()));
    if (rec->notice[0] != '\0')
        json_object_set_new(json, "notice", cut_json(rec->notice));
    if (rec->checkpoints != NULL)
        json_object_set(json, "checkpoints", (json_t *)rec->checkpoints);
    if (rec->resumed != NULL)
        json_object_set(json, "resumed", (json_t *)rec->resumed);
    if (rec->artefacts != NULL)
        json_object_set(json, "artefacts", (json_t *)rec->artefacts);
    if (rec->ran != NULL)
        json_object_set(json, "ran", (json_t *)rec->ran);
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
static int take_text(const json_t *obj, const char *key, char *out, size_t size, struct error *err)
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
static int take_rung(const json_t *root, struct exitrec *rec, struct error *err)
{
    const json_t *rung = NULL, *value;

    if (jsonx_object(root, "", "rung", JSONX_OPTIONAL, &rung, err) < 0)
        return -1;
    rec->at_rung = rung != NULL;
    rec->rung_value = NAN;
    value = json_object_get(rung, "value");
    if (rung == NULL)
        return 0;
    if (!json_is_null(value) && jsonx_number(rung, "/rung", "value", JSONX_REQUIRED, &rec->rung_value, err) < 0)
        return -1;
    return jsonx_int(rung, "/rung", "step", JSONX_REQUIRED, 0, INT64_MAX, &rec->rung_step, err);
}

int exitrec_parse(const json_t *root, struct exitrec *rec, struct error *err)
{
    const char *outcome = NULL;
    int64_t version, exit_code = -1, sig = 0;
    size_t i;

    memset(rec, 0, sizeof *rec);
    if (jsonx_int(root, "", "version", JSONX_REQUIRED, 1, 1, &version, err) < 0 ||
        take_name(root, "job", rec->job, err) < 0 || take_name(root, "id", rec->id, err) < 0 ||
        take_text(root, "host", rec->host, sizeof rec->host, err) < 0 ||
        jsonx_number(root, "", "started", JSONX_REQUIRED, &rec->started, err) < 0 ||
        jsonx_number(root, "", "ended", JSONX_REQUIRED, &rec->ended, err) < 0 ||
        jsonx_string(root, "", "outcome", JSONX_REQUIRED, &outcome, err) < 0 ||
        jsonx_int(root, "", "exit_code", JSONX_OPTIONAL, 0, 255, &exit_code, err) < 0 ||
        jsonx_int(root, "", "signal", JSONX_OPTIONAL, 1, 127, &sig, err) < 0 ||
        take_text(root, "reason", rec->reason, sizeof rec->reason, err) < 0 ||
        jsonx_number(root, "", "user_seconds", JSONX_OPTIONAL, &rec->user_seconds, err) < 0 ||
        jsonx_number(root, "", "system_seconds", JSONX_OPTIONAL, &rec->system_seconds, err) < 0 ||
        jsonx_int(root, "", "max_rss", JSONX_OPTIONAL, 0, INT64_MAX, &rec->max_rss, err) < 0 ||
        jsonx_bool(root, "", "late", JSONX_OPTIONAL, &rec->late, err) < 0 ||
        jsonx_bool(root, "", "killed", JSONX_OPTIONAL, &rec->killed, err) < 0 ||
        jsonx_bool(root, "", "final", JSONX_OPTIONAL, &rec->final, err) < 0 ||
        jsonx_int(root, "", "points", JSONX_OPTIONAL, 0, INT64_MAX, &rec->points, err) < 0 ||
        take_rung(root, rec, err) < 0 || take_text(root, "notice", rec->notice, sizeof rec->notice, err) < 0 ||
        jsonx_array(root, "", "checkpoints", JSONX_OPTIONAL, 0, &rec->checkpoints, err) < 0 ||
        jsonx_object(root, "", "resumed", JSONX_OPTIONAL, &rec->resumed, err) < 0 ||
        jsonx_array(root, "", "artefacts", JSONX_OPTIONAL, 0, &rec->artefacts, err) < 0 ||
        jsonx_object(root, "", "ran", JSONX_OPTIONAL, &rec->ran, err) < 0)
        return -1;
    for (i = 0; i < sizeof outcome_names / sizeof *outcome_names && strcmp(outcome, outcome_names[i]) != 0; i++)
        ;
    if (i == sizeof outcome_names / sizeof *outcome_names)
        return error_at(err, "exitrec_invalid", "/outcome", "unknown outcome \"%.40s\"", outcome);
    rec->outcome = (enum exitrec_outcome)i;
    rec->exit_code = (int)exit_code;
    rec->signal = (int)sig;
    if (rec->outcome == EXITREC_SUCCEEDED && rec->exit_code != 0 && !rec->at_rung)
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
    rec->checkpoints = rec->resumed = rec->artefacts = rec->ran = NULL;
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
        take_text(root, "reason", ended->reason, sizeof ended->reason, err) == 0)
        rc = 0;
    json_decref(root);
    if (rc < 0)
        errno = EBADMSG;
    return rc;
}

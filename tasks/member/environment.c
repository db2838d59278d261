#include "tasks/member/environment.h"

#include "common/jsonx.h"
#include "common/timefmt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_MS 2000
#define FAILURE_AFTER_MS 60000

static int read_unsigned(const char *name, int base, uint64_t max, uint64_t *out, struct error *err)
{
    const char *text = getenv(name);
    char *end;
    unsigned long long value;

    if (text == NULL || *text == '\0')
        return error_set(err, "stream_environment", "STRETTO_STREAM is set, but %s is not", name);
    errno = 0;
    value = strtoull(text, &end, base);
    if (errno != 0 || *end != '\0' || *text == '-' || *text == '+' || *text == ' ' || value > max)
        return error_set(err, "stream_environment", "%s is no number that can be: \"%s\"", name, text);
    *out = value;
    return 0;
}

static json_t *read_json_variable(const char *name, struct error *err)
{
    const char *text = getenv(name);
    json_error_t jerr;
    json_t *value;

    if (text == NULL) {
        error_set(err, "stream_environment", "STRETTO_STREAM is set, but %s is not", name);
        return NULL;
    }
    value = json_loads(text, JSON_REJECT_DUPLICATES, &jerr);
    if (!json_is_object(value)) {
        error_set(err, "stream_environment", "%s is no JSON object: %s", name,
                  value                    ? "another type"
                  : jsonx_no_memory(&jerr) ? "out of memory"
                                           : jerr.text);
        json_decref(value);
        return NULL;
    }
    return value;
}

static int read_stream_variables(struct environment *env, struct error *err)
{
    uint64_t attempt, silence, failure_after = FAILURE_AFTER_MS;
    json_t *fields;
    int rc;

    if (read_unsigned("STRETTO_STREAM_KEY", 16, UINT64_MAX, &env->key, err) < 0 ||
        read_unsigned("STRETTO_ENSEMBLE", 10, INT64_MAX, &env->ensemble, err) < 0 ||
        read_unsigned("STRETTO_MEMBER", 10, UINT32_MAX, &env->member, err) < 0 ||
        read_unsigned("STRETTO_ATTEMPT", 10, UINT32_MAX, &attempt, err) < 0)
        return -1;
    env->attempt = (uint32_t)attempt;
    if (getenv("STRETTO_STEPS") != NULL && read_unsigned("STRETTO_STEPS", 10, INT32_MAX, &env->steps, err) < 0)
        return -1;
    if (getenv("STRETTO_STREAM_SILENCE_MS") != NULL) {
        if (read_unsigned("STRETTO_STREAM_SILENCE_MS", 10, 3600000, &silence, err) < 0)
            return -1;
        env->silence = silence > 0 ? (int64_t)silence : 1;
    }
    if (getenv("STRETTO_FAILURE_AFTER_MS") != NULL &&
        read_unsigned("STRETTO_FAILURE_AFTER_MS", 10, INT64_MAX, &failure_after, err) < 0)
        return -1;
    env->silence_max = (int64_t)failure_after / 2 > env->silence ? (int64_t)failure_after / 2 : env->silence;
    env->checksum = getenv("STRETTO_STREAM_CHECKSUM") != NULL && strcmp(getenv("STRETTO_STREAM_CHECKSUM"), "1") == 0;
    fields = read_json_variable("STRETTO_FIELDS", err);
    if (fields == NULL)
        return -1;
    rc = field_set_parse(fields, "", &env->fields, err);
    json_decref(fields);
    if (rc < 0)
        return error_set(err, "stream_environment", "STRETTO_FIELDS: %s", err->text);
    env->parameters = read_json_variable("STRETTO_PARAMS", err);
    return env->parameters != NULL ? 0 : -1;
}

int environment_read(struct environment *env, struct error *err)
{
    const char *stream = getenv("STRETTO_STREAM"), *deadline = getenv("STRETTO_DEADLINE");
    const char *marks = getenv("STRETTO_STREAM_MARKS");
    char *end;

    memset(env, 0, sizeof *env);
    env->silence = SILENCE_MS;
    if (deadline != NULL && *deadline != '\0') {
        env->deadline = strtod(deadline, &end);
        if (*end != '\0' || !(env->deadline > 0))
            return error_set(err, "stream_environment", "STRETTO_DEADLINE is no Unix time: \"%s\"", deadline);
    }
    if (stream == NULL || *stream == '\0')
        return 0;
    env->active = true;
    env->stream = strdup(stream);
    env->marks = marks != NULL && *marks != '\0' ? strdup(marks) : NULL;
    if (env->stream == NULL || (marks != NULL && *marks != '\0' && env->marks == NULL))
        return error_set(err, "stream_memory", "no memory for the stream");
    return read_stream_variables(env, err);
}

void environment_fini(struct environment *env)
{
    free(env->stream);
    free(env->marks);
    field_set_fini(&env->fields);
    json_decref(env->parameters);
    memset(env, 0, sizeof *env);
}

int64_t environment_left_ms(const struct environment *env)
{
    double left;

    if (env->deadline <= 0)
        return INT64_MAX;
    left = env->deadline * 1000 - (double)time_now_ms();
    return left <= 0 ? 0 : left > 1e15 ? INT64_MAX : (int64_t)left;
}

#include "cli/mllog.h"

#include "cli/client.h"
#include "cli/points.h"
#include "cli/render.h"
#include "common/jsonx.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A log that is written: of a run with evaluations. */
struct log {
    const struct mllog_query *query;
    FILE *to;
    int64_t at_ms; /* of the last line; no line is earlier than the one before */
    int64_t evaluations;
    bool reached; /* the target */
};

int mllog_say(json_t *said, const char *text)
{
    const char *equals = strchr(text, '=');
    json_t *value;
    char *key;
    int rc;

    if (equals == NULL || equals == text)
        return -1;
    key = xasprintf("%.*s", (int)(equals - text), text);
    value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
    rc = json_object_set_new(said, key, value != NULL ? value : json_string(equals + 1)); /* -1: it is not UTF-8 */
    free(key);
    return rc;
}

/* Prints a line. The value is JSON, or NaN or Infinity, which MLPerf's own library writes as such. Takes over the
 * metadata. */
static void put_line(struct log *log, double seconds, const char *event, const char *key, const char *value,
                     json_t *metadata)
{
    int64_t ms = isnan(seconds) ? log->at_ms : llround(seconds * 1000);
    struct text line = {0};

    log->at_ms = ms > log->at_ms ? ms : log->at_ms;
    text_add(&line, ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": \"%s\", \"key\": ",
             (long long)log->at_ms, event);
    text_json_string(&line, key);
    text_add(&line, ", \"value\": %s, \"metadata\": ", value);
    text_json(&line, metadata);
    text_string(&line, "}\n");
    fputs(line.data, log->to);
    free(line.data);
    json_decref(metadata);
}

static double moment(const json_t *obj, const char *key)
{
    double at = render_time_parse(get_string(obj, key));

    return at < 0 ? NAN : at;
}

/* Returns the parameter that "{name}" stands for, and any other value itself; NULL if there is no such parameter. */
static const json_t *filled_value(const json_t *value, const json_t *parameters)
{
    const char *text = json_string_value(value);
    size_t len = text != NULL ? strlen(text) : 0;
    const json_t *parameter;
    char *name;

    if (len < 3 || text[0] != '{' || text[len - 1] != '}')
        return value;
    name = xasprintf("%.*s", (int)len - 2, text + 1);
    parameter = jsonx_reach(parameters, name);
    free(name);
    return parameter;
}

static int put_said(struct log *log, double at, const json_t *parameters, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach (log->query->said, key, value) {
        const json_t *own = filled_value(value, parameters);
        struct text text = {0};

        if (own == NULL)
            return error_set(err, "no_parameter", "--set %s=%s: the run has no such parameter", key,
                             json_string_value(value));
        if (json_is_real(own))
            text_string(&text, text_real((char[TEXT_REAL]){0}, json_real_value(own)));
        else
            text_json(&text, own);
        put_line(log, at, "POINT_IN_TIME", key, text.data, json_object());
        free(text.data);
    }
    return 0;
}

static void put_evaluation(struct log *log, double at, double value, int64_t step)
{
    json_int_t number = ++log->evaluations;
    char text[TEXT_REAL];

    text_real(text, value);
    put_line(log, NAN, "INTERVAL_START", "block_start", "null",
             json_pack("{s:I, s:i}", "first_epoch_num", number, "epoch_count", 1));
    put_line(log, at, "INTERVAL_END", "block_stop", "null",
             json_pack("{s:I, s:i}", "first_epoch_num", number, "epoch_count", 1));
    put_line(log, at, "INTERVAL_START", "eval_start", "null", json_pack("{s:I}", "epoch_num", number));
    put_line(
        log, at, "POINT_IN_TIME", "eval_accuracy", text,
        json_pack("{s:I, s:I, s:s}", "epoch_num", number, "step_num", (json_int_t)step, "metric", log->query->metric));
    put_line(log, at, "INTERVAL_END", "eval_stop", "null", json_pack("{s:I}", "epoch_num", number));
    log->reached = !isnan(log->query->target) && isfinite(value) &&
                   (log->query->higher ? value >= log->query->target : value <= log->query->target);
}

/* The last one of points that were merged is an evaluation. */
static bool put_point(void *arg, const json_t *point)
{
    struct log *log = arg;
    bool merged = get_int(point, "count") > 1;
    const json_t *value = json_object_get(point, "value");

    put_evaluation(log, moment(point, merged ? "last_time" : "time"), text_metric_value(value),
                   get_int(point, merged ? "last_step" : "step"));
    return !log->reached;
}

static int print_run(struct cli *cli, struct log *log, const json_t *member, struct error *err)
{
    const json_t *attempts = json_object_get(member, "attempts"), *first = json_array_get(attempts, 0),
                 *last = json_array_get(attempts, json_array_size(attempts) - 1);
    const struct mllog_query *query = log->query;
    const char *state = get_string(member, "state");
    double start = moment(first, "started"), end = moment(last, "ended");
    bool good;

    if (isnan(start) || isnan(end) || strcmp(state, "running") == 0)
        return error_set(err, "not_ended", "member %lld.%lld is %s: a log is of a run that has ended",
                         (long long)query->run.ensemble, (long long)query->run.index, state);
    if (json_object_get(json_object_get(member, "metrics"), query->metric) == NULL)
        return error_set(err, "no_metric", "member %lld.%lld has reported no metric \"%.100s\"; see --metric",
                         (long long)query->run.ensemble, (long long)query->run.index, query->metric);
    put_line(log, start, "INTERVAL_START", "init_start", "null", json_object());
    if (put_said(log, start, json_object_get(member, "parameters"), err) < 0)
        return -1;
    put_line(log, start, "INTERVAL_END", "init_stop", "null", json_object());
    put_line(log, start, "INTERVAL_START", "run_start", "null", json_object());
    if (member_points_read(cli, log->query->run.ensemble, log->query->run.index, log->query->metric, put_point, log,
                           err) < 0)
        return -1;
    good = isnan(query->target) ? strcmp(state, "succeeded") == 0 : log->reached;
    put_line(log, log->reached ? NAN : end, "INTERVAL_END", "run_stop", "null",
             json_pack("{s:s}", "status", good ? "success" : "aborted"));
    return 0;
}

int mllog_print(struct cli *cli, const struct mllog_query *query, FILE *to, struct error *err)
{
    char *path =
        xasprintf("/v1/ensembles/%lld/members/%lld", (long long)query->run.ensemble, (long long)query->run.index);
    struct log log = {.query = query, .to = to};
    json_t *member = NULL;
    int rc = client_get(cli->client, path, &member, NULL, err);

    if (rc == 0)
        rc = print_run(cli, &log, member, err);
    json_decref(member);
    free(path);
    return rc;
}

#include "tasks/proto/jobdesc.h"

#include "common/below.h"
#include "common/files.h"
#include "common/jsonx.h"
#include "common/units.h"
#include "common/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAD "jobdesc_invalid"
#define SECONDS_MAX (100.0 * 366 * 86400)

bool job_name_valid(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t len = strlen(name);

    return len > 0 && len <= JOB_NAME_MAX && strspn(name, allowed) == len && name[0] != '.' && name[0] != '-';
}

static const struct {
    const char *name;
    int number;
} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM},  {"INT", SIGINT},
               {"HUP", SIGHUP},   {"QUIT", SIGQUIT}, {"ALRM", SIGALRM},  {"CONT", SIGCONT},
               {"URG", SIGURG},   {"XCPU", SIGXCPU}, {"WINCH", SIGWINCH}};

int jobdesc_signal(const char *name)
{
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    return 0;
}

const char *jobdesc_signal_name(int number)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return NULL;
}

static int read_seconds(const json_t *obj, const char *at, const char *key, int64_t *out_ms, struct error *err)
{
    double seconds = 0;

    if (jsonx_number(obj, at, key, JSONX_REQUIRED, &seconds, err) < 0)
        return -1;
    if (seconds < 0 || seconds > SECONDS_MAX)
        return error_at(err, BAD, jsonx_pointer((char[256]){0}, 256, at, key), "\"%s\" must be between 0 and 100 years",
                        key);
    *out_ms = (int64_t)(seconds * 1000 + 0.5);
    return 0;
}

/* Returns whether an id can be put into paths, environment marks and JSON. */
static bool id_is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f || *text == '/')
            return false;
    return true;
}

/* Checks a path of a task; NULL is none. */
static int check_below(const char *path, const char *at, const char *key, struct error *err)
{
    char place[256];

    if (path == NULL || path_stays_below(path))
        return 0;
    return error_at(err, BAD, jsonx_pointer(place, sizeof place, at, key), "\"%s\" must stay below its directory", key);
}

static int check_env(const json_t *env, const char *at, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)env, name, value) {
        char place[256];

        jsonx_pointer(place, sizeof place, at, name);
        if (name[0] == '\0' || strchr(name, '=') != NULL)
            return error_at(err, BAD, place, "\"%s\" is no name of an environment variable", name);
        if (!json_is_string(value))
            return error_at(err, BAD, place, "the value of \"%s\" must be a string, not %s", name,
                            jsonx_type_name(value));
    }
    return 0;
}

static int parse_task(const json_t *obj, const char *at, struct jobdesc_task *task, struct error *err)
{
    char place[256];
    size_t i;
    json_t *dir;

    if (!json_is_object(obj))
        return error_at(err, BAD, at, "each task must be an object, not %s", jsonx_type_name(obj));
    task->ntasks = task->nodes = 1;
    if (jsonx_string(obj, at, "id", JSONX_REQUIRED, &task->id, err) < 0 ||
        jsonx_string(obj, at, "dir", JSONX_REQUIRED, &task->dir, err) < 0 ||
        jsonx_strings(obj, at, "argv", JSONX_REQUIRED, 1, &task->argv, err) < 0 ||
        jsonx_object(obj, at, "env", JSONX_OPTIONAL, &task->env, err) < 0 ||
        jsonx_strings(obj, at, "path", JSONX_OPTIONAL, 0, &task->path, err) < 0 ||
        jsonx_string(obj, at, "launcher", JSONX_OPTIONAL, &task->launcher, err) < 0 ||
        jsonx_strings(obj, at, "launch", JSONX_OPTIONAL, 1, &task->launch, err) < 0 ||
        jsonx_int(obj, at, "ntasks", JSONX_OPTIONAL, 1, 10000000, &task->ntasks, err) < 0 ||
        jsonx_int(obj, at, "nodes", JSONX_OPTIONAL, 1, 1000000, &task->nodes, err) < 0 ||
        jsonx_string(obj, at, "success_file", JSONX_OPTIONAL, &task->success_file, err) < 0 ||
        jsonx_string(obj, at, "glob", JSONX_OPTIONAL, &task->glob, err) < 0 ||
        jsonx_string(obj, at, "metrics_file", JSONX_OPTIONAL, &task->metrics_file, err) < 0 ||
        jsonx_strings(obj, at, "artefacts", JSONX_OPTIONAL, 1, &task->artefacts, err) < 0 ||
        jsonx_string(obj, at, "results", JSONX_OPTIONAL, &task->results, err) < 0 ||
        jsonx_string(obj, at, "owner", task->results != NULL ? JSONX_REQUIRED : JSONX_OPTIONAL, &task->owner, err) <
            0 ||
        jsonx_strings(obj, at, "resume", JSONX_OPTIONAL, 1, &task->resume, err) < 0 ||
        jsonx_int(obj, at, "since", JSONX_OPTIONAL, 0, INT64_MAX, &task->since, err) < 0 ||
        jsonx_int(obj, at, "since_in", JSONX_OPTIONAL, 0, INT64_MAX, &task->since_in, err) < 0 ||
        jsonx_int(obj, at, "until", JSONX_OPTIONAL, 0, INT64_MAX, &task->until, err) < 0 ||
        jsonx_bool(obj, at, "last", JSONX_OPTIONAL, &task->last, err) < 0)
        return -1;
    if (strlen(task->id) > JOB_NAME_MAX || !id_is_printable(task->id))
        return error_at(err, BAD, jsonx_pointer(place, sizeof place, at, "id"),
                        "an id is at most %d printable characters without '/'", JOB_NAME_MAX);
    if (task->dir[0] != '/')
        return error_at(err, BAD, jsonx_pointer(place, sizeof place, at, "dir"), "\"dir\" must be an absolute path");
    if (json_string_length(json_array_get(task->argv, 0)) == 0)
        return error_at(err, BAD, jsonx_pointer(place, sizeof place, at, "argv"), "the program's name is empty");
    if (check_below(task->success_file, at, "success_file", err) < 0 || check_below(task->glob, at, "glob", err) < 0 ||
        check_below(task->metrics_file, at, "metrics_file", err) < 0)
        return -1;
    json_array_foreach ((json_t *)task->artefacts, i, dir)
        if (check_below(json_string_value(dir), at, "artefacts", err) < 0)
            return -1;
    if (task->results != NULL && task->results[0] != '/')
        return error_at(err, BAD, jsonx_pointer(place, sizeof place, at, "results"),
                        "\"results\" must be an absolute path");
    json_array_foreach (task->path, i, dir)
        if (json_string_value(dir)[0] != '/' || strchr(json_string_value(dir), ':') != NULL)
            return error_at(err, BAD, jsonx_pointer(place, sizeof place, at, "path"),
                            "\"path\" must hold absolute directories without ':'");
    return check_env(task->env, jsonx_pointer(place, sizeof place, at, "env"), err);
}

static int parse_tasks(const json_t *list, struct jobdesc *desc, struct error *err)
{
    json_t *seen = json_object(), *item;
    int rc = -1;
    size_t i;

    if (json_array_size(list) > JOB_TASKS_MAX) {
        error_at(err, BAD, "/tasks", "more than %d tasks in one job", JOB_TASKS_MAX);
        goto out;
    }
    desc->tasks = xcalloc(json_array_size(list), sizeof *desc->tasks);
    json_array_foreach (list, i, item) {
        char at[32];

        snprintf(at, sizeof at, "/tasks/%zu", i);
        if (parse_task(item, at, &desc->tasks[i], err) < 0)
            goto out;
        if (json_object_get(seen, desc->tasks[i].id) != NULL) {
            error_at(err, BAD, at, "two tasks have the id \"%s\"", desc->tasks[i].id);
            goto out;
        }
        json_object_set_new(seen, desc->tasks[i].id, json_true());
        desc->ntasks++;
    }
    rc = 0;
out:
    json_decref(seen);
    return rc;
}

static int parse_artefacts(const json_t *root, struct jobdesc *desc, struct error *err)
{
    const json_t *pattern;
    char at[32];
    size_t i;

    if (jsonx_strings(root, "", "artefacts", JSONX_OPTIONAL, 1, &desc->artefacts, err) < 0)
        return -1;
    json_array_foreach ((json_t *)desc->artefacts, i, pattern) {
        snprintf(at, sizeof at, "/artefacts/%zu", i);
        if (!path_stays_below(json_string_value(pattern)))
            return error_at(err, BAD, at, "\"artefacts\" must lie in the task's directory");
    }
    return 0;
}

static int parse_checkpoint(const json_t *root, struct jobdesc_checkpoint *checkpoint, struct error *err)
{
    static const char at[] = "/checkpoint";
    const json_t *obj = NULL;
    const char *name = NULL;

    checkpoint->keep = 1;
    if (jsonx_object(root, "", "checkpoint", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    checkpoint->any = true;
    if (read_seconds(obj, at, "before", &checkpoint->before_ms, err) < 0 ||
        jsonx_string(obj, at, "signal", JSONX_OPTIONAL, &name, err) < 0 ||
        jsonx_string(obj, at, "glob", JSONX_OPTIONAL, &checkpoint->glob, err) < 0 ||
        jsonx_int(obj, at, "keep", JSONX_OPTIONAL, 1, INT64_MAX, &checkpoint->keep, err) < 0)
        return -1;
    if (name != NULL && (checkpoint->signal = jobdesc_signal(name)) == 0)
        return error_at(err, BAD, "/checkpoint/signal", "\"%.40s\" is no signal that a task can be warned by", name);
    if (checkpoint->glob != NULL && !path_stays_below(checkpoint->glob))
        return error_at(err, BAD, "/checkpoint/glob", "\"glob\" must stay in the checkpoint directory");
    return 0;
}

static const char *const diverged_names[] = {
    [JOBDESC_DIVERGED_FAIL] = "fail", [JOBDESC_DIVERGED_END] = "end", [JOBDESC_DIVERGED_IGNORE] = "ignore"};

const char *jobdesc_diverged_name(enum jobdesc_diverged diverged)
{
    return diverged_names[diverged];
}

int jobdesc_diverged_parse(const char *name, enum jobdesc_diverged *out)
{
    for (int i = JOBDESC_DIVERGED_FAIL; i <= JOBDESC_DIVERGED_IGNORE; i++)
        if (strcmp(diverged_names[i], name) == 0) {
            *out = (enum jobdesc_diverged)i;
            return 0;
        }
    return -1;
}

static const char *const format_names[] = {[JOBDESC_LINES] = "lines", [JOBDESC_TENSORBOARD] = "tensorboard"};

const char *jobdesc_format_name(enum jobdesc_format format)
{
    return format_names[format];
}

int jobdesc_format_parse(const char *name, enum jobdesc_format *out)
{
    for (int i = JOBDESC_LINES; i <= JOBDESC_TENSORBOARD; i++)
        if (strcmp(format_names[i], name) == 0) {
            *out = (enum jobdesc_format)i;
            return 0;
        }
    return -1;
}

static int parse_metrics(const json_t *root, struct jobdesc_metrics *metrics, struct error *err)
{
    static const char at[] = "/metrics";
    const char *diverged = NULL, *format = NULL;
    const json_t *obj = NULL;

    if (jsonx_object(root, "", "metrics", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    if (obj == NULL)
        return 0;
    metrics->has_least = json_object_get(obj, "at_least") != NULL;
    metrics->has_most = json_object_get(obj, "at_most") != NULL;
    if (jsonx_string(obj, at, "file", JSONX_OPTIONAL, &metrics->file, err) < 0 ||
        jsonx_string(obj, at, "format", JSONX_OPTIONAL, &format, err) < 0 ||
        jsonx_string(obj, at, "diverged", JSONX_OPTIONAL, &diverged, err) < 0 ||
        jsonx_string(obj, at, "rung", JSONX_OPTIONAL, &metrics->rung, err) < 0 ||
        jsonx_string(obj, at, "success", JSONX_OPTIONAL, &metrics->name, err) < 0 ||
        jsonx_number(obj, at, "at_least", JSONX_OPTIONAL, &metrics->least, err) < 0 ||
        jsonx_number(obj, at, "at_most", JSONX_OPTIONAL, &metrics->most, err) < 0 ||
        jsonx_bool(obj, at, "best", JSONX_OPTIONAL, &metrics->best, err) < 0)
        return -1;
    if (metrics->file != NULL && !path_stays_below(metrics->file))
        return error_at(err, BAD, "/metrics/file", "\"file\" must lie in the task's directory");
    if (format != NULL && jobdesc_format_parse(format, &metrics->format) < 0)
        return error_at(err, BAD, "/metrics/format", "\"format\" must be \"lines\" or \"tensorboard\"");
    if (diverged != NULL && jobdesc_diverged_parse(diverged, &metrics->diverged) < 0)
        return error_at(err, BAD, "/metrics/diverged", "\"diverged\" must be \"fail\", \"end\" or \"ignore\"");
    return 0;
}

static int parse_restarts(const json_t *root, struct jobdesc_restarts *restarts, struct error *err)
{
    const json_t *obj = NULL;

    if (jsonx_object(root, "", "restarts", JSONX_OPTIONAL, &obj, err) < 0)
        return -1;
    restarts->any = obj != NULL;
    restarts->from = LEARNT_NOTHING;
    if (obj == NULL)
        return 0;
    if (jsonx_int(obj, "/restarts", "retries", JSONX_REQUIRED, 0, INT64_MAX, &restarts->retries, err) < 0 ||
        jsonx_int(obj, "/restarts", "failures", JSONX_REQUIRED, 0, INT64_MAX, &restarts->failures, err) < 0)
        return -1;
    if (jsonx_int(obj, "/restarts", "losses", JSONX_REQUIRED, 0, INT64_MAX, &restarts->losses, err) < 0 ||
        jsonx_int(obj, "/restarts", "step", JSONX_OPTIONAL, 0, INT64_MAX, &restarts->from.step, err) < 0 ||
        jsonx_int(obj, "/restarts", "batches", JSONX_OPTIONAL, 0, INT64_MAX, &restarts->from.batches, err) < 0)
        return -1;
    return jsonx_int(obj, "/restarts", "drawn", JSONX_OPTIONAL, 0, INT64_MAX, &restarts->from.drawn, err);
}

static int parse_streams(const json_t *root, enum jobdesc_streams *out, struct error *err)
{
    const char *streams = NULL;

    if (jsonx_string(root, "", "streams", JSONX_OPTIONAL, &streams, err) < 0)
        return -1;
    *out = streams == NULL                    ? JOBDESC_STREAMS_NONE
           : strcmp(streams, "optional") == 0 ? JOBDESC_STREAMS_OPTIONAL
                                              : JOBDESC_STREAMS_REQUIRED;
    if (*out == JOBDESC_STREAMS_REQUIRED && strcmp(streams, "required") != 0)
        return error_at(err, BAD, "/streams", "\"streams\" must be \"required\" or \"optional\"");
    return 0;
}

struct jobdesc *jobdesc_parse(json_t *root, struct error *err)
{
    struct jobdesc *desc = xcalloc(1, sizeof *desc);
    const char *kind = NULL, *output = "split";
    const json_t *tasks = NULL;
    int64_t version = 0;
    unsigned mask;

    desc->root = json_incref(root);
    if (jsonx_int(root, "", "version", JSONX_REQUIRED, 1, 1, &version, err) < 0 ||
        jsonx_string(root, "", "job", JSONX_REQUIRED, &desc->job, err) < 0 ||
        jsonx_int(root, "", "ensemble", JSONX_REQUIRED, 0, INT64_MAX, &desc->ensemble, err) < 0 ||
        jsonx_string(root, "", "kind", JSONX_REQUIRED, &kind, err) < 0 ||
        jsonx_string(root, "", "control", JSONX_OPTIONAL, &desc->control, err) < 0 ||
        read_seconds(root, "", "walltime", &desc->walltime_ms, err) < 0 ||
        read_seconds(root, "", "grace", &desc->grace_ms, err) < 0 ||
        (json_object_get(root, "silence") != NULL && read_seconds(root, "", "silence", &desc->silence_ms, err) < 0) ||
        (json_object_get(root, "stopped") != NULL && read_seconds(root, "", "stopped", &desc->stopped_ms, err) < 0) ||
        parse_checkpoint(root, &desc->checkpoint, err) < 0 || parse_artefacts(root, desc, err) < 0 ||
        parse_metrics(root, &desc->metrics, err) < 0 || parse_restarts(root, &desc->restarts, err) < 0 ||
        parse_streams(root, &desc->streams, err) < 0 ||
        jsonx_strings(root, "", "attest", JSONX_OPTIONAL, 0, &desc->attest, err) < 0 ||
        jsonx_bool(root, "", "tmpdir", JSONX_OPTIONAL, &desc->tmpdir, err) < 0 ||
        jsonx_string(root, "", "umask", JSONX_OPTIONAL, &desc->umask, err) < 0 ||
        jsonx_string(root, "", "output", JSONX_OPTIONAL, &output, err) < 0 ||
        jsonx_array(root, "", "tasks", JSONX_REQUIRED, 1, &tasks, err) < 0)
        goto fail;
    if (desc->umask != NULL && umask_parse(desc->umask, &mask) < 0) {
        error_at(err, BAD, "/umask", "\"umask\" must be a mask such as \"0027\"");
        goto fail;
    }
    desc->merged = strcmp(output, "merged") == 0;
    if (!desc->merged && strcmp(output, "split") != 0) {
        error_at(err, BAD, "/output", "\"output\" must be \"split\" or \"merged\"");
        goto fail;
    }
    if (!job_name_valid(desc->job)) {
        error_at(err, BAD, "/job", "a job's name is 1 to %d of [A-Za-z0-9._-]", JOB_NAME_MAX);
        goto fail;
    }
    if (strcmp(kind, "members") != 0 && strcmp(kind, "training") != 0 && strcmp(kind, "pilot") != 0) {
        error_at(err, BAD, "/kind", "\"kind\" must be \"members\", \"training\" or \"pilot\"");
        goto fail;
    }
    desc->kind = kind[0] == 'm' ? JOBDESC_MEMBERS : kind[0] == 't' ? JOBDESC_TRAINING : JOBDESC_PILOT;
    if (parse_tasks(tasks, desc, err) < 0)
        goto fail;
    return desc;
fail:
    jobdesc_free(desc);
    errno = EBADMSG;
    return NULL;
}

struct jobdesc *jobdesc_read(const char *path, struct error *err)
{
    json_t *root = file_read_json(path, err);
    struct jobdesc *desc;

    if (root == NULL)
        return NULL;
    desc = jobdesc_parse(root, err);
    json_decref(root);
    return desc;
}

void jobdesc_keep(struct jobdesc *desc, size_t task)
{
    desc->tasks[0] = desc->tasks[task];
    desc->ntasks = 1;
}

void jobdesc_free(struct jobdesc *desc)
{
    int saved = errno;

    if (desc != NULL) {
        json_decref(desc->root);
        free(desc->tasks);
        free(desc);
    }
    errno = saved;
}

const char *jobdesc_glob(const struct jobdesc *desc, const struct jobdesc_task *task)
{
    return task->glob != NULL ? task->glob : desc->checkpoint.glob;
}

const char *jobdesc_metrics_file(const struct jobdesc *desc, const struct jobdesc_task *task)
{
    return task->metrics_file != NULL ? task->metrics_file : desc->metrics.file;
}

const json_t *jobdesc_artefacts(const struct jobdesc *desc, const struct jobdesc_task *task)
{
    return task->artefacts != NULL ? task->artefacts : desc->artefacts;
}

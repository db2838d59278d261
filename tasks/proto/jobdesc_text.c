#include "tasks/proto/jobdesc_text.h"

#include <inttypes.h>
#include <string.h>

static void raw(struct jobdesc_text *t, const char *json)
{
    text_string(&t->text, json);
}

static void number(struct jobdesc_text *t, const char *key, int64_t n)
{
    text_string(&t->text, key);
    text_number(&t->text, n);
}

static void real(struct jobdesc_text *t, const char *key, double value)
{
    char digits[TEXT_REAL];

    text_string(&t->text, key);
    text_string(&t->text, text_real(digits, value));
}

static void string(struct jobdesc_text *t, const char *key, const char *value)
{
    if (value == NULL)
        return;
    raw(t, key);
    text_json_string(&t->text, value);
}

/* Writes whole seconds as integers, as people expect to read them. */
static void seconds(struct jobdesc_text *t, const char *key, int64_t ms)
{
    if (ms % 1000 == 0)
        number(t, key, ms / 1000);
    else
        text_add(&t->text, "%s%" PRId64 ".%03d", key, ms / 1000, (int)(ms % 1000));
}

static void metrics(struct jobdesc_text *t, const struct jobdesc_metrics *m)
{
    if (m->file == NULL && m->diverged == JOBDESC_DIVERGED_FAIL && m->name == NULL && m->rung == NULL)
        return;
    string(t, ",\"metrics\":{\"diverged\":", jobdesc_diverged_name(m->diverged));
    string(t, ",\"file\":", m->file);
    if (m->format != JOBDESC_LINES)
        string(t, ",\"format\":", jobdesc_format_name(m->format));
    string(t, ",\"rung\":", m->rung);
    string(t, ",\"success\":", m->name);
    if (m->has_least)
        real(t, ",\"at_least\":", m->least);
    if (m->has_most)
        real(t, ",\"at_most\":", m->most);
    raw(t, m->best ? ",\"best\":true}" : "}");
}

void jobdesc_begin(struct jobdesc_text *t, const struct jobdesc *desc)
{
    memset(t, 0, sizeof *t);
    raw(t, "{\"version\":1");
    string(t, ",\"job\":", desc->job);
    number(t, ",\"ensemble\":", desc->ensemble);
    string(t, ",\"kind\":",
           desc->kind == JOBDESC_MEMBERS    ? "members"
           : desc->kind == JOBDESC_TRAINING ? "training"
                                            : "pilot");
    string(t, ",\"control\":", desc->control);
    seconds(t, ",\"walltime\":", desc->walltime_ms);
    seconds(t, ",\"grace\":", desc->grace_ms);
    if (desc->silence_ms > 0)
        seconds(t, ",\"silence\":", desc->silence_ms);
    if (desc->stopped_ms > 0)
        seconds(t, ",\"stopped\":", desc->stopped_ms);
    if (desc->checkpoint.any) {
        seconds(t, ",\"checkpoint\":{\"before\":", desc->checkpoint.before_ms);
        string(t, ",\"signal\":", jobdesc_signal_name(desc->checkpoint.signal));
        string(t, ",\"glob\":", desc->checkpoint.glob);
        text_add(&t->text, ",\"keep\":%" PRId64 "}", desc->checkpoint.keep);
    }
    if (desc->artefacts != NULL) {
        raw(t, ",\"artefacts\":");
        text_json(&t->text, desc->artefacts);
    }
    if (desc->attest != NULL) {
        raw(t, ",\"attest\":");
        text_json(&t->text, desc->attest);
    }
    metrics(t, &desc->metrics);
    if (desc->restarts.any) {
        number(t, ",\"restarts\":{\"retries\":", desc->restarts.retries);
        number(t, ",\"failures\":", desc->restarts.failures);
        number(t, ",\"losses\":", desc->restarts.losses);
        if (desc->restarts.from.step >= 0)
            number(t, ",\"step\":", desc->restarts.from.step);
        if (desc->restarts.from.batches >= 0)
            number(t, ",\"batches\":", desc->restarts.from.batches);
        if (desc->restarts.from.drawn >= 0)
            number(t, ",\"drawn\":", desc->restarts.from.drawn);
        raw(t, "}");
    }
    if (desc->streams != JOBDESC_STREAMS_NONE)
        string(t, ",\"streams\":", desc->streams == JOBDESC_STREAMS_OPTIONAL ? "optional" : "required");
    string(t, ",\"umask\":", desc->umask);
    string(t, ",\"output\":", desc->merged ? "merged" : NULL);
    raw(t, desc->tmpdir ? ",\"tmpdir\":true,\"tasks\":[" : ",\"tmpdir\":false,\"tasks\":[");
}

void jobdesc_task_begin(struct jobdesc_text *t, const struct jobdesc_task *task)
{
    raw(t, t->tasks++ > 0 ? ",{" : "{");
    string(t, "\"id\":", task->id);
    string(t, ",\"dir\":", task->dir);
    if (task->path != NULL) {
        raw(t, ",\"path\":");
        text_json(&t->text, task->path);
    }
    string(t, ",\"launcher\":", task->launcher);
    if (task->launch != NULL) {
        raw(t, ",\"launch\":");
        text_json(&t->text, task->launch);
    }
    if (task->nodes > 1)
        number(t, ",\"nodes\":", task->nodes);
    string(t, ",\"success_file\":", task->success_file);
    string(t, ",\"glob\":", task->glob);
    string(t, ",\"metrics_file\":", task->metrics_file);
    if (task->artefacts != NULL) {
        raw(t, ",\"artefacts\":");
        text_json(&t->text, task->artefacts);
    }
    string(t, ",\"results\":", task->results);
    string(t, ",\"owner\":", task->owner);
    if (task->resume != NULL) {
        raw(t, ",\"resume\":");
        text_json(&t->text, task->resume);
    }
    if (task->since > 0)
        number(t, ",\"since\":", task->since);
    if (task->since_in > 0)
        number(t, ",\"since_in\":", task->since_in);
    if (task->until > 0)
        number(t, ",\"until\":", task->until);
    if (task->last)
        raw(t, ",\"last\":true");
    number(t, ",\"ntasks\":", task->ntasks);
    t->at = JOBDESC_AT_NOTHING;
}

void jobdesc_arg(struct jobdesc_text *t, const char *value)
{
    string(t, t->at == JOBDESC_AT_ARGS ? "," : ",\"argv\":[", value);
    t->at = JOBDESC_AT_ARGS;
}

void jobdesc_env(struct jobdesc_text *t, const char *name, const char *value)
{
    string(t, t->at == JOBDESC_AT_ENV ? "," : "],\"env\":{", name);
    string(t, ":", value);
    t->at = JOBDESC_AT_ENV;
}

void jobdesc_task_end(struct jobdesc_text *t)
{
    raw(t, t->at == JOBDESC_AT_ENV ? "}}" : "]}");
}

char *jobdesc_end(struct jobdesc_text *t)
{
    raw(t, "]}");
    return t->text.data;
}

#include "tasks/proto/jobdesc_text.h"

#include <inttypes.h>
#include <string.h>

static void desc_raw(struct jobdesc_text *t, const char *json)
{
    text_string(&t->text, json);
}

static void desc_number(struct jobdesc_text *t, const char *key, int64_t n)
{
    text_string(&t->text, key);
    text_number(&t->text, n);
}

static void desc_real(struct jobdesc_text *t, const char *key, double value)
{
    char digits[TEXT_REAL];

    text_string(&t->text, key);
    text_string(&t->text, text_real(digits, value));
}

static void desc_string(struct jobdesc_text *t, const char *key, const char *value)
{
    if (value == NULL)
        return;
    desc_raw(t, key);
    text_json_string(&t->text, value);
}

/* Writes whole seconds as integers, as people expect to read them. */
static void desc_seconds(struct jobdesc_text *t, const char *key, int64_t ms)
{
    if (ms % 1000 == 0)
        desc_number(t, key, ms / 1000);
    else
        text_add(&t->text, "%s%" PRId64 ".%03d", key, ms / 1000, (int)(ms % 1000));
}

static void desc_metrics(struct jobdesc_text *t, const struct jobdesc_metrics *m)
{
    if (m->file == NULL && m->diverged == JOBDESC_DIVERGED_FAIL && m->name == NULL && m->rung == NULL)
        return;
    desc_string(t, ",\"metrics\":{\"diverged\":", jobdesc_diverged_name(m->diverged));
    desc_string(t, ",\"file\":", m->file);
    if (m->format != JOBDESC_LINES)
        desc_string(t, ",\"format\":", jobdesc_format_name(m->format));
    desc_string(t, ",\"rung\":", m->rung);
    desc_string(t, ",\"success\":", m->name);
    if (m->has_least)
        desc_real(t, ",\"at_least\":", m->least);
    if (m->has_most)
        desc_real(t, ",\"at_most\":", m->most);
    desc_raw(t, m->best ? ",\"best\":true}" : "}");
}

void jobdesc_begin(struct jobdesc_text *t, const struct jobdesc *desc)
{
    memset(t, 0, sizeof *t);
    desc_raw(t, "{\"version\":1");
    desc_string(t, ",\"job\":", desc->job);
    desc_number(t, ",\"ensemble\":", desc->ensemble);
    desc_string(t, ",\"kind\":",
                desc->kind == JOBDESC_MEMBERS    ? "members"
                : desc->kind == JOBDESC_TRAINING ? "training"
                                                 : "pilot");
    desc_string(t, ",\"control\":", desc->control);
    desc_seconds(t, ",\"walltime\":", desc->walltime_ms);
    desc_seconds(t, ",\"grace\":", desc->grace_ms);
    if (desc->silence_ms > 0)
        desc_seconds(t, ",\"silence\":", desc->silence_ms);
    if (desc->stopped_ms > 0)
        desc_seconds(t, ",\"stopped\":", desc->stopped_ms);
    if (desc->checkpoint.any) {
        desc_seconds(t, ",\"checkpoint\":{\"before\":", desc->checkpoint.before_ms);
        desc_string(t, ",\"signal\":", jobdesc_signal_name(desc->checkpoint.signal));
        desc_string(t, ",\"glob\":", desc->checkpoint.glob);
        text_add(&t->text, ",\"keep\":%" PRId64 "}", desc->checkpoint.keep);
    }
    if (desc->artefacts != NULL) {
        desc_raw(t, ",\"artefacts\":");
        text_json(&t->text, desc->artefacts);
    }
    if (desc->attest != NULL) {
        desc_raw(t, ",\"attest\":");
        text_json(&t->text, desc->attest);
    }
    desc_metrics(t, &desc->metrics);
    if (desc->restarts.any) {
        desc_number(t, ",\"restarts\":{\"retries\":", desc->restarts.retries);
        desc_number(t, ",\"failures\":", desc->restarts.failures);
        desc_number(t, ",\"losses\":", desc->restarts.losses);
        if (desc->restarts.from.step >= 0)
            desc_number(t, ",\"step\":", desc->restarts.from.step);
        if (desc->restarts.from.batches >= 0)
            desc_number(t, ",\"batches\":", desc->restarts.from.batches);
        if (desc->restarts.from.drawn >= 0)
            desc_number(t, ",\"drawn\":", desc->restarts.from.drawn);
        desc_raw(t, "}");
    }
    if (desc->streams != JOBDESC_STREAMS_NONE)
        desc_string(t, ",\"streams\":", desc->streams == JOBDESC_STREAMS_OPTIONAL ? "optional" : "required");
    desc_string(t, ",\"umask\":", desc->umask);
    desc_string(t, ",\"output\":", desc->merged ? "merged" : NULL);
    desc_raw(t, desc->tmpdir ? ",\"tmpdir\":true,\"tasks\":[" : ",\"tmpdir\":false,\"tasks\":[");
}

void jobdesc_task_begin(struct jobdesc_text *t, const struct jobdesc_task *task)
{
    desc_raw(t, t->tasks++ > 0 ? ",{" : "{");
    desc_string(t, "\"id\":", task->id);
    desc_string(t, ",\"dir\":", task->dir);
    if (task->path != NULL) {
        desc_raw(t, ",\"path\":");
        text_json(&t->text, task->path);
    }
    desc_string(t, ",\"launcher\":", task->launcher);
    if (task->launch != NULL) {
        desc_raw(t, ",\"launch\":");
        text_json(&t->text, task->launch);
    }
    if (task->nodes > 1)
        desc_number(t, ",\"nodes\":", task->nodes);
    desc_string(t, ",\"success_file\":", task->success_file);
    desc_string(t, ",\"glob\":", task->glob);
    desc_string(t, ",\"metrics_file\":", task->metrics_file);
    if (task->artefacts != NULL) {
        desc_raw(t, ",\"artefacts\":");
        text_json(&t->text, task->artefacts);
    }
    desc_string(t, ",\"results\":", task->results);
    desc_string(t, ",\"owner\":", task->owner);
    if (task->resume != NULL) {
        desc_raw(t, ",\"resume\":");
        text_json(&t->text, task->resume);
    }
    if (task->since > 0)
        desc_number(t, ",\"since\":", task->since);
    if (task->since_in > 0)
        desc_number(t, ",\"since_in\":", task->since_in);
    if (task->until > 0)
        desc_number(t, ",\"until\":", task->until);
    if (task->last)
        desc_raw(t, ",\"last\":true");
    desc_number(t, ",\"ntasks\":", task->ntasks);
    t->at = JOBDESC_AT_NOTHING;
}

void jobdesc_arg(struct jobdesc_text *t, const char *value)
{
    desc_string(t, t->at == JOBDESC_AT_ARGS ? "," : ",\"argv\":[", value);
    t->at = JOBDESC_AT_ARGS;
}

void jobdesc_env(struct jobdesc_text *t, const char *name, const char *value)
{
    desc_string(t, t->at == JOBDESC_AT_ENV ? "," : "],\"env\":{", name);
    desc_string(t, ":", value);
    t->at = JOBDESC_AT_ENV;
}

void jobdesc_task_end(struct jobdesc_text *t)
{
    desc_raw(t, t->at == JOBDESC_AT_ENV ? "}}" : "]}");
}

char *jobdesc_end(struct jobdesc_text *t)
{
    desc_raw(t, "]}");
    return t->text.data;
}

/* Submission by slurmrestd: a job becomes a document, and the answer is interpreted. */
#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNTING_POLICY 2050 /* Slurm's error number for "Job violates accounting/QOS policy" */

static json_t *environment(const char *const *env, int version)
{
    json_t *old = json_object(), *list = json_array();

    for (; *env != NULL; env++) {
        const char *equals = strchr(*env, '=');
        char *name = xasprintf("%.*s", (int)(equals - *env), *env);

        json_object_set_new(old, name, json_string(equals + 1)); /* values that are not UTF-8 are left out */
        json_array_append_new(list, json_string(*env));
        free(name);
    }
    json_decref(version < SLURMRESTD_OBJECTS ? list : old);
    return version < SLURMRESTD_OBJECTS ? old : list;
}

static void set_text(json_t *job, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(job, key, json_string(text));
}

static void set_resources(json_t *job, const struct adapter_resources *want, int64_t minutes, int version)
{
    char nodes[16];

    snprintf(nodes, sizeof nodes, "%d", want->nodes);
    set_text(job, "nodes", nodes); /* a string: v0.0.38 takes any list, which it documents, for 1 */
    json_object_set_new(job, "tasks", json_integer(slurm_tasks(want)));
    if (slurm_tasks_per_node(want) > 0)
        json_object_set_new(job, "tasks_per_node", json_integer(slurm_tasks_per_node(want)));
    json_object_set_new(job, "cpus_per_task", json_integer(want->cpus_per_task));
    if (minutes > 0)
        json_object_set_new(job, "time_limit", slurmrestd_make_number(version, minutes));
    if (want->memory > 0)
        json_object_set_new(job, "memory_per_node", slurmrestd_make_number(version, batch_mebibytes(want)));
    if (want->gpus > 0)
        slurmrestd_set_gpus(job, version, batch_gpus(want));
    if (want->whole_nodes)
        json_object_set_new(job, "exclusive", slurmrestd_make_flag(version, "exclusive", "true"));
    set_text(job, "partition", want->queue);
    set_text(job, "account", want->account);
}

/* Sets the array's numbers, and the number of tasks that may run at once to all of them. The listing shows that number,
 * so that it is known which tasks may wait when the list of them is cut off. */
static void set_array(json_t *job, const struct batch_group *group)
{
    char *list = batch_group_list(group), *array = xasprintf("%s%%%zu", list, group->n);

    json_object_set_new(job, "array", json_string(array));
    free(list);
    free(array);
}

static void set_place(json_t *job, const struct batch_group *group, const char *const *env, int version)
{
    char *log = slurm_log_pattern(group), *dir = slurm_workdir(group), name[64];

    batch_group_name(group, name, sizeof name);
    set_text(job, "name", name);
    if (group->n > 1)
        set_array(job, group);
    set_text(job, "current_working_directory", dir);
    set_text(job, "standard_output", log);
    set_text(job, "standard_error", log);
    set_text(job, "standard_input", "/dev/null");
    json_object_set_new(job, "open_mode", slurmrestd_make_flag(version, "append", "APPEND"));
    if (version < SLURMRESTD_OBJECTS)
        /* the documented "requeue" switches it on, whatever its value is */
        json_object_set_new(job, "no_requeue", json_true());
    else
        json_object_set_new(job, "requeue", json_false());
    json_object_set_new(job, "environment", environment(env, version));
    free(log);
    free(dir);
}

/* Options of the site or the spec may override the first part; the settings that the adapter relies on come last. */
char *slurmrestd_document(const struct batch_group *group, const json_t *site_extra, const char *script,
                          const char *const *env, int64_t minutes, int version, struct error *err)
{
    const struct adapter_job *of = &group->first->job;
    char *whole = xasprintf("#!/bin/sh\n%s\n", script), *text = NULL;
    json_t *job = json_object(), *doc;

    set_resources(job, &of->resources, minutes, version);
    if (slurmrestd_options(site_extra, "/extra", version, job, err) == 0 &&
        slurmrestd_options(of->resources.extra, "/extra", version, job, err) == 0) {
        set_place(job, group, env, version);
        doc = json_pack("{s:s, s:O}", "script", whole, "job", job);
        text = doc != NULL ? json_dumps(doc, JSON_COMPACT) : NULL;
        json_decref(doc);
        if (text == NULL)
            error_set(err, "job_refused", "its directory, or the runner's, has a name that is not UTF-8");
    }
    json_decref(job);
    free(whole);
    return text;
}

/* This user has too many jobs, or the job is beyond another limit. Nothing has been accepted. */
static bool is_limit(const struct slurmrestd_said *said)
{
    return said->number == ACCOUNTING_POLICY;
}

/* Returns whether it is an error of Slurm about the job, or of the server about the document. */
static bool is_refusal(const struct rest_result *result, const struct slurmrestd_said *said)
{
    if (said->text[0] == '\0' || slurm_is_for_now(said->text) || is_limit(said))
        return false;
    if (result->status == 400)
        return true;
    return result->status == 500 &&
           ((said->number >= 2000 && said->number < 3000) || (said->number >= 9000 && said->number < 10000));
}

/* Interprets the answer. An id means success even beside an error: for a job that waits for something that cannot come,
 * Slurm reports one here, too. */
static enum adapter_answer submission_verdict(const struct slurmrestd *a, const struct rest_result *result, char *id,
                                              size_t size, bool *is_definite, struct error *err)
{
    struct slurmrestd_said said;
    int64_t number = -1;
    json_t *doc;

    if (result->status == 200) {
        doc = json_loadb(result->body, result->size, 0, NULL);
        number = slurmrestd_number(json_object_get(doc, "job_id"));
        json_decref(doc);
    }
    if (number > 0) {
        snprintf(id, size, "%lld", (long long)number);
        return ADAPTER_OK;
    }
    if (result->status != 0) {
        slurmrestd_read_said(result, &said);
        *is_definite = is_limit(&said) || is_refusal(result, &said);
        if (is_refusal(result, &said)) {
            error_set(err, "job_refused", "%s", said.text);
            return result->status == 400 || said.number >= 9000 ? ADAPTER_REFUSED : slurm_refusal(said.text);
        }
    }
    if (slurmrestd_check(a, result, err) == 0)
        error_set(err, "batch_system_unsure", "slurmrestd told no job id");
    return result->not_sent ? ADAPTER_LATER : ADAPTER_UNSURE;
}

static void submission_answered(void *arg, struct rest_result *result)
{
    struct batch_group *group = arg;
    struct error err = {0};
    char id[32] = "";
    bool is_definite = false;
    enum adapter_answer answer = submission_verdict(slurmrestd_of(group->a), result, id, sizeof id, &is_definite, &err);

    if (answer == ADAPTER_UNSURE && is_definite && group->n == 1)
        slurmrestd_look_for_limit(group, err.text);
    else
        batch_group_answered(group, answer, is_definite, id, &err);
}

void slurmrestd_send(struct batch_group *group)
{
    struct slurmrestd *a = slurmrestd_of(group->a);
    const struct adapter_job *job = &group->first->job;
    int64_t minutes = job->resources.walltime_ms > 0 ? slurm_times_minutes(&a->times, a->batch.extra, job) : 0;
    char *script = slurm_script(group, minutes), *document;
    struct error err;

    document = slurmrestd_document(group, a->batch.extra, script, (const char *const *)a->batch.job_env, minutes,
                                   a->version, &err);
    if (document != NULL)
        slurmrestd_ask(a, "POST", "/job/submit", document, SLURMRESTD_WORDS_MAX, submission_answered, group);
    else
        batch_group_answered(group, ADAPTER_REFUSED, true, NULL, &err);
    free(script);
    free(document);
}

/* sbatch: what a job asks for as its options, and what it answers. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1 << 20)

/* What sbatch says where it is not Slurm's last word: nothing of it is the job's fault. Everything else that it says when it
 * ends with an error is. */
static const char *const for_now[] = {
    "Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted", "Connection refused",
    "Connection timed out", "Transport endpoint", "Unexpected message received", "Insane message length", "Communication",
    "communication", "Slurm backup controller in standby", "Slurm controller", "temporarily unable", "Slurm temporarily",
    "Resource temporarily unavailable", "I/O error writing script", "Protocol authentication error", "Munge", "munge",
    "MaxSubmitJob", "Job submission/cancellation", "Unable to establish", "error (No such file or directory) opening",
    "Cannot allocate memory", "Configuration file", "resolve", "submit limit reached", "in transition", "Host is down",
    "No route to host", "Broken pipe", "Connection reset", "configuration not available now", "(inactive or drain)",
};

struct submission {
    struct adapter *a;
    char name[64];
    adapter_submit_cb *cb;
    void *arg;
    /* until the partitions' limits are known: */
    struct adapter_job job;
    char *dir, *queue, *account;
    json_t *extra;
};

struct words {
    char **word;
    size_t n, size;
};

static void add(struct words *words, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (words->n + 1 >= words->size) {
        words->size = words->size == 0 ? 32 : 2 * words->size;
        words->word = xrealloc(words->word, words->size, sizeof *words->word);
    }
    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    words->word[words->n] = xcalloc((size_t)n + 1, 1);
    va_start(ap, fmt);
    vsnprintf(words->word[words->n], (size_t)n + 1, fmt, ap);
    va_end(ap);
    words->word[++words->n] = NULL;
}

static void add_all(struct words *words, const json_t *extra)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)extra, i, item)
        add(words, "%s", json_string_value(item));
}

/* Each character `what` doubled, or replaced; to be freed. */
static char *replace(const char *text, char what, const char *by)
{
    size_t n = 0;
    char *out, *at;

    for (const char *c = text; *c != '\0'; c++)
        n += *c == what ? strlen(by) : 1;
    at = out = xcalloc(n + 1, 1);
    for (; *text != '\0'; text++) {
        if (*text == what)
            at += sprintf(at, "%s", by);
        else
            *at++ = *text;
    }
    return out;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static void add_resources(struct words *words, const struct adapter_resources *want)
{
    int64_t tasks = (int64_t)want->copies * want->tasks;

    add(words, "--nodes=%d", want->nodes);
    add(words, "--ntasks=%lld", (long long)(tasks > want->nodes ? tasks : want->nodes)); /* or sbatch would take fewer nodes */
    add(words, "--cpus-per-task=%d", want->cpus_per_task);
    if (want->memory > 0)
        add(words, "--mem=%lldM", (long long)divide_up(divide_up(want->memory, MIB) * want->copies, want->nodes));
    if (want->gpus > 0)
        add(words, "--gres=gpu:%lld", (long long)divide_up((int64_t)want->gpus * want->copies, want->nodes));
    if (want->whole_nodes)
        add(words, "--exclusive");
    if (want->queue != NULL)
        add(words, "--partition=%s", want->queue);
    if (want->account != NULL)
        add(words, "--account=%s", want->account);
}

/* The shell becomes the runner. Until that has set its signals up, those that are meant for it must not kill it. */
static void add_script(struct words *words, const struct adapter *a, const char *dir)
{
    char *runner = replace(a->host.runner, '\'', "'\\''"), *where = replace(dir, '\'', "'\\''");

    add(words, "--wrap=trap '' USR1 USR2; exec '%s' '%s'", runner, where);
    free(runner);
    free(where);
}

/* What the site's settings or the spec add may change all but what we rely on, which therefore comes last. */
static void build(struct words *words, const struct adapter *a, const struct adapter_job *job)
{
    char *log = replace(job->dir, '%', "%%");

    add(words, "--no-requeue");
    if (job->resources.walltime_ms > 0)
        add(words, "--time=%lld", (long long)slurm_time_minutes(a, job));
    add_resources(words, &job->resources);
    add_all(words, a->extra);
    add_all(words, job->resources.extra);
    add(words, "--parsable");
    add(words, "--job-name=%s", job->name);
    add(words, "--chdir=%s", job->dir);
    add(words, "--open-mode=append");
    add(words, "--output=%s/runner.log", log);
    add(words, "--error=%s/runner.log", log);
    add(words, "--input=/dev/null");
    add_script(words, a, job->dir);
    free(log);
}

static bool is_for_now(const char *said)
{
    for (size_t i = 0; i < sizeof for_now / sizeof *for_now; i++)
        if (strstr(said, for_now[i]) != NULL)
            return true;
    return false;
}

/* Only Slurm's own "no" is a refusal. */
static enum adapter_answer verdict(struct command_result *result, struct error *err)
{
    size_t n;

    if (slurm_check(result, "sbatch", err) < 0) {
        if (result->end != COMMAND_EXITED || is_for_now(result->err) || result->err[0] == '\0')
            return ADAPTER_UNSURE;
        snprintf(err->code, sizeof err->code, "job_refused");
        return ADAPTER_REFUSED;
    }
    n = strspn(result->out, "0123456789"); /* "12", or "12;cluster" */
    if (n == 0 || n > 20 || (result->out[n] != '\n' && result->out[n] != ';')) {
        error_set(err, "batch_system_unsure", "sbatch printed no job id: %.200s", result->out);
        return ADAPTER_UNSURE;
    }
    result->out[n] = '\0';
    return ADAPTER_OK;
}

static void submitted(void *arg, struct command_result *result)
{
    struct submission *s = arg;
    struct adapter *a = s->a;
    struct error err = {0};
    enum adapter_answer answer = verdict(result, &err);

    if (answer == ADAPTER_OK)
        slurm_note_submitted(a, s->name, result->out);
    answers_submit(a->answers, s->cb, s->arg, answer, result->out, &err);
    free(s);
    slurm_idle(a);
}

static void run_sbatch(void *arg)
{
    struct submission *s = arg;
    struct words words = {0};

    build(&words, s->a, &s->job);
    slurm_run(s->a, s->a->submissions, SLURM_SBATCH, (const char *const *)words.word, SLURM_WORDS_MAX, submitted, s);
    for (size_t i = 0; i < words.n; i++)
        free(words.word[i]);
    free(words.word);
    free(s->dir);
    free(s->queue);
    free(s->account);
    json_decref(s->extra);
}

static void keep_job(struct submission *s, const struct adapter_job *job)
{
    struct adapter_resources *want = &s->job.resources;

    s->job = *job;
    s->job.name = s->name;
    s->job.scheduler_id = s->job.descriptor = NULL;
    s->job.dir = s->dir = xstrdup(job->dir);
    want->queue = s->queue = want->queue != NULL ? xstrdup(want->queue) : NULL;
    want->account = s->account = want->account != NULL ? xstrdup(want->account) : NULL;
    want->extra = s->extra = want->extra != NULL ? json_deep_copy(want->extra) : NULL;
}

void slurm_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg)
{
    const char *known = slurm_known_id(a, job->name);
    struct submission *s;

    if (known != NULL) {
        answers_submit(a->answers, cb, arg, ADAPTER_OK, known, NULL);
        return;
    }
    if (a->no_runner.text[0] != '\0') {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &a->no_runner);
        return;
    }
    s = xcalloc(1, sizeof *s);
    *s = (struct submission){.a = a, .cb = cb, .arg = arg};
    snprintf(s->name, sizeof s->name, "%s", job->name);
    keep_job(s, job);
    slurm_busy(a);
    if (job->resources.walltime_ms > 0)
        slurm_time_ready(a, run_sbatch, s);
    else
        run_sbatch(s);
}

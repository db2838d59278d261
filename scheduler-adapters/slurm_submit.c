/* Submission by sbatch: the resources of a job, or of an array of jobs of one shape, become options, and its answer is
 * interpreted. */
#include "scheduler-adapters/slurm.h"
#include "scheduler-adapters/words.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of sbatch if the controller did not answer, or not in full: nobody knows whether it has the job. The three
 * lists below are of refusals, by which it certainly has not. Any other error of sbatch is a refusal of which nobody
 * knows whether it is for good. Rules of the site's own (job_submit plugins) refuse in any words, and so do limits that
 * a QOS denies. */
/* clang-format off */
static const char *const for_now[] = {
    "Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted", "Connection refused",
    "Connection timed out", "Transport endpoint", "Unexpected message received", "Insane message length",
    "Communication", "communication", "Slurm backup controller in standby", "Slurm controller", "temporarily unable",
    "Slurm temporarily", "Resource temporarily unavailable", "I/O error writing script",
    "Protocol authentication error", "Munge", "munge", "Job submission/cancellation", "Unable to establish",
    "error (No such file or directory) opening", "Cannot allocate memory", "Configuration file", "resolve",
    "in transition", "Host is down", "No route to host", "Broken pipe", "Connection reset",
    "configuration not available now", "(inactive or drain)", "standby mode", "authentication agent",
    "Unable to connect to database", "Database connection", "Message send failure", "Message receive failure",
    "zero length message", "entire message", "job record, try again", NULL,
};

/* Words for limits that others' jobs or this user's fill, or for what is closed for now. */
static const char *const limits[] = {
    "MaxSubmitJob", "GrpSubmitJob", "submit limit reached", "Requested nodes are busy", "Waiting for burst buffer",
    "Requested reservation is in use", "Requested reservation not usable now", "Required ports are in use",
    "Switch resources currently not available", "maintenance reservation", "breached requested QOS usage threshold",
    "submissions disabled", "presently disabled", "Partition in DOWN state", "Partition is in use", NULL,
};

/* Words for names and options that do not exist, or that this user may not use. */
static const char *const for_good[] = {
    "nvalid partition", "No partition specified", "not permitted to use this partition", "nvalid account",
    "nvalid qos", "nvalid wckey", "nvalid license", "nvalid feature", "nvalid preferred feature",
    "nvalid generic resource", "nvalid GRES", "nvalid Trackable RESource", "nvalid mcs_label", "nvalid --",
    "nvalid node name", "nvalid time specified", "Burst Buffer request invalid", "Burst Buffer permission denied",
    "Requested reservation is invalid", "Access denied to requested reservation", "Job dependency problem",
    "nrecognized option", "nvalid option", "requires an argument", "is ambiguous", "parameter too long", NULL,
};
/* clang-format on */

/* Words of sbatch where it finds no Slurm: this host is not, or not yet, part of a cluster. */
static const char *const unconfigured[] = {"Could not establish a configuration source", NULL};

/* Replaces each character `what` by a text; the caller frees the result. */
static char *replace_character(const char *text, char what, const char *by)
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

int64_t slurm_tasks(const struct adapter_resources *want)
{
    int64_t tasks = (int64_t)want->copies * want->tasks;

    return tasks > want->nodes ? tasks : want->nodes; /* or Slurm would take fewer nodes */
}

int slurm_tasks_per_node(const struct adapter_resources *want)
{
    return want->nodes > 1 ? (int)((slurm_tasks(want) + want->nodes - 1) / want->nodes) : 0;
}

static void add_slurm_resources(struct words *words, const struct adapter_resources *want)
{
    words_add(words, "--nodes=%d", want->nodes);
    words_add(words, "--ntasks=%lld", (long long)slurm_tasks(want));
    if (slurm_tasks_per_node(want) > 0)
        words_add(words, "--ntasks-per-node=%d", slurm_tasks_per_node(want));
    words_add(words, "--cpus-per-task=%d", want->cpus_per_task);
    if (want->memory > 0)
        words_add(words, "--mem=%lldM", (long long)batch_mebibytes(want));
    if (want->gpus > 0)
        words_add(words, "--gres=gpu:%lld", (long long)batch_gpus(want));
    if (want->whole_nodes)
        words_add(words, "--exclusive");
    if (want->queue != NULL)
        words_add(words, "--partition=%s", want->queue);
    if (want->account != NULL)
        words_add(words, "--account=%s", want->account);
}

/* Makes the beginning of a script. Until the runner has set its signals up, the ones meant for it must not kill the
 * shell. The script signals the runner when Slurm ends the job, which current versions of Slurm do not. */
static char *prologue(int64_t minutes)
{
    return minutes > 0 ? xasprintf("trap '' USR1 USR2; export STRETTO_JOB_END=$(($(date +%%s) + %lld));",
                                   (long long)minutes * 60)
                       : xstrdup("trap '' USR1 USR2;");
}

static int64_t time_limit_of(const struct slurm *a, const struct adapter_job *job)
{
    return job->resources.walltime_ms > 0 ? slurm_times_minutes(&a->times, a->batch.extra, job) : 0;
}

/* Makes the script. A job of an array finds its directory by its number, and opens its log there, because Slurm's
 * patterns cannot name that directory. */
char *slurm_script(const struct batch_group *group, int64_t minutes)
{
    char *dir = batch_group_dir(group), *begin = prologue(minutes), *runner = words_quote(group->a->host.runner);
    char *where = words_quote(dir);
    char *script = group->n == 1
                       ? xasprintf("%s exec %s %s", begin, runner, where)
                       : xasprintf("%s d=%s$((%lld + SLURM_ARRAY_TASK_ID)); cd \"$d\" && exec >>runner.log 2>&1; exec "
                                   "%s \"$d\"",
                                   begin, where, (long long)group->base, runner);

    free(dir);
    free(begin);
    free(runner);
    free(where);
    return script;
}

static void add_script(struct words *words, const struct slurm *a, const struct batch_group *group)
{
    char *script = slurm_script(group, time_limit_of(a, &group->first->job));

    words_add(words, "--wrap=%s", script);
    free(script);
}

char *slurm_log_pattern(const struct batch_group *group)
{
    char *dir, *pattern;

    /* in a pattern with a backslash Slurm replaces nothing, and takes the backslash away */
    if (group->n > 1 || strchr(group->first->job.dir, '\\') != NULL)
        return xstrdup("/dev/null");
    dir = replace_character(group->first->job.dir, '%', "%%");
    pattern = xasprintf("%s/runner.log", dir);
    free(dir);
    return pattern;
}

char *slurm_workdir(const struct batch_group *group)
{
    const struct batch_submission *first = group->first;
    size_t n = strlen(first->job.dir) - (group->n > 1 ? strlen(first->name) : 0);

    return xasprintf("%.*s", (int)n, first->job.dir);
}

static void add_place(struct words *words, const struct batch_group *group)
{
    char *log = slurm_log_pattern(group), *dir = slurm_workdir(group);
    char *list = group->n > 1 ? batch_group_list(group) : NULL, name[64];

    batch_group_name(group, name, sizeof name);
    words_add(words, "--job-name=%s", name);
    if (list != NULL)
        words_add(words, "--array=%s", list);
    words_add(words, "--chdir=%s", dir);
    words_add(words, "--output=%s", log);
    words_add(words, "--error=%s", log);
    free(list);
    free(dir);
    free(log);
}

/* Builds the command line. Options of the site or the spec may override the first part; the options that the adapter
 * relies on come last. */
static void build_sbatch(struct words *words, const struct slurm *a, const struct batch_group *group)
{
    const struct adapter_job *job = &group->first->job;

    words_add(words, "--no-requeue");
    if (job->resources.walltime_ms > 0)
        words_add(words, "--time=%lld", (long long)time_limit_of(a, job));
    add_slurm_resources(words, &job->resources);
    words_add_all(words, a->batch.extra);
    words_add_all(words, job->resources.extra);
    words_add(words, "--parsable");
    words_add(words, "--open-mode=append");
    words_add(words, "--input=/dev/null");
    add_place(words, group);
    add_script(words, a, group);
}

bool slurm_is_for_now(const char *said)
{
    return batch_says(said, for_now) || batch_says(said, limits) || batch_says(said, unconfigured);
}

/* The submission failed for now, and certainly nothing of it was accepted. */
static bool is_put_off(const char *said)
{
    return batch_says(said, unconfigured) || (batch_says(said, limits) && !batch_says(said, for_now));
}

enum adapter_answer slurm_refusal(const char *said)
{
    return batch_says(said, for_good) ? ADAPTER_REFUSED : ADAPTER_UNCLEAR;
}

/* Interprets an answer such as "12;cluster", which sbatch gives if a wrapper or defaults of the user's have named a
 * cluster. No job is looked for on another cluster. */
static enum adapter_answer check_cluster(const struct slurm *a, const char *id, const char *cluster, struct error *err)
{
    size_t n = strcspn(cluster, "\n");

    if (a->cluster[0] == '\0' || (strlen(a->cluster) == n && strncmp(a->cluster, cluster, n) == 0))
        return ADAPTER_OK;
    error_set(err, "job_refused",
              "sbatch sent job %s to the cluster %.*s, where this daemon, of the cluster %s, does not look for it: "
              "`scancel -M %.*s %s` ends it",
              id, (int)n, cluster, a->cluster, (int)n, cluster, id);
    return ADAPTER_REFUSED;
}

/* Interprets sbatch's answer. Only an explicit refusal by Slurm counts as one. */
static enum adapter_answer sbatch_verdict(const struct slurm *a, struct command_result *result, struct error *err)
{
    bool names_cluster;
    size_t n;

    if (batch_check(result, "sbatch", err) < 0) {
        if (result->end != COMMAND_EXITED)
            return batch_no_answer(result);
        if (slurm_is_for_now(result->err) || result->err[0] == '\0')
            return ADAPTER_UNSURE;
        snprintf(err->code, sizeof err->code, "job_refused");
        return slurm_refusal(result->err);
    }
    n = strspn(result->out, "0123456789"); /* "12", or "12;cluster" */
    if (n == 0 || n > 20 || (result->out[n] != '\n' && result->out[n] != ';')) {
        error_set(err, "batch_system_unsure", "sbatch printed no job id: %.200s", result->out);
        return ADAPTER_UNSURE;
    }
    names_cluster = result->out[n] == ';';
    result->out[n] = '\0';
    return names_cluster ? check_cluster(a, result->out, result->out + n + 1, err) : ADAPTER_OK;
}

static void sbatch_ended(void *arg, struct command_result *result)
{
    struct batch_group *group = arg;
    struct adapter *a = group->a;
    struct error err = {0};
    enum adapter_answer answer = sbatch_verdict(slurm_of(a), result, &err);
    bool has_failed = result->end == COMMAND_EXITED && result->status != 0;
    bool is_definite = has_failed && (answer != ADAPTER_UNSURE || is_put_off(result->err));

    batch_group_answered(group, answer, is_definite, result->out, &err);
    batch_idle(a);
}

void slurm_send(struct batch_group *group)
{
    struct adapter *a = group->a;
    struct words words = {0};

    build_sbatch(&words, slurm_of(a), group);
    batch_busy(a);
    batch_run(a, a->submissions, SLURM_SBATCH, (const char *const *)words.word, NULL, BATCH_WORDS_MAX, sbatch_ended,
              group);
    words_fini(&words);
}

/* Submission by qsub: the job's resources become options, the script is its standard input, and its answer is
 * interpreted. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"
#include "scheduler-adapters/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_OLD 15 /* of -N, in Torque and in PBS Pro before 13 */
#define SPARE_MS 30000

/* Words of qsub in errors that may pass, and that are not the job's fault. Any other error of qsub is a refusal. */
/* clang-format off */
static const char *const for_now[] = {
    "annot connect", "Connection refused", "Connection reset", "Connection timed out", "No route to host",
    "Broken pipe", "Communication failure", "communication failure", "End of File", "timed out", "Batch protocol error",
    "Bad DIS", "No free connections", "connection table full", "Server shutting down", "shutting down", "System error",
    "system error", "internal error", "Internal error", "Invalid credential", "Expired credential", "munge", "Munge",
    "pbs_iff", "trqauthd", "already in queue", "already in complex", "would exceed", "ueue is not enabled",
    "Resource temporarily unavailable", "temporarily", "Cannot allocate memory", "annot resolve", "Unknown Host",
    "could not find", "license", "No space left", "try again", "Try again", "Job with requested ID already exists",
    "Unable to authenticate", "unable to authenticate", "unable to obtain", "Failed to get", "pbs_conf", NULL,
};
/* clang-format on */

/* Words of qsub for too many jobs of this user, or a queue that takes none: nothing has been accepted. */
static const char *const limits[] = {"would exceed", "already in queue", "already in complex", "ueue is not enabled",
                                     NULL};

/* Words of qsub for names and options that do not exist, or that this user may not use. Nobody knows of other refusals
 * whether they are for good: hooks of the site refuse in any words, and so do the limits of all queues behind a routing
 * queue. */
static const char *const for_good[] = {"Unknown queue",
                                       "Bad UID for job execution",
                                       "Bad GID for job execution",
                                       "Unknown resource",
                                       "Unauthorized Request",
                                       "Access to queue is denied",
                                       "Illegal attribute",
                                       "llegal -",
                                       "nvalid option",
                                       "nvalid account",
                                       "nvalid project",
                                       "sage:",
                                       NULL};

/* Words of qsub for more time than a queue allows: the walltime alone may be fine. */
static const char *const too_long[] = {"violates queue and/or server resource limits", "exceeds queue resource limits",
                                       "Resource limit exceeds allowable", NULL};

/* One submission; it is repeated with the walltime alone if that and the spare time together were refused. */
struct pbs_attempt {
    struct batch_group *group;
    const struct batch_submission *s; /* the first of the group */
    struct pbs *pbs;
    bool just_walltime;
};

static bool asked_by_site(const struct pbs_attempt *t, const char *what)
{
    return words_mention(t->pbs->batch.extra, what) || words_mention(t->s->extra, what);
}

/* Adds `nodes` chunks, some of which hold one task more than the others if the tasks do not divide evenly. */
static void add_chunks(struct words *words, const struct pbs_attempt *t)
{
    const struct adapter_resources *want = &t->s->job.resources;
    int64_t tasks = (int64_t)want->copies * want->tasks, nodes = want->nodes, each, more;
    int64_t gpus = batch_gpus(want), mib = batch_mebibytes(want);
    char text[512];
    int n = 0;

    tasks = tasks > nodes ? tasks : nodes;
    each = tasks / nodes;
    more = tasks % nodes;
    for (int part = 0; part < 2; part++) {
        int64_t count = part == 0 ? more : nodes - more, here = part == 0 ? each + 1 : each;

        if (count == 0)
            continue;
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", n > 0 ? "+" : "", (long long)count);
        if (t->pbs->kind == PBS_KIND_TORQUE)
            n += snprintf(text + n, sizeof text - (size_t)n, ":ppn=%lld", (long long)(here * want->cpus_per_task));
        else
            n += snprintf(text + n, sizeof text - (size_t)n, ":ncpus=%lld:mpiprocs=%lld:ompthreads=%d",
                          (long long)(here * want->cpus_per_task), (long long)here, want->cpus_per_task);
        if (gpus > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, ":%s=%lld",
                          t->pbs->kind == PBS_KIND_TORQUE ? "gpus" : "ngpus", (long long)gpus);
        if (mib > 0 && t->pbs->kind != PBS_KIND_TORQUE)
            n += snprintf(text + n, sizeof text - (size_t)n, ":mem=%lldmb", (long long)mib);
    }
    words_add(words, "-l");
    words_add(words, "%s=%s", t->pbs->kind == PBS_KIND_TORQUE ? "nodes" : "select", text);
    if (t->pbs->kind == PBS_KIND_TORQUE && mib > 0) {
        words_add(words, "-l");
        words_add(words, "mem=%lldmb", (long long)(mib * nodes));
    }
    if (t->pbs->kind != PBS_KIND_TORQUE && nodes > 1 && !asked_by_site(t, "place=")) {
        words_add(words, "-l");
        words_add(words, "place=scatter");
    }
}

/* Asks for more than the walltime: at the walltime the runner ends its tasks itself, and they have their grace after
 * that. */
static void add_walltime(struct words *words, const struct pbs_attempt *t)
{
    int64_t ms = t->s->job.resources.walltime_ms, seconds;

    if (ms == 0)
        return;
    seconds = batch_divide_up(t->just_walltime ? ms : ms + t->s->job.grace_ms + SPARE_MS, 1000);
    words_add(words, "-l");
    words_add(words, "walltime=%02lld:%02lld:%02lld", (long long)(seconds / 3600), (long long)(seconds / 60 % 60),
              (long long)(seconds % 60));
}

/* Adds the name. One that is too long for -N keeps its end, which differs from job to job. An array is named like its
 * first job. */
static void add_name(struct words *words, const struct pbs_attempt *t)
{
    size_t n = strlen(t->s->name);
    char name[64];

    words_add(words, "-N");
    if (n <= NAME_MAX_OLD)
        words_add(words, "%s", t->s->name);
    else
        words_add(words, "st%s", t->s->name + n - (NAME_MAX_OLD - 2));
    batch_group_name(t->group, name, sizeof name);
    words_add(words, "-v");
    words_add(words, PBS_NAME_VARIABLE "=%s", name);
}

/* Adds the options of an array. OpenPBS accepts arrays only of jobs that it may start again by itself; a second runner
 * of a job does nothing, since the first has claimed it. */
static void add_array_options(struct words *words, const struct pbs_attempt *t)
{
    bool is_openpbs = t->pbs->kind != PBS_KIND_TORQUE, is_array = t->group->n > 1;
    char *list;

    words_add(words, "-r");
    words_add(words, is_array && is_openpbs ? "y" : "n");
    if (!is_array)
        return;
    list = batch_group_list(t->group);
    words_add(words, is_openpbs ? "-J" : "-t");
    words_add(words, "%s", list);
    free(list);
}

/* Sends PBS's own messages to a file beside the runner's log, unless its name would look like HOST:PATH. For an array
 * Torque makes one file for each job, with a number after the name; OpenPBS would need the number in the directory's
 * name, and has no file. */
static void add_output(struct words *words, const struct pbs_attempt *t)
{
    bool none = strchr(t->s->dir, ':') != NULL || (t->group->n > 1 && t->pbs->kind != PBS_KIND_TORQUE);

    words_add(words, "-j");
    words_add(words, "oe");
    words_add(words, "-o");
    if (none)
        words_add(words, "/dev/null");
    else
        words_add(words, "%s/pbs.log", t->s->dir);
}

/* Builds the command line. Options of the site or the spec may override the first part; the options that the adapter
 * relies on come last. */
static void build_qsub(struct words *words, const struct pbs_attempt *t)
{
    if (!asked_by_site(t, t->pbs->kind == PBS_KIND_TORQUE ? "nodes=" : "select="))
        add_chunks(words, t);
    add_walltime(words, t);
    if (t->s->job.resources.queue != NULL) {
        words_add(words, "-q");
        words_add(words, "%s", t->s->job.resources.queue);
    }
    if (t->s->job.resources.account != NULL) {
        words_add(words, "-A");
        words_add(words, "%s", t->s->job.resources.account);
    }
    words_add_all(words, t->pbs->batch.extra);
    words_add_all(words, t->s->extra);
    add_array_options(words, t);
    words_add(words, "-m");
    words_add(words, "n");
    add_output(words, t);
    words_add(words, "-S");
    words_add(words, "%s", t->pbs->shell);
    add_name(words, t);
}

/* Makes the job's script. Variables are set there, not by -V or -v, since versions differ in how they read commas in
 * values. The shell becomes the runner; until that has set its signals up, the ones meant for it must not kill it. A
 * job of an array finds its directory by its number. */
static char *make_script(const struct pbs_attempt *t)
{
    char *dir = batch_group_dir(t->group), *where = words_quote(dir), *runner = words_quote(t->pbs->batch.host.runner);
    char *exports = words_exports(t->pbs->batch.job_env, '\n'), *script, number[80] = "";

    if (t->group->n > 1)
        snprintf(number, sizeof number, "$((%lld + %s))", (long long)t->group->base,
                 t->pbs->kind == PBS_KIND_TORQUE ? "PBS_ARRAYID" : "PBS_ARRAY_INDEX");
    script = xasprintf("#!/bin/sh\ntrap '' USR1 USR2\n%sd=%s%s\nexec %s \"$d\" >>\"$d\"/runner.log 2>&1\n", exports,
                       where, number, runner);
    free(dir);
    free(where);
    free(runner);
    free(exports);
    return script;
}

/* Finds the id, in the last line that looks like one: sites print messages of their own before it. */
static bool find_id(char *out, char *id, size_t size)
{
    char *rest = NULL;
    bool found = false;

    for (char *line = strtok_r(out, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        size_t digits = strspn(line, "0123456789");

        digits += digits > 0 && strncmp(line + digits, "[]", 2) == 0 ? 2 : 0;
        if (digits == 0 || (line[digits] != '\0' && line[digits] != '.') || strchr(line, ' ') != NULL ||
            strlen(line) >= size)
            continue;
        snprintf(id, size, "%s", line);
        found = true;
    }
    return found;
}

/* Adds the name of an unknown queue, which OpenPBS does not print. */
static void name_queue(const char *queue, struct error *err)
{
    size_t n = strlen(err->text);

    if (queue != NULL && strstr(err->text, "Unknown queue") != NULL && strstr(err->text, queue) == NULL)
        snprintf(err->text + n, sizeof err->text - n, " \"%.100s\"", queue);
}

/* Interprets qsub's answer. Only an explicit refusal by PBS counts as one; status 255 means that no server was
 * reached. */
static enum adapter_answer qsub_verdict(struct command_result *result, const char *queue, char *id, size_t size,
                                        struct error *err)
{
    if (batch_check(result, "qsub", err) < 0) {
        if (result->end != COMMAND_EXITED)
            return batch_no_answer(result);
        if (result->status == 255 || result->err[0] == '\0' || batch_says(result->err, for_now))
            return ADAPTER_UNSURE;
        snprintf(err->code, sizeof err->code, "job_refused");
        name_queue(queue, err);
        return batch_says(result->err, for_good) ? ADAPTER_REFUSED : ADAPTER_UNCLEAR;
    }
    if (!find_id(result->out, id, size)) {
        error_set(err, "batch_system_unsure", "qsub printed no job id: %.200s", result->out);
        return ADAPTER_UNSURE;
    }
    return ADAPTER_OK;
}

static void run_qsub(struct pbs_attempt *t);

static void qsub_ended(void *arg, struct command_result *result)
{
    struct pbs_attempt *t = arg;
    struct error err = {0};
    char id[64] = "";
    enum adapter_answer answer = qsub_verdict(result, t->s->job.resources.queue, id, sizeof id, &err);
    bool is_definite, is_refused = answer == ADAPTER_REFUSED || answer == ADAPTER_UNCLEAR;

    if (is_refused && t->s->job.resources.walltime_ms > 0 && !t->just_walltime && batch_says(result->err, too_long)) {
        t->just_walltime = true;
        run_qsub(t);
        return;
    }
    is_definite =
        is_refused || (answer == ADAPTER_UNSURE && result->end == COMMAND_EXITED && batch_says(result->err, limits));
    batch_group_answered(t->group, answer, is_definite, id, &err);
    batch_idle(&t->pbs->batch);
    free(t);
}

static void run_qsub(struct pbs_attempt *t)
{
    struct adapter *a = &t->pbs->batch;
    struct words words = {0};
    char *script;

    script = make_script(t);
    build_qsub(&words, t);
    batch_run(a, a->submissions, PBS_QSUB, (const char *const *)words.word, script, BATCH_WORDS_MAX, qsub_ended, t);
    words_fini(&words);
    free(script);
}

void pbs_send(struct batch_group *group)
{
    struct pbs *pbs = pbs_of(group->a);
    struct pbs_attempt *t;

    if (pbs->kind == PBS_KIND_UNKNOWN) {
        batch_group_answered(group, ADAPTER_LATER, false, NULL, &pbs->kind_unknown);
        return;
    }
    t = xcalloc(1, sizeof *t);
    *t = (struct pbs_attempt){.group = group, .s = group->first, .pbs = pbs};
    batch_busy(group->a);
    run_qsub(t);
}

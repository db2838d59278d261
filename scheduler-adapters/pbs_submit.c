/* qsub: what a job asks for as its options, the script on its standard input, and what it answers. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"
#include "scheduler-adapters/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_OLD 15 /* of -N in Torque, and in PBS Pro before 13 */
#define SPARE_MS 30000

/* What qsub says where it is not PBS's last word: nothing of it is the job's fault. Everything else that it says when it ends
 * with an error is. */
static const char *const for_now[] = {
    "annot connect", "Connection refused", "Connection reset", "Connection timed out", "No route to host", "Broken pipe",
    "Communication failure", "communication failure", "End of File", "timed out", "Batch protocol error", "Bad DIS",
    "No free connections", "connection table full", "Server shutting down", "shutting down", "System error", "system error",
    "internal error", "Internal error", "Invalid credential", "Expired credential", "munge", "Munge", "pbs_iff", "trqauthd",
    "already in queue", "already in complex", "would exceed", "ueue is not enabled", "Resource temporarily unavailable",
    "temporarily", "Cannot allocate memory", "annot resolve", "Unknown Host", "could not find", "license", "No space left",
    "try again", "Try again", "Job with requested ID already exists", "Unable to authenticate", "unable to authenticate",
    "unable to obtain", "Failed to get", "pbs_conf", NULL,
};

/* There are too many jobs of this user, or the queue takes none: nothing of it has been accepted. */
static const char *const limits[] = {"would exceed", "already in queue", "already in complex", "ueue is not enabled", NULL};

/* More time than a queue allows: the walltime alone may be fine. */
static const char *const too_long[] = {"violates queue and/or server resource limits", "exceeds queue resource limits",
                                       "Resource limit exceeds allowable", NULL};

/* Try again: without time to spare, which was refused. */
struct attempt {
    struct batch_group *group;
    const struct batch_submission *s; /* its first */
    struct pbs *pbs;
    bool just_walltime;
};

static bool asked_by_site(const struct attempt *t, const char *what)
{
    return words_mention(t->pbs->batch.extra, what) || words_mention(t->s->extra, what);
}

/* `nodes` chunks, some of which hold one task more than the others where they cannot all have as many. */
static void add_chunks(struct words *words, const struct attempt *t)
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
            n += snprintf(text + n, sizeof text - (size_t)n, ":%s=%lld", t->pbs->kind == PBS_KIND_TORQUE ? "gpus" : "ngpus",
                          (long long)gpus);
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

/* The runner ends its tasks at the walltime itself, and they have their grace after that. */
static void add_walltime(struct words *words, const struct attempt *t)
{
    int64_t ms = t->s->job.resources.walltime_ms, seconds;

    if (ms == 0)
        return;
    seconds = batch_divide_up(t->just_walltime ? ms : ms + t->s->job.grace_ms + SPARE_MS, 1000);
    words_add(words, "-l");
    words_add(words, "walltime=%02lld:%02lld:%02lld", (long long)(seconds / 3600), (long long)(seconds / 60 % 60),
              (long long)(seconds % 60));
}

/* A name that is too long for -N keeps its end, which differs from job to job. That of an array is its first job's. */
static void add_name(struct words *words, const struct attempt *t)
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

/* OpenPBS has no arrays but of jobs that it may start again by itself. A second runner of a job does nothing, since the first has
 * claimed it. */
static void add_array(struct words *words, const struct attempt *t)
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

/* PBS's own words go to a file beside the runner's log, where its name does not look like HOST:PATH. Of an array Torque makes one
 * for each job, by a number after the name; OpenPBS would need one that is in the names of the directories. */
static void add_output(struct words *words, const struct attempt *t)
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

/* What the site's settings or the spec add may change all but what we rely on, which therefore comes last. */
static void build(struct words *words, const struct attempt *t)
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
    add_array(words, t);
    words_add(words, "-m");
    words_add(words, "n");
    add_output(words, t);
    words_add(words, "-S");
    words_add(words, "%s", t->pbs->shell);
    add_name(words, t);
}

/* Not -V, and no values by -v: commas in them are told apart by no version alike. The shell becomes the runner; until that has set
 * its signals up, those that are meant for it must not kill it. Of an array it finds its job's directory by its number. */
static char *make_script(const struct attempt *t)
{
    char *dir = batch_group_dir(t->group), *where = words_quote(dir), *runner = words_quote(t->pbs->batch.host.runner);
    char *exports = words_exports(t->pbs->batch.job_env, '\n'), *script, number[80] = "";

    if (t->group->n > 1)
        snprintf(number, sizeof number, "$((%lld + %s))", (long long)t->group->base,
                 t->pbs->kind == PBS_KIND_TORQUE ? "PBS_ARRAYID" : "PBS_ARRAY_INDEX");
    script = xasprintf("#!/bin/sh\ntrap '' USR1 USR2\n%sd=%s%s\nexec %s \"$d\" >>\"$d\"/runner.log 2>&1\n", exports, where, number,
                       runner);
    free(dir);
    free(where);
    free(runner);
    free(exports);
    return script;
}

/* The id is the last line that looks like one: sites print their own words before. */
static bool find_id(char *out, char *id, size_t size)
{
    char *rest = NULL;
    bool found = false;

    for (char *line = strtok_r(out, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        size_t digits = strspn(line, "0123456789");

        digits += digits > 0 && strncmp(line + digits, "[]", 2) == 0 ? 2 : 0;
        if (digits == 0 || (line[digits] != '\0' && line[digits] != '.') || strchr(line, ' ') != NULL || strlen(line) >= size)
            continue;
        snprintf(id, size, "%s", line);
        found = true;
    }
    return found;
}

/* OpenPBS does not say which queue it does not know. */
static void name_queue(const char *queue, struct error *err)
{
    size_t n = strlen(err->text);

    if (queue != NULL && strstr(err->text, "Unknown queue") != NULL && strstr(err->text, queue) == NULL)
        snprintf(err->text + n, sizeof err->text - n, " \"%.100s\"", queue);
}

/* Only PBS's own "no" is a refusal. 255: there was no server to say it. */
static enum adapter_answer verdict(struct command_result *result, const char *queue, char *id, size_t size, struct error *err)
{
    if (batch_check(result, "qsub", err) < 0) {
        if (result->end != COMMAND_EXITED)
            return batch_no_answer(result);
        if (result->status == 255 || result->err[0] == '\0' || batch_says(result->err, for_now))
            return ADAPTER_UNSURE;
        snprintf(err->code, sizeof err->code, "job_refused");
        name_queue(queue, err);
        return ADAPTER_REFUSED;
    }
    if (!find_id(result->out, id, size)) {
        error_set(err, "batch_system_unsure", "qsub printed no job id: %.200s", result->out);
        return ADAPTER_UNSURE;
    }
    return ADAPTER_OK;
}

static void run_qsub(struct attempt *t);

static void submitted(void *arg, struct command_result *result)
{
    struct attempt *t = arg;
    struct error err = {0};
    char id[64] = "";
    enum adapter_answer answer = verdict(result, t->s->job.resources.queue, id, sizeof id, &err);
    bool is_definite;

    if (answer == ADAPTER_REFUSED && t->s->job.resources.walltime_ms > 0 && !t->just_walltime && batch_says(result->err, too_long)) {
        t->just_walltime = true;
        run_qsub(t);
        return;
    }
    is_definite = answer == ADAPTER_REFUSED ||
                  (answer == ADAPTER_UNSURE && result->end == COMMAND_EXITED && batch_says(result->err, limits));
    batch_group_answered(t->group, answer, is_definite, id, &err);
    batch_idle(&t->pbs->batch);
    free(t);
}

static void run_qsub(struct attempt *t)
{
    struct adapter *a = &t->pbs->batch;
    struct words words = {0};
    char *script;

    script = make_script(t);
    build(&words, t);
    batch_run(a, a->submissions, PBS_QSUB, (const char *const *)words.word, script, BATCH_WORDS_MAX, submitted, t);
    words_fini(&words);
    free(script);
}

void pbs_send(struct batch_group *group)
{
    struct pbs *pbs = pbs_of(group->a);
    struct attempt *t;

    if (pbs->kind == PBS_KIND_UNKNOWN) {
        batch_group_answered(group, ADAPTER_LATER, false, NULL, &pbs->kind_unknown);
        return;
    }
    t = xcalloc(1, sizeof *t);
    *t = (struct attempt){.group = group, .s = group->first, .pbs = pbs};
    batch_busy(group->a);
    run_qsub(t);
}

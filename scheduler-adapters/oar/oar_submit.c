/* Submission by oarsub: the resources of a job, or of an array of jobs of one shape, become options, and its answer is
 * interpreted. */
#include "oar.h"

#include <stretto/words.h>
#include <stretto/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARE_MS 30000
#define WARNED_S 5 /* seconds besides the grace, before a besteffort job is killed */

/* Words of oarsub in errors that may pass. Any other error of oarsub is a refusal. */
/* clang-format off */
static const char *const for_now[] = {
    "Cannot connect to executor", "DBI connect", "DBD::", "Can't connect", "could not connect", "gone away",
    "Lost connection", "Lock wait", "eadlock", "Cannot create the OAR directory", "OARDO", "Cannot allocate memory",
    "Resource temporarily unavailable", "No space left", "try again", "Try again", NULL,
};
/* clang-format on */
/* Words that make it a refusal even beside those. */
static const char *const refusals[] = {"[ADMISSION RULE]", "Bad resource request", "not enough resources", NULL};
/* Words that make it a refusal for good. Nobody knows that of others: rules of the site refuse in any words. */
static const char *const for_good[] = {"Bad resource request", "Cannot recognize", "does not exist",
                                       "Unknown option",       "unknown job type", "ambiguous",
                                       "Syntax error",         "Only member",      NULL};
/* Words for too many jobs of this user: nothing has been accepted. */
static const char *const limits[] = {"oo many", "ax number",     "ax. number", "aximum number", "more jobs", "quota",
                                     "Quota",   "limit reached", NULL};
/* Words for more time than is allowed: the walltime alone may be fine. */
static const char *const too_long[] = {"alltime", NULL};

struct oar_attempt {
    struct batch_group *group;
    const struct batch_submission *s; /* the first of the group */
    struct oar *oar;
    bool just_walltime; /* without the spare time, which was refused */
};

/* Returns the value of an option that the adapter would set as well: oarsub takes one value of it, or takes several as
 * alternatives. */
static const char *option_value(const char *word, const char *short_form, const char *long_form)
{
    size_t n = strlen(long_form);

    if (strncmp(word, short_form, 2) == 0 && word[2] != '\0')
        return word + 2;
    return strncmp(word, long_form, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

static char *walltime(const struct oar_attempt *t)
{
    int64_t ms = t->s->job.resources.walltime_ms, seconds;

    if (ms == 0)
        return xstrdup("");
    /* at the walltime the runner ends its tasks itself, and they have their grace after that */
    seconds = batch_divide_up(t->just_walltime ? ms : ms + t->s->job.grace_ms + SPARE_MS, 1000);
    return xasprintf(",walltime=%lld:%02lld:%02lld", (long long)(seconds / 3600), (long long)(seconds / 60 % 60),
                     (long long)(seconds % 60));
}

/* Adds resources such as "{memnode >= 4096}/nodes=2/gpu=1/core=4,walltime=1:00:40". */
static void add_oar_resources(struct words *words, const struct oar_attempt *t)
{
    const struct adapter_resources *want = &t->s->job.resources;
    int64_t tasks = batch_divide_up((int64_t)want->copies * want->tasks, want->nodes);
    int64_t cpus = tasks * want->cpus_per_task;
    int64_t gpus = batch_gpus(want), mib = batch_mebibytes(want);
    char memory[128] = "", gpu[128] = "", core[128] = "", *limit = walltime(t);

    if (mib > 0 && t->oar->memory != NULL)
        snprintf(memory, sizeof memory, "{%.80s >= %lld}", t->oar->memory, (long long)mib);
    if (gpus > 0)
        snprintf(gpu, sizeof gpu, "/%.80s=%lld", t->oar->gpu, (long long)gpus);
    if (!want->whole_nodes)
        snprintf(core, sizeof core, "/%.80s=%lld", t->oar->core, (long long)batch_divide_up(cpus, gpus > 0 ? gpus : 1));
    words_add(words, "-l");
    words_add(words, "%s/nodes=%d%s%s%s", memory, want->nodes, gpu, core, limit);
    free(limit);
}

/* Adds these options. Returns whether they ask for resources; such a request gets the job's walltime if it has
 * none. */
static bool add_extra(struct words *words, const struct oar_attempt *t, const json_t *extra)
{
    bool has_resources = false, is_value = false;
    char *limit = walltime(t);
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)extra, i, item) {
        const char *word = json_string_value(item);
        bool is_list = is_value || option_value(word, "-l", "--resource") != NULL;

        words_add(words, "%s%s", word, is_list && strstr(word, "walltime") == NULL ? limit : "");
        is_value = !is_value && (strcmp(word, "-l") == 0 || strcmp(word, "--resource") == 0);
        has_resources = has_resources || is_list;
    }
    free(limit);
    return has_resources;
}

/* A besteffort job may be killed to make room for others: OAR warns it before, by SIGTERM to its runner, which warns
 * its tasks. */
static void add_warning(struct words *words, const struct oar_attempt *t)
{
    static const char kind[] = "besteffort";
    const char *queue = t->s->job.resources.queue;

    if ((queue == NULL || strcmp(queue, kind) != 0) && !words_mention(t->s->extra, kind) &&
        !words_mention(t->oar->batch.extra, kind))
        return;
    words_add(words, "--checkpoint=%lld", (long long)(t->s->job.grace_ms / 1000 + WARNED_S));
    words_add(words, "--signal=15");
}

/* Sends OAR's own messages to a file beside the runner's log, if OAR accepts the path. An array would have one file
 * for all its jobs, and has none. */
static void add_places(struct words *words, const struct oar_attempt *t)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    bool is_fine = t->group->n == 1 && t->s->dir[strspn(t->s->dir, allowed)] == '\0';

    words_add(words, "-d");
    words_add(words, "%s", is_fine ? t->s->dir : "/");
    for (const char *option = "OE"; *option != '\0'; option++) {
        words_add(words, "-%c", *option);
        words_add(words, "%s%s", is_fine ? t->s->dir : "", is_fine ? "/oar.log" : "/dev/null");
    }
}

/* Makes the command. The user's own shell gets it, and becomes a plain sh, which becomes the runner. Until the runner
 * has set its signals up, the ones meant for it must not kill it. OAR may have changed the walltime, so its variable
 * gives when it ends the job. A job of an array finds its directory by its number. The command has no newline, because
 * some shells do not accept one in quotes. */
static char *make_command(const struct oar_attempt *t)
{
    char *dir = batch_group_dir(t->group), *where = words_quote(dir), *runner = words_quote(t->oar->batch.host.runner);
    char *exports = words_exports(t->oar->batch.job_env, ';'), number[80] = "", *script, *quoted, *command;

    if (t->group->n > 1)
        snprintf(number, sizeof number, "$((%lld + OAR_ARRAY_INDEX))", (long long)t->group->base - 1);
    script =
        xasprintf("trap \"\" USR1 USR2; %sexport STRETTO_JOB_END=$(($(date +%%s) + OAR_JOB_WALLTIME_SECONDS)); d=%s%s; "
                  "exec %s \"$d\" >>\"$d\"/runner.log 2>&1",
                  exports, where, number, runner);
    quoted = words_quote(script);
    command = xasprintf("exec /bin/sh -c %s", quoted);
    free(dir);
    free(where);
    free(runner);
    free(exports);
    free(script);
    free(quoted);
    return command;
}

static void build_oarsub(struct words *words, const struct oar_attempt *t)
{
    const struct adapter_resources *want = &t->s->job.resources;
    bool by_site, by_spec;
    char name[64], *command;

    by_site = add_extra(words, t, t->oar->batch.extra);
    by_spec = add_extra(words, t, t->s->extra);
    if (!by_site && !by_spec)
        add_oar_resources(words, t);
    if (want->queue != NULL) {
        words_add(words, "-q");
        words_add(words, "%s", want->queue);
    }
    if (want->account != NULL)
        words_add(words, "--project=%s", want->account);
    add_warning(words, t);
    if (t->group->n > 1)
        words_add(words, "--array=%zu", t->group->n);
    add_places(words, t);
    batch_group_name(t->group, name, sizeof name);
    words_add(words, "-n");
    words_add(words, "%s", name);
    command = make_command(t);
    words_add(words, "%s", command);
    free(command);
}

/* Finds the ids in lines "OAR_JOB_ID=12", one for each job of an array, in their order; sites print messages of their
 * own before. Returns them separated by blanks; the caller frees the result. */
static char *find_ids(char *out, size_t *n)
{
    static const char mark[] = "OAR_JOB_ID=";
    char *rest = NULL, *ids = xcalloc(strlen(out) + 1, 1), *at = ids;

    *n = 0;
    for (char *line = strtok_r(out, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *id = line + sizeof mark - 1;

        if (strncmp(line, mark, sizeof mark - 1) != 0 || id[0] < '1' || id[0] > '9' ||
            id[strspn(id, "0123456789")] != '\0')
            continue;
        at += sprintf(at, "%s%s", *n > 0 ? " " : "", id);
        ++*n;
    }
    return ids;
}

void oar_task_id(const char *ids, int64_t task, char *out, size_t size)
{
    for (; task > 0; task--) {
        ids += strcspn(ids, " ");
        ids += *ids == ' ';
    }
    snprintf(out, size, "%.*s", (int)strcspn(ids, " "), ids);
}

static enum adapter_answer oarsub_verdict(const struct oar_attempt *t, struct command_result *result, char **ids,
                                          struct error *err)
{
    size_t n;

    *ids = NULL;
    if (batch_check(result, "oarsub", err) < 0) {
        if (result->end != COMMAND_EXITED)
            return batch_no_answer(result);
        if (result->err[0] == '\0' || batch_says(result->err, limits) ||
            (batch_says(result->err, for_now) && !batch_says(result->err, refusals)))
            return ADAPTER_UNSURE;
        snprintf(err->code, sizeof err->code, "job_refused");
        return batch_says(result->err, for_good) ? ADAPTER_REFUSED : ADAPTER_UNCLEAR;
    }
    *ids = find_ids(result->out, &n);
    if (n == t->group->n)
        return ADAPTER_OK;
    error_set(err, "batch_system_unsure", "oarsub printed the ids of %zu jobs, and not of %zu", n, t->group->n);
    return ADAPTER_UNSURE;
}

static void run_oarsub(struct oar_attempt *t);

static void oarsub_ended(void *arg, struct command_result *result)
{
    struct oar_attempt *t = arg;
    struct error err = {0};
    char *ids;
    enum adapter_answer answer = oarsub_verdict(t, result, &ids, &err);
    bool is_definite, is_refused = answer == ADAPTER_REFUSED || answer == ADAPTER_UNCLEAR;

    if (is_refused && t->s->job.resources.walltime_ms > 0 && !t->just_walltime && batch_says(result->err, too_long)) {
        t->just_walltime = true;
        run_oarsub(t);
        return;
    }
    is_definite =
        is_refused || (answer == ADAPTER_UNSURE && result->end == COMMAND_EXITED && batch_says(result->err, limits));
    t->oar->has_jobs = t->oar->has_jobs || answer == ADAPTER_OK;
    batch_group_answered(t->group, answer, is_definite, ids, &err);
    batch_idle(&t->oar->batch);
    free(ids);
    free(t);
}

static void run_oarsub(struct oar_attempt *t)
{
    struct adapter *a = &t->oar->batch;
    struct words words = {0};

    build_oarsub(&words, t);
    batch_run(a, a->submissions, OAR_OARSUB, (const char *const *)words.word, NULL, BATCH_WORDS_MAX, oarsub_ended, t);
    words_fini(&words);
}

void oar_send(struct batch_group *group)
{
    struct oar_attempt *t = xcalloc(1, sizeof *t);

    *t = (struct oar_attempt){.group = group, .s = group->first, .oar = oar_of(group->a)};
    batch_busy(group->a);
    run_oarsub(t);
}

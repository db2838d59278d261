/* The adapter for OpenPBS, PBS Pro and Torque: create, destroy, settings. */
#include "scheduler-adapters/pbs.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUBMISSIONS_MAX 4 /* qsubs at once */
#define QUESTIONS_MAX 8

extern const struct adapter_ops adapter_pbs;

static const char *const program_names[PBS_PROGRAMS] = {"qsub", "qstat", "qdel", "qsig", "qhold", "qrls"};

/* What the commands see of the daemon's environment. Never everything: there are tokens in it. */
static const char *const for_commands[] = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
                                           "LD_LIBRARY_PATH", "PBS_DEFAULT", "PBS_SERVER", "PBS_CONF_FILE", "PBS_EXEC",
                                           "PBSCOREDUMP", "KRB5CCNAME", NULL};
/* What jobs see, besides what the settings name; the rest is PBS's to set. */
static const char *const for_jobs[] = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "MODULEPATH",
                                       "LOADEDMODULES"};

static void read_environment(struct adapter *a, const json_t *names)
{
    static const char *const nothing[] = {NULL};
    size_t n = sizeof for_jobs / sizeof *for_jobs, i;
    const char **all = xcalloc(n + json_array_size(names) + 1, sizeof *all);
    const json_t *item;

    memcpy(all, for_jobs, sizeof for_jobs);
    json_array_foreach ((json_t *)names, i, item)
        all[n++] = json_string_value(item);
    a->job_env = command_env(all, nothing);
    a->env = command_env(for_commands, nothing);
    free(all);
}

static char *find_user(void)
{
    const struct passwd *entry = getpwuid(geteuid());

    return entry != NULL ? xstrdup(entry->pw_name) : NULL;
}

static int read_settings(struct adapter *a, const json_t *config, struct error *err)
{
    const json_t *environment = NULL;

    a->timeout_ms = 60000;
    a->interval_ms = 15000;
    memcpy(a->program, program_names, sizeof a->program);
    if (config != NULL) {
        for (size_t i = 0; i < PBS_PROGRAMS; i++)
            if (jsonx_string(config, "", program_names[i], JSONX_OPTIONAL, &a->program[i], err) < 0)
                return -1;
        if (jsonx_string(config, "", "shell", JSONX_OPTIONAL, &a->shell, err) < 0 ||
            jsonx_strings(config, "", "extra", JSONX_OPTIONAL, 0, &a->extra, err) < 0 ||
            jsonx_strings(config, "", "environment", JSONX_OPTIONAL, 0, &environment, err) < 0 ||
            jsonx_duration(config, "", "timeout", JSONX_OPTIONAL, 1000, &a->timeout_ms, err) < 0 ||
            jsonx_duration(config, "", "poll", JSONX_OPTIONAL, 1000, &a->interval_ms, err) < 0)
            return -1;
    }
    read_environment(a, environment);
    a->user = find_user();
    return 0;
}

static struct adapter *create(const struct adapter_host *host, struct error *err)
{
    struct adapter *a = xcalloc(1, sizeof *a);

    if (read_settings(a, host->config, err) < 0) {
        free(a);
        return NULL;
    }
    a->host = *host;
    if (access(host->runner, X_OK) < 0)
        error_errno(&a->no_runner, "job_refused", "the runner %s", host->runner);
    if (a->shell == NULL)
        a->shell = host->runner;
    a->answers = answers_create(host->loop);
    a->submissions = commands_create(host->loop, SUBMISSIONS_MAX);
    a->questions = commands_create(host->loop, QUESTIONS_MAX);
    a->endings = commands_create(host->loop, 1);
    pbs_overdue_init(a);
    return a;
}

static void answers_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    pbs_known_forget_all(a);
    command_env_free(a->env);
    command_env_free(a->job_env);
    free(a->user);
    free(a);
    destroyed(destroyed_arg);
}

static void finish_destroy(struct adapter *a)
{
    if (!a->closing || a->stopping > 0 || a->busy > 0)
        return;
    a->stopping = -1;
    answers_destroy(a->answers, answers_gone, a);
}

static void part_gone(void *arg)
{
    struct adapter *a = arg;

    a->stopping--;
    finish_destroy(a);
}

static void timer_closed(uv_handle_t *handle)
{
    part_gone(handle->data);
}

static void destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    a->destroyed = done;
    a->destroyed_arg = arg;
    a->closing = true;
    a->stopping = 4;
    pbs_overdue_stop(a);
    uv_close((uv_handle_t *)&a->timer, timer_closed);
    commands_destroy(a->submissions, part_gone, a);
    commands_destroy(a->questions, part_gone, a);
    commands_destroy(a->endings, part_gone, a);
}

void pbs_busy(struct adapter *a)
{
    a->busy++;
}

void pbs_idle(struct adapter *a)
{
    if (--a->busy == 0 && a->closing && a->stopping == 0)
        finish_destroy(a);
}

static void poke_now(void *arg)
{
    struct adapter *a = arg;

    if (!a->closing)
        a->host.poke(a->host.arg);
}

void pbs_poke(struct adapter *a)
{
    answers_call(a->answers, poke_now, a);
}

struct stopped {
    command_cb *cb;
    void *arg;
};

/* It was to go on with another command, and there are no more. */
static void answer_stopped(void *arg)
{
    struct stopped *stopped = arg;
    char nothing[1] = "";
    struct command_result result = {.end = COMMAND_STOPPED, .out = nothing, .err = nothing};

    stopped->cb(stopped->arg, &result);
    free(stopped);
}

void pbs_run(struct adapter *a, struct commands *commands, enum pbs_program program, const char *const *args, const char *in,
             size_t out_max, command_cb *cb, void *arg)
{
    size_t n = 0;
    const char **argv;

    if (a->closing) {
        struct stopped *stopped = xcalloc(1, sizeof *stopped);

        *stopped = (struct stopped){cb, arg};
        answers_call(a->answers, answer_stopped, stopped);
        return;
    }
    while (args[n] != NULL)
        n++;
    argv = xcalloc(n + 2, sizeof *argv);
    argv[0] = a->program[program];
    memcpy(argv + 1, args, n * sizeof *args);
    commands_run(commands,
                 &(struct command){.argv = argv, .env = (const char *const *)a->env, .in = in, .limit_ms = a->timeout_ms,
                                   .out_max = out_max, .err_max = PBS_WORDS_MAX},
                 cb, arg);
    free(argv);
}

int pbs_check(const struct command_result *result, const char *program, struct error *err)
{
    char why[600];

    if (result->end == COMMAND_EXITED && result->status == 0)
        return 0;
    command_explain(result, program, why, sizeof why);
    return error_set(err, "batch_system_unsure", "%s", why);
}

/* What a site has is PBS's to know, and may change at any time. */
static int check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    return 0;
}

static int slots(struct adapter *a)
{
    return 0;
}

static int64_t interval_ms(struct adapter *a)
{
    return a->interval_ms;
}

static const struct adapter_setting settings[] = {
    {"poll", "15s", "between questions about jobs; there is one for all of them, by qstat"},
    {"timeout", "60s", "how long one command of PBS's may take; nothing is concluded from one that takes longer"},
    {"extra", "[]", "options for every qsub, before those of an ensemble's resources.extra, e.g. [\"-l\", \"place=excl\"]"},
    {"environment", "[]",
     "names of the daemon's variables that jobs see besides PATH, LANG and others alike, which hold no secrets"},
    {"shell", "stretto-run, which becomes /bin/sh",
     "the shell of jobs, for -S; by another one jobs cannot be signalled, nor cancelled gently"},
    {"qsub", "qsub", "the command, or its path; likewise the following"},
    {"qstat", "qstat", "the same"},
    {"qdel", "qdel", "the same"},
    {"qsig", "qsig", "the same"},
    {"qhold", "qhold", "the same"},
    {"qrls", "qrls", "the same"},
    {0},
};

const struct adapter_ops adapter_pbs = {
    .abi = ADAPTER_ABI,
    .name = "pbs",
    .settings = settings,
    .create = create,
    .destroy = destroy,
    .check = check,
    .slots = slots,
    .interval_ms = interval_ms,
    .submit = pbs_submit,
    .poll = pbs_poll,
    .find = pbs_find,
    .cancel = pbs_cancel,
    .withdraw = pbs_withdraw,
    .signal = pbs_signal,
};

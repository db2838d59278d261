/* The adapter for Slurm: create, destroy, settings. */
#include "scheduler-adapters/slurm.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUBMISSIONS_MAX 4 /* sbatches at once */
#define QUESTIONS_MAX 8
#define SACCT_MS 10000 /* where its database hangs it would wait for a minute, and a poll with it */

extern const struct adapter_ops adapter_slurm;

static const char *const program_names[SLURM_PROGRAMS] = {"sbatch", "squeue", "scancel", "scontrol", "sacct", "sinfo"};

/* What jobs see of the daemon's environment, besides what the settings name. Never everything: there are tokens in it. */
static const char *const passed[] = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
                                     "LD_LIBRARY_PATH", "MODULEPATH", "LOADEDMODULES", "SLURM_CONF"};

static int read_environment(struct adapter *a, const char *conf, const json_t *names, struct error *err)
{
    size_t n = sizeof passed / sizeof *passed, i;
    const char **all = xcalloc(n + json_array_size(names) + 1, sizeof *all);
    char *setting = conf != NULL ? xasprintf("SLURM_CONF=%s", conf) : NULL;
    const char *const for_jobs[] = {setting, NULL}, *const for_us[] = {"SLURM_TIME_FORMAT=%s", setting, NULL};
    const json_t *item;

    memcpy(all, passed, sizeof passed);
    json_array_foreach ((json_t *)names, i, item)
        all[n++] = json_string_value(item);
    a->job_env = command_env(all, for_jobs);
    a->env = command_env(all, for_us);
    free(all);
    free(setting);
    return 0;
}

static int read_settings(struct adapter *a, const json_t *config, struct error *err)
{
    const char *conf = NULL;
    const json_t *environment = NULL;

    a->timeout_ms = 30000;
    a->interval_ms = 15000;
    a->gather_ms = 2000;
    memcpy(a->program, program_names, sizeof a->program);
    if (config != NULL) {
        for (size_t i = 0; i < SLURM_PROGRAMS; i++)
            if (jsonx_string(config, "", program_names[i], JSONX_OPTIONAL, &a->program[i], err) < 0)
                return -1;
        if (jsonx_string(config, "", "conf", JSONX_OPTIONAL, &conf, err) < 0 ||
            jsonx_strings(config, "", "extra", JSONX_OPTIONAL, 0, &a->extra, err) < 0 ||
            jsonx_strings(config, "", "environment", JSONX_OPTIONAL, 0, &environment, err) < 0 ||
            jsonx_duration(config, "", "timeout", JSONX_OPTIONAL, 1000, &a->timeout_ms, err) < 0 ||
            jsonx_duration(config, "", "poll", JSONX_OPTIONAL, 1000, &a->interval_ms, err) < 0 ||
            jsonx_duration(config, "", "gather", JSONX_OPTIONAL, 0, &a->gather_ms, err) < 0)
            return -1;
    }
    return read_environment(a, conf, environment, err);
}

static void settings_free(struct adapter *a)
{
    command_env_free(a->env);
    command_env_free(a->job_env);
    free(a->record_file);
    free(a);
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
    a->answers = answers_create(host->loop);
    a->submissions = commands_create(host->loop, SUBMISSIONS_MAX);
    a->questions = commands_create(host->loop, QUESTIONS_MAX);
    slurm_overdue_init(a);
    slurm_gather_init(a);
    return a;
}

static void answers_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    slurm_forget_all(a);
    slurm_time_fini(a);
    settings_free(a);
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
    slurm_overdue_stop(a);
    slurm_gather_stop(a);
    uv_close((uv_handle_t *)&a->timer, timer_closed);
    uv_close((uv_handle_t *)&a->gather_timer, timer_closed);
    commands_destroy(a->submissions, part_gone, a);
    commands_destroy(a->questions, part_gone, a);
}

void slurm_busy(struct adapter *a)
{
    a->busy++;
}

void slurm_idle(struct adapter *a)
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

void slurm_poke(struct adapter *a)
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

void slurm_run(struct adapter *a, struct commands *commands, enum slurm_program program, const char *const *args, size_t out_max,
               command_cb *cb, void *arg)
{
    int64_t limit_ms = program == SLURM_SACCT && a->timeout_ms > SACCT_MS ? SACCT_MS : a->timeout_ms;
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
                 &(struct command){.argv = argv,
                                   .env = (const char *const *)(program == SLURM_SBATCH ? a->job_env : a->env),
                                   .limit_ms = limit_ms, .out_max = out_max, .err_max = SLURM_WORDS_MAX},
                 cb, arg);
    free(argv);
}

int slurm_check(const struct command_result *result, const char *program, struct error *err)
{
    char why[600];

    if (result->end == COMMAND_EXITED && result->status == 0)
        return 0;
    command_explain(result, program, why, sizeof why);
    return error_set(err, "batch_system_unsure", "%s", why);
}

/* What a site has is Slurm's to know, and may change at any time. */
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
    {"conf", "what SLURM_CONF says where the daemon starts, or Slurm's own", "the file slurm.conf"},
    {"poll", "15s", "between questions about jobs; there is one for all of them, by squeue"},
    {"timeout", "30s", "how long one command of Slurm's may take; nothing is concluded from one that takes longer"},
    {"gather", "2s",
     "how long a job may wait for others like it, with which it goes as one job array; 0s: each goes by an sbatch of its own"},
    {"extra", "[]", "options for every sbatch, before those of an ensemble's resources.extra, e.g. [\"--qos=debug\"]"},
    {"environment", "[]",
     "names of the daemon's variables that jobs see besides PATH, HOME, LANG and others alike, which hold no secrets"},
    {"sbatch", "sbatch", "the command, or its path; likewise the following"},
    {"squeue", "squeue", "the same"},
    {"scancel", "scancel", "the same"},
    {"scontrol", "scontrol", "the same"},
    {"sacct", "sacct", "the same; used only where Slurm keeps accounts"},
    {"sinfo", "sinfo", "the same"},
    {0},
};

const struct adapter_ops adapter_slurm = {
    .abi = ADAPTER_ABI,
    .name = "slurm",
    .settings = settings,
    .create = create,
    .destroy = destroy,
    .check = check,
    .slots = slots,
    .interval_ms = interval_ms,
    .submit = slurm_submit,
    .poll = slurm_poll,
    .find = slurm_poll, /* it looks jobs up by name anyway */
    .cancel = slurm_cancel,
    .withdraw = slurm_withdraw,
    .signal = slurm_signal,
};

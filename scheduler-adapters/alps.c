/* The adapter for ALPS (Cray XC): create, destroy, settings. */
#include "scheduler-adapters/alps.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct adapter_ops adapter_alps;

/* The variables of the daemon's environment that apruns see, and jobs through them. The whole environment is never
 * passed: it may hold tokens. */
/* clang-format off */
static const char *const passed[] = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH",
    "CRAY_LD_LIBRARY_PATH", "CRAY_ROOTFS", "MODULEPATH", "LOADEDMODULES", "ALPS_APP_PE_DEFAULT", "APRUN_XFER_LIMITS",
    "BATCH_PARTITION_ID", "BASIL_RESERVATION_ID", "COBALT_JOBID", "COBALT_PARTNAME", "COBALT_PARTSIZE",
    "COBALT_STARTTIME", "COBALT_ENDTIME", "PBS_JOBID", "PBS_ENVIRONMENT", "PBS_NODEFILE", "SLURM_JOB_ID", "SLURM_JOBID",
    "SLURM_JOB_NODELIST", "ALPS_APRUN_RESID"};
/* clang-format on */

static void read_alps_environment(struct adapter *a, const json_t *names)
{
    char end[48];
    const char *const told[] = {a->end > 0 ? end : NULL, NULL};
    size_t n = sizeof passed / sizeof *passed, i;
    const char **all = xcalloc(n + json_array_size(names) + 1, sizeof *all);
    const json_t *item;

    memcpy(all, passed, sizeof passed);
    json_array_foreach ((json_t *)names, i, item)
        all[n++] = json_string_value(item);
    snprintf(end, sizeof end, "STRETTO_ALLOCATION_END=%lld", (long long)a->end);
    a->env = command_env(all, told);
    free(all);
}

/* Returns when the allocation is over, in Unix seconds, as its batch system says; 0: not known, as with PBS. */
static int64_t find_allocation_end(void)
{
    static const char *const variables[] = {"COBALT_ENDTIME", "SLURM_JOB_END_TIME"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        size_t digits = text != NULL ? strspn(text, "0123456789") : 0;

        /* Cobalt's may have a fraction */
        if (digits > 0 && digits < 12 && (text[digits] == '\0' || text[digits] == '.'))
            return strtoll(text, NULL, 10);
    }
    return 0;
}

/* Finding no nodes is no error: a daemon outside of an allocation has this adapter too, and does not use it. */
static int read_nodes(struct adapter *a, const char *given, struct error *err)
{
    size_t n = 0;
    int *nids;

    if (given != NULL && alps_nids_parse(given, &nids, &n) < 0)
        return error_at(err, "config", "/nids", "no list of nodes, which would be \"3-6,9\": %.100s", given);
    if (given == NULL && alps_nids_find(&nids, &n) < 0)
        return 0;
    a->node = xcalloc(n, sizeof *a->node);
    a->n_nodes = n;
    for (size_t i = 0; i < n; i++)
        a->node[i].nid = nids[i];
    free(nids);
    return 0;
}

static int read_alps_settings(struct adapter *a, const json_t *config, struct error *err)
{
    const json_t *environment = NULL;
    const char *nids = NULL;

    a->aprun = "aprun";
    a->apkill = "apkill";
    a->most = 1000;
    a->pause_ms = 1000;
    a->interval_ms = 15000;
    a->end = find_allocation_end();
    if (config != NULL && (jsonx_string(config, "", "aprun", JSONX_OPTIONAL, &a->aprun, err) < 0 ||
                           jsonx_string(config, "", "apkill", JSONX_OPTIONAL, &a->apkill, err) < 0 ||
                           jsonx_string(config, "", "nids", JSONX_OPTIONAL, &nids, err) < 0 ||
                           jsonx_int(config, "", "cpus", JSONX_OPTIONAL, 1, 100000, &a->cpus, err) < 0 ||
                           jsonx_int(config, "", "most", JSONX_OPTIONAL, 1, 1000, &a->most, err) < 0 ||
                           jsonx_int(config, "", "end", JSONX_OPTIONAL, 0, 99999999999, &a->end, err) < 0 ||
                           jsonx_strings(config, "", "extra", JSONX_OPTIONAL, 0, &a->extra, err) < 0 ||
                           jsonx_strings(config, "", "environment", JSONX_OPTIONAL, 0, &environment, err) < 0 ||
                           jsonx_duration(config, "", "pause", JSONX_OPTIONAL, 1, &a->pause_ms, err) < 0 ||
                           jsonx_duration(config, "", "poll", JSONX_OPTIONAL, 1000, &a->interval_ms, err) < 0))
        return -1;
    if (alps_check_options(a->extra, "config_value", err) < 0)
        return -1;
    if (read_nodes(a, nids, err) < 0)
        return -1;
    read_alps_environment(a, environment);
    return 0;
}

static struct adapter *alps_create(const struct adapter_host *host, struct error *err)
{
    struct adapter *a = xcalloc(1, sizeof *a);

    if (read_alps_settings(a, host->config, err) < 0) {
        free(a->node);
        free(a);
        return NULL;
    }
    a->host = *host;
    if (access(host->runner, X_OK) < 0)
        error_errno(&a->no_runner, "job_refused", "the runner %s", host->runner);
    a->answers = answers_create(host->loop);
    a->commands = commands_create(host->loop, 4);
    uv_timer_init(host->loop, &a->timer);
    a->timer.data = a;
    return a;
}

static void alps_answers_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    a->closed = true;
    alps_forget_all(a);
    command_env_free(a->env);
    free(a->node);
    free(a);
    destroyed(destroyed_arg);
}

void alps_busy(struct adapter *a)
{
    a->busy++;
}

void alps_idle(struct adapter *a)
{
    if (--a->busy == 0 && a->closing)
        answers_destroy(a->answers, alps_answers_gone, a);
}

static void commands_gone(void *arg)
{
    alps_idle(arg);
}

static void alps_timer_closed(uv_handle_t *handle)
{
    alps_idle(handle->data);
}

static void alps_destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    a->destroyed = done;
    a->destroyed_arg = arg;
    a->closing = true;
    a->busy += 2;
    uv_close((uv_handle_t *)&a->timer, alps_timer_closed);
    commands_destroy(a->commands, commands_gone, a);
    alps_forget_all(a);
}

static int alps_ready(struct adapter *a, struct error *err)
{
    return command_find(a->aprun, err) < 0 ? -1 : alps_check_nodes(a, err);
}

static int alps_slots(struct adapter *a)
{
    return a->cpus > 0 ? (int)a->cpus * (int)a->n_nodes : 0;
}

static int node_slots(struct adapter *a)
{
    return (int)a->cpus;
}

static int64_t interval_ms(struct adapter *a)
{
    return a->interval_ms;
}

static const struct adapter_setting settings[] = {
    {"nids", "what COBALT_PARTNAME, SLURM_JOB_NODELIST or the file PBS_NODEFILE names",
     "the compute nodes of the allocation that the daemon runs in, as \"3-6,9\""},
    {"cpus", "not known, and not looked at", "of a node: a job that wants more is refused"},
    {"end", "what COBALT_ENDTIME or SLURM_JOB_END_TIME says",
     "when the allocation is over, in Unix seconds: members with checkpoints are warned before that; 0: not known"},
    {"most", "1000", "apruns at once"},
    {"pause", "1s", "between the starts of two apruns"},
    {"poll", "15s", "between looks at jobs; that an aprun has ended is known at once"},
    {"extra", "[]", "options for every aprun, before those of an ensemble's resources.extra, e.g. [\"-j\", \"1\"]"},
    {"environment", "[]",
     "names of the daemon's variables that jobs see besides PATH, HOME, LANG and others alike, which hold no secrets"},
    {"aprun", "aprun", "the command, or its path; likewise the following"},
    {"apkill", "apkill", "the same"},
    {0},
};

const struct adapter_ops adapter_alps = {
    .abi = ADAPTER_ABI,
    .name = "alps",
    .settings = settings,
    .create = alps_create,
    .destroy = alps_destroy,
    .ready = alps_ready,
    .check = alps_check,
    .slots = alps_slots,
    .node_slots = node_slots,
    .interval_ms = interval_ms,
    .submit = alps_submit,
    .poll = alps_poll,
    .find = alps_poll, /* alps_poll() looks at the files of jobs that it does not know anyway */
    .cancel = alps_cancel,
    .signal = alps_signal,
};

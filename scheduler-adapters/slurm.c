/* The adapter for Slurm: create, settings, and its struct batch_system. */
#include "scheduler-adapters/slurm.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct adapter_ops adapter_slurm;

static const char *const programs[] = {"sbatch", "squeue", "scancel", "scontrol", "sacct", "sinfo", NULL};
const char *const slurm_environment[] = {"PATH",       "HOME",          "USER",       "LOGNAME", "SHELL",
                                         "LANG",       "LC_ALL",        "LC_CTYPE",   "TZ",      "LD_LIBRARY_PATH",
                                         "MODULEPATH", "LOADEDMODULES", "SLURM_CONF", NULL};

/* Lists all jobs of the user: asking by names would need thousands of them. */
static void slurm_list(struct adapter *a, struct batch_listing *listing)
{
    char uid[16];
    const char *const args[] = {"-h", "-a", "-r", "-t", "all", "-u", uid, "-o", slurm_squeue_format, NULL};

    snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    batch_listing_run(listing, SLURM_SQUEUE, args);
}

struct slurm_waiting {
    struct slurm *slurm;
    void (*go)(void *arg);
    void *arg;
};

static void site_known(void *arg)
{
    struct slurm_waiting waiting = *(struct slurm_waiting *)arg;

    free(arg);
    slurm_time_ready(waiting.slurm, waiting.go, waiting.arg);
}

/* Asks how large an array may be, if arrays are used, and how long jobs may take. */
static void slurm_ready(struct adapter *a, void (*go)(void *arg), void *arg)
{
    struct slurm_waiting *waiting = xcalloc(1, sizeof *waiting);

    *waiting = (struct slurm_waiting){slurm_of(a), go, arg};
    if (a->gathering.wait_ms > 0)
        slurm_site_ready(waiting->slurm, site_known, waiting);
    else
        site_known(waiting);
}

void slurm_task_id(const char *id, int64_t task, char *out, size_t size)
{
    snprintf(out, size, "%.30s_%lld", id, (long long)task);
}

static void slurm_fini(struct adapter *a)
{
    slurm_times_clear(&slurm_of(a)->times);
    free(slurm_of(a)->record_file);
}

static const struct batch_system system_slurm = {
    .word = "Slurm",
    .options = &slurm_options,
    .programs = programs,
    .programs_needed = 4,
    .for_commands = slurm_environment,
    .for_jobs = slurm_environment,
    .jobs_inherit = true,
    .timeout_ms = 30000,
    .list_max = SLURM_LIST_MAX,
    .ids_max = 500,
    .endings_most = 8,
    .deed = {[BATCH_TAKE_OUT] = {SLURM_SCANCEL, {NULL}},
             [BATCH_TERM] = {SLURM_SCANCEL, {"--batch", "--signal=TERM", NULL}},
             [BATCH_USR1] = {SLURM_SCANCEL, {"--batch", "--signal=USR1", NULL}},
             [BATCH_USR2] = {SLURM_SCANCEL, {"--batch", "--signal=USR2", NULL}},
             [BATCH_KILL] = {SLURM_SCANCEL, {NULL}}},
    .gone = slurm_gone,
    .list = slurm_list,
    .parse = slurm_parse,
    .status = slurm_status,
    .waits = slurm_waits,
    .past = slurm_past,
    .ready = slurm_ready,
    .send = slurm_send,
    .task_id = slurm_task_id,
    .withdraw = slurm_withdraw,
    .fini = slurm_fini,
};

static struct adapter *slurm_create(const struct adapter_host *host, struct error *err)
{
    struct slurm *slurm = xcalloc(1, sizeof *slurm);
    const char *conf = NULL;
    char *setting;
    int rc;

    if (host->config != NULL && (jsonx_string(host->config, "", "conf", JSONX_OPTIONAL, &conf, err) < 0 ||
                                 slurm_check_environment(json_object_get(host->config, "environment"), err) < 0)) {
        free(slurm);
        return NULL;
    }
    setting = conf != NULL ? xasprintf("SLURM_CONF=%s", conf) : NULL;
    rc = batch_init(&slurm->batch, &system_slurm, host, (const char *const[]){"SLURM_TIME_FORMAT=%s", setting, NULL},
                    (const char *const[]){setting, NULL}, err);
    free(setting);
    if (rc < 0) {
        free(slurm);
        return NULL;
    }
    if (slurm->batch.limit_ms[SLURM_SACCT] > SLURM_PAST_MS)
        slurm->batch.limit_ms[SLURM_SACCT] = SLURM_PAST_MS;
    return &slurm->batch;
}

static const struct adapter_setting settings[] = {
    {"conf", "what SLURM_CONF says where the daemon starts, or Slurm's own", "the file slurm.conf"},
    {"poll", "15s", "between questions about jobs; there is one for all of them, by squeue"},
    {"timeout", "30s", "how long one command of Slurm's may take; nothing is concluded from one that takes longer"},
    {"gather", "2s",
     "how long a job may wait for others like it, with which it goes as one job array; 0s: each goes by an sbatch of "
     "its own"},
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
    .create = slurm_create,
    .destroy = batch_destroy,
    .ready = batch_ready,
    .check = batch_check_options,
    BATCH_METHODS,
};

/* The adapter for OpenPBS, PBS Pro and Torque: create, settings, and its struct batch_system. */
#include "scheduler-adapters/pbs.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct adapter_ops adapter_pbs;

static const char *const programs[] = {"qsub", "qstat", "qdel", "qsig", "qhold", "qrls", NULL};
static const char *const for_commands[] = {"PATH",        "HOME",       "USER",          "LOGNAME",  "SHELL",
                                           "LANG",        "LC_ALL",     "LC_CTYPE",      "TZ",       "LD_LIBRARY_PATH",
                                           "PBS_DEFAULT", "PBS_SERVER", "PBS_CONF_FILE", "PBS_EXEC", "PBSCOREDUMP",
                                           "KRB5CCNAME",  NULL};
static const char *const for_jobs[] = {"PATH",       "LANG",          "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH",
                                       "MODULEPATH", "LOADEDMODULES", NULL};
static const char *const gone[] = {"Unknown Job Id",        "invalid for state of job",   "Job has finished",
                                   "already in exit state", "Delete already in progress", NULL};

static void status(const struct adapter *a, const struct batch_row *row, struct adapter_status *to)
{
    pbs_status(((const struct pbs *)a)->kind, row, to);
}

static void pbs_ready(struct adapter *a, void (*go)(void *arg), void *arg)
{
    pbs_kind_ready(pbs_of(a), go, arg);
}

/* Inserts the number of the task into an array's id "12[].server". */
static void pbs_task_id(const char *id, int64_t task, char *out, size_t size)
{
    int n = (int)strcspn(id, "]");

    snprintf(out, size, "%.*s%lld%s", n, id, (long long)task, id + n);
}

static void pbs_fini(struct adapter *a)
{
    free(pbs_of(a)->user);
    free(pbs_of(a)->pieces.arrays);
}

static const struct batch_system system_pbs = {
    .word = "PBS",
    .options = &pbs_options,
    .programs = programs,
    .programs_needed = 4,
    .for_commands = for_commands,
    .for_jobs = for_jobs,
    .timeout_ms = 60000,
    .remembered_ms = 900000,
    .list_max = PBS_LIST_MAX,
    .ids_max = 100, /* the server takes ids one by one */
    .past_max = 20, /* qstat makes a connection for each */
    .a_minute = PBS_CONNECTIONS,
    .endings_most = 1,
    .deed = {[BATCH_TAKE_OUT] = {PBS_QDEL, {NULL}},
             [BATCH_TERM] = {PBS_QSIG, {"-s", "TERM", NULL}},
             [BATCH_USR1] = {PBS_QSIG, {"-s", "USR1", NULL}},
             [BATCH_USR2] = {PBS_QSIG, {"-s", "USR2", NULL}},
             [BATCH_KILL] = {PBS_QDEL, {NULL}}},
    .gone = gone,
    .carry_out = pbs_carry_out,
    .list = pbs_list,
    .list_on = pbs_list_on,
    .parse = pbs_parse,
    .status = status,
    .past = pbs_past,
    .ready = pbs_ready,
    .send = pbs_send,
    .task_id = pbs_task_id,
    .withdraw = pbs_withdraw,
    .fini = pbs_fini,
};

static char *find_pbs_user(void)
{
    const struct passwd *entry = getpwuid(geteuid());

    return entry != NULL ? xstrdup(entry->pw_name) : NULL;
}

static struct adapter *pbs_create(const struct adapter_host *host, struct error *err)
{
    struct pbs *pbs = xcalloc(1, sizeof *pbs);

    pbs->shell = host->runner;
    if ((host->config != NULL && jsonx_string(host->config, "", "shell", JSONX_OPTIONAL, &pbs->shell, err) < 0) ||
        batch_init(&pbs->batch, &system_pbs, host, NULL, NULL, err) < 0) {
        free(pbs);
        return NULL;
    }
    pbs->user = find_pbs_user();
    pbs->batch.gathering.no_gaps = true; /* -J takes one range */
    return &pbs->batch;
}

static const struct adapter_setting settings[] = {
    {"poll", "15s", "between questions about jobs; there is one for all of them, by qstat"},
    {"timeout", "60s", "how long one command of PBS's may take; nothing is concluded from one that takes longer"},
    {"gather", "2s",
     "how long a job may wait for others like it, with which it goes as one job array; 0s: each goes by a qsub of its "
     "own"},
    {"extra", "[]",
     "options for every qsub, before those of an ensemble's resources.extra, e.g. [\"-l\", \"place=excl\"]"},
    {"environment", "[]",
     "names of the daemon's variables that jobs see besides PATH, LANG and others alike, which hold no secrets"},
    {"connections", "240",
     "how many connections to the server PBS's commands may make in a minute; each takes a port below 1024 of this "
     "host, of which there are 511 for all users, and blocks it for a minute"},
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
    .create = pbs_create,
    .destroy = batch_destroy,
    .ready = batch_ready,
    .check = pbs_check,
    BATCH_METHODS,
};

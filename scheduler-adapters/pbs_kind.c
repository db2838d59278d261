/* Finds out which PBS is there: by the version, which qstat prints without asking a server, or else by whether it can
 * print JSON. */
#include "scheduler-adapters/pbs.h"

#include <string.h>

static void kind_answered(struct pbs *pbs)
{
    batch_waited(&pbs->waiting_for_kind);
    batch_idle(&pbs->batch);
}

static void found(struct pbs *pbs, enum pbs_kind kind)
{
    const struct adapter_host *host = &pbs->batch.host;

    pbs->kind = kind;
    host->log(host->arg, ADAPTER_LOG_INFO, NULL,
              kind == PBS_KIND_TORQUE ? "PBS is Torque" : "PBS is OpenPBS or PBS Pro");
    kind_answered(pbs);
}

/* Torque knows no -F, and prints its usage (exit status 2). */
static void tried_json(void *arg, struct command_result *result)
{
    struct pbs *pbs = arg;

    if (result->end == COMMAND_EXITED && result->out[0] == '{') {
        found(pbs, PBS_KIND_OPENPBS);
    } else if (result->end == COMMAND_EXITED && result->status == 2) {
        found(pbs, PBS_KIND_TORQUE);
    } else {
        if (batch_check(result, "qstat", &pbs->kind_unknown) == 0)
            error_set(&pbs->kind_unknown, "batch_system_unsure", "qstat: not known which PBS this is");
        kind_answered(pbs);
    }
}

/* Looks for "pbs_version = 23.06.06", which goes to standard output, or "Version: 6.1.3" and "version: 2.5.13", which
 * go to standard error. */
static void versioned(void *arg, struct command_result *result)
{
    struct pbs *pbs = arg;
    static const char *const json[] = {"-f", "-F", "json", NULL};

    if (strstr(result->out, "pbs_version") != NULL || strstr(result->err, "pbs_version") != NULL)
        found(pbs, PBS_KIND_OPENPBS);
    else if (result->end == COMMAND_EXITED &&
             (strstr(result->out, "ersion: ") != NULL || strstr(result->err, "ersion: ") != NULL))
        found(pbs, PBS_KIND_TORQUE);
    else
        batch_run(&pbs->batch, pbs->batch.questions, PBS_QSTAT, json, NULL, PBS_LIST_MAX, tried_json, pbs);
}

void pbs_kind_ready(struct pbs *pbs, void (*go)(void *arg), void *arg)
{
    static const char *const version[] = {"--version", NULL};

    if (pbs->kind != PBS_KIND_UNKNOWN) {
        go(arg);
        return;
    }
    if (!batch_wait(&pbs->waiting_for_kind, go, arg))
        return;
    batch_busy(&pbs->batch);
    batch_run(&pbs->batch, pbs->batch.questions, PBS_QSTAT, version, NULL, BATCH_WORDS_MAX, versioned, pbs);
}

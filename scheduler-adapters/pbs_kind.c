/* Which PBS it is: by the version that qstat tells without asking a server, else by whether it can print JSON. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct pbs_waiting {
    struct pbs_waiting *next;
    pbs_kind_cb *go;
    void *arg;
};

static void tell(struct adapter *a, const struct error *err)
{
    struct pbs_waiting *list = a->waiting_for_kind, *next;

    a->waiting_for_kind = NULL;
    for (; list != NULL; list = next) {
        next = list->next;
        list->go(list->arg, err);
        free(list);
    }
    pbs_idle(a);
}

static void found(struct adapter *a, enum pbs_kind kind)
{
    a->kind = kind;
    a->host.log(a->host.arg, ADAPTER_LOG_INFO, NULL, kind == PBS_KIND_TORQUE ? "PBS is Torque" : "PBS is OpenPBS or PBS Pro");
    tell(a, NULL);
}

/* Torque has no -F, and says how it is to be used (exit status 2). */
static void tried_json(void *arg, struct command_result *result)
{
    struct adapter *a = arg;
    struct error err;

    if (result->end == COMMAND_EXITED && result->out[0] == '{') {
        found(a, PBS_KIND_OPENPBS);
    } else if (result->end == COMMAND_EXITED && result->status == 2) {
        found(a, PBS_KIND_TORQUE);
    } else {
        if (pbs_check(result, "qstat", &err) == 0)
            error_set(&err, "batch_system_unsure", "qstat: not known which PBS this is");
        tell(a, &err);
    }
}

/* "pbs_version = 23.06.06", "Version: 6.1.3" and "version: 2.5.13", the one on standard output, the others on error. */
static void versioned(void *arg, struct command_result *result)
{
    struct adapter *a = arg;

    if (strstr(result->out, "pbs_version") != NULL || strstr(result->err, "pbs_version") != NULL)
        found(a, PBS_KIND_OPENPBS);
    else if (result->end == COMMAND_EXITED && (strstr(result->out, "ersion: ") != NULL || strstr(result->err, "ersion: ") != NULL))
        found(a, PBS_KIND_TORQUE);
    else
        pbs_run(a, a->questions, PBS_QSTAT, (const char *const[]){"-f", "-F", "json", NULL}, NULL, PBS_LIST_MAX, tried_json, a);
}

void pbs_kind_ready(struct adapter *a, pbs_kind_cb *go, void *arg)
{
    struct pbs_waiting *waiting, **last = &a->waiting_for_kind;

    if (a->kind != PBS_KIND_UNKNOWN) {
        go(arg, NULL);
        return;
    }
    while (*last != NULL)
        last = &(*last)->next;
    waiting = *last = xcalloc(1, sizeof *waiting);
    *waiting = (struct pbs_waiting){.go = go, .arg = arg};
    if (a->waiting_for_kind != waiting)
        return;
    pbs_busy(a);
    pbs_run(a, a->questions, PBS_QSTAT, (const char *const[]){"--version", NULL}, NULL, PBS_WORDS_MAX, versioned, a);
}

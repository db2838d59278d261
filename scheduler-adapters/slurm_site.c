/* Reads `scontrol show config`: the site's record of ended jobs, and the limit for arrays. It is asked until it has
 * answered once: a change of these settings needs a restart of slurmctld, and is rare. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Finds the value of "KEY   = value"; "" if there is none. */
static void config_value(const char *text, const char *key, char *out, size_t size)
{
    const char *at = text;
    size_t n = strlen(key);

    out[0] = '\0';
    while (at != NULL && strncmp(at, key, n) != 0) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL)
        return;
    at += n + strspn(at + n, " =");
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static void configured(void *arg, struct command_result *result)
{
    struct slurm *a = arg;
    char accounting[128], completion[128], file[512], size[32];

    if (batch_check(result, "scontrol", &a->site_unknown) == 0) {
        config_value(result->out, "AccountingStorageType", accounting, sizeof accounting);
        config_value(result->out, "JobCompType", completion, sizeof completion);
        config_value(result->out, "JobCompLoc", file, sizeof file);
        config_value(result->out, "MaxArraySize", size, sizeof size);
        config_value(result->out, "ClusterName", a->cluster, sizeof a->cluster);
        a->batch.gathering.array_max = strtoul(size, NULL, 10) > 1 ? strtoul(size, NULL, 10) - 1 : 1;
        if (strcmp(accounting, "accounting_storage/slurmdbd") == 0) {
            a->record = SLURM_RECORD_SACCT;
        } else if (strcmp(completion, "jobcomp/filetxt") == 0 && file[0] == '/' && access(file, R_OK) == 0) {
            a->record = SLURM_RECORD_FILE;
            a->record_file = xstrdup(file);
        } else {
            a->record = SLURM_RECORD_NONE;
        }
    }
    batch_waited(&a->site_waiting);
    batch_idle(&a->batch);
}

void slurm_site_ready(struct slurm *a, void (*go)(void *arg), void *arg)
{
    if (a->record != SLURM_RECORD_UNASKED) {
        go(arg);
        return;
    }
    if (!batch_wait(&a->site_waiting, go, arg))
        return;
    batch_busy(&a->batch);
    batch_run(&a->batch, a->batch.questions, SLURM_SCONTROL, (const char *const[]){"show", "config", NULL}, NULL,
              BATCH_WORDS_MAX, configured, a);
}

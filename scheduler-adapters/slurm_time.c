/* The time limit to ask for. At the walltime the runner ends its tasks itself, and they have their grace after that. If
 * Slurm's limit were the same, Slurm would end a job that started slowly first, as if somebody had cancelled it. So a
 * job asks for the walltime, the grace and a little more; but not for more than its partition allows, as long as the
 * walltime alone is allowed. The partitions' limits are asked for now and then. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_MS 60000
#define SPARE_MS 30000
#define ASK_AGAIN_MS 600000

struct slurm_partition {
    char name[64];
    bool is_default;
    int64_t minutes; /* INT64_MAX: no limit */
};

/* Reads "30:00", "1:00:00", "2-00:00:00" or "infinite"; anything else counts as no limit. */
static int64_t parse_minutes(const char *text)
{
    long long days = 0, a = 0, b = 0, c = 0;
    const char *dash = strchr(text, '-');
    int n;

    if (dash != NULL && sscanf(text, "%lld-", &days) != 1)
        return INT64_MAX;
    n = sscanf(dash != NULL ? dash + 1 : text, "%lld:%lld:%lld", &a, &b, &c);
    if (n == 3 && days >= 0 && days < 100000 && a >= 0 && a < 1000000)
        return days * 1440 + a * 60 + b;
    return n == 2 && dash == NULL ? a : INT64_MAX;
}

void slurm_times_add(struct slurm_times *times, const char *name, bool is_default, int64_t minutes)
{
    struct slurm_partition *p;

    times->partitions = xrealloc(times->partitions, times->n + 1, sizeof *times->partitions);
    p = &times->partitions[times->n++];
    *p = (struct slurm_partition){.is_default = is_default, .minutes = minutes};
    snprintf(p->name, sizeof p->name, "%s", name);
}

void slurm_times_clear(struct slurm_times *times)
{
    free(times->partitions);
    *times = (struct slurm_times){0};
}

bool slurm_times_hold(struct slurm_times *times, uint64_t now)
{
    return now < times->until;
}

void slurm_times_set(struct slurm_times *times, uint64_t now)
{
    times->until = now + ASK_AGAIN_MS;
}

/* Reads the lines "NAME|LIMIT", where the name of the default partition ends with a star. */
static void take_limits(struct slurm_times *times, char *text)
{
    char *rest = NULL;

    slurm_times_clear(times);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char *limit = strchr(line, '|');
        bool is_default = limit != NULL && limit > line && limit[-1] == '*';

        if (limit == NULL)
            continue;
        limit[is_default ? -1 : 0] = '\0';
        slurm_times_add(times, line, is_default, parse_minutes(limit + 1));
    }
}

static void sinfo_ended(void *arg, struct command_result *result)
{
    struct slurm *a = arg;
    struct error err;

    if (batch_check(result, "sinfo", &err) == 0) {
        take_limits(&a->times, result->out);
        slurm_times_set(&a->times, uv_now(a->batch.host.loop));
    }
    batch_waited(&a->time_waiting);
    batch_idle(&a->batch);
}

void slurm_time_ready(struct slurm *a, void (*go)(void *arg), void *arg)
{
    if (slurm_times_hold(&a->times, uv_now(a->batch.host.loop))) {
        go(arg);
        return;
    }
    if (!batch_wait(&a->time_waiting, go, arg))
        return;
    batch_busy(&a->batch);
    batch_run(&a->batch, a->batch.questions, SLURM_SINFO, (const char *const[]){"-h", "-a", "-o", "%P|%l", NULL}, NULL,
              SLURM_LIST_MAX, sinfo_ended, a);
}

/* Returns the partition that the last such option names; of a list of partitions, the caller uses the first. */
static const char *named_in(const json_t *extra, const char *otherwise)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)extra, i, item) {
        const char *word = json_string_value(item), *next = json_string_value(json_array_get(extra, i + 1));

        if (strncmp(word, "--partition=", 12) == 0)
            otherwise = word + 12;
        else if (strncmp(word, "-p", 2) == 0 && word[2] != '\0')
            otherwise = word + 2;
        else if ((strcmp(word, "-p") == 0 || strcmp(word, "--partition") == 0) && next != NULL)
            otherwise = next;
    }
    return otherwise;
}

int64_t slurm_times_minutes(const struct slurm_times *times, const json_t *extra, const struct adapter_job *job)
{
    const char *name = named_in(job->resources.extra, named_in(extra, job->resources.queue));
    int64_t least = (job->resources.walltime_ms + MINUTE_MS - 1) / MINUTE_MS;
    int64_t most = (job->resources.walltime_ms + job->grace_ms + SPARE_MS + MINUTE_MS - 1) / MINUTE_MS;
    size_t n = name != NULL ? strcspn(name, ",") : 0;

    for (size_t i = 0; i < times->n; i++) {
        const struct slurm_partition *p = &times->partitions[i];

        if (name == NULL ? p->is_default : strlen(p->name) == n && strncmp(p->name, name, n) == 0)
            return most <= p->minutes ? most : least > p->minutes ? least : p->minutes;
    }
    return least;
}

#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct times_waiting {
    struct slurmrestd *a;
    void (*go)(void *arg);
    void *arg;
};

/* Returns a partition's limit: max_time_limit in old versions, maximums.time in later ones; INT64_MAX if there is
 * none. */
static int64_t minutes_of(const json_t *partition)
{
    const json_t *limit = json_object_get(partition, "max_time_limit");
    int64_t minutes =
        slurmrestd_number(limit != NULL ? limit : json_object_get(json_object_get(partition, "maximums"), "time"));

    return minutes > 0 ? minutes : INT64_MAX;
}

static bool is_default(const json_t *partition)
{
    const json_t *flag;
    size_t i;

    json_array_foreach (json_object_get(partition, "flags"), i, flag)
        if (json_is_string(flag) && strcasecmp(json_string_value(flag), "default") == 0)
            return true;
    return false;
}

void slurmrestd_read_times(struct slurm_times *times, const char *text)
{
    json_t *doc = json_loads(text, 0, NULL), *partition;
    size_t i;

    slurm_times_clear(times);
    json_array_foreach (json_object_get(doc, "partitions"), i, partition) {
        const char *name = json_string_value(json_object_get(partition, "name"));

        if (name != NULL)
            slurm_times_add(times, name, is_default(partition), minutes_of(partition));
    }
    json_decref(doc);
}

static void go_on_waiting(struct times_waiting *waiting)
{
    struct times_waiting copy = *waiting;

    free(waiting);
    copy.go(copy.arg);
}

static void partitions_listed(void *arg, struct rest_result *result)
{
    struct times_waiting *waiting = arg;
    struct slurmrestd *a = waiting->a;
    struct error err;

    if (slurmrestd_check(a, result, &err) == 0) {
        slurmrestd_read_times(&a->times, result->body);
        slurm_times_set(&a->times, uv_now(a->batch.host.loop));
    }
    go_on_waiting(waiting);
}

static void version_known(void *arg)
{
    struct times_waiting *waiting = arg;
    struct slurmrestd *a = waiting->a;

    if (a->version == 0 || slurm_times_hold(&a->times, uv_now(a->batch.host.loop)))
        go_on_waiting(waiting);
    else
        slurmrestd_ask(a, "GET", "/partitions", NULL, SLURM_LIST_MAX, partitions_listed, waiting);
}

/* batch_gather.c calls this for one sending at a time, so the callers need no list. */
void slurmrestd_ready(struct adapter *a, void (*go)(void *arg), void *arg)
{
    struct times_waiting *waiting = xcalloc(1, sizeof *waiting);

    *waiting = (struct times_waiting){slurmrestd_of(a), go, arg};
    slurmrestd_version_ready(waiting->a, version_known, waiting);
}

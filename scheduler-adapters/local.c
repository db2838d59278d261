/* The adapter for this machine: create, destroy, check, submit. */
#include "scheduler-adapters/local.h"

#include "common/jsonx.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct adapter_ops adapter_local;

/* A training holds a slot while its members need another: one CPU still gets two. */
static int64_t default_slots(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);

    return n > 2 ? n : 2;
}

/* /dev/nvidia0, /dev/nvidia1, … */
static int64_t default_gpus(void)
{
    DIR *dev = opendir("/dev");
    struct dirent *entry;
    int64_t n = 0;

    while (dev != NULL && (entry = readdir(dev)) != NULL) {
        const char *number = entry->d_name + 6;

        n += strncmp(entry->d_name, "nvidia", 6) == 0 && *number && number[strspn(number, "0123456789")] == '\0';
    }
    if (dev != NULL)
        closedir(dev);
    return n;
}

static int read_config(const json_t *config, struct local_need *have, struct error *err)
{
    static const char *const known[] = {"slots", "gpus", NULL};

    have->slots = default_slots();
    have->gpus = default_gpus();
    if (config == NULL)
        return 0;
    if (jsonx_int(config, "", "slots", JSONX_OPTIONAL, 1, 1000000, &have->slots, err) < 0 ||
        jsonx_int(config, "", "gpus", JSONX_OPTIONAL, 0, 1024, &have->gpus, err) < 0 ||
        jsonx_only(config, "", known, err) < 0)
        return -1;
    return 0;
}


static struct adapter *create(const struct adapter_host *host, struct error *err)
{
    struct adapter *a = xcalloc(1, sizeof *a);

    if (read_config(host->config, &a->have, err) < 0) {
        free(a);
        return NULL;
    }
    a->host = *host;
    a->host.config = NULL;
    gethostname(a->hostname, sizeof a->hostname - 1);
    a->answers = answers_create(host->loop);
    uv_timer_init(host->loop, &a->retry);
    a->retry.data = a;
    return a;
}

static void answers_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    free(a);
    destroyed(destroyed_arg);
}

static void retry_closed(uv_handle_t *handle)
{
    struct adapter *a = handle->data;

    answers_destroy(a->answers, answers_gone, a);
}

static void finish_destroy(struct adapter *a)
{
    while (a->jobs != NULL)
        local_job_free(*(struct local_job **)a->jobs);
    uv_close((uv_handle_t *)&a->retry, retry_closed);
}

/* Jobs go on; workers under way hurry, and their questions are answered with ADAPTER_UNSURE. */
static void destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    a->destroyed = done;
    a->destroyed_arg = arg;
    atomic_store(&a->closing, true);
    if (a->workers == 0)
        finish_destroy(a);
}

void local_worker_done(struct adapter *a)
{
    a->workers--;
    if (atomic_load(&a->closing) && a->workers == 0)
        finish_destroy(a);
}

static void poke_now(void *arg)
{
    struct adapter *a = arg;

    a->poke_queued = false;
    if (!atomic_load(&a->closing))
        a->host.poke(a->host.arg);
}

void local_poke(struct adapter *a)
{
    if (a->poke_queued || atomic_load(&a->closing))
        return;
    a->poke_queued = true;
    answers_call(a->answers, poke_now, a);
}

struct local_need local_need(const struct adapter_resources *want)
{
    return (struct local_need){
        .slots = (int64_t)want->copies * want->tasks * want->cpus_per_task,
        .gpus = (int64_t)want->copies * want->gpus,
    };
}

#define IMPOSSIBLE "resources_impossible"

/* Queue and account are accepted and ignored: a machine has none, and specs are moved between machines. */
static int check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    struct local_need need = local_need(want);
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    const char *for_copies = want->copies > 1 ? " together" : "";

    if (want->nodes > 1)
        return error_at(err, IMPOSSIBLE, "/nodes", "%d nodes are wanted, and the local adapter has one", want->nodes);
    if (want->cpus_per_task > a->have.slots)
        return error_at(err, IMPOSSIBLE, "/cpus_per_task", "%d CPUs a task are wanted, and the local adapter has %lld",
                        want->cpus_per_task, (long long)a->have.slots);
    if (need.slots > a->have.slots)
        return error_at(err, IMPOSSIBLE, "/tasks",
                        "%d × %d tasks of %d CPUs need %lld CPUs%s, and the local adapter has %lld", want->copies,
                        want->tasks, want->cpus_per_task, (long long)need.slots, for_copies, (long long)a->have.slots);
    if (need.gpus > a->have.gpus)
        return error_at(err, IMPOSSIBLE, "/gpus", "%lld GPUs are wanted%s, and the local adapter has %lld",
                        (long long)need.gpus, for_copies, (long long)a->have.gpus);
    if (want->memory > 0 && want->memory > memory / want->copies)
        return error_at(err, IMPOSSIBLE, "/memory", "%d × %lld bytes of memory are wanted, and this machine has %lld",
                        want->copies, (long long)want->memory, (long long)memory);
    return 0;
}

static int slots(struct adapter *a)
{
    return (int)a->have.slots;
}

static void submit(struct adapter *a, const struct adapter_job *wanted, adapter_submit_cb *cb, void *arg)
{
    struct local_job *job = local_job_find(a, wanted->name);
    struct error err = {0};

    if (job != NULL) { /* the answer to the first submission was lost */
        answers_submit(a->answers, cb, arg, ADAPTER_OK, job->status.scheduler_id, NULL);
        return;
    }
    if (check(a, &wanted->resources, &err) < 0) {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &err);
        return;
    }
    job = local_job_create(a, wanted);
    local_enqueue(job);
    local_schedule(a);
    if (job->state == LOCAL_ENDED) {
        error_set(&err, "submit_refused", "%s", job->status.reason);
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &err);
        return;
    }
    answers_submit(a->answers, cb, arg, ADAPTER_OK, job->status.scheduler_id, NULL);
}

const struct adapter_ops adapter_local = {
    .abi = ADAPTER_ABI,
    .name = "local",
    .exact = true,
    .create = create,
    .destroy = destroy,
    .check = check,
    .slots = slots,
    .submit = submit,
    .poll = local_poll,
    .find = local_poll, /* what is not in memory is looked up in the run directory by both */
    .cancel = local_cancel,
    .signal = local_signal,
};

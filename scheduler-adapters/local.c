/* The adapter for this machine: create, destroy, check, submit. */
#include "scheduler-adapters/local.h"

#include "common/xalloc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct adapter_ops adapter_local;

static void free_machine(struct adapter *a)
{
    for (int64_t i = 0; i < a->have.gpus; i++)
        free(a->gpus[i].id);
    free(a->gpus);
    free(a);
}

static void child_ended(uv_signal_t *handle, int signum)
{
    local_wait(handle->data);
}

static struct adapter *local_create(const struct adapter_host *host, struct error *err)
{
    struct adapter *a = xcalloc(1, sizeof *a);

    if (local_machine(a, host->config, err) < 0) {
        free_machine(a);
        return NULL;
    }
    a->host = *host;
    a->host.config = NULL;
    gethostname(a->hostname, sizeof a->hostname - 1);
    a->answers = answers_create(host->loop);
    local_start_init(a);
    uv_timer_init(host->loop, &a->retry);
    uv_signal_init(host->loop, &a->sigchld);
    a->retry.data = a->sigchld.data = a;
    a->handles = 3;
    local_stopped_start(a);
    uv_signal_start(&a->sigchld, child_ended, SIGCHLD);
    return a;
}

static void answers_gone(void *arg)
{
    struct adapter *a = arg;
    void (*destroyed)(void *) = a->destroyed;
    void *destroyed_arg = a->destroyed_arg;

    local_start_fini(a);
    free_machine(a);
    destroyed(destroyed_arg);
}

static void handle_closed(uv_handle_t *handle)
{
    struct adapter *a = handle->data;

    if (--a->handles == 0)
        answers_destroy(a->answers, answers_gone, a);
}

static void finish_destroy(struct adapter *a)
{
    local_starter_stop(a);
    while (a->jobs != NULL)
        local_job_free(a->jobs);
    uv_close((uv_handle_t *)&a->retry, handle_closed);
    uv_close((uv_handle_t *)&a->stopped, handle_closed);
    uv_close((uv_handle_t *)&a->sigchld, handle_closed);
}

/* Jobs go on; workers under way hurry, and their questions are answered with ADAPTER_UNSURE. */
static void local_destroy(struct adapter *a, void (*done)(void *arg), void *arg)
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
        /* an overflow becomes a need that no machine meets */
        .memory = want->memory > INT64_MAX / want->copies ? INT64_MAX : want->memory * want->copies,
    };
}

#define IMPOSSIBLE "resources_impossible"

/* Accepts and ignores queue and account: a machine has none, but specs are moved between machines. */
static int local_check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    struct local_need need = local_need(want);
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
    if (need.memory > a->have.memory)
        return error_at(err, IMPOSSIBLE, "/memory",
                        "%d × %lld bytes of memory are wanted, and the local adapter has %lld", want->copies,
                        (long long)want->memory, (long long)a->have.memory);
    return 0;
}

static int local_slots(struct adapter *a)
{
    return (int)a->have.slots;
}

static void local_submit(struct adapter *a, const struct adapter_job *wanted, adapter_submit_cb *cb, void *arg)
{
    struct local_job *job = local_job_find(a, wanted->name);
    struct error err = {0};

    if (job != NULL) { /* the answer to the first submission was lost */
        answers_submit(a->answers, cb, arg, ADAPTER_OK, job->status.scheduler_id, NULL);
        return;
    }
    if (local_check(a, &wanted->resources, &err) < 0) {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &err);
        return;
    }
    job = local_job_create(a, wanted);
    local_enqueue(job);
    local_schedule(a);
    if (job->state == LOCAL_STARTING) {
        job->submitted = cb;
        job->submitted_arg = arg;
        return;
    }
    answers_submit(a->answers, cb, arg, ADAPTER_OK, job->status.scheduler_id, NULL);
}

static const struct adapter_setting settings[] = {
    {"slots", "as many as the CPUs that the daemon may use", "how many CPUs members and trainings may take at once"},
    {"gpus", "as many as the machine has", "how many GPUs they may take: a number, or a list of their ids"},
    {"memory", "as much as the machine has, or the daemon's control group may use",
     "how much memory they may ask for at once"},
    {"stopped", "5m", "how long a runner may be stopped, as by SIGSTOP, before it is killed and its members run again"},
    {0},
};

const struct adapter_ops adapter_local = {
    .abi = ADAPTER_ABI,
    .name = "local",
    .same_host = true,
    .settings = settings,
    .hands_over = true,
    .exact = true,
    .create = local_create,
    .destroy = local_destroy,
    .check = local_check,
    .slots = local_slots,
    .submit = local_submit,
    .poll = local_poll,
    .find = local_poll, /* both look jobs that are not in memory up in the run directory */
    .cancel = local_cancel,
    .signal = local_signal,
};

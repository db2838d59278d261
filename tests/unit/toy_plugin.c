/* A plugin for test_plugin, which loads copies of it: an adapter that has all that is needed and does nothing. As it is
 * loaded it takes its version from TOY_ABI and its name from TOY_NAME, and drops the method that TOY_WITHOUT names. */
#include "scheduler-adapters/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct adapter *create(const struct adapter_host *host, struct error *err)
{
    return NULL;
}

static void destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
}

static int check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    return 0;
}

static int slots(struct adapter *a)
{
    return 0;
}

static void submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg)
{
}

static void look(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
}

static void cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
}

static void send_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
}

extern struct adapter_ops stretto_adapter;
struct adapter_ops stretto_adapter = {
    .abi = ADAPTER_ABI,
    .name = "toy",
    .create = create,
    .destroy = destroy,
    .check = check,
    .slots = slots,
    .submit = submit,
    .poll = look,
    .find = look,
    .cancel = cancel,
    .signal = send_signal,
};

#define DROP(method)                                                                                                   \
    if (strcmp(without, #method) == 0)                                                                                 \
    stretto_adapter.method = NULL

static __attribute__((constructor)) void change(void)
{
    static char name_kept[100];
    const char *abi = getenv("TOY_ABI"), *name = getenv("TOY_NAME"), *without = getenv("TOY_WITHOUT");

    if (abi != NULL)
        stretto_adapter.abi = atoi(abi);
    if (name != NULL) {
        snprintf(name_kept, sizeof name_kept, "%s", name);
        stretto_adapter.name = name_kept;
    }
    if (without == NULL)
        return;
    DROP(name);
    DROP(create);
    DROP(destroy);
    DROP(check);
    DROP(slots);
    DROP(submit);
    DROP(poll);
    DROP(find);
    DROP(cancel);
    DROP(signal);
}

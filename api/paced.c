#include "api/paced.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <utlist.h>

struct paced {
    const struct api_config *config;
    uv_idle_t idle; /* active while somebody waits */
    struct paced_waiter *waiting;
};

static void call_paced_waiter(uv_idle_t *idle)
{
    struct paced *paced = idle->data;
    struct paced_waiter *first = paced->waiting;

    /* without a reader connection, a reply would show changes that may yet be rolled back */
    if (paced->config->reader == NULL && store_dirty(paced->config->store))
        return;
    DL_DELETE(paced->waiting, first);
    first->piece(first, false);
    if (paced->waiting == NULL)
        uv_idle_stop(idle);
}

struct paced *paced_create(const struct api_config *config)
{
    struct paced *paced = xcalloc(1, sizeof *paced);

    paced->config = config;
    uv_idle_init(config->loop, &paced->idle);
    paced->idle.data = paced;
    return paced;
}

static void free_paced(uv_handle_t *handle)
{
    free(handle->data);
}

void paced_destroy(struct paced *paced)
{
    while (paced->waiting != NULL) {
        struct paced_waiter *first = paced->waiting;

        DL_DELETE(paced->waiting, first);
        first->piece(first, true);
    }
    uv_close((uv_handle_t *)&paced->idle, free_paced);
}

void paced_wait(struct paced *paced, struct paced_waiter *waiter)
{
    DL_APPEND(paced->waiting, waiter);
    uv_idle_start(&paced->idle, call_paced_waiter);
}

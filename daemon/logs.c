#include "daemon/logs.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <signal.h>
#include <stdlib.h>

#define SETTLE_MS 10000

struct logs {
    uv_signal_t hup;
    uv_timer_t settle;
    int open_handles;
};

static void on_hup(uv_signal_t *handle, int signum)
{
    log_reopen();
    log_info("signal %d: the log's file is opened anew", signum);
}

static void on_settle(uv_timer_t *timer)
{
    log_settle();
}

struct logs *logs_create(uv_loop_t *loop)
{
    struct logs *logs = xcalloc(1, sizeof *logs);

    uv_signal_init(loop, &logs->hup);
    uv_timer_init(loop, &logs->settle);
    logs->hup.data = logs->settle.data = logs;
    logs->open_handles = 2;
    uv_signal_start(&logs->hup, on_hup, SIGHUP);
    uv_timer_start(&logs->settle, on_settle, SETTLE_MS, SETTLE_MS);
    uv_unref((uv_handle_t *)&logs->hup); /* must not keep the loop running, for example while Python is looked for */
    uv_unref((uv_handle_t *)&logs->settle);
    return logs;
}

static void logs_handle_closed(uv_handle_t *handle)
{
    struct logs *logs = handle->data;

    if (--logs->open_handles == 0)
        free(logs);
}

void logs_destroy(struct logs *logs)
{
    if (logs == NULL)
        return;
    uv_close((uv_handle_t *)&logs->hup, logs_handle_closed);
    uv_close((uv_handle_t *)&logs->settle, logs_handle_closed);
}

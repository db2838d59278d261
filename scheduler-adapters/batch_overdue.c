/* Cancelled jobs whose runners do not end in time: the batch system kills them, after they were looked up once more. */
#include "scheduler-adapters/batch.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OVERRUN_MS 15000
#define KILL_AGAIN_MS 60000 /* batch systems themselves wait some seconds between their SIGTERM and their SIGKILL */

struct batch_overdue {
    struct batch_overdue *next;
    char name[64];
    uint64_t due; /* loop time */
};

static void overdue_timer_rang(uv_timer_t *timer);

static void set_overdue_timer(struct adapter *a)
{
    uint64_t first = UINT64_MAX, now = uv_now(a->host.loop);

    for (const struct batch_overdue *overdue = a->orders.overdue; overdue != NULL; overdue = overdue->next)
        first = overdue->due < first ? overdue->due : first;
    if (first != UINT64_MAX && !a->closing)
        uv_timer_start(&a->orders.timer, overdue_timer_rang, first > now ? first - now : 0, 0);
}

void batch_overdue_add(struct adapter *a, const char *name, int64_t grace_ms)
{
    struct batch_overdue *overdue;

    if (a->closing) /* the list is freed already */
        return;
    for (overdue = a->orders.overdue; overdue != NULL; overdue = overdue->next)
        if (strcmp(overdue->name, name) == 0)
            return; /* it was cancelled before */
    overdue = xcalloc(1, sizeof *overdue);
    snprintf(overdue->name, sizeof overdue->name, "%s", name);
    overdue->due = uv_now(a->host.loop) + (uint64_t)(grace_ms + a->orders.overrun_ms);
    overdue->next = a->orders.overdue;
    a->orders.overdue = overdue;
    set_overdue_timer(a);
}

static void killed(void *arg, const struct error *err)
{
    batch_idle(arg);
}

/* Kills the running jobs of that name. Returns how many there were. */
static size_t kill_all(struct adapter *a, const struct batch_rows *rows, const char *name)
{
    size_t n, i;
    const struct batch_row *row = batch_rows_find(rows, name, &n);

    for (i = 0; i < n && row[i].phase == BATCH_RUNS; i++) { /* running jobs come first */
        batch_busy(a);
        batch_carry_out(a, BATCH_KILL, true, &row[i].id, 1, killed, a);
    }
    return i;
}

static void log_overdue(struct adapter *a, size_t n, const char *name)
{
    char sentence[120];

    snprintf(sentence, sizeof sentence, "%zu jobs did not end in time after they were cancelled: killing them", n);
    if (n > 0)
        a->host.log(a->host.arg, ADAPTER_LOG_WARN, n == 1 ? name : NULL,
                    n == 1 ? "it did not end in time after it was cancelled: killing it" : sentence);
}

static void look_at_overdue(void *arg, const struct batch_rows *rows, const struct error *err)
{
    struct adapter *a = arg;
    uint64_t now = uv_now(a->host.loop);
    struct batch_overdue **at = &a->orders.overdue;
    size_t running, n = 0;
    char last[64] = "";

    while (*at != NULL) {
        struct batch_overdue *overdue = *at;

        if (overdue->due > now) {
            at = &overdue->next;
            continue;
        }
        running = rows != NULL ? kill_all(a, rows, overdue->name) : 0;
        n += running;
        if (running > 0)
            memcpy(last, overdue->name, sizeof last);
        if (rows == NULL || running > 0) {
            overdue->due = now + (uint64_t)a->orders.kill_again_ms;
            at = &overdue->next;
        } else {
            *at = overdue->next;
            free(overdue);
        }
    }
    log_overdue(a, n, last);
    set_overdue_timer(a);
    batch_idle(a);
}

static void overdue_timer_rang(uv_timer_t *timer)
{
    struct adapter *a = timer->data;

    batch_busy(a);
    batch_look(a, look_at_overdue, a);
}

void batch_overdue_init(struct adapter *a)
{
    uv_timer_init(a->host.loop, &a->orders.timer);
    a->orders.timer.data = a;
    a->orders.overrun_ms = OVERRUN_MS;
    a->orders.kill_again_ms = KILL_AGAIN_MS;
}

void batch_overdue_stop(struct adapter *a)
{
    while (a->orders.overdue != NULL) {
        struct batch_overdue *overdue = a->orders.overdue;

        a->orders.overdue = overdue->next;
        free(overdue);
    }
    uv_timer_stop(&a->orders.timer);
}

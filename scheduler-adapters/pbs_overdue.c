/* Cancelled jobs whose runners do not end in time: PBS deletes them, after they were looked up once more. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define OVERRUN_MS 15000      /* beyond its grace, before a cancelled job is deleted */
#define DELETE_AGAIN_MS 60000 /* PBS itself waits for 10 s between its TERM and its KILL */

struct pbs_overdue {
    struct pbs_overdue *next;
    char name[64];
    uint64_t due; /* loop time */
};

static void timer_rang(uv_timer_t *timer);

static void set_timer(struct adapter *a)
{
    uint64_t first = UINT64_MAX, now = uv_now(a->host.loop);

    for (const struct pbs_overdue *overdue = a->overdue; overdue != NULL; overdue = overdue->next)
        first = overdue->due < first ? overdue->due : first;
    if (first != UINT64_MAX && !a->closing)
        uv_timer_start(&a->timer, timer_rang, first > now ? first - now : 0, 0);
}

void pbs_note_overdue(struct adapter *a, const char *name, int64_t grace_ms)
{
    struct pbs_overdue *overdue = xcalloc(1, sizeof *overdue);

    snprintf(overdue->name, sizeof overdue->name, "%s", name);
    overdue->due = uv_now(a->host.loop) + (uint64_t)grace_ms + OVERRUN_MS;
    overdue->next = a->overdue;
    a->overdue = overdue;
    set_timer(a);
}

static void deleted(void *arg, struct command_result *result)
{
    pbs_idle(arg);
}

/* Those of the name that run; false: none does. */
static bool delete_all(struct adapter *a, const struct pbs_rows *rows, const char *name)
{
    size_t n;
    const struct pbs_row *row = pbs_rows_find(rows, name, &n);
    bool runs = false;

    for (size_t i = 0; row != NULL && i < n && row[i].phase == PBS_RUNS; i++) {
        const char *const args[] = {row[i].id, NULL};

        runs = true;
        a->host.log(a->host.arg, ADAPTER_LOG_WARN, name, "it did not end in time after it was cancelled: deleting it");
        pbs_busy(a);
        pbs_run(a, a->questions, PBS_QDEL, args, NULL, PBS_WORDS_MAX, deleted, a);
    }
    return runs;
}

static void look_at_overdue(void *arg, const struct pbs_rows *rows, const struct error *err)
{
    struct adapter *a = arg;
    uint64_t now = uv_now(a->host.loop);
    struct pbs_overdue **at = &a->overdue;

    while (*at != NULL) {
        struct pbs_overdue *overdue = *at;

        if (overdue->due > now || rows == NULL || delete_all(a, rows, overdue->name)) {
            if (overdue->due <= now)
                overdue->due = now + DELETE_AGAIN_MS;
            at = &overdue->next;
            continue;
        }
        *at = overdue->next;
        free(overdue);
    }
    set_timer(a);
    pbs_idle(a);
}

static void timer_rang(uv_timer_t *timer)
{
    struct adapter *a = timer->data;

    pbs_busy(a);
    pbs_look(a, look_at_overdue, a);
}

void pbs_overdue_init(struct adapter *a)
{
    uv_timer_init(a->host.loop, &a->timer);
    a->timer.data = a;
}

void pbs_overdue_stop(struct adapter *a)
{
    while (a->overdue != NULL) {
        struct pbs_overdue *overdue = a->overdue;

        a->overdue = overdue->next;
        free(overdue);
    }
    uv_timer_stop(&a->timer);
}

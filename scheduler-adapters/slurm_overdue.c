/* Cancelled jobs whose runners do not end in time: Slurm kills them, after they were looked up once more. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define OVERRUN_MS 15000 /* beyond its grace, before a cancelled job is killed */
#define KILL_AGAIN_MS 30000

struct slurm_overdue {
    struct slurm_overdue *next;
    char name[64];
    uint64_t due; /* loop time */
};

static void timer_rang(uv_timer_t *timer);

static void set_timer(struct adapter *a)
{
    uint64_t first = UINT64_MAX, now = uv_now(a->host.loop);

    for (const struct slurm_overdue *overdue = a->overdue; overdue != NULL; overdue = overdue->next)
        first = overdue->due < first ? overdue->due : first;
    if (first != UINT64_MAX && !a->closing)
        uv_timer_start(&a->timer, timer_rang, first > now ? first - now : 0, 0);
}

void slurm_note_overdue(struct adapter *a, const char *name, int64_t grace_ms)
{
    struct slurm_overdue *overdue = xcalloc(1, sizeof *overdue);

    snprintf(overdue->name, sizeof overdue->name, "%s", name);
    overdue->due = uv_now(a->host.loop) + (uint64_t)grace_ms + OVERRUN_MS;
    overdue->next = a->overdue;
    a->overdue = overdue;
    set_timer(a);
}

static void killed(void *arg, struct command_result *result)
{
    slurm_idle(arg);
}

/* Those that still run have had their time. */
static void look_at_overdue(void *arg, const struct slurm_rows *rows, const struct error *err)
{
    struct adapter *a = arg;
    uint64_t now = uv_now(a->host.loop);
    struct slurm_overdue **at = &a->overdue;

    while (*at != NULL) {
        struct slurm_overdue *overdue = *at;
        const char *args[] = {NULL, NULL};
        const struct slurm_row *row;
        bool runs = rows == NULL;
        size_t n;

        if (overdue->due > now) {
            at = &overdue->next;
            continue;
        }
        row = rows != NULL ? slurm_rows_find(rows, overdue->name, &n) : NULL;
        for (size_t i = 0; row != NULL && i < n; i++) {
            if (row[i].phase != SLURM_RUNS)
                continue;
            runs = true;
            args[0] = row[i].id;
            slurm_busy(a);
            a->host.log(a->host.arg, ADAPTER_LOG_WARN, overdue->name,
                        "it did not end in time after it was cancelled: killing it");
            slurm_run(a, a->questions, SLURM_SCANCEL, args, SLURM_WORDS_MAX, killed, a);
        }
        overdue->due = now + KILL_AGAIN_MS;
        if (!runs) {
            *at = overdue->next;
            free(overdue);
        } else {
            at = &overdue->next;
        }
    }
    if (!a->closing)
        set_timer(a);
    slurm_idle(a);
}

static void timer_rang(uv_timer_t *timer)
{
    struct adapter *a = timer->data;

    slurm_busy(a);
    slurm_look(a, look_at_overdue, a);
}

void slurm_overdue_init(struct adapter *a)
{
    uv_timer_init(a->host.loop, &a->timer);
    a->timer.data = a;
}

void slurm_overdue_stop(struct adapter *a)
{
    while (a->overdue != NULL) {
        struct slurm_overdue *overdue = a->overdue;

        a->overdue = overdue->next;
        free(overdue);
    }
    uv_timer_stop(&a->timer);
}

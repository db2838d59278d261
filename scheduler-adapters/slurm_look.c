/* One squeue for all who want to know: those who ask while one is under way share the next. And which jobs were submitted of
 * late, so that one that is asked for twice is submitted once. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct slurm_look {
    struct slurm_look *next;
    slurm_look_cb *cb;
    void *arg;
};

static void start(struct adapter *a);

void slurm_note_submitted(struct adapter *a, const char *name, const char *id)
{
    struct slurm_known *known = xcalloc(1, sizeof *known), *old;

    snprintf(known->name, sizeof known->name, "%s", name);
    snprintf(known->id, sizeof known->id, "%s", id);
    known->since = a->listings;
    HASH_REPLACE_STR(a->known, name, known, old);
    free(old);
}

const char *slurm_known_id(const struct adapter *a, const char *name)
{
    struct slurm_known *known;

    HASH_FIND_STR(a->known, name, known);
    return known != NULL ? known->id : NULL;
}

void slurm_forget_all(struct adapter *a)
{
    struct slurm_known *known, *next;

    HASH_ITER (hh, a->known, known, next) {
        HASH_DEL(a->known, known);
        free(known);
    }
}

/* A listing that began after they were submitted, and does not have them: they have ended, or Slurm has lost them. */
static void forget(struct adapter *a, const struct slurm_rows *rows)
{
    struct slurm_known *known, *next;
    size_t n;

    HASH_ITER (hh, a->known, known, next) {
        const struct slurm_row *row;

        if (known->since >= a->listings)
            continue;
        row = slurm_rows_find(rows, known->name, &n);
        if (row != NULL && row->phase != SLURM_OVER)
            continue;
        HASH_DEL(a->known, known);
        free(known);
    }
}

static void listed(void *arg, struct command_result *result)
{
    struct adapter *a = arg;
    struct slurm_look *list = a->looking, *next;
    struct slurm_rows rows = {0};
    struct error err;
    int rc = slurm_check(result, "squeue", &err);

    a->looking = NULL;
    if (rc == 0)
        rc = slurm_rows_parse(&rows, SLURM_ROWS_SQUEUE, xstrdup(result->out), &err);
    if (rc == 0)
        forget(a, &rows);
    if (a->waiting != NULL)
        start(a);
    for (; list != NULL; list = next) {
        next = list->next;
        list->cb(list->arg, rc == 0 ? &rows : NULL, &err);
        free(list);
    }
    slurm_rows_free(&rows);
    slurm_idle(a);
}

/* By user, and not by names, of which there may be thousands. */
static void start(struct adapter *a)
{
    char uid[16];
    const char *const args[] = {"-h", "-a", "-r", "-t", "all", "-u", uid, "-o", slurm_squeue_format, NULL};

    snprintf(uid, sizeof uid, "%u", (unsigned)geteuid());
    a->looking = a->waiting;
    a->waiting = NULL;
    a->listings++;
    slurm_busy(a);
    slurm_run(a, a->questions, SLURM_SQUEUE, args, SLURM_LIST_MAX, listed, a);
}

void slurm_look(struct adapter *a, slurm_look_cb *cb, void *arg)
{
    struct slurm_look *look = xcalloc(1, sizeof *look), **last = &a->waiting;

    *look = (struct slurm_look){.cb = cb, .arg = arg};
    while (*last != NULL)
        last = &(*last)->next;
    *last = look;
    if (a->looking == NULL)
        start(a);
}

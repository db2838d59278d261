/* What became of jobs: by the listing, for those that it lacks by the record of past ones, and for those that failed the last
 * line of the runner's log. */
#include "scheduler-adapters/slurm.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILED "Slurm: FAILED"
#define HELD "launch failed requeued held" /* Slurm has put it back, without being asked to, and will not start it again */

struct asked {
    char *name, *dir;
    char id[64]; /* "": nothing of it can be in a record */
    bool missing;
};

struct question {
    uv_work_t work;
    struct adapter *a;
    struct asked *asked;
    size_t n;
    int64_t since; /* the first of them was submitted, Unix seconds */
    struct adapter_status *statuses;
    adapter_poll_cb *cb;
    void *arg;
};

static void answer(struct question *q, enum adapter_answer answer, const struct error *err)
{
    struct adapter *a = q->a;

    if (answer != ADAPTER_OK) {
        free(q->statuses);
        q->statuses = NULL;
    }
    answers_poll(a->answers, q->cb, q->arg, answer, q->statuses, q->n, err);
    for (size_t i = 0; i < q->n; i++) {
        free(q->asked[i].name);
        free(q->asked[i].dir);
    }
    free(q->asked);
    free(q);
    slurm_idle(a);
}

static bool may_have_said_why(const struct adapter_status *status)
{
    return status->state == ADAPTER_JOB_ENDED && strncmp(status->reason, FAILED, strlen(FAILED)) == 0;
}

static void read_logs(uv_work_t *work)
{
    struct question *q = work->data;

    for (size_t i = 0; i < q->n; i++) {
        char *path, line[160], *reason = q->statuses[i].reason;
        size_t n = strlen(reason);

        if (!may_have_said_why(&q->statuses[i]))
            continue;
        path = xasprintf("%s/runner.log", q->asked[i].dir);
        file_last_line(path, line, sizeof line);
        free(path);
        if (line[0] != '\0' && strstr(line, "] info: ") == NULL && strstr(line, "] warning: ") == NULL)
            snprintf(reason + n, sizeof q->statuses[i].reason - n, ": %s", line);
    }
}

static void logs_read(uv_work_t *work, int status)
{
    struct question *q = work->data;
    struct error stopped;

    if (q->a->closing) {
        error_set(&stopped, "batch_system_unsure", "the daemon ends");
        answer(q, ADAPTER_UNSURE, &stopped);
        return;
    }
    answer(q, ADAPTER_OK, NULL);
}

static void finish(struct question *q)
{
    for (size_t i = 0; i < q->n; i++) {
        if (!may_have_said_why(&q->statuses[i]))
            continue;
        uv_queue_work(q->a->host.loop, &q->work, read_logs, logs_read);
        return;
    }
    logs_read(&q->work, 0);
}

/* A record of one that goes on, or waits, is behind: the listing would have it. */
static void remembered(void *arg, const struct slurm_rows *rows, const struct error *err)
{
    struct question *q = arg;
    size_t n;

    for (size_t i = 0; rows != NULL && i < q->n; i++) {
        const struct slurm_row *row;

        if (!q->asked[i].missing)
            continue;
        row = slurm_rows_find(rows, q->asked[i].name, &n);
        if (row == NULL || row[n - 1].phase != SLURM_OVER)
            continue;
        while (row->phase != SLURM_OVER)
            row++;
        slurm_status(row, &q->statuses[i]);
    }
    finish(q);
}

static void look_back(struct question *q)
{
    const char **ids = xcalloc(q->n, sizeof *ids);
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++) {
        q->asked[i].missing = q->asked[i].id[0] != '\0' && q->statuses[i].state == ADAPTER_JOB_UNKNOWN;
        if (q->asked[i].missing)
            ids[n++] = q->asked[i].id;
    }
    if (n > 0)
        slurm_past(q->a, ids, n, q->since, remembered, q);
    else
        finish(q);
    free(ids);
}

/* Waiting jobs that no answer is about: second ones of a name, and those of which nobody asked. */
static void tell_surplus(struct adapter *a, const struct slurm_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (!rows->row[i].told && rows->row[i].phase == SLURM_WAITS)
            a->host.surplus(a->host.arg, rows->row[i].name, rows->row[i].id);
}

static void taken_out(void *arg, enum adapter_answer answer, const struct error *err)
{
}

/* One whose launch failed, by a node that was not well. Taken out of the queue it is over, and the daemon starts anew. */
static void take_out_if_held(struct adapter *a, const struct slurm_row *row)
{
    if (row->phase != SLURM_WAITS || strcmp(row->reason, HELD) != 0)
        return;
    a->host.log(a->host.arg, ADAPTER_LOG_WARN, row->name, "Slurm says: " HELD "; it is taken out of the queue");
    slurm_withdraw(a, row->name, row->id, taken_out, NULL);
}

static void listed(void *arg, const struct slurm_rows *rows, const struct error *err)
{
    struct question *q = arg;
    size_t n;

    if (rows == NULL) {
        answer(q, ADAPTER_UNSURE, err);
        return;
    }
    q->statuses = xcalloc(q->n, sizeof *q->statuses);
    for (size_t i = 0; i < rows->n; i++)
        rows->row[i].told = false;
    for (size_t i = 0; i < q->n; i++) {
        struct slurm_row *row = slurm_rows_find(rows, q->asked[i].name, &n);

        q->statuses[i].state = ADAPTER_JOB_UNKNOWN;
        if (row == NULL)
            continue;
        row->told = true;
        slurm_status(row, &q->statuses[i]);
        take_out_if_held(q->a, row);
    }
    tell_surplus(q->a, rows);
    look_back(q);
}

void slurm_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    struct question *q = xcalloc(1, sizeof *q);

    *q = (struct question){.a = a, .n = n, .cb = cb, .arg = arg};
    q->work.data = q;
    q->asked = xcalloc(n, sizeof *q->asked);
    for (size_t i = 0; i < n; i++) {
        int64_t submitted = jobs[i].submitted_ms / 1000;

        q->asked[i] = (struct asked){.name = xstrdup(jobs[i].name), .dir = xstrdup(jobs[i].dir)};
        snprintf(q->asked[i].id, sizeof q->asked[i].id, "%s", jobs[i].scheduler_id != NULL ? jobs[i].scheduler_id : "");
        if (submitted > 0 && (q->since == 0 || submitted < q->since))
            q->since = submitted;
    }
    slurm_busy(a);
    slurm_look(a, listed, q);
}

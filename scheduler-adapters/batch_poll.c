/* The state of jobs, read from the listing. For jobs that it lacks there are other sources: the orders that this
 * adapter gave, the files that the jobs' runners left, and last the records that some batch systems keep. These come
 * last because each question to them costs the batch system something. */
#include "scheduler-adapters/batch.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "scheduler-adapters/batch_known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct batch_asked {
    char *name, *dir;
    char id[64];    /* "": the id is not known, and no record is searched for the job */
    bool submitted; /* false: the job was never submitted, and can have left no files */
    bool missing;
    bool explained; /* the runner's last words are added to the reason */
    bool again;     /* the job waits after it has run before; it is withdrawn if its runner had begun */
    bool withdraw;
};

struct batch_question {
    uv_work_t work;
    struct adapter *a;
    struct batch_asked *asked;
    size_t n;
    int64_t since; /* when the first of them was submitted, Unix seconds; 0: not known */
    struct adapter_status *statuses;
    void (*next)(struct batch_question *q); /* what follows after the look at files */
    adapter_poll_cb *cb;
    void *arg;
};

static void answer_question(struct batch_question *q, enum adapter_answer answer, const struct error *err)
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
    batch_idle(a);
}

static bool is_file_of_job(const struct batch_asked *asked, const char *name)
{
    char *path = xasprintf("%s/%s", asked->dir, name);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

/* The system says only that the job failed, as in "PBS: FAILED…": the runner's log may say why. */
static bool may_have_said_why(const struct batch_question *q, const struct adapter_status *status)
{
    size_t n = strlen(q->a->system->word);

    return status->state == ADAPTER_JOB_ENDED && strncmp(status->reason, q->a->system->word, n) == 0 &&
           strncmp(status->reason + n, ": FAILED", 8) == 0;
}

static void add_last_words(struct batch_asked *asked, struct adapter_status *status)
{
    char *path = xasprintf("%s/runner.log", asked->dir), line[160];
    size_t n = strlen(status->reason);

    file_last_line(path, NULL, line, sizeof line);
    free(path);
    asked->explained = true;
    if (line[0] != '\0' && strstr(line, "] info: ") == NULL && strstr(line, "] warning: ") == NULL)
        snprintf(status->reason + n, sizeof status->reason - n, ": %s", line);
}

static bool needs_a_look(const struct batch_question *q, size_t i)
{
    enum adapter_state state = q->statuses[i].state;

    return (q->asked[i].again && state == ADAPTER_JOB_QUEUED) ||
           (!q->asked[i].explained && may_have_said_why(q, &q->statuses[i])) ||
           (q->asked[i].submitted && state == ADAPTER_JOB_UNKNOWN);
}

static void look_at_job_files(uv_work_t *work)
{
    struct batch_question *q = work->data;

    for (size_t i = 0; i < q->n; i++) {
        struct adapter_status *status = &q->statuses[i];

        if (!needs_a_look(q, i))
            continue;
        if (status->state == ADAPTER_JOB_ENDED) {
            add_last_words(&q->asked[i], status);
        } else if (status->state == ADAPTER_JOB_UNKNOWN && is_file_of_job(&q->asked[i], "ended.json")) {
            status->state = ADAPTER_JOB_ENDED; /* a server without a history forgets jobs as they end */
        } else if (q->asked[i].again && is_file_of_job(&q->asked[i], "claim.json")) {
            q->asked[i].withdraw = true;
            *status = (struct adapter_status){.state = ADAPTER_JOB_ENDED, .node_lost = true};
            snprintf(status->reason, sizeof status->reason, "%s: put back into the queue", q->a->system->word);
        }
    }
}

static void duplicate_withdrawn(void *arg, enum adapter_answer answer, const struct error *err)
{
}

static void files_looked_at(uv_work_t *work, int status)
{
    struct batch_question *q = work->data;
    struct error stopped;

    if (q->a->closing) {
        error_set(&stopped, "batch_system_unsure", "the daemon ends");
        answer_question(q, ADAPTER_UNSURE, &stopped);
        return;
    }
    q->next(q);
}

static void conclude_poll(struct batch_question *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (q->asked[i].withdraw)
            batch_withdraw(q->a, q->asked[i].name, q->asked[i].id, duplicate_withdrawn, NULL);
    answer_question(q, ADAPTER_OK, NULL);
}

static void look_first(struct batch_question *q, void (*next)(struct batch_question *q))
{
    q->next = next;
    for (size_t i = 0; i < q->n; i++) {
        if (!needs_a_look(q, i))
            continue;
        uv_queue_work(q->a->host.loop, &q->work, look_at_job_files, files_looked_at);
        return;
    }
    files_looked_at(&q->work, 0);
}

/* Uses the records only of jobs that are over. A record of a job that goes on or waits is out of date: if it were true,
 * the listing would have the job. */
static void remembered(void *arg, const struct batch_rows *rows, const struct error *err)
{
    struct batch_question *q = arg;

    for (size_t i = 0; i < q->n; i++) {
        const struct batch_row *row = NULL;
        size_t n = 0;

        if (!q->asked[i].missing)
            continue;
        if (rows != NULL)
            row = batch_rows_find(rows, q->asked[i].name, &n);
        for (; n > 0 && row->phase != BATCH_OVER; row++)
            n--;
        if (n > 0)
            q->a->system->status(q->a, row, &q->statuses[i]);
    }
    look_first(q, conclude_poll);
}

/* The jobs that the adapter took out of the queue, and the listing lacks, are over: nobody need be asked. */
static void mark_taken_out(struct batch_question *q)
{
    for (size_t i = 0; i < q->n; i++) {
        const struct batch_known *known = batch_known_find(q->a, q->asked[i].name);

        if (q->statuses[i].state != ADAPTER_JOB_UNKNOWN || known == NULL || !known->never_began)
            continue;
        q->statuses[i].state = ADAPTER_JOB_ENDED;
        snprintf(q->statuses[i].reason, sizeof q->statuses[i].reason, "cancelled before it started");
    }
}

/* Returns whether one question about the array of both is about both, as of "12[3].server" and "12[4].server". */
static bool are_of_one_array(const char *x, const char *y)
{
    size_t n = strcspn(x, "[");

    return x[n] == '[' && strncmp(x, y, n + 1) == 0;
}

/* Asks the records for the missing jobs by their ids, since a server that keeps a long history of everybody's jobs
 * would print too much otherwise. Jobs that are too many for one question are asked for with the next answers. The id
 * of a job is unknown if an answer was lost. Such a job has left files if its runner has begun; otherwise it may as
 * well be submitted again. */
static void look_back(struct batch_question *q)
{
    const char **ids = xcalloc(q->n + 1, sizeof *ids);
    size_t n = 0, left = q->a->system->past_max > 0 ? q->a->system->past_max : SIZE_MAX;

    for (size_t i = 0; i < q->n; i++) {
        struct batch_asked *asked = &q->asked[i];
        const struct batch_known *known = batch_known_find(q->a, asked->name);

        if (asked->id[0] == '\0' && known != NULL)
            snprintf(asked->id, sizeof asked->id, "%s", known->id);
        asked->missing = q->statuses[i].state == ADAPTER_JOB_UNKNOWN && asked->id[0] != '\0';
        if (!asked->missing)
            continue;
        if (n == 0 || !are_of_one_array(ids[n - 1], asked->id)) {
            asked->missing = left > 0;
            left -= left > 0;
        }
        if (asked->missing)
            ids[n++] = asked->id;
        else
            q->statuses[i].state = ADAPTER_JOB_UNASKED;
    }
    if (n > 0)
        q->a->system->past(q->a, ids, n, q->since, remembered, q);
    else
        look_first(q, conclude_poll);
    free(ids);
}

/* Reports the waiting jobs that no answer is about: second jobs of a name, and jobs that were not asked for. */
static void tell_duplicate(struct adapter *a, const struct batch_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        if (!rows->row[i].told && rows->row[i].phase == BATCH_WAITS)
            a->host.duplicate(a->host.arg, rows->row[i].name, rows->row[i].id);
}

static void poll_listed(void *arg, const struct batch_rows *rows, const struct error *err)
{
    struct batch_question *q = arg;
    struct adapter *a = q->a;
    size_t n;

    if (rows == NULL) {
        answer_question(q, ADAPTER_UNSURE, err);
        return;
    }
    q->statuses = xcalloc(q->n, sizeof *q->statuses);
    for (size_t i = 0; i < rows->n; i++)
        rows->row[i].told = false;
    for (size_t i = 0; i < q->n; i++) {
        struct batch_row *row = batch_rows_find(rows, q->asked[i].name, &n);

        q->statuses[i].state = ADAPTER_JOB_UNKNOWN;
        if (row == NULL)
            continue;
        row->told = true;
        a->system->status(a, row, &q->statuses[i]);
        if (row->phase != BATCH_WAITS)
            continue;
        if (a->system->waits != NULL)
            a->system->waits(a, row);
        q->asked[i].again = row->runs > 0;
        if (q->asked[i].again)
            snprintf(q->asked[i].id, sizeof q->asked[i].id, "%s", row->id);
    }
    tell_duplicate(a, rows);
    mark_taken_out(q);
    look_first(q, look_back);
}

static void ask_about_jobs(struct adapter *a, const struct adapter_job *jobs, size_t n, bool submitted,
                           adapter_poll_cb *cb, void *arg)
{
    struct batch_question *q = xcalloc(1, sizeof *q);

    *q = (struct batch_question){.a = a, .n = n, .cb = cb, .arg = arg};
    q->work.data = q;
    q->asked = xcalloc(n, sizeof *q->asked);
    for (size_t i = 0; i < n; i++) {
        int64_t since = jobs[i].submitted_ms / 1000;

        q->asked[i] =
            (struct batch_asked){.name = xstrdup(jobs[i].name),
                                 .dir = xstrdup(jobs[i].dir),
                                 .submitted = submitted || jobs[i].submitted_ms > 0 || jobs[i].scheduler_id != NULL};
        snprintf(q->asked[i].id, sizeof q->asked[i].id, "%s", jobs[i].scheduler_id != NULL ? jobs[i].scheduler_id : "");
        if (since > 0 && (q->since == 0 || since < q->since))
            q->since = since;
    }
    batch_busy(a);
    batch_look(a, poll_listed, q);
}

void batch_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    ask_about_jobs(a, jobs, n, false, cb, arg);
}

/* The search after a lost answer: any of the jobs may have been submitted, and may have ended since. */
void batch_find(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    ask_about_jobs(a, jobs, n, true, cb, arg);
}

/* Questions and orders about jobs. Jobs that this daemon started are in the table; the state of other jobs is read from
 * the files of their directories, and one that runs is taken over. */
#include "scheduler-adapters/alps.h"

#include "common/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define OVERRUN_MS 15000

enum kind { ASK_POLL, ASK_CANCEL, ASK_SIGNAL };

struct alps_asked {
    struct adapter_job job; /* name and dir are copies */
    bool known;
    struct alps_files files;
};

struct alps_question {
    uv_work_t work;
    struct adapter *a;
    enum kind kind;
    struct alps_asked *asked;
    size_t n;
    int sig;
    adapter_poll_cb *poll;
    adapter_done_cb *done;
    void *arg;
};

static void alps_question_free(struct alps_question *q)
{
    struct adapter *a = q->a;

    for (size_t i = 0; i < q->n; i++) {
        free((char *)q->asked[i].job.name);
        free((char *)q->asked[i].job.dir);
        alps_files_fini(&q->asked[i].files);
    }
    free(q->asked);
    free(q);
    alps_idle(a);
}

static void tell_status(const struct alps_job *job, struct adapter_status *status)
{
    static const enum adapter_state states[] = {[ALPS_WAITS] = ADAPTER_JOB_QUEUED,
                                                [ALPS_RUNS] = ADAPTER_JOB_RUNNING,
                                                [ALPS_LOOKED_AT] = ADAPTER_JOB_RUNNING,
                                                [ALPS_OVER] = ADAPTER_JOB_ENDED};

    status->state = job->state == ALPS_OVER || job->placed ? states[job->state] : ADAPTER_JOB_QUEUED;
    status->started_ms = job->started_ms;
    status->node_lost = job->end.node_lost;
    status->never = job->state == ALPS_WAITS && job->too_large >= ALPS_TRIES;
    snprintf(status->scheduler_id, sizeof status->scheduler_id, "%s", job->name);
    snprintf(status->reason, sizeof status->reason, "%s", job->reason);
    alps_nodes_name(job->nids, status->host, sizeof status->host);
}

/* Reports a job that is in no table: its aprun has ended while there was no daemon, or it never had one. */
static void tell_by_files(const struct alps_files *files, struct adapter_status *status)
{
    status->state = ADAPTER_JOB_UNKNOWN;
    if (!files->ended && (!files->begun || (files->end.no_room && !files->claimed)))
        return;
    status->state = ADAPTER_JOB_ENDED;
    status->node_lost = files->end.node_lost;
    alps_nodes_name(files->nids, status->host, sizeof status->host);
    snprintf(status->reason, sizeof status->reason, "%s%s", files->words[0] ? "ALPS: " : "", files->words);
}

static void answer_poll(struct alps_question *q)
{
    struct adapter_status *statuses = xcalloc(q->n, sizeof *statuses);

    for (size_t i = 0; i < q->n; i++) {
        const struct alps_job *job = alps_job_find(q->a, q->asked[i].job.name);

        if (job != NULL)
            tell_status(job, &statuses[i]);
        else
            tell_by_files(&q->asked[i].files, &statuses[i]);
    }
    answers_poll(q->a->answers, q->poll, q->arg, ADAPTER_OK, statuses, q->n, NULL);
}

/* A running job is ended by its runner, to which aprun passes the signal on. */
static void answer_cancel(struct alps_question *q)
{
    struct adapter *a = q->a;
    struct alps_job *job = alps_job_find(a, q->asked[0].job.name);

    if (job != NULL && job->state == ALPS_WAITS) {
        alps_job_over(job, "cancelled before it started");
    } else if (job != NULL && job->state == ALPS_RUNS) {
        job->cancelled = true;
        job->grace_ms = q->asked[0].job.grace_ms;
        job->kill_at = uv_now(a->host.loop) + (uint64_t)job->grace_ms + OVERRUN_MS;
        alps_signal_aprun(job, SIGTERM);
        alps_turn(a);
    }
    answers_done(a->answers, q->done, q->arg, ADAPTER_OK, NULL);
}

static void answer_signal(struct alps_question *q)
{
    const struct alps_job *job = alps_job_find(q->a, q->asked[0].job.name);
    enum adapter_answer answer = ADAPTER_OK;
    struct error err = {0};

    if (job == NULL || job->state == ALPS_OVER || job->state == ALPS_LOOKED_AT) {
        answer = ADAPTER_REFUSED;
        error_set(&err, "job_ended", "there is no such job any more");
    } else if (job->state == ALPS_WAITS || !q->asked[0].files.claimed) {
        answer = ADAPTER_UNSURE;
        error_set(&err, "job_not_started", "it has not started yet");
    } else {
        alps_signal_aprun(job, q->sig);
    }
    answers_done(q->a->answers, q->done, q->arg, answer, &err);
}

static void read_question_files(uv_work_t *work)
{
    struct alps_question *q = work->data;

    for (size_t i = 0; i < q->n; i++)
        if (!q->asked[i].known)
            alps_files_read(q->asked[i].job.dir, &q->asked[i].files);
}

static void use_files(struct adapter *a, const struct adapter_job *from, const struct alps_files *files)
{
    struct alps_job *job = alps_job_find(a, from->name);

    if (job == NULL && files->pid > 0)
        job = alps_adopt(a, from, files);
    else if (job == NULL)
        alps_nodes_lost(a, files->end.lost_nid);
    if (job != NULL && job->state == ALPS_RUNS && (files->claimed || files->apid > 0))
        job->placed = true;
}

static void question_files_read(uv_work_t *work, int status)
{
    struct alps_question *q = work->data;
    struct adapter *a = q->a;
    struct error stopped;

    if (a->closing) {
        error_set(&stopped, "batch_system_unsure", "the daemon ends");
        if (q->kind == ASK_POLL)
            answers_poll(a->answers, q->poll, q->arg, ADAPTER_UNSURE, NULL, q->n, &stopped);
        else
            answers_done(a->answers, q->done, q->arg, ADAPTER_UNSURE, &stopped);
        alps_question_free(q);
        return;
    }
    for (size_t i = 0; i < q->n; i++)
        if (!q->asked[i].known)
            use_files(a, &q->asked[i].job, &q->asked[i].files);
    if (q->kind == ASK_POLL)
        answer_poll(q);
    else if (q->kind == ASK_CANCEL)
        answer_cancel(q);
    else
        answer_signal(q);
    alps_question_free(q);
}

/* The files must be read for a running aprun that ALPS is not known to have placed, since nothing else shows its
 * state. */
static bool is_state_known(const struct alps_job *job)
{
    return job != NULL && (job->placed || (job->state != ALPS_RUNS && job->state != ALPS_LOOKED_AT));
}

static struct alps_question *question_new(struct adapter *a, enum kind kind, const struct adapter_job *jobs, size_t n,
                                          void *arg)
{
    struct alps_question *q = xcalloc(1, sizeof *q);

    *q = (struct alps_question){.a = a, .kind = kind, .n = n, .arg = arg};
    q->work.data = q;
    q->asked = xcalloc(n, sizeof *q->asked);
    for (size_t i = 0; i < n; i++) {
        q->asked[i].job = jobs[i];
        q->asked[i].job.name = xstrdup(jobs[i].name);
        q->asked[i].job.dir = xstrdup(jobs[i].dir);
        q->asked[i].job.scheduler_id = q->asked[i].job.descriptor = NULL;
        q->asked[i].job.resources.queue = q->asked[i].job.resources.account = NULL;
        q->asked[i].job.resources.extra = NULL;
        q->asked[i].job.resources.launcher = NULL;
        q->asked[i].known = kind != ASK_SIGNAL && is_state_known(alps_job_find(a, jobs[i].name));
    }
    alps_busy(a);
    return q;
}

static void ask_files(struct alps_question *q)
{
    uv_queue_work(q->a->host.loop, &q->work, read_question_files, question_files_read);
}

void alps_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    struct alps_question *q = question_new(a, ASK_POLL, jobs, n, arg);

    q->poll = cb;
    ask_files(q);
}

void alps_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
    struct alps_question *q = question_new(a, ASK_CANCEL, job, 1, arg);

    q->done = cb;
    ask_files(q);
}

void alps_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct alps_question *q;
    struct error err;

    if (sig != SIGUSR1 && sig != SIGUSR2) {
        error_set(&err, "signal_refused", "only SIGUSR1 and SIGUSR2 can be sent");
        answers_done(a->answers, cb, arg, ADAPTER_REFUSED, &err);
        return;
    }
    q = question_new(a, ASK_SIGNAL, job, 1, arg);
    q->done = cb;
    q->sig = sig;
    ask_files(q);
}

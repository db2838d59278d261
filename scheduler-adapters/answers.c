#include "scheduler-adapters/answers.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct queued_answer {
    struct queued_answer *next;
    enum adapter_answer answer;
    /* exactly one of the following four is set */
    adapter_submit_cb *submit;
    adapter_poll_cb *poll;
    adapter_done_cb *done;
    void (*fn)(void *arg);
    void *arg;
    char scheduler_id[64];
    struct adapter_status *statuses;
    size_t n;
    struct error err;
};

struct answers {
    uv_idle_t idle; /* runs once a turn while anything is queued */
    struct queued_answer *first, **last;
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

static void answers_closed(uv_handle_t *handle)
{
    struct answers *q = handle->data;
    void (*destroyed)(void *) = q->destroyed;
    void *arg = q->destroyed_arg;

    free(q);
    destroyed(arg);
}

static void deliver(struct queued_answer *e)
{
    if (e->submit != NULL)
        e->submit(e->arg, e->answer, e->answer == ADAPTER_OK ? e->scheduler_id : NULL, &e->err);
    else if (e->poll != NULL)
        e->poll(e->arg, e->answer, e->statuses, e->n, &e->err);
    else if (e->done != NULL)
        e->done(e->arg, e->answer, &e->err);
    else
        e->fn(e->arg);
    free(e->statuses);
    free(e);
}

static void answers_turn(uv_idle_t *idle)
{
    struct answers *q = idle->data;
    struct queued_answer *list = q->first;

    /* what these callbacks queue waits for the next turn, so that other handles are served */
    q->first = NULL;
    q->last = &q->first;
    while (list != NULL) {
        struct queued_answer *e = list;

        list = e->next;
        deliver(e);
    }
    if (q->first != NULL)
        return;
    uv_idle_stop(idle);
    if (q->destroyed != NULL && !uv_is_closing((uv_handle_t *)idle))
        uv_close((uv_handle_t *)idle, answers_closed);
}

struct answers *answers_create(uv_loop_t *loop)
{
    struct answers *q = xcalloc(1, sizeof *q);

    q->last = &q->first;
    uv_idle_init(loop, &q->idle);
    q->idle.data = q;
    return q;
}

void answers_destroy(struct answers *q, void (*done)(void *arg), void *arg)
{
    q->destroyed = done;
    q->destroyed_arg = arg;
    uv_idle_start(&q->idle, answers_turn);
}

static struct queued_answer *answers_add(struct answers *q, void *arg, enum adapter_answer answer,
                                         const struct error *err)
{
    struct queued_answer *e = xcalloc(1, sizeof *e);

    e->arg = arg;
    e->answer = answer;
    if (err != NULL)
        e->err = *err;
    *q->last = e;
    q->last = &e->next;
    uv_idle_start(&q->idle, answers_turn);
    return e;
}

void answers_submit(struct answers *q, adapter_submit_cb *cb, void *arg, enum adapter_answer answer,
                    const char *scheduler_id, const struct error *err)
{
    struct queued_answer *e = answers_add(q, arg, answer, err);

    e->submit = cb;
    snprintf(e->scheduler_id, sizeof e->scheduler_id, "%s", scheduler_id ? scheduler_id : "");
}

void answers_poll(struct answers *q, adapter_poll_cb *cb, void *arg, enum adapter_answer answer,
                  struct adapter_status *statuses, size_t n, const struct error *err)
{
    struct queued_answer *e = answers_add(q, arg, answer, err);

    e->poll = cb;
    if (answer == ADAPTER_OK) {
        e->statuses = statuses;
        e->n = n;
    } else {
        free(statuses);
    }
}

void answers_done(struct answers *q, adapter_done_cb *cb, void *arg, enum adapter_answer answer,
                  const struct error *err)
{
    answers_add(q, arg, answer, err)->done = cb;
}

void answers_call(struct answers *q, void (*fn)(void *arg), void *arg)
{
    answers_add(q, arg, ADAPTER_OK, NULL)->fn = fn;
}

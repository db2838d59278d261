/* A queue of answers that are given on the next turn of the loop, so that an adapter's callbacks are never called from
 * inside the call that asked. */
#ifndef SCHEDULER_ADAPTERS_ANSWERS_H
#define SCHEDULER_ADAPTERS_ANSWERS_H
#include "scheduler-adapters/adapter.h"

struct answers;

struct answers *answers_create(uv_loop_t *loop);

/* Delivers what is queued, then calls done(arg). Further calls are not allowed. */
void answers_destroy(struct answers *q, void (*done)(void *arg), void *arg);

/* Texts and errors are copied (err may be NULL). `statuses`, from malloc(), is taken over and freed after the
 * callback. */
void answers_submit(struct answers *q, adapter_submit_cb *cb, void *arg, enum adapter_answer answer,
                    const char *scheduler_id, const struct error *err);
void answers_poll(struct answers *q, adapter_poll_cb *cb, void *arg, enum adapter_answer answer,
                  struct adapter_status *statuses, size_t n, const struct error *err);
void answers_done(struct answers *q, adapter_done_cb *cb, void *arg, enum adapter_answer answer,
                  const struct error *err);

/* Queues any other call, e.g. a poke. */
void answers_call(struct answers *q, void (*fn)(void *arg), void *arg);

#endif

/* One listing serves all callers: those who ask while one is under way share the next. The output of a large site is
 * long, and is read on a worker thread. */
#include "scheduler-adapters/batch.h"

#include "common/xalloc.h"
#include "scheduler-adapters/batch_known.h"

#include <stdlib.h>
#include <string.h>

struct batch_look {
    struct batch_look *next;
    batch_look_cb *cb;
    void *arg;
};

/* A listing from its start until its callers are answered. */
struct batch_listing {
    uv_work_t work;
    struct adapter *a;
    batch_look_cb *cb; /* NULL: the shared listing, for all callers */
    void *arg;
    char *text;
    size_t size;
    int program, rc;
    struct error err;
    struct batch_rows rows;
};

static void start_listing(struct adapter *a);

static void tell_all(struct batch_listing *l)
{
    struct adapter *a = l->a;
    struct batch_look *list = a->looks.under_way, *next;

    a->looks.under_way = NULL;
    if (l->rc == 0)
        batch_known_update(a, &l->rows);
    if (a->looks.waiting != NULL)
        start_listing(a);
    for (; list != NULL; list = next) {
        next = list->next;
        list->cb(list->arg, l->rc == 0 ? &l->rows : NULL, &l->err);
        free(list);
    }
}

static void finish_listing(struct batch_listing *l)
{
    struct adapter *a = l->a;

    if (l->cb == NULL)
        tell_all(l);
    else
        l->cb(l->arg, l->rc == 0 ? &l->rows : NULL, &l->err);
    batch_rows_free(&l->rows);
    free(l->text);
    free(l);
    batch_idle(a);
}

static void parse_listing(uv_work_t *work)
{
    struct batch_listing *l = work->data;

    l->rc = l->a->system->parse(&l->rows, l->text, l->size, &l->err);
    if (l->rc == 0)
        batch_rows_sort(&l->rows);
}

static bool listing_goes_on(struct batch_listing *l, const struct command_result *failed)
{
    return l->cb == NULL && l->a->system->list_on != NULL && l->a->system->list_on(l->a, l, failed);
}

static void parsed(uv_work_t *work, int status)
{
    struct batch_listing *l = work->data;

    if (l->rc < 0 || !listing_goes_on(l, NULL))
        finish_listing(l);
}

void batch_listing_read(struct batch_listing *l, const char *text, size_t size)
{
    free(l->text);
    l->text = xcalloc(size + 1, 1);
    memcpy(l->text, text, size);
    l->size = size;
    l->work.data = l;
    uv_queue_work(l->a->host.loop, &l->work, parse_listing, parsed);
}

void batch_listing_fail(struct batch_listing *l, const struct error *err)
{
    l->rc = -1;
    l->err = *err;
    finish_listing(l);
}

void batch_listing_none(struct batch_listing *l)
{
    finish_listing(l);
}

struct adapter *batch_listing_adapter(const struct batch_listing *l)
{
    return l->a;
}

struct batch_rows *batch_listing_rows(struct batch_listing *l)
{
    return &l->rows;
}

static void listing_printed(void *arg, struct command_result *result)
{
    struct batch_listing *l = arg;

    l->rc = batch_check(result, l->a->system->programs[l->program], &l->err);
    if (l->rc < 0 && listing_goes_on(l, result))
        return;
    if (l->rc < 0)
        finish_listing(l);
    else
        batch_listing_read(l, result->out, result->out_size);
}

void batch_listing_run_costing(struct batch_listing *l, int program, const char *const *args, unsigned cost)
{
    l->program = program;
    batch_run_costing(l->a, l->a->questions, program, args, NULL, l->a->system->list_max, cost, listing_printed, l);
}

void batch_listing_run(struct batch_listing *l, int program, const char *const *args)
{
    batch_listing_run_costing(l, program, args, 1);
}

struct batch_listing *batch_listing_new(struct adapter *a, batch_look_cb *cb, void *arg)
{
    struct batch_listing *l = xcalloc(1, sizeof *l);

    l->a = a;
    l->cb = cb;
    l->arg = arg;
    batch_busy(a);
    return l;
}

static void start_listing(struct adapter *a)
{
    a->looks.under_way = a->looks.waiting;
    a->looks.waiting = NULL;
    a->looks.listings++;
    a->system->list(a, batch_listing_new(a, NULL, NULL));
}

void batch_look(struct adapter *a, batch_look_cb *cb, void *arg)
{
    struct batch_look *look = xcalloc(1, sizeof *look), **last = &a->looks.waiting;

    *look = (struct batch_look){.cb = cb, .arg = arg};
    while (*last != NULL)
        last = &(*last)->next;
    *last = look;
    if (a->looks.under_way == NULL)
        start_listing(a);
}

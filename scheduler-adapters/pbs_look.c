/* One qstat for all who want to know: those who ask while one is under way share the next. What it prints is long where a site is
 * large, since it has everybody's jobs, and is read on a worker thread. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct pbs_look {
    struct pbs_look *next;
    pbs_look_cb *cb;
    void *arg;
};

/* One listing, from the command to those who wait for it. */
struct listing {
    uv_work_t work;
    struct adapter *a;
    bool back; /* of the history, for one who asks */
    pbs_look_cb *cb;
    void *arg;
    char *text;
    size_t size;
    int rc;
    struct error err;
    struct pbs_rows rows;
};

static void start(struct adapter *a);

static void tell_all(struct listing *l)
{
    struct adapter *a = l->a;
    struct pbs_look *list = a->looking, *next;

    a->looking = NULL;
    if (l->rc == 0)
        pbs_known_update(a, &l->rows);
    if (a->waiting != NULL)
        start(a);
    for (; list != NULL; list = next) {
        next = list->next;
        list->cb(list->arg, l->rc == 0 ? &l->rows : NULL, &l->err);
        free(list);
    }
}

static void finish(struct listing *l)
{
    struct adapter *a = l->a;

    if (!l->back)
        tell_all(l);
    else
        l->cb(l->arg, &l->rows, &l->err);
    pbs_rows_free(&l->rows);
    free(l->text);
    free(l);
    pbs_idle(a);
}

static void parse(uv_work_t *work)
{
    struct listing *l = work->data;

    pbs_text_clean(l->text, l->size);
    l->rc = l->rows.kind == PBS_KIND_TORQUE ? pbs_xml_parse(&l->rows, l->text, l->size, &l->err)
                                            : pbs_json_parse(&l->rows, l->text, l->size, &l->err);
    if (l->rc == 0)
        pbs_rows_sort(&l->rows);
}

static void parsed(uv_work_t *work, int status)
{
    finish(work->data);
}

static void parse_later(struct listing *l, const struct command_result *result)
{
    l->size = result->out_size;
    l->text = xcalloc(l->size + 1, 1);
    memcpy(l->text, result->out, l->size);
    l->work.data = l;
    uv_queue_work(l->a->host.loop, &l->work, parse, parsed);
}

static void listed(void *arg, struct command_result *result)
{
    struct listing *l = arg;

    l->rc = pbs_check(result, "qstat", &l->err);
    if (l->rc < 0)
        finish(l);
    else
        parse_later(l, result);
}

/* Where some of the ids are not known, it says so of each, lists the others, and its exit status is not 0. */
static void listed_back(void *arg, struct command_result *result)
{
    struct listing *l = arg;

    if (strstr(result->err, "not configured to maintain job history") != NULL)
        l->a->no_history = true;
    if (result->end != COMMAND_EXITED || result->out[0] == '\0')
        finish(l);
    else
        parse_later(l, result);
}

static struct listing *listing_new(struct adapter *a)
{
    struct listing *l = xcalloc(1, sizeof *l);

    l->a = a;
    l->rows.kind = a->kind;
    l->rows.user = a->user;
    pbs_busy(a);
    return l;
}

/* Of all jobs, and not by ids, of which there may be thousands. */
static void start_qstat(void *arg, const struct error *err)
{
    struct adapter *a = arg;
    struct listing *l = listing_new(a);

    if (err != NULL) {
        l->rc = -1;
        l->err = *err;
        finish(l);
    } else {
        static const char *const openpbs[] = {"-f", "-F", "json", NULL}, *const torque[] = {"-f", "-x", NULL};

        pbs_run(a, a->questions, PBS_QSTAT, a->kind == PBS_KIND_TORQUE ? torque : openpbs, NULL, PBS_LIST_MAX, listed, l);
    }
    pbs_idle(a);
}

static void start(struct adapter *a)
{
    a->looking = a->waiting;
    a->waiting = NULL;
    a->listings++;
    pbs_busy(a);
    pbs_kind_ready(a, start_qstat, a);
}

void pbs_look(struct adapter *a, pbs_look_cb *cb, void *arg)
{
    struct pbs_look *look = xcalloc(1, sizeof *look), **last = &a->waiting;

    *look = (struct pbs_look){.cb = cb, .arg = arg};
    while (*last != NULL)
        last = &(*last)->next;
    *last = look;
    if (a->looking == NULL)
        start(a);
}

void pbs_look_back(struct adapter *a, const char *const *ids, pbs_look_cb *cb, void *arg)
{
    struct listing *l = listing_new(a);
    size_t n = 0;
    const char **args;

    l->back = true;
    l->cb = cb;
    l->arg = arg;
    if (a->kind == PBS_KIND_TORQUE || a->no_history) { /* asked by a callback: so is the answer */
        finish(l);
        return;
    }
    while (ids[n] != NULL)
        n++;
    args = xcalloc(n + 5, sizeof *args);
    args[0] = "-x";
    args[1] = "-f";
    args[2] = "-F";
    args[3] = "json";
    memcpy(args + 4, ids, n * sizeof *ids);
    pbs_run(a, a->questions, PBS_QSTAT, args, NULL, PBS_LIST_MAX, listed_back, l);
    free(args);
}

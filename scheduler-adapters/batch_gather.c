/* Jobs of one shape that are submitted at the same time go as one job array. One command costs a batch system about as
 * much as one job does. So a job waits for others like it until no more are coming, and longer if several arrays have
 * just been sent.
 *
 * The site's configuration says how large an array may be. The jobs of a user or an account may be limited as well,
 * which only a try can show. If an array is refused, its first job goes alone. If that is refused, too, all are,
 * because they have the same shape. Otherwise the array was too large, and the other jobs go in smaller arrays. */
#include "scheduler-adapters/batch.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "scheduler-adapters/resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_MS 100      /* after the last job; then no more are expected */
#define BURST 4           /* sendings without a pause; after them one in wait_ms */
#define ARRAY_MAX 2000    /* jobs of one array, whatever the site allows: a listing and a cancel name each of them */
#define FORGET_MS 3600000 /* after which a limit that was learnt by trying is forgotten */
#define ARRAY_GUESS 500   /* if the site's limit is not known */

/* The largest array that a queue has accepted lately from an account: those may have limits of their own, beside the
 * site's. */
struct batch_array_limit {
    struct batch_array_limit *next;
    char *queue, *account; /* NULL: not named */
    size_t most;
    uint64_t since; /* loop time at which it was learnt */
};

static void gather_add(struct adapter *a, struct batch_submission *s)
{
    s->next = NULL;
    *a->gathering.last = s;
    a->gathering.last = &s->next;
}

/* Reads the number at the end of the name, if the directory is named like the job. */
static void read_job_number(struct batch_submission *s)
{
    size_t n = strlen(s->name), n_dir = strlen(s->dir), digits = 0;

    while (digits < n && s->name[n - 1 - digits] >= '0' && s->name[n - 1 - digits] <= '9')
        digits++;
    if (digits == 0 || digits > 15 || n - digits > 40 || (digits > 1 && s->name[n - digits] == '0'))
        return;
    if (n_dir <= n || s->dir[n_dir - n - 1] != '/' || strcmp(s->dir + n_dir - n, s->name) != 0)
        return;
    s->digits = digits;
    s->number = strtoll(s->name + n - digits, NULL, 10);
}

static bool is_same_text(const char *x, const char *y)
{
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* Returns whether both jobs may be tasks of one array. */
static bool are_alike(const struct batch_submission *x, const struct batch_submission *y)
{
    size_t stem = strlen(x->dir) - x->digits;

    return x->digits > 0 && y->digits > 0 && stem == strlen(y->dir) - y->digits && strncmp(x->dir, y->dir, stem) == 0 &&
           resources_are_equal(&x->job.resources, &y->job.resources) && x->job.grace_ms == y->job.grace_ms;
}

static void limit_drop(struct batch_array_limit **at)
{
    struct batch_array_limit *limit = *at;

    *at = limit->next;
    free(limit->queue);
    free(limit->account);
    free(limit);
}

/* Returns where the limit for such jobs is, or is to be added. One that was learnt long ago is forgotten: the site may
 * allow more again. */
static struct batch_array_limit **array_limit_of(struct adapter *a, const struct adapter_resources *want)
{
    struct batch_array_limit **at = &a->gathering.array_limits;

    while (*at != NULL) {
        if (uv_now(a->host.loop) - (*at)->since >= (uint64_t)a->gathering.forget_ms) {
            limit_drop(at);
            continue;
        }
        if (is_same_text((*at)->queue, want->queue) && is_same_text((*at)->account, want->account))
            break;
        at = &(*at)->next;
    }
    return at;
}

static void limit_learn(struct adapter *a, const struct adapter_resources *want, size_t most)
{
    struct batch_array_limit **at = array_limit_of(a, want);

    if (*at == NULL) {
        *at = xcalloc(1, sizeof **at);
        (*at)->queue = want->queue != NULL ? xstrdup(want->queue) : NULL;
        (*at)->account = want->account != NULL ? xstrdup(want->account) : NULL;
    }
    (*at)->most = most;
    (*at)->since = uv_now(a->host.loop);
}

/* An array of that many jobs was accepted: a larger one may be, too. */
static void limit_raise(struct adapter *a, const struct adapter_resources *want, size_t accepted)
{
    struct batch_array_limit **at = array_limit_of(a, want);

    if (*at == NULL || accepted < (*at)->most)
        return;
    (*at)->most *= 2;
    if ((*at)->most >= ARRAY_MAX)
        limit_drop(at);
}

/* Returns the number of jobs in the largest array that is tried for such jobs. */
static size_t gather_most(struct adapter *a, const struct adapter_resources *want)
{
    size_t max = a->gathering.array_max > 0 ? a->gathering.array_max : ARRAY_GUESS;
    const struct batch_array_limit *limit = *array_limit_of(a, want);

    if (a->gathering.wait_ms == 0)
        return 1;
    max = max < ARRAY_MAX ? max : ARRAY_MAX;
    return limit == NULL || max < limit->most ? max : limit->most;
}

static struct batch_group *group_new(struct adapter *a, struct batch_submission *first)
{
    struct batch_group *group = xcalloc(1, sizeof *group);

    *group = (struct batch_group){.a = a, .first = first, .n = 1, .base = first->number};
    first->next = NULL;
    group->last = &first->next;
    return group;
}

static void sort_into(struct adapter *a, struct batch_group **groups, struct batch_submission *s)
{
    struct batch_group *group;

    for (; (group = *groups) != NULL; groups = &group->next) {
        int64_t last = a->gathering.array_max > 0 ? (int64_t)a->gathering.array_max : ARRAY_GUESS;

        if (group->n >= gather_most(a, &group->first->job.resources) || !are_alike(group->first, s) ||
            s->number < group->base || s->number - group->base > last)
            continue;
        if (a->gathering.no_gaps && s->number != group->base + (int64_t)group->n)
            continue;
        stretto_assert(s->number >= group->base && *group->last == NULL);
        *group->last = s;
        group->last = &s->next;
        s->next = NULL;
        group->n++;
        return;
    }
    *groups = group_new(a, s);
}

static int submission_by_number(const void *x, const void *y)
{
    const struct batch_submission *p = *(struct batch_submission *const *)x, *q = *(struct batch_submission *const *)y;

    return (p->number > q->number) - (p->number < q->number);
}

/* Groups all jobs that have been gathered, in the order of their numbers. */
static struct batch_group *group_all(struct adapter *a)
{
    struct batch_submission *s, *next, **all;
    struct batch_group *groups = NULL;
    size_t n = 0, i = 0;

    for (s = a->gathering.first; s != NULL; s = s->next)
        n++;
    all = xcalloc(n + 1, sizeof *all);
    for (s = a->gathering.first; s != NULL; s = next) {
        next = s->next;
        all[i++] = s;
    }
    a->gathering.first = NULL;
    a->gathering.last = &a->gathering.first;
    qsort(all, n, sizeof *all, submission_by_number);
    for (i = 0; i < n; i++)
        sort_into(a, &groups, all[i]);
    free(all);
    return groups;
}

static void send_gathered(void *arg)
{
    struct adapter *a = arg;
    struct batch_group *groups, *next;
    uint64_t now = uv_now(a->host.loop);

    a->gathering.sending = false;
    groups = group_all(a);
    if (groups != NULL)
        a->gathering.paced = (a->gathering.paced > now ? a->gathering.paced : now) + (uint64_t)a->gathering.wait_ms;
    for (; groups != NULL; groups = next) {
        next = groups->next;
        a->system->send(groups);
    }
}

static void gather_timer_rang(uv_timer_t *timer)
{
    struct adapter *a = timer->data;

    a->gathering.sending = true;
    if (a->system->ready != NULL)
        a->system->ready(a, send_gathered, a);
    else
        send_gathered(a);
}

static void set_gather_timer(struct adapter *a, uint64_t wait_ms)
{
    if (!a->gathering.sending && !a->closing)
        uv_timer_start(&a->gathering.timer, gather_timer_rang, wait_ms, 0);
}

/* Sends the jobs when no more are coming, after wait_ms at the latest, but not too often. */
static void send_later(struct adapter *a)
{
    uint64_t now = uv_now(a->host.loop), wait_ms = (uint64_t)a->gathering.wait_ms;
    uint64_t due = now + (wait_ms < QUIET_MS ? wait_ms : QUIET_MS), latest = a->gathering.since + wait_ms;

    if (due > latest)
        due = latest;
    if (due + BURST * wait_ms < a->gathering.paced)
        due = a->gathering.paced - BURST * wait_ms;
    set_gather_timer(a, due > now ? due - now : 0);
}

void batch_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg)
{
    struct batch_submission *s = batch_submission_new(a, job, cb, arg);

    if (s == NULL)
        return;
    read_job_number(s);
    if (a->gathering.first == NULL)
        a->gathering.since = uv_now(a->host.loop);
    gather_add(a, s);
    send_later(a);
}

void batch_group_name(const struct batch_group *group, char *out, size_t size)
{
    const struct batch_submission *first = group->first;

    if (group->n == 1)
        snprintf(out, size, "%s", first->name);
    else
        snprintf(out, size, "%.*s%lld+", (int)(strlen(first->name) - first->digits), first->name,
                 (long long)group->base);
}

char *batch_group_list(const struct batch_group *group)
{
    char *list = xcalloc(group->n + 1, 24), *at = list;

    for (const struct batch_submission *s = group->first, *last; s != NULL; s = last->next) {
        for (last = s; last->next != NULL && last->next->number == last->number + 1; last = last->next)
            ;
        at += sprintf(at, "%s%lld", at == list ? "" : ",", (long long)(s->number - group->base));
        if (last != s)
            at += sprintf(at, "-%lld", (long long)(last->number - group->base));
    }
    return list;
}

char *batch_group_dir(const struct batch_group *group)
{
    const struct batch_submission *first = group->first;

    return xasprintf("%.*s", (int)(strlen(first->dir) - (group->n > 1 ? first->digits : 0)), first->dir);
}

static void answer_all(struct batch_group *group, enum adapter_answer what, const char *id, const struct error *err)
{
    struct batch_submission *next;
    char task[64];

    for (struct batch_submission *s = group->first; s != NULL; s = next) {
        next = s->next;
        if (what == ADAPTER_OK && group->n > 1)
            group->a->system->task_id(id, s->number - group->base, task, sizeof task);
        batch_submission_end(s, what, what == ADAPTER_OK && group->n > 1 ? task : id, err);
    }
    free(group);
}

/* Sends the first job alone, to see why the array was refused. */
static void try_first(struct batch_group *group)
{
    struct batch_group *first;
    struct batch_submission *s = group->first;

    group->first = s->next;
    group->n--;
    stretto_assert(group->n > 0 && group->first != NULL);
    first = group_new(group->a, s);
    first->rest = group;
    group->a->system->send(first);
}

/* The array was too large: its jobs go in smaller ones. */
static void divide(struct batch_group *group, const struct error *err)
{
    struct adapter *a = group->a;
    const struct adapter_resources *want = &group->first->job.resources;
    struct batch_submission *next;
    size_t most = (group->n + 1) / 2;
    char sentence[500];

    limit_learn(a, want, most);
    snprintf(sentence, sizeof sentence,
             "an array of %zu jobs is refused, one job is not (%.200s): they go by %zu at most%s%.100s", group->n + 1,
             err->text, most, want->queue != NULL ? " in queue " : "", want->queue != NULL ? want->queue : "");
    a->host.log(a->host.arg, ADAPTER_LOG_INFO, NULL, sentence);
    for (struct batch_submission *s = group->first; s != NULL; s = next) {
        next = s->next;
        gather_add(a, s);
    }
    free(group);
    set_gather_timer(a, 0);
}

void batch_group_answered(struct batch_group *group, enum adapter_answer what, bool is_definite, const char *id,
                          const struct error *err)
{
    struct adapter *a = group->a;
    struct batch_group *rest = group->rest;

    if (group->n > 1 && what != ADAPTER_OK && is_definite && !a->closing) {
        group->why = *err;
        try_first(group);
        return;
    }
    if (what == ADAPTER_OK)
        limit_raise(a, &group->first->job.resources, group->n);
    if (what == ADAPTER_UNSURE && is_definite)
        what = ADAPTER_LATER;
    answer_all(group, what, id, err);
    if (rest != NULL && what == ADAPTER_OK && !a->closing)
        divide(rest, &rest->why);
    else if (rest != NULL)
        answer_all(rest, what == ADAPTER_OK ? ADAPTER_LATER : what, id, what == ADAPTER_OK ? &rest->why : err);
}

void batch_gather_init(struct adapter *a)
{
    a->gathering.last = &a->gathering.first;
    a->gathering.forget_ms = FORGET_MS;
    uv_timer_init(a->host.loop, &a->gathering.timer);
    a->gathering.timer.data = a;
}

void batch_gather_fini(struct adapter *a)
{
    while (a->gathering.array_limits != NULL)
        limit_drop(&a->gathering.array_limits);
}

void batch_gather_stop(struct adapter *a)
{
    struct batch_submission *next;
    struct error err;

    uv_timer_stop(&a->gathering.timer);
    batch_closing(a);
    uv_close((uv_handle_t *)&a->gathering.timer, batch_closed);
    error_set(&err, "batch_system_unsure", "the daemon ends");
    for (struct batch_submission *s = a->gathering.first; s != NULL; s = next) {
        next = s->next;
        batch_submission_end(s, ADAPTER_UNSURE, NULL, &err);
    }
    a->gathering.first = NULL;
    a->gathering.last = &a->gathering.first;
}

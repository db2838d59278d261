/* Orders to PBS, one command after another. Waiting jobs are taken out before running ones are signalled, since the end
 * of a running job would start a waiting one.
 *
 * A qdel that names a waiting job of an array beside anything else brings OpenPBS 23.06 down. If it names several
 * ranges of one array, it deletes only the first, with exit status 0. So a qdel names one range of one array, or single
 * jobs. It is not known which versions are affected, so this is done for all of OpenPBS and PBS Pro. Torque takes
 * lists.
 *
 * When PBS does not answer a command, the commands that wait are not tried: each of them would hang as long. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An order of the daemon, which may need several commands. */
struct pbs_deed {
    enum batch_deed what;
    batch_deed_cb *cb;
    void *arg;
    size_t left; /* commands that have not ended */
    bool failed;
    struct error err; /* of the first command that failed */
};

struct pbs_order {
    struct pbs_order *next;
    struct pbs *pbs;
    struct pbs_deed *deed;
    size_t n;
    char (*ids)[PBS_ID_MAX];
};

/* A parsed id such as "12[3].server"; index -1: an id such as "12.server". */
struct target {
    long long number, index;
    const char *id, *rest;
};

static const char *const no_answer[] = {"annot connect",
                                        "ouldn't connect",
                                        "Connection refused",
                                        "Connection reset",
                                        "No route to host",
                                        "End of File",
                                        NULL};

static struct target target_of(const char *id)
{
    struct target target = {.id = id, .index = -1};
    char *end;

    target.number = strtoll(id, &end, 10);
    if (end[0] == '[' && end[1] >= '0' && end[1] <= '9') {
        target.index = strtoll(end + 1, &end, 10);
        end += *end == ']';
    }
    target.rest = end;
    return target;
}

static int compare_targets(const void *a, const void *b)
{
    const struct target *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return strcmp(x->id, y->id);
}

static bool is_next_subjob(const struct target *x, const struct target *y)
{
    return x->index >= 0 && x->number == y->number && y->index == x->index + 1 && strcmp(x->rest, y->rest) == 0;
}

static struct pbs_order *add_pbs_order(struct pbs *pbs, struct pbs_deed *deed, size_t n)
{
    struct pbs_order *order = xcalloc(1, sizeof *order), **last = &pbs->orders;

    *order = (struct pbs_order){.pbs = pbs, .deed = deed, .n = n, .ids = xcalloc(n, sizeof *order->ids)};
    deed->left++;
    while (*last != NULL)
        last = &(*last)->next;
    *last = order;
    return order;
}

/* Writes ids as ranges of arrays, and single jobs. Returns how many there are. */
static size_t find_ranges(const char *const *ids, size_t n, char (*out)[PBS_ID_MAX])
{
    struct target *targets = xcalloc(n, sizeof *targets);
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        targets[i] = target_of(ids[i]);
    qsort(targets, n, sizeof *targets, compare_targets);
    for (size_t i = 0, last; i < n; i = last + 1) {
        for (last = i; last + 1 < n && is_next_subjob(&targets[last], &targets[last + 1]); last++)
            ;
        if (last > i)
            snprintf(out[found++], PBS_ID_MAX, "%lld[%lld-%lld]%s", targets[i].number, targets[i].index,
                     targets[last].index, targets[i].rest);
        else
            snprintf(out[found++], PBS_ID_MAX, "%s", targets[i].id);
    }
    free(targets);
    return found;
}

/* Adds commands for OpenPBS. A qdel makes one connection for all of its ids, but may name a range of an array only
 * alone. A qsig makes one for each, and may name several ranges: of those, jobs that do not run are passed over. */
static void add_ranges(struct pbs *pbs, struct pbs_deed *deed, const char *const *ids, size_t n)
{
    bool is_qdel = pbs->batch.system->deed[deed->what].program == PBS_QDEL;
    char(*ranges)[PBS_ID_MAX] = xcalloc(n, sizeof *ranges);
    size_t found = find_ranges(ids, n, ranges), plain = 0;
    struct pbs_order *order = NULL;

    for (size_t i = 0; i < found; i++) {
        if (is_qdel && strchr(ranges[i], '[') != NULL) {
            memcpy(*add_pbs_order(pbs, deed, 1)->ids, ranges[i], sizeof *ranges);
            continue;
        }
        if (order == NULL)
            order = add_pbs_order(pbs, deed, n);
        memcpy(order->ids[plain++], ranges[i], sizeof *ranges);
    }
    if (order != NULL)
        order->n = plain;
    free(ranges);
}

static void add_order_for_ids(struct pbs *pbs, struct pbs_deed *deed, const char *const *ids, size_t n)
{
    struct pbs_order *order = add_pbs_order(pbs, deed, n);

    for (size_t i = 0; i < n; i++)
        snprintf(order->ids[i], PBS_ID_MAX, "%s", ids[i]);
}

static void order_end(struct pbs_order *order, const struct error *err)
{
    struct adapter *a = &order->pbs->batch;
    struct pbs_deed *deed = order->deed;

    if (err != NULL && !deed->failed) {
        deed->failed = true;
        deed->err = *err;
    }
    if (--deed->left == 0) {
        deed->cb(deed->arg, deed->failed ? &deed->err : NULL);
        free(deed);
        batch_idle(a);
    }
    free(order->ids);
    free(order);
}

static void run_next(struct pbs *pbs);

static void pbs_command_done(void *arg, struct command_result *result)
{
    struct pbs *pbs = arg;
    struct adapter *a = &pbs->batch;
    struct pbs_order *order = pbs->orders, *others;
    struct error err;
    bool fine = batch_check(result, a->system->programs[a->system->deed[order->deed->what].program], &err) == 0 ||
                batch_only_gone(a, result);
    bool is_silent =
        !fine && (result->end != COMMAND_EXITED || result->status == 255 || batch_says(result->err, no_answer));

    pbs->orders = order->next;
    order_end(order, fine ? NULL : &err);
    others = is_silent ? pbs->orders : NULL;
    if (is_silent)
        pbs->orders = NULL;
    while (others != NULL) {
        order = others;
        others = order->next;
        order_end(order, &err);
    }
    pbs->is_ordering = false;
    run_next(pbs);
    batch_idle(a);
}

/* Runs the first command of the list, if there is one and none runs. It is taken off the list when it has ended. */
static void run_next(struct pbs *pbs)
{
    struct adapter *a = &pbs->batch;
    const struct pbs_order *order = pbs->orders;
    const char *const *before;
    const char **words;
    enum batch_deed what;
    size_t n = 0;
    int program;

    if (order == NULL || pbs->is_ordering)
        return;
    pbs->is_ordering = true;
    what = order->deed->what;
    program = a->system->deed[what].program;
    before = a->system->deed[what].words;
    words = xcalloc(order->n + sizeof a->system->deed[what].words / sizeof *before + 1, sizeof *words);

    for (; before[n] != NULL; n++)
        words[n] = before[n];
    for (size_t i = 0; i < order->n; i++)
        words[n + i] = order->ids[i];
    batch_busy(a);
    batch_run_costing(a, a->endings, program, words, NULL, BATCH_WORDS_MAX,
                      program == PBS_QDEL ? 1 : (unsigned)order->n, pbs_command_done, pbs);
    free(words);
}

void pbs_carry_out(struct adapter *a, enum batch_deed what, const char *const *ids, size_t n, batch_deed_cb *cb,
                   void *arg)
{
    struct pbs *pbs = pbs_of(a);
    struct pbs_deed *deed;

    if (what == BATCH_KILL && n == 1) { /* an overdue job is killed without waiting for other commands */
        batch_carry_out_by_command(a, what, true, ids, n, cb, arg);
        return;
    }
    deed = xcalloc(1, sizeof *deed);
    *deed = (struct pbs_deed){.what = what, .cb = cb, .arg = arg};
    batch_busy(a);
    if (pbs->kind != PBS_KIND_TORQUE)
        add_ranges(pbs, deed, ids, n);
    else
        add_order_for_ids(pbs, deed, ids, n);
    run_next(pbs);
}

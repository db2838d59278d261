/* Lists ensembles by the rate at which their members succeed, which time changes: it is measured for each answer. Only
 * ensembles that are not over have one, and measuring costs a few look-ups each, so that some are measured in each turn
 * of the loop. */
#include "api/ensemble_json.h"
#include "api/ensemble_lists.h"
#include "api/paced.h"
#include "common/xalloc.h"

#include <limits.h>
#include <stdlib.h>

#define PIECE 50 /* ensembles that are measured in one turn of the loop */

struct rated {
    int64_t id;
    double rate;
};

struct rate_listing {
    struct paced_waiter waiter; /* must be first */
    struct ensemble_page page;
    struct rated *list; /* those with a rate */
    size_t n;
    int64_t before; /* the next ensemble to be measured is below this id */
    int in_piece;
    struct error err;
};

static int measure_ensemble(void *arg, const struct ensemble_row *row)
{
    struct rate_listing *m = arg;
    double rate;

    m->in_piece++;
    m->before = row->id;
    if (ensemble_rate(m->page.r, row, &rate, &m->err) < 0)
        return m->page.failed = true;
    if (rate > 0) {
        m->list = xrealloc(m->list, m->n + 1, sizeof *m->list);
        m->list[m->n++] = (struct rated){row->id, rate};
    }
    return 0;
}

static int measure_piece(struct rate_listing *m)
{
    const unsigned open = 1u << ENSEMBLE_RUNNING | 1u << ENSEMBLE_PAUSED;
    struct ensemble_filter filter = m->page.filter;

    m->in_piece = 0;
    filter.states = filter.states != 0 ? filter.states & open : open;
    if (filter.states == 0)
        return 0;
    return store_ensemble_each(request_store(m->page.r), m->before, &filter, PIECE, measure_ensemble, m, &m->err);
}

static int by_rate(const void *left, const void *right)
{
    const struct rated *a = left, *b = right;

    if (a->rate != b->rate)
        return a->rate < b->rate ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Adds the ensembles with a rate. The value of the cursor is the number of them up to there. Rates change from page to
 * page, and all fall together if nothing succeeds, but their order lasts. */
static int add_rated(struct rate_listing *m)
{
    const struct ensemble_place *after = &m->page.after;
    bool descending = m->page.order.descending;
    size_t first = after->value <= 0 ? 0 : after->value < (double)m->n ? (size_t)after->value : m->n;
    struct ensemble_row row;

    if (m->n > 1)
        qsort(m->list, m->n, sizeof *m->list, by_rate);
    if (after->id != 0 && !after->has_value)
        return 0;
    for (size_t i = first; i < m->n && !m->page.more && !m->page.failed; i++) {
        int64_t id = m->list[descending ? m->n - 1 - i : i].id;

        if (store_ensemble_get(request_store(m->page.r), id, &row, &m->err) < 0)
            return -1;
        ensemble_page_add(&m->page, &row, &(struct ensemble_place){id, true, (double)(i + 1), ""});
    }
    return 0;
}

/* Adds an ensemble without a rate. */
static int add_other(void *arg, const struct ensemble_row *row)
{
    struct rate_listing *m = arg;

    for (size_t i = 0; i < m->n; i++)
        if (m->list[i].id == row->id)
            return 0;
    return ensemble_page_add(&m->page, row, &(struct ensemble_place){.id = row->id});
}

static int make_page(struct rate_listing *m)
{
    const struct ensemble_place *after = &m->page.after;

    if (add_rated(m) < 0)
        return -1;
    if (m->page.more || m->page.failed)
        return 0;
    return store_ensemble_each(request_store(m->page.r), after->has_value ? 0 : after->id, &m->page.filter, INT_MAX,
                               add_other, m, &m->err);
}

static void reply_rated(struct rate_listing *m, int rc)
{
    ensemble_page_reply(&m->page, rc);
    free(m->list);
    free(m);
}

static void rate_on_turn(struct paced_waiter *waiter, bool ending)
{
    struct rate_listing *m = (struct rate_listing *)waiter;

    if (ending || request_is_abandoned(m->page.r) || request_is_orphan(m->page.r)) {
        error_set(&m->err, "not_ready", "the daemon ends, or nobody waits for the answer any more");
        reply_rated(m, -1);
    } else if (measure_piece(m) < 0 || m->page.failed)
        reply_rated(m, -1);
    else if (m->in_piece < PIECE)
        reply_rated(m, make_page(m));
    else
        paced_wait(request_config(m->page.r)->paced, waiter);
}

void ensembles_by_rate(const struct ensemble_page *page)
{
    struct rate_listing *m = xcalloc(1, sizeof *m);

    *m = (struct rate_listing){.waiter.piece = rate_on_turn, .page = *page};
    m->page.err = &m->err;
    request_hold(page->r);
    paced_wait(request_config(page->r)->paced, &m->waiter);
}

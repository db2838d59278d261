#include "api/ensemble_json.h"
#include "api/ensemble_trouble.h"
#include "api/listing.h"
#include "api/paced.h"
#include "common/xalloc.h"

#include <stdlib.h>

#define PIECE 50 /* ensembles that are looked at in one turn of the loop */

struct trouble_listing {
    struct paced_waiter waiter; /* must be first */
    struct listing list;
    struct ensemble_filter filter;
    int64_t at; /* the next ensemble to look at is below this id */
    int in_piece;
    bool over; /* the page is full, or an ensemble could not be read */
};

static int list_if_in_trouble(void *arg, const struct ensemble_row *row)
{
    struct trouble_listing *l = arg;
    char why[TROUBLE_SIZE];

    l->in_piece++;
    l->at = row->id;
    if (ensemble_trouble(l->list.r, row, why, &l->list.err) < 0)
        l->over = listing_put(&l->list, row->id, NULL);
    else if (why[0] != '\0')
        l->over = !listing_takes(&l->list) ||
                  listing_put(&l->list, row->id, ensemble_json(l->list.r, row, &l->list.err)) != 0;
    return l->over;
}

static void reply_troubled(struct trouble_listing *l, int rc)
{
    listing_reply(&l->list, "ensembles", rc);
    free(l);
}

static void look_for_trouble_on_turn(struct paced_waiter *waiter, bool ending)
{
    struct trouble_listing *l = (struct trouble_listing *)waiter;
    struct request *r = l->list.r;

    l->in_piece = 0;
    if (ending || request_is_abandoned(r) || request_is_orphan(r)) {
        error_set(&l->list.err, "not_ready", "the daemon ends, or nobody waits for the answer any more");
        reply_troubled(l, -1);
    } else if (store_ensemble_each(request_store(r), l->at, &l->filter, PIECE, list_if_in_trouble, l, &l->list.err) < 0)
        reply_troubled(l, -1);
    else if (l->over || l->in_piece < PIECE || l->at <= 1)
        reply_troubled(l, 0);
    else
        paced_wait(request_config(r)->paced, waiter);
}

void ensembles_in_trouble(struct request *r, const struct ensemble_filter *filter)
{
    struct trouble_listing *l = xcalloc(1, sizeof *l);

    if (listing_begin(&l->list, r) < 0) {
        reply_troubled(l, -1);
        return;
    }
    l->filter = *filter;
    l->at = l->list.before;
    l->waiter.piece = look_for_trouble_on_turn;
    request_hold(r);
    paced_wait(request_config(r)->paced, &l->waiter);
}

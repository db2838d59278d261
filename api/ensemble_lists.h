/* Lists of ensembles that are sorted by what a query says. */
#ifndef API_ENSEMBLE_LISTS_H
#define API_ENSEMBLE_LISTS_H
#include "api/request.h"
#include "daemon/store/ensemble_order.h"

#include <jansson.h>

/* A page of such a list. The cursor is the place behind which the next page begins. */
struct ensemble_page {
    struct request *r;
    struct ensemble_filter filter;
    struct ensemble_order order;
    struct ensemble_place after; /* from the cursor */
    struct ensemble_place last;  /* of the last item */
    int64_t limit;
    json_t *items;
    bool more, failed; /* failed: *err says why */
    struct error *err;
};

/* Adds an ensemble, unless the page is full. Returns non-zero when no more are wanted. */
int ensemble_page_add(struct ensemble_page *page, const struct ensemble_row *row, const struct ensemble_place *place);
/* Answers with the page, or with page->err if rc < 0 or an ensemble could not be added. */
void ensemble_page_reply(struct ensemble_page *page, int rc);

/* Answers a query with `sort`; the page has the filter. */
void ensembles_sorted(const struct ensemble_page *page);
/* Answers a query that sorts by rate. Rates are measured for each answer, some in each turn of the loop. */
void ensembles_by_rate(const struct ensemble_page *page);
#endif

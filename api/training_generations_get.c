#include "api/find.h"
#include "api/handlers.h"
#include "api/listing.h"
#include "api/value.h"
#include "daemon/store/generation.h"

#define RESTARTS_MAX 20 /* of each generation that are listed, the newest */

static int add_restart(void *arg, const struct restart_row *row)
{
    json_array_append_new(arg, json_pack("{s:I, s:o, s:I, s:o, s:o, s:b}", "number", (json_int_t)row->number, "time",
                                         value_time(row->time_ms), "rank", (json_int_t)row->rank, "host",
                                         value_text_or_null(row->host), "reason", value_text_or_null(row->reason),
                                         "cost_retry", (int)row->cost));
    return 0;
}

/* A page of generations; of each, its restarts are read besides. */
struct generation_page {
    struct listing list;
    struct store *store;
    int64_t training;
};

static int list_generation(void *arg, const struct generation_row *row)
{
    struct generation_page *page = arg;
    json_t *restarts;

    if (!listing_takes(&page->list))
        return 1;
    restarts = json_array();
    if (store_restart_each(page->store, page->training, row->number, RESTARTS_MAX, add_restart, restarts,
                           &page->list.err) < 0) {
        json_decref(restarts);
        return listing_put(&page->list, row->number, NULL);
    }
    return listing_put(&page->list, row->number,
                       json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "number",
                                 (json_int_t)row->number, "ranks", (json_int_t)row->ranks, "started",
                                 value_time(row->started_ms), "ended", value_time(row->ended_ms), "end",
                                 value_text_or_null(row->end), "reason", value_text_or_null(row->reason),
                                 "resumed_from", value_text_or_null(row->resumed), "resumed_step",
                                 row->resumed[0] != '\0' ? json_integer(row->resumed_step) : json_null(),
                                 "samples_lost", (json_int_t)row->samples_lost, "members_again",
                                 (json_int_t)row->members_again, "restarts", restarts));
}

void training_generations_get(struct request *r)
{
    struct training_row training;
    struct generation_page page = {.store = request_store(r)};
    int rc;

    if (find_training(r, &training) < 0)
        return;
    page.training = training.id;
    rc = listing_begin(&page.list, r);
    if (rc == 0)
        rc = store_generation_each(page.store, training.id, page.list.before, (int)page.list.limit + 1, list_generation,
                                   &page, &page.list.err);
    listing_reply(&page.list, "generations", rc);
}

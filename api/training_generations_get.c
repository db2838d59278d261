#include "api/find.h"
#include "api/handlers.h"
#include "api/listing.h"
#include "api/value.h"
#include "daemon/store/generation.h"

static int add(void *arg, const struct generation_row *row)
{
    struct listing *list = arg;

    if (!listing_takes(list))
        return 1;
    return listing_put(
        list, row->number,
        json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "number", (json_int_t)row->number, "ranks",
                  (json_int_t)row->ranks, "started", value_time(row->started_ms), "ended", value_time(row->ended_ms),
                  "end", value_text_or_null(row->end), "reason", value_text_or_null(row->reason), "resumed_from",
                  value_text_or_null(row->resumed), "resumed_step",
                  row->resumed[0] != '\0' ? json_integer(row->resumed_step) : json_null(), "samples_lost",
                  (json_int_t)row->samples_lost, "members_again", (json_int_t)row->members_again));
}

void training_generations_get(struct request *r)
{
    struct training_row training;
    struct listing list;
    int rc;

    if (find_training(r, &training) < 0)
        return;
    rc = listing_begin(&list, r);
    if (rc == 0)
        rc = store_generation_each(request_store(r), training.id, list.before, (int)list.limit + 1, add, &list,
                                   &list.err);
    listing_reply(&list, "generations", rc);
}

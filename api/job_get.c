#include "api/find.h"
#include "api/handlers.h"
#include "api/job_json.h"
#include "api/value.h"
#include "daemon/store/attempt.h"

#include <limits.h>

static int add_attempt_of_job(void *arg, const struct attempt_row *row)
{
    json_array_append_new(arg, json_pack("{s:I, s:I, s:o}", "index", (json_int_t)row->index, "number",
                                         (json_int_t)row->number, "outcome",
                                         value_text_or_null(attempt_outcome_name(row->end.outcome))));
    return 0;
}

/* Answers with a job and its attempts, which are at most as many as a job may pack. */
void job_get(struct request *r)
{
    json_t *attempts = json_array(), *json;
    struct job_row row;
    struct error err;

    if (find_job(r, &row) < 0) {
        json_decref(attempts);
        return;
    }
    if (store_attempt_each_of_job(request_store(r), row.id, 0, INT_MAX, add_attempt_of_job, attempts, &err) < 0 ||
        (json = job_json(r, &row, &err)) == NULL) {
        json_decref(attempts);
        request_reply_problem(r, &err);
        return;
    }
    json_object_set_new(json, "attempts", attempts);
    request_reply_json(r, 200, json);
}

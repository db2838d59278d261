/* Reports how members of an open ensemble, and of its follow-ups, have ended, in the order in which they did. */
#include "api/find.h"
#include "api/handlers.h"
#include "api/series_json.h"
#include "api/value.h"
#include "daemon/store/attempt.h"
#include "daemon/store/suggestion.h"

#include <stdlib.h>

struct results_page {
    struct store *store;
    const struct spec *spec;
    int64_t root, last;
    json_t *items;
    struct error *err;
    bool failed;
};

static int add_last_attempt(struct results_page *results, const struct member_row *member, json_t *json)
{
    struct attempt_row attempt = {.end.ended_ms = 0};
    int rc = member->attempts == 0 ? 0
                                   : store_attempt_get(results->store, member->ensemble, member->index,
                                                       member->attempts, &attempt, results->err);

    json_object_set_new(json, "outcome",
                        rc == 1 ? value_text_or_null(attempt_outcome_name(attempt.end.outcome)) : json_null());
    json_object_set_new(json, "ended", rc == 1 ? value_time(attempt.end.ended_ms) : json_null());
    return rc < 0 ? -1 : 0;
}

static int list_result(void *arg, const struct result_row *row)
{
    struct results_page *results = arg;
    const struct member_row *member = &row->member;
    char name[SUGGESTION_NAME];
    json_t *json = json_pack("{s:I, s:I, s:I, s:s, s:I, s:o, s:o}", "number", (json_int_t)row->number, "ensemble",
                             (json_int_t)member->ensemble, "index", (json_int_t)member->index, "state",
                             member_state_name(member->state), "attempts", (json_int_t)member->attempts, "reason",
                             value_text_or_null(member->reason), "parameters",
                             value_or_null(params_at(results->spec->params, member->index)));

    json_array_append_new(results->items, json);
    results->last = row->number;
    if (store_suggestion_name(results->store, results->root, member->index, name, results->err) == 0 &&
        add_last_attempt(results, member, json) == 0 &&
        series_json_add(json, results->store, member->ensemble, member->index, NULL, results->err) == 0) {
        json_object_set_new(json, "name", value_text_or_null(name));
        return 0;
    }
    results->failed = true;
    return 1;
}

void results_get(struct request *r)
{
    struct ensemble_row ensemble;
    struct results_page results = {.store = request_store(r)};
    struct spec *owned = NULL;
    struct error err;
    int64_t after = 0, limit = 100;

    if (find_ensemble(r, &ensemble) < 0)
        return;
    if (ensemble.intake == INTAKE_NONE) {
        request_reply_error(r, "ensemble_not_open",
                            "ensemble %lld took no suggestions: its members are listed by index",
                            (long long)ensemble.id);
        return;
    }
    if (request_query_int(r, "after", 0, INT64_MAX, &after, &err) < 0 ||
        request_query_int(r, "limit", 1, 1000, &limit, &err) < 0 ||
        (results.spec = engine_spec(request_config(r)->engine, ensemble.id, &owned, &err)) == NULL) {
        request_reply_problem(r, &err);
        return;
    }
    results.root = ensemble_root(&ensemble);
    results.last = after;
    results.items = json_array();
    results.err = &err;
    if (store_result_each(results.store, results.root, after, (int)limit, list_result, &results, &err) < 0 ||
        results.failed) {
        json_decref(results.items);
        request_reply_problem(r, &err);
    } else {
        request_reply_json(r, 200, json_pack("{s:o, s:I}", "results", results.items, "next", (json_int_t)results.last));
    }
    spec_destroy(owned);
}

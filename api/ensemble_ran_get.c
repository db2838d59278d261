/* Sends what the attempts of an ensemble with rules ran: a list of different things, each with its attempts. */
#include "api/find.h"
#include "api/handlers.h"
#include "daemon/engine/engine.h"
#include "daemon/store/ran.h"

#include <stdio.h>

struct ran_list {
    json_t *items;   /* what was run */
    json_t *by_id;   /* the list of attempts of each item */
    json_t *missing; /* attempts of which it is not recorded */
};

static int add_item(void *arg, const struct ran_row *row)
{
    struct ran_list *list = arg;
    json_t *item = json_loads(row->content, 0, NULL), *attempts = json_array();
    char id[24];

    snprintf(id, sizeof id, "%lld", (long long)row->id);
    json_object_set(list->by_id, id, attempts);
    if (item == NULL)
        item = json_object(); /* no runner of ours wrote it */
    json_object_set_new(item, "attempts", attempts);
    json_array_append_new(list->items, item);
    return 0;
}

static int add_attempt_to_ran(void *arg, const struct ran_attempt_row *row)
{
    struct ran_list *list = arg;
    json_t *attempts;
    char id[24];

    snprintf(id, sizeof id, "%lld", (long long)row->ran);
    attempts = json_object_get(list->by_id, id);
    if (attempts == NULL && !row->started)
        return 0; /* it ran nothing */
    json_array_append_new(attempts != NULL ? attempts : list->missing,
                          json_pack("[I, I]", (json_int_t)row->index, (json_int_t)row->number));
    return 0;
}

void ensemble_ran_get(struct request *r)
{
    struct ran_list list = {.items = json_array(), .by_id = json_object(), .missing = json_array()};
    struct ensemble_row row;
    struct spec *owned = NULL;
    const struct spec *spec;
    struct error err;
    int rc = 0;

    if (find_ensemble(r, &row) == 0) {
        spec = engine_spec(request_config(r)->engine, row.id, &owned, &err);
        if (spec == NULL || (spec->rules != NULL &&
                             (store_ran_each(request_store(r), row.id, add_item, &list, &err) < 0 ||
                              store_ran_each_attempt(request_store(r), row.id, add_attempt_to_ran, &list, &err) < 0)))
            rc = -1;
        if (rc < 0)
            request_reply_problem(r, &err);
        else
            request_reply_json(r, 200, json_pack("{s:O, s:O}", "ran", list.items, "missing", list.missing));
        spec_destroy(owned);
    }
    json_decref(list.items);
    json_decref(list.by_id);
    json_decref(list.missing);
}

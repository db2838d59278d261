#include "api/ensemble_json.h"

#include "api/ensemble_trouble.h"
#include "api/rate.h"
#include "api/value.h"
#include "daemon/store/cause.h"
#include "daemon/store/family.h"
#include "daemon/store/rung.h"

#include <stdlib.h>

struct successes {
    struct store *store;
    int64_t ensemble;
};

static int look_up(void *arg, int64_t nth, int64_t *ms, struct error *err)
{
    const struct successes *successes = arg;

    return store_ensemble_success(successes->store, successes->ensemble, nth, ms, err);
}

static int look_up_idle(void *arg, int64_t since_ms, int64_t now_ms, int64_t *idle_ms, struct error *err)
{
    const struct successes *successes = arg;

    return store_ensemble_idle(successes->store, successes->ensemble, since_ms, now_ms, idle_ms, err);
}

static int measure_success_rate(const struct request *r, const struct ensemble_row *row, const int64_t n[],
                                double *rate, struct error *err)
{
    struct successes successes = {request_store(r), row->id};

    *rate = 0;
    if (row->ended_ms != 0 || n[MEMBER_SUCCEEDED] == 0)
        return 0;
    return rate_of(request_now_ms(r), row->created_ms, row->width, n[MEMBER_SUCCEEDED], look_up, look_up_idle,
                   &successes, rate, err);
}

int ensemble_rate(const struct request *r, const struct ensemble_row *row, double *rate, struct error *err)
{
    int64_t n[MEMBER_STATE_COUNT] = {0};

    return store_tally_get(request_store(r), row->id, n, err) < 0 ? -1 : measure_success_rate(r, row, n, rate, err);
}

/* Adds the rate in members a second, and when the last member would be done at that rate. */
static int add_rate(const struct request *r, const struct ensemble_row *row, const int64_t n[], json_t *json,
                    struct error *err)
{
    int64_t now = request_now_ms(r), left = member_counts_open(n);
    double rate;
    int64_t last, took;
    json_t *eta = NULL;

    if (measure_success_rate(r, row, n, &rate, err) < 0)
        return -1;
    /* an estimate beyond a century means nothing */
    if (rate > 0 && row->state == ENSEMBLE_RUNNING && left > 0 && (double)left / rate < 3e9) {
        if (store_ensemble_pace(request_store(r), row->id, &last, &took, err) < 0)
            return -1;
        if (!rate_is_stale(now, last, took))
            eta = value_time(now + (int64_t)((double)left / rate * 1000));
    }
    json_object_set_new(json, "rate", value_real(rate));
    json_object_set_new(json, "eta", eta != NULL ? eta : json_null());
    return 0;
}

static int add_training(const struct request *r, const struct ensemble_row *row, json_t *json, struct error *err)
{
    struct training_row training;
    int rc = store_training_of(request_store(r), row->id, &training, err);
    json_t *value;

    if (rc < 0)
        return -1;
    value = rc > 0 ? training_json(r, &training, err) : json_null();
    return json_object_set_new(json, "training", value); /* returns -1 also if value is NULL */
}

static json_t *member_counts_json(const int64_t n[MEMBER_STATE_COUNT])
{
    json_t *json = json_object();

    for (int i = 0; i < MEMBER_STATE_COUNT; i++)
        json_object_set_new(json, member_state_name((enum member_state)i), json_integer(n[i]));
    return json;
}

/* Returns the present states of a family's members, in the ensembles that have them now. `root` has been followed
 * up. */
static json_t *family(const struct request *r, int64_t root, struct error *err)
{
    struct ensemble_row newest;
    int64_t n[MEMBER_STATE_COUNT], follow_ups;

    if (store_family_newest(request_store(r), root, &newest, err) <= 0 ||
        store_family_follow_ups(request_store(r), root, &follow_ups, err) < 0 ||
        store_family_tally(request_store(r), root, n, err) < 0)
        return NULL;
    return json_pack("{s:I, s:I, s:s, s:o}", "follow_ups", (json_int_t)follow_ups, "newest", (json_int_t)newest.id,
                     "state", ensemble_state_name(newest.state), "members", member_counts_json(n));
}

/* Adds the ensembles before and after this one. */
static int add_lineage(const struct request *r, const struct ensemble_row *row, json_t *json, struct error *err)
{
    json_t *follow_ups = json_array();
    int64_t id;
    int rc = store_follow_up_of(request_store(r), row->id, &id, err);

    if (rc == 1)
        json_array_append_new(follow_ups, json_integer(id));
    json_object_set_new(json, "root", json_integer(ensemble_root(row)));
    json_object_set_new(json, "follow_up_of", row->parent != 0 ? json_integer(row->parent) : json_null());
    json_object_set_new(json, "follow_ups", follow_ups);
    if (rc < 0)
        return -1;
    return json_object_set_new(json, "family", rc == 1 && row->root == 0 ? family(r, row->id, err) : json_null());
}

static json_t *allocation_json(const struct request *r, int64_t id)
{
    struct engine_allocation alloc;

    if (!engine_allocation(request_config(r)->engine, id, &alloc))
        return json_null();
    return json_pack("{s:I, s:I, s:I}", "count", (json_int_t)alloc.count, "asked", (json_int_t)alloc.asked, "running",
                     (json_int_t)alloc.running);
}

static json_t *limits(const struct spec_range *range)
{
    return range->most == 0 ? json_null() : json_pack("[I, I]", (json_int_t)range->least, (json_int_t)range->most);
}

static json_t *elastic_json(const struct request *r, int64_t id)
{
    struct engine_elastic elastic;
    json_t *by_hand;

    if (!engine_elastic(request_config(r)->engine, id, &elastic))
        return json_null();
    by_hand = json_array();
    if (elastic.width_by_hand)
        json_array_append_new(by_hand, json_string("width"));
    if (elastic.ranks_by_hand)
        json_array_append_new(by_hand, json_string("ranks"));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "width", limits(&elastic.limits.width), "ranks",
                     limits(&elastic.limits.ranks), "by_hand", by_hand, "changed", value_time(elastic.changed_ms),
                     "reason", value_text_or_null(elastic.reason));
}

/* Returns why the ensemble does not go on, or null. */
static json_t *notice(const struct request *r, const struct ensemble_row *row)
{
    struct engine_notice notice;

    if (!engine_notice(request_config(r)->engine, row, &notice))
        return json_null();
    return json_pack("{s:s, s:o}", "code", notice.code, "text", value_text(notice.text));
}

json_t *ensemble_json(const struct request *r, const struct ensemble_row *row, struct error *err)
{
    int64_t n[MEMBER_STATE_COUNT] = {0}, diverged, rung;
    char trouble[TROUBLE_SIZE];
    json_t *json;
    char *dir;

    if (store_tally_get(request_store(r), row->id, n, err) < 0 || ensemble_trouble(r, row, trouble, err) < 0 ||
        store_cause_diverged(request_store(r), row->id, &diverged, err) < 0 ||
        store_rung_highest(request_store(r), row->id, &rung, err) < 0)
        return NULL;
    json = json_object();
    json_object_set_new(json, "id", json_integer(row->id));
    json_object_set_new(json, "name", value_text(row->name));
    json_object_set_new(json, "state", value_text(ensemble_state_name(row->state)));
    json_object_set_new(json, "reason", value_text_or_null(row->reason));
    json_object_set_new(json, "notice", notice(r, row));
    json_object_set_new(json, "trouble", value_text_or_null(trouble));
    json_object_set_new(json, "adapter", value_text(row->adapter));
    json_object_set_new(json, "open", json_boolean(row->intake == INTAKE_OPEN && !ensemble_is_over(row)));
    json_object_set_new(json, "after", row->after != 0 ? json_integer(row->after) : json_null());
    json_object_set_new(json, "count", json_integer(row->count));
    json_object_set_new(json, "width", json_integer(row->width));
    json_object_set_new(json, "members", member_counts_json(n));
    json_object_set_new(json, "diverged", json_integer(diverged));
    json_object_set_new(json, "rung", rung > 0 ? json_integer(rung) : json_null());
    if (add_rate(r, row, n, json, err) < 0)
        goto fail;
    json_object_set_new(json, "created", value_time(row->created_ms));
    json_object_set_new(json, "ended", value_time(row->ended_ms));
    dir = engine_ensemble_dir(request_config(r)->engine, row->id);
    json_object_set_new(json, "dir", value_text(dir));
    free(dir);
    json_object_set_new(json, "allocation", allocation_json(r, row->id));
    json_object_set_new(json, "elastic", elastic_json(r, row->id));
    if (add_lineage(r, row, json, err) < 0 || add_training(r, row, json, err) < 0)
        goto fail;
    return json;
fail:
    json_decref(json);
    return NULL;
}

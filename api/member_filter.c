#include "api/member_filter.h"

#include "api/find.h"
#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/spec/value.h"
#include "daemon/store/attempt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL_STATES ((1u << MEMBER_STATE_COUNT) - 1)

/* A condition on a parameter, or on what a path reaches inside its values: a value, or a range of numbers. A list of
 * two numbers is both. */
struct filter_condition {
    size_t parameter;
    const char *path; /* NULL for the whole value */
    const json_t *value;
    double low, high; /* NAN if it is no range */
};

struct member_filter {
    struct request *r;
    int64_t ensemble, first, end;
    unsigned states; /* a bit for each state */
    char rowless;
    const char *host, *cause; /* NULL for any */
    json_t *where;            /* owns the values of the conditions */
    size_t n;
    struct filter_condition *conditions;
    struct spec *owned; /* the spec of an ensemble that has ended */
};

static int read_states(struct member_filter *filter, struct error *err)
{
    const char *names[MEMBER_STATE_COUNT];

    for (int i = 0; i < MEMBER_STATE_COUNT; i++)
        names[i] = member_state_name((enum member_state)i);
    filter->states = ALL_STATES;
    return request_query_words(filter->r, "state", names, MEMBER_STATE_COUNT, &filter->states, err);
}

static bool is_range_end(const json_t *value)
{
    return json_is_number(value) || json_is_null(value);
}

static bool is_range(const json_t *value)
{
    return json_array_size(value) == 2 && is_range_end(json_array_get(value, 0)) &&
           is_range_end(json_array_get(value, 1));
}

static int read_condition(struct member_filter *filter, const struct params *params, const char *name,
                          const json_t *value, struct error *err)
{
    struct filter_condition *condition = &filter->conditions[filter->n];

    condition->parameter = params_find(params, name, &condition->path);
    if (condition->parameter == params_size(params))
        return error_set(err, "query_wrong_value", "query parameter \"where\": members have no parameter \"%.64s\"",
                         name);
    filter->n++;
    condition->value = value;
    condition->low = condition->high = json_is_number(value) ? json_number_value(value) : NAN; /* 1 equals 1.0 */
    if (is_range(value)) {
        const json_t *low = json_array_get(value, 0), *high = json_array_get(value, 1);

        condition->low = json_is_null(low) ? -INFINITY : json_number_value(low);
        condition->high = json_is_null(high) ? INFINITY : json_number_value(high);
    } else if (json_is_null(value) ||
               (params_is_numeric(params, condition->parameter) && (json_is_array(value) || json_is_object(value)))) {
        return error_set(
            err, "query_wrong_value",
            "query parameter \"where\": \"%.64s\" must be a number, or a range [low, high], whose ends are "
            "numbers or null, or a value that members have",
            name);
    }
    return 0;
}

/* Returns the spec, valid in this turn of the loop: that of a live ensemble is the engine's, which may free it
 * later. */
static const struct spec *spec_of(struct member_filter *filter, struct error *err)
{
    return engine_spec_again(request_config(filter->r)->engine, filter->ensemble, &filter->owned, err);
}

static int read_where(struct member_filter *filter, struct error *err)
{
    const char *text = request_query(filter->r, "where"), *name;
    const struct spec *spec;
    json_t *value;

    if (text == NULL)
        return 0;
    filter->where = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(filter->where))
        return error_set(err, "query_wrong_value",
                         "query parameter \"where\" must be a JSON object, such as {\"t0\": [100, 200]}");
    spec = spec_of(filter, err);
    if (spec == NULL)
        return -1;
    filter->conditions = xcalloc(json_object_size(filter->where) + 1, sizeof *filter->conditions);
    json_object_foreach (filter->where, name, value)
        if (read_condition(filter, spec->params, name, value, err) < 0)
            return -1;
    return 0;
}

struct member_filter *member_filter_create(struct request *r, const struct ensemble_row *ensemble, struct error *err)
{
    struct member_filter *filter = xcalloc(1, sizeof *filter);
    int64_t to = INT64_MAX - 1;

    filter->r = r;
    filter->ensemble = ensemble->id;
    filter->rowless = ensemble->root != 0 ? MEMBER_FILTER_NONE : (char)('0' + find_rowless_state(ensemble));
    filter->host = request_query(r, "host");
    filter->cause = request_query(r, "cause");
    if (request_query_int(r, "from", 0, INT64_MAX - 1, &filter->first, err) < 0 ||
        request_query_int(r, "to", 0, INT64_MAX - 1, &to, err) < 0)
        goto fail;
    if (filter->first > to) {
        error_set(err, "query_wrong_value", "query parameter \"from\" must not be above \"to\"");
        goto fail;
    }
    filter->end = find_places(r, ensemble, err);
    if (filter->end < 0 || read_states(filter, err) < 0 || read_where(filter, err) < 0)
        goto fail;
    if (to < filter->end)
        filter->end = to + 1;
    return filter;
fail:
    member_filter_destroy(filter);
    return NULL;
}

void member_filter_destroy(struct member_filter *filter)
{
    if (filter == NULL)
        return;
    json_decref(filter->where);
    free(filter->conditions);
    spec_destroy(filter->owned);
    free(filter);
}

bool member_filter_is_searching(const struct member_filter *filter)
{
    return filter->n > 0 || filter->host != NULL || filter->cause != NULL;
}

bool member_filter_is_simple(const struct member_filter *filter, enum member_state *state)
{
    if (member_filter_is_searching(filter) || request_query(filter->r, "from") != NULL ||
        request_query(filter->r, "to") != NULL)
        return false;
    *state = MEMBER_STATE_COUNT;
    if (filter->states == ALL_STATES)
        return true;
    for (*state = 0; *state < MEMBER_STATE_COUNT; (*state)++)
        if (filter->states == 1u << *state)
            return true;
    return false;
}

void member_filter_span(const struct member_filter *filter, int64_t *first, int64_t *end)
{
    *first = filter->first;
    *end = filter->end;
}

struct filter_look {
    struct member_filter *filter;
    int64_t from;
    unsigned char *states;
    bool found[MEMBER_FILTER_PIECE];
};

static int put_found_state(void *arg, int64_t index, enum member_state state)
{
    struct filter_look *looking = arg;

    looking->states[index - looking->from] = (unsigned char)('0' + state);
    return 0;
}

static int put_found(void *arg, const int64_t *index)
{
    struct filter_look *looking = arg;

    looking->found[*index - looking->from] = true;
    return 0;
}

typedef int search_fn(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *text,
                      int (*each)(void *arg, const int64_t *index), void *arg, struct error *err);

/* Takes out the members that the search does not find. */
static int keep_found(struct filter_look *looking, size_t n, search_fn *search, const char *text, struct error *err)
{
    const struct member_filter *filter = looking->filter;

    if (text == NULL)
        return 0;
    memset(looking->found, 0, sizeof looking->found);
    if (search(request_store(filter->r), filter->ensemble, looking->from, looking->from + (int64_t)n, text, put_found,
               looking, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (!looking->found[i])
            looking->states[i] = MEMBER_FILTER_NONE;
    return 0;
}

static bool condition_holds(const struct filter_condition *condition, const json_t *value)
{
    if (condition->path != NULL)
        value = jsonx_inside(value, condition->path);
    if (json_is_number(value))
        return json_number_value(value) >= condition->low && json_number_value(value) <= condition->high;
    return value != NULL && value_equal(condition->value, value);
}

/* Returns whether all conditions hold. Parameters that cannot be read hold no condition. */
static bool all_hold(const struct member_filter *filter, const struct params *params, int64_t index)
{
    for (size_t i = 0; i < filter->n; i++) {
        json_t *value = params_one(params, filter->conditions[i].parameter, index);
        bool is = value != NULL && condition_holds(&filter->conditions[i], value);

        json_decref(value);
        if (!is)
            return false;
    }
    return true;
}

static int keep_where(struct filter_look *looking, size_t n, struct error *err)
{
    struct member_filter *filter = looking->filter;
    const struct spec *spec;

    if (filter->n == 0)
        return 0;
    spec = spec_of(filter, err);
    if (spec == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (looking->states[i] != MEMBER_FILTER_NONE && !all_hold(filter, spec->params, looking->from + (int64_t)i))
            looking->states[i] = MEMBER_FILTER_NONE;
    return 0;
}

int member_filter_look(struct member_filter *filter, int64_t from, int64_t end, unsigned char *states,
                       struct error *err)
{
    struct filter_look looking = {.filter = filter, .from = from, .states = states};
    size_t n = (size_t)(end - from);

    memset(states, filter->rowless, n);
    if (store_member_each_state(request_store(filter->r), filter->ensemble, from, end, put_found_state, &looking, err) <
        0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (states[i] != MEMBER_FILTER_NONE && (filter->states & 1u << (states[i] - '0')) == 0)
            states[i] = MEMBER_FILTER_NONE;
    if (keep_found(&looking, n, store_attempt_each_on_host, filter->host, err) < 0 ||
        keep_found(&looking, n, store_attempt_each_by_cause, filter->cause, err) < 0)
        return -1;
    return keep_where(&looking, n, err);
}

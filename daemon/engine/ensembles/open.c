/* Open ensembles take members while they run: a generator suggests them, and learns how they ended. */
#include "common/log.h"
#include "common/log_changes.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/suggestion.h"
#include "daemon/store/suggestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compares parameters. The notation of numbers does not matter. */
static bool are_same(const struct params *params, const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < params_size(params); i++) {
        const json_t *x = json_object_get(a, params_name(params, i)), *y = json_object_get(b, params_name(params, i));

        if (json_equal(x, y))
            continue;
        if (!json_is_number(x) || !json_is_number(y) || (json_is_integer(x) && json_is_integer(y)) ||
            json_number_value(x) != json_number_value(y))
            return false;
    }
    return true;
}

/* Writes the parameters in the order of the spec. */
static char *text_of(const struct params *params, const json_t *values)
{
    json_t *ordered = json_object();
    struct text text = {0};

    for (size_t i = 0; i < params_size(params); i++)
        json_object_set(ordered, params_name(params, i), json_object_get(values, params_name(params, i)));
    text_json(&text, ordered);
    json_decref(ordered);
    return text.data;
}

static void place_of(char place[64], size_t i, const char *key)
{
    snprintf(place, 64, "/suggestions/%zu/%s", i, key);
}

/* Checks that a member with these parameters can run. Fails with a place in the suggestions. */
static int check_needs(struct live_ensemble *ens, const json_t *values, const char *place, struct error *err)
{
    struct adapter_resources needs;
    int rc;

    if (ens->spec->members.needs == NULL)
        return 0;
    rc = needs_fill(ens->spec, values, &needs, err);
    if (rc == 0) {
        needs.copies = 1;
        rc = ens->adapter->ops->check(ens->adapter->adapter, &needs, err);
    }
    if (rc < 0)
        snprintf(err->pointer, sizeof err->pointer, "%s", place);
    return rc;
}

static int refuse_suggestion(const struct engine_suggestion *wish, const char *place, struct error *err)
{
    return error_at(err, "suggestion_conflict", place, "\"%s\" was suggested before, with other parameters",
                    wish->name);
}

/* The part of a list of suggestions that is new, and is to be stored. */
struct suggestion_intake {
    struct live_ensemble *ens;
    struct suggestion *fresh;
    char **texts;  /* of those */
    json_t *named; /* the place in `wishes` of each name that is fresh */
    size_t n;
};

/* Finds out whether a suggestion is known by its name already, in the store or further up in the list. Returns 1 if so,
 * 0 if not, -1 with err. */
static int suggestion_is_known(struct engine *engine, struct suggestion_intake *in, struct engine_suggestion *wishes,
                               size_t i, const char *place, struct error *err)
{
    struct engine_suggestion *wish = &wishes[i];
    const json_t *before = json_object_get(in->named, wish->name);
    const struct params *params = in->ens->spec->params;
    char *text;
    json_t *values;
    bool same;
    int rc;

    if (before != NULL) {
        const struct engine_suggestion *first = &wishes[json_integer_value(before)];

        wish->index = first->index;
        return are_same(params, first->parameters, wish->parameters) ? 1 : refuse_suggestion(wish, place, err);
    }
    rc = store_suggestion_find(engine->store, in->ens->row.id, wish->name, &wish->index, &text, err);
    if (rc != 1)
        return rc;
    values = json_loads(text, 0, NULL);
    same = are_same(params, values, wish->parameters);
    json_decref(values);
    free(text);
    return same ? 1 : refuse_suggestion(wish, place, err);
}

static int take_one(struct engine *engine, struct suggestion_intake *in, struct engine_suggestion *wishes, size_t i,
                    struct error *err)
{
    struct engine_suggestion *wish = &wishes[i];
    char place[64];
    int rc = 0;

    place_of(place, i, "parameters");
    if (suggestion_check(in->ens->spec->params, wish->parameters, in->ens->spec->has_training, place, err) < 0 ||
        check_needs(in->ens, wish->parameters, place, err) < 0)
        return -1;
    if (wish->name != NULL) {
        place_of(place, i, "name");
        rc = suggestion_is_known(engine, in, wishes, i, place, err);
    }
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    wish->made = true;
    wish->index = in->ens->row.count + (int64_t)in->n;
    in->texts[in->n] = text_of(in->ens->spec->params, wish->parameters);
    in->fresh[in->n] = (struct suggestion){wish->index, wish->name, in->texts[in->n], wish->priority};
    in->n++;
    if (wish->name != NULL)
        json_object_set_new(in->named, wish->name, json_integer((json_int_t)i));
    return 0;
}

static int check_open(struct engine *engine, const struct live_ensemble *ens, size_t n, struct error *err)
{
    long long id = ens->row.id;

    if (ensemble_is_ending(&ens->row))
        return error_set(err, "ensemble_over", "ensemble %lld is ending: %.400s", id, ens->row.reason);
    if (ens->row.intake == INTAKE_CLOSED)
        return error_set(err, "ensemble_closed", "ensemble %lld is closed: it takes no more suggestions", id);
    if (ens->row.count + (int64_t)n > ensemble_most(ens))
        return error_set(err, "ensemble_closed",
                         "ensemble %lld has %lld members, and takes %lld at most: \"most\" in its spec", id,
                         (long long)ens->row.count, (long long)ensemble_most(ens));
    return store_accept(engine->store, err);
}

static int store_intake(struct engine *engine, struct suggestion_intake *in, struct error *err)
{
    struct live_ensemble *ens = in->ens;
    struct member_span span = {ens->row.count, ens->row.count + (int64_t)in->n - 1};

    if (in->n == 0)
        return 0;
    if (check_open(engine, ens, in->n, err) < 0)
        return -1;
    if (store_suggestion_add(engine->store, &ens->row, in->fresh, in->n, err) < 0)
        return store_doom(engine->store, err);
    engine_event_of_span(engine, ens->row.id, &span, MEMBER_PENDING);
    ens->due = 0;
    engine_touch(engine, ens);
    return 0;
}

static int not_open(int64_t id, struct error *err)
{
    return error_set(err, "ensemble_not_open",
                     "ensemble %lld takes no suggestions: its spec has all of its members; \"open\" parameters let an "
                     "ensemble take them",
                     (long long)id);
}

int engine_suggest(struct engine *engine, int64_t id, struct engine_suggestion *wishes, size_t n, struct error *err)
{
    struct suggestion_intake in = {0};
    struct ensemble_row row;
    int rc = 0;

    if (engine_wake_up(engine, err) < 0 || engine_stored_ensemble(engine, id, &row, err) < 0)
        return -1;
    if (row.intake == INTAKE_NONE)
        return not_open(id, err);
    if (engine_open_ensemble(engine, id, &in.ens, err) < 0)
        return -1;
    in.fresh = xcalloc(n, sizeof *in.fresh);
    in.texts = xcalloc(n, sizeof *in.texts);
    in.named = json_object();
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = take_one(engine, &in, wishes, i, err);
    if (rc == 0)
        rc = store_intake(engine, &in, err);
    for (size_t i = 0; i < in.n; i++)
        free(in.texts[i]);
    json_decref(in.named);
    free(in.texts);
    free(in.fresh);
    if (rc == 0)
        engine_settle(engine);
    return rc;
}

int engine_close(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err)
{
    struct live_ensemble *ens;

    if (engine_wake_up(engine, err) < 0 || engine_stored_ensemble(engine, id, row, err) < 0)
        return -1;
    if (row->intake == INTAKE_NONE)
        return not_open(id, err);
    if (row->intake == INTAKE_CLOSED)
        return 0;
    if (engine_open_ensemble(engine, id, &ens, err) < 0)
        return -1;
    ens->row.intake = INTAKE_CLOSED;
    if (store_ensemble_update(engine->store, &ens->row, err) < 0)
        return -1;
    engine_event(engine, "ensemble.closed", id, -1, json_pack("{s:I}", "members", (json_int_t)ens->row.count));
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(id), "ensemble %lld is closed, with %lld members", (long long)id,
               (long long)ens->row.count);
    engine_touch(engine, ens);
    engine_settle_for(engine, ens, row, NULL);
    return 0;
}

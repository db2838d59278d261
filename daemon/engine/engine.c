#include "daemon/engine/feed.h"
#include "daemon/engine/open.h"
#include "daemon/engine/pilot.h"

#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct engine *engine_create(const struct engine_ports *ports, struct store *store, struct turn *turn)
{
    struct engine *engine = xcalloc(1, sizeof *engine);

    engine->ports = *ports;
    engine->store = store;
    engine->turn = turn;
    engine->wake_at = INT64_MAX;
    engine->budget = DISPATCH_MAX;
    engine->slice = SLICE_MAX;
    engine->save.ring = save_due;
    return engine;
}

void engine_destroy(struct engine *engine)
{
    struct known_adapter *adapter, *next;

    if (engine == NULL)
        return;
    engine_forget(engine);
    HASH_ITER (hh, engine->adapters, adapter, next) {
        HASH_DEL(engine->adapters, adapter);
        heap_fini(&adapter->slots.hungry);
        heap_fini(&adapter->slots.to_train);
        free(adapter);
    }
    heap_fini(&engine->alarms);
    free(engine);
}

void engine_add_adapter(struct engine *engine, const struct adapter_ops *ops, struct adapter *adapter, int64_t max_jobs)
{
    struct known_adapter *known = xcalloc(1, sizeof *known);

    known->ops = ops;
    known->adapter = adapter;
    known->max_jobs = max_jobs;
    poll_init(known);
    adapter_state_init(known);
    HASH_ADD_KEYPTR(hh, engine->adapters, ops->name, strlen(ops->name), known);
}

void engine_count(const struct engine *engine, size_t *ensembles, size_t *jobs)
{
    *ensembles = HASH_COUNT(engine->ensembles);
    *jobs = HASH_COUNT(engine->jobs);
}

struct ticket *ticket_new(struct engine *engine, int64_t id)
{
    struct ticket *ticket = xcalloc(1, sizeof *ticket);

    *ticket = (struct ticket){engine, engine->epoch, id};
    return ticket;
}

struct engine *ticket_redeem(void *arg, int64_t *id)
{
    struct ticket *ticket = arg;
    struct engine *engine = ticket->engine->epoch == ticket->epoch ? ticket->engine : NULL;

    *id = ticket->id;
    free(ticket);
    return engine;
}

int64_t engine_now(const struct engine *engine)
{
    return engine->ports.now_ms(engine->ports.arg);
}

struct live_job *engine_find_job(struct engine *engine, int64_t id)
{
    struct live_job *job;

    HASH_FIND(hh, engine->jobs, &id, sizeof id, job);
    return job;
}

struct live_ensemble *engine_find_ensemble(struct engine *engine, int64_t id)
{
    struct live_ensemble *ens;

    HASH_FIND(hh, engine->ensembles, &id, sizeof id, ens);
    return ens;
}

void engine_touch(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->dirty)
        return;
    ens->dirty = true;
    DL_APPEND2(engine->dirty, ens, prev_dirty, next_dirty);
}

void engine_save_later(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->unsaved)
        return;
    ens->unsaved = true;
    LL_PREPEND2(engine->unsaved, ens, next_unsaved);
}

void engine_settle(struct engine *engine)
{
    struct live_ensemble *ens;
    struct error err;

    do {
        while ((ens = engine->dirty) != NULL) {
            DL_DELETE2(engine->dirty, ens, prev_dirty, next_dirty);
            ens->dirty = false;
            dispatch_ensemble(engine, ens);
        }
        schedule_adapters(engine);
    } while (engine->dirty != NULL);
    while ((ens = engine->unsaved) != NULL) {
        LL_DELETE2(engine->unsaved, ens, next_unsaved);
        ens->unsaved = false;
        store_ensemble_update(engine->store, &ens->row, &err);
    }
    feed_read(engine);
}

void engine_event(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, json_t *detail)
{
    struct error err;

    store_event_add(engine->store, engine_now(engine), kind, ensemble, index, detail, &err);
}

void engine_event_of_span(struct engine *engine, int64_t ensemble, const struct member_span *span, enum member_state state)
{
    if (span->first <= span->last)
        engine_event(engine, "members.changed", ensemble, -1,
                     json_pack("{s:I, s:I, s:s}", "from", (json_int_t)span->first, "to", (json_int_t)span->last, "state",
                               member_state_name(state)));
}

void engine_event_of_attempt(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, int64_t attempt,
                             const char *rest)
{
    static const char begin[] = "{\"attempt\":";
    char detail[256], *end;
    struct error err;

    memcpy(detail, begin, sizeof begin);
    end = text_digits(detail + sizeof begin - 1, attempt);
    text_copy(end, (size_t)(detail + sizeof detail - 1 - end), rest);
    memcpy(end + strlen(end), "}", 2);
    store_event_put(engine->store, engine_now(engine), kind, ensemble, index, detail, &err);
}

void engine_rest(struct engine *engine)
{
    int64_t now = engine_now(engine);

    if (now - engine->rested_at > 2 * REST_MAX_MS)
        engine->rest_ms = 0;
    engine->rest_ms = engine->rest_ms == 0 ? REST_FIRST_MS : 2 * engine->rest_ms;
    if (engine->rest_ms > REST_MAX_MS)
        engine->rest_ms = REST_MAX_MS;
    engine->rested_at = now;
    engine_forget(engine);
    engine->resting = true;
    engine_wake_by(engine, now + engine->rest_ms);
}

int engine_wake_up(struct engine *engine, struct error *err)
{
    return engine->resting ? engine_load(engine, err) : 0;
}

int engine_stored_ensemble(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err)
{
    int rc = store_ensemble_get(engine->store, id, row, err);

    if (rc == 0)
        return error_set(err, "ensemble_not_found", "there is no ensemble %lld", (long long)id);
    return rc < 0 ? -1 : 0;
}

int engine_check_here(const struct engine *engine, const char *name, int64_t ensemble, struct error *err)
{
    struct known_adapter *adapter;

    HASH_FIND_STR(engine->adapters, name, adapter);
    if (adapter == NULL)
        return error_set(err, "adapter_not_here",
                         "there is no adapter \"%s\" here, and ensemble %lld is left alone until there is", name,
                         (long long)ensemble);
    return 0;
}

int engine_check_adapter(const struct engine *engine, const struct ensemble_row *row, struct error *err)
{
    struct training_row training;
    int rc = engine_check_here(engine, row->adapter, row->id, err);

    if (rc == 0)
        rc = store_training_of(engine->store, row->id, &training, err);
    return rc == 1 && training.state < TRAINING_DONE ? engine_check_here(engine, training.adapter, row->id, err) : rc < 0 ? -1 : 0;
}

int engine_open_ensemble(struct engine *engine, int64_t id, struct live_ensemble **ens, struct error *err)
{
    struct ensemble_row row;

    if (engine_wake_up(engine, err) < 0 || engine_stored_ensemble(engine, id, &row, err) < 0)
        return -1;
    if (row.state >= ENSEMBLE_COMPLETE)
        return error_set(err, "ensemble_over", "ensemble %lld is %s", (long long)id, ensemble_state_name(row.state));
    *ens = engine_find_ensemble(engine, id);
    if (*ens == NULL && engine_check_adapter(engine, &row, err) < 0)
        return -1;
    if (*ens == NULL) /* told in the log, when memory was loaded */
        return error_set(err, "internal", "ensemble %lld cannot be read, and is left alone", (long long)id);
    return 0;
}

struct spec *engine_parse_spec(struct engine *engine, const json_t *json, int64_t ensemble, struct error *err)
{
    struct spec *spec;
    struct rows *rows;

    if (engine_open_rows(engine, ensemble, &rows, err) < 0)
        return NULL;
    spec = spec_parse(json, rows, err);
    if (spec != NULL)
        open_give_parameters(engine, spec, ensemble);
    else
        rows_close(rows);
    return spec;
}

const struct spec *engine_spec(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *err)
{
    struct live_ensemble *ens = engine_find_ensemble(engine, ensemble);
    json_t *json;
    char *text;

    *owned = NULL;
    if (ens != NULL)
        return ens->spec;
    text = store_ensemble_spec(engine->store, ensemble, err);
    if (text == NULL)
        return NULL;
    json = json_loads(text, 0, NULL);
    free(text);
    if (json == NULL) {
        error_set(err, "store_io", "the spec of ensemble %lld is damaged", (long long)ensemble);
        return NULL;
    }
    *owned = engine_parse_spec(engine, json, ensemble, err);
    json_decref(json);
    return *owned;
}

const struct spec *engine_spec_again(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *err)
{
    return *owned != NULL ? *owned : engine_spec(engine, ensemble, owned, err);
}

/* Job names are st-INSTANCE-ID; anything else is nobody's. */
int64_t engine_parse_job_name(struct engine *engine, const char *name)
{
    char prefix[16], *end;
    long long id;
    int len = snprintf(prefix, sizeof prefix, "st-%s-", store_instance(engine->store));

    if (strncmp(name, prefix, (size_t)len) != 0 || name[len] < '0' || name[len] > '9')
        return -1;
    id = strtoll(name + len, &end, 10);
    return *end == '\0' ? id : -1;
}

void engine_look(struct engine *engine, const char *name, enum engine_look what)
{
    struct live_job *job = engine_find_job(engine, engine_parse_job_name(engine, name));

    if (job == NULL)
        return;
    if (what == ENGINE_LOOK_RECORDS && job->pilot != NULL)
        pilot_look(engine, job->pilot);
    if (what == ENGINE_LOOK_RECORDS && (job->pilot == NULL || !job->found.started)) {
        job->found.look = true;
        job_advance(engine, job);
    } else if (job->row.kind == JOB_TRAINING) {
        training_look(engine, job->ensemble);
    }
    engine_settle(engine);
}

void engine_stop(struct engine *engine)
{
    save_all(engine, INT64_MAX);
    engine_forget(engine);
    engine->ports.wake_at(engine->ports.arg, INT64_MAX);
}

struct known_adapter *engine_known_adapter(struct engine *engine, const struct adapter *adapter)
{
    struct known_adapter *known, *next;

    HASH_ITER (hh, engine->adapters, known, next)
        if (known->adapter == adapter)
            return known;
    return NULL;
}

void engine_poke(struct engine *engine, const struct adapter *adapter)
{
    struct known_adapter *known = engine_known_adapter(engine, adapter);

    if (known != NULL)
        poll_soon(engine, known);
}

static void resume(struct engine *engine, int64_t now)
{
    struct error err;

    if (engine->rested_at + engine->rest_ms > now) {
        engine_wake_by(engine, engine->rested_at + engine->rest_ms);
        return;
    }
    if (engine_load(engine, &err) < 0) {
        log_error("the state cannot be read: %s", err.text);
        engine_rest(engine);
    }
}

bool engine_has_room(struct engine *engine)
{
    struct error err;

    if (store_check_room(engine->store, &err) == 0)
        return true;
    engine->waits_for_room = true;
    engine_wake_by(engine, engine_now(engine) + ROOM_MS);
    return false;
}

static void look_for_room(struct engine *engine)
{
    engine->waits_for_room = false;
    if (!engine_has_room(engine))
        return;
    for (struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next)
        engine_touch(engine, ens);
    engine->again = true;
}

void engine_tick(struct engine *engine)
{
    int64_t now = engine_now(engine);
    struct known_adapter *adapter, *next;

    engine->wake_at = INT64_MAX;
    if (engine->resting) {
        resume(engine, now);
        return;
    }
    engine->budget = DISPATCH_MAX;
    if (engine->waits_for_room)
        look_for_room(engine);
    if (engine->again) {
        engine->again = false;
        HASH_ITER (hh, engine->adapters, adapter, next)
            adapter->slots.dirty = true;
    }
    alarm_ring_due(engine, now);
    engine_settle(engine);
}

/* The floor of the engine, which every other file of it stands on: tickets, finding things in memory, events,
 * and the list of ensembles to look at. This file calls no other one of the engine but alarm.c; what it has to have
 * done further up is in engine->steps. */
#include "daemon/engine/memory/core.h"

#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/training.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

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

struct known_adapter *engine_known_adapter(struct engine *engine, const struct adapter *adapter)
{
    struct known_adapter *known, *next;

    HASH_ITER (hh, engine->adapters, known, next)
        if (known->adapter == adapter)
            return known;
    return NULL;
}

int engine_insert_job(struct engine *engine, struct job_row *row, struct error *err)
{
    return store_job_insert(engine->store, engine->nonce, row, err);
}

int64_t engine_parse_job_name(const char *name)
{
    int end = 0;
    int64_t id;

    if (sscanf(name, "st-%*8[0-9a-f]-%" SCNd64 "%n", &id, &end) != 1 || name[end] != '\0')
        return -1;
    return id;
}

struct live_job *engine_find_job_named(struct engine *engine, const char *name)
{
    struct live_job *job = engine_find_job(engine, engine_parse_job_name(name));

    return job != NULL && strcmp(job->row.name, name) == 0 ? job : NULL;
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
    return rc == 1 && !training_is_over(&training) ? engine_check_here(engine, training.adapter, row->id, err)
           : rc < 0                                ? -1
                                                   : 0;
}

int engine_wake_up(struct engine *engine, struct error *err)
{
    return engine->resting ? engine->steps->load(engine, err) : 0;
}

int engine_open_ensemble(struct engine *engine, int64_t id, struct live_ensemble **ens, struct error *err)
{
    struct ensemble_row row;

    if (engine_wake_up(engine, err) < 0 || engine_stored_ensemble(engine, id, &row, err) < 0)
        return -1;
    if (ensemble_is_over(&row))
        return error_set(err, "ensemble_over", "ensemble %lld is %s", (long long)id, ensemble_state_name(row.state));
    *ens = engine_find_ensemble(engine, id);
    if (*ens == NULL && engine_check_adapter(engine, &row, err) < 0)
        return -1;
    if (*ens == NULL) /* told in the log, when memory was loaded */
        return error_set(err, "internal", "ensemble %lld cannot be read, and is left alone", (long long)id);
    return 0;
}

static int in_follow_up(const struct ensemble_row *row, const struct member_row *member, struct error *err)
{
    return error_set(err, "member_in_follow_up", "member %lld.%lld goes on as %lld.%lld", (long long)row->id,
                     (long long)member->index, (long long)member->successor, (long long)member->index);
}

int engine_named_member(struct engine *engine, const struct ensemble_row *row, int64_t index, struct member_row *member,
                        struct error *err)
{
    int rc;

    if (index >= row->count && row->root == 0)
        return error_set(err, "member_not_found", "ensemble %lld has %lld members, from 0 on: there is no %lld",
                         (long long)row->id, (long long)row->count, (long long)index);
    rc = store_member_get(engine->store, row->id, index, member, err);
    if (rc == 0 && row->root != 0)
        return error_set(err, "member_not_found",
                         "ensemble %lld follows up %lld and has some of its members: %lld is not one",
                         (long long)row->id, (long long)row->root, (long long)index);
    if (rc == 1 && member->successor != 0)
        return in_follow_up(row, member, err);
    return rc;
}

void engine_touch(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->touched.is)
        return;
    stretto_assert(engine_find_ensemble(engine, ens->row.id) == ens);
    ens->touched.is = true;
    DL_APPEND2(engine->to_settle.ensembles, ens, touched.prev, touched.next);
}

void engine_touch_all(struct engine *engine, const struct known_adapter *adapter)
{
    for (struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next)
        if (ens->adapter == adapter || (ens->training != NULL && ens->training->adapter == adapter))
            engine_touch(engine, ens);
}

void engine_save_later(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->unsaved)
        return;
    ens->unsaved = true;
    LL_PREPEND2(engine->to_settle.saved, ens, next_unsaved);
}

void engine_settle(struct engine *engine)
{
    if (engine->to_settle.under_way)
        return; /* the settle step under way handles the news */
    engine->to_settle.under_way = true;
    engine->steps->settle(engine);
    engine->to_settle.under_way = false;
}

void engine_event(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, json_t *detail)
{
    struct error err;

    store_event_add(engine->store, engine_now(engine), kind, ensemble, index, detail, &err);
}

void engine_event_of_span(struct engine *engine, int64_t ensemble, const struct member_span *span,
                          enum member_state state)
{
    if (span->first <= span->last)
        engine_event(engine, "members.changed", ensemble, -1,
                     json_pack("{s:I, s:I, s:s}", "from", (json_int_t)span->first, "to", (json_int_t)span->last,
                               "state", member_state_name(state)));
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

bool engine_has_room(struct engine *engine)
{
    struct error err;

    if (store_check_room(engine->store, &err) == 0)
        return true;
    engine->waits_for_room = true;
    engine_wake_by(engine, engine_now(engine) + ROOM_MS);
    return false;
}

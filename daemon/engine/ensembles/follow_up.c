/* Follow-ups: members that are out of time go on in an ensemble of their own, with the same indices and so the same
 * parameters. It is made at once, with its first members; if there are many, the rest are taken over in slices, and
 * it runs meanwhile. Until it has them all, the ensembles before it stay as they are. */
#include "daemon/engine/ensembles/follow_up.h"

#include "common/jsonx.h"
#include "common/log.h"
#include "common/log_changes.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/ensembles/adopt.h"
#include "daemon/engine/ensembles/check_rules.h"
#include "daemon/engine/ensembles/handover.h"
#include "daemon/engine/jobs/check_resources.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/live_spec.h"
#include "daemon/store/family.h"

#include <stdlib.h>
#include <string.h>

#define LOOKS 64 /* at families, between two looks for more */

struct family {
    struct ensemble_row newest;
    int64_t root, count; /* of members that go on */
};

int follow_up_check_whole(struct engine *engine, const struct ensemble_row *row, struct error *err)
{
    int64_t id;
    int rc = store_handover_in(engine->store, ensemble_root(row), &id, err);

    if (rc == 1)
        return error_set(err, "member_in_follow_up",
                         "follow-up %lld is being made of members of ensemble %lld: try again when it has them all",
                         (long long)id, (long long)row->id);
    return rc;
}

/* Is there anything to follow up, and nothing in the way? 1, 0 if the newest is a follow-up that is not over, -1. */
static int look_at_family(struct engine *engine, const struct engine_follow_up *wish, struct family *family,
                          struct error *err)
{
    int64_t tally[MEMBER_STATE_COUNT], open;
    int rc = store_family_newest(engine->store, family->root, &family->newest, err);

    if (rc <= 0)
        return -1;
    if (family->newest.root != 0 && !ensemble_is_over(&family->newest))
        return 0;
    rc = store_family_open(engine->store, family->root, &open, err);
    if (rc < 0 || store_family_tally(engine->store, family->root, tally, err) < 0)
        return -1;
    if (rc == 1)
        return error_set(err, "ensemble_not_over", "ensemble %lld has not ended yet", (long long)open);
    for (size_t i = 0; i < wish->n_states; i++)
        family->count += tally[wish->states[i]];
    if (family->count == 0)
        return error_set(err, "follow_up_needless", "no member of ensemble %lld is left to go on",
                         (long long)family->root);
    return 1;
}

/* The spec of the next of the family, as text and checked; the text is to be freed. */
static struct spec *next_spec(struct engine *engine, const struct family *family, const json_t *changes, char **text,
                              struct error *err)
{
    char *former = store_ensemble_spec(engine->store, family->newest.id, err);
    json_t *json = former != NULL ? json_loads(former, 0, NULL) : NULL, *nothing = json_object(), *next = NULL;
    json_t *frozen = NULL; /* stays so: the reference is frozen already */
    struct spec *spec = NULL;

    *text = NULL;
    if (former != NULL && json == NULL)
        error_set(err, "store_io", "the spec of ensemble %lld is damaged", (long long)family->newest.id);
    if (json != NULL)
        next = spec_follow_up(json, changes != NULL ? changes : nothing, err);
    if (next != NULL) {
        spec = engine_parse_spec(engine, next, family->root, err);
        if (spec != NULL && engine_check_rules(engine, next, spec, &frozen, err) < 0) {
            spec_destroy(spec);
            spec = NULL;
        }
        if (spec == NULL)
            spec_follow_up_place(err);
    }
    if (spec != NULL)
        *text = jsonx_dumps(next, JSON_COMPACT);
    json_decref(next);
    json_decref(nothing);
    json_decref(json);
    free(former);
    return spec;
}

static int check_family(struct engine *engine, const struct family *family, const struct spec *spec, struct error *err)
{
    if (spec->has_training)
        return error_set(
            err, "training_over",
            "the members of ensemble %lld stream into its training, which has ended: they cannot go on without it. "
            "`stretto resubmit %lld.training` takes it on from its newest checkpoint, and them with it",
            (long long)family->newest.id, (long long)family->newest.id);
    if (engine_check_resources(engine, spec, err) == 0)
        return 0;
    spec_follow_up_place(err);
    return -1;
}

static int store_follow_up(struct engine *engine, struct ensemble_row *row, const struct engine_follow_up *wish,
                           const char *text, struct error *err)
{
    if (store_ensemble_insert(engine->store, row, text, err) < 0)
        return -1;
    for (size_t i = 0; i < wish->n_states; i++)
        if (store_handover_add(engine->store, row, wish->states[i], err) < 0)
            return -1;
    return handover_take(engine, row, err) < 0 ? -1 : 0;
}

static void announce_follow_up(struct engine *engine, const struct ensemble_row *row)
{
    engine_event(engine, "ensemble.submitted", row->id, -1,
                 json_pack("{s:s, s:I}", "name", row->name, "follow_up_of", (json_int_t)row->parent));
    engine_event(engine, "ensemble.follow_up", row->parent, -1,
                 json_pack("{s:I, s:I, s:I}", "follow_up", (json_int_t)row->id, "root", (json_int_t)row->root,
                           "members", (json_int_t)row->count));
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(row->id),
               "ensemble %lld \"%s\" follows up %lld: %lld members, width %lld, adapter %s", (long long)row->id,
               row->name, (long long)row->parent, (long long)row->count, (long long)row->width, row->adapter);
}

static void follow_up_committed(void *arg, const struct error *err)
{
    struct engine *engine = arg;

    if (err == NULL)
        engine->follow_ups++;
}

uint64_t engine_follow_ups(const struct engine *engine)
{
    return engine->follow_ups;
}

/* Whatever goes wrong once something is stored takes the whole turn back: refused is refused. */
static int make_follow_up(struct engine *engine, const struct family *family, const struct engine_follow_up *wish,
                          struct live_ensemble **made, struct error *err)
{
    struct ensemble_row row = {.state = ENSEMBLE_RUNNING,
                               .created_ms = engine_now(engine),
                               .root = family->root,
                               .parent = family->newest.id,
                               .count = family->count,
                               .width = family->newest.width,
                               .intake = family->newest.intake == INTAKE_NONE ? INTAKE_NONE : INTAKE_CLOSED};
    struct live_ensemble *ens;
    struct spec *spec;
    char *text;

    spec = next_spec(engine, family, wish->changes, &text, err);
    if (spec == NULL || check_family(engine, family, spec, err) < 0) {
        spec_destroy(spec);
        free(text);
        return -1;
    }
    ensemble_draw_stream_key(engine, &row);
    memcpy(row.name, family->newest.name, sizeof row.name);
    snprintf(row.adapter, sizeof row.adapter, "%s", spec->adapter);
    if (json_is_integer(json_object_get(wish->changes, "width")))
        row.width = spec->width;
    if (store_follow_up(engine, &row, wish, text, err) < 0) {
        free(text);
        spec_destroy(spec);
        return store_doom(engine->store, err);
    }
    free(text);
    ens = ensemble_adopt(engine, &row, spec);
    if (ens == NULL) {
        error_set(err, "store_io", "the new ensemble cannot be read back");
        return store_doom(engine->store, err);
    }
    announce_follow_up(engine, &row);
    turn_after_commit(engine->turn, follow_up_committed, engine);
    *made = ens;
    engine_touch(engine, ens);
    return 0;
}

/* Returns 1 if it is made, 0 with its row if it is there already, -1. */
static int follow_up(struct engine *engine, int64_t root, const struct engine_follow_up *wish,
                     struct ensemble_row *there, struct live_ensemble **made, struct error *err)
{
    struct family family = {.root = root};
    int rc = look_at_family(engine, wish, &family, err);

    if (rc == 1)
        return make_follow_up(engine, &family, wish, made, err) < 0 ? -1 : 1;
    *there = family.newest;
    return rc;
}

int engine_follow_up(struct engine *engine, int64_t id, const struct engine_follow_up *wish, struct ensemble_row *row,
                     bool *made, struct error *err)
{
    struct live_ensemble *ens;
    int rc;

    if (engine_wake_up(engine, err) < 0 || engine_stored_ensemble(engine, id, row, err) < 0 ||
        store_accept(engine->store, err) < 0)
        return -1;
    rc = follow_up(engine, ensemble_root(row), wish, row, &ens, err);
    *made = rc == 1;
    if (*made)
        engine_settle_for(engine, ens, row, NULL);
    return rc < 0 ? -1 : 0;
}

static const struct engine_follow_up unfinished = {.states = {MEMBER_UNFINISHED}, .n_states = 1};

void follow_up_auto(struct engine *engine, struct live_ensemble *ens)
{
    int64_t root = ensemble_root(&ens->row), n, tally[MEMBER_STATE_COUNT];
    struct live_ensemble *made;
    struct ensemble_row there;
    struct error err;

    if (store_family_follow_ups(engine->store, root, &n, &err) < 0 ||
        store_family_tally(engine->store, root, tally, &err) < 0) {
        store_doom(engine->store, &err); /* nothing would make us look again */
        return;
    }
    if (tally[MEMBER_UNFINISHED] == 0)
        return;
    if (n >= ens->spec->follow_ups)
        log_change(LOG_LEVEL_WARN, LOG_ENSEMBLE(ens->row.id),
                   "ensemble %lld has had %lld follow-ups: %lld members stay unfinished", (long long)root, (long long)n,
                   (long long)tally[MEMBER_UNFINISHED]);
    else if (follow_up(engine, root, &unfinished, &there, &made, &err) < 0 &&
             strcmp(err.code, "ensemble_not_over") != 0)
        log_warn_of(LOG_ENSEMBLE(ens->row.id), "ensemble %lld cannot be followed up: %s", (long long)root, err.text);
}

struct looking {
    int64_t roots[LOOKS];
    int n;
};

static int keep_root(void *arg, const int64_t *root)
{
    struct looking *looking = arg;

    looking->roots[looking->n++] = *root;
    return 0;
}

/* Returns whether an ensemble is followed up when all are. One that was cancelled is left alone until somebody asks for
 * it by its id; and one whose training ended early needs none of its members any more. */
static int is_for_all(struct engine *engine, int64_t root, struct error *err)
{
    struct training_row training;
    struct ensemble_row newest;
    int64_t open;
    int rc = store_family_newest(engine->store, root, &newest, err);

    if (rc <= 0 || newest.state != ENSEMBLE_COMPLETE)
        return rc < 0 ? -1 : 0;
    rc = store_training_of(engine->store, newest.id, &training, err);
    if (rc < 0 || (rc == 1 && training.early))
        return rc < 0 ? -1 : 0;
    rc = store_family_open(engine->store, root, &open, err);
    return rc < 0 ? -1 : rc == 0;
}

/* Follow-ups of one call, in the order in which they were made. */
struct made {
    struct {
        int64_t root;
        struct live_ensemble *ens;
        struct ensemble_row row;
    } * list;
    int n, limit;
};

static void made_add(struct made *made, int64_t root, struct live_ensemble *ens)
{
    made->list[made->n].root = root;
    made->list[made->n].ens = ens;
    made->list[made->n++].row = ens->row;
}

/* Makes follow-ups of families from beyond the root *after on, and sets it to the last one. Those that are not made, or
 * were there, are told at once. */
static int make_follow_ups(struct engine *engine, const struct engine_follow_up *wish, struct made *made,
                           int64_t *after, engine_follow_up_told *each, void *arg, struct error *err)
{
    struct looking looking;
    struct live_ensemble *ens;
    struct ensemble_row there;
    int rc;

    do {
        looking.n = 0;
        if (store_family_each_unfinished(engine->store, *after, LOOKS, keep_root, &looking, err) < 0)
            return -1;
        for (int i = 0; i < looking.n && made->n < made->limit; i++) {
            *after = looking.roots[i];
            rc = is_for_all(engine, *after, err);
            if (rc < 0)
                return -1;
            if (rc == 0)
                continue;
            rc = follow_up(engine, *after, wish, &there, &ens, err);
            if (rc < 0 && strncmp(err->code, "store_", 6) == 0)
                return -1;
            if (rc == 1)
                made_add(made, *after, ens);
            else
                each(arg, *after, rc < 0 ? NULL : &there, rc < 0 ? err : NULL);
        }
    } while (looking.n == LOOKS && made->n < made->limit);
    return 0;
}

static void tell_made(struct engine *engine, struct made *made, engine_follow_up_told *each, void *arg)
{
    struct live_ensemble *ens;

    for (int i = 0; i < made->n; i++)
        made->list[i].ens->answer.row = &made->list[i].row;
    engine_settle(engine);
    for (int i = 0; i < made->n; i++) {
        ens = engine_find_ensemble(engine, made->list[i].row.id);
        if (ens != NULL)
            ensemble_answer(ens);
        each(arg, made->list[i].root, &made->list[i].row, NULL);
    }
}

int engine_follow_up_all(struct engine *engine, const json_t *changes, int limit, int64_t *after,
                         engine_follow_up_told *each, void *arg, struct error *err)
{
    struct engine_follow_up wish = unfinished;
    struct made made = {.limit = limit};
    int rc;

    wish.changes = changes;
    if (engine_wake_up(engine, err) < 0 || store_accept(engine->store, err) < 0)
        return -1;
    made.list = xcalloc((size_t)limit, sizeof *made.list);
    rc = make_follow_ups(engine, &wish, &made, after, each, arg, err);
    if (rc == 0) {
        if (made.n < limit)
            *after = 0;
        tell_made(engine, &made, each, arg);
    }
    free(made.list);
    return rc;
}

/* Counts the steps that a training lacks before it is concluded, if the spec says how many steps each member sends.
 * Only members that succeeded are asked about; the states of the others say what became of them. */
#include "daemon/engine/trainings/missing.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"

#include <stdio.h>
#include <stdlib.h>

struct some {
    int64_t *items;
    size_t n;
};

static int add_succeeded(void *arg, const struct member_row *row)
{
    struct some *some = arg;

    some->items = xrealloc(some->items, some->n + 1, sizeof *some->items);
    some->items[some->n++] = row->index;
    return 0;
}

static int by_index(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Finds the members that did not succeed: those that the training did not need, if it ended early, and others. */
static int find_others(struct engine *engine, const struct live_ensemble *ens, struct some *others,
                       struct some *unneeded, struct error *err)
{
    bool early = ens->training->state.need == NEED_NONE;

    for (enum member_state state = 0; state < MEMBER_STATE_COUNT; state++)
        if (state != MEMBER_SUCCEEDED &&
            store_member_each(engine->store, ens->row.id, state, 0, INT32_MAX, add_succeeded,
                              early && state != MEMBER_FAILED ? unneeded : others, err) < 0)
            return -1;
    if (others->n > 1)
        qsort(others->items, others->n, sizeof *others->items, by_index);
    if (unneeded->n > 1)
        qsort(unneeded->items, unneeded->n, sizeof *unneeded->items, by_index);
    return 0;
}

/* Returns how many members have no row, since they were never tried. */
static int64_t untried_members(const struct live_ensemble *ens)
{
    return ens->row.root == 0 ? ens->row.count - ens->row.next_index : 0;
}

bool missing_is_known(const struct live_ensemble *ens)
{
    const struct training *training = ens->training;

    return ens->spec->steps == 0 || training->row.missing[0] != '\0' || training->failed_as != ATTEMPT_OPEN ||
           ensemble_is_stopped(&ens->row);
}

static void steps_counted(void *arg, json_t **json, const struct error *failed)
{
    int64_t id;
    struct engine *engine = ticket_redeem(arg, &id);
    struct live_ensemble *ens = engine ? engine_find_ensemble(engine, id) : NULL;
    json_int_t unneeded;
    char *text;

    if (ens == NULL)
        return;
    training_event(ens->training, LIFE_COUNTED);
    if (failed != NULL) {
        log_warn_of(LOG_TRAINING(id, ens->training->row.id),
                    "training %lld: the steps that it has cannot be counted yet: %s", (long long)ens->training->row.id,
                    failed->text);
        alarm_set(engine, &ens->training->look, engine_now(engine) + FILE_RETRY_MS);
        return;
    }
    unneeded = json_integer_value(json_object_get(json[0], "unneeded")) + untried_members(ens) * ens->spec->steps;
    if (unneeded > 0)
        json_object_set_new(json[0], "unneeded", json_integer(unneeded));
    text = json_dumps(json[0], JSON_COMPACT);
    snprintf(ens->training->row.missing, sizeof ens->training->row.missing, "%s", text);
    free(text);
    fact_post(engine, FACT_STEPS_COUNTED, ens->row.id, 0);
    engine_settle(engine);
}

void missing_find(struct engine *engine, struct live_ensemble *ens)
{
    const struct training_row *row = &ens->training->row;
    struct missing_question question = {.count = ens->row.count - untried_members(ens), .steps = ens->spec->steps};
    struct some others = {0}, unneeded = {0};
    struct error err;
    char **paths;

    if (find_others(engine, ens, &others, &unneeded, &err) < 0) {
        free(others.items);
        free(unneeded.items);
        store_doom(engine->store, &err);
        return;
    }
    question.others = others.items;
    question.n_others = others.n;
    question.unneeded = unneeded.items;
    question.n_unneeded = unneeded.n;
    paths = xcalloc((size_t)row->ranks, sizeof *paths);
    for (int64_t rank = 0; rank < row->ranks; rank++)
        paths[rank] = xasprintf("%s/e%lld/training/g%lld/held-rank%lld.bin", engine->ports.run_dir,
                                (long long)ens->row.id, (long long)row->generation, (long long)rank);
    training_event(ens->training, LIFE_COUNTING);
    engine->ports.rundir_ops->missing(engine->ports.rundir, paths, (size_t)row->ranks, question, steps_counted,
                                      ticket_new(engine, ens->row.id));
}

int64_t missing_steps(const struct training_row *row, json_t **detail)
{
    *detail = row->missing[0] != '\0' ? json_loads(row->missing, 0, NULL) : NULL;
    return json_integer_value(json_object_get(*detail, "steps"));
}

void missing_tell(const json_t *detail, char *out, size_t size)
{
    const json_t *first = json_object_get(detail, "first"), *item;
    long long steps = json_integer_value(json_object_get(detail, "steps"));
    long long members = json_integer_value(json_object_get(detail, "members"));
    size_t i, at;

    at = (size_t)snprintf(out, size, "%lld step%s missing, of %lld member%s that succeeded:", steps,
                          steps == 1 ? " is" : "s are", members, members == 1 ? "" : "s");
    json_array_foreach ((json_t *)first, i, item)
        at += (size_t)snprintf(out + at, size - at, "%s %lld (%lld)", i > 0 ? "," : "",
                               (long long)json_integer_value(json_object_get(item, "member")),
                               (long long)json_integer_value(json_object_get(item, "steps")));
    if (members > (long long)i)
        snprintf(out + at, size - at, ", …");
}

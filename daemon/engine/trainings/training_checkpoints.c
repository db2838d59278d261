/* Takes the checkpoints of a training into the store, as its ranks list them (docs/run-directory.md,
 * checkpoints.json). */
#include "daemon/engine/trainings/training_checkpoints.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/text.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/store/training_checkpoint.h"

#include <stdlib.h>
#include <string.h>

/* The checkpoints of a training that are stored. */
struct stored {
    struct training_checkpoint_row *rows;
    size_t n;
};

static int keep_row(void *arg, const struct training_checkpoint_row *row)
{
    struct stored *stored = arg;

    stored->rows = xrealloc(stored->rows, stored->n + 1, sizeof *row);
    stored->rows[stored->n++] = *row;
    return 0;
}

/* A name is that of a directory of its own. */
static bool is_checkpoint_name(const char *name)
{
    return name != NULL && name[0] != '\0' && name[0] != '.' &&
           strlen(name) < sizeof((struct training_checkpoint_row *)0)->name &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == '\0';
}

static int64_t item_number(const json_t *item, const char *key)
{
    return json_integer_value(json_object_get(item, key));
}

/* Reads an item of the list. Returns false if no rank writes such an item. */
static bool checkpoint_parse(const json_t *item, struct training_checkpoint_row *row)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    const char *digest = json_string_value(json_object_get(item, "digest"));

    if (!is_checkpoint_name(name) || digest == NULL)
        return false;
    *row = (struct training_checkpoint_row){
        .training = row->training,
        .generation = item_number(item, "generation"),
        .step = item_number(item, "step"),
        .batches = item_number(item, "batches"),
        .drawn = item_number(item, "drawn"),
        .ranks = item_number(item, "ranks"),
        .size = item_number(item, "size"),
        .last = json_is_true(json_object_get(item, "last")),
        .time_ms = time_ms_of(json_number_value(json_object_get(item, "time"))),
    };
    text_copy(row->name, sizeof row->name, name);
    text_copy(row->digest, sizeof row->digest, digest);
    return row->ranks >= 1 && row->ranks <= SPEC_RANKS_MAX;
}

static bool is_stored(const struct stored *stored, const char *name)
{
    for (size_t i = 0; i < stored->n; i++)
        if (strcmp(stored->rows[i].name, name) == 0)
            return true;
    return false;
}

static bool checkpoint_is_listed(const json_t *list, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)list, i, item) {
        const char *its = json_string_value(json_object_get(item, "name"));

        if (its != NULL && strcmp(its, name) == 0)
            return true;
    }
    return false;
}

static int let_go_of_checkpoint(struct engine *engine, const struct live_ensemble *ens,
                                const struct training_checkpoint_row *row, bool newest, struct error *err)
{
    if (!newest)
        return store_training_checkpoint_drop(engine->store, row->training, row->number, err);
    log_warn_of(LOG_TRAINING(ens->row.id, row->training), "training %lld: checkpoint %s is damaged, as a rank found",
                (long long)row->training, row->name);
    return store_training_checkpoint_damaged(engine->store, row->training, row->number, err);
}

/* Drops what the ranks keep no longer. While members are being sent back by a checkpoint, all stay. Ranks let the
 * newest one go only if it is damaged; that is noted, and its row stays. */
static int drop_unlisted(struct engine *engine, const struct live_ensemble *ens, const struct stored *stored,
                         const json_t *list, struct error *err)
{
    bool newest = true;

    for (size_t i = stored->n; i-- > 0 && !ens->bulk;) {
        const struct training_checkpoint_row *row = &stored->rows[i];

        if (row->damaged)
            continue;
        if (!checkpoint_is_listed(list, row->name) && let_go_of_checkpoint(engine, ens, row, newest, err) < 0)
            return -1;
        newest = false;
    }
    return 0;
}

/* A checkpoint of which it is being read who is whole. `left` items of the list, from its start, are newer. */
struct checkpoint_taking {
    struct ticket *ticket;
    json_t *list;
    size_t left;
    struct training_checkpoint_row row;
};

static void take_next(struct engine *engine, struct live_ensemble *ens, json_t *list, size_t left);

static int store_checkpoint(struct engine *engine, struct live_ensemble *ens, struct training_checkpoint_row *row,
                            const struct whole *whole)
{
    struct error err;

    row->members = whole->members;
    if (store_training_checkpoint_add(engine->store, row, whole->ends, whole->size, &err) < 0)
        return -1;
    engine_event(engine, "training.checkpoint", ens->row.id, -1,
                 json_pack("{s:s, s:I, s:I, s:I}", "name", row->name, "step", (json_int_t)row->step, "batches",
                           (json_int_t)row->batches, "size", (json_int_t)row->size));
    log_change(LOG_LEVEL_INFO, LOG_TRAINING(ens->row.id, row->training),
               "training %lld: checkpoint %s after %lld batches, %lld bytes", (long long)row->training, row->name,
               (long long)row->batches, (long long)row->size);
    return 0;
}

static void whole_read_back(void *arg, const struct whole *whole, const struct error *failed)
{
    struct checkpoint_taking *taking = arg;
    json_t *list = taking->list;
    size_t left = taking->left;
    struct training_checkpoint_row row = taking->row;
    int64_t id;
    struct engine *engine = ticket_redeem(taking->ticket, &id);
    struct live_ensemble *ens = engine != NULL ? engine_find_ensemble(engine, id) : NULL;

    free(taking);
    if (ens == NULL) {
        json_decref(list);
        return;
    }
    if (failed != NULL) { /* the ranks' files are read again later */
        log_warn_of(LOG_TRAINING(id, row.training), "training %lld: checkpoint %s cannot be read yet: %s",
                    (long long)row.training, row.name, failed->text);
        json_decref(list);
        training_read_later(engine, ens);
        return;
    }
    if (whole != NULL && store_checkpoint(engine, ens, &row, whole) < 0) {
        json_decref(list);
        return; /* the turn is doomed, and memory rebuilt */
    }
    if (whole == NULL && ens->training->state.stage != STAGE_OPEN) /* before, the ranks may just have removed it */
        log_warn_of(LOG_TRAINING(id, row.training),
                    "training %lld: nothing can go on from checkpoint %s, of which files of ranks are not there",
                    (long long)row.training, row.name);
    take_next(engine, ens, list, left);
    engine_settle(engine);
}

static void ask_who_is_whole(struct engine *engine, struct live_ensemble *ens, json_t *list, size_t left,
                             const struct training_checkpoint_row *row)
{
    struct checkpoint_taking *taking = xcalloc(1, sizeof *taking);
    char **paths = xcalloc((size_t)row->ranks, sizeof *paths);
    char *dir = engine_training_checkpoint_path(engine, ens->row.id, row->name);

    for (int64_t rank = 0; rank < row->ranks; rank++)
        paths[rank] = xasprintf("%s/whole-rank%lld.bin", dir, (long long)rank);
    free(dir);
    *taking = (struct checkpoint_taking){ticket_new(engine, ens->row.id), list, left, *row};
    engine->ports.rundir_ops->whole(engine->ports.rundir, paths, (size_t)row->ranks, ens->row.count, whole_read_back,
                                    taking);
}

/* Returns whether the item of the list is to be stored. An item of a former generation that is not stored was dropped
 * when the training was resubmitted from an earlier checkpoint. */
static bool checkpoint_is_new(const struct live_ensemble *ens, const struct stored *stored,
                              const struct training_checkpoint_row *row)
{
    return row->generation == ens->training->row.generation && !is_stored(stored, row->name);
}

/* Takes the oldest of the first `left` items that is not stored yet; after the last one the reading goes on. `list` is
 * taken over. */
static void take_next(struct engine *engine, struct live_ensemble *ens, json_t *list, size_t left)
{
    struct training_checkpoint_row row = {.training = ens->training->row.id};
    struct stored stored = {0};
    struct error err;

    if (store_training_checkpoint_each(engine->store, row.training, 0, 0, INT32_MAX, keep_row, &stored, &err) < 0)
        goto failed;
    for (; left > 0; left--) {
        if (!checkpoint_parse(json_array_get(list, left - 1), &row) || !checkpoint_is_new(ens, &stored, &row))
            continue;
        ask_who_is_whole(engine, ens, list, left - 1, &row);
        free(stored.rows);
        return;
    }
    if (drop_unlisted(engine, ens, &stored, list, &err) < 0)
        goto failed;
    free(stored.rows);
    json_decref(list);
    fact_post(engine, FACT_LIST_TAKEN, ens->row.id, 0);
    return;
failed:
    free(stored.rows);
    json_decref(list);
    store_doom(engine->store, &err);
}

void training_take_checkpoints(struct engine *engine, struct live_ensemble *ens, const json_t *file)
{
    const json_t *list = json_object_get(file, "checkpoints");

    if (json_is_array(list))
        take_next(engine, ens, json_incref((json_t *)list), json_array_size(list));
    else
        fact_post(engine, FACT_LIST_TAKEN, ens->row.id, 0);
}

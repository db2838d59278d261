/* Members of the simulated cluster that leave checkpoints: some get on in each attempt, some now and then, some never,
 * and some only claim to. A directory's checkpoints are one document, an array, the newest first; the truth about each
 * attempt is kept beside it. */
#include "tests/sim/cluster.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRUTH "//progress" /* "ENSEMBLE.INDEX.ATTEMPT" → whether it got further */
#define BASE "//base"      /* "ENSEMBLE.INDEX.ATTEMPT" → the checkpoint that it began with, or null */
#define STEPS 3
#define KEEP 2

static const char *env(const json_t *task, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(task, "env"), name));

    return text ? text : "";
}

static char *key_of(const json_t *task)
{
    return xasprintf("%s.%s", json_string_value(json_object_get(task, "id")), env(task, "STRETTO_ATTEMPT"));
}

static json_t *document(struct cluster *c, const char *path, json_t *(*make)(void))
{
    json_t *doc = json_object_get(sim_files(c->sim), path);

    if (doc == NULL) {
        doc = make();
        json_object_set_new(sim_files(c->sim), path, doc);
    }
    return doc;
}

bool checkpoints_any(const json_t *descriptor)
{
    const char *kind = json_string_value(json_object_get(descriptor, "kind"));

    return json_object_get(descriptor, "checkpoint") != NULL && kind != NULL && strcmp(kind, "members") == 0;
}

static bool in_chain(const json_t *task, const json_t *ckpt)
{
    json_int_t since = json_integer_value(json_object_get(task, "since"));

    json_int_t in = json_integer_value(json_object_get(task, "since_in"));
    json_int_t made = json_integer_value(json_object_get(ckpt, "ensemble"));

    if (in == 0)
        in = atoll(env(task, "STRETTO_ENSEMBLE"));
    return since == 0 || made > in || (made == in && json_integer_value(json_object_get(ckpt, "attempt")) >= since);
}

static const json_t *newest(struct cluster *c, const json_t *task)
{
    json_t *all = json_object_get(sim_files(c->sim), env(task, "STRETTO_CHECKPOINT_DIR")), *ckpt;
    size_t i;

    json_array_foreach (all, i, ckpt)
        if (in_chain(task, ckpt))
            return ckpt;
    return NULL;
}

void checkpoints_begin_task(struct cluster *c, const json_t *task)
{
    char *key = key_of(task);
    const json_t *base = newest(c, task);

    json_object_set_new(document(c, BASE, json_object), key, base ? json_copy((json_t *)base) : json_null());
    free(key);
}

static json_int_t step_of(const json_t *ckpt)
{
    return json_integer_value(json_object_get(ckpt, "step"));
}

/* Leaves a checkpoint of the next step, or of the same step once more. */
static void leave(struct cluster *c, const json_t *task, bool further)
{
    json_t *all = document(c, env(task, "STRETTO_CHECKPOINT_DIR"), json_array);
    char *key = key_of(task), digest[17], name[40];
    const json_t *base = json_object_get(document(c, BASE, json_object), key);
    json_int_t number = json_integer_value(json_object_get(json_array_get(all, 0), "number")) + 1;
    json_int_t step = step_of(base) + further;

    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)sim_random(c->sim, UINT64_MAX));
    snprintf(name, sizeof name, "step-%lld", (long long)step);
    json_array_insert_new(all, 0,
                          json_pack("{s:I, s:s, s:I, s:b, s:i, s:s, s:f, s:I, s:I}", "number", number, "path", name,
                                    "step", step, "reported", 1, "size", 8, "digest", digest, "time",
                                    (double)sim_now(c->sim) / 1000, "ensemble",
                                    (json_int_t)atoll(env(task, "STRETTO_ENSEMBLE")), "attempt",
                                    (json_int_t)atoll(env(task, "STRETTO_ATTEMPT"))));
    while (json_array_size(all) > KEEP)
        json_array_remove(all, KEEP);
    json_object_set_new(document(c, TRUTH, json_object), key, json_boolean(further || !json_is_object(base)));
    free(key);
}

void checkpoints_leave(struct cluster *c, const json_t *task)
{
    bool stuck = atoll(env(task, "STRETTO_MEMBER")) % 5 == 3;

    if (sim_faults_of(c->sim)->tidy)
        return;
    if (sim_chance(c->sim, 600))
        leave(c, task, !stuck && sim_chance(c->sim, 850));
}

bool checkpoints_are_done(struct cluster *c, const json_t *task)
{
    return step_of(newest(c, task)) >= STEPS;
}

void checkpoints_record(struct cluster *c, const json_t *task, json_t *record)
{
    json_t *all = json_object_get(sim_files(c->sim), env(task, "STRETTO_CHECKPOINT_DIR")), *list = json_array(), *ckpt;
    json_t *base;
    char *key = key_of(task);
    size_t i;

    json_array_foreach (all, i, ckpt)
        if (in_chain(task, ckpt))
            json_array_append(list, ckpt);
    json_object_set_new(record, "checkpoints", list);
    base = json_object_get(document(c, BASE, json_object), key);
    if (json_is_object(base))
        json_object_set(record, "resumed", base);
    free(key);
}

bool sim_got_further(struct sim *sim, const char *attempt)
{
    return json_is_true(json_object_get(json_object_get(sim_files(sim), TRUTH), attempt));
}

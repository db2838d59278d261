/* Calls that must be refused, with an error that names the place of the mistake, and must change nothing. The call that
 * is made follows from `salt` alone, so that a schedule is the same with such calls and without them. */
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "daemon/store/internal.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

/* The mistakes that a spec may have: the place, and the value that stands there instead, or NULL if nothing does. */
static const struct mistake {
    const char *object, *key, *value;
} mistakes[] = {
    {"", "nonsense", "1"},
    {"", "name", "7"},
    {"", "adapter", "\"nowhere\""},
    {"", "width", "0"},
    {"", "width", "\"12\""},
    {"", "pack", "-1"},
    {"", "pack", "1.5"},
    {"", "share", "0"},
    {"", "start", "\"never\""},
    {"", "members", NULL},
    {"", "training", "[]"},
    {"", "allocation", "{\"nodes\": 0}"},
    {"", "follow_up", "{\"max\": -1}"},
    {"/members", "nonsense", "{}"},
    {"/members", "command", NULL},
    {"/members", "command", "[]"},
    {"/members", "command", "[7]"},
    {"/members", "retries", "-1"},
    {"/members", "checkpoint", "{\"attempts\": 0}"},
    {"/members", "parameters", "7"},
    {"/members", "resources", "{\"walltime\": \"soon\"}"},
    {"/members/parameters", "count", "0"},
    {"/members/parameters", "method", "\"guess\""},
    {"/members/parameters", "space", "{}"},
    {"/members/parameters", "nonsense", "null"},
    {"/members/parameters/space", "p", "[1, 0]"},
    {"/members/resources", "tasks", "0"},
    {"/members/resources", "memory", "\"much\""},
};

/* Spreads the salt, so that consecutive numbers and full seconds choose all calls equally often. */
static uint64_t mixed(uint64_t salt)
{
    return (salt * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

#define N(array) (sizeof(array) / sizeof *(array))

static json_t *find(json_t *spec, const char *pointer)
{
    char copy[100], *rest = NULL;

    snprintf(copy, sizeof copy, "%s", pointer);
    for (char *key = strtok_r(copy, "/", &rest); key != NULL; key = strtok_r(NULL, "/", &rest))
        spec = json_object_get(spec, key);
    return spec;
}

/* rows written before the call; -1: unknown, since the call first reads everything anew or does the rest of an earlier
 * turn */
static int writes;

void calls_begin(struct sim *sim)
{
    const struct engine *engine = sim_engine(sim);
    struct error err;

    /* what an earlier call of the turn has put off is written by the next read, and is not this call's
     * (SIM_SEED=10095871); where it fails, the turn fails */
    store_write_all(sim_store(sim), &err);
    writes = engine->resting || engine->to_settle.ensembles != NULL ? -1 : sim_writes(sim);
}

void calls_refused(struct sim *sim, const struct error *err)
{
    if (writes >= 0 && sim_writes(sim) != writes && strncmp(err->code, "store_", 6) != 0)
        sim_violate(sim, "a call was refused, and something was written: %s", err->text);
}

static void check(struct sim *sim, const char *what, int rc, const struct error *err, const char *at)
{
    if (rc == 0)
        sim_violate(sim, "a bad call was not refused: %s", what);
    else if (err->code[0] == '\0' || err->text[0] == '\0')
        sim_violate(sim, "a bad call was refused, and no reason given: %s", what);
    else if (strncmp(err->pointer, at, strlen(at)) != 0)
        sim_violate(sim, "a bad call was refused, and \"%s\" named as the place: %s", err->pointer, what);
    calls_refused(sim, err);
}

void refuse_spec(struct sim *sim, const json_t *good, uint64_t salt)
{
    const struct mistake *mistake = &mistakes[mixed(salt) % N(mistakes)];
    json_t *spec = json_deep_copy(good), *object = find(spec, mistake->object);
    char at[100], what[200];
    struct error err = {0};
    int64_t id;
    int rc;

    if (object == NULL || sim_engine(sim)->resting) {
        json_decref(spec);
        return;
    }
    if (mistake->value != NULL)
        json_object_set_new(object, mistake->key, json_loads(mistake->value, JSON_DECODE_ANY, NULL));
    else
        json_object_del(object, mistake->key);
    snprintf(at, sizeof at, "%s/%s", mistake->object, mistake->key);
    snprintf(what, sizeof what, "a spec with %s %s", at, mistake->value ? mistake->value : "left out");
    calls_begin(sim);
    rc = sim_submit(sim, spec, &id, &err);
    check(sim, what, rc, &err, at);
    json_decref(spec);
}

/* Makes a call that must be refused, about an ensemble that exists or one that does not. */
void refuse_verb(struct sim *sim, int64_t ensemble, uint64_t salt)
{
    struct engine *engine = sim_engine(sim);
    struct engine_follow_up wish = {.states = {MEMBER_UNFINISHED, MEMBER_FAILED}, .n_states = 2};
    const enum member_state failed = MEMBER_FAILED;
    struct error err = {0};
    int64_t nowhere = ensemble + 1000000, n;
    bool made = false;
    int rc;

    if (engine->resting)
        return;
    calls_begin(sim);
    salt = mixed(salt) % 8;
    switch (salt) {
    case 0: rc = engine_pause(engine, nowhere, "", &sim_left, &err); break;
    case 1: rc = engine_resume(engine, nowhere, &sim_left, &err); break;
    case 2: rc = engine_cancel(engine, nowhere, &sim_left, &err); break;
    case 3: rc = engine_resize(engine, nowhere, 3, ENGINE_SHRINK_NOW, "over the Unix socket", &sim_left, &err); break;
    case 4: rc = engine_resubmit(engine, nowhere, &failed, 1, false, &n, &sim_left, &err); break;
    case 5: rc = engine_resubmit_member(engine, ensemble, 1000000, false, &n, &sim_left, &err); break;
    case 6: rc = engine_follow_up(engine, nowhere, &wish, &sim_left, &made, &err); break;
    default:
        wish.changes = json_pack("{s:i}", "width", 0);
        rc = engine_follow_up(engine, ensemble, &wish, &sim_left, &made, &err);
        json_decref((json_t *)wish.changes);
    }
    if (rc < 0 || salt != 7 || made) /* otherwise the follow-up exists already, and is the answer */
        check(sim, "about what is not there", rc, &err, "");
}

/* What the ranks of the simulated cluster learn: the samples of members that told their end to their generation. An
 * attempt that is out of time may have done so, too, although the next one has more to send. Some save checkpoints, as
 * docs/run-directory.md has them. The truth about each generation is kept beside its files, under names that no path
 * has:
 *
 * TRAINING//sent-gG: for each member that has told its end to generation G the last attempt that has, with those of the
 *                    last checkpoint that it began with
 * TRAINING//learnt-gG: for each member the attempt up to whose end generation G has learnt its samples, with those of
 * the
 *                      checkpoint that it began with
 * TRAINING//begun-gG: the item of that checkpoint, or null; with "whole", its members and attempts TRAINING//left-gG:
 * "further" is true if generation G left a checkpoint that is further than that, "last" where it
 *                    has saved a last one: it takes no more samples
 * TRAINING//restarts-gG: "n" is how often its ranks have begun again in their job, "failures", "losses" and "from" as in
 *                    restarts.json; "killed" is true if they ended then since one was killed TRAINING//whole: a map from each
 * checkpoint's name to the members that are whole in it, with their attempts TRAINING//learnt: a map from each
 * checkpoint's name to what it has learnt of members; a last one holds more TRAINING//dropped: the names of checkpoints
 * that were left behind when the training was resubmitted; also "" if it is
 *                    not known whether a resubmission was committed */
#include "tests/sim/cluster.h"

#include "common/xalloc.h"
#include "tasks/proto/retries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEARNS 60  /* in 1/1000: of each member at each look of the rank */
#define SAVES  40  /* at each look */

static const char *env(const json_t *task, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(task, "env"), name));

    return text != NULL ? text : "";
}

/* Returns the directory of the training of a rank, or of a member that streams, to be freed. */
static char *training_dir(const json_t *task)
{
    const char *stream = env(task, "STRETTO_STREAM"), *end = strrchr(stream, '/');

    return xasprintf("%.*s", end != NULL ? (int)(end - stream) : 0, stream);
}

static int generation_of(const json_t *rank)
{
    return atoi(strrchr(env(rank, "STRETTO_TRAINING_DIR"), '/') + 2);
}

/* Returns the document beside the files, borrowed; it is made where it is not there. */
static json_t *truth(struct sim *sim, const char *training, const char *what, int generation)
{
    char *path = generation > 0 ? xasprintf("%s//%s-g%d", training, what, generation)
                                : xasprintf("%s//%s", training, what);
    json_t *doc = json_object_get(sim_files(sim), path);

    if (doc == NULL) {
        doc = json_object();
        json_object_set_new(sim_files(sim), path, doc);
    }
    free(path);
    return doc;
}

static json_int_t number(const json_t *item, const char *key)
{
    return json_integer_value(json_object_get(item, key));
}

/* Returns the generation that takes the samples of a member: its own, or a later one that keeps what came to that. */
static int receiver(struct cluster *c, const json_t *task)
{
    const json_t *current = cluster_get(c, env(task, "STRETTO_STREAM"), "current.json");
    int own = atoi(env(task, "STRETTO_STREAM_GENERATION"));

    return json_object_get(current, "keeps") != NULL && number(current, "keeps") <= own ? (int)number(current, "generation")
                                                                                       : own;
}

bool ranks_take(struct cluster *c, const json_t *task)
{
    char *training = training_dir(task);
    int generation = receiver(c, task);
    bool take = true;

    if (training[0] != '\0' && !sim_faults_of(c->sim)->tidy)
        take = json_object_get(truth(c->sim, training, "begun", generation), "whole") != NULL &&
               json_object_get(truth(c->sim, training, "left", generation), "last") == NULL;
    free(training);
    return take;
}

void ranks_sent(struct cluster *c, const json_t *task)
{
    char *training = training_dir(task);

    if (training[0] != '\0' && !sim_faults_of(c->sim)->tidy)
        json_object_set_new(truth(c->sim, training, "sent", receiver(c, task)), env(task, "STRETTO_MEMBER"),
                            json_integer(atoll(env(task, "STRETTO_ATTEMPT"))));
    free(training);
}

static json_t *config_of(struct cluster *c, const json_t *rank)
{
    return cluster_get(c, env(rank, "STRETTO_TRAINING_DIR"), "training.json");
}

static const char *name_of(const json_t *item)
{
    return json_string_value(json_object_get(item, "name"));
}

/* Returns the checkpoints that the ranks keep, the newest first, borrowed; NULL if there are none. */
static json_t *list_of(struct cluster *c, const char *training)
{
    char *dir = xasprintf("%s/checkpoints", training);
    json_t *file = cluster_get(c, dir, "checkpoints.json");

    free(dir);
    return json_object_get(file, "checkpoints");
}

/* Returns the checkpoint that a generation must go on from, borrowed, or NULL; `name` is what it was told. */
static json_t *newest_of(struct cluster *c, const char *training, const char *name)
{
    const json_t *dropped = truth(c->sim, training, "dropped", 0);
    bool known = json_object_get(dropped, "") == NULL;
    json_t *item;
    size_t i;

    json_array_foreach (list_of(c, training), i, item)
        if (known ? json_object_get(dropped, name_of(item)) == NULL : name != NULL && strcmp(name, name_of(item)) == 0)
            return item;
    return NULL;
}

void sim_resubmitted(struct sim *sim, const char *training, const char *from, bool known)
{
    json_t *dropped = truth(sim, training, "dropped", 0), *item;
    size_t i;

    if (!known)
        json_object_set_new(dropped, "", json_true());
    json_array_foreach (list_of(sim_cluster(sim, 0), training), i, item) {
        if (!known || strcmp(name_of(item), from) == 0)
            return;
        json_object_set_new(dropped, name_of(item), json_true());
    }
}

void ranks_begin(struct cluster *c, const json_t *rank)
{
    char *training = training_dir(rank);
    int generation = generation_of(rank);
    const char *name = name_of(json_object_get(config_of(c, rank), "resume"));
    json_t *newest = newest_of(c, training, name), *begun = truth(c->sim, training, "begun", generation);

    if (generation > 1 && (name == NULL ? newest != NULL : newest == NULL || strcmp(name, name_of(newest)) != 0))
        sim_violate(c->sim, "generation %d of %s begins from %s, and the newest checkpoint is %s", generation, training,
                    name != NULL ? name : "its start", newest != NULL ? name_of(newest) : "none");
    json_object_set_new(begun, "whole", json_object());
    if (name != NULL && newest != NULL) {
        json_t *whole = json_object_get(truth(c->sim, training, "whole", 0), name);

        json_object_update(begun, newest);
        json_object_set(begun, "whole", whole);
        json_object_update(truth(c->sim, training, "learnt", generation),
                           json_object_get(truth(c->sim, training, "learnt", 0), name));
        if (json_is_true(json_object_get(newest, "last")))
            json_object_update(truth(c->sim, training, "sent", generation), whole);
    }
    free(training);
}

/* Returns [member, attempt] for each. */
static json_t *pairs_of(json_t *object)
{
    json_t *pairs = json_array(), *value;
    const char *key;

    json_object_foreach (object, key, value)
        json_array_append_new(pairs, json_pack("[I, O]", (json_int_t)atoll(key), value));
    return pairs;
}

/* Returns the members of which all is learnt that they have sent, with the attempts. */
static json_t *whole_of(json_t *learnt, const json_t *sent)
{
    json_t *whole = json_object(), *attempt, *told;
    const char *member;

    json_object_foreach (learnt, member, attempt) {
        told = json_object_get(sent, member);
        if (told == NULL || json_equal(told, attempt))
            json_object_set(whole, member, attempt);
    }
    return whole;
}

/* Removes from the list what was left behind when the training was resubmitted. */
static void drop_left(json_t *list, const json_t *item, const char *from)
{
    while (json_array_size(list) > 0 && number(json_array_get(list, 0), "generation") < number(item, "generation") &&
           (from == NULL || strcmp(name_of(json_array_get(list, 0)), from) != 0))
        json_array_remove(list, 0);
}

/* Adds an item to the list, and removes what falls out of it. */
static void list_it(struct cluster *c, const char *training, json_t *item, json_int_t keep, const char *from)
{
    char *dir = xasprintf("%s/checkpoints", training), *its;
    json_t *list = list_of(c, training) != NULL ? json_copy(list_of(c, training)) : json_array();

    drop_left(list, item, from);
    json_array_insert_new(list, 0, item);
    for (; (json_int_t)json_array_size(list) > keep; json_array_remove(list, (size_t)keep)) {
        its = xasprintf("%s/%s", dir, name_of(json_array_get(list, (size_t)keep)));
        cluster_drop(c, its, "whole-rank0.bin");
        free(its);
    }
    cluster_put(c, dir, "checkpoints.json", json_pack("{s:i, s:o}", "version", 1, "checkpoints", list));
    free(dir);
}

bool ranks_may_save(struct cluster *c, const json_t *rank)
{
    return json_object_get(config_of(c, rank), "checkpoint") != NULL && !sim_faults_of(c->sim)->tidy;
}

bool ranks_save(struct cluster *c, const json_t *rank, bool last)
{
    const json_t *config = json_object_get(config_of(c, rank), "checkpoint");
    char *training = training_dir(rank), *dir, name[64];
    int generation = generation_of(rank);
    json_t *learnt = truth(c->sim, training, "learnt", generation);
    json_t *begun = truth(c->sim, training, "begun", generation);
    json_t *saved = truth(c->sim, training, "whole", 0);
    json_t *whole = whole_of(learnt, truth(c->sim, training, "sent", generation));
    json_int_t batches = number(begun, "batches") + number(truth(c->sim, training, "batches", generation), "n");

    if (!ranks_may_save(c, rank)) {
        json_decref(whole);
        free(training);
        return false;
    }
    snprintf(name, sizeof name, "g%d-s%lld-%zu", generation, (long long)batches, json_object_size(saved));
    if (last) {
        json_object_update(whole, truth(c->sim, training, "sent", generation));
        json_object_set_new(truth(c->sim, training, "left", generation), "last", json_true());
    }
    json_object_set_new(truth(c->sim, training, "learnt", 0), name, json_copy(learnt));
    json_object_set_new(saved, name, whole);
    dir = xasprintf("%s/checkpoints/%s", training, name);
    cluster_put(c, dir, "whole-rank0.bin", pairs_of(whole));
    free(dir);
    if (name_of(begun) == NULL || batches > number(begun, "batches"))
        json_object_set_new(truth(c->sim, training, "left", generation), "further", json_true());
    list_it(c, training,
            json_pack("{s:s, s:i, s:I, s:I, s:i, s:f, s:i, s:s, s:I, s:b}", "name", name, "generation", generation,
                      "step", batches, "batches", batches, "ranks", 1, "time",
                      (double)(sim_now(c->sim) + sim_faults_of(c->sim)->ranks_clock_ms) / 1000, "size", 8, "digest",
                      "0011223344556677", "drawn", (json_int_t)json_object_size(learnt), "last", (int)last),
            number(config, "keep"), name_of(json_object_get(config_of(c, rank), "resume")));
    free(training);
    return true;
}

void ranks_learn(struct cluster *c, const json_t *rank)
{
    char *training = training_dir(rank);
    int generation = generation_of(rank);
    json_t *learnt = truth(c->sim, training, "learnt", generation), *n = truth(c->sim, training, "batches", generation);
    json_t *value;
    const char *member;

    json_object_foreach (truth(c->sim, training, "sent", generation), member, value) {
        if (json_equal(json_object_get(learnt, member), value) || !sim_chance(c->sim, LEARNS))
            continue;
        json_object_set(learnt, member, value);
        json_object_set_new(n, "n", json_integer(number(n, "n") + 1));
    }
    free(training);
    if (!sim_faults_of(c->sim)->ranks_obey && sim_chance(c->sim, SAVES))
        ranks_save(c, rank, false);
}

void ranks_get_on(struct cluster *c, const json_t *rank)
{
    char *training = training_dir(rank);
    int generation = generation_of(rank);
    json_t *n = truth(c->sim, training, "batches", generation);

    json_object_update(truth(c->sim, training, "learnt", generation), truth(c->sim, training, "sent", generation));
    json_object_set_new(n, "n", json_integer(number(n, "n") + 1));
    ranks_save(c, rank, false);
    free(training);
}

bool ranks_are_to_end(struct cluster *c, const json_t *rank)
{
    return cluster_get(c, env(rank, "STRETTO_TRAINING_DIR"), "last.json") != NULL;
}

/* Takes back what was learnt after the generation's newest checkpoint; what was sent is kept. */
static void forget_later(struct cluster *c, const char *training, int generation)
{
    const json_t *begun = truth(c->sim, training, "begun", generation);
    json_t *learnt = truth(c->sim, training, "learnt", generation), *newest = json_array_get(list_of(c, training), 0);
    const json_t *from = newest != NULL && number(newest, "generation") == generation ? newest : begun;

    json_object_clear(learnt);
    if (name_of(from) != NULL)
        json_object_update(learnt, json_object_get(truth(c->sim, training, "learnt", 0), name_of(from)));
    json_object_set_new(truth(c->sim, training, "batches", generation), "n",
                        json_integer(number(from, "batches") - number(begun, "batches")));
}

/* Counts that a rank has died, as the runner does. Returns whether all may begin again. */
static bool count_death(struct cluster *c, const char *training, int generation, const json_t *may, json_t *restarts)
{
    bool killed = sim_chance(c->sim, 500);
    const json_t *newest = json_array_get(list_of(c, training), 0), *from = json_object_get(restarts, "from");
    json_int_t had = from != NULL ? number(from, "batches")
                     : json_object_get(may, "batches") != NULL ? number(may, "batches") : -1;
    bool further = newest != NULL && number(newest, "generation") == generation && number(newest, "batches") > had;
    const json_t *before = json_object_get(restarts, "n") != NULL ? restarts : may;
    int64_t failures = number(before, "failures"), losses = number(before, "losses");

    json_object_set_new(restarts, "killed", json_boolean(killed));
    if (may == NULL || !retries_count(!killed ? RETRIES_OWN_FAULT : further ? RETRIES_GOT_FURTHER : RETRIES_LOST,
                                      number(may, "retries"), &failures, &losses))
        return false;
    json_object_set_new(restarts, "failures", json_integer(failures));
    json_object_set_new(restarts, "losses", json_integer(losses));
    if (newest != NULL && number(newest, "generation") == generation)
        json_object_set_new(restarts, "from",
                            json_pack("{s:O, s:O, s:O}", "step", json_object_get(newest, "step"), "batches",
                                      json_object_get(newest, "batches"), "drawn", json_object_get(newest, "drawn")));
    return true;
}

bool ranks_begin_again(struct cluster *c, const json_t *rank, const json_t *may)
{
    char *training = training_dir(rank);
    int generation = generation_of(rank);
    json_t *restarts = truth(c->sim, training, "restarts", generation), *file;
    json_int_t n = number(restarts, "n") + 1;

    if (!count_death(c, training, generation, may, restarts)) {
        free(training);
        return false;
    }
    forget_later(c, training, generation);
    json_object_set_new(restarts, "n", json_integer(n));
    json_object_del(restarts, "killed");
    file = cluster_get(c, env(rank, "STRETTO_TRAINING_DIR"), "restarts.json");
    file = file != NULL ? json_deep_copy(file) : json_pack("{s:i, s:[]}", "version", 1, "restarts");
    json_array_append_new(json_object_get(file, "restarts"),
                          json_pack("{s:I, s:f, s:i, s:s, s:s, s:O, s:O, s:O*}", "number", n, "time",
                                    (double)sim_now(c->sim) / 1000, "rank", 0, "host", "n1", "reason", "simulated",
                                    "failures", json_object_get(restarts, "failures"), "losses",
                                    json_object_get(restarts, "losses"), "from", json_object_get(restarts, "from")));
    cluster_put(c, env(rank, "STRETTO_TRAINING_DIR"), "restarts.json", file);
    free(training);
    return true;
}

char *sim_training_dir(struct sim *sim, int64_t ensemble)
{
    char *whole = engine_ensemble_dir(sim_engine(sim), ensemble), *training = xasprintf("%s/training", whole);

    free(whole);
    return training;
}

static bool has(const json_t *members, const char *index, int64_t attempt)
{
    return number(members, index) >= attempt;
}

bool sim_is_whole(struct sim *sim, int64_t ensemble, int64_t member, int64_t attempt, const char *checkpoint)
{
    char *training = sim_training_dir(sim, ensemble), index[24];
    bool is;

    snprintf(index, sizeof index, "%lld", (long long)member);
    is = checkpoint != NULL && has(json_object_get(truth(sim, training, "whole", 0), checkpoint), index, attempt);
    free(training);
    return is;
}

bool sim_has_samples(struct sim *sim, int64_t ensemble, int generation, int64_t member, int64_t attempt)
{
    char *training = sim_training_dir(sim, ensemble), index[24];
    bool found;

    snprintf(index, sizeof index, "%lld", (long long)member);
    found = has(truth(sim, training, "sent", generation), index, attempt) ||
            has(json_object_get(truth(sim, training, "begun", generation), "whole"), index, attempt);
    free(training);
    return found;
}

int64_t sim_restarts(struct sim *sim, int64_t ensemble, int generation)
{
    char *training = sim_training_dir(sim, ensemble);
    int64_t n = number(truth(sim, training, "restarts", generation), "n");

    free(training);
    return n;
}

bool sim_was_killed(struct sim *sim, int64_t ensemble, int generation)
{
    char *training = sim_training_dir(sim, ensemble);
    bool killed = json_is_true(json_object_get(truth(sim, training, "restarts", generation), "killed"));

    free(training);
    return killed;
}

bool ranks_were_killed(struct cluster *c, const json_t *rank)
{
    char *training = training_dir(rank);
    bool killed = json_is_true(json_object_get(truth(c->sim, training, "restarts", generation_of(rank)), "killed"));

    free(training);
    return killed;
}

bool sim_left_further(struct sim *sim, int64_t ensemble, int generation)
{
    char *training = sim_training_dir(sim, ensemble);
    bool left = json_object_get(truth(sim, training, "left", generation), "further") != NULL;

    free(training);
    return left;
}

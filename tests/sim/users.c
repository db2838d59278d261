#include "tests/sim/users.h"

#include "common/xalloc.h"
#include "daemon/store/training_checkpoint.h"
#include "tests/sim/specs.h"

#include <stdlib.h>
#include <string.h>

#define ACCEPTED_MAX 64

/* An ensemble whose submission was committed, and what the calls since then have made of it. */
struct accepted {
    int64_t id;
    bool known;    /* the last call was answered after its commit, so that what follows holds until the next one */
    int64_t width;
    enum ensemble_state state;
    int64_t again, again_after; /* the last member that was to go again, and after which attempt; if any */
};

struct users {
    struct sim *sim;
    uint64_t seed;
    struct accepted accepted[ACCEPTED_MAX];
    size_t n;
};

struct users *users_create(struct sim *sim, uint64_t seed)
{
    struct users *users = xcalloc(1, sizeof *users);

    users->sim = sim;
    users->seed = seed;
    return users;
}

void users_destroy(struct users *users)
{
    free(users);
}

bool users_have_ensembles(const struct users *users)
{
    return users->n > 0;
}

/* End the turn of a call about it, which went well or not. */
static void note(struct sim *sim, struct accepted *acc, bool went_well)
{
    struct ensemble_row row;
    struct error err;

    acc->known = false;
    if (sim_turn(sim) < 0 || !went_well || store_ensemble_get(sim_store(sim), acc->id, &row, &err) != 1)
        return;
    acc->known = true;
    acc->width = row.width;
    acc->state = row.state;
}

bool users_submit(struct users *users)
{
    struct sim *sim = users->sim;
    json_t *spec = spec_random(sim, users->seed);
    struct accepted *acc = &users->accepted[users->n];
    size_t before = users->n;
    struct error err;

    if (spec_is_staged(users->seed) && before > 0 && sim_chance(sim, 600)) {
        int64_t after = users->accepted[sim_random(sim, before)].id;

        json_object_set_new(spec, "after", json_pack("{s:I}", "ensemble", (json_int_t)after));
    }
    refuse_spec(sim, spec, users->seed + (uint64_t)sim_now(sim));
    calls_begin(sim);
    if (sim_submit(sim, spec, &acc->id, &err) == 0) {
        sim_check_left(sim, acc->id);
        note(sim, acc, true);
        users->n += acc->known;
    } else if (strcmp(err.pointer, "/after/ensemble") == 0) { /* it has failed, or was cancelled */
        sim_turn(sim);
        json_decref(spec);
        return true;
    } else if (strncmp(err.code, "store_", 6) != 0 && strcmp(err.code, "resources_impossible") != 0) {
        sim_violate(sim, "a good spec was refused: %s at %s", err.text, err.pointer);
    } else {
        calls_refused(sim, &err);
    }
    json_decref(spec);
    return users->n > before;
}

/* By itself: it ends, is ending, or is paused for a reason. */
static bool may_become(enum ensemble_state was, const struct ensemble_row *row)
{
    return was == row->state || ensemble_is_ending(row) || (was < ENSEMBLE_COMPLETE && ensemble_is_over(row)) ||
           (was == ENSEMBLE_RUNNING && row->state == ENSEMBLE_PAUSED && row->reason[0] != '\0');
}

void users_check(struct users *users)
{
    struct sim *sim = users->sim;

    for (size_t i = 0; i < users->n; i++) {
        const struct accepted *acc = &users->accepted[i];
        struct ensemble_row row;
        struct error err;

        if (store_ensemble_get(sim_store(sim), acc->id, &row, &err) != 1)
            sim_violate(sim, "ensemble %lld was accepted, and is lost", (long long)acc->id);
        else if (acc->known && row.width != acc->width && !watch_elastic_owns_width(sim, acc->id))
            sim_violate(sim, "the width %lld of ensemble %lld was accepted, and is %lld", (long long)acc->width,
                        (long long)acc->id, (long long)row.width);
        else if (acc->known && !may_become(acc->state, &row))
            sim_violate(sim, "ensemble %lld was %s by the last call about it, and is %s", (long long)acc->id,
                        ensemble_state_name(acc->state), ensemble_state_name(row.state));
    }
}

static bool commits_fail(const struct sim *sim)
{
    return sim_faults_of(sim)->commit_fails > 0;
}

static bool is_refusal(const struct error *err)
{
    static const char *const codes[] = {
        "ensemble_over", "training_over", "training_not_over", "training_no_checkpoints", "member_succeeded",
        "member_not_found", "ensemble_not_over", "follow_up_needless", "member_in_follow_up", "checkpoint_damaged",
        "resources_impossible"};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(err->code, codes[i]) == 0)
            return true;
    return false;
}

static int keep_index(void *arg, const struct member_row *row)
{
    *(int64_t *)arg = row->index;
    return 1;
}

/* Returns a member that did not succeed, if there is one, or any member. */
static int64_t some_member(struct sim *sim, const struct accepted *acc)
{
    int64_t index = (int64_t)sim_random(sim, 40);
    struct error err;

    if (sim_chance(sim, 700))
        store_member_each(sim_store(sim), acc->id, sim_chance(sim, 500) ? MEMBER_FAILED : MEMBER_UNFINISHED, 0, 1,
                          keep_index, &index, &err);
    return index;
}

static int keep_left(void *arg, const struct member_row *row)
{
    if (row->successor == 0)
        *(struct member_row *)arg = *row;
    return 0;
}

/* The last of those that could go again; if there is none, its index is -1. */
static struct member_row last_left(struct sim *sim, const struct accepted *acc)
{
    struct member_row last = {.index = -1};
    struct error err;

    store_member_each(sim_store(sim), acc->id, MEMBER_FAILED, 0, 100, keep_left, &last, &err);
    if (last.index < 0)
        store_member_each(sim_store(sim), acc->id, MEMBER_UNFINISHED, 0, 100, keep_left, &last, &err);
    return last;
}

/* Checks that all members that the daemon agreed to run again have run again, unless their training ended early. */
void users_check_end(struct users *users)
{
    struct sim *sim = users->sim;

    for (size_t i = 0; i < users->n; i++) {
        const struct accepted *acc = &users->accepted[i];
        struct ensemble_row row;
        struct member_row member;
        struct error err;

        if (acc->again_after > 0 && store_ensemble_get(sim_store(sim), acc->id, &row, &err) == 1 &&
            row.state == ENSEMBLE_COMPLETE && row.reason[0] == '\0' &&
            store_member_get(sim_store(sim), acc->id, acc->again, &member, &err) == 1 &&
            member.attempts <= acc->again_after)
            sim_violate(sim, "member %lld.%lld was to go again after attempt %lld, and has not", (long long)acc->id,
                        (long long)acc->again, (long long)acc->again_after);
    }
}

/* The checkpoint that a user asks for: the first from `number` on, damaged or not, or the newest that is not
 * damaged. */
struct picked {
    int64_t number; /* 0: the newest */
    struct training_checkpoint_row row;
};

static int pick(void *arg, const struct training_checkpoint_row *row)
{
    struct picked *picked = arg;

    if (picked->number == 0 && row->damaged)
        return 0;
    picked->row = *row;
    return picked->number != 0 && row->number >= picked->number;
}

/* A training that was resubmitted: its directory, and the checkpoint that it goes on from ("" for none). */
struct resubmitted {
    char *dir, from[64];
};

/* Has the training of an ensemble go on from any of its checkpoints, or from the start. */
static int resubmit_training(struct sim *sim, const struct accepted *acc, struct resubmitted *out, struct error *err)
{
    struct picked picked = {.number = sim_chance(sim, 500) ? 0 : 1 + (int64_t)sim_random(sim, 6)};
    struct engine_resubmission wish = {.afresh = sim_chance(sim, 200)};
    struct training_row row;
    int rc = store_training_of(sim_store(sim), acc->id, &row, err);

    if (rc <= 0)
        return rc < 0 ? -1 : error_set(err, "training_over", "there is none");
    store_training_checkpoint_each(sim_store(sim), row.id, 0, 0, INT32_MAX, pick, &picked, err);
    if (!wish.afresh && picked.number != 0)
        wish.number = picked.row.number;
    out->dir = sim_training_dir(sim, acc->id);
    memcpy(out->from, picked.row.name, sizeof out->from);
    if (wish.afresh)
        out->from[0] = '\0';
    rc = engine_resubmit_training(sim_engine(sim), row.id, &wish, &sim_left_training, err);
    if (wish.number > 0 && picked.row.damaged && rc == 0)
        sim_violate(sim, "training %lld goes on from checkpoint %s, which is damaged", (long long)row.id,
                    picked.row.name);
    return rc;
}

static int resize_training(struct sim *sim, const struct accepted *acc, struct error *err)
{
    struct training_row row;
    int rc = store_training_of(sim_store(sim), acc->id, &row, err);

    if (rc <= 0)
        return rc < 0 ? -1 : error_set(err, "training_over", "there is none");
    return engine_resize_training(sim_engine(sim), row.id, 1 + (int64_t)sim_random(sim, 3), "over the Unix socket",
                                  &sim_left_training, err);
}

static int cancel_member(struct sim *sim, struct accepted *acc, struct error *err)
{
    int64_t index = sim_chance(sim, 700) ? (int64_t)sim_random(sim, 40) : some_member(sim, acc);
    bool cancelled;
    int rc = engine_cancel_member(sim_engine(sim), acc->id, index, &cancelled, &sim_left, err);

    if (rc == 0 && cancelled && index == acc->again)
        acc->again_after = 0;
    return rc;
}

/* Any call about an ensemble, as a user might make it at any time. */
static void any_verb(struct sim *sim, struct accepted *acc)
{
    static const enum member_state states[] = {MEMBER_FAILED, MEMBER_UNFINISHED};
    struct engine *engine = sim_engine(sim);
    int64_t n = 0, width = 1 + (int64_t)sim_random(sim, 12);
    int verb = (int)sim_random(sim, 19), rc = 0;
    struct member_row left = last_left(sim, acc);
    struct resubmitted resubmitted = {.dir = NULL};
    struct ensemble_row row;
    struct error err;
    bool paused = store_ensemble_get(sim_store(sim), acc->id, &row, &err) == 1 && row.state == ENSEMBLE_PAUSED;

    refuse_verb(sim, acc->id, (uint64_t)sim_now(sim));
    calls_begin(sim);
    switch (verb) {
    case 0: rc = engine_cancel(engine, acc->id, &sim_left, &err); break;
    case 1:
    case 2: rc = engine_pause(engine, acc->id, "over the Unix socket", &sim_left, &err); break;
    case 3:
    case 4: rc = engine_resume(engine, acc->id, &sim_left, &err); break;
    case 5:
    case 6: rc = engine_resize(engine, acc->id, width, ENGINE_SHRINK_LATER, "over the Unix socket", &sim_left, &err); break;
    case 7:
    case 8: rc = engine_resize(engine, acc->id, width, ENGINE_SHRINK_NOW, "over the Unix socket", &sim_left, &err); break;
    case 9: rc = engine_resubmit_member(engine, acc->id, some_member(sim, acc), sim_chance(sim, 300), &n, &sim_left, &err); break;
    case 12:
    case 13:
    case 14: rc = cancel_member(sim, acc, &err); break;
    case 15:
    case 16: rc = resubmit_training(sim, acc, &resubmitted, &err); break;
    case 17:
    case 18: rc = resize_training(sim, acc, &err); break;
    default: rc = engine_resubmit(engine, acc->id, states, 2, sim_chance(sim, 300), &n, &sim_left, &err); break;
    }
    if (rc < 0 && !is_refusal(&err) && (strncmp(err.code, "store_", 6) != 0 || !commits_fail(sim)))
        sim_violate(sim, "a call was refused: %s: %s", err.code, err.text);
    if (rc < 0)
        calls_refused(sim, &err);
    if (rc == 0 && verb < 15)
        sim_check_left(sim, acc->id);
    note(sim, acc, rc == 0 || is_refusal(&err));
    if (rc == 0 && resubmitted.dir != NULL)
        sim_resubmitted(sim, resubmitted.dir, resubmitted.from, acc->known);
    free(resubmitted.dir);
    if (rc < 0 || !acc->known)
        return;
    if (paused && acc->state == ENSEMBLE_RUNNING && verb != 3 && verb != 4)
        sim_violate(sim, "ensemble %lld was paused, and a call that resumes nothing has let it run",
                    (long long)acc->id);
    if (verb >= 5 && verb <= 8 && acc->width != width)
        sim_violate(sim, "a resize to %lld was answered, and the width is %lld", (long long)width,
                    (long long)acc->width);
    if ((verb == 1 || verb == 2) && acc->state == ENSEMBLE_RUNNING)
        sim_violate(sim, "a pause was answered, and the ensemble runs");
    if ((verb == 3 || verb == 4) && acc->state == ENSEMBLE_PAUSED)
        sim_violate(sim, "a resumption was answered, and the ensemble is paused");
    if (verb > 9 && verb < 12 && n > 0 && left.index >= 0)
        acc->again = left.index, acc->again_after = left.attempts;
    if (verb >= 9 && verb < 12 && n > 0 && acc->state == ENSEMBLE_COMPLETE)
        sim_violate(sim, "members were resubmitted, and the ensemble is complete");
}

/* The width that the user wants lies outside of the limits between which the ensemble's policy changes it. */
static bool is_not_elastic(const struct error *err)
{
    return strcmp(err->code, "spec_impossible_value") == 0 && strcmp(err->pointer, "/width") == 0;
}

/* A follow-up of one, or of all; one that is made is accepted like any other ensemble. */
static void follow_up(struct users *users)
{
    struct sim *sim = users->sim;
    struct accepted *acc = &users->accepted[users->n];
    bool all = sim_chance(sim, 200);
    struct error err;
    int rc;

    acc->id = 0;
    calls_begin(sim);
    rc = all ? sim_follow_up_all(sim, &err)
             : sim_follow_up(sim, users->accepted[sim_random(sim, users->n)].id, &acc->id, &err);
    if (rc < 0 && !is_refusal(&err) && !is_not_elastic(&err) &&
        (strncmp(err.code, "store_", 6) != 0 || !commits_fail(sim)))
        sim_violate(sim, "a follow-up was refused: %s: %s", err.code, err.text);
    if (rc < 0)
        calls_refused(sim, &err);
    if (acc->id == 0) {
        sim_turn(sim);
        return;
    }
    note(sim, acc, true);
    users->n += acc->known;
    if (acc->known && sim_chance(sim, 150)) /* before it has all of its members */
        note(sim, acc, engine_cancel(sim_engine(sim), acc->id, &sim_left, &err) == 0);
}

void users_call(struct users *users)
{
    if (sim_chance(users->sim, 250))
        follow_up(users);
    else
        any_verb(users->sim, &users->accepted[sim_random(users->sim, users->n)]);
}

static bool is_accepted(const struct users *users, int64_t id)
{
    for (size_t i = 0; i < users->n; i++)
        if (users->accepted[i].id == id)
            return true;
    return false;
}

void users_resume_all(struct users *users)
{
    struct sim *sim = users->sim;
    int64_t last = sim_number(sim, "SELECT coalesce(max(id), 0) FROM ensemble");
    struct error err;

    for (size_t i = 0; i < users->n && sim_engine(sim) != NULL; i++) {
        int rc = engine_resume(sim_engine(sim), users->accepted[i].id, &sim_left, &err);

        note(sim, &users->accepted[i], rc == 0 || is_refusal(&err));
    }
    for (int64_t id = 1; id <= last && sim_engine(sim) != NULL; id++)
        if (!is_accepted(users, id) && engine_resume(sim_engine(sim), id, &sim_left, &err) == 0)
            sim_turn(sim);
}

void users_give_up_stages(struct users *users)
{
    struct sim *sim = users->sim;
    int64_t id = sim_number(sim, "SELECT coalesce(min(e.id), 0) FROM ensemble e JOIN ensemble p ON p.id = e.after "
                                 "WHERE e.state IN ('running', 'paused') "
                                 "AND NOT EXISTS (SELECT 1 FROM ensemble WHERE after IS NULL "
                                 "AND state IN ('running', 'paused')) "
                                 "AND EXISTS (SELECT 1 FROM tally t JOIN ensemble f ON f.id = t.ensemble "
                                 "WHERE coalesce(f.root, f.id) = coalesce(p.root, p.id) "
                                 "AND t.state = 'unfinished' AND t.n > t.handed)");
    struct error err;

    if (id > 0 && engine_cancel(sim_engine(sim), id, &sim_left, &err) == 0)
        sim_turn(sim);
}

/* What becomes of processes that tasks leave, of tasks that are hung, of checkpoints that are left while processes
 * linger, and of ranks that begin again. In virtual time. */
#include "tests/unit/runner_rig.h"

#include "common/files.h"
#include "tasks/proto/kept.h"
#include "tasks/runner/restarts.h"
#include "tasks/runner/tree.h"

#include <glob.h>
#include <stdio.h>
#include <unistd.h>

/* Nobody knows whose it is while tasks run, which may need it. */
static void what_is_nobodys_is_told_when_all_have_ended(void **state)
{
    struct rig_left *l;

    begin();
    process.ends_at = 20000;
    other_ends_at = 1000;
    l = leave(TREE_UNOWNED, NEVER);
    assert_record(run(600000, 30000, none), "succeeded", "");
    assert_int_equal(l->term_at, 20000);
    assert_int_equal(l->kill_at, 50000);
    assert_int_equal(now, START + 50000);
}

/* A daemon that watches its job says itself that it has given it up. */
static void the_daemon_ends_its_own_jobs_itself(void **state)
{
    begin();
    process.ends_at = 400000;
    given_up_at = 100000;
    is_watched = true;
    json_decref(run(0, 30000, none));
    assert_int_equal(n_sent, 0);
    assert_int_equal(now, START + 400000);
}

static const struct jobdesc_checkpoint ckpt = {.any = true, .before_ms = 120000, .signal = SIGUSR1, .keep = 5, .glob = "*.ckpt"};

static size_t count_in(json_t *record)
{
    size_t n = json_array_size(json_object_get(record, "checkpoints"));

    json_decref(record);
    return n;
}

/* What writes it may be a process that the task has left. */
static void they_are_waited_for_while_processes_are_left(void **state)
{
    struct rig_left *l;

    begin();
    process.ends_at = 100000;
    l = leave(0, NEVER);
    l->ends_at = 104000;
    writes_at = 101500;
    writes = "a.ckpt";
    assert_int_equal(count_in(run(0, 30000, ckpt)), 1);
    assert_in_range(now, START + 104000, START + 104200);
    begin(); /* at its end it had just been written, and nobody knows whether whole */
    process.ends_at = 100000;
    l = leave(0, NEVER);
    l->ends_at = 102500;
    writes_at = 101500;
    writes = "a.ckpt";
    assert_int_equal(count_in(run(0, 30000, ckpt)), 0);
    begin(); /* it is not waited for longer than it is left alive */
    process.ends_at = 100000;
    l = leave(0, NEVER);
    assert_int_equal(count_in(run(0, 30000, ckpt)), 0);
    assert_int_equal(l->kill_at, 130000);
    assert_in_range(now, START + 130000, START + 130200);
}

/* --- ranks that begin again */

static int64_t retries;
static int kills;        /* so often is the first rank killed, and does not fail, before it does */
static int saves_before; /* so many of its lives end with a newer checkpoint */
static int other_lives;  /* of the first rank */
static bool dies_too;    /* the other one is killed in its first life, in the same moment */
static enum kept_state kept;
static bool lets_it_succeed; /* the second time */

static void be_ranks(struct jobdesc *desc, struct job *job)
{
    desc->kind = JOBDESC_TRAINING;
    desc->restarts = (struct jobdesc_restarts){.any = retries >= 0, .retries = retries, .from = LEARNT_NOTHING};
}

/* The ranks list their newest checkpoint, of that generation; 0 batches: none. */
static void list_checkpoint(int generation, int batches)
{
    char path[128];
    json_t *list = json_pack("{s:i, s:[{s:i, s:i, s:i, s:i}]}", "version", 1, "checkpoints", "generation", generation, "step", 5,
                             "batches", batches, "drawn", 7);
    struct error err;

    snprintf(path, sizeof path, "%s/checkpoints/checkpoints.json", dir);
    if (batches > 0)
        assert_int_equal(file_write_json(path, list, 0600, &err), 0);
    else
        unlink(path);
    json_decref(list);
}

static void keep_samples(struct task *t)
{
    size_t number = (size_t)(t->desc - t->job->desc->tasks);
    uint32_t state = kept;

    if (t->job->restarts != NULL)
        assert_int_equal(pwrite(t->job->restarts->memory[number], &state, sizeof state, offsetof(struct kept_head, state)), sizeof state);
    if (number == 1) {
        process.ends_at = now - START + 200000;
        process.status = dies_too && other_lives < 2 ? SIGKILL : 0;
        if (process.status != 0)
            process.ends_at = now - START + 10000;
    } else {
        if (n_started > 2) {
            other_ends_at = now - START + 10000;
            other_status = other_lives < kills ? SIGKILL : lets_it_succeed ? 0 : 1 << 8;
        }
        if (other_lives++ < saves_before) /* until then */
            list_checkpoint(1, 10 * other_lives);
    }
}

/* The first rank fails after 10 s. */
static json_t *run_ranks(int restarts, enum kept_state state)
{
    char path[128];
    struct error err;

    begin();
    kept = state;
    retries = restarts;
    other_lives = 0;
    other_ends_at = 10000;
    other_status = kills > 0 ? SIGKILL : 1 << 8;
    snprintf(path, sizeof path, "%s/checkpoints", dir);
    assert_int_equal(dir_make(path, &err), 0);
    snprintf(path, sizeof path, "%s/g1", dir);
    assert_int_equal(dir_make(path, &err), 0);
    is_watched = true; /* no end is held back */
    adjust = be_ranks;
    started = keep_samples;
    return run(0, 30000, none);
}

static json_t *told_of_restarts(void)
{
    char path[128];
    struct error err;
    json_t *root, *list;

    snprintf(path, sizeof path, "%s/g1/restarts.json", dir);
    root = file_read_json(path, &err);
    list = json_incref(json_object_get(root, "restarts"));
    json_decref(root);
    unlink(path);
    return list;
}

static const char *outcome_of(const char *path)
{
    static char outcome[32];
    struct error err;
    json_t *record = file_read_json(path, &err);

    snprintf(outcome, sizeof outcome, "%s", json_string_value(json_object_get(record, "outcome")));
    json_decref(record);
    return outcome;
}

static void not_more_often_than_they_may(void **state)
{
    json_t *list;

    lets_it_succeed = false;
    assert_record(run_ranks(2, KEPT_COMPLETE), "cancelled", "ended, because another rank failed");
    assert_string_equal(outcome_of(other_record), "failed");
    assert_int_equal(n_started, 6);
    assert_int_equal(sent[0].at, 10000);
    assert_int_equal(sent[1].at, 20000);
    assert_int_equal(sent[2].sig, SIGTERM); /* the third time it ends with the grace */
    assert_int_equal(sent[2].at, 30000);
    assert_int_equal(sent[3].sig, SIGKILL);
    assert_int_equal(sent[3].at, 60000);
    list = told_of_restarts();
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "number")), 2);
    json_decref(list);
}

static void without_their_samples_they_do_not(void **state)
{
    static const enum kept_state states[] = {KEPT_UNUSED, KEPT_LACKING};

    lets_it_succeed = true;
    for (size_t i = 0; i < 2; i++) {
        assert_record(run_ranks(1, states[i]), "cancelled", "ended, because another rank failed");
        assert_int_equal(n_started, 2);
        SENT({SIGTERM, 10000}, {SIGKILL, 40000});
        assert_null(told_of_restarts());
    }
    assert_record(run_ranks(0, KEPT_COMPLETE), "cancelled", "ended, because another rank failed");
    assert_int_equal(n_started, 2);
}

/* Of a rank that is killed in each of its lives, until it ends by itself. */
static void to_be_killed_costs_nothing_while_they_get_further(void **state)
{
    static const struct {
        int retries, kills, saves;
        bool succeeds;
        int lives, failures, losses; /* as told of the last beginning again */
    } cases[] = {
        {0, 8, 8, true, 9, 0, 0}, /* each life has left a newer checkpoint */
        {0, 3, 0, true, 4, 0, 3}, /* some may leave none */
        {0, 6, 3, true, 7, 0, 3},
        {0, 9, 0, true, 4, 0, 3}, /* each further one costs a retry */
        {2, 9, 0, true, 6, 2, 5},
        {30, 99, 0, true, 11, 7, 10}, /* to a limit */
        {1, 2, 0, false, 4, 1, 0},    /* an error of its own costs one, and ends the row */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *list, *last;

        kills = cases[i].kills;
        saves_before = cases[i].saves;
        lets_it_succeed = cases[i].succeeds;
        json_decref(run_ranks(cases[i].retries, KEPT_COMPLETE));
        list_checkpoint(1, 0);
        list = told_of_restarts();
        last = json_array_get(list, json_array_size(list) - 1);
        assert_int_equal(n_started, 2 * cases[i].lives);
        assert_int_equal(json_array_size(list), cases[i].lives - 1);
        assert_int_equal(json_integer_value(json_object_get(last, "failures")), cases[i].failures);
        assert_int_equal(json_integer_value(json_object_get(last, "losses")), cases[i].losses);
        json_decref(list);
    }
    kills = saves_before = 0;
}

/* The others of a rank that was killed may fail in the same moment, since it does not answer any more. */
static void the_one_that_was_killed_is_blamed(void **state)
{
    json_t *list;

    lets_it_succeed = dies_too = true;
    json_decref(run_ranks(0, KEPT_COMPLETE));
    dies_too = false;
    list = told_of_restarts();
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "rank")), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "reason")), "killed by signal 9 (Killed)");
    json_decref(list);
}

/* Neither one that has succeeded nor one that is told to end is a reason. */
static void told_to_end_they_do_not(void **state)
{
    begin();
    kept = KEPT_COMPLETE;
    retries = 1;
    other_ends_at = 1000000;
    is_watched = true;
    adjust = be_ranks;
    started = keep_samples;
    told_at = 5000;
    process.lasts = 100;
    assert_record(run(0, 30000, none), "cancelled", "cancelled");
    assert_int_equal(n_started, 2);
    begin();
    other_ends_at = 1000;
    is_watched = true;
    adjust = be_ranks;
    started = keep_samples;
    assert_record(run(0, 30000, none), "succeeded", "");
    assert_int_equal(n_started, 2);
    assert_null(told_of_restarts());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_nobodys_is_told_when_all_have_ended),
        cmocka_unit_test(the_daemon_ends_its_own_jobs_itself),
        cmocka_unit_test(they_are_waited_for_while_processes_are_left),
        cmocka_unit_test(not_more_often_than_they_may),
        cmocka_unit_test(without_their_samples_they_do_not),
        cmocka_unit_test(to_be_killed_costs_nothing_while_they_get_further),
        cmocka_unit_test(the_one_that_was_killed_is_blamed),
        cmocka_unit_test(told_to_end_they_do_not),
    };

    return RIG_MAIN("runner_left", tests);
}

/* The course of ensembles and trainings as it is stored: what was changed, suggested, resumed, promoted and
 * cancelled. */
#include "daemon/store/bulk.h"
#include "daemon/store/cancellation.h"
#include "daemon/store/elastic.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/family.h"
#include "daemon/store/generation.h"
#include "daemon/store/internal.h"
#include "daemon/store/rung.h"
#include "daemon/store/series.h"
#include "daemon/store/suggestion.h"
#include "daemon/store/training.h"
#include "tests/unit/open_store.h"
#include "tests/unit/store_course_later.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put_member(int64_t ensemble, int64_t index, enum member_state state)
{
    must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = index, .state = state}, &err));
}

static void an_ensemble_is_read_as_it_was_written(void **state)
{
    int64_t first = add_ensemble(9), second = add_ensemble(9);
    struct ensemble_row row = {.name = "n", .adapter = "batch", .stream_key = "0123456789abcdef", .intake = INTAKE_OPEN, .count = 7,
                               .width = 3, .next_index = 7, .root = first, .parent = second, .after = second, .created_ms = 10}, read;
    char *spec;

    must(store_ensemble_insert(store, &row, "{\"a\":1}", &err));
    assert_int_equal(store_ensemble_get(store, row.id, &read, &err), 1);
    assert_true(read.intake == INTAKE_OPEN && read.count == 7 && read.width == 3 && read.next_index == 7 &&
                read.created_ms == 10);
    assert_true(read.root == first && read.parent == second && read.after == second && read.paused_ms == 0 &&
                read.ended_ms == 0);
    assert_string_equal(read.stream_key, "0123456789abcdef");
    assert_string_equal(read.adapter, "batch");
    row.state = ENSEMBLE_PAUSED;
    row.intake = INTAKE_CLOSED;
    row.width = 4;
    row.next_index = 5;
    row.after = 0;
    row.paused_ms = 30;
    snprintf(row.reason, sizeof row.reason, "reason");
    snprintf(row.paused_by, sizeof row.paused_by, "by token 3");
    must(store_ensemble_update(store, &row, &err));
    assert_int_equal(store_ensemble_get(store, row.id, &read, &err), 1);
    assert_true(read.state == ENSEMBLE_PAUSED && read.intake == INTAKE_CLOSED && read.width == 4 &&
                read.next_index == 5);
    assert_true(read.after == 0 && read.paused_ms == 30 && read.ended_ms == 0);
    assert_string_equal(read.reason, "reason");
    assert_string_equal(read.paused_by, "by token 3");
    must(store_ensemble_change_spec(store, row.id, "{\"a\":2}", &err));
    spec = store_ensemble_spec(store, row.id, &err);
    assert_string_equal(spec, "{\"a\":2}");
    free(spec);
    assert_null(store_ensemble_spec(store, row.id + 1, &err));
    assert_string_equal(err.code, "ensemble_not_found");
    assert_int_equal(store_ensemble_get(store, row.id + 1, &read, &err), 0);
}

/* A restored database knows less than the run directory: ids that are used there are not given again. */
static void ids_of_ensembles_are_skipped(void **state)
{
    must(store_ensemble_skip(store, 5, &err)); /* before the first one */
    assert_int_equal(add_ensemble(9), 6);
    must(store_ensemble_skip(store, 10, &err));
    must(store_ensemble_skip(store, 2, &err));
    assert_int_equal(add_ensemble(9), 11);
}

static void members_without_a_row_are_cancelled_and_restored(void **state)
{
    int64_t id = add_ensemble(9), other = add_ensemble(9), n[MEMBER_STATE_COUNT];

    must(store_exec(store, &err, "UPDATE ensemble SET next_index = 2 WHERE id = 1", ""));
    put_member(id, 0, MEMBER_SUCCEEDED);
    put_member(id, 1, MEMBER_CANCELLED);
    must(store_ensemble_cancel_untried(store, id, &err));
    must(store_tally_get(store, id, n, &err));
    assert_true(n[MEMBER_PENDING] == 0 && n[MEMBER_CANCELLED] == 8 && n[MEMBER_SUCCEEDED] == 1);
    must(store_ensemble_restore_untried(store, id, &err));
    must(store_tally_get(store, id, n, &err));
    assert_true(n[MEMBER_PENDING] == 7 && n[MEMBER_CANCELLED] == 1 && n[MEMBER_SUCCEEDED] == 1);
    must(store_tally_get(store, other, n, &err));
    assert_int_equal(n[MEMBER_PENDING], 9);
}

/* Nothing follows an ensemble up whose members may still write. */
static void a_family_is_open_as_long_as_members_run(void **state)
{
    static const enum member_state open[] = {MEMBER_PENDING, MEMBER_SUBMITTED, MEMBER_RUNNING};
    static const enum member_state over[] = {MEMBER_SUCCEEDED, MEMBER_FAILED, MEMBER_UNFINISHED, MEMBER_CANCELLED,
                                             MEMBER_STOPPED};
    struct ensemble_row row = {.name = "n", .adapter = "local", .stream_key = "0", .count = 1, .width = 1, .created_ms = 1};
    int64_t id = add_ensemble(1), found;

    assert_int_equal(store_family_open(store, id, &found, &err), 1);
    must(store_exec(store, &err, "UPDATE ensemble SET state = 'cancelled', ended = 9", ""));
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        put_member(id, 0, open[i]);
        assert_int_equal(store_family_open(store, id, &found, &err), 1);
        assert_int_equal(found, id);
    }
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        put_member(id, 0, over[i]);
        assert_int_equal(store_family_open(store, id, &found, &err), 0);
    }
    row.root = row.parent = id;
    must(store_ensemble_insert(store, &row, "{}", &err));
    assert_int_equal(store_family_open(store, id, &found, &err), 1);
    assert_int_equal(found, row.id);
}

static void an_adapter_is_known_by_its_ensembles_and_trainings(void **state)
{
    struct training_row training = {.ensemble = add_ensemble(9), .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "batch"};

    assert_int_equal(store_ensemble_any_of(store, "local", &err), 1);
    assert_int_equal(store_ensemble_any_of(store, "batch", &err), 0);
    must(store_training_insert(store, &training, &err));
    assert_int_equal(store_ensemble_any_of(store, "batch", &err), 1);
    assert_int_equal(store_ensemble_any_of(store, "bat", &err), 0);
}

static int note_member(void *arg, const struct member_row *row)
{
    note("%lld ", (long long)row->index);
    return 0;
}

static int note_state(void *arg, int64_t index, enum member_state state)
{
    note("%lld %s, ", (long long)index, member_state_name(state));
    return index == 6;
}

static void members_are_listed_by_state_and_range(void **state)
{
    int64_t id = add_ensemble(20), other = add_ensemble(20), n, last, due;
    struct member_row row;

    for (int64_t i = 0; i < 9; i++) {
        put_member(id, i, i % 3 == 0 ? MEMBER_FAILED : MEMBER_PENDING);
        put_member(other, i, MEMBER_PENDING);
    }
    must(store_member_each_between(store, id, MEMBER_PENDING, 2, 7, note_member, NULL, &err));
    is_listed("2 4 5 7 ");
    must(store_member_each_state(store, id, 2, 5, note_state, NULL, &err));
    is_listed("2 pending, 3 failed, 4 pending, ");
    must(store_member_each_state(store, id, 5, 9, note_state, NULL, &err)); /* until it has enough */
    is_listed("5 pending, 6 failed, ");
    must(store_member_each(store, id, MEMBER_PENDING, 4, 3, note_member, NULL, &err));
    is_listed("4 5 7 ");
    must(store_member_each(store, id, MEMBER_STATE_COUNT, 7, 9, note_member, NULL, &err));
    is_listed("7 8 ");
    must(store_member_slice(store, id, MEMBER_PENDING, 2, 3, &n, &last, &err));
    assert_true(n == 3 && last == 5);
    must(store_exec(store, &err, "UPDATE member SET successor = 99 WHERE ensemble = 1 AND idx = 3", ""));
    must(store_member_slice(store, id, MEMBER_FAILED, 0, 9, &n, &last, &err));
    assert_true(n == 2 && last == 6);
    must(store_member_cancel(store, id, 2, 5, &err));
    must(store_member_each(store, id, MEMBER_CANCELLED, 0, 9, note_member, NULL, &err));
    is_listed("2 4 5 ");
    must(store_member_each(store, other, MEMBER_CANCELLED, 0, 9, note_member, NULL, &err));
    is_listed("");

    must(store_exec(store, &err, "UPDATE member SET not_before = 100 - idx WHERE ensemble = 1", ""));
    must(store_member_next_due(store, id, &due, &err));
    assert_int_equal(due, 100 - 8);
    /* the second one at this very moment */
    must(store_member_each_due(store, id, 100 - 7, 9, note_member, NULL, &err));
    is_listed("8 7 ");
    must(store_member_cancel(store, id, 0, 20, &err));
    must(store_member_next_due(store, id, &due, &err));
    assert_true(due == INT64_MAX);

    must(store_member_get(store, id, 3, &row, &err));
    assert_true(isnan(row.progress) && row.successor == 99 && row.predecessor == 0);
    must(store_member_progress(store, id, 3, 0.25, &err));
    must(store_member_get(store, id, 3, &row, &err));
    assert_true(row.progress == 0.25);
    must(store_member_get(store, id, 6, &row, &err));
    assert_true(isnan(row.progress));
}

static void a_member_is_read_as_it_was_written(void **state)
{
    int64_t id = add_ensemble(9);
    struct member_row row = {.ensemble = id, .index = 3, .state = MEMBER_RUNNING, .attempts = 1, .failures = 2, .losses = 3, .stalls = 4,
                             .since = 5, .since_in = 6, .not_before_ms = 7, .rung = 8, .reason = "reason"}, read;

    for (int change = 0; change < 2; change++) {
        must((change ? store_member_change : store_member_put)(store, &row, &err));
        assert_int_equal(store_member_get(store, id, 3, &read, &err), 1);
        assert_true(read.state == row.state && read.attempts == row.attempts && read.failures == row.failures &&
                    read.losses == row.losses);
        assert_true(read.stalls == row.stalls && read.since == row.since && read.since_in == row.since_in);
        assert_int_equal(read.not_before_ms, row.not_before_ms);
        assert_int_equal(read.rung, row.rung);
        assert_string_equal(read.reason, row.reason);
        row = (struct member_row){.ensemble = id, .index = 3, .state = MEMBER_UNFINISHED, .attempts = 11, .failures = 12, .losses = 13,
                                  .stalls = 14, .since = 15, .since_in = 16, .not_before_ms = 17, .rung = 18};
    }
    assert_int_equal(store_member_get(store, id, 4, &read, &err), 0);
}

static void what_an_elastic_ensemble_did_last_is_kept(void **state)
{
    int64_t id = add_ensemble(9);
    struct elastic_row row = {.width_by_hand = true}, read;

    assert_int_equal(store_elastic_get(store, id, &read, &err), 0);
    assert_true(read.ensemble == id && !read.width_by_hand && read.width_way == ELASTIC_NEVER && read.until_ms == 0);
    for (int i = 0; i < 2; i++) {
        row = (struct elastic_row){id, i == 0, i == 1, i == 0 ? ELASTIC_DOWN : ELASTIC_UP, i == 0 ? ELASTIC_UP : ELASTIC_NEVER, i == 0,
                                   i == 1, 10 + i, 20 + i, 30 + i, ""};
        snprintf(row.reason, sizeof row.reason, i == 0 ? "" : "reason");
        must(store_elastic_put(store, &row, &err));
        assert_int_equal(store_elastic_get(store, id, &read, &err), 1);
        assert_true(read.width_by_hand == row.width_by_hand && read.ranks_by_hand == row.ranks_by_hand);
        assert_true(read.width_way == row.width_way && read.ranks_way == row.ranks_way &&
                    read.ranks_last == row.ranks_last);
        assert_true(read.settling == row.settling && read.changed_ms == row.changed_ms &&
                    read.until_ms == row.until_ms);
        assert_int_equal(read.reversals, row.reversals);
        assert_string_equal(read.reason, row.reason);
    }
}

static int note_generation(void *arg, const struct generation_row *row)
{
    note("%lld of %lld: %lld-%lld %s/%s from %s/%lld lost %lld again %lld; ", (long long)row->number,
         (long long)row->ranks, (long long)row->started_ms, (long long)row->ended_ms, row->end, row->reason,
         row->resumed, (long long)row->resumed_step, (long long)row->samples_lost, (long long)row->members_again);
    return 0;
}

static void next_generation(struct training_row *row, const char *reason)
{
    row->generation++;
    row->state = TRAINING_PENDING;
    row->ended_ms += 10;
    row->started_ms = 0;
    snprintf(row->reason, sizeof row->reason, "%s", reason);
    must(store_training_update(store, row, &err));
}

/* Each has its own end, its cause, and where it went on from. */
static void generations_have_their_own_ends(void **state)
{
    struct training_row row = {.ensemble = add_ensemble(9), .ranks = 2, .generation = 1, .created_ms = 1, .adapter = "local", .ended_ms = 20};

    must(store_training_insert(store, &row, &err));
    row.ended_ms = 0;
    row.started_ms = 5;
    row.state = TRAINING_RUNNING;
    must(store_training_update(store, &row, &err));
    must(store_generation_each(store, row.id, 0, 9, note_generation, NULL, &err));
    is_listed("1 of 2: 5-0 / from /0 lost 0 again 0; ");
    row.failures = 1;
    row.ended_ms = 10;
    row.resumed = (struct training_resumed){"g1-s7", 7, 0, 0};
    next_generation(&row, "generation 1: rank 0 failed: signal 9");
    row.wanted = 3;
    must(store_training_update(store, &row, &err));
    row.wanted = 0;
    row.ranks = 3;
    next_generation(&row, "");
    must(store_generation_lost(store, row.id, 2, 44, &err));
    next_generation(&row, "its time is over");
    row.state = TRAINING_DONE;
    row.reason[0] = '\0';
    row.started_ms = 50;
    row.ended_ms = 60;
    must(store_training_update(store, &row, &err));
    must(store_generation_each(store, row.id, 0, 2, note_generation, NULL, &err));
    is_listed("4 of 3: 50-60 done/ from g1-s7/7 lost 0 again 0; 3 of 3: 0-40 out_of_time/its time is over from g1-s7/7 lost 0 again 0; ");
    must(store_generation_each(store, row.id, 3, 9, note_generation, NULL, &err));
    is_listed("2 of 2: 0-30 resized/ from g1-s7/7 lost 44 again 0; "
              "1 of 2: 5-20 failed/rank 0 failed: signal 9 from /0 lost 0 again 0; ");
}

static void members_of_an_earlier_generation_run_again(void **state)
{
    struct training_row row = {.ensemble = add_ensemble(9), .ranks = 1, .generation = 2, .created_ms = 1, .adapter = "local"};
    int64_t jobs[3];

    must(store_training_insert(store, &row, &err));
    for (int i = 0; i < 3; i++)
        jobs[i] = add_job(row.ensemble, "local").id;
    for (int64_t i = 0; i < 2; i++) {
        struct attempt_row attempt = add_attempt(jobs[i], row.ensemble, i, 1);

        attempt.end.outcome = ATTEMPT_SUCCEEDED;
        attempt.end.ended_ms = 5;
        must(store_attempt_update(store, &attempt, &err));
    }
    must(store_generation_again(store, &row, 0, 2, jobs[1], &err));
    must(store_generation_again(store, &row, 1, 2, jobs[1], &err)); /* its first attempt was in that job */
    must(store_generation_again(store, &row, 1, 1, jobs[2], &err)); /* it has not run before */
    must(store_generation_again(store, &row, 1, 2, jobs[2], &err));
    must(store_generation_each(store, row.id, 0, 9, note_generation, NULL, &err));
    is_listed("2 of 1: 0-0 / from /0 lost 0 again 2; ");
}

static void a_training_is_read_as_it_was_written(void **state)
{
    struct training_row row = {.ensemble = add_ensemble(9), .ranks = 2, .generation = 3, .created_ms = 1, .adapter = "local"}, read;
    struct job_row job = {.ensemble = row.ensemble, .kind = JOB_TRAINING, .adapter = "local", .size = 1, .created_ms = 1};
    int64_t n;

    must(store_training_insert(store, &row, &err));
    assert_int_equal(store_training_get(store, row.id, &read, &err), 1);
    assert_true(read.keeps == 3 && read.wanted == 0 && read.resumed.name[0] == '\0');
    row.wanted = 4;
    snprintf(row.wanted_by, sizeof row.wanted_by, "by cron");
    row.keeps = 2;
    row.restarts = 5;
    row.failures = 6;
    row.losses = 11;
    row.not_before_ms = 7;
    row.resumed = (struct training_resumed){"g2-s8", 8, 9, 10};
    row.early = true;
    must(store_training_update(store, &row, &err));
    assert_int_equal(store_training_get(store, row.id, &read, &err), 1);
    assert_true(read.wanted == 4 && read.keeps == 2 && read.restarts == 5 && read.failures == 6 && read.losses == 11 &&
                read.not_before_ms == 7);
    assert_true(read.resumed.step == 8 && read.resumed.batches == 9 && read.resumed.drawn == 10 && read.early);
    assert_string_equal(read.resumed.name, "g2-s8");
    assert_string_equal(read.wanted_by, "by cron");
    row.wanted = 0; /* it was done: nobody asks for anything any more */
    must(store_training_update(store, &row, &err));
    assert_int_equal(store_training_get(store, row.id, &read, &err), 1);
    assert_string_equal(read.wanted_by, "");
    must(store_training_jobs(store, &row, &n, &err));
    assert_int_equal(n, 0);
    add_job(row.ensemble, "local");
    must(store_job_insert(store, 0x3f9c2a71, &job, &err));
    must(store_training_jobs(store, &row, &n, &err));
    assert_int_equal(n, 1);
    must(store_exec(store, &err, "UPDATE training SET wanted = -1", ""));
    assert_int_equal(store_training_get(store, row.id, &read, &err), -1);
    assert_string_equal(err.code, "store_damaged");
}

static int note_result(void *arg, const struct result_row *row)
{
    note("%lld: %lld.%lld %s, ", (long long)row->number, (long long)row->member.ensemble, (long long)row->member.index,
         member_state_name(row->member.state));
    return 0;
}

static struct ensemble_row suggest(void)
{
    static const struct suggestion list[] = {
        {0, "first", "{\"a\":1}", 0}, {1, NULL, "{\"a\":2}", 5}, {2, "third", "{\"a\":3}", -1}};
    struct ensemble_row row = {.name = "n", .adapter = "local", .stream_key = "0", .intake = INTAKE_OPEN, .width = 1, .created_ms = 1};

    must(store_ensemble_insert(store, &row, "{}", &err));
    must(store_suggestion_add(store, &row, list, 3, &err));
    return row;
}

static void suggestions_are_found_and_started_by_priority(void **state)
{
    struct ensemble_row row = suggest(), read;
    char name[SUGGESTION_NAME], *parameters;
    int64_t index, n[MEMBER_STATE_COUNT];

    assert_true(row.count == 3 && row.next_index == 3);
    assert_int_equal(store_ensemble_get(store, row.id, &read, &err), 1);
    assert_true(read.count == 3 && read.next_index == 3);
    must(store_tally_get(store, row.id, n, &err));
    assert_int_equal(n[MEMBER_PENDING], 3);
    must(store_member_each_due(store, row.id, 1000, 9, note_member, NULL, &err));
    is_listed("1 0 2 ");
    assert_int_equal(store_suggestion_find(store, row.id, "third", &index, &parameters, &err), 1);
    assert_int_equal(index, 2);
    assert_string_equal(parameters, "{\"a\":3}");
    free(parameters);
    assert_int_equal(store_suggestion_find(store, row.id, "fourth", &index, &parameters, &err), 0);
    assert_int_equal(store_suggestion_find(store, row.id + 1, "third", &index, &parameters, &err), 0);
    assert_int_equal(store_suggestion_parameters(store, row.id, 1, &parameters, &err), 1);
    assert_string_equal(parameters, "{\"a\":2}");
    free(parameters);
    assert_int_equal(store_suggestion_parameters(store, row.id, 3, &parameters, &err), 0);
    must(store_suggestion_name(store, row.id, 0, name, &err));
    assert_string_equal(name, "first");
    must(store_suggestion_name(store, row.id, 1, name, &err));
    assert_string_equal(name, "");
    must(store_suggestion_name(store, row.id, 7, name, &err));
    assert_string_equal(name, "");
}

/* Whatever a member has been through, it waits by its priority again as soon as it may go. */
static void a_priority_outlives_attempts_and_ensembles(void **state)
{
    struct ensemble_row row = suggest(), next = {.root = row.id, .parent = row.id, .count = 3, .width = 1, .intake = INTAKE_CLOSED};
    struct member_row member = {.ensemble = row.id, .index = 1, .attempts = 1, .not_before_ms = 90000000};
    int64_t n;

    must(store_member_change(store, &member, &err));
    must(store_suggestion_line_up(store, row.id, 89999999, &err)); /* it is not its time yet */
    must(store_member_each_due(store, row.id, 89999999, 9, note_member, NULL, &err));
    is_listed("0 2 ");
    must(store_suggestion_line_up(store, row.id, 90000000, &err));
    must(store_member_each_due(store, row.id, 90000000, 9, note_member, NULL, &err));
    is_listed("1 0 2 ");
    member = (struct member_row){.ensemble = row.id, .index = 2, .rung = 2}; /* whoever was promoted goes first */
    must(store_member_change(store, &member, &err));
    must(store_member_each_due(store, row.id, 90000000, 9, note_member, NULL, &err));
    is_listed("2 1 0 ");
    for (int64_t i = 0; i < 3; i++)
        put_member(row.id, i, MEMBER_FAILED);
    must(store_member_reset(store, row.id, MEMBER_FAILED, 0, 2, false, &err));
    must(store_suggestion_line_up(store, row.id, 90000000, &err));
    must(store_member_each_due(store, row.id, 90000000, 9, note_member, NULL, &err));
    is_listed("1 0 2 ");
    for (int64_t i = 0; i < 3; i++)
        put_member(row.id, i, MEMBER_FAILED);
    must(store_ensemble_insert(store, &next, "{}", &err));
    must(store_handover_add(store, &next, MEMBER_FAILED, &err));
    must(store_handover_take(store, next.id, 9, &n, NULL, &err));
    must(store_suggestion_line_up(store, next.id, 90000000, &err));
    must(store_member_each_due(store, next.id, 90000000, 9, note_member, NULL, &err));
    is_listed("1 0 2 ");
}

/* A result that is not the last one gets a new number: who reads on from a number misses nothing. */
static void results_come_in_the_order_of_their_ends(void **state)
{
    struct ensemble_row row = suggest();
    int64_t all_known = add_ensemble(9);

    put_member(row.id, 2, MEMBER_SUCCEEDED);
    put_member(all_known, 0, MEMBER_PENDING);
    put_member(all_known, 0, MEMBER_SUCCEEDED); /* whose ends nobody reads on from */
    put_member(row.id, 0, MEMBER_FAILED);
    put_member(row.id, 1, MEMBER_RUNNING);
    must(store_result_each(store, row.id, 0, 9, note_result, NULL, &err));
    is_listed("1: 1.2 succeeded, 2: 1.0 failed, ");
    must(store_result_each(store, row.id, 1, 9, note_result, NULL, &err));
    is_listed("2: 1.0 failed, ");
    must(store_result_each(store, row.id, 0, 1, note_result, NULL, &err));
    is_listed("1: 1.2 succeeded, ");
    put_member(row.id, 2, MEMBER_PENDING);
    must(store_result_each(store, row.id, 0, 9, note_result, NULL, &err));
    is_listed("2: 1.0 failed, ");
    put_member(row.id, 1, MEMBER_STOPPED);
    put_member(row.id, 2, MEMBER_CANCELLED);
    must(store_result_each(store, row.id, 2, 9, note_result, NULL, &err));
    is_listed("3: 1.1 stopped, 4: 1.2 cancelled, ");
    must(store_result_each(store, all_known, 0, 9, note_result, NULL, &err));
    is_listed("");
}

static struct arrival_row arrive(int64_t ensemble, int64_t index, int64_t rung, double value)
{
    struct arrival_row row = {.ensemble = ensemble, .rung = rung, .index = index, .attempt = 10 + rung, .step = 100 * rung, .value = value,
                              .loss = isfinite(value) ? -value : INFINITY};

    assert_int_equal(store_arrival_add(store, &row, 2, &err), 1);
    return row;
}

static int note_arrival(void *arg, const struct arrival_row *row)
{
    note("%lld: %lld@%lld by %lld; ", (long long)row->number, (long long)row->index, (long long)row->rung,
         (long long)row->promoted);
    return 0;
}

static void a_member_climbs_rung_by_rung(void **state)
{
    int64_t id = add_ensemble(9), other = add_ensemble(9), job, rung;
    struct arrival_row one, two, read;
    struct attempt_row attempt = {.ensemble = id, .index = 1, .number = 1, .submitted_ms = 1, .rung = 2};
    struct rung_row row;

    assert_int_equal(store_arrival_last(store, id, 0, &read, &err), 0);
    must(store_arrival_next_rung(store, id, 0, &rung, &err));
    assert_int_equal(rung, 1);
    arrive(other, 0, 1, 9);
    arrive(other, 1, 1, 9);
    one = arrive(id, 0, 1, 3);
    assert_int_equal(store_arrival_is_good(store, &one, &err), 0); /* too few have arrived */
    two = arrive(id, 1, 1, 4);
    assert_int_equal(two.number, 2);
    assert_int_equal(store_arrival_is_good(store, &one, &err), 0);
    assert_int_equal(store_arrival_is_good(store, &two, &err), 1);
    must(store_arrival_promote(store, &two, 2, &err));
    must(store_arrival_promote(store, &two, 7, &err)); /* it was already */
    must(store_arrival_next_rung(store, id, 1, &rung, &err));
    assert_int_equal(rung, 2);
    must(store_arrival_next_rung(store, id, 0, &rung, &err));
    assert_int_equal(rung, 1);
    arrive(id, 1, 2, NAN);
    assert_int_equal(store_arrival_last(store, id, 1, &read, &err), 1);
    assert_true(read.rung == 2 && read.index == 1 && read.attempt == 12 && read.step == 200 && isnan(read.value) &&
                isinf(read.loss));
    assert_int_equal(store_arrival_last(store, id, 0, &read, &err), 1);
    assert_true(read.rung == 1 && read.value == 3 && read.loss == -3 && read.number == 1);
    must(store_arrival_each(store, id, 0, 2, note_arrival, NULL, &err));
    is_listed("1: 0@1 by 0; 2: 1@1 by 2; ");
    must(store_arrival_each(store, id, 2, 9, note_arrival, NULL, &err));
    is_listed("3: 1@2 by 0; ");
    job = add_job(id, "local").id;
    attempt.job = job;
    put_member(id, 1, MEMBER_RUNNING);
    must(store_attempt_insert(store, &attempt, &err));
    must(store_rung_get(store, id, 1, &row, &err));
    assert_true(row.arrived == 2 && row.promoted == 1 && row.under_way == 0 && row.best.index == 1 &&
                row.best.value == 4);
    must(store_rung_get(store, id, 2, &row, &err));
    assert_true(row.arrived == 1 && row.promoted == 0 && row.under_way == 1);
    must(store_rung_get(store, id, 3, &row, &err));
    assert_true(row.arrived == 0 && row.promoted == 0 && row.under_way == 0);
    put_member(id, 0, MEMBER_STOPPED); /* and a user resubmits it */
    put_member(id, 0, MEMBER_PENDING);
    must(store_arrival_next_rung(store, id, 0, &rung, &err));
    assert_int_equal(rung, 2);
    must(store_arrival_each(store, id, 0, 1, note_arrival, NULL, &err));
    is_listed("1: 0@1 by -1; ");
}

/* What follows from a change of one member follows from a change of many, in the order of their indices. */
static void results_and_rungs_follow_changes_of_many(void **state)
{
    struct ensemble_row row = suggest();
    int64_t id = add_ensemble(9);

    put_member(row.id, 0, MEMBER_FAILED);
    must(store_member_cancel(store, row.id, 0, 9, &err));
    must(store_result_each(store, row.id, 0, 9, note_result, NULL, &err));
    is_listed("1: 1.0 failed, 2: 1.1 cancelled, 3: 1.2 cancelled, ");
    must(store_cancellation_put(store, row.id, 0, 1, &err));
    must(store_member_reset(store, row.id, MEMBER_FAILED, 0, 9, false, &err));
    must(store_result_each(store, row.id, 1, 9, note_result, NULL, &err));
    is_listed("2: 1.1 cancelled, 3: 1.2 cancelled, 4: 1.0 cancelled, ");
    for (int64_t i = 0; i < 3; i++) {
        arrive(id, i, 1, 3);
        put_member(id, i, i == 2 ? MEMBER_SUCCEEDED : MEMBER_STOPPED);
    }
    must(store_cancellation_put(store, id, 1, 1, &err));
    must(store_member_reset(store, id, MEMBER_STOPPED, 0, 9, false, &err));
    must(store_member_reset(store, id, MEMBER_SUCCEEDED, 0, 9, false, &err));
    must(store_arrival_each(store, id, 0, 9, note_arrival, NULL, &err));
    is_listed("1: 0@1 by -1; 2: 1@1 by -2; 3: 2@1 by 0; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_ensemble_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(ids_of_ensembles_are_skipped, open_store, close_store),
        cmocka_unit_test_setup_teardown(members_without_a_row_are_cancelled_and_restored, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_family_is_open_as_long_as_members_run, open_store, close_store),
        cmocka_unit_test_setup_teardown(an_adapter_is_known_by_its_ensembles_and_trainings, open_store, close_store),
        cmocka_unit_test_setup_teardown(members_are_listed_by_state_and_range, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_member_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(what_an_elastic_ensemble_did_last_is_kept, open_store, close_store),
        cmocka_unit_test_setup_teardown(generations_have_their_own_ends, open_store, close_store),
        cmocka_unit_test_setup_teardown(members_of_an_earlier_generation_run_again, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_training_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(suggestions_are_found_and_started_by_priority, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_priority_outlives_attempts_and_ensembles, open_store, close_store),
        cmocka_unit_test_setup_teardown(results_come_in_the_order_of_their_ends, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_member_climbs_rung_by_rung, open_store, close_store),
        cmocka_unit_test_setup_teardown(results_and_rungs_follow_changes_of_many, open_store, close_store),
        cmocka_unit_test_setup_teardown(bulk_operations_are_done_one_by_one, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_cancellation_goes_on_where_it_was, open_store, close_store),
        cmocka_unit_test_setup_teardown(sessions_and_tokens_are_listed_newest_first, open_store, close_store),
        cmocka_unit_test_setup_teardown(the_bounds_of_a_series_are_in_the_range, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

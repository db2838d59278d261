/* Rows about the output of attempts: in which archive it is, artefacts, and members by host and by cause. */
#include "daemon/store/archived.h"
#include "daemon/store/artefact.h"
#include "daemon/store/cause.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t add_ended_job(int64_t ensemble, int64_t ended_ms)
{
    struct job_row job = add_job(ensemble, "local");

    job.state = JOB_ENDED;
    job.ended_ms = ended_ms;
    must(store_job_update(store, &job, &err));
    return job.id;
}

static void put_member(int64_t ensemble, int64_t index, int64_t attempts, enum member_state state)
{
    must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = index, .attempts = attempts, .state = state}, &err));
}

static struct attempt_row add_ended(int64_t job, int64_t ensemble, int64_t index, int64_t number,
                                    enum attempt_outcome outcome)
{
    struct attempt_row row = add_attempt(job, ensemble, index, number);

    row.end.outcome = outcome;
    row.end.ended_ms = 9;
    must(store_attempt_update(store, &row, &err));
    put_member(ensemble, index, number, outcome == ATTEMPT_SUCCEEDED ? MEMBER_SUCCEEDED : MEMBER_FAILED);
    return row;
}

static int due(int64_t before_ms, int64_t keep, int64_t *ensemble, bool *crowded)
{
    int rc = store_archive_due(store, before_ms, keep, ensemble, crowded, &err);

    must(rc);
    return rc;
}

static void the_job_that_ended_first_is_archived_first(void **state)
{
    int64_t one = add_ensemble(9), other = add_ensemble(9), found, first;
    struct job_row training = {.ensemble = one, .kind = JOB_TRAINING, .adapter = "local", .size = 1, .created_ms = 1};
    bool crowded;

    add_ended_job(other, 50);
    first = add_ended_job(one, 40);
    add_job(other, "local");
    must(store_job_insert(store, 0x3f9c2a71, &training, &err));
    training.state = JOB_ENDED;
    training.ended_ms = 10;
    must(store_job_update(store, &training, &err));
    assert_int_equal(due(39, 9, &found, &crowded), 0);
    assert_int_equal(due(40, 9, &found, &crowded), 1);
    assert_true(found == one && !crowded);
    assert_int_equal(due(0, 2, &found, &crowded), 0); /* as many as may wait */
    assert_int_equal(due(0, 1, &found, &crowded), 1);
    assert_true(found == one && crowded);
    must(store_archive_job(store, first, &err));
    assert_int_equal(due(49, 9, &found, &crowded), 0);
    assert_int_equal(due(50, 9, &found, &crowded), 1);
    assert_int_equal(found, other);
}

static int note_unarchived(void *arg, const struct unarchived *row)
{
    note("%lld:%lld.%lld/%lld ", (long long)row->job, (long long)row->index, (long long)row->number,
         (long long)row->kind);
    if (row->archive != 0)
        note("in %lld at %lld ", (long long)row->archive, (long long)row->at);
    return 0;
}

static void attempts_are_archived_job_by_job(void **state)
{
    int64_t id = add_ensemble(9), late = add_ended_job(id, 30), first = add_ended_job(id, 10),
            empty = add_ended_job(id, 20);

    add_ended(late, id, 0, 1, ATTEMPT_SUCCEEDED);
    add_ended(first, id, 4, 1, ATTEMPT_FAILED);
    add_ended(first, id, 3, 1, ATTEMPT_SUCCEEDED);
    add_attempt(first, id, 5, 1); /* its end is not known yet */
    add_ended(first, id, 6, 1, ATTEMPT_SUCCEEDED);
    must(store_exec(store, &err, "UPDATE attempt SET released = 5 WHERE idx = 6", ""));
    must(store_archive_each(store, id, 30, 2, note_unarchived, NULL, &err));
    is_listed("2:3.1/1 2:4.1/0 3:-1.0/0 ");
    must(store_archive_each(store, id, 19, 9, note_unarchived, NULL, &err));
    is_listed("2:3.1/1 2:4.1/0 ");
    must(store_archive_each(store, id + 1, 99, 9, note_unarchived, NULL, &err));
    is_listed("");
    must(store_archive_job(store, first, &err));
    must(store_archive_each(store, id, 30, 9, note_unarchived, NULL, &err));
    is_listed("1:0.1/1 3:-1.0/0 ");
    assert_int_equal(empty, 3);
}

static void an_attempt_is_found_in_its_archive(void **state)
{
    int64_t id = add_ensemble(9), job = add_ended_job(id, 10);
    struct unarchived row = {.index = 4, .number = 2, .archive = 3, .kind = 1, .at = 77};
    struct attempt_row read;

    add_ended(job, id, 4, 1, ATTEMPT_FAILED);
    add_ended(job, id, 4, 2, ATTEMPT_FAILED);
    must(store_archive_put(store, id, &row, &err));
    must(store_attempt_get(store, id, 4, 2, &read, &err));
    assert_true(read.archive == 3 && read.archive_kind == 1 && read.archive_at == 77);
    must(store_attempt_get(store, id, 4, 1, &read, &err));
    assert_true(read.archive == 0);
    must(store_archive_each_of(store, job, note_unarchived, NULL, &err));
    is_listed("1:4.1/0 1:4.2/1 in 3 at 77 ");
    row.archive = 0; /* it is in files of its own again */
    must(store_archive_put(store, id, &row, &err));
    must(store_archive_each_of(store, job, note_unarchived, NULL, &err));
    is_listed("1:4.1/0 1:4.2/1 ");
}

static void only_what_goes_on_no_more_is_archived_whole(void **state)
{
    static const enum member_state over[] = {MEMBER_SUCCEEDED, MEMBER_FAILED, MEMBER_UNFINISHED, MEMBER_CANCELLED,
                                             MEMBER_STOPPED};
    static const enum member_state goes_on[] = {MEMBER_PENDING, MEMBER_SUBMITTED, MEMBER_RUNNING};
    int64_t id = add_ensemble(9);

    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        put_member(id, 0, 2, over[i]);
        assert_int_equal(store_archive_is_last(store, id, 0, 2, &err), 1);
        assert_int_equal(store_archive_is_last(store, id, 0, 1, &err), 0);
    }
    for (size_t i = 0; i < sizeof goes_on / sizeof *goes_on; i++) {
        put_member(id, 0, 2, goes_on[i]);
        assert_int_equal(store_archive_is_last(store, id, 0, 2, &err), 0);
    }
    put_member(id, 0, 2, MEMBER_UNFINISHED);
    must(store_exec(store, &err, "UPDATE member SET successor = 99", ""));
    assert_int_equal(store_archive_is_last(store, id, 0, 2, &err), 0);
    assert_int_equal(store_archive_is_last(store, id, 1, 1, &err), 0);
}

static void archive_is(int64_t ensemble, int kind, int64_t number, int64_t size)
{
    int64_t n, bytes;

    must(store_archive_file(store, ensemble, kind, &n, &bytes, &err));
    assert_int_equal(n, number);
    assert_int_equal(bytes, size);
}

static void each_kind_has_its_archive(void **state)
{
    int64_t id = add_ensemble(9), other = add_ensemble(9), found;
    char *jobs;

    archive_is(id, 1, 0, 0);
    must(store_archive_file_put(store, id, 1, 3, 100, &err));
    must(store_archive_file_put(store, id, 0, 5, 7, &err));
    archive_is(id, 1, 3, 100);
    archive_is(id, 0, 5, 7);
    archive_is(other, 0, 0, 0);
    must(store_archive_file_put(store, id, 1, 4, 10, &err)); /* the next file */
    archive_is(id, 1, 4, 10);
    archive_is(id, 0, 5, 7);

    assert_int_equal(store_archiving_get(store, &found, &jobs, &err), 0);
    must(store_archiving_put(store, id, "[1]", &err));
    must(store_archiving_put(store, other, "[2, -3]", &err));
    assert_int_equal(store_archiving_get(store, &found, &jobs, &err), 1);
    assert_int_equal(found, other);
    assert_string_equal(jobs, "[2, -3]");
    free(jobs);
    must(store_archiving_drop(store, &err));
    assert_int_equal(store_archiving_get(store, &found, &jobs, &err), 0);
}

static int note_artefact(void *arg, const struct artefact_row *row)
{
    note("%lld.%lld#%lld %s %lld %c; ", (long long)row->ensemble, (long long)row->index, (long long)row->attempt,
         row->path, (long long)row->size, row->sha256[0]);
    assert_int_equal(strlen(row->sha256), 64);
    return 0;
}

static void put_artefact(int64_t ensemble, int64_t index, const char *path, int64_t size, char digit, int64_t attempt)
{
    struct artefact_row row = {.ensemble = ensemble, .index = index, .size = size, .attempt = attempt};

    snprintf(row.path, sizeof row.path, "%s", path);
    memset(row.sha256, digit, 64);
    must(store_artefact_put(store, &row, &err));
}

static void a_member_has_the_artefacts_of_its_last_success(void **state)
{
    int64_t id = add_ensemble(9), other = add_ensemble(9);

    put_artefact(id, 3, "b.h5", 7, 'a', 1);
    put_artefact(id, 3, "a/c", INT64_C(5) << 32, 'b', 1);
    put_artefact(id, 4, "b.h5", 1, 'c', 2);
    put_artefact(other, 3, "b.h5", 2, 'd', 3);
    put_artefact(id, 3, "b.h5", 8, 'e', 2);
    must(store_artefact_each(store, id, 3, note_artefact, NULL, &err));
    is_listed("1.3#1 a/c 21474836480 b; 1.3#2 b.h5 8 e; ");
    must(store_artefact_clear(store, id, 3, &err));
    must(store_artefact_each(store, id, 3, note_artefact, NULL, &err));
    is_listed("");
    must(store_artefact_each(store, id, 4, note_artefact, NULL, &err));
    must(store_artefact_each(store, other, 3, note_artefact, NULL, &err));
    is_listed("1.4#2 b.h5 1 c; 2.3#3 b.h5 2 d; ");
}

static int note_index(void *arg, const int64_t *index)
{
    note("%lld ", (long long)*index);
    return 0;
}

static void ends_on(int64_t job, int64_t ensemble, int64_t index, int64_t number, const char *host,
                    enum attempt_outcome outcome, const char *reason)
{
    struct attempt_row row = add_ended(job, ensemble, index, number, outcome);

    snprintf(row.end.host, sizeof row.end.host, "%s", host);
    snprintf(row.end.reason, sizeof row.end.reason, "%s", reason);
    must(store_attempt_update(store, &row, &err));
}

static void members_are_found_by_host_and_by_cause(void **state)
{
    int64_t id = add_ensemble(9), job = add_ended_job(id, 9);

    ends_on(job, id, 0, 1, "a", ATTEMPT_FAILED, "exit status 2 in /tmp/1");
    ends_on(job, id, 0, 2, "b", ATTEMPT_FAILED, "exit status 2 in /tmp/2");
    ends_on(job, id, 1, 1, "a", ATTEMPT_SUCCEEDED, "exit status 2 in /tmp/3");
    ends_on(job, id, 2, 1, "a", ATTEMPT_CANCELLED, "exit status 2 in /tmp/3");
    ends_on(job, id, 3, 1, "a", ATTEMPT_TIMEOUT, "exit status 2 in /tmp/4");
    ends_on(job, id, 4, 1, "b", ATTEMPT_DIVERGED, "exit status 2 in /tmp/5");
    ends_on(job, id, 5, 1, "b", ATTEMPT_LOST, "exit status 2 in /tmp/6");
    ends_on(job, id, 6, 1, "a", ATTEMPT_FAILED, "exit status 3 in /tmp/7");
    ends_on(job, id, 7, 1, "a", ATTEMPT_REACHED, "exit status 2 in /tmp/7");
    must(store_attempt_each_on_host(store, id, 0, 9, "a", note_index, NULL, &err));
    is_listed("1 2 3 6 7 ");
    must(store_attempt_each_on_host(store, id, 2, 6, "a", note_index, NULL, &err));
    is_listed("2 3 ");
    must(store_attempt_each_by_cause(store, id, 0, 9, "exit status 2 in /…", note_index, NULL, &err));
    is_listed("0 3 4 5 ");
    must(store_attempt_each_by_cause(store, id, 3, 5, "exit status 2 in /…", note_index, NULL, &err));
    is_listed("3 4 ");
}

static void a_cause_leaves_out_what_differs(void **state)
{
    static const char *const all[][2] = {
        {"exit status 2", "exit status 2"}, {"exit status 137", "exit status 137"}, {"exit status 1234", "exit status #"}, {"ended by signal 9 (killed)", "ended by signal 9 (killed)"},
        {"signal 9a", "signal #"}, {"step 17 of 200", "step # of #"}, {"node7 failed", "# failed"}, {"loss was 0.5, x", "loss was #.#, x"},
        {"cannot open /a/b-1.txt: no such file", "cannot open /…: no such file"}, {"see /a/b.", "see /…."}, {"a/b and /", "a/b and /"},
        {"(/tmp/x)=/tmp/y", "(/…)=/…"}, {"status", "status"}, {"état 5", "état #"}, {"", "no reason is known"},
    };
    char text[CAUSE_SIZE], longest[512];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cause_text(all[i][0], text, sizeof text);
        assert_string_equal(text, all[i][1]);
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cause_text(longest, text, sizeof text);
    assert_in_range(strlen(text), CAUSE_SIZE - 9, CAUSE_SIZE - 1);
    for (int i = 0; i < 511; i++)
        longest[i] = i % 4 == 0 ? '/' : i % 4 == 1 ? 'x' : i % 4 == 2 ? ' ' : '7';
    cause_text(longest, text, sizeof text);
    assert_in_range(strlen(text), CAUSE_SIZE - 12, CAUSE_SIZE - 1);
}

static void members_that_diverged_are_counted_once(void **state)
{
    int64_t id = add_ensemble(9), job = add_ended_job(id, 9), n;

    for (int64_t number = 1; number <= 3; number++)
        for (int64_t index = 0; index < 2; index++) {
            struct attempt_row row = add_ended(job, id, index, number, number == 3 ? ATTEMPT_FAILED : ATTEMPT_DIVERGED);

            snprintf(row.end.reason, sizeof row.end.reason, "loss was NaN");
            must(store_attempt_update(store, &row, &err));
            must(store_cause_count(store, &row, &err));
        }
    must(store_cause_diverged(store, id, &n, &err));
    assert_int_equal(n, 2);
    must(store_cause_diverged(store, id + 1, &n, &err));
    assert_int_equal(n, 0);
}

static int note_attempt(void *arg, const struct attempt_row *row)
{
    note("%lld.%lld ", (long long)row->index, (long long)row->number);
    return 0;
}

static void attempts_of_some_members_are_listed(void **state)
{
    int64_t id = add_ensemble(9), other = add_ensemble(9), job = add_ended_job(id, 9);
    struct attempt_row row, read;

    add_ended(job, other, 2, 1, ATTEMPT_FAILED);
    for (int64_t number = 1; number <= 2; number++)
        for (int64_t index = 4; index >= 1; index--)
            add_ended(job, id, index, number, ATTEMPT_FAILED);
    must(store_attempt_each_in(store, id, 2, 4, note_attempt, NULL, &err));
    is_listed("2.1 2.2 3.1 3.2 ");
    row = add_attempt(job, id, 8, 1);
    assert_int_equal(store_attempt_get(store, id, 8, 1, &read, &err), 1);
    assert_int_equal(read.rung, 0);
    row = (struct attempt_row){.ensemble = id, .index = 2, .number = 3, .job = job, .submitted_ms = 1, .rung = 4};
    must(store_attempt_insert(store, &row, &err));
    row.end.outcome = ATTEMPT_REACHED;
    row.end.ended_ms = 9;
    snprintf(row.end.notice, sizeof row.end.notice, "notice");
    must(store_attempt_update(store, &row, &err));
    assert_int_equal(store_attempt_get(store, id, 2, 3, &read, &err), 1);
    assert_true(read.rung == 4 && read.end.outcome == ATTEMPT_REACHED);
    assert_string_equal(read.end.notice, "notice");
    assert_int_equal(store_attempt_get(store, id, 2, 4, &read, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_job_that_ended_first_is_archived_first, open_store, close_store),
        cmocka_unit_test_setup_teardown(attempts_are_archived_job_by_job, open_store, close_store),
        cmocka_unit_test_setup_teardown(an_attempt_is_found_in_its_archive, open_store, close_store),
        cmocka_unit_test_setup_teardown(only_what_goes_on_no_more_is_archived_whole, open_store, close_store),
        cmocka_unit_test_setup_teardown(each_kind_has_its_archive, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_member_has_the_artefacts_of_its_last_success, open_store, close_store),
        cmocka_unit_test_setup_teardown(members_are_found_by_host_and_by_cause, open_store, close_store),
        cmocka_unit_test(a_cause_leaves_out_what_differs),
        cmocka_unit_test_setup_teardown(members_that_diverged_are_counted_once, open_store, close_store),
        cmocka_unit_test_setup_teardown(attempts_of_some_members_are_listed, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

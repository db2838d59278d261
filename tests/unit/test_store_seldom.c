/* What is seldom asked of the store: changes of one column, what is changed and counted in one transaction, a disk
 * without room, backups that are given up. */
#include "common/log.h"
#include "daemon/store/backup.h"
#include "daemon/store/bulk.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "daemon/store/retain.h"
#include "daemon/store/rung.h"
#include "daemon/store/series.h"
#include "daemon/store/session.h"
#include "daemon/store/suggestion.h"
#include "daemon/store/training.h"
#include "daemon/store/training_checkpoint.h"
#include "tests/unit/open_store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static bool disk_is_full; /* for blocks of files; what they have stays theirs */

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    if (disk_is_full) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, offset, size);
}

static const char *state_dir(void)
{
    static char dir[256];

    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(store->path, '/') - store->path), store->path);
    return dir;
}

static struct member_row member_of(int64_t ensemble, int64_t index)
{
    struct member_row row;

    assert_int_equal(store_member_get(store, ensemble, index, &row, &err), 1);
    return row;
}

static void the_rung_of_an_attempt_is_changed_alone(void **state)
{
    int64_t id = add_ensemble(9), job = add_job(id, "local").id;
    struct attempt_row row;

    for (int64_t i = 0; i < 4; i++) {
        row = add_attempt(job, id, i / 2, 1 + i % 2);
        row.end.outcome = ATTEMPT_FAILED;
        row.end.ended_ms = 2;
        must(store_attempt_update(store, &row, &err));
    }
    must(store_attempt_rung(store, id, 1, 2, 5, &err));
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(store_attempt_get(store, id, i / 2, 1 + i % 2, &row, &err), 1);
        assert_int_equal(row.rung, i == 3 ? 5 : 0);
    }
    must(store_attempt_rung(store, id, 1, 2, 0, &err));
    assert_int_equal(store_attempt_get(store, id, 1, 2, &row, &err), 1);
    assert_int_equal(row.rung, 0);
}

static void what_was_decided_about_an_arrival_is_kept(void **state)
{
    int64_t id = add_ensemble(9), rung;
    struct arrival_row row = {.ensemble = id, .rung = 1, .attempt = 1, .step = 10, .value = 3, .loss = 3, .best = NAN, .threshold = NAN}, read;

    must(store_rung_highest(store, id, &rung, &err));
    assert_int_equal(rung, 0);
    for (row.index = 0; row.index < 2; row.index++)
        assert_int_equal(store_arrival_add(store, &row, 2, &err), 1);
    row.index = 1;
    row.rung = 3;
    assert_int_equal(store_arrival_add(store, &row, 2, &err), 1);
    assert_int_equal(store_arrival_add(store, &row, 2, &err), 0);
    must(store_rung_highest(store, id, &rung, &err));
    assert_int_equal(rung, 3);
    must(store_rung_highest(store, add_ensemble(1), &rung, &err));
    assert_int_equal(rung, 0);
    row.number = 3;
    row.promoted = 3;
    row.threshold = 2.5;
    row.best = 1.5;
    must(store_arrival_decide(store, &row, &err));
    assert_int_equal(store_arrival_last(store, id, 1, &read, &err), 1);
    assert_true(read.promoted == 3 && read.threshold == 2.5 && read.best == 1.5);
    assert_int_equal(store_arrival_last(store, id, 0, &read, &err), 1);
    assert_true(read.promoted == 0 && isnan(read.threshold) && isnan(read.best));
    row.threshold = INFINITY; /* such as the loss of a median that is none */
    must(store_arrival_decide(store, &row, &err));
    assert_int_equal(store_arrival_last(store, id, 1, &read, &err), 1);
    assert_true(isnan(read.threshold) && read.best == 1.5);
}

/* Where the clock was set back, nobody waits for the time that it told before. */
static void waits_are_cut_where_the_clock_was_set_back(void **state)
{
    enum { NOW = 1000, AT_MOST = 2000 };
    static const struct {
        enum member_state state;
        int64_t ended, not_before, then;
    } cases[] = {
        {MEMBER_PENDING, 5000, 6000, AT_MOST}, {MEMBER_PENDING, 5000, AT_MOST, AT_MOST}, {MEMBER_PENDING, 5000, 1500, 1500},
        {MEMBER_PENDING, NOW, 6000, 6000},     {MEMBER_FAILED, 5000, 6000, 6000},
    };
    int64_t ids[2] = {add_ensemble(9), add_ensemble(9)}, due;

    for (int k = 0; k < 2; k++) {
        int64_t job = add_job(ids[k], "local").id;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct attempt_row attempt = add_attempt(job, ids[k], (int64_t)i, 1);

            attempt.end.outcome = ATTEMPT_FAILED;
            attempt.end.ended_ms = cases[i].ended;
            must(store_attempt_update(store, &attempt, &err));
            must(store_member_put(store, &(struct member_row){.ensemble = ids[k], .index = (int64_t)i, .attempts = 1, .state = cases[i].state,
                                                              .not_before_ms = cases[i].not_before}, &err));
        }
    }
    must(store_member_wait_at_most(store, ids[1], NOW, AT_MOST, &err));
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            assert_int_equal(member_of(ids[k], (int64_t)i).not_before_ms, k == 1 ? cases[i].then : cases[i].not_before);
    must(store_member_next_due(store, ids[1], &due, &err));
    assert_int_equal(due, 1500);
    must(store_member_next_due(store, add_ensemble(3), &due, &err));
    assert_true(due == INT64_MAX);
}

static void checkpoints_of_a_training_are_damaged_and_dropped(void **state)
{
    struct training_row training[2];
    struct training_checkpoint_row row, read;

    for (int k = 0; k < 2; k++) {
        training[k] = (struct training_row){.ensemble = add_ensemble(9), .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};
        must(store_training_insert(store, &training[k], &err));
        for (int i = 0; i < 4; i++) {
            row = (struct training_checkpoint_row){.training = training[k].id, .generation = 1, .ranks = 1, .digest = "00"};
            snprintf(row.name, sizeof row.name, "s%d", i);
            must(store_training_checkpoint_add(store, &row, (const unsigned char *)"\x01\xff", 2, &err));
        }
    }
    must(store_training_checkpoint_damaged(store, training[0].id, 4, &err));
    assert_int_equal(store_training_checkpoint_newest(store, training[0].id, &read, &err), 1);
    assert_int_equal(read.number, 3);
    must(store_training_checkpoint_drop_after(store, training[0].id, 2, &err));
    assert_int_equal(store_training_checkpoint_newest(store, training[0].id, &read, &err), 1);
    assert_int_equal(read.number, 2);
    must(store_training_checkpoint_drop_after(store, training[0].id, 0, &err));
    assert_int_equal(store_training_checkpoint_newest(store, training[0].id, &read, &err), 0);
    assert_int_equal(store_training_checkpoint_newest(store, training[1].id, &read, &err), 1);
    assert_true(read.number == 4 && !read.damaged);
}

static void tally_is(int64_t ensemble, int64_t pending, int64_t running, int64_t cancelled)
{
    int64_t n[MEMBER_STATE_COUNT];

    must(store_tally_get(store, ensemble, n, &err));
    assert_int_equal(n[MEMBER_PENDING], pending);
    assert_int_equal(n[MEMBER_RUNNING], running);
    assert_int_equal(n[MEMBER_CANCELLED], cancelled);
}

/* Members that moved in the same transaction count where they are now. */
static void members_without_a_row_are_counted_with_the_others(void **state)
{
    int64_t id = add_ensemble(10), other = add_ensemble(5);
    struct ensemble_row row;

    must(store_commit(store, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = id, .index = 0, .state = MEMBER_RUNNING, .attempts = 1}, &err));
    must(store_ensemble_cancel_untried(store, id, &err));
    tally_is(id, 0, 1, 9);
    must(store_commit(store, &err));
    assert_int_equal(store_ensemble_get(store, id, &row, &err), 1);
    row.next_index = 1;
    must(store_ensemble_update(store, &row, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = id, .index = 0, .state = MEMBER_CANCELLED, .attempts = 1}, &err));
    must(store_ensemble_restore_untried(store, id, &err));
    tally_is(id, 9, 0, 1);
    tally_is(other, 5, 0, 0);
}

/* All that may change of an ensemble. */
static void an_ensemble_is_read_as_it_was_changed(void **state)
{
    int64_t first = add_ensemble(3), id = add_ensemble(3);
    struct ensemble_row row, read;

    assert_int_equal(store_ensemble_get(store, id, &row, &err), 1);
    row.after = first;
    row.width = 7;
    row.next_index = 2;
    row.paused_ms = 44;
    snprintf(row.paused_by, sizeof row.paused_by, "by token 3");
    snprintf(row.reason, sizeof row.reason, "reason");
    must(store_ensemble_update(store, &row, &err));
    assert_int_equal(store_ensemble_get(store, id, &read, &err), 1);
    assert_true(read.after == first && read.width == 7 && read.next_index == 2 && read.paused_ms == 44);
    assert_string_equal(read.paused_by, "by token 3");
    assert_string_equal(read.reason, "reason");
    assert_int_equal(store_ensemble_get(store, first, &read, &err), 1);
    assert_true(read.width == 1 && read.ended_ms == 0);
    for (enum ensemble_state s = 0; s < ENSEMBLE_STATE_COUNT; s++) {
        row.state = s;
        row.ended_ms = s >= ENSEMBLE_COMPLETE ? 55 : 0;
        must(store_ensemble_update(store, &row, &err));
        assert_int_equal(store_ensemble_get(store, id, &read, &err), 1);
        assert_true(read.state == s && read.ended_ms == row.ended_ms);
        assert_true(ensemble_state_name(s) != NULL && ensemble_is_over(&read) == (s >= ENSEMBLE_COMPLETE));
        assert_int_equal(ensemble_is_ending(&read), s == ENSEMBLE_RUNNING);
    }
    read.reason[0] = '\0';
    read.state = ENSEMBLE_RUNNING;
    assert_false(ensemble_is_ending(&read));
    assert_int_equal(ensemble_root(&read), id);
    read.root = first;
    assert_int_equal(ensemble_root(&read), first);
}

static void every_state_of_a_training_is_kept(void **state)
{
    struct training_row row = {.ensemble = add_ensemble(1), .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"}, read;
    struct rank_row sum, rank = {.generation = 1, .state = RANK_DONE, .skipped = 5};

    must(store_training_insert(store, &row, &err));
    for (row.state = TRAINING_PENDING; row.state <= TRAINING_CANCELLED; row.state++) {
        must(store_training_update(store, &row, &err));
        assert_int_equal(store_training_get(store, row.id, &read, &err), 1);
        assert_int_equal(read.state, row.state);
        assert_int_equal(read.ensemble, row.ensemble);
        assert_non_null(training_state_name(row.state));
    }
    rank.training = row.id;
    must(store_rank_put(store, &rank, &err));
    must(store_rank_sum(store, &row, &sum, &err));
    assert_true(sum.state == RANK_DONE && sum.skipped == 5 && sum.training == row.id &&
                sum.generation == 1);
}

static int note_released(void *arg, const struct released *attempt)
{
    note("%d%s%s ", (int)attempt->index, attempt->goes_on ? "+" : "", attempt->job_name[0] ? "j" : "");
    return 0;
}

/* Whoever goes on in a follow-up uses the directory; a job's files go with its last attempt. */
static void output_of_who_goes_on_is_told(void **state)
{
    struct ensemble_row row = {.name = "y", .adapter = "local", .stream_key = "0", .count = 4, .width = 1, .created_ms = 1};
    int64_t id = add_ensemble(4), job = add_job(id, "local").id, next;
    struct attempt_row attempt;

    row.root = row.parent = id;
    must(store_ensemble_insert(store, &row, "{}", &err));
    for (int64_t i = 0; i < 4; i++) {
        attempt = add_attempt(job, id, i, 1);
        attempt.end.outcome = ATTEMPT_FAILED;
        attempt.end.ended_ms = 2;
        must(store_attempt_update(store, &attempt, &err));
        must(store_member_put(store, &(struct member_row){.ensemble = id, .index = i, .attempts = 1, .state = MEMBER_FAILED}, &err));
    }
    must(store_exec(store, &err, "UPDATE member SET successor = ?1 WHERE idx = 1", "i", row.id));
    must(store_sweep_mark(store, RETAIN_NONE, id, 0, 2, 7, note_released, NULL, &next, &err));
    is_listed("0 1+ ");
    assert_int_equal(next, 2);
    must(store_sweep_mark(store, RETAIN_NONE, id, next, 2, 7, note_released, NULL, &next, &err));
    is_listed("2j 3j ");
    assert_int_equal(next, -1);
}

static int note_session(void *arg, const struct session_row *row)
{
    note("%.2s%.2s%.1s ", row->hash, row->hash + 62, row->path);
    return 0;
}

static void a_session_is_read_as_it_was_written(void **state)
{
    struct session_row row = {.role = TOKEN_READER, .path = "/p", .created_ms = 1, .expires_ms = 100}, read;

    for (char c = 'a'; c <= 'b'; c++) {
        memset(row.hash, c, 64);
        row.hash[63] = 'f';
        must(store_session_insert(store, &row, &err));
    }
    must(store_session_each(store, INT64_MAX, 9, 50, note_session, NULL, &err));
    is_listed("bbbf/ aaaf/ ");
    assert_int_equal(store_session_get(store, row.id, &read, &err), 1);
    assert_string_equal(read.hash, row.hash);
    assert_int_equal(store_session_find(store, row.hash, 50, &read, &err), 1);
    assert_true(read.id == row.id && read.role == TOKEN_READER && read.created_ms == 1 && read.expires_ms == 100 &&
                read.last_used_ms == 0);
    must(store_session_touch(store, row.id, 60, &err));
    assert_int_equal(store_session_find(store, row.hash, 99, &read, &err), 1);
    assert_int_equal(read.last_used_ms, 60);
    assert_int_equal(store_session_find(store, row.hash, 100, &read, &err), 0);
}

static int note_event(void *arg, const struct event_row *row)
{
    note("%s%d ", row->kind, (int)row->id);
    return 0;
}

static void events_are_read_between_two_ids(void **state)
{
    int64_t ids[2] = {add_ensemble(1), add_ensemble(1)}, first, newest, of;
    struct event_filter filter = {0};

    must(store_commit(store, &err));
    newest = store_event_newest(store);
    for (int i = 0; i < 6; i++)
        must(store_event_put(store, 1, i % 3 == 0 ? "a" : "b", ids[i % 2], -1, NULL, &err));
    must(store_commit(store, &err));
    first = newest + 1;
    assert_int_equal(store_event_newest(store), first + 5);
    for (int k = 0; k < 4; k++) {
        char expected[64];

        filter = (struct event_filter){.ensemble = k & 1 ? ids[1] : 0, .kind = k & 2 ? "b" : NULL};
        expected[0] = '\0';
        for (int i = 1; i <= 4; i++) /* without the first and the last */
            if ((!(k & 1) || i % 2 == 1) && (!(k & 2) || i % 3 != 0))
                snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%d ",
                         i % 3 == 0 ? "a" : "b", (int)first + i);
        must(store_event_each(store, first, first + 4, &filter, 9, note_event, NULL, &err));
        is_listed(expected);
    }
    must(store_event_newest_of(store, ids[0], &of, &err));
    assert_int_equal(of, first + 4);
    must(store_event_newest_of(store, 99, &of, &err));
    assert_int_equal(of, 0);
}

static void a_point_is_all_that_was_merged(void **state)
{
    struct series_point to = series_point_of(1, 1000, 1, 5, 2), next = series_point_of(4, 3000, 2, NAN, 0.5);

    series_point_merge(&to, &next);
    assert_true(to.step == 1 && to.last_step == 4 && to.time_ms == 1000 && to.last_time_ms == 3000 && to.attempt == 2 &&
                to.count == 2);
    assert_true(to.not_finite == 1 && to.first == 5 && isnan(to.last) && to.min == 5 && to.max == 5 && to.area == 2.5 && to.within == 0.5);
    next = series_point_of(5, 4000, 2, -3, INFINITY);
    series_point_merge(&to, &next);
    next = series_point_of(6, 5000, 2, 9, 1);
    series_point_merge(&to, &next);
    assert_true(to.last == 9 && to.min == -3 && to.max == 9 && to.area == 3.5 && to.within == 1.5 && to.count == 4 && to.not_finite == 1);
    to = series_point_of(1, 1000, 1, NAN, 0);
    series_point_merge(&to, &next);
    assert_true(to.min == 9 && to.max == 9 && isnan(to.first) && to.last == 9);
}

static void names_of_members_are_theirs(void **state)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .width = 1, .created_ms = 1, .intake = INTAKE_OPEN};
    const struct suggestion list[] = {{.name = "n", .parameters = "{\"x\": 1}"}, {.index = 1, .parameters = "{\"x\": 2}"}};
    char name[SUGGESTION_NAME] = "former", *parameters;
    int64_t index;

    must(store_ensemble_insert(store, &row, "{}", &err));
    must(store_suggestion_add(store, &row, list, 2, &err));
    must(store_suggestion_name(store, row.id, 0, name, &err));
    assert_string_equal(name, "n");
    must(store_suggestion_name(store, row.id, 1, name, &err));
    assert_string_equal(name, "");
    snprintf(name, sizeof name, "former");
    must(store_suggestion_name(store, row.id, 2, name, &err));
    assert_string_equal(name, "");
    assert_int_equal(store_suggestion_find(store, row.id, "n", &index, &parameters, &err), 1);
    assert_int_equal(index, 0);
    assert_string_equal(parameters, "{\"x\": 1}");
    free(parameters);
    assert_int_equal(store_suggestion_find(store, row.id, "m", &index, &parameters, &err), 0);
    assert_int_equal(store_suggestion_parameters(store, row.id, 1, &parameters, &err), 1);
    assert_string_equal(parameters, "{\"x\": 2}");
    free(parameters);
}

/* A large change, which the log has to take. */
static int write_much(void)
{
    static char detail[100000];

    memset(detail, ' ', sizeof detail - 1);
    detail[0] = '{';
    detail[sizeof detail - 2] = '}';
    for (int i = 0; i < 48; i++)
        store_event_put(store, 1, "x", 1, -1, detail, &err);
    return store_commit(store, &err);
}

/* New work is refused while there is no more room than work under way may need, which may use it. A log that is in the
 * database gives its room back. */
static void room_is_kept_for_work_under_way(void **state)
{
    sqlite3_wal_autocheckpoint(store->db, 0);
    must(store_check_room(store, &err));
    must(store_accept(store, &err));
    must(store_commit(store, &err));
    disk_is_full = true;
    must(store_check_room(store, &err)); /* what the log has is enough for now */
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_accept(store, &err));
    assert_int_equal(write_much(), -1);
    assert_string_equal(err.code, "store_full");
    must(write_much()); /* of work that was accepted before */
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    assert_int_equal(store_check_room(store, &err), -1); /* the log cannot be emptied while changes are open */
    assert_string_equal(err.code, "store_full");
    assert_int_equal(store_accept(store, &err), -1);
    store_defer_flush(store, true);
    must(store_commit(store, &err));
    assert_true(store_owes_flush(store));
    assert_int_equal(store_check_room(store, &err), -1); /* nor what is not on the disk */
    must(store_flush_owed(store, &err));
    assert_false(store_owes_flush(store));
    must(store_check_room(store, &err));
    must(store_accept(store, &err));
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    disk_is_full = false;
    must(store_accept(store, &err));
    must(write_much());
}

static int on_nfs(const char *path, struct statfs *out)
{
    out->f_type = 0x6969;
    return 0;
}

/* Where one connection has to do, there is neither a reader nor a log that keeps room, nor a backup while the daemon
 * runs. */
static void one_connection_has_to_do(void **state)
{
    const struct store_options options = {.allow_network = true, .statfs = on_nfs};
    struct store *usual = store, *reader;
    struct backup_source source;
    char dir[300];

    snprintf(dir, sizeof dir, "%s/network", state_dir());
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(store_open_with(&store, dir, &options, &err), 0);
    must(store_open_reader(&reader, store, &err));
    assert_null(reader);
    disk_is_full = true;
    must(store_check_room(store, &err));
    must(store_accept(store, &err));
    disk_is_full = false;
    assert_int_equal(backup_source_init(&source, store, dir, &err), -1);
    assert_string_equal(err.code, "backup_unavailable");
    add_ensemble(3);
    must(store_commit(store, &err));
    store_close(store);
    store = usual;
}

/* Who begins it may end it, and what is left of one that was not ended goes. */
static void a_backup_is_given_up(void **state)
{
    struct backup_source source;
    atomic_bool abandoned = true;
    char *name = backup_temporary(state_dir()), other[300], to[300];
    int64_t failures;
    int fd;

    for (int i = 0; i < 2000; i++)
        must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    snprintf(other, sizeof other, "%s/mine", state_dir());
    snprintf(to, sizeof to, "%s/to", state_dir());
    assert_int_equal(strncmp(name, state_dir(), strlen(state_dir())), 0);
    fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0);
    fd = open(other, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    must(backup_source_init(&source, store, state_dir(), &err));
    source.abandoned = &abandoned;
    assert_int_equal(backup_write(&source, to, &err), -1);
    assert_string_equal(err.code, "not_ready");
    unlink(to);
    atomic_store(&abandoned, false);
    must(backup_write(&source, to, &err));
    assert_int_equal(backup_write(&source, to, &err), -1); /* it is not empty */
    assert_string_equal(err.code, "store_io");
    backup_source_fini(&source);
    backup_sweep(state_dir());
    assert_int_not_equal(access(name, F_OK), 0);
    assert_true(access(other, F_OK) == 0 && access(to, F_OK) == 0);
    must(reopen_store());
    free(name);

    failures = store_failures(store);
    assert_int_equal(store_exec(store, &err, "INSERT INTO meta (key, value) VALUES ('a', 'a'), ('a', 'b')", ""), -1);
    assert_int_equal(store_failures(store), failures + 1);
    assert_non_null(strstr(store_last_failure(store), "UNIQUE"));
    assert_int_equal(store_commit(store, &err), -1);
}

/* The look at a whole database is given up when it takes long, and not before. */
static void damage_is_found_where_there_are_many_rows(void **state)
{
    must(store_exec(store, &err, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) INSERT INTO job (ensemble, kind, "
                    "adapter, name, state, size, created) SELECT ?1, 'members', 'local', i, 'intent', 1, 1 FROM n", "i", add_ensemble(9)));
    must(store_commit(store, &err));
    must(store_check_whole(store, &err));
    assert_int_equal(sqlite3_exec(store->db,
                                  "PRAGMA ignore_check_constraints = ON; UPDATE job SET size = 0 WHERE id = 30000; "
                                  "PRAGMA ignore_check_constraints = OFF",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(store_check_whole(store, &err), -1);
    assert_string_equal(err.code, "store_damaged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_rung_of_an_attempt_is_changed_alone, open_store, close_store),
        cmocka_unit_test_setup_teardown(what_was_decided_about_an_arrival_is_kept, open_store, close_store),
        cmocka_unit_test_setup_teardown(waits_are_cut_where_the_clock_was_set_back, open_store, close_store),
        cmocka_unit_test_setup_teardown(checkpoints_of_a_training_are_damaged_and_dropped, open_store, close_store),
        cmocka_unit_test_setup_teardown(members_without_a_row_are_counted_with_the_others, open_store, close_store),
        cmocka_unit_test_setup_teardown(an_ensemble_is_read_as_it_was_changed, open_store, close_store),
        cmocka_unit_test_setup_teardown(every_state_of_a_training_is_kept, open_store, close_store),
        cmocka_unit_test_setup_teardown(output_of_who_goes_on_is_told, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_session_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(events_are_read_between_two_ids, open_store, close_store),
        cmocka_unit_test(a_point_is_all_that_was_merged),
        cmocka_unit_test_setup_teardown(names_of_members_are_theirs, open_store, close_store),
        cmocka_unit_test_setup_teardown(room_is_kept_for_work_under_way, open_store, close_store),
        cmocka_unit_test_setup_teardown(one_connection_has_to_do, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_backup_is_given_up, open_store, close_store),
        cmocka_unit_test_setup_teardown(damage_is_found_where_there_are_many_rows, open_store, close_store),
    };

    log_init("store", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

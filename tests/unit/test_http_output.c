/* Outputs of members and ranks as they are on the wire: in whole, in parts, and followed while they grow; backups. */
#include "api/limits.h"
#include "common/log.h"
#include "daemon/rundir/archive_file.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"
#include "tests/unit/http_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE 200000 /* more than is read at once */
#define STDOUT "/v1/ensembles/1/members/7/stdout"
#define STDERR "/v1/ensembles/1/members/7/stderr"
#define RANK "/v1/trainings/1/stdout"

static char whole[SIZE + 1];

static void header_is(const struct reply *r, const char *name, const char *wanted)
{
    const char *has = rig_header(r, name);

    if (wanted == NULL ? has != NULL : has == NULL || strcmp(has, wanted) != 0)
        fail_msg("%s is not %s: %s", name, wanted != NULL ? wanted : "left out", r->headers);
}

/* Appends to a file of the run directory. */
static void append(const char *name, const char *text)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", rig_dir, name);
    f = fopen(path, "a");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_spec(const char *output)
{
    char spec[480];

    snprintf(spec, sizeof spec, "{\"name\": \"x\", \"adapter\": \"local\", \"members\": {\"command\": [\"true\", \"{x}\"], \"parameters\": {\"grid\": {\"x\": [1, 2]}}, \"output\": \"%s\"}, "
             "\"training\": {\"command\": [\"true\"], \"ranks\": 2, \"fields\": {\"u\": {\"dtype\": \"float32\", \"shape\": [4]}}, \"output\": \"%s\"}}", output, output);
    must(store_exec(store, &err, "UPDATE ensemble SET spec = ?1", "t", spec));
    must(store_commit(store, &err));
}

/* Member 7 has had an attempt, and makes another. */
static int set_up(void **state)
{
    struct training_row training = {.ensemble = 1, .adapter = "local", .ranks = 2, .generation = 3, .created_ms = 1};
    struct attempt_row attempt;
    char command[320];

    if (rig_open(state) != 0)
        return -1;
    snprintf(command, sizeof command,
             "cd %s && mkdir -p e1/members/0/7/a1 e1/members/0/7/a2 e1/training/g3/rank0 e1/training/g3/rank1",
             rig_dir);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < SIZE; i += 8)
        snprintf(whole + i, sizeof whole - (size_t)i, "%7d\n", i);
    add_ensemble(9);
    attempt = add_attempt(add_job(1, "local").id, 1, 7, 1);
    attempt.end.outcome = ATTEMPT_FAILED;
    attempt.end.ended_ms = 1;
    must(store_attempt_update(store, &attempt, &err));
    add_attempt(add_job(1, "local").id, 1, 7, 2);
    must(store_training_insert(store, &training, &err));
    put_spec("split");
    append("e1/members/0/7/a1/stdout", "the first\n");
    append("e1/members/0/7/a2/stdout", whole);
    append("e1/members/0/7/a2/stderr", "an error\n");
    append("e1/training/g3/rank0/stdout", "rank zero\n");
    append("e1/training/g3/rank1/stdout", "rank one\n");
    append("e1/training/g3/rank1/stderr", "an error of rank one\n");
    return 0;
}

static void is_text(const char *request, const char *headers, int status, const char *text, size_t size)
{
    const struct reply *r = rig_ask(request, headers, NULL);

    if (r->status != status || r->size != size || memcmp(r->body, text, size) != 0 || !r->whole)
        fail_msg("%s: %s%.300s", request, r->headers, r->body);
    header_is(r, "Content-Type", "text/plain");
    header_is(r, "Accept-Ranges", "bytes");
}

static void outputs_are_sent(void **state)
{
    is_text("GET " STDOUT, "", 200, whole, SIZE);
    is_text("GET " STDOUT "?attempt=2", "", 200, whole, SIZE);
    is_text("GET " STDOUT "?attempt=1", "", 200, "the first\n", 10);
    is_text("GET " STDERR, "", 200, "an error\n", 9);
    is_text("GET " RANK, "", 200, "rank zero\n", 10);
    is_text("GET " RANK "?rank=1", "", 200, "rank one\n", 9);
    is_text("GET /v1/trainings/1/stderr?rank=1", "", 200, "an error of rank one\n", 21);
    append("e1/members/0/7/a1/stderr", "");
    is_text("GET " STDERR "?attempt=1", "", 200, "", 0);
}

static void parts_of_outputs_are_sent(void **state)
{
    const struct reply *r;

    is_text("GET " STDOUT, "Range: bytes=100-199\r\n", 206, whole + 100, 100);
    r = rig_ask("GET " STDOUT, "Range: bytes=70000-\r\n", NULL);
    header_is(r, "Content-Range", "bytes 70000-199999/200000");
    assert_true(r->status == 206 && r->size == SIZE - 70000 && memcmp(r->body, whole + 70000, r->size) == 0);
    is_text("GET " STDOUT, "Range: bytes=-8\r\n", 206, whole + SIZE - 8, 8);
    is_text("GET " STDOUT, "Range: bytes=199999-300000\r\n", 206, "\n", 1);
    is_text("GET " STDOUT, "Range: bytes=0-1\r\nIf-Range: \"x\"\r\n", 200, whole, SIZE);
    r = rig_ask("GET " STDOUT, "", NULL);
    header_is(r, "Content-Range", NULL);
    r = rig_refused("GET " STDOUT, "Range: bytes=200000-\r\n", NULL, 416, "range_not_satisfiable");
    header_is(r, "Content-Range", "bytes */200000");
}

static void what_is_no_output_is_not_sent(void **state)
{
    char path[160], other[160];
    int fd;

    rig_refused("GET " STDOUT "?attempt=3", "", NULL, 404, "output_not_found");
    rig_refused("GET /v1/ensembles/1/members/6/stdout", "", NULL, 404, "output_not_found"); /* which has not begun */
    rig_refused("GET " STDERR "?attempt=1", "", NULL, 404, "output_not_found");
    rig_refused("GET /v1/trainings/1/stdout?rank=2", "", NULL, 404, "output_not_found");
    rig_refused("GET /v1/trainings/1/stderr", "", NULL, 404, "output_not_found");
    snprintf(path, sizeof path, "%s/e1/members/0/7/a1/stderr", rig_dir);
    snprintf(other, sizeof other, "%s/e1/members/0/7/a2/stderr", rig_dir);
    assert_int_equal(symlink(other, path), 0);
    rig_refused("GET " STDERR "?attempt=1", "", NULL, 500, "output_unreadable");
    fd = rig_begin("GET " STDERR "?attempt=1&follow=1", ""); /* which will not become one */
    rig_until(fd, "200 OK");
    assert_null(strstr(rig_rest(fd), "0\r\n\r\n"));
    assert_true(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    rig_refused("GET " STDERR "?attempt=1", "", NULL, 500, "output_unreadable");
    rig_refused("GET " STDOUT "?from=3", "", NULL, 400, "query_wrong_value");
    must(store_exec(store, &err, "UPDATE attempt SET released = 5 WHERE number = 1", ""));
    put_spec("merged");
    rig_refused("GET " STDOUT "?attempt=1", "", NULL, 410, "output_released");
    rig_refused("GET " STDERR, "", NULL, 404, "output_merged");
    is_text("GET " STDOUT, "", 200, whole, SIZE);
    rig_refused("GET /v1/trainings/1/stderr?rank=1", "", NULL, 404, "output_merged");
    is_text("GET " RANK "?rank=1", "", 200, "rank one\n", 9);
}

/* A member may replace any directory above its output by a link, and so may a rank. */
static void no_link_above_an_output_is_followed(void **state)
{
    static const struct {
        const char *above, *request;
    } cases[] = {{"e1/members/0/7/a2", "GET " STDOUT}, {"e1/members/0/7", "GET " STDOUT}, {"e1", "GET " STDOUT},
                 {"e1/training/g3/rank0", "GET " RANK}, {"e1/training/g3", "GET " RANK}};
    char path[160], moved[160];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(path, sizeof path, "%s/%s", rig_dir, cases[i].above);
        snprintf(moved, sizeof moved, "%s/moved", rig_dir);
        assert_int_equal(rename(path, moved) || symlink(moved, path), 0);
        rig_refused(cases[i].request, "", NULL, 500, "output_unreadable");
        assert_int_equal(unlink(path) || rename(moved, path), 0);
        assert_int_equal(rig_ask(cases[i].request, "", NULL)->status, 200);
    }
}

static void end_attempt(void)
{
    must(store_exec(store, &err, "UPDATE attempt SET outcome = 'failed', ended = 5 WHERE number = 2", ""));
    must(store_commit(store, &err));
}

/* The chunks together are the output of attempt 2. */
static void is_whole_in_chunks(const char *chunk)
{
    size_t at = 0, n;
    char *rest;

    while ((n = strtoul(chunk, &rest, 16)) > 0) {
        assert_true(at + n <= SIZE && memcmp(rest + 2, whole + at, n) == 0);
        at += n;
        chunk = rest + 2 + n + 2;
    }
    assert_int_equal(at, SIZE);
}

static void outputs_are_followed_to_their_end(void **state)
{
    int fd = rig_begin("GET " STDERR "?follow=1", ""), later;

    rig_until(fd, "200 OK");
    rig_until(fd, "an error\n");
    append("e1/members/0/7/a2/stderr", "another\n");
    rig_until(fd, "another\n");
    append("e1/members/0/7/a2/stderr", "the last\n");
    end_attempt();
    rig_until(fd, "the last\n");
    rig_until(fd, "\r\n0\r\n\r\n");
    assert_string_equal(rig_rest(fd), "");
    later = rig_begin("GET " STDERR "?follow=1&from=9", "");
    rig_until(later, "\r\n\r\n");
    assert_string_equal(rig_rest(later), "11\r\nanother\nthe last\n\r\n0\r\n\r\n");
    later = rig_begin("GET " STDOUT "?follow=1", ""); /* more than is read at once */
    rig_until(later, "\r\n\r\n");
    is_whole_in_chunks(rig_rest(later));
    later = rig_begin("GET " STDOUT "?follow=1&from=199992", "");
    rig_until(later, " 199992\n");
    rig_until(later, "0\r\n\r\n");
    assert_string_equal(rig_rest(later), "");
}

/* It is waited for. */
static void an_output_that_is_not_there_yet_is_followed(void **state)
{
    char path[160];
    int fd;

    snprintf(path, sizeof path, "%s/e1/members/0/7/a2/stderr", rig_dir);
    assert_int_equal(unlink(path), 0);
    fd = rig_begin("GET " STDERR "?follow=1", "");
    rig_until(fd, "200 OK");
    for (int i = 0; i < 10; i++)
        rig_turn();
    append("e1/members/0/7/a2/stderr", "at last\n");
    rig_until(fd, "at last\n");
    close(fd);
}

static void outputs_of_ranks_are_followed_until_the_next_generation(void **state)
{
    int fd = rig_begin("GET " RANK "?follow=1&rank=1", "");

    rig_until(fd, "rank one\n");
    append("e1/training/g3/rank1/stdout", "more\n");
    rig_until(fd, "more\n");
    must(store_exec(store, &err, "UPDATE training SET generation = 4", ""));
    must(store_commit(store, &err));
    rig_until(fd, "0\r\n\r\n");
    assert_string_equal(rig_rest(fd), "");
}

/* --- archives */

#define ARCHIVED "out of an archive\n" /* 18 bytes */

static int64_t archived_at;

static void run_sql(const char *sql)
{
    must(store_exec(store, &err, sql, ""));
    must(store_commit(store, &err));
}

/* Writes an archive file with an entry of another attempt and one of the first attempt of member 7, which has no
 * stderr. */
static void put_archive(void)
{
    struct archive_entry first = {.index = 6, .attempt = 1, .sizes = {2, 5, 5, -1}},
                         second = {.index = 7, .attempt = 1, .sizes = {2, sizeof ARCHIVED - 1, -1, -1}};
    static const char *const of_first[] = {"{}", "other", "wrong", NULL}, *const of_second[] = {"{}", ARCHIVED, NULL, NULL};
    char *path = archive_path(rig_dir, 1, ARCHIVE_SUCCEEDED, 3), *slash = strrchr(path, '/');
    struct text text = {0};
    char command[200];

    snprintf(command, sizeof command, "mkdir -p '%.*s'", (int)(slash - path), path);
    assert_int_equal(system(command), 0);
    archive_entry_add(&text, &first, of_first);
    archived_at = (int64_t)text.size;
    archive_entry_add(&text, &second, of_second);
    assert_non_null(strstr(path, rig_dir));
    append(path + strlen(rig_dir) + 1, text.data);
    free(text.data);
    free(path);
}

static void note_archive(int64_t at)
{
    must(store_exec(store, &err, "UPDATE attempt SET archive = 3, archive_kind = ?1, archive_at = ?2 WHERE number = 1",
                    "ii", (int64_t)ARCHIVE_SUCCEEDED, at));
    must(store_commit(store, &err));
}

static void remove_first(void)
{
    char path[160];

    snprintf(path, sizeof path, "%s/e1/members/0/7/a1/stdout", rig_dir);
    assert_int_equal(unlink(path), 0);
}

static void archived_outputs_are_sent(void **state)
{
    const struct reply *r;
    int fd;

    put_archive();
    note_archive(archived_at);
    remove_first();
    is_text("GET " STDOUT "?attempt=1", "", 200, ARCHIVED, 18);
    is_text("GET " STDOUT "?attempt=1", "Range: bytes=4-6\r\n", 206, "of ", 3);
    r = rig_ask("GET " STDOUT "?attempt=1", "Range: bytes=-3\r\n", NULL);
    header_is(r, "Content-Range", "bytes 15-17/18");
    assert_string_equal(r->body, "ve\n");
    r = rig_refused("GET " STDOUT "?attempt=1", "Range: bytes=18-\r\n", NULL, 416, "range_not_satisfiable");
    header_is(r, "Content-Range", "bytes */18");
    fd = rig_begin("GET " STDOUT "?attempt=1&follow=1", "");
    rig_until(fd, "\r\n\r\n");
    assert_string_equal(rig_rest(fd), "12\r\n" ARCHIVED "\r\n0\r\n\r\n");
    fd = rig_begin("GET " STDOUT "?attempt=1&follow=1&from=7", "");
    rig_until(fd, "\r\n\r\n");
    assert_string_equal(rig_rest(fd), "B\r\nan archive\n\r\n0\r\n\r\n");
    fd = rig_begin("GET " STDOUT "?attempt=1&follow=1&from=99", "");
    rig_until(fd, "\r\n\r\n");
    assert_string_equal(rig_rest(fd), "0\r\n\r\n");
    append("e1/members/0/7/a1/stderr", "which stayed where it was\n");
    is_text("GET " STDERR "?attempt=1", "", 200, "which stayed where it was\n", 26);
    is_text("GET " STDOUT "?attempt=2", "", 200, whole, SIZE);
}

static void archives_that_cannot_be_read_are_told(void **state)
{
    int fd;

    note_archive(0);
    assert_int_equal(rig_ask("GET " STDOUT "?attempt=1", "", NULL)->status, 500); /* there is none */
    fd = rig_begin("GET " STDOUT "?attempt=1&follow=1", "");
    rig_until(fd, "200 OK");
    assert_null(strstr(rig_rest(fd), "0\r\n\r\n")); /* it does not look like an end */
    put_archive();
    assert_int_equal(rig_ask("GET " STDOUT "?attempt=1", "", NULL)->status, 500); /* it is that of another member */
    note_archive(archived_at);
    is_text("GET " STDOUT "?attempt=1", "", 200, ARCHIVED, 18);
}

static int attempts_read;

static int on_statement(unsigned type, void *arg, void *statement, void *text)
{
    attempts_read += strstr(sqlite3_sql(statement), "FROM attempt") != NULL;
    return 0;
}

/* Begins the request, and notes the archive while a worker opens the file that was there until now. */
static int begin_while_it_is_moved(const char *request)
{
    int fd = rig_begin(request, "");

    attempts_read = 0;
    run_sql("UPDATE attempt SET archive = NULL");
    sqlite3_trace_v2(store->db, SQLITE_TRACE_STMT, on_statement, NULL);
    TEST_UNTIL(attempts_read > 0, rig_turn());
    sqlite3_trace_v2(store->db, 0, NULL, NULL);
    note_archive(archived_at);
    return fd;
}

static void what_is_just_moved_into_an_archive_is_found(void **state)
{
    int fd;

    put_archive();
    remove_first();
    fd = begin_while_it_is_moved("GET " STDOUT "?attempt=1");
    rig_until(fd, "200 OK");
    rig_until(fd, "\r\n\r\n" ARCHIVED);
    assert_string_equal(rig_rest(fd), "");
    fd = begin_while_it_is_moved("GET " STDOUT "?attempt=1&follow=1");
    rig_until(fd, ARCHIVED);
    rig_until(fd, "0\r\n\r\n");
    assert_string_equal(rig_rest(fd), "");
}

/* --- what goes wrong meanwhile */

#define LARGE (6 << 20) /* more than sockets hold */

static void make_large(int64_t size)
{
    char path[160];

    snprintf(path, sizeof path, "%s/e1/members/0/7/a2/stdout", rig_dir);
    assert_int_equal(truncate(path, size), 0);
}

static void an_output_that_is_cut_meanwhile_is_not_whole(void **state)
{
    int fd;

    make_large(LARGE);
    fd = rig_begin("GET " STDOUT, "");
    rig_until(fd, "200 OK\r\n");
    make_large(SIZE);
    rig_until(fd, "\r\n\r\n");
    rig_rest(fd);
    assert_true(rig_size() < LARGE);
    is_text("GET " STDOUT, "", 200, whole, SIZE);
}

static void who_loses_a_right_gets_no_more(void **state)
{
    const char *one = rig_bearer("{\"role\": \"reader\"}"), *two = rig_bearer("{\"role\": \"reader\"}");
    int fd, other;

    make_large(LARGE);
    fd = rig_begin("GET " STDOUT, one);
    rig_until(fd, "200 OK\r\n");
    rig_revoke(1);
    rig_rest(fd);
    assert_true(rig_size() < LARGE);
    other = rig_begin("GET " STDERR "?follow=1", two);
    rig_until(other, "an error\n");
    rig_revoke(2);
    append("e1/members/0/7/a2/stderr", "another\n");
    assert_null(strstr(rig_rest(other), "another"));
}

static void follow(int *fds, int n, const char *headers)
{
    for (int i = 0; i < n; i++) {
        fds[i] = rig_begin("GET " STDERR "?follow=1", headers);
        rig_until(fds[i], "an error\n");
    }
}

/* Whether there is room once more, in which the output has come to its end. */
static bool follows_again(const char *headers)
{
    int fd;

    rig_over_tcp(true);
    if (rig_ask("GET " STDOUT "?attempt=1&follow=1", headers, NULL)->status != 200)
        return false;
    rig_over_tcp(false);
    fd = rig_begin("GET " STDERR "?follow=1", "");
    rig_until(fd, "an error\n");
    close(fd);
    return true;
}

static void nobody_follows_too_many(void **state)
{
    const char *reader = rig_bearer("{\"role\": \"reader\"}"), *other = rig_bearer("{\"role\": \"reader\"}");
    const struct reply *r;
    int fds[LIMIT_FOLLOWS], n = LIMIT_FOLLOWS / 4;

    follow(fds, n, reader);
    r = rig_refused("GET " STDERR "?follow=1", reader, NULL, 429, "token_busy");
    header_is(r, "Retry-After", "10");
    follow(fds + n, n, other);
    rig_over_tcp(false);
    follow(fds + 2 * n, LIMIT_FOLLOWS - 2 * n, "");
    r = rig_refused("GET " STDERR "?follow=1", "", NULL, 503, "busy");
    header_is(r, "Retry-After", "10");
    is_text("GET " STDERR, "", 200, "an error\n", 9);
    for (int i = 0; i < (int)LIMIT_FOLLOWS; i++)
        close(fds[i]);
    TEST_UNTIL(follows_again(reader), rig_turn());
}

/* Each takes as much room as the database. */
static void one_backup_is_made_at_a_time(void **state)
{
    int fd;

    rig_hold_workers();
    fd = rig_begin("GET /v1/backup", "");
    TEST_UNTIL(rig_ask("GET /v1/backup?file=/there", "", NULL)->status == 503, rig_turn());
    rig_let_workers_go();
    rig_until(fd, "200 OK");
    rig_rest(fd);
    assert_int_equal(rig_ask("GET /v1/backup", "", NULL)->status, 200);
}

static void a_backup_is_sent(void **state)
{
    const struct reply *r = rig_ask("GET /v1/backup", "", NULL);
    struct stat st;
    char path[128];

    assert_int_equal(r->status, 200);
    assert_true(r->whole && r->size > 4096);
    header_is(r, "Content-Type", "application/vnd.sqlite3");
    assert_memory_equal(r->body, "SQLite format 3", 16);
    header_is(r, "Content-Disposition", "attachment; filename=\"stretto-backup.db\"");
    rig_refused("GET /v1/backup?file=here", "", NULL, 400, "query_wrong_value");
    r = rig_ask("GET /v1/backup?file=/there", "", NULL);
    assert_int_equal(r->status, 200);
    snprintf(path, sizeof path, "ls %s | grep -v -e socket -e e1 -e listen.json", rig_dir); /* nothing is left behind */
    assert_int_not_equal(system(path), 0);
    assert_int_not_equal(stat("/there", &st), 0); /* it is only the caller that writes it */
}

#define WITH_HTTP(test) cmocka_unit_test_setup_teardown(test, set_up, rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HTTP(outputs_are_sent), WITH_HTTP(parts_of_outputs_are_sent), WITH_HTTP(what_is_no_output_is_not_sent),
        WITH_HTTP(no_link_above_an_output_is_followed),
        WITH_HTTP(outputs_are_followed_to_their_end), WITH_HTTP(an_output_that_is_not_there_yet_is_followed),
        WITH_HTTP(outputs_of_ranks_are_followed_until_the_next_generation), WITH_HTTP(archived_outputs_are_sent),
        WITH_HTTP(archives_that_cannot_be_read_are_told), WITH_HTTP(what_is_just_moved_into_an_archive_is_found),
        WITH_HTTP(an_output_that_is_cut_meanwhile_is_not_whole), WITH_HTTP(who_loses_a_right_gets_no_more),
        WITH_HTTP(nobody_follows_too_many), WITH_HTTP(one_backup_is_made_at_a_time), WITH_HTTP(a_backup_is_sent),
    };

    log_init("output", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

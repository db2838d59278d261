/* Outputs of members and ranks as they are on the wire: in whole, in parts, and followed while they grow; backups. */
#include "common/log.h"
#include "daemon/rundir/archive_file.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"
#include "tests/unit/http_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE 200000 /* more than is read at once */
#define STDOUT "/v1/ensembles/1/members/7/stdout"
#define STDERR "/v1/ensembles/1/members/7/stderr"

static char whole[SIZE + 1];

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

#define WITH_HTTP(test) cmocka_unit_test_setup_teardown(test, set_up, rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HTTP(an_output_that_is_not_there_yet_is_followed),
        WITH_HTTP(what_is_just_moved_into_an_archive_is_found),
        WITH_HTTP(one_backup_is_made_at_a_time),
    };

    log_init("output", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

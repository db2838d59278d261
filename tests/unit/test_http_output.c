/* Outputs of members and ranks as they are on the wire: in whole, in parts, and followed while they grow; backups. */
#include "common/log.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"
#include "tests/unit/http_rig.h"

#include <fcntl.h>
#include <stdio.h>
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
    snprintf(command, sizeof command, "cd %s && mkdir -p e1/members/0/7/a1 e1/members/0/7/a2 e1/training/g3/rank0 e1/training/g3/rank1", rig_dir);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < SIZE; i += 8)
        snprintf(whole + i, sizeof whole - (size_t)i, "%7d\n", i);
    add_ensemble(9);
    attempt = add_attempt(add_job(1, "local").id, 1, 7, 1);
    attempt.outcome = ATTEMPT_FAILED;
    attempt.ended_ms = 1;
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

    rig_refused("GET " STDOUT "?attempt=3", "", NULL, 404, "output_not_found");
    rig_refused("GET /v1/ensembles/1/members/6/stdout", "", NULL, 404, "output_not_found"); /* which has not begun */
    rig_refused("GET " STDERR "?attempt=1", "", NULL, 404, "output_not_found");
    rig_refused("GET /v1/trainings/1/stdout?rank=2", "", NULL, 404, "output_not_found");
    rig_refused("GET /v1/trainings/1/stderr", "", NULL, 404, "output_not_found");
    snprintf(path, sizeof path, "%s/e1/members/0/7/a1/stderr", rig_dir);
    snprintf(other, sizeof other, "%s/e1/members/0/7/a2/stderr", rig_dir);
    assert_int_equal(symlink(other, path), 0);
    rig_refused("GET " STDERR "?attempt=1", "", NULL, 500, "output_unreadable");
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

static void end_attempt(void)
{
    must(store_exec(store, &err, "UPDATE attempt SET outcome = 'failed', ended = 5 WHERE number = 2", ""));
    must(store_commit(store, &err));
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
        WITH_HTTP(outputs_are_followed_to_their_end), WITH_HTTP(an_output_that_is_not_there_yet_is_followed),
        WITH_HTTP(outputs_of_ranks_are_followed_until_the_next_generation), WITH_HTTP(a_backup_is_sent),
    };

    log_init("output", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What handlers tell of files that belong to members, ranks and backups, whatever is in them; workers are through at
 * once. */
#include "api/handlers.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/store/cause.h"
#include "daemon/store/training.h"
#include "tests/unit/failing_store.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"
#include "tests/unit/virtual_uv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char files[64];
static bool is_merged; /* what members write to stderr is in stdout */

char *engine_attempt_dir(const struct engine *engine, int64_t ensemble, int64_t index, int64_t number)
{
    return xasprintf("%s", files);
}

void engine_rank_files(const struct engine *engine, const struct training_row *training, int64_t rank, char **paths)
{
    for (int i = 0; i < RANK_FILES; i++)
        paths[i] = xasprintf("%s/rank%lld-%d.json", files, (long long)rank, i);
}

const char *engine_run_dir(const struct engine *engine)
{
    return files;
}

const char *engine_rows_dir(const struct engine *engine)
{
    return files;
}

const struct spec *engine_spec(struct engine *engine, int64_t ensemble, struct spec **owned, struct error *error)
{
    static const struct spec split, merged = {.members.merged = true};

    *owned = NULL;
    return is_merged ? &merged : &split;
}

static int set_up(void **state)
{
    snprintf(files, sizeof files, "/tmp/stretto-test-XXXXXX");
    if (open_store(state) != 0 || mkdtemp(files) == NULL)
        return -1;
    fake_config = (struct api_config){.store = store, .state_dir = files};
    return 0;
}

static int tear_down(void **state)
{
    char rm[128];

    must(store_commit(store, &err));
    snprintf(rm, sizeof rm, "rm -rf '%s'", files);
    return system(rm) + close_store(state);
}

static void put(const char *name, const char *text, size_t size)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", files, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* The end of stderr as the only failure's example has it; NULL: none. */
static const char *tail_of(const char *text, size_t size)
{
    const json_t *failures;

    put("stderr", text, size);
    failures = json_object_get(get(ensemble_failures_get, 1, ""), "failures");
    assert_int_equal(json_array_size(failures), 1);
    return json_string_value(json_object_get(json_object_get(json_array_get(failures, 0), "example"), "stderr"));
}

static void the_last_whole_lines_of_stderr_are_told(void **state)
{
    int64_t id = add_ensemble(3), job = add_job(id, "local").id;
    struct attempt_row attempt = add_attempt(job, id, 0, 1);
    char text[4096], path[160];

    attempt.end.outcome = ATTEMPT_FAILED;
    attempt.end.ended_ms = 2;
    must(store_attempt_update(store, &attempt, &err));
    must(store_cause_count(store, &attempt, &err));
    assert_string_equal(tail_of("", 0), "");
    assert_string_equal(tail_of("one", 3), "one");
    assert_string_equal(tail_of("one\ntwo\n\n", 9), "one\ntwo");
    assert_string_equal(tail_of("a\0b", 3), "a?b");
    assert_string_equal(tail_of("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", 27), "3\n4\n5\n6\n7\n8\n9\n10\n11\n12");
    assert_string_equal(tail_of("1\n2\n3\n4\n5\n6\n7\n8\n9\n10", 20), "1\n2\n3\n4\n5\n6\n7\n8\n9\n10");
    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - 12, "\nlast line\n", 11);
    assert_string_equal(tail_of(text, sizeof text - 1), "last line"); /* half a line says nothing, or the wrong thing */

    snprintf(path, sizeof path, "%s/stderr", files);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0); /* the file is the member's */
    assert_true(json_is_null(json_object_get(
        json_object_get(json_array_get(json_object_get(get(ensemble_failures_get, 1, ""), "failures"), 0), "example"),
        "stderr")));
}

/* Each cause has its latest attempt for an example, if that is known still. */
static void each_cause_is_told(void **state)
{
    int64_t id = add_ensemble(9), job = add_job(id, "local").id;
    const json_t *answer, *failure;

    for (int i = 0; i < 4; i++) {
        struct attempt_row attempt = add_attempt(job, id, i, 1);

        attempt.end.outcome = i < 2 ? ATTEMPT_FAILED : ATTEMPT_TIMEOUT;
        snprintf(attempt.end.reason, sizeof attempt.end.reason, "%s", i < 2 ? "first" : "second");
        snprintf(attempt.end.host, sizeof attempt.end.host, "h%d", i);
        attempt.end.ended_ms = 5000 + i;
        must(store_attempt_update(store, &attempt, &err));
        must(store_cause_count(store, &attempt, &err));
        if (i == 3)
            must(store_cause_count(store, &attempt, &err)); /* so that it comes first */
    }
    put("stderr", "\0\0an error", 10);
    put("stdout", "all of it", 9);
    answer = get(ensemble_failures_get, 1, "");
    assert_int_equal(json_array_size(json_object_get(answer, "failures")), 2);
    assert_int_equal(json_integer_value(json_object_get(answer, "ensemble")), 1);
    assert_int_equal(json_integer_value(json_object_get(answer, "total")), 2);
    failure = json_array_get(json_object_get(answer, "failures"), 1);
    assert_string_equal(json_string_value(json_object_get(failure, "outcome")), "failed");
    assert_int_equal(json_integer_value(json_object_get(failure, "attempts")), 2);
    failure = json_object_get(failure, "example");
    assert_string_equal(json_string_value(json_object_get(failure, "stderr")), "an error");
    assert_string_equal(json_string_value(json_object_get(failure, "host")), "h1");
    assert_string_equal(json_string_value(json_object_get(failure, "reason")), "first");
    assert_int_equal(json_integer_value(json_object_get(failure, "member")), 1);
    assert_int_equal(json_integer_value(json_object_get(failure, "attempt")), 1);
    is_told_that_the_store_fails(ensemble_failures_get, &(struct asked){.ids = {1}});
    assert_int_equal(json_array_size(json_object_get(get(ensemble_failures_get, 1, "limit=1"), "failures")), 1);
    is_merged = true;
    failure =
        json_object_get(json_array_get(json_object_get(get(ensemble_failures_get, 1, ""), "failures"), 1), "example");
    is_merged = false;
    assert_string_equal(json_string_value(json_object_get(failure, "stderr")), "all of it");
    must(store_exec(store, &err, "UPDATE attempt SET released = 7 WHERE idx = 1", ""));
    failure =
        json_object_get(json_array_get(json_object_get(get(ensemble_failures_get, 1, ""), "failures"), 1), "example");
    assert_true(json_is_null(json_object_get(failure, "stderr")) && json_is_string(json_object_get(failure, "host")));
    must(store_exec(store, &err, "UPDATE cause SET number = 9 WHERE text = 'first'", ""));
    failure = json_array_get(json_object_get(get(ensemble_failures_get, 1, ""), "failures"), 1);
    assert_true(json_is_null(json_object_get(failure, "example")) && json_is_string(json_object_get(failure, "cause")));
}

static void put_json(int rank, int which, const char *text)
{
    char name[32];

    snprintf(name, sizeof name, "rank%d-%d.json", rank, which);
    put(name, text, strlen(text));
}

/* Only what is known, and of the type that it should be; and what a rank said last. */
static void ranks_tell_what_they_know(void **state)
{
    struct training_row training = {.ensemble = add_ensemble(1), .ranks = 3, .generation = 1, .created_ms = 1, .adapter = "local"};
    const json_t *ranks, *rank;

    must(store_training_insert(store, &training, &err));
    put_json(0, RANK_FILE_ENDPOINT, "{\"host\": \"node1\"}");
    put_json(0, RANK_FILE_STATUS, "{\"state\": \"receiving\", \"received\": 5, \"time\": 2}");
    put_json(0, RANK_FILE_DONE, "{\"state\": \"done\", \"received\": 7, \"time\": 3, "
                                "\"draws\": [1, -1, 2.5, 4], \"rejected_by\": {\"magic\": 2, \"x\": \"y\"}}");
    put_json(1, RANK_FILE_STATUS, "{\"state\": \"dancing\", \"received\": \"many\", \"unique\": -3, "
                                  "\"drawn\": 4, \"time\": 1e30, \"samples_per_second\": 1.5}");
    put_json(2, RANK_FILE_STATUS, "{\"state\": ");
    ranks = json_object_get(get(training_ranks_get, 1, ""), "ranks");
    assert_int_equal(json_array_size(ranks), 3);
    rank = json_array_get(ranks, 0);
    assert_true(json_is_true(json_object_get(rank, "ready")));
    assert_string_equal(json_string_value(json_object_get(rank, "host")), "node1");
    assert_string_equal(json_string_value(json_object_get(rank, "state")), "done");
    assert_string_equal(json_string_value(json_object_get(rank, "time")), "1970-01-01T00:00:03.000Z");
    assert_int_equal(json_integer_value(json_object_get(rank, "received")), 7);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(rank, "draws"), 1)), 0);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(rank, "draws"), 3)), 4);
    assert_int_equal(json_object_size(json_object_get(rank, "rejected_by")), 1);
    rank = json_array_get(ranks, 1);
    assert_true(json_is_false(json_object_get(rank, "ready")) && json_is_null(json_object_get(rank, "state")));
    assert_true(json_is_null(json_object_get(rank, "time")) && json_integer_value(json_object_get(rank, "drawn")) == 4);
    assert_int_equal(json_integer_value(json_object_get(rank, "received")) + json_integer_value(json_object_get(rank, "unique")), 0);
    assert_true(json_real_value(json_object_get(rank, "samples_per_second")) == 1.5);
    rank = json_array_get(ranks, 2);
    assert_int_equal(json_integer_value(json_object_get(rank, "rank")), 2);
    assert_true(json_is_null(json_object_get(rank, "state")));
}

/* One that could not be made is no reason to refuse the next. */
static void a_backup_that_fails_is_over(void **state)
{
    const json_t *json;
    char query[600];
    int status;

    must(store_commit(store, &err));
    fake_config.state_dir = "/nowhere";
    is_refused(backup_get, 0, "", 500, "store_io");
    is_refused(backup_get, 0, "", 500, "store_io");
    fake_config.state_dir = files;
    get(backup_get, 0, "");
    is_told_that_the_store_fails(backup_get, &(struct asked){.query = ""});
    is_refused(backup_get, 0, "file=here.db", 400, "query_wrong_value");
    memset(query, 'x', sizeof query);
    memcpy(query, "file=/", 6);
    query[6 + 400] = '\0';
    json = ask(backup_get, &(struct asked){.query = query}, &status);
    assert_int_equal(status, 400);
    assert_non_null(json);
    assert_int_equal(rmdir(files), 0); /* nothing is left there */
    assert_int_equal(mkdir(files, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_whole_lines_of_stderr_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_cause_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranks_tell_what_they_know, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_backup_that_fails_is_over, set_up, tear_down),
    };

    log_init("files_told", LOG_LEVEL_NONE);
    virtual_uv_begin(1000);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

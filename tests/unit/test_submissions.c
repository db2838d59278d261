/* Answers to POSTs before they get to the engine: to specs, and to keys that came before. */
#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/parameter_file.h"
#include "common/log.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "daemon/spec/rows.h"
#include "daemon/store/ensemble.h"
#include "tests/unit/failing_store.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"
#include "tests/unit/virtual_uv.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64], copies[80];
static struct engine engine = {.ports.rows_dir = copies};
static int submitted;
static int64_t rows_seen; /* -1: there were none */
static bool refuses, commit_fails;

/* In place of the engine's function, which the linker wraps: takes each spec that is not to be refused. */
int __wrap_engine_submit(struct engine *to, const json_t *json, struct rows *rows, struct ensemble_row *row,
                         struct error *error)
{
    submitted++;
    rows_seen = rows != NULL ? rows_count(rows) : -1;
    rows_close(rows);
    if (refuses)
        return error_at(error, "spec_impossible_value", "/members", "no");
    *row = (struct ensemble_row){
        .id = add_ensemble(2), .name = "as written", .adapter = "local", .count = 2, .width = 1, .created_ms = 1};
    return 0;
}

void __wrap_turn_after_commit(struct turn *turn, void (*cb)(void *arg, const struct error *error), void *arg)
{
    static const struct error full = {.code = "store_full"};

    cb(arg, commit_fails ? &full : NULL);
}

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (open_store(state) != 0 || mkdtemp(dir) == NULL)
        return -1;
    snprintf(copies, sizeof copies, "%s/copies", dir);
    engine.store = store;
    fake_config = (struct api_config){.store = store, .engine = &engine};
    refuses = commit_fails = fake_is_abandoned = false;
    submitted = 0;
    return mkdir(copies, 0700);
}

static int tear_down(void **state)
{
    char rm[96];

    must(store_commit(store, &err));
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) | close_store(state);
}

static void is_answered(const char *spec, int wanted, const char *code)
{
    int status;
    const json_t *problem = ask(ensembles_post, &(struct asked){.body = spec}, &status);

    assert_string_equal(json_string_value(json_object_get(problem, "code")), code);
    assert_int_equal(status, wanted);
}

static void let_go(void *arg, struct parameter_file *file, struct rows *rows, const struct error *error)
{
    assert_null(rows);
    ++*(int *)arg;
    parameter_file_drop(file);
}

/* Reading them leaves workers for other files, and whoever comes too early is told to come again. */
static void few_parameter_files_are_read_at_once(void **state)
{
    static const char spec[] =
        "{\"members\": {\"command\": [\"true\"], \"parameters\": {\"file\": \"/nowhere/x.csv\"}}}";
    int read = 0;

    virtual_uv_hold_workers();
    for (int i = 0; i < 2; i++)
        assert_int_equal(parameter_file_read(NULL, "/nowhere/x.csv", let_go, &read, &err), 0);
    is_answered(spec, 503, "busy");
    assert_int_equal(read, 0);
    virtual_uv_let_workers_go();
    assert_int_equal(read, 2);
    is_answered(spec, 422, "spec_parameter_file");
}

/* --- what is submitted */

/* A copy has an index beside it. */
static int copies_there(void)
{
    DIR *d = opendir(copies);
    int n = 0;

    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(d);
    assert_int_equal(n % 2, 0);
    return n / 2;
}

/* Submits a spec with a file of three rows; NULL: one without. The status. */
static int submit(const char *rows, const char *key, const json_t **answer)
{
    char path[80], spec[256];
    struct asked asked = {.body = spec, .headers = {{"Idempotency-Key", key}}};
    FILE *file;
    int status;

    snprintf(spec, sizeof spec, "{\"members\": {\"command\": [\"true\"]}}");
    if (rows != NULL) {
        snprintf(path, sizeof path, "%s/x.csv", dir);
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(rows, file);
        fclose(file);
        snprintf(spec, sizeof spec, "{\"members\": {\"command\": [\"true\"], \"parameters\": {\"file\": \"%s\"}}}", path);
    }
    *answer = ask(ensembles_post, &asked, &status);
    return status;
}

static void is_location(const json_t *answer)
{
    char location[40];

    snprintf(location, sizeof location, "/v1/ensembles/%lld",
             (long long)json_integer_value(json_object_get(answer, "id")));
    assert_string_equal(header_of_answer("Location"), location);
}

#define ROWS "a\n1\n2\n3\n"

/* The copy of a file stays for as long as its ensemble does, and no longer. */
static void copies_are_kept_of_ensembles_only(void **state)
{
    const json_t *answer;

    assert_int_equal(submit(ROWS, "k", &answer), 201);
    assert_int_equal(rows_seen, 3);
    assert_int_equal(copies_there(), 1);
    is_location(answer);
    assert_int_equal(submit(ROWS, "k", &answer), 201); /* which is answered before the file is read */
    assert_int_equal(submit("a\n1,2\n", NULL, &answer), 422);
    assert_string_equal(json_string_value(json_object_get(answer, "code")), "spec_parameter_file");
    assert_int_equal(submitted, 1);
    assert_int_equal(copies_there(), 1);
    refuses = true;
    assert_int_equal(submit(ROWS, NULL, &answer), 422);
    assert_int_equal(submitted, 2);
    assert_int_equal(copies_there(), 1);
    refuses = false;
    commit_fails = true;
    assert_int_equal(submit(ROWS, NULL, &answer), 201); /* until the turn is over */
    assert_int_equal(copies_there(), 1);
    commit_fails = false;
    fake_is_abandoned = true;
    assert_int_equal(submit(ROWS, NULL, &answer), 503);
    assert_int_equal(submitted, 3);
    assert_int_equal(copies_there(), 1);
    fake_is_abandoned = false;
    for (int i = 0; i < 5; i++) /* none of them is taken to be read still */
        assert_int_equal(submit(ROWS, NULL, &answer), 201);
    assert_int_equal(copies_there(), 6);
}

static void use_key_too(void)
{
    must(store_exec(store, &err, "INSERT INTO idempotency SELECT 'k', digest, 202, '{\"id\": 77}', created FROM idempotency WHERE key = 'other'", ""));
}

/* The same call came twice, and the other one was faster. */
static void a_key_may_be_used_while_a_file_is_read(void **state)
{
    const json_t *answer;

    assert_int_equal(submit(ROWS, "other", &answer), 201);
    fake_on_hold = use_key_too;
    assert_int_equal(submit(ROWS, "k", &answer), 202);
    fake_on_hold = NULL;
    assert_int_equal(json_integer_value(json_object_get(answer, "id")), 77);
    is_location(answer);
    assert_int_equal(submitted, 1);
    assert_int_equal(copies_there(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_parameter_files_are_read_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_are_kept_of_ensembles_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_may_be_used_while_a_file_is_read, set_up, tear_down),
    };

    log_init("submissions", LOG_LEVEL_NONE);
    virtual_uv_begin(1000);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What stands wrong in the environment of a member or a rank, or in training.json, is told by its name, and nothing is
 * begun. */
#include "common/files.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNSET NULL

/* Sets a variable; what it was is to be given back by restore(). */
static char *change(const char *name, const char *value)
{
    char *before = getenv(name) != NULL ? strdup(getenv(name)) : NULL;

    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
    return before;
}

static void restore(const char *name, char *before)
{
    free(change(name, before));
    free(before);
}

static void a_member_s_environment(void **state)
{
    static const struct {
        const char *name, *value;
    } wrong[] = {
        {"STRETTO_STREAM_KEY", UNSET}, {"STRETTO_STREAM_KEY", ""}, {"STRETTO_STREAM_KEY", "key"},
        {"STRETTO_STREAM_KEY", "9f86d081884c7d650"}, {"STRETTO_STREAM_KEY", " 9f86d081884c7d65"},
        {"STRETTO_ENSEMBLE", UNSET}, {"STRETTO_ENSEMBLE", "-7"}, {"STRETTO_ENSEMBLE", "+7"}, {"STRETTO_ENSEMBLE", "7 "},
        {"STRETTO_ENSEMBLE", "9223372036854775808"}, {"STRETTO_ENSEMBLE", "99999999999999999999"},
        {"STRETTO_MEMBER", UNSET}, {"STRETTO_MEMBER", "4294967296"}, {"STRETTO_MEMBER", "0x1"},
        {"STRETTO_ATTEMPT", UNSET}, {"STRETTO_ATTEMPT", "4294967296"},
        {"STRETTO_STEPS", "-1"}, {"STRETTO_STEPS", "2147483648"}, {"STRETTO_STEPS", ""},
        {"STRETTO_STREAM_SILENCE_MS", "soon"}, {"STRETTO_STREAM_SILENCE_MS", "3600001"},
        {"STRETTO_FIELDS", UNSET}, {"STRETTO_FIELDS", "[]"}, {"STRETTO_FIELDS", "{"}, {"STRETTO_FIELDS", "{}"},
        {"STRETTO_FIELDS", "{\"u\": {\"dtype\": \"float16\", \"shape\": [1]}}"},
        {"STRETTO_PARAMS", UNSET}, {"STRETTO_PARAMS", "1"}, {"STRETTO_PARAMS", "{\"a\": 1, \"a\": 2}"},
        {"STRETTO_DEADLINE", "soon"}, {"STRETTO_DEADLINE", "0"}, {"STRETTO_DEADLINE", "-5"}, {"STRETTO_DEADLINE", "17e8 s"},
    };
    struct stretto *s = NULL;
    struct fixture fx;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(10, 1, 1));
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    assert_int_equal(stretto_open_patiently(&s, 0), STRETTO_AGAIN); /* all is well, and there is no rank yet */
    stretto_abort(s);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *before = change(wrong[i].name, wrong[i].value);

        s = NULL;
        if (stretto_open_patiently(&s, 0) != -1)
            fail_msg("%s is taken as \"%s\"", wrong[i].name, wrong[i].value != NULL ? wrong[i].value : "nothing");
        assert_non_null(strstr(stretto_error(s), wrong[i].name));
        stretto_abort(s);
        restore(wrong[i].name, before);
    }
    fixture_fini(&fx);
}

/* Opens a rank that must not begin; the text must name `place`, and the code must be `code` where one is given. */
static void refused(const char *place, const char *code)
{
    struct stretto_train *t;

    if (stretto_train_open(&t) != -1)
        fail_msg("a rank begins with another %s", place);
    if (strstr(stretto_train_error(t), place) == NULL)
        fail_msg("\"%s\" does not name %s", stretto_train_error(t), place);
    if (code != NULL)
        assert_string_equal(stretto_train_error_code(t), code);
    stretto_train_close(t);
}

static void a_rank_s_environment(void **state)
{
    static const struct {
        const char *name, *value, *code;
    } wrong[] = {
        {"STRETTO_TRAINING_DIR", UNSET, "not_under_stretto"}, {"STRETTO_TRAINING_DIR", "", "not_under_stretto"},
        {"STRETTO_RANK", UNSET, "not_under_stretto"}, {"STRETTO_RANK", "-1", "train_environment"},
        {"STRETTO_RANK", "0 ", "train_environment"}, {"STRETTO_RANK", "first", "train_environment"},
        {"STRETTO_RANK", "1", NULL}, /* of one */
    };
    struct fixture fx;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(10, 1, 1));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *before = change(wrong[i].name, wrong[i].value);

        refused(wrong[i].name, wrong[i].code);
        restore(wrong[i].name, before);
    }
    fixture_fini(&fx);
}

static void a_training_s_file(void **state)
{
    static const struct {
        const char *object, *key, *value; /* of JSON; NULL: the key is not there */
    } wrong[] = {
        {NULL, "ensemble", NULL}, {NULL, "ensemble", "-1"}, {NULL, "generation", "0"}, {NULL, "generation", "4294967296"},
        {NULL, "ranks", "0"}, {NULL, "count", "-1"}, {NULL, "count", "4294967296"}, {NULL, "steps", "0"}, {NULL, "stream", NULL},
        {NULL, "stream_key", "\"9f86d081884c7d6\""}, {NULL, "stream_key", "\"9f86d081884c7d6x\""},
        {NULL, "stream_key", "\"9f86d081884c7d650\""}, {NULL, "parameters", "[1]"}, {NULL, "fields", "{}"}, {NULL, "fields", NULL},
        {NULL, "buffer", NULL}, {NULL, "network", "1"}, {"buffer", "capacity", "0"}, {"buffer", "capacity", NULL},
        {"buffer", "batch", "0"}, {"buffer", "threshold", "-1"}, {"buffer", "threshold", "101"}, {"buffer", "policy", "\"lifo\""},
    };
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    json_t *whole;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 1, 1));
    whole = file_read_json(fixture_path(&fx, "training.json"), &err);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *json = json_deep_copy(whole),
               *object = wrong[i].object != NULL ? json_object_get(json, wrong[i].object) : json;

        if (wrong[i].value != NULL)
            json_object_set_new(object, wrong[i].key, json_loads(wrong[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(object, wrong[i].key);
        assert_int_equal(file_write_json(fixture_path(&fx, "training.json"), json, 0600, &err), 0);
        json_decref(json);
        refused(strcmp(wrong[i].key, "policy") == 0 ? "lifo" : wrong[i].key, NULL);
    }
    assert_int_equal(file_write_json(fixture_path(&fx, "training.json"), whole, 0600, &err), 0);
    assert_int_equal(stretto_train_open(&t), 0);
    assert_true(stretto_train_rank(t) == 0 && stretto_train_ranks(t) == 1);
    assert_true(stretto_train_ensemble(t) == 7 && stretto_train_generation(t) == 1 && stretto_train_count(t) == 1);
    assert_true(stretto_train_batch_size(t) == 1 && stretto_train_fields(t) == 1 && stretto_train_parameters(t) == 2);
    assert_string_equal(stretto_train_field_name(t, 0), "u");
    assert_string_equal(stretto_train_parameter_name(t, 1), "b");
    assert_true(stretto_train_field_dtype(t, 0) == STRETTO_FLOAT32 && stretto_train_field_ndim(t, 0) == 1);
    assert_true(stretto_train_field_extent(t, 0, 0) == 10 && stretto_train_field_max(t, 0) == 0);
    assert_true(stretto_train_resume(t) == NULL && stretto_train_resume_step(t) == -1);
    assert_true(stretto_train_unfinished(t) == 0);
    stretto_train_close(t);
    json_decref(whole);
    fixture_fini(&fx);
}

static int are_there(void *threads)
{
    DIR *dir = opendir("/proc/self/task");
    int n = -2; /* . and .. */

    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n == *(int *)threads;
}

/* A socket's path has 107 bytes. Where the directory for it is not told, or is too long, the rank makes one that nobody
 * else can enter. */
static void a_socket_without_a_directory(void **state)
{
    static char deep[200];
    const char *const dirs[] = {UNSET, "", deep};
    struct fixture fx;
    struct stretto_train *t;
    struct stat st;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(10, 1, 1));
    memset(deep, 'x', sizeof deep - 1);
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char *before = change("STRETTO_TMPDIR", dirs[i]), made[200];

        t = fixture_rank(0);
        assert_int_equal(sscanf(fixture_endpoint(&fx), "ipc://%199s", made), 1);
        assert_int_equal(stat(made, &st), 0);
        assert_true(S_ISSOCK(st.st_mode));
        assert_int_equal(st.st_mode & 077, 0);
        *strrchr(made, '/') = '\0';
        assert_int_equal(stat(made, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        stretto_train_close(t);
        assert_int_equal(access(made, F_OK), -1);
        /* of all threads only this one is left */
        assert_true(fixture_wait(are_there, &(int){1}, FIXTURE_LIMIT_SECONDS * 1000));
        restore("STRETTO_TMPDIR", before);
    }
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_s_environment),
        cmocka_unit_test(a_rank_s_environment),
        cmocka_unit_test(a_training_s_file),
        cmocka_unit_test(a_socket_without_a_directory),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

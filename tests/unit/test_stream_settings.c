/* Mistakes in the environment of a member or a rank, or in training.json, are reported by name, and nothing is begun.
 * */
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

static int are_there(void *threads)
{
    DIR *dir = opendir("/proc/self/task");
    int n = -2; /* . and .. */

    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n == *(int *)threads;
}

/* A socket's path has 107 bytes. If the directory for it is not told, or is too long, the rank makes one that nobody
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
        cmocka_unit_test(a_socket_without_a_directory),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

/* Orders to OAR, which takes them down and carries them out some time later: its commands are scripts here. With the
 * plugin's own sources. */
#include "scheduler-adapters/oar/oar.h"
#include "tests/unit/unit.h"

#include <stretto/jsonx.h>
#include <stretto/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct adapter_ops stretto_adapter;

static char dir[64];
static uv_loop_t loop;
static struct adapter *a;
static json_t *config;

/* A script that runs in the test's directory. */
static void command(const char *name, const char *script)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\ncd %s || exit 1\n%s\n", dir, script);
    fclose(f);
    assert_int_equal(chmod(path, 0700), 0);
    json_object_set_new(config, name, json_string(path));
}

static void touch(const char *name)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

/* How many lines the file has. */
static unsigned lines(const char *name)
{
    char path[160];
    unsigned n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "r");
    for (int c; f != NULL && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f != NULL)
        fclose(f);
    return n;
}

static void poke(void *arg)
{
}

static void duplicate(void *arg, const char *name, const char *scheduler_id)
{
}

static void note(void *arg, enum adapter_log level, const char *job, const char *sentence)
{
}

/* Jobs 1 and 2 wait until there is a file "gone-1", or "gone-2". Of job 2 there is one once it was looked at twice
 * after its oardel. */
static int open_all(void **state)
{
    struct error err = {0};

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(uv_loop_init(&loop), 0);
    config = json_object();
    command("oarsub", "exit 1");
    command("oarhold", "exit 1");
    command("oardel", "echo >>deleted-$1");
    command("oarstat", "echo >>looked\n[ ! -e deleted-2 ] || { [ ! -e seen-2 ] || : >gone-2; : >seen-2; }\nme=$(id -un)\n"
                       "job() { printf ', \"%d\": {\"name\": \"st-a-%d\", \"owner\": \"%s\", \"state\": \"Waiting\"}' \"$1\" \"$1\" \"$me\"; }\n"
                       "printf '{\"9\": {\"name\": \"st-a-1\", \"owner\": \"nobody\", \"state\": \"Waiting\"}'\n"
                       "for i in 1 2; do [ -e gone-$i ] || job $i; done\necho '}'");
    a = stretto_adapter.create(&(struct adapter_host){.loop = &loop, .runner = "/bin/sh", .config = config, .poke = poke,
                                                      .duplicate = duplicate, .log = note},
                               &err);
    if (a == NULL)
        fail_msg("%s", err.text);
    return 0;
}

static void all_gone(void *arg)
{
}

static int close_all(void **state)
{
    char rm[100];

    stretto_adapter.destroy(a, all_gone, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    json_decref(config);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void done(void *arg, enum adapter_answer answer, const struct error *err)
{
    if (answer != ADAPTER_OK)
        fail_msg("%s", err->text);
    *(bool *)arg = true;
}

static void cancel(const char *name, bool *is_done)
{
    struct adapter_job job = {.name = name, .dir = dir};

    *is_done = false;
    stretto_adapter.cancel(a, &job, done, is_done);
}

#define UNTIL(condition) TEST_UNTIL(condition, uv_run(&loop, UV_RUN_ONCE))

/* The first is looked at with growing pauses; meanwhile the second comes, and is done with. */
static void one_that_is_done_takes_none_of_the_others_along(void **state)
{
    bool first, second;

    cancel("st-a-1", &first);
    UNTIL(lines("looked") >= 5);
    assert_int_equal(lines("deleted-1"), 1);
    assert_false(first);
    cancel("st-a-2", &second);
    UNTIL(second);
    assert_false(first);
    touch("gone-1");
    UNTIL(first);
    assert_int_equal(lines("deleted-1") + lines("deleted-2"), 2); /* each was given once */
    assert_int_equal(lines("deleted-9"), 0); /* which is another user's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_is_done_takes_none_of_the_others_along, open_all, close_all),
    };

    test_limit(110); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

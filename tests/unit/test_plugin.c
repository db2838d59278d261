/* Adapters from shared objects: one that is opened, and those that are refused, each by the name of its file. */
#include "scheduler-adapters/plugin.h"

#include "common/files.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64], *toy; /* what is in the plugin that the makefile has built */
static size_t toy_size;
static struct error err;

static int read_toy(void **state)
{
    const char *builddir = getenv("builddir");
    char path[300];

    snprintf(path, sizeof path, "%s/tests/unit/.libs/toy_plugin.so", builddir != NULL ? builddir : ".");
    return file_read(path, 1 << 22, &toy, &toy_size, &err);
}

static int drop_toy(void **state)
{
    free(toy);
    return 0;
}

static int new_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state)
{
    char rm[100];

    unsetenv("TOY_ABI");
    unsetenv("TOY_NAME");
    unsetenv("TOY_WITHOUT");
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static const char *in_dir(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static const char *put(const char *name, const char *data, size_t size)
{
    const char *path = in_dir(name);

    assert_int_equal(file_write_whole(path, data, size, 0755, &err), 0);
    return path;
}

/* Makes a plugin that was never loaded before, since what is loaded stays as it is. */
static const char *another_toy(void)
{
    static int n;
    char name[40];

    snprintf(name, sizeof name, "toy%d.so", ++n);
    return put(name, toy, toy_size);
}

static void is_opened(const char *path, const char *name)
{
    const struct adapter_ops *ops = plugin_open(path, &err);

    if (ops == NULL)
        fail_msg("%s", err.text);
    assert_string_equal(ops->name, name);
}

static void is_refused(const char *path, const char *code)
{
    err = (struct error){.text = ""};
    assert_null(plugin_open(path, &err));
    assert_string_equal(err.code, code);
    if (strstr(err.text, path) == NULL)
        fail_msg("%s is not named: %s", path, err.text);
}

static void an_adapter_is_opened(void **state)
{
    const struct adapter_ops *ops = plugin_open(another_toy(), &err);

    assert_non_null(ops);
    assert_string_equal(ops->name, "toy");
    assert_int_equal(ops->abi, ADAPTER_ABI);
    assert_int_equal(ops->slots(NULL), 0); /* it stays loaded */
}

static void what_cannot_be_loaded_is_refused(void **state)
{
    is_refused(in_dir("nowhere.so"), "plugin_unusable");
    is_refused(put("text.so", "no object\n", 10), "plugin_unusable");
    is_refused(put("empty.so", "", 0), "plugin_unusable");
    is_refused(put("half.so", toy, 100), "plugin_unusable");
    assert_int_equal(mkdir(in_dir("folder.so"), 0755), 0);
    is_refused(in_dir("folder.so"), "plugin_unusable");
}

static void an_object_that_is_no_adapter_is_refused(void **state)
{
    static const char symbol[] = "stretto_adapter";
    char *other = malloc(toy_size), *at;

    assert_non_null(other);
    memcpy(other, toy, toy_size);
    while ((at = memmem(other, toy_size, symbol, sizeof symbol)) != NULL)
        *at = 'S';
    is_refused(put("other.so", other, toy_size), "plugin_unusable");
    free(other);
}

/* The version is looked at before all that may be laid out differently in another one. */
static void another_version_is_refused(void **state)
{
    char abi[20];

    for (int by = -1; by <= 1; by++) {
        snprintf(abi, sizeof abi, "%d", ADAPTER_ABI + by);
        setenv("TOY_ABI", abi, 1);
        unsetenv("TOY_WITHOUT");
        if (by == 0) {
            is_opened(another_toy(), "toy");
            continue;
        }
        is_refused(another_toy(), "plugin_wrong_version");
        setenv("TOY_WITHOUT", "name", 1);
        is_refused(another_toy(), "plugin_wrong_version");
    }
}

static void a_name_is_short_and_plain(void **state)
{
    static const char longest[] = "abcdefghijklmnopqrstuvwxyz0123456789-_ab";
    static const char *const wrong[] = {"", "Toy", "to y", "to/y", "to.y", "toy\n", "t\xc3\xb6y",
                                        "abcdefghijklmnopqrstuvwxyz0123456789-_abc"};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("TOY_NAME", wrong[i], 1);
        is_refused(another_toy(), "plugin_unusable");
    }
    setenv("TOY_NAME", longest, 1);
    assert_int_equal(strlen(longest), 40);
    is_opened(another_toy(), longest);
}

static void what_lacks_a_method_is_refused(void **state)
{
    static const char *const needed[] = {"name",   "create", "destroy", "check",  "slots",
                                         "submit", "poll",   "find",    "cancel", "signal"};

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        setenv("TOY_WITHOUT", needed[i], 1);
        is_refused(another_toy(), "plugin_unusable");
    }
}

static void what_others_can_change_is_refused(void **state)
{
    const char *path = another_toy();

    assert_int_equal(chmod(path, 0777), 0);
    is_refused(path, "plugin_not_safe");
    assert_int_equal(chmod(path, 0755), 0);
    is_opened(path, "toy");
}

static void plugins_are_listed_by_their_names(void **state)
{
    static const char *const names[] = {"b.so", "a.so", ".hidden.so", ".so", "c.so.1", "note.txt", "d.SO"};
    char **paths;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(names[i], "", 0);
    paths = plugin_list(dir, &err);
    assert_non_null(paths);
    assert_string_equal(paths[0], in_dir("a.so"));
    assert_string_equal(paths[1], in_dir("b.so"));
    assert_null(paths[2]);
    for (char **path = paths; *path != NULL; path++)
        free(*path);
    free(paths);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_null(plugin_list(dir, &err));
    assert_string_equal(err.code, "plugin_not_safe");
    assert_null(plugin_list(in_dir("nowhere"), &err));
    assert_string_equal(err.code, "plugin_not_safe");
    assert_int_equal(chmod(dir, 0700), 0);
    assert_null(plugin_list(in_dir("nowhere"), &err));
    assert_string_equal(err.code, "plugin_unusable");
    assert_non_null(strstr(err.text, in_dir("nowhere")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_adapter_is_opened, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_cannot_be_loaded_is_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(an_object_that_is_no_adapter_is_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(another_version_is_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_name_is_short_and_plain, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_lacks_a_method_is_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_others_can_change_is_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(plugins_are_listed_by_their_names, new_dir, remove_dir),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, read_toy, drop_toy);
}

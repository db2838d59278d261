#include "common/safe_path.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRANGER 54321

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[4][256];
    static unsigned n;

    n = (n + 1) % 4;
    snprintf(path[n], sizeof path[n], "%s/%s", dir, name);
    return path[n];
}

/* "" where the path is safe, else the sentence. */
static const char *verdict(const char *path)
{
    static struct error err;

    err = (struct error){.text = ""};
    if (safe_path(path, &err) == 0)
        return "";
    assert_true(strcmp(err.code, "path_not_safe") == 0 || strcmp(err.code, "path_unusable") == 0);
    return err.text;
}

static void make(const char *name, mode_t mode)
{
    assert_int_equal(mkdir(in_dir(name), 0700), 0);
    assert_int_equal(chmod(in_dir(name), mode), 0);
}

static void make_file(const char *name, mode_t mode)
{
    int fd = open(in_dir(name), O_CREAT | O_EXCL | O_WRONLY, 0600);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(chmod(in_dir(name), mode), 0);
}

static void every_component_is_checked(void **state)
{
    make("a", 0755);
    make("a/b", 0755);
    make("a/b/c", 0700);
    assert_string_equal(verdict(in_dir("a/b/c")), "");
    assert_string_equal(verdict(in_dir("a/b/../b/./c//")), "");
    assert_string_equal(verdict(in_dir("a/b/c/missing/too")), "");
    chmod(in_dir("a"), 0775);
    assert_non_null(strstr(verdict(in_dir("a/b/c")), "/a can be written by other users of its group ("));
    assert_non_null(strstr(verdict(in_dir("a/b/c")), "mode 0775), who could"));
    assert_non_null(strstr(verdict(in_dir("a/missing")), "chmod go-w"));
    chmod(in_dir("a"), 0757);
    assert_non_null(strstr(verdict(in_dir("a/b/c")), "/a can be written by other users ("));
    chmod(in_dir("a"), 01777); /* nobody can replace what is ours there */
    assert_string_equal(verdict(in_dir("a/b/c")), "");
    chmod(in_dir("a"), 0755);
    chmod(in_dir("a/b/c"), 0770);
    assert_non_null(strstr(verdict(in_dir("a/b/c")), "/a/b/c is not safe, since it can be written"));
}

static void a_file_has_no_sticky_bit(void **state)
{
    make_file("file", 0644);
    assert_string_equal(verdict(in_dir("file")), "");
    chmod(in_dir("file"), 01666);
    assert_non_null(strstr(verdict(in_dir("file")), "can be written"));
    assert_non_null(strstr(verdict(in_dir("file/below")), "can be written"));
    chmod(in_dir("file"), 0644);
    assert_non_null(strstr(verdict(in_dir("file/below")), "Not a directory"));
}

/* Whoever can replace a link, or anything that it leads through, decides where it leads. */
static void links_are_followed_step_by_step(void **state)
{
    make("links", 0755);
    make("open", 0777);
    make("goal", 0755);
    assert_int_equal(symlink("../goal", in_dir("links/relative")), 0);
    assert_int_equal(symlink(in_dir("goal"), in_dir("links/absolute")), 0);
    assert_int_equal(symlink(in_dir("goal"), in_dir("open/link")), 0);
    assert_int_equal(symlink("../open/link", in_dir("links/through")), 0);
    assert_int_equal(symlink("loop", in_dir("links/loop")), 0);
    assert_string_equal(verdict(in_dir("links/relative/x")), "");
    assert_string_equal(verdict(in_dir("links/absolute/x")), "");
    assert_non_null(strstr(verdict(in_dir("open/link")), "/open can be written"));
    assert_non_null(strstr(verdict(in_dir("links/through/x")), "/open can be written"));
    assert_non_null(strstr(verdict(in_dir("links/loop")), "symbolic links"));
    chmod(in_dir("goal"), 0777);
    assert_non_null(strstr(verdict(in_dir("links/relative/..")), "/goal can be written"));
    assert_non_null(strstr(verdict(in_dir("links/absolute/..")), "/goal can be written"));
}

static void a_parent_may_hold_what_is_open(void **state)
{
    struct error err;

    make("parent", 0755);
    make_file("parent/open", 0666);
    assert_int_equal(safe_path_parent(in_dir("parent/open"), &err), 0);
    assert_int_equal(safe_path_parent("/open", &err), 0);
    chmod(in_dir("parent"), 0777);
    assert_int_equal(safe_path_parent(in_dir("parent/open"), &err), -1);
}

static void what_belongs_to_another_user_is_refused(void **state)
{
    if (geteuid() != 0)
        skip();
    make("theirs", 0755);
    make("theirs/below", 0700);
    make("tmp", 01777);
    make("tmp/theirs", 0755);
    assert_int_equal(symlink(in_dir("tmp"), in_dir("tmp/link")), 0);
    assert_string_equal(verdict(in_dir("tmp/link")), "");
    assert_int_equal(chown(in_dir("theirs"), STRANGER, STRANGER), 0);
    assert_int_equal(chown(in_dir("tmp/theirs"), STRANGER, STRANGER), 0);
    assert_int_equal(lchown(in_dir("tmp/link"), STRANGER, STRANGER), 0);
    assert_non_null(strstr(verdict(in_dir("theirs/below")), "/theirs belongs to uid 54321 (mode 0755), who could"));
    assert_non_null(strstr(verdict(in_dir("tmp/theirs")), "belongs to uid 54321"));
    assert_non_null(strstr(verdict(in_dir("tmp/link")), "/tmp/link is not safe, since it belongs to uid 54321"));
}

static int set_up(void **state)
{
    strcpy(dir, "/tmp/st-safe.XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_component_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_has_no_sticky_bit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_are_followed_step_by_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_parent_may_hold_what_is_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_belongs_to_another_user_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

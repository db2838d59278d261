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

/* "" if the path is safe, else the sentence. */
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

/* Anybody who can replace a link, or anything that it leads through, decides where it leads. */
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

/* Links are followed as deep as the kernel itself follows them, and no deeper. */
static void so_many_links_are_followed(void **state)
{
    char name[16], to[16];
    struct error err;
    struct stat st;

    make("goal", 0755);
    for (int i = 0; i < 41; i++) {
        snprintf(name, sizeof name, "l%d", i);
        snprintf(to, sizeof to, "l%d", i - 1);
        assert_int_equal(symlink(i == 0 ? "goal" : to, in_dir(name)), 0);
    }
    assert_int_equal(stat(in_dir("l39"), &st), 0);
    assert_string_equal(verdict(in_dir("l39")), "");
    assert_int_equal(stat(in_dir("l40"), &st), -1);
    assert_non_null(strstr(verdict(in_dir("l40")), "symbolic links"));
    assert_int_equal(safe_path(in_dir("l40"), &err), -1);
    assert_string_equal(err.code, "path_unusable");
}

static void a_relative_path_begins_here(void **state)
{
    char *before = getcwd(NULL, 0);
    struct error err;

    make("work", 0755);
    make("work/in", 0755);
    make_file("work/open", 0666);
    assert_int_equal(chdir(in_dir("work")), 0);
    assert_string_equal(verdict("in"), "");
    assert_string_equal(verdict("in/../in/x"), "");
    assert_non_null(strstr(verdict("open"), "can be written"));
    assert_int_equal(safe_path_parent("open", &err), 0);
    assert_int_equal(safe_path_parent("in/x", &err), 0);
    chmod(in_dir("work/in"), 0777);
    assert_non_null(strstr(verdict("in/x"), "/work/in can be written"));
    assert_int_equal(safe_path_parent("in/x", &err), -1);
    assert_int_equal(safe_path_parent("in", &err), 0);
    chmod(in_dir("work"), 0777);
    assert_int_equal(safe_path_parent("open", &err), -1);
    chmod(in_dir("work"), 0755);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void a_path_has_a_length(void **state)
{
    char longest[4200];
    struct error err;

    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(safe_path(longest, &err), -1);
    assert_string_equal(err.code, "path_unusable");
    assert_string_equal(verdict("/"), "");
    assert_string_equal(verdict("/.."), "");
    assert_string_equal(verdict("/./..//."), "");
}

/* Members of a group that is trusted may write to its directories, whoever has made them; to its files nobody may. */
static void a_trusted_group_may_write_to_directories(void **state)
{
    gid_t ids[] = {54320, STRANGER};
    struct safe_groups both = {ids, 2}, first = {ids, 1}, none = {NULL, 0};
    struct error err;

    if (geteuid() != 0)
        skip();
    make("group", 0770);
    make_file("group/file", 0660);
    assert_int_equal(chown(in_dir("group"), STRANGER, STRANGER), 0);
    assert_int_equal(chown(in_dir("group/file"), 0, STRANGER), 0);
    assert_int_equal(safe_path_among(in_dir("group/x"), &both, &err), 0);
    assert_int_equal(safe_path_parent_among(in_dir("group/x"), &both, &err), 0);
    assert_int_equal(safe_path_among(in_dir("group/x"), &first, &err), -1);
    assert_int_equal(safe_path_among(in_dir("group/x"), &none, &err), -1);
    assert_int_equal(safe_path_parent_among(in_dir("group/x"), &first, &err), -1);
    assert_int_equal(safe_path_among(in_dir("group/file"), &both, &err), -1); /* a file is for one */
    assert_non_null(strstr(err.text, "/file is not safe, since it can be written by other users of its group"));
    chmod(in_dir("group/file"), 0600);
    assert_int_equal(safe_path_among(in_dir("group/file"), &both, &err), 0);
    assert_int_equal(chown(in_dir("group/file"), STRANGER, STRANGER), 0);
    assert_int_equal(safe_path_among(in_dir("group/file"), &both, &err), -1);
    chmod(in_dir("group"), 0777);
    assert_int_equal(safe_path_among(in_dir("group/x"), &both, &err), -1);
    assert_non_null(strstr(err.text, "can be written by other users ("));
    assert_int_equal(chown(in_dir("group"), 1, 0), 0); /* of another user that this host knows by name */
    chmod(in_dir("group"), 0755);
    assert_int_equal(safe_path(in_dir("group"), &err), -1);
    assert_non_null(strstr(err.text, "(uid 1)"));
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
        cmocka_unit_test_setup_teardown(so_many_links_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_relative_path_begins_here, set_up, tear_down),
        cmocka_unit_test(a_path_has_a_length),
        cmocka_unit_test_setup_teardown(a_trusted_group_may_write_to_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_belongs_to_another_user_is_refused, set_up, tear_down),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

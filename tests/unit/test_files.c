#include "common/below.h"
#include "common/files.h"
#include "common/xalloc.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* How many files with a temporary name there are. */
static int leftovers(void)
{
    DIR *entries = opendir(dir);
    int n = 0;

    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        n += strstr(entry->d_name, ".tmp") != NULL;
    closedir(entries);
    return n;
}

/* Opens by openat2(2), and by hand, which must agree: 0, or the errno. */
static int below(const char *path)
{
    int fd = below_open(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), first = fd < 0 ? errno : 0, second;

    if (fd >= 0)
        close(fd);
    fd = below_open_by_hand(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    second = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    assert_int_equal(first, second);
    return first;
}

static void nothing_is_opened_that_is_not_below(void **state)
{
    char outside[80];
    struct stat st;
    int fd;

    snprintf(outside, sizeof outside, "%s.outside", dir);
    close(open(outside, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(mkdir(in_dir("a"), 0700) || mkdir(in_dir("a/b"), 0700), 0);
    close(open(in_dir("a/b/file"), O_WRONLY | O_CREAT, 0600));
    assert_int_equal(symlink("b", in_dir("a/link")) || symlink("/", in_dir("root")) || symlink("file", in_dir("a/b/last")), 0);
    assert_int_equal(below("a/b/file"), 0);
    assert_int_equal(below("a//b/./file"), 0);
    assert_int_equal(below("a/b"), 0);
    assert_int_equal(below("a/link/file"), ELOOP);
    assert_int_equal(below("a/b/last"), ELOOP);
    assert_int_equal(below("root/etc/passwd"), ELOOP);
    assert_int_equal(below("/etc/passwd"), EXDEV);
    assert_int_equal(below("a/../../x"), EXDEV);
    assert_int_equal(below_open_whole(dir, outside, O_RDONLY), -1); /* which begins with `dir`, and is beside it */
    assert_int_equal(errno, EXDEV);
    fd = below_open_whole(dir, in_dir("a//b/file"), O_RDONLY);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(below("a/b/none"), ENOENT);
    assert_int_equal(below("none/file"), ENOENT);
    assert_int_equal(below("a/b/file/x"), ENOTDIR);
    assert_int_equal(below_link(dir, "root/etc/passwd", in_dir("stolen")), -1);
    assert_int_equal(below_unlink(dir, "a/link/file"), -1);
    assert_int_equal(below_link(dir, "a/b/file", in_dir("copy")), 0);
    assert_int_equal(stat(in_dir("copy"), &st), 0);
    assert_int_equal(st.st_nlink, 2);
    assert_int_equal(below_unlink(dir, "a/b/file"), 0);
    assert_int_equal(below("a/b/file"), ENOENT);
    unlink(outside);
}

static void creating_twice_keeps_the_first(void **state)
{
    json_t *one = json_pack("{s:i}", "n", 1), *two = json_pack("{s:i}", "n", 2), *back;
    struct error err;

    assert_int_equal(file_create_json(in_dir("claim"), one, 0600, &err), 0);
    assert_int_equal(file_create_json(in_dir("claim"), two, 0600, &err), -1);
    assert_int_equal(errno, EEXIST);
    back = file_read_json(in_dir("claim"), &err);
    assert_int_equal(json_integer_value(json_object_get(back, "n")), 1);
    assert_int_equal(file_write_json(in_dir("claim"), two, 0600, &err), 0);
    json_decref(back);
    back = file_read_json(in_dir("claim"), &err);
    assert_int_equal(json_integer_value(json_object_get(back, "n")), 2);
    json_decref(back);
    json_decref(one);
    json_decref(two);
}

/* link() and fsync() of this program, and so of common/files.c. */
static enum { LINKS, LINKS_AND_DENIES, FAILS } links;
static char flushed[4][256]; /* the names of what was, in order */
static size_t n_flushed;

int link(const char *from, const char *to)
{
    if (links == FAILS) {
        errno = EIO;
        return -1;
    }
    if (linkat(AT_FDCWD, from, AT_FDCWD, to, 0) < 0)
        return -1;
    errno = EEXIST;
    return links == LINKS ? 0 : -1;
}

int fsync(int fd)
{
    char link[64], path[256] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    assert_true(readlink(link, path, sizeof path - 1) > 0);
    snprintf(flushed[n_flushed++ % 4], sizeof flushed[0], "%s", path);
    return 0;
}

static void a_link_that_was_made_is_no_failure(void **state)
{
    json_t *one = json_pack("{s:i}", "n", 1), *back;
    struct error err;

    links = LINKS_AND_DENIES;
    assert_int_equal(file_create_json(in_dir("nfs"), one, 0600, &err), 0);
    assert_int_equal(file_create_json(in_dir("nfs"), one, 0600, &err), -1); /* it is another's now */
    assert_int_equal(errno, EEXIST);
    assert_string_equal(err.code, "file_exists");
    back = file_read_json(in_dir("nfs"), &err);
    assert_int_equal(json_integer_value(json_object_get(back, "n")), 1);
    links = FAILS;
    assert_int_equal(file_create_json(in_dir("eio"), one, 0600, &err), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(leftovers(), 0);
    links = LINKS;
    json_decref(back);
    json_decref(one);
}

static void names_are_flushed_after_contents(void **state)
{
    json_t *one = json_pack("{s:i}", "n", 1);
    struct error err;

    n_flushed = 0;
    assert_int_equal(file_write_whole(in_dir("kept"), "x", 1, 0600, &err), 0);
    assert_int_equal(n_flushed, 2);
    assert_non_null(strstr(flushed[0], "/kept."));
    assert_string_equal(flushed[1], dir);
    assert_int_equal(file_create_json(in_dir("made"), one, 0600, &err), 0);
    assert_int_equal(n_flushed, 4);
    assert_non_null(strstr(flushed[2], "/made."));
    assert_string_equal(flushed[3], dir);
    assert_int_equal(file_write_whole(in_dir("kept"), "x", 1, 0600 | FILE_UNFLUSHED, &err), 0);
    assert_int_equal(n_flushed, 4);
    json_decref(one);
}

/* The directory of a name, however that is written. */
static void the_directory_that_is_flushed_is_that_of_the_name(void **state)
{
    char here[256], slashes[300], *cwd = getcwd(NULL, 0);

    assert_int_equal(mkdir(in_dir("names"), 0700), 0);
    assert_int_equal(chdir(in_dir("names")), 0);
    assert_non_null(getcwd(here, sizeof here));
    n_flushed = 0;
    file_flush_name("file");
    file_flush_name("file//");
    snprintf(slashes, sizeof slashes, "%s//", here);
    errno = EXDEV;
    file_flush_name(slashes);
    assert_int_equal(errno, EXDEV);
    file_flush_name("/file");
    assert_int_equal(n_flushed, 4);
    assert_string_equal(flushed[0], here);
    assert_string_equal(flushed[1], here);
    assert_string_equal(flushed[2], dir);
    assert_string_equal(flushed[3], "/");
    file_flush_name("nowhere/at/all"); /* that does no harm */
    file_flush_name("");
    assert_int_equal(chdir(cwd), 0);
    free(cwd);
}

/* A file whose temporary name is taken is another's, which is left alone. */
static void a_temporary_name_that_is_taken_is_left_alone(void **state)
{
    struct error err;
    char *name, *text;
    size_t size;

    for (unsigned serial = 0; serial < 100; serial++) { /* the numbers that come next */
        name = xasprintf("%s/busy.%d.%u.tmp", dir, (int)getpid(), serial);
        close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        free(name);
    }
    assert_int_equal(file_write_whole(in_dir("busy"), "mine", 4, 0600, &err), 0);
    assert_int_equal(file_read(in_dir("busy"), 4, &text, &size, &err), 0);
    assert_string_equal(text, "mine");
    free(text);
    for (unsigned serial = 0; serial < 100; serial++) {
        struct stat st;

        name = xasprintf("%s/busy.%d.%u.tmp", dir, (int)getpid(), serial);
        assert_int_equal(stat(name, &st), 0);
        assert_int_equal(st.st_size, 0);
        assert_int_equal(unlink(name), 0);
        free(name);
    }
    assert_int_equal(file_write_whole(in_dir("nowhere/at/all"), "x", 1, 0600, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(err.code, "file_write");
    assert_non_null(strstr(err.text, "nowhere/at/all"));
    assert_int_equal(leftovers(), 0);
}

static void a_file_is_read_up_to_its_limit(void **state)
{
    struct error err;
    char *text = NULL;
    size_t size;

    assert_int_equal(file_write_whole(in_dir("some"), "a\0b", 3, 0640, &err), 0);
    assert_int_equal(file_read(in_dir("some"), 3, &text, &size, &err), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(text, "a\0b", 4);
    free(text);
    assert_int_equal(file_read(in_dir("some"), 2, &text, &size, &err), -1);
    assert_int_equal(errno, EFBIG);
    assert_string_equal(err.code, "file_read");
    assert_non_null(strstr(err.text, "/some"));
    assert_int_equal(file_read(dir, 100, &text, &size, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(file_read("/dev/null", 100, &text, &size, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(file_read(in_dir("nowhere"), 100, &text, &size, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(file_write_whole(in_dir("some"), "", 0, 0600, &err), 0);
    assert_int_equal(file_read(in_dir("some"), 0, &text, &size, &err), 0);
    assert_true(size == 0 && text[0] == '\0');
    free(text);
}

/* What such a file says is run. */
static void a_file_of_ones_own_is_no_other_user_s_and_no_link(void **state)
{
    struct error err;
    char *text;
    size_t size;

    assert_int_equal(file_write_whole(in_dir("own"), "true\n", 5, 0600, &err), 0);
    assert_int_equal(file_read_own(in_dir("own"), 5, &text, &size, &err), 0);
    assert_string_equal(text, "true\n");
    free(text);
    assert_int_equal(file_read_own(in_dir("own"), 4, &text, &size, &err), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(symlink("own", in_dir("link")), 0);
    assert_int_equal(file_read_own(in_dir("link"), 5, &text, &size, &err), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(file_read(in_dir("link"), 5, &text, &size, &err), 0); /* others may be links */
    free(text);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(in_dir("own"), 54321, 54321), 0);
    assert_int_equal(file_read_own(in_dir("own"), 5, &text, &size, &err), -1);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(err.text, "54321"));
}

/* Of a long file only its end is read, and a line that begins before is cut there. */
static void last_line_is_printable(void **state)
{
    struct error err;
    char line[16];

    assert_int_equal(file_write_whole(in_dir("log"), "one\ntw\001o\xff\n\n \n", 14, 0600, &err), 0);
    file_last_line(in_dir("log"), NULL, line, sizeof line);
    assert_string_equal(line, "tw?o?");
    assert_int_equal(file_write_whole(in_dir("log"), "one\n\0\0\0two\0x\n", 13, 0600, &err), 0);
    file_last_line(in_dir("log"), NULL, line, sizeof line);
    assert_string_equal(line, "two?x");
    file_last_line(in_dir("nowhere"), NULL, line, sizeof line);
    assert_string_equal(line, "");
}

static void the_last_line_is_looked_for_in_the_last_4096_bytes(void **state)
{
    enum { END = 4096 };
    char text[END + 100], line[END + 100], small[5];
    struct error err;

    for (int n = END - 3; n < END + 4; n++) {
        memset(text, 'x', sizeof text);
        text[sizeof text - (size_t)n - 1] = '\n';
        text[sizeof text - (size_t)n] = 'b'; /* the first of the n bytes of the last line */
        assert_int_equal(file_write_whole(in_dir("long"), text, sizeof text, 0600, &err), 0);
        file_last_line(in_dir("long"), NULL, line, sizeof line);
        assert_int_equal(strlen(line), n < END ? n : END);
        assert_int_equal(line[0], n <= END ? 'b' : 'x');
        assert_int_equal(line[1], 'x');
    }
    assert_int_equal(file_write_whole(in_dir("long"), "one\ntwo three", 13, 0600, &err), 0);
    file_last_line(in_dir("long"), NULL, small, sizeof small);
    assert_string_equal(small, "two ");
    assert_int_equal(file_write_whole(in_dir("long"), "a~b\x7f \n", 6, 0600, &err), 0);
    file_last_line(in_dir("long"), NULL, line, sizeof line);
    assert_string_equal(line, "a~b?");
    assert_int_equal(file_write_whole(in_dir("long"), "a", 1, 0600, &err), 0);
    file_last_line(in_dir("long"), NULL, line, sizeof line);
    assert_string_equal(line, "a");
    assert_int_equal(file_write_whole(in_dir("long"), "\n \n", 3, 0600, &err), 0);
    file_last_line(in_dir("long"), NULL, line, sizeof line);
    assert_string_equal(line, "");
    file_last_line(dir, NULL, line, sizeof line);
    assert_string_equal(line, "");
}

/* A disk that is full in the middle of a write, here by a limit of the process: what was there before stays, whole. */
static void a_file_that_has_no_room_is_not_replaced(void **state)
{
    struct rlimit before, small;
    json_t *json;
    char *text, large[2000];
    struct error err;
    size_t size;

    assert_int_equal(file_write_whole(in_dir("log"), "before", 6, 0600, &err), 0);
    memset(large, 'x', sizeof large);
    json = json_stringn(large, sizeof large);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){1000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    err = (struct error){.text = ""};
    assert_int_equal(file_write_whole(in_dir("log"), large, sizeof large, 0600, &err), -1);
    assert_int_equal(errno, EFBIG);
    assert_string_equal(err.code, "file_write");
    assert_non_null(strstr(err.text, "/log"));
    assert_int_equal(file_create_json(in_dir("new"), json, 0600, &err), -1);
    assert_int_equal(access(in_dir("new"), F_OK), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(file_read(in_dir("log"), 10000, &text, &size, &err), 0);
    assert_string_equal(text, "before");
    assert_int_equal(leftovers(), 0);
    json_decref(json);
    free(text);
}

static int descriptors;

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_temporary_name_that_is_taken_is_left_alone), /* the first, which counts on no numbers given yet */
        cmocka_unit_test(creating_twice_keeps_the_first),
        cmocka_unit_test(nothing_is_opened_that_is_not_below),
        cmocka_unit_test(a_link_that_was_made_is_no_failure),
        cmocka_unit_test(names_are_flushed_after_contents),
        cmocka_unit_test(a_file_that_has_no_room_is_not_replaced),
        cmocka_unit_test(a_file_of_ones_own_is_no_other_user_s_and_no_link),
        cmocka_unit_test(the_directory_that_is_flushed_is_that_of_the_name),
        cmocka_unit_test(a_file_is_read_up_to_its_limit),
        cmocka_unit_test(the_last_line_is_looked_for_in_the_last_4096_bytes),
        cmocka_unit_test(last_line_is_printable),
    };
    char rm[128];
    int rc;

    test_limit(12);
    descriptors = test_descriptors();
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}

#include "common/files.h"
#include "common/process.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

static void broken_and_missing_files_are_told_apart(void **state)
{
    struct error err;

    assert_null(file_read_json(in_dir("nowhere"), &err));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(file_write_whole(in_dir("half"), "{\"a\":", 5, 0600, &err), 0);
    assert_null(file_read_json(in_dir("half"), &err));
    assert_string_equal(err.code, "file_json");
    assert_int_equal(file_write_whole(in_dir("half"), "{\"a\": 1,\n \"b\" 2}", 17, 0600, &err), 0);
    assert_null(file_read_json(in_dir("half"), &err));
    assert_non_null(strstr(err.text, "/half:2:")); /* where it is wrong */
    assert_int_equal(file_write_whole(in_dir("half"), "[]", 2, 0600, &err), 0);
    assert_null(file_read_json(in_dir("half"), &err));
    assert_non_null(strstr(err.text, "an array"));
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

/* A disk that is full in the middle of a write, here by a limit of the process: what was there before stays, whole. */
static void a_file_that_has_no_room_is_not_replaced(void **state)
{
    struct rlimit before, small;
    char *text, large[2000];
    struct error err;
    size_t size;

    assert_int_equal(file_write_whole(in_dir("log"), "before", 6, 0600, &err), 0);
    memset(large, 'x', sizeof large);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){1000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(file_write_whole(in_dir("log"), large, sizeof large, 0600, &err), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(file_read(in_dir("log"), 10000, &text, &size, &err), 0);
    assert_string_equal(text, "before");
    assert_int_equal(leftovers(), 0);
    free(text);
}

static void a_file_cannot_take_the_place_of_a_directory(void **state)
{
    json_t *one = json_pack("{s:i}", "n", 1);
    struct error err;

    assert_int_equal(dir_make(in_dir("taken/in"), &err), 0);
    assert_int_equal(file_write_whole(in_dir("taken"), "x", 1, 0600, &err), -1);
    assert_true(errno == EISDIR || errno == EEXIST || errno == ENOTEMPTY);
    assert_int_equal(file_create_json(in_dir("taken"), one, 0600, &err), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(leftovers(), 0);
    json_decref(one);
}

static bool begins_with_x(const char *line)
{
    return line[0] == 'x';
}

static void last_line_leaves_out_what_is_skipped(void **state)
{
    struct error err;
    char line[16];

    assert_int_equal(file_write_whole(in_dir("log"), "one\nx\ntwo\nx 1\n\nx 2\n", 20, 0600, &err), 0);
    file_last_line(in_dir("log"), begins_with_x, line, sizeof line);
    assert_string_equal(line, "two");
    assert_int_equal(file_write_whole(in_dir("log"), "x 1\nx 2", 7, 0600, &err), 0);
    file_last_line(in_dir("log"), begins_with_x, line, sizeof line);
    assert_string_equal(line, "");
}

static void marked_processes_are_found_in_other_sessions(void **state)
{
    int ready[2], stay[2], status;
    siginfo_t ended;
    char byte, part[sizeof dir], longer[sizeof dir + 1];
    pid_t pid;

    snprintf(part, sizeof part, "%.*s", (int)strlen(dir) - 1, dir);
    snprintf(longer, sizeof longer, "%s1", dir);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(stay, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        setsid();
        setenv("STRETTO_TEST_MARK", dir, 1);
        dup2(stay[0], 0);
        dup2(ready[1], 1);
        execl("/bin/sh", "sh", "-c", "echo; read x", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true(process_start_time(pid) > 0);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", "/another", 0), 0);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", part, 0), 0); /* task 7.1 is not 7.12 */
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", longer, 0), 0);
    assert_int_equal(process_signal_marked("STRETTO_TEST_MARK", dir, SIGKILL), 1);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_start_time(pid), 0); /* it has ended, though its parent has not noticed */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(process_start_time(pid), 0);
    close(ready[0]);
    close(ready[1]);
    close(stay[0]);
    close(stay[1]);
}

/* A program may call itself what it likes. */
static void a_process_is_the_same_whatever_its_name(void **state)
{
    static const char *const names[] = {"x) R (y", ")", "a b", "(", ") T 1 1 1 1 1"};
    unsigned long long start = process_start_time(getpid());
    char before[16];

    assert_true(start > 0);
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        assert_int_equal(process_start_time(getpid()), start);
        assert_false(process_is_stopped(getpid()));
    }
    prctl(PR_SET_NAME, before);
}

static void directories_are_made_with_their_parents(void **state)
{
    struct error err = {0};
    struct stat st;

    assert_int_equal(dir_make(in_dir("a/b/c"), &err), 0);
    assert_int_equal(dir_make(in_dir("a/b/c"), &err), 0);
    assert_int_equal(dir_make(in_dir("a/d/"), &err), 0);
    assert_int_equal(stat(in_dir("a/b/c"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(file_write_whole(in_dir("a/file"), "", 0, 0600 | FILE_UNFLUSHED, &err), 0);
    assert_int_equal(stat(in_dir("a/file"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(dir_make(in_dir("a/file"), &err), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(dir_make(in_dir("a/file/x/y"), &err), -1);
    assert_non_null(strstr(err.text, "a/file/x"));
    assert_int_equal(dir_make("/proc/no/such", &err), -1);
    assert_non_null(strstr(err.text, "/proc/no"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating_twice_keeps_the_first),
        cmocka_unit_test(a_link_that_was_made_is_no_failure),
        cmocka_unit_test(names_are_flushed_after_contents),
        cmocka_unit_test(broken_and_missing_files_are_told_apart),
        cmocka_unit_test(a_file_that_has_no_room_is_not_replaced),
        cmocka_unit_test(a_file_cannot_take_the_place_of_a_directory),
        cmocka_unit_test(a_file_of_ones_own_is_no_other_user_s_and_no_link),
        cmocka_unit_test(last_line_is_printable),
        cmocka_unit_test(last_line_leaves_out_what_is_skipped),
        cmocka_unit_test(directories_are_made_with_their_parents),
        cmocka_unit_test(a_process_is_the_same_whatever_its_name),
        cmocka_unit_test(marked_processes_are_found_in_other_sessions),
    };
    char rm[128];
    int rc;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}

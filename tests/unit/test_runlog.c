/* The log of a runner that the daemon watches: it costs no file until something asks for it, and then the file has all
 * of it. */
#include "tasks/runner/runlog.h"

#include "common/files.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[64], path[80];

static int open_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/runner.log", dir);
    return 0;
}

static int close_dir(void **state)
{
    unlink(path);
    return rmdir(dir);
}

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        _exit(9);
}

static int status_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_log(const char *wanted)
{
    struct error err;
    struct stat st;
    char *text;
    size_t size;

    assert_int_equal(file_read(path, 1000, &text, &size, &err), 0);
    assert_string_equal(text, wanted);
    free(text);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* Where the file cannot be made, it is made later, with what was said until then. */
static void it_is_tried_again(void **state)
{
    char moved[80];
    pid_t pid = fork();

    if (pid == 0) {
        snprintf(moved, sizeof moved, "%s-", dir);
        runlog_begin(dir);
        say(STDERR_FILENO, "one\n");
        if (rename(dir, moved) < 0)
            _exit(2);
        runlog_keep();
        say(STDERR_FILENO, "two\n");
        if (rename(moved, dir) < 0)
            _exit(3);
        runlog_keep();
        say(STDERR_FILENO, "three\n");
        _exit(0);
    }
    assert_int_equal(status_of(pid), 0);
    assert_log("one\ntwo\nthree\n");
}

/* One that was not begun is that of a batch system, which goes on. */
static void one_that_was_not_begun_is_left_alone(void **state)
{
    int pipes[2];
    char text[20] = "";
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        dup2(pipes[1], STDERR_FILENO);
        runlog_keep();
        say(STDERR_FILENO, "one\n");
        _exit(0);
    }
    close(pipes[1]);
    assert_int_equal(status_of(pid), 0);
    assert_int_equal(read(pipes[0], text, sizeof text - 1), 4);
    assert_string_equal(text, "one\n");
    assert_int_equal(access(path, F_OK), -1);
    close(pipes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_tried_again, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(one_that_was_not_begun_is_left_alone, open_dir, close_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which file is run for a task, with which words: its program, its launcher, and what goes on from a checkpoint. */
#include "config.h"

#include "tasks/runner/program.h"

#include "common/files.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64];

/* In place of copies.c. */
bool copies_are_meant(const struct jobdesc_task *task)
{
    return task->launcher != NULL && strcmp(task->launcher, "copies") == 0;
}

static void put(const char *name, mode_t mode)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_whole(path, "#!/bin/sh\n", 10, mode, &err), 0);
}

/* "first" has a directory and a file that may not be run, in place of programs; "second" has programs. */
static int open_dir(void **state)
{
    static const char *const dirs[] = {"first", "second", "task", "first/solve", "task/sub"};
    char path[160];
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, dirs[i]);
        assert_int_equal(dir_make(path, &err), 0);
    }
    put("first/plain", 0600);
    put("first/both", 0700);
    put("second/both", 0700);
    put("second/solve", 0700);
    put("second/run", 0700);
    put("task/own", 0700);
    put("task/sub/deep", 0700);
    put("task/data", 0600);
    return 0;
}

static int close_dir(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static struct program program;
static char said[2000]; /* "FILE WORD WORD …", where @ is the directory of the test, or the sentence of the failure */

static void note(const char *word)
{
    size_t n = strlen(said), len = strlen(dir);

    if (n > 0)
        strcat(said, " ");
    for (n = strlen(said); *word != '\0'; n++) {
        bool is_dir = strncmp(word, dir, len) == 0;

        said[n] = is_dir ? '@' : *word;
        word += is_dir ? len : 1;
        said[n + 1] = '\0';
    }
}

static const char *find(const char *name, const char *launcher, const char *const *launch, const char *checkpoint)
{
    static const struct program_word words[] = {{"{hosts}", "n1:2,n2:2"}, {"{hostfile}", "/h"}, {NULL, NULL}};
    char path[200], task_dir[100];
    struct jobdesc_task task = {.id = "7.1", .dir = task_dir, .ntasks = 4, .nodes = 2, .launcher = launcher};
    struct error err;

    snprintf(task_dir, sizeof task_dir, "%s/task", dir);
    snprintf(path, sizeof path, "%s/first::%s/second", dir, dir); /* the empty entry is the task's directory */
    task.argv = json_pack("[s, s, s]", name, "--n", "{hosts}");
    task.resume = json_pack("[s, s]", "--restart", "at={checkpoint}");
    said[0] = '\0';
    if (program_init(&program, &task, launch, path, words, checkpoint, &err) < 0) {
        note(err.text);
    } else {
        note(program.file);
        for (size_t i = 0; program.argv[i] != NULL; i++)
            note(program.argv[i]);
    }
    program_fini(&program);
    json_decref((json_t *)task.argv);
    json_decref((json_t *)task.resume);
    return said;
}

static void what_the_kernel_refuses_is_told(void **state)
{
    static const struct {
        int error;
        const char *why;
    } cases[] = {{ENOENT, "its interpreter is missing"}, {EACCES, "it is not executable (permission denied)"},
                 {ENOEXEC, "not a program for this machine (a script needs a first line such as #!/bin/sh)"},
                 {E2BIG, "its arguments and environment are too long"}, {EIO, "Input/output error"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program p = {.argv = (char *[]){"solve", NULL}};
        struct error err;
        char wanted[200];

        snprintf(wanted, sizeof wanted, "cannot start \"solve\": %s", cases[i].why);
        assert_int_equal(program_exec_error(&p, cases[i].error, &err), -1);
        assert_string_equal(err.text, wanted);
        assert_string_equal(err.code, "cannot_start");
    }
}

static void a_launcher_comes_before(void **state)
{
    static const char *const instead[] = {"run", "--exact", "--mem=0", NULL};
    char wanted[600];

    assert_string_equal(find("solve", "run", NULL, NULL), "@/second/run run -n 4 solve --n {hosts}");
    assert_string_equal(find("solve", "run", instead, NULL), "@/second/run run --exact --mem=0 -n 4 solve --n {hosts}");
    assert_string_equal(find("solve", "copies", (const char *const[]){"run", "--copies", "60", NULL}, NULL),
                        "@/second/run run --copies 60 solve --n {hosts}");
    assert_string_equal(find("none", "copies", (const char *const[]){"run", NULL}, NULL), "cannot start \"none\": not found on PATH");
    assert_string_equal(find("solve", "no-such-launcher", NULL, NULL),
                        "cannot start \"no-such-launcher\": not found on PATH");
    snprintf(wanted, sizeof wanted, "%s %s -n 4 solve --n {hosts}", STRETTO_MPIEXEC, STRETTO_MPIEXEC);
    assert_string_equal(find("solve", "mpiexec", NULL, NULL),
                        STRETTO_MPIEXEC[0]
                            ? wanted
                            : "cannot start \"solve\": stretto was built without MPI; name a launcher by its path");
    if (STRETTO_MPIEXEC[0])
        assert_string_equal(find("none", "mpiexec", NULL, NULL), "cannot start \"none\": not found on PATH");
}

/* A launcher of several words says itself how many processes there are; its placeholders are filled in, the program's
 * are not. */
static void a_launcher_of_several_words_is_filled_in(void **state)
{
    static const struct program_word words[] = {{"{hosts}", "n1:2,n2:2"}, {"{hostfile}", "/h"}, {NULL, NULL}};
    struct jobdesc_task task = {.dir = dir, .ntasks = 4, .launch = json_pack("[s, s, s, s]", "run", "-f{hostfile}", "{hosts}/{hosts}", "{other}"),
                                .argv = json_pack("[s, s]", "solve", "{hosts}")};
    struct error err;
    char path[100];

    snprintf(path, sizeof path, "%s/second", dir);
    assert_int_equal(program_init(&program, &task, NULL, path, words, NULL, &err), 0);
    said[0] = '\0';
    for (size_t i = 0; program.argv[i] != NULL; i++)
        note(program.argv[i]);
    assert_string_equal(said, "run -f/h n1:2,n2:2/n1:2,n2:2 {other} solve {hosts}");
    program_fini(&program);
    json_decref((json_t *)task.launch);
    json_decref((json_t *)task.argv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_kernel_refuses_is_told),
        cmocka_unit_test(a_launcher_comes_before),
        cmocka_unit_test(a_launcher_of_several_words_is_filled_in),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, open_dir, close_dir);
}

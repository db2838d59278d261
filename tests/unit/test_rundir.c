/* The run directory as worker threads read and write it: claims that were taken, records that are no records,
 * journals. */
#include "daemon/rundir/rundir.h"
#include "common/files.h"
#include "common/xalloc.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define MIB ((size_t)1 << 20)

static char dir[64];
static uv_loop_t loop;

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) == NULL || uv_loop_init(&loop) != 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    char rm[128];

    assert_int_equal(uv_loop_close(&loop), 0);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static char **paths_of(const char *const *names, size_t n)
{
    char **paths = xcalloc(n, sizeof *paths);

    for (size_t i = 0; i < n; i++)
        paths[i] = path_of(names[i]);
    return paths;
}

static void put(const char *name, const char *data, size_t size)
{
    char *path = path_of(name);
    struct error err;

    if (file_write_whole(path, data, size, 0600, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
}

/* The arguments of a callback. */
static struct told {
    int times;
    bool taken, failed;
    char text[256], code[64];
    size_t size;
    char *json[8];
    size_t n;
} told;

static void note_error(const struct error *err)
{
    told.times++;
    told.failed = err != NULL;
    snprintf(told.code, sizeof told.code, "%s", err != NULL ? err->code : "");
}

static void forget(void)
{
    told = (struct told){0};
}

static void run_loop(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(told.times, 1);
}

static void on_claimed(void *arg, bool taken, const struct error *err)
{
    told.taken = taken;
    note_error(err);
}

static void on_written(void *arg, const struct error *err)
{
    note_error(err);
}

static void on_read(void *arg, json_t **json, const struct error *err)
{
    for (size_t i = 0; i < told.n; i++)
        told.json[i] = err == NULL && json[i] != NULL ? json_dumps(json[i], JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    note_error(err);
}

static void on_tailed(void *arg, const char *text, size_t size, const struct error *err)
{
    snprintf(told.text, sizeof told.text, "%.64s", text);
    told.size = size;
    assert_int_equal(text[size], '\0');
    note_error(err);
}

static void on_tails(void *arg, const struct rundir_tail *files, size_t n)
{
    note_error(NULL);
    for (size_t i = 0; i < n; i++)
        told.size += (size_t)snprintf(told.text + told.size, sizeof told.text - told.size, "%zu:%.*s:%d:%d ", i,
                                      files[i].size < 10 ? (int)files[i].size : 1, files[i].size > 0 ? files[i].text : "",
                                      files[i].failed != 0, files[i].left);
}

/* Reads on in all of them, each from the same offset. */
static void tails(const char *const *names, size_t n, int64_t offset)
{
    struct rundir_tail *files = xcalloc(n, sizeof *files);

    for (size_t i = 0; i < n; i++)
        files[i] = (struct rundir_tail){.path = path_of(names[i]), .offset = offset};
    forget();
    rundir_ops.tails(&loop, files, n, on_tails, NULL);
    run_loop();
}

static void claim(const char *const *names, size_t n)
{
    forget();
    rundir_ops.claim(&loop, paths_of(names, n), n, json_pack("{s:s}", "by", "daemon"), on_claimed, NULL);
    run_loop();
}

static void read_all(const char *const *names, size_t n)
{
    forget();
    told.n = n;
    rundir_ops.read(&loop, paths_of(names, n), n, on_read, NULL);
    run_loop();
}

/* Counts what is missing of three steps of each of two members. */
static void count_missing(const char *const *names, size_t n)
{
    forget();
    told.n = 1;
    rundir_ops.missing(&loop, paths_of(names, n), n, (struct missing_question){.count = 2, .steps = 3}, on_read, NULL);
    run_loop();
}

static void tail(const char *name, int64_t offset)
{
    forget();
    rundir_ops.tail(&loop, path_of(name), offset, on_tailed, NULL);
    run_loop();
}

static void content_is(const char *name, const char *text)
{
    char *path = path_of(name), *there;
    struct error err;
    size_t size;

    if (file_read(path, MIB, &there, &size, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(there, text);
    free(there);
    free(path);
}

/* If a runner was first in one place, the other attempts of its job are still fenced. */
static void every_place_is_claimed_that_was_free(void **state)
{
    static const char *const names[] = {"a/b/exit.json", "c/exit.json", "d/exit.json"};

    claim(names, 1);
    assert_false(told.failed || told.taken);
    content_is(names[0], "{\"by\":\"daemon\"}\n");
    put("a/b/exit.json", "theirs", 6);
    claim(names, 3);
    assert_false(told.failed);
    assert_true(told.taken);
    content_is(names[0], "theirs");
    content_is(names[1], "{\"by\":\"daemon\"}\n");
    content_is(names[2], "{\"by\":\"daemon\"}\n");
}

static void a_place_that_cannot_be_claimed_is_an_error(void **state)
{
    static const char *const names[] = {"file/exit.json"};

    put("file", "x", 1);
    claim(names, 1);
    assert_true(told.failed);
    assert_false(told.taken);
}

/* A rank's held steps that cannot be read are unknown, and are not reported as missing. */
static void what_cannot_be_counted_is_an_error(void **state)
{
    static const char *const names[] = {"held", "folder"};
    char *folder = path_of("folder");

    put("held", "\1\0\0\0\3\0\0\0", 8);
    count_missing(names, 2);
    assert_string_equal(told.json[0], "{\"steps\":2,\"members\":1,\"first\":[{\"member\":0,\"steps\":2}]}");
    free(told.json[0]);
    assert_int_equal(mkdir(folder, 0700), 0);
    count_missing(names, 2);
    assert_true(told.failed);
    assert_string_equal(told.code, "file_read");
    free(folder);
}

static void files_come_after_their_directories(void **state)
{
    static const char *const names[] = {"j", "m/0/a1"};
    struct rundir_file *files = xcalloc(2, sizeof *files);
    struct stat st;
    char *path;

    files[0] = (struct rundir_file){.path = path_of("j/job.json"), .json = xstrdup("{}\n"), .mode = 0600};
    files[1] = (struct rundir_file){.path = path_of("m/0/a1/params.json"), .json = xstrdup("[1]\n"), .mode = 0640};
    forget();
    rundir_ops.write(&loop, paths_of(names, 2), 2, files, 2, on_written, NULL);
    run_loop();
    assert_false(told.failed);
    content_is("j/job.json", "{}\n");
    content_is("m/0/a1/params.json", "[1]\n");
    path = path_of("j/job.json");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(path);
}

static void a_file_that_cannot_be_written_is_told(void **state)
{
    static const char *const names[] = {"j"};
    struct rundir_file *files = xcalloc(2, sizeof *files);
    char *last;

    put("file", "x", 1);
    files[0] = (struct rundir_file){.path = path_of("file/job.json"), .json = xstrdup("{}\n"), .mode = 0600};
    files[1] = (struct rundir_file){.path = path_of("j/last.json"), .json = xstrdup("{}\n"), .mode = 0600};
    forget();
    rundir_ops.write(&loop, paths_of(names, 1), 1, files, 2, on_written, NULL);
    run_loop();
    assert_true(told.failed);
    last = path_of("j/last.json");
    assert_int_not_equal(access(last, F_OK), 0); /* what comes last says that all before it is there */
    free(last);
}

/* A file that is no record counts as none. Only a file system that fails is an error, from which nobody may draw
 * conclusions. */
static void what_is_no_record_is_not_there(void **state)
{
    static const char *const names[] = {"good.json", "absent.json", "broken.json", "good.json/below", "folder",
                                        "twice.json", "list.json", "last.json"};
    static const char *const broken[] = {"loop.json"};
    char *path = path_of("folder");

    put("good.json", "{\"a\":1}\n", 8);
    put("broken.json", "{\"a\":", 5);
    put("twice.json", "{\"a\":1,\"a\":2}", 13);
    put("last.json", "{\"b\":2}", 7);
    put("list.json", "[2]", 3);
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    read_all(names, 8);
    assert_false(told.failed);
    assert_string_equal(told.json[0], "{\"a\":1}");
    for (int i = 1; i < 7; i++)
        assert_null(told.json[i]);
    assert_string_equal(told.json[7], "{\"b\":2}");
    free(told.json[0]);
    free(told.json[7]);

    path = path_of("loop.json");
    assert_int_equal(symlink(path, path), 0);
    free(path);
    read_all(broken, 1);
    assert_true(told.failed);
}

static void whole_lines_are_read_on(void **state)
{
    char *path;

    tail("journal", 0);
    assert_false(told.failed);
    assert_int_equal(told.size, 0);
    put("journal", "one\ntwo\nthr", 11);
    tail("journal", 0);
    assert_string_equal(told.text, "one\ntwo\n");
    tail("journal", 4);
    assert_string_equal(told.text, "two\n");
    tail("journal", 8); /* a line that is still being written */
    assert_int_equal(told.size, 0);
    assert_false(told.failed);
    tail("journal", 100);
    assert_int_equal(told.size, 0);
    assert_false(told.failed);
    path = path_of("folder");
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    tail("folder", 0);
    assert_true(told.failed);
    assert_int_equal(told.size, 0);
    tail("journal/below", 0);
    assert_false(told.failed);
}

/* A line of a packed job may be longer than what is read at once; shorter ones come about 1 MiB at a time. */
static void a_line_may_be_longer_than_what_is_read_at_once(void **state)
{
    static const size_t sizes[] = {MIB - 1, MIB, MIB + 1, 4 * MIB - 1, 4 * MIB, 9 * MIB};
    char *line = malloc(9 * MIB + 16);

    memset(line, 'x', 9 * MIB + 16);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];

        line[size - 1] = '\n';
        memcpy(line + size, "next\n", 5);
        put("journal", line, size + 5);
        tail("journal", 0);
        assert_false(told.failed);
        assert_true(told.size == size || told.size == size + 5);
        tail("journal", (int64_t)size);
        assert_string_equal(told.text, "next\n");
        memset(line + size - 1, 'x', 6);
    }
    for (size_t i = 9; i < 3 * MIB; i += 10)
        line[i] = '\n';
    put("journal", line, 3 * MIB);
    tail("journal", 0);
    assert_true(told.size > 0 && told.size <= MIB && told.size % 10 == 0);
    free(line);
}

static void many_files_are_read_on_at_once(void **state)
{
    static const char *const names[] = {"journal", "absent", "folder", "pipe", "unfinished", "longer"};
    static const char *const heaps[] = {"heap", "heap", "journal", "absent"};
    char *heap = malloc(RUNDIR_TAILS), *path = path_of("folder");

    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    path = path_of("pipe");
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody ever writes into it */
    free(path);
    put("journal", "one\ntwo\nthr", 11);
    put("unfinished", "one", 3);
    put("longer", "one\ntwo\nthree\n", 14);
    tails(names, 6, 4);
    assert_string_equal(told.text, "0:two\n:0:0 1::0:0 2::1:0 3::1:0 4::0:0 5:t:0:0 ");

    memset(heap, '\n', RUNDIR_TAILS);
    put("heap", heap, RUNDIR_TAILS);
    tails(heaps, 4, 0); /* those behind a heap and a little more wait for the next time */
    assert_string_equal(told.text, "0:\n:0:0 1:\n:0:0 2::0:1 3::0:1 ");
    free(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_place_is_claimed_that_was_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_place_that_cannot_be_claimed_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_counted_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_come_after_their_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_written_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_record_is_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whole_lines_are_read_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_files_are_read_on_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_may_be_longer_than_what_is_read_at_once, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

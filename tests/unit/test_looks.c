/* The files that a task leaves as checkpoints, by how it ended, and by whether they had come to rest, with given file
 * times. */
#include "common/files.h"
#include "common/timefmt.h"
#include "tasks/runner/checkpoints.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOUR_MS 3600000

static char dir[64];
static struct checkpoints c;

static void put(const char *name, const char *text)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
}

/* It was written so long ago. */
static void put_ago(const char *name, const char *text, int64_t ms)
{
    int64_t at = time_now_ms() - ms;
    const struct timespec time = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000}, times[2] = {time, time};
    char path[160];

    put(name, text);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void begin_with(const char *glob)
{
    static struct jobdesc desc = {.job = "st-looks", .ensemble = 7, .checkpoint = {.any = true, .glob = "sub/*.ckpt", .keep = 9}};
    static struct jobdesc_task task = {.id = "7.0", .ntasks = 1};
    struct error err;

    desc.checkpoint.glob = glob;
    json_decref((json_t *)task.env);
    task.env = json_pack("{s:s, s:s}", "STRETTO_CHECKPOINT_DIR", dir, "STRETTO_ATTEMPT", "1");
    assert_int_equal(checkpoints_begin(&c, &desc, &task, &err), 0);
}

static void begin(void)
{
    begin_with("sub/*.ckpt");
}

static int64_t recorded_bytes; /* of a1.ckpt */

/* Looks while the task runs. Returns how many checkpoints are in the books then. */
static size_t look_at(int64_t now_ms)
{
    struct look *look = look_create(&c, LOOK_RUNNING, now_ms);
    struct ckpt_list list;
    struct error err;
    size_t n;

    assert_true(checkpoints_due(&c) == INT64_MAX); /* one look at a time */
    look_run(look);
    look_taken(look);
    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    n = list.n;
    for (size_t i = 0; i < n; i++)
        recorded_bytes = strcmp(list.items[i].path, "a1.ckpt") == 0 ? list.items[i].size : recorded_bytes;
    ckptdir_free(&list);
    return n;
}

/* Returns how many checkpoints there are after a task that ended so. */
static size_t count(enum look_when when)
{
    struct look *look = look_create(&c, when, 1000000);

    look_run(look);
    look_taken(look);
    return json_array_size(c.whole);
}

static int open_dir(void **state)
{
    char path[100];
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/sub", dir);
    return dir_make(path, &err);
}

static int close_dir(void **state)
{
    char rm[100];
    glob_t left;

    checkpoints_fini(&c);
    snprintf(rm, sizeof rm, "%s/.stretto-*", dir); /* none of the files that a look makes is left */
    assert_int_equal(glob(rm, 0, NULL, &left), GLOB_NOMATCH);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

/* A file that was written to until shortly before the end may be torn, unless the task ended by itself and well. */
static void what_was_written_shortly_before_a_bad_end_is_none(void **state)
{
    int64_t began;
    size_t n;

    do { /* again where this machine was held up, so that the file has come to rest */
        close_dir(state);
        open_dir(state);
        begin();
        began = time_monotonic_ms();
        put_ago("sub/a1.ckpt", "whole", HOUR_MS);
        put_ago("sub/a2.ckpt", "torn", 500);
        n = count(LOOK_ENDED);
    } while (time_monotonic_ms() - began > 1400);
    assert_int_equal(n, 1);
}

static void what_was_written_before_a_good_end_is_one(void **state)
{
    begin();
    put_ago("sub/a1.ckpt", "whole", HOUR_MS);
    put_ago("sub/a2.ckpt", "whole, too", 0);
    assert_int_equal(count(LOOK_CLEAN), 2);
}

/* A file that was there before is none of this task's, as long as it stays as it was. */
static void what_was_there_before_is_not_its_own(void **state)
{
    put_ago("sub/a1.ckpt", "before", HOUR_MS);
    put_ago("sub/a2.ckpt", "before", HOUR_MS);
    begin();
    put_ago("sub/a2.ckpt", "anothe", 2 * HOUR_MS); /* of the same size, and of an older time, as a copy may be */
    assert_int_equal(count(LOOK_CLEAN), 1);
}

/* A file that is renamed is whole at once; one that is closed is left alone until nobody has written to it for a
 * while. */
static void what_is_seen_is_taken_once_it_has_come_to_rest(void **state)
{
    begin_with("*.ckpt");
    assert_true(checkpoints_due(&c) == INT64_MAX);
    put("a1.ckpt", "whole");
    put("a1.ckpt.ckpt", "whole, too");
    put("notes", "none");
    checkpoints_saw(&c, "a1.ckpt", false, 10000);
    checkpoints_saw(&c, "notes", true, 10000);
    assert_int_equal(checkpoints_due(&c), 12000);
    checkpoints_saw(&c, "a1.ckpt.ckpt", true, 11000);
    assert_int_equal(checkpoints_due(&c), 11000);
    assert_int_equal(look_at(11000), 1);
    assert_int_equal(checkpoints_due(&c), 16000); /* and not sooner, so that not all the time is spent on looks */
    assert_int_equal(look_at(16000), 2);
    assert_true(checkpoints_due(&c) == INT64_MAX);
    checkpoints_saw(&c, "a1.ckpt", false, 20000); /* as it was */
    assert_int_equal(look_at(22000), 2);
    put("a1.ckpt", "written to");
    checkpoints_saw(&c, "a1.ckpt", false, 30000);
    put("a1.ckpt", "written to once more");
    assert_int_equal(look_at(32000), 2);
    assert_int_equal(recorded_bytes, strlen("whole")); /* it has changed since it was seen */
    checkpoints_saw(&c, "a1.ckpt", false, 40000);
    checkpoints_saw(&c, "a1.ckpt", false, 41000);
    assert_int_equal(checkpoints_due(&c), 43000);
    assert_int_equal(look_at(43000), 2);
    assert_int_equal(recorded_bytes, strlen("written to once more"));
    checkpoints_recorded(&c, 50000);
    checkpoints_recorded(&c, 51000);
    assert_int_equal(checkpoints_due(&c), 50000);
}

enum changed { SIZE, TIME, INODE, NOTHING };

/* Changes one of the marks of "a1.ckpt" by which a file is known, and no other. */
static void change(enum changed what)
{
    static const struct timespec first[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}}, other[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
    char path[160], copy[160];
    int fd;

    snprintf(path, sizeof path, "%s/a1.ckpt", dir);
    snprintf(copy, sizeof copy, "%s/copy", dir);
    if (what == SIZE) {
        fd = open(path, O_WRONLY | O_APPEND);
        assert_int_equal(write(fd, "!", 1), 1);
        close(fd);
    } else if (what == INODE) {
        put("copy", "whole");
        assert_int_equal(rename(copy, path), 0);
    }
    assert_int_equal(utimensat(AT_FDCWD, path, what == TIME ? other : first, 0), 0);
}

/* A file that has changed since it was seen is not at rest, and one that has changed since the task began is its
 * own. */
static void each_mark_of_a_file_counts(void **state)
{
    for (enum changed what = SIZE; what <= NOTHING; what++) {
        close_dir(state);
        open_dir(state);
        begin_with("*.ckpt");
        put("a1.ckpt", "whole");
        change(NOTHING);
        checkpoints_saw(&c, "a1.ckpt", false, 10000);
        change(what);
        assert_int_equal(look_at(12000), what == NOTHING);
        close_dir(state);
        open_dir(state);
        put("a1.ckpt", "whole");
        change(NOTHING);
        begin_with("*.ckpt");
        change(what);
        assert_int_equal(count(LOOK_CLEAN), what != NOTHING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_shortly_before_a_bad_end_is_none, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(what_was_written_before_a_good_end_is_one, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(what_was_there_before_is_not_its_own, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(each_mark_of_a_file_counts, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(what_is_seen_is_taken_once_it_has_come_to_rest, open_dir, close_dir),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Exit records on a sick disk: tried again until it is well, given up when waiting does not help. Virtual time. */
#include "tasks/runner/records.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#define START 1000
#define HOUR 3600000

struct disk {
    int failures; /* to come */
    int error;
    int tries;
    char order[16];
};

static struct disk disk;
static unsigned told;
static int64_t now;

static int64_t virtual_clock(void)
{
    return now;
}

static void written(void *arg)
{
    told++;
}

static int write_to_disk(const char *path, const void *what, struct error *err)
{
    disk.tries++;
    if (disk.failures > 0) {
        disk.failures--;
        errno = disk.error;
        return error_errno(err, "file_write", "cannot write %s", path);
    }
    strncat(disk.order, what, sizeof disk.order - strlen(disk.order) - 1);
    return 0;
}

static struct records *two_records(int failures, int error)
{
    struct records *r = records_create(virtual_clock, written, NULL);

    disk = (struct disk){.failures = failures, .error = error};
    told = 0;
    now = START;
    records_add(r, "/a", write_to_disk, "a");
    records_add(r, "/b", write_to_disk, "b");
    return r;
}

static void wait_for_disk(int error)
{
    struct records *r = two_records(9, error);

    for (records_work(r, HOUR); records_pending(r); records_work(r, HOUR)) {
        int tries = disk.tries;

        assert_int_equal(told, 0);
        assert_true(records_due(r) > now);
        now = records_due(r) - 1;
        records_work(r, HOUR); /* not before its time */
        assert_int_equal(disk.tries, tries);
        now = records_due(r);
    }
    assert_int_equal(records_failing_since(r), 0);
    assert_int_equal(disk.tries, 9 + 2);
    assert_string_equal(disk.order, "ab");
    assert_int_equal(told, 2);
    assert_false(records_lost(r));
    assert_true(records_due(r) == INT64_MAX);
    assert_true(now > 20000 && now < 60000); /* backs off, but not for ever */
    records_destroy(r);
}

static void what_passes_is_waited_for(void **state)
{
    static const int passing[] = {ENOSPC, EDQUOT, EIO, ESTALE, EAGAIN, EINTR, ENOMEM, ENFILE, ETIMEDOUT, ENOLCK, EROFS};

    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        wait_for_disk(passing[i]);
}

static int64_t when_given_up(int failures, int error, int64_t give_up)
{
    struct records *r = two_records(failures, error);

    for (records_work(r, give_up); !records_lost(r) && records_pending(r); records_work(r, give_up))
        now = records_due(r);
    assert_true(records_lost(r));
    records_work(r, give_up);
    records_destroy(r);
    return now;
}

static void it_is_given_up_in_the_end(void **state)
{
    int64_t at = when_given_up(1000, ENOSPC, 60000);

    assert_true(at >= 60000 && at < 80000);
    at = when_given_up(1000, ENOSPC, 0); /* the walltime is over: some time is left all the same */
    assert_true(at >= 10000 && at < 25000);
    at = when_given_up(1000, ENOENT, HOUR); /* no use in waiting */
    assert_true(at >= 10000 && at < 25000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passes_is_waited_for),
        cmocka_unit_test(it_is_given_up_in_the_end),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ends for want of memory, as the kernel counts them in files. */
#include "tests/unit/unit.h"

#include "common/files.h"
#include "tasks/runner/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[64];

static void put(const char *file, const char *text)
{
    char path[256], *slash;
    struct error err;

    snprintf(path, sizeof path, "%s/%s", root, file);
    slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(dir_make(path, &err), 0);
    *slash = '/';
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
}

static int make_root(void **state)
{
    snprintf(root, sizeof root, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", root);
    return system(rm);
}

static void each_end_counts_once(const char *file, const char *none, const char *two)
{
    struct oom oom;

    put(file, none);
    oom_init(&oom, root);
    assert_non_null(oom.file);
    assert_false(oom_struck(&oom));
    put(file, two);
    assert_true(oom_struck(&oom));
    assert_true(oom_struck(&oom));
    assert_false(oom_struck(&oom));
    oom_fini(&oom);
}

static void version_2(void **state)
{
    put("proc/self/cgroup", "0::/user.slice/job_7\n");
    each_end_counts_once("sys/fs/cgroup/user.slice/job_7/memory.events",
                         "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n",
                         "low 0\nhigh 0\nmax 90\noom 40\noom_kill 5\noom_group_kill 0\n");
}

static void version_1(void **state)
{
    put("proc/self/cgroup", "4:memory:/slurm/job_7\n3:cpuset:/\n0::/\n");
    each_end_counts_once("sys/fs/cgroup/memory/slurm/job_7/memory.oom_control",
                         "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
                         "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
}

static void where_nothing_is_counted_nothing_is_said(void **state)
{
    struct oom oom;

    oom_init(&oom, root);
    assert_false(oom_struck(&oom));
    oom_fini(&oom);
    put("proc/self/cgroup", "0::/elsewhere\n1:cpu:/\nnonsense\n");
    oom_init(&oom, root);
    assert_false(oom_struck(&oom));
    oom_fini(&oom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(version_1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(where_nothing_is_counted_nothing_is_said, make_root, remove_root),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

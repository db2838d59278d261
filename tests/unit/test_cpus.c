/* CPUs are divided so that each has a whole part of the machine. */
#include "tasks/runner/cpus.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static int read_number(int cpu, const char *what)
{
    char path[100];
    int value = 0;
    FILE *f;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, what);
    f = fopen(path, "re");
    if (f != NULL && fscanf(f, "%d", &value) != 1)
        value = 0;
    if (f != NULL)
        fclose(f);
    return value;
}

/* All that this process may use, where they are the job's, with the places that the kernel says. */
static void the_cpus_of_a_job_are_listed_by_their_places(void **state)
{
    static const char *const says[][2] = {
        {"SLURM_JOB_ID", "SLURM_CPUS_ON_NODE"}, {"PBS_JOBID", "NCPUS"}, {"PBS_JOBID", "PBS_NUM_PPN"}, {"ALPS_APP_ID", "ALPS_APP_DEPTH"}};
    struct cpus cpus;
    char text[16];
    cpu_set_t set;
    int n;

    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    n = CPU_COUNT(&set);
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        snprintf(text, sizeof text, "%d", n);
        for (size_t j = 0; j < sizeof says / sizeof *says; j++) {
            unsetenv(says[j][0]);
            unsetenv(says[j][1]);
        }
        setenv(says[i][1], text, 1);
        assert_false(cpus_own(&cpus)); /* in no job of that batch system */
        setenv(says[i][0], "17", 1);
        assert_true(cpus_own(&cpus));
        assert_int_equal(cpus.n, n);
        for (size_t j = 0; j < cpus.n; j++) {
            assert_true(CPU_ISSET(cpus.list[j].id, &set));
            assert_int_equal(cpus.list[j].core, read_number(cpus.list[j].id, "core_id"));
            assert_int_equal(cpus.list[j].package, read_number(cpus.list[j].id, "physical_package_id"));
        }
        cpus_fini(&cpus);
        snprintf(text, sizeof text, "%d", n - 1);
        setenv(says[i][1], text, 1);
        assert_false(cpus_own(&cpus)); /* others run on them, too */
        assert_null(cpus.list);
        setenv(says[i][1], "many", 1);
        assert_false(cpus_own(&cpus));
        snprintf(text, sizeof text, "%d", n + 1);
        setenv(says[i][1], text, 1);
        assert_true(cpus_own(&cpus));
        cpus_fini(&cpus);
        cpus_disown();
        assert_false(cpus_own(&cpus));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpus_of_a_job_are_listed_by_their_places),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

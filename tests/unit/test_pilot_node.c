/* What a pilot finds of its node, which number the node has, and how pilots get onto all nodes of an allocation. */
#include "tests/unit/pilot_rig.h"

#include "common/files.h"
#include "common/xalloc.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* In place of execvp(): a launcher only says how it was started. */

static char launched[8000];

int __wrap_execvp(const char *file, char *const *argv);

int __wrap_execvp(const char *file, char *const *argv)
{
    size_t n = 0;

    launched[0] = '\0';
    for (size_t i = 0; argv[i] != NULL; i++)
        n += (size_t)snprintf(launched + n, sizeof launched - n, "%s%s", i > 0 ? " " : "", argv[i]);
    errno = ENOENT;
    return -1;
}

struct variables {
    const char *list[8]; /* NAME=VALUE */
};

static void set(const struct variables *v)
{
    for (size_t i = 0; i < 8 && v->list[i] != NULL; i++) {
        char *name = xstrdup(v->list[i]), *value = strchr(name, '=');

        *value++ = '\0';
        setenv(name, value, 1);
        free(name);
    }
}

static void unset(const struct variables *v)
{
    for (size_t i = 0; i < 8 && v->list[i] != NULL; i++) {
        char *name = xstrdup(v->list[i]);

        *strchr(name, '=') = '\0';
        unsetenv(name);
        free(name);
    }
}

static int64_t usable(void)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static int64_t number_in(json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void it_takes_what_it_is_told_or_finds(void **state)
{
    const int64_t all = usable(), memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    const struct {
        const char *config;
        struct variables variables;
        int64_t cpus, gpus, memory, deadline;
    } cases[] = {
        {"{\"cpus\": 8, \"memory\": 1000}", {{"SLURM_CPUS_ON_NODE=6", "STRETTO_GPUS=a,b", "CUDA_VISIBLE_DEVICES=0,1,2"}}, 8, 2, 1000, -1},
        {"{}", {{"SLURM_CPUS_ON_NODE=6", "SLURM_MEM_PER_NODE=100", "CUDA_VISIBLE_DEVICES=0,1,2", "STRETTO_DEADLINE=4000000000"}}, 6, 3, 104857600, 4000000000},
        {"{}", {{"PBS_JOBID=1", "NCPUS=5", "PBS_NUM_PPN=4", "STRETTO_GPUS=", "CUDA_VISIBLE_DEVICES=0"}}, 5, 0, memory, -1},
        {"{}", {{"PBS_JOBID=1", "PBS_NUM_PPN=4", "SLURM_CPUS_ON_NODE=0"}}, 4, 0, memory, -1},
        {"{}", {{"PBS_JOBID=1"}}, all, 0, memory, -1},
        {"{\"cpus\": 0, \"memory\": 0}", {{"NCPUS=5", "PBS_NUM_PPN=4", "STRETTO_DEADLINE=0"}}, all, 0, memory, -1},
        {"{}", {{"STRETTO_GPUS=one"}}, all, 1, memory, -1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *line;

        configure(cases[i].config);
        set(&cases[i].variables);
        assert_int_equal(fly(false), 0);
        unset(&cases[i].variables);
        line = line_of(0, "ready", NULL);
        assert_non_null(line);
        if (number_in(line, "cpus") != cases[i].cpus || number_in(line, "gpus") != cases[i].gpus ||
            number_in(line, "memory") != cases[i].memory || number_in(line, "deadline") != cases[i].deadline ||
            number_in(line, "pid") != getpid())
            fail_msg("case %zu", i);
        json_decref(line);
    }
}

static void its_host_is_told(void **state)
{
    char host[64] = "";
    json_t *line;

    configure("{}");
    assert_int_equal(fly(false), 0);
    line = line_of(0, "ready", NULL);
    gethostname(host, sizeof host - 1);
    assert_string_equal(json_string_value(json_object_get(line, "host")), host);
    json_decref(line);
}

static void a_damaged_configuration_is_refused(void **state)
{
    static const char *const configs[] = {"{\"nodes\": 0}", "{\"nodes\": 100001}", "{\"job\": 5}", "{\"nodes\": \"1\"}"};
    char *path = xasprintf("%s/pilot.json", dir);

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        configure(configs[i]);
        assert_int_equal(fly(true), EX_CONFIG);
        assert_null(line_of(0, "ready", NULL));
    }
    configure("{\"nodes\": 100000}");
    assert_int_equal(fly(true), 0);
    unlink(path);
    assert_int_equal(fly(true), EX_CONFIG);
    free(path);
}

static bool is_there(int node)
{
    json_t *line = line_of(node, "ready", NULL);
    bool is = line != NULL;

    json_decref(line);
    return is;
}

static void nodes_are_numbered_as_they_come(void **state)
{
    char *inbox = xasprintf("%s/node1/inbox", dir);
    struct stat st;

    configure("{\"nodes\": 2}");
    assert_int_equal(fly(true), 0);
    assert_true(is_there(0) && !is_there(1));
    assert_int_equal(fly(true), 0);
    assert_true(is_there(1));
    assert_int_equal(stat(inbox, &st), 0);
    assert_true(S_ISDIR(st.st_mode) && (st.st_mode & 077) == 0);
    assert_int_equal(fly(true), EX_IOERR); /* there are two on two nodes */
    free(inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_takes_what_it_is_told_or_finds),
        cmocka_unit_test(its_host_is_told),
        cmocka_unit_test(a_damaged_configuration_is_refused),
        cmocka_unit_test(nodes_are_numbered_as_they_come),
    };

    return RIG_MAIN("pilot_node", tests);
}

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

#define JOB(name, cpus) "{\"job\": \"" name "\", \"dir\": \"/jobs/" name "\", \"cpus\": " cpus ", \"descriptor\": {}}\n"

/* Where the batch system has given it all that it may use: two jobs at once have no CPU in common. */
static void its_jobs_are_bound_to_cpus_of_their_own(void **state)
{
    static const struct rig_event all[] = {{1000, hand_over, JOB("stay-a", "1") JOB("stay-b", "1") JOB("stay-c", "0")}, {2000, end_jobs, NULL},
                                           {3000, hand_over, JOB("stay-d", "1")}, {0}};
    const int64_t n = usable();
    char cpus[64];

    for (int bound = 0; bound < 2; bound++) {
        const struct variables v = {{"SLURM_JOB_ID=1", cpus}};
        json_t *a, *b, *c, *d;

        if (n < 2)
            skip();
        snprintf(cpus, sizeof cpus, "SLURM_CPUS_ON_NODE=%d", bound ? (int)n : 2 * (int)n);
        configure("{}");
        if (!bound) /* it has more than there are: nobody knows which are its own */
            snprintf(cpus, sizeof cpus, "SLURM_CPUS_ON_NODE=%d", (int)n - 1 > 1 ? (int)n - 1 : 1);
        if (!bound)
            configure("{\"cpus\": 2}");
        set(&v);
        events = all;
        assert_int_equal(fly(false), 0);
        unset(&v);
        a = report_of("stay-a");
        b = report_of("stay-b");
        c = report_of("stay-c");
        d = report_of("stay-d"); /* it has one of those that have ended */
        assert_int_equal(number_in(a, "cpus"), bound ? 1 : n);
        assert_int_equal(number_in(b, "cpus"), bound ? 1 : n);
        assert_int_equal(number_in(c, "cpus"), n);
        assert_int_equal(number_in(d, "cpus"), bound ? 1 : n);
        if (bound)
            assert_int_not_equal(number_in(a, "cpu"), number_in(b, "cpu"));
        json_decref(a);
        json_decref(b);
        json_decref(c);
        json_decref(d);
    }
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

static void or_as_aprun_numbers_them(void **state)
{
    const struct variables second = {{"ALPS_APP_PE=1", "ALPS_APP_ID=46"}}, none = {{"ALPS_APP_PE=2", "ALPS_APP_ID=46"}};

    configure("{\"nodes\": 2}");
    set(&second);
    assert_int_equal(fly(false), 0);
    assert_true(is_there(1) && !is_there(0));
    assert_int_equal(fly(false), EX_IOERR);
    set(&none);
    assert_int_equal(fly(false), EX_IOERR);
    assert_false(is_there(2));
    configure("{\"nodes\": 1}"); /* it is alone, whatever has started it */
    assert_int_equal(fly(false), 0);
    assert_true(is_there(0));
    unset(&none);
}

/* Starts those on all nodes, in a process of its own, which would become the launcher. Returns its status. */
static int launch(const char *config, const struct variables *v)
{
    int status;
    pid_t pid;

    configure(config);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char *path = xasprintf("%s/launched", dir);
        struct error err;

        set(v);
        launched[0] = '\0';
        status = fly(false);
        if (file_write_whole(path, launched, strlen(launched), 0600, &err) < 0)
            _exit(99);
        free(path);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char *text_of(const char *name)
{
    char *path = xasprintf("%s/%s", dir, name), *text;
    struct error err;
    size_t size;

    if (file_read(path, 1 << 20, &text, &size, &err) < 0)
        text = NULL;
    for (size_t i = 0; text != NULL && i < size; i++)
        text[i] = text[i] == '\0' ? '\n' : text[i];
    free(path);
    return text;
}

static void a_launcher_starts_one_on_each_node(void **state)
{
    static const char srun[] = "srun --ntasks-per-node=1 --cpu-bind=none --kill-on-bad-exit=1 --mpi=none --input=none --quiet --nodes=3 --ntasks=3";
    static const struct {
        const char *config;
        struct variables variables;
        const char *words; /* NULL: nobody can tell how */
        bool leaves_environment;
    } cases[] = {
        {"{\"nodes\": 3}", {{NULL}}, NULL, false},
        {"{\"nodes\": 3}", {{"SLURM_JOB_ID=1"}}, srun, false},
        {"{\"nodes\": 3}", {{"SLURM_JOB_ID=1", "PBS_JOBID=1"}}, srun, false},
        {"{\"nodes\": 3}", {{"PBS_JOBID=1"}}, "pbsdsh --", true},
        {"{\"nodes\": 3}", {{"PBS_JOBID=1", "PBS_NUM_PPN=2"}}, "pbsdsh -u --", true},
        {"{\"nodes\": 3, \"launcher\": [\"ours\", \"-x\"]}", {{"SLURM_JOB_ID=1"}}, "ours -x", false},
        {"{\"nodes\": 3, \"launcher\": [\"ours\"]}", {{"PBS_JOBID=1"}}, "ours", true},
        {"{\"nodes\": 3, \"launcher\": [\"ours\"]}", {{NULL}}, "ours", false},
    };
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(n > 0);
    self[n] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = launch(cases[i].config, &cases[i].variables);
        char *words = text_of("launched"), *environment = text_of("environment"), *wanted;

        wanted = cases[i].words != NULL ? xasprintf("%s %s --pilot-node %s", cases[i].words, self, dir) : xstrdup("");
        assert_string_equal(words, wanted);
        assert_int_equal(status, cases[i].words != NULL ? EX_OSERR : EX_CONFIG); /* it has not become one */
        assert_int_equal(environment != NULL, cases[i].leaves_environment);
        free(words);
        free(environment);
        free(wanted);
    }
}

/* On the other nodes they have the environment of the job, but for what is the first node's own. */
static void its_environment_goes_along(void **state)
{
    const struct variables v = {{"PBS_JOBID=1", "OURS=a=b\nc", "STRETTO_GPUS=a,b", "CUDA_VISIBLE_DEVICES=1", "NCPUS=3", "TMPDIR=/tmp", "EMPTY=", "HOSTNAME=me"}};
    const struct variables of_node = {{"PBS_JOBID=2", "NCPUS=7", "OURS=else"}};
    char *text, *path = xasprintf("%s/environment", dir);
    struct stat st;
    json_t *line;

    launch("{\"nodes\": 2}", &v);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    text = text_of("environment");
    assert_non_null(strstr(text, "\nOURS=a=b\nc\n"));
    assert_non_null(strstr(text, "\nSTRETTO_GPUS=a,b\n"));
    assert_non_null(strstr(text, "\nEMPTY=\n"));
    assert_null(strstr(text, "CUDA_VISIBLE_DEVICES"));
    assert_null(strstr(text, "NCPUS"));
    assert_null(strstr(text, "TMPDIR"));
    assert_null(strstr(text, "HOSTNAME"));
    assert_null(strstr(text, "PBS_JOBID"));
    free(text);
    set(&of_node);
    setenv("EMPTY", "not", 1);
    assert_int_equal(fly(true), 0);
    assert_string_equal(getenv("OURS"), "a=b\nc");
    assert_string_equal(getenv("EMPTY"), "");
    assert_string_equal(getenv("NCPUS"), "7");
    line = line_of(0, "ready", NULL);
    assert_int_equal(number_in(line, "cpus"), 7);
    assert_int_equal(number_in(line, "gpus"), 2);
    json_decref(line);
    unlink(path); /* without it nothing can be started */
    assert_int_equal(fly(true), EX_IOERR);
    unsetenv("PBS_JOBID");
    assert_int_equal(fly(true), 0); /* unless it is not needed */
    unset(&v);
    unset(&of_node);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_takes_what_it_is_told_or_finds),
        cmocka_unit_test(its_host_is_told),
        cmocka_unit_test(its_jobs_are_bound_to_cpus_of_their_own),
        cmocka_unit_test(a_damaged_configuration_is_refused),
        cmocka_unit_test(nodes_are_numbered_as_they_come),
        cmocka_unit_test(or_as_aprun_numbers_them),
        cmocka_unit_test(a_launcher_starts_one_on_each_node),
        cmocka_unit_test(its_environment_goes_along),
    };

    return RIG_MAIN("pilot_node", tests);
}

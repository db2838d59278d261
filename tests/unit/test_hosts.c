/* The hosts of a task, and the port at which its processes meet. */
#include "tests/unit/unit.h"

#include "tasks/runner/hosts.h"
#include "tasks/runner/port.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void forget_batch_system(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "SLURMD_NODENAME", "SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE",
                                        "PBS_NODEFILE", "OAR_NODEFILE"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

static void assert_hosts(int64_t nodes, int64_t ntasks, const char *wanted)
{
    struct error err = {0};
    struct hosts hosts;
    char *text;

    if (hosts_find(&hosts, nodes, ntasks, &err) < 0)
        fail_msg("%s", err.text);
    text = hosts_text(&hosts, ',');
    assert_string_equal(text, wanted);
    free(text);
    hosts_fini(&hosts);
}

static void assert_expands(const char *list, const char *wanted)
{
    struct hosts hosts;
    char *text;

    assert_int_equal(hosts_expand(&hosts, list), 0);
    for (size_t i = 0; i < hosts.n; i++)
        hosts.list[i].slots = 1;
    text = hosts_text(&hosts, ' ');
    assert_string_equal(text, wanted);
    free(text);
    hosts_fini(&hosts);
}

static void lists_of_slurm_are_expanded(void **state)
{
    static const char *const wrong[] = {"", ",", "a,", "n[", "n[1", "n[1-", "n[x]", "n[3-1]", "n[1-2x]", "n[1234567890]",
                                        "n[0-999999]"};
    struct hosts hosts;

    assert_expands("a", "a:1");
    assert_expands("a,b.example.org", "a:1 b.example.org:1");
    assert_expands("n[08-10,3],login[1]x,z", "n08:1 n09:1 n10:1 n3:1 login1x:1 z:1");
    assert_expands("r[1-2]n[1,3]", "r1n1:1 r1n3:1 r2n1:1 r2n3:1");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hosts_expand(&hosts, wrong[i]), -1);
}

static void a_list_with_slots_is_read_back(void **state)
{
    static const char *const wrong[] = {"", "a", "a:", ":1", "a:0", "a:-1", "a:1x", "a:1,", "a:1,,b:1"};
    struct hosts hosts;

    assert_int_equal(hosts_parse(&hosts, "a:2,fe80::1:3"), 0);
    assert_int_equal(hosts.n, 2);
    assert_string_equal(hosts.list[0].name, "a");
    assert_int_equal(hosts.list[0].slots, 2);
    assert_string_equal(hosts.list[1].name, "fe80::1");
    assert_int_equal(hosts.list[1].slots, 3);
    hosts_fini(&hosts);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hosts_parse(&hosts, wrong[i]), -1);
}

static void one_node_is_this_host(void **state)
{
    char name[256] = "", wanted[300];

    forget_batch_system();
    gethostname(name, sizeof name - 1);
    snprintf(wanted, sizeof wanted, "%s:4", name);
    assert_hosts(1, 4, wanted);
    setenv("SLURM_JOB_NODELIST", "n[1-9]", 1); /* a pilot's allocation: the member is on one of them */
    assert_hosts(1, 4, wanted);
    setenv("SLURM_JOB_ID", "1", 1);
    setenv("SLURMD_NODENAME", "n7", 1);
    assert_hosts(1, 4, "n7:4");
}

static void slurm_tells_where_processes_are(void **state)
{
    struct error err = {0};
    struct hosts hosts;

    forget_batch_system();
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    assert_hosts(3, 5, "n1:2,n2:2,n3:1");
    assert_hosts(3, 1, "n1:1,n2:1,n3:1"); /* each can be used */
    setenv("SLURM_TASKS_PER_NODE", "1,2(x2)", 1);
    assert_hosts(3, 5, "n1:1,n2:2,n3:2");
    assert_hosts(3, 6, "n1:2,n2:2,n3:2"); /* Slurm has counted something else */
    setenv("SLURM_TASKS_PER_NODE", "nonsense", 1);
    assert_hosts(3, 5, "n1:2,n2:2,n3:1");
    assert_int_equal(hosts_find(&hosts, 2, 2, &err), -1);
    assert_non_null(strstr(err.text, "it is to have 2 nodes, and the batch system names 3"));
}

static void a_file_tells_where_processes_are(void **state)
{
    char path[] = "/tmp/stretto-test-hosts-XXXXXX", name[HOSTS_NAME_MAX + 1], wanted[HOSTS_NAME_MAX + 20];
    FILE *f = fdopen(mkstemp(path), "w");

    forget_batch_system();
    fputs("c1\nc2\nc2\nc1\nc2\n", f);
    fclose(f);
    setenv("PBS_NODEFILE", path, 1);
    assert_hosts(2, 5, "c1:2,c2:3");
    assert_hosts(2, 4, "c1:2,c2:2");
    unsetenv("PBS_NODEFILE");
    setenv("OAR_NODEFILE", path, 1);
    assert_hosts(2, 5, "c1:2,c2:3");
    memset(name, 'x', HOSTS_NAME_MAX);
    name[HOSTS_NAME_MAX] = '\0';
    f = fopen(path, "w"); /* as long as a name can be */
    fprintf(f, "%s\nc1\n%s\n", name, name);
    fclose(f);
    snprintf(wanted, sizeof wanted, "%s:2,c1:1", name);
    assert_hosts(2, 3, wanted);
    unlink(path);
    unsetenv("OAR_NODEFILE");
}

static void a_port_that_somebody_has_is_not_taken(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int lock, port = port_take(777, &lock), again, fd = socket(AF_INET, SOCK_STREAM, 0);

    close(lock);
    address.sin_port = htons((uint16_t)port);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    again = port_take(777, &lock);
    assert_true(again > 0 && again != port);
    close(lock);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_slurm_are_expanded),
        cmocka_unit_test(a_list_with_slots_is_read_back),
        cmocka_unit_test(one_node_is_this_host),
        cmocka_unit_test(slurm_tells_where_processes_are),
        cmocka_unit_test(a_file_tells_where_processes_are),
        cmocka_unit_test(a_port_that_somebody_has_is_not_taken),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

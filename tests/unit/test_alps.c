/* The lists of nodes that allocations name, and what aprun prints. */
#include "common/files.h"
#include "scheduler-adapters/alps.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static void put(const char *name, const char *text)
{
    char path[128];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
}

static int open_dir(void **state)
{
    char pilot[80];

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(pilot, sizeof pilot, "%s/pilot", dir);
    return mkdir(pilot, 0700);
}

static int close_dir(void **state)
{
    char rm[128];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void assert_nids(const char *text, const char *wanted)
{
    char got[200] = "";
    int *nids;
    size_t n;

    if (wanted == NULL) {
        assert_int_equal(alps_nids_parse(text, &nids, &n), -1);
        return;
    }
    assert_int_equal(alps_nids_parse(text, &nids, &n), 0);
    for (size_t i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i > 0 ? " " : "", nids[i]);
    free(nids);
    assert_string_equal(got, wanted);
}

static void lists_of_nodes_are_read(void **state)
{
    assert_nids("3-6,9", "3 4 5 6 9");                             /* Cobalt */
    assert_nids("12", "12");
    assert_nids("nid00003,nid00012", "3 12");                      /* Slurm */
    assert_nids("nid000[12-14,17],nid00[100-101]", "12 13 14 17 100 101");
    assert_nids("nid00003\nnid00003\nnid00004\n", "3 4");          /* PBS, a line for each CPU */
    assert_nids("7\n7\n8\n", "7 8");
    assert_nids("mom3\n", NULL);                                   /* the service node */
    assert_nids("nid12[1-2]", NULL);                               /* would be 121 and 122 */
    assert_nids("", NULL);
    assert_nids("6-3", NULL);
    assert_nids("3-", NULL);
    assert_nids("-3", NULL);
    assert_nids("3,", "3");
    assert_nids("3,,4", NULL);
    assert_nids("0-1,1000", "0 1 1000");
    assert_nids("5-5", "5");
    assert_nids("999998-999999", "999998 999999");
    assert_nids("999999-1000000", NULL);
    assert_nids("1000000", NULL);
    assert_nids("9, 7\n \n8", "9 7 8");
    assert_nids("nid[00003-00004]", "3 4");
    assert_nids("nid00[003,012],nid00020", "3 12 20");
    assert_nids("nid000[12-14", NULL);
    assert_nids("nid000[12;14]", NULL);
    assert_nids("nid000[12]x", NULL);
    assert_nids("nid000[]", NULL);
    assert_nids("nid", NULL);
    assert_nids("nid00003;nid00004", NULL);
    assert_nids("3 x", NULL);
    assert_nids("1-99999999", NULL);
}

static void the_allocation_is_found(void **state)
{
    char path[128];
    int *nids;
    size_t n;

    unsetenv("COBALT_PARTNAME");
    unsetenv("SLURM_JOB_NODELIST");
    unsetenv("PBS_NODEFILE");
    assert_int_equal(alps_nids_find(&nids, &n), -1);
    put("nodes", "nid00005\nnid00006\n");
    snprintf(path, sizeof path, "%s/nodes", dir);
    setenv("PBS_NODEFILE", path, 1);
    assert_int_equal(alps_nids_find(&nids, &n), 0);
    assert_int_equal(n, 2);
    free(nids);
    setenv("SLURM_JOB_NODELIST", "nid0000[1-4]", 1);
    assert_int_equal(alps_nids_find(&nids, &n), 0);
    assert_int_equal(n, 4);
    free(nids);
    setenv("COBALT_PARTNAME", "3-5", 1);
    assert_int_equal(alps_nids_find(&nids, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(nids[0], 3);
    free(nids);
    setenv("COBALT_PARTNAME", "partition", 1); /* of another machine */
    assert_int_equal(alps_nids_find(&nids, &n), 0);
    assert_int_equal(n, 4);
    free(nids);
    unsetenv("COBALT_PARTNAME");
    unsetenv("SLURM_JOB_NODELIST");
    put("nodes", "mom1\n");
    assert_int_equal(alps_nids_find(&nids, &n), -1);
}

static struct alps_files read_with(const char *log)
{
    struct alps_files files = {0};

    put("aprun.log", log);
    alps_files_read(dir, &files);
    alps_files_fini(&files);
    return files;
}

#define RESOURCES "Application 46 resources: utime ~3s, stime ~1s, Rss ~155520, inblocks ~706, outblocks ~960\n"

static void ends_are_read(void **state)
{
    struct alps_files files = read_with(RESOURCES);

    assert_string_equal(files.words, "");
    files = read_with("Application 46 exit codes: 127\n" RESOURCES);
    assert_string_equal(files.words, "Application 46 exit codes: 127");
    assert_false(files.end.node_lost || files.end.no_room);
    assert_int_equal(files.end.lost_nid, -1);
    files = read_with("Application 46 exit codes: 1, 3\nApplication 46 exit signals: Killed\n"
                      "Application 46 resources: utime ~3s stime ~1s\n"); /* an older form */
    assert_string_equal(files.words, "Application 46 exit signals: Killed");
    files = read_with("[NID 04371] 2015-05-29 22:20:18 Apid 46: OOM killer terminated this process.\n"
                      "[NID 04371] 2015-05-29 22:20:18 Apid 46: initiated application termination\n"
                      "Application 46 exit signals: Killed\n" RESOURCES);
    assert_non_null(strstr(files.words, "OOM killer"));
    assert_false(files.end.node_lost);
    files =
        read_with("[NID 00012] 2015-05-29 22:20:18 Apid 46 killed. Received node failed or halted event for nid 12\n");
    assert_true(files.end.node_lost);
    assert_int_equal(files.end.lost_nid, 12);
    files = read_with("apsched: claim exceeds reservation's node-count\n");
    assert_true(files.end.no_room);
    files = read_with("apsched: no more claims allowed for this reservation (max 1000)\n");
    assert_true(files.end.no_room);
    files = read_with("apsched: no more claims allowed for this reservation (max 1000)\nApplication 46 exit codes: 127\n" RESOURCES);
    assert_false(files.end.no_room); /* that was an earlier aprun */
    assert_string_equal(files.words, "Application 46 exit codes: 127");
    files = read_with("");
    assert_string_equal(files.words, "");
}

/* The last telling word of the last aprun, whatever it says after it; a pilot's is in its task's file. */
static void the_most_telling_word_is_told(void **state)
{
    struct alps_files files = read_with("Application 46 exit signals: Killed\nApplication 46 exit codes: 1\n");

    assert_string_equal(files.words, "Application 46 exit signals: Killed");
    files = read_with("Apid 46: OOM killer\nApid 46 killed. Received node event for nid 7\nApid 46: OOM killer\n");
    assert_string_equal(files.words, "Apid 46 killed. Received node event for nid 7");
    assert_true(files.end.node_lost);
    assert_int_equal(files.end.lost_nid, 7);
    assert_false(files.end.no_room || files.end.too_large);
    files = read_with("Exiting due to errors. Application aborted\n");
    assert_string_equal(files.words, "Exiting due to errors. Application aborted");
    files = read_with("apsched: something else\nApplication 46 exit codes: 1\n");
    assert_string_equal(files.words, "apsched: something else");
    assert_false(files.end.no_room);
    files = read_with("apsched: claim exceeds reservation's CPUs\n");
    assert_true(files.end.no_room && files.end.too_large);
    files = read_with("apsched: claim exceeds reservation's CPUs\napsched: claim exceeds reservation's node-count\n");
    assert_true(files.end.no_room && !files.end.too_large);
    files = read_with("apsched: claim exceeds reservation's node-count\napsched: claim exceeds reservation's CPUs\n");
    assert_true(files.end.no_room && files.end.too_large);
    files = read_with("apsched: no more claims allowed\nApplication 46 resources: utime ~3s\n");
    assert_false(files.end.no_room); /* the last one ended well */
    assert_string_equal(files.words, "");
    put("pilot/stderr", "Application 47 exit codes: 2\n");
    assert_string_equal(read_with("").words, "Application 47 exit codes: 2");
    assert_string_equal(read_with("Application 46 exit codes: 1\n").words, "Application 46 exit codes: 1");
}

static void write_claim(const char *host, const char *application)
{
    char text[400], mine[64] = "";

    gethostname(mine, sizeof mine - 1);
    snprintf(text, sizeof text, "{\"version\": 1, \"pid\": 5, \"start_time\": 7, \"boot_id\": \"x\", \"host\": \"%s\", \"time\": 1.5%s%s%s}",
             host != NULL ? host : mine, application != NULL ? ", \"application\": \"" : "", application != NULL ? application : "",
             application != NULL ? "\"" : "");
    put("claim.json", text);
}

static void the_number_of_an_application_is_read(void **state)
{
    struct alps_files files = read_with("");

    assert_int_equal(files.apid, 0);
    assert_false(files.claimed || files.ended || files.begun);
    put("apid", "46\n");
    assert_int_equal(read_with("").apid, 46);
    write_claim(NULL, "47");
    files = read_with("");
    assert_int_equal(files.apid, 47); /* of many runners */
    assert_true(files.claimed);
    assert_false(files.ended);
    write_claim(NULL, NULL);
    assert_int_equal(read_with("").apid, 46);
    put("claim.json", "{}"); /* the daemon's */
    files = read_with("");
    assert_true(files.claimed);
    assert_int_equal(files.apid, 46);
    put("ended.json", "{}");
    assert_true(read_with("").ended);
}

/* A process of the job whose directory this is; whether it is killed. */
static bool is_killed(void)
{
    char mark[100];
    char *const env[] = {mark, NULL};
    struct alps_files files = {0};
    bool killed = false;
    int status, ready[2];
    pid_t pid;

    snprintf(mark, sizeof mark, "STRETTO_JOB=%s", strrchr(dir, '/') + 1);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        execle("/bin/sleep", "sleep", "600", NULL, env);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], mark, 1), 0); /* it has become a sleep */
    close(ready[0]);
    alps_files_read(dir, &files);
    alps_files_fini(&files);
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    return killed;
}

/* Where the runner on this host was killed, its aprun would keep nodes that nobody else can have. */
static void the_aprun_of_a_killed_runner_is_ended(void **state)
{
    char path[128];

    put("aprun", "17\n999999999 (sh) S 1\n");
    assert_false(is_killed()); /* there was no runner */
    write_claim(NULL, NULL);
    assert_true(is_killed());
    write_claim("elsewhere", NULL);
    assert_false(is_killed());
    write_claim(NULL, "46"); /* runners on the nodes */
    assert_false(is_killed());
    write_claim(NULL, NULL);
    put("ended.json", "{}");
    assert_false(is_killed());
    snprintf(path, sizeof path, "%s/ended.json", dir);
    unlink(path);
    assert_true(is_killed());
    snprintf(path, sizeof path, "%s/aprun", dir);
    unlink(path);
    assert_false(is_killed());
}

/* The adapter reads the last line alone, since the lines before it tell nothing of the end. */
static void last_words_of_a_runner_are_read(void **state)
{
    struct alps_files files;

    put("runner.log", "[2026-11-27T01:00:00Z] info: it starts\n[2026-11-27T01:00:01Z] error: no room\n");
    files = read_with("");
    assert_non_null(strstr(files.said, "no room"));
    put("runner.log", "[2026-11-27T01:00:01Z] error: no room\n[2026-11-27T01:00:00Z] info: it starts\n");
    assert_string_equal(read_with("").said, "");
    put("runner.log", "[2026-11-27T01:00:00Z] warning: it is slow\n");
    assert_string_equal(read_with("").said, "");
    put("runner.log", "Segmentation fault\n");
    put("ended.json", "{}");
    assert_string_equal(read_with("").said, "");
}

/* By the number and the time at which it began: this process is one, and another of its number would not be. */
static void an_aprun_is_known_by_what_it_wrote(void **state)
{
    char stat[1024], text[1100];
    FILE *f = fopen("/proc/self/stat", "r");
    struct alps_files files = {0};
    char *end;

    assert_non_null(f);
    assert_non_null(fgets(stat, sizeof stat, f));
    fclose(f);
    alps_files_read(dir, &files);
    assert_false(files.begun);
    snprintf(text, sizeof text, "17,19\n%s", stat);
    put("aprun", text);
    put("apid", "96757362\n");
    alps_files_fini(&files);
    alps_files_read(dir, &files);
    assert_true(files.begun);
    assert_int_equal(files.pid, getpid());
    assert_string_equal(files.nids, "17,19");
    assert_true(files.apid == 96757362);
    end = strrchr(text, ')');
    for (int field = 0; field < 20; field++) /* to field 22, whose first digit is made another */
        end = strchr(end + 1, ' ');
    end[1] = end[1] == '1' ? '2' : '1';
    put("aprun", text);
    alps_files_fini(&files);
    alps_files_read(dir, &files);
    assert_true(files.begun);
    assert_int_equal(files.pid, 0);
    put("aprun", "nonsense");
    alps_files_fini(&files);
    alps_files_read(dir, &files);
    assert_int_equal(files.pid, 0);
    alps_files_fini(&files);
}

static void assert_shape(struct adapter_resources want, enum alps_kind kind, int n, int each, int nodes, int depth,
                         int mib)
{
    struct adapter a = {.aprun = "/opt/cray/bin/aprun"};
    struct alps_shape shape;
    int *ones[] = {&want.nodes, &want.tasks, &want.cpus_per_task, &want.copies};

    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        *ones[i] = *ones[i] != 0 ? *ones[i] : 1;
    alps_shape(&a, &want, &shape);
    assert_int_equal(shape.kind, kind);
    assert_int_equal(shape.n, n);
    assert_int_equal(shape.each, each);
    assert_int_equal(shape.nodes, nodes);
    assert_int_equal(shape.depth, depth);
    assert_int_equal(shape.mib, mib);
}

#define WANT(...) ((struct adapter_resources){__VA_ARGS__}) /* what is left out is 1 */
#define MIB * (1 << 20)

static void jobs_have_their_shape(void **state)
{
    assert_shape(WANT(.cpus_per_task = 4), ALPS_ONE, 1, 1, 1, 4, 0);
    assert_shape(WANT(.tasks = 3, .cpus_per_task = 4, .copies = 2, .memory = 10 MIB), ALPS_ONE, 1, 1, 1, 24, 20);
    assert_shape(WANT(.copies = 4, .together = true), ALPS_ONE, 1, 1, 1, 4, 0); /* a training's ranks */
    assert_shape(WANT(.copies = 10, .cpus_per_task = 4, .memory = 10 MIB - 1), ALPS_RANKS, 10, 10, 1, 4, 10);
    assert_shape(WANT(.copies = 20, .nodes = 2), ALPS_RANKS, 20, 10, 2, 1, 0);
    assert_shape(WANT(.copies = 4, .nodes = 3), ALPS_RANKS, 4, 2, 2, 1, 0);
    assert_shape(WANT(.copies = 3, .nodes = 8), ALPS_RANKS, 3, 1, 3, 1, 0); /* the last members of an ensemble */
    assert_shape(WANT(.copies = 1, .nodes = 2), ALPS_ONE, 1, 1, 1, 1, 0);
    assert_shape(WANT(.tasks = 64, .nodes = 2, .cpus_per_task = 2, .memory = 65 MIB, .launcher = "aprun"),
                 ALPS_LAUNCHES, 64, 32, 2, 2, 2);
    assert_shape(WANT(.tasks = 2, .launcher = "/opt/cray/bin/aprun"), ALPS_LAUNCHES, 2, 2, 1, 1, 0);
    assert_shape(WANT(.tasks = 2, .launcher = "mpiexec"), ALPS_ONE, 1, 1, 1, 2, 0);
    assert_shape(WANT(.whole_nodes = true), ALPS_ONE, 1, 1, 1, 0, 0); /* a pilot, where nobody knows what a node has */
    assert_shape(WANT(.nodes = 3, .tasks = 3, .each_node = true, .whole_nodes = true), ALPS_LAUNCHES, 3, 1, 3, 0, 0);
    assert_shape(WANT(.nodes = 3, .tasks = 3, .each_node = true, .cpus_per_task = 8, .memory = 12 MIB), ALPS_LAUNCHES,
                 3, 1, 3, 8, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_nodes_are_read),
        cmocka_unit_test_setup_teardown(the_allocation_is_found, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(ends_are_read, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(the_most_telling_word_is_told, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(the_number_of_an_application_is_read, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(the_aprun_of_a_killed_runner_is_ended, open_dir, close_dir),
        cmocka_unit_test_setup_teardown(last_words_of_a_runner_are_read, open_dir, close_dir),
        cmocka_unit_test(jobs_have_their_shape),
        cmocka_unit_test_setup_teardown(an_aprun_is_known_by_what_it_wrote, open_dir, close_dir),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

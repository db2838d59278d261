/* Files that a task must leave: found, measured, and linked into a directory of results that belongs to one member. */
#include "tasks/runner/artefacts.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64], dir[80], results[96];

static void sh(const char *fmt, ...)
{
    char command[1000], whole[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    snprintf(whole, sizeof whole, "cd '%s' && { %s; }", top, command);
    assert_int_equal(system(whole), 0);
}

static int open_dir(void **state)
{
    snprintf(top, sizeof top, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(dir, sizeof dir, "%s/task", top);
    snprintf(results, sizeof results, "%s/results/of", top);
    sh("mkdir task");
    return 0;
}

static int close_dir(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", top);
    return system(rm);
}

static struct error err;

static json_t *find(const char *patterns)
{
    json_t *list = json_loads(patterns, 0, NULL), *found;

    assert_non_null(list);
    found = artefacts_find(dir, list, &err);
    json_decref(list);
    return found;
}

/* "PATH SIZE DIGEST" of each, the digest cut to 8 letters. */
static void assert_found(const char *patterns, const char *wanted)
{
    json_t *found = find(patterns), *one;
    char text[2000] = "";
    size_t i, n = 0;

    assert_non_null(found);
    json_array_foreach (found, i, one) {
        const char *digest = json_string_value(json_object_get(one, "sha256"));

        assert_int_equal(strlen(digest), 64);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %lld %.8s", i > 0 ? "; " : "",
                              json_string_value(json_object_get(one, "path")),
                              (long long)json_integer_value(json_object_get(one, "size")), digest);
    }
    assert_string_equal(text, wanted);
    json_decref(found);
}

static void they_are_found_and_measured(void **state)
{
    sh("printf abc >task/b.txt; : >task/a.txt; mkdir task/sub; printf abc >task/sub/c.txt; : >task/alive; : >task/.hidden");
    assert_found("[\"*.txt\"]", "a.txt 0 e3b0c442; b.txt 3 ba7816bf");
    assert_found("[\"sub/*\", \"b.txt\", \"*.txt\"]", "a.txt 0 e3b0c442; b.txt 3 ba7816bf; sub/c.txt 3 ba7816bf"); /* each once, by path */
    assert_found("[\"a*\"]", "a.txt 0 e3b0c442"); /* "alive" is none of the task's */
    assert_found("[]", "");
    sh("head -c 3000000 /dev/zero >task/big");
    assert_found("[\"big\"]", "big 3000000 35bce4ea");
}

static void each_pattern_must_find_one(void **state)
{
    sh(": >task/a.txt; : >task/alive; ln -s a.txt task/link; mkfifo task/pipe");
    assert_null(find("[\"a.txt\", \"none*\"]"));
    assert_non_null(strstr(err.text, "\"none*\""));
    assert_null(find("[\"none*\", \"a.txt\"]"));
    assert_null(find("[\"alive\"]"));
    assert_null(find("[\"a.txt\", \"a.txt\", \"sub/x\"]"));
}

/* A member that puts a link into its directory gets nothing of elsewhere among its results. */
static void links_lead_nowhere(void **state)
{
    sh("mkdir elsewhere task/own; printf secret >elsewhere/key.txt; printf abc >task/own/b.txt; ln -s ../elsewhere task/out");
    assert_null(find("[\"out/*.txt\"]"));
    assert_non_null(strstr(err.text, "out/key.txt"));
    assert_null(find("[\"out/key.txt\"]"));
    assert_found("[\"*/*.txt\"]", "own/b.txt 3 ba7816bf");
}

/* The directory becomes a link after the artefact was measured. */
static void links_that_come_later_lead_nowhere(void **state)
{
    json_t *found;
    struct stat st;
    char path[160];

    sh("mkdir elsewhere task/out; printf secret >elsewhere/b.txt; printf abc >task/out/b.txt");
    found = find("[\"out/b.txt\"]");
    sh("rm -r task/out; ln -s ../elsewhere task/out");
    artefacts_place(dir, found, results, "7.1", &err);
    snprintf(path, sizeof path, "%s/elsewhere/b.txt", top);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_nlink, 1); /* no hard link of it is among the results */
    json_decref(found);
}

static void there_are_not_too_many(void **state)
{
    json_t *found;

    sh("cd task && seq 1000 | sed 's/$/.n/' | xargs touch");
    found = find("[\"*.n\"]");
    assert_int_equal(json_array_size(found), 1000);
    json_decref(found);
    sh(": >task/0.n");
    assert_null(find("[\"*.n\"]"));
}

static void a_path_may_be_long_and_is_utf8(void **state)
{
    char path[600];
    json_t *found;

    memset(path, 'd', sizeof path);
    path[200] = path[401] = '/';
    path[511] = '\0';
    sh("mkdir -p 'task/%.401s' && : >'task/%s'", path, path);
    found = find("[\"*/*/*\"]");
    assert_int_equal(json_array_size(found), 1);
    json_decref(found);
    sh(": >'task/%sd'", path);
    assert_null(find("[\"*/*/*\"]"));
    sh("rm -r task/d*; touch \"$(printf 'task/x\\377')\"");
    assert_null(find("[\"x*\"]"));
}

/* Places what the patterns find, for this member. */
static int place(const char *patterns, const char *owner)
{
    json_t *found = find(patterns);
    int rc;

    assert_non_null(found);
    rc = artefacts_place(dir, found, results, owner, &err);
    json_decref(found);
    return rc;
}

static char *text_of(const char *name)
{
    char *path = xasprintf("%s/%s", results, name), *text;
    size_t size;

    if (file_read(path, 1000, &text, &size, &err) < 0)
        text = NULL;
    free(path);
    return text;
}

static void assert_text(const char *name, const char *wanted)
{
    char *text = text_of(name);

    if (wanted == NULL)
        assert_null(text);
    else
        assert_string_equal(text, wanted);
    free(text);
}

static void assert_listed(const char *owner, const char *files)
{
    char *path = xasprintf("%s/.stretto.json", results), *text;
    json_t *list = file_read_json(path, &err);

    assert_non_null(list);
    assert_int_equal(json_integer_value(json_object_get(list, "version")), 1);
    assert_string_equal(json_string_value(json_object_get(list, "member")), owner);
    text = json_dumps(json_object_get(list, "files"), JSON_COMPACT);
    assert_string_equal(text, files);
    free(text);
    json_decref(list);
    free(path);
}

static void results_are_links_with_a_list(void **state)
{
    char *from = xasprintf("%s/a.txt", dir), *to = xasprintf("%s/a.txt", results);
    struct stat one, other;

    sh("printf a >task/a.txt; mkdir -p task/s/u; printf c >task/s/u/c.txt");
    assert_int_equal(place("[\"a.txt\", \"s/u/*\"]", "st/7.1"), 0);
    assert_text("a.txt", "a");
    assert_text("s/u/c.txt", "c");
    assert_listed("st/7.1", "[\"a.txt\",\"s/u/c.txt\"]");
    assert_int_equal(stat(from, &one), 0);
    assert_int_equal(stat(to, &other), 0);
    assert_int_equal(one.st_ino, other.st_ino);
    assert_text(".stretto.new", NULL);
    assert_int_equal(place("[\"a.txt\", \"s/u/*\"]", "st/7.1"), 0); /* once more, which changes nothing */
    assert_text("a.txt", "a");
    assert_text("s/u/c.txt", "c");
    assert_text(".stretto.new", NULL);
    free(from);
    free(to);
}

/* What the earlier attempt had left alone goes, with directories that are empty then. */
static void a_later_attempt_takes_the_place_of_the_first(void **state)
{
    char *sub = xasprintf("%s/s/u", results), *above = xasprintf("%s/s", results);

    sh("printf 1 >task/a.txt; printf 1 >task/b.txt; mkdir -p task/s/u task/keep; printf c >task/s/u/c.txt; printf c >task/keep/k.txt");
    assert_int_equal(place("[\"*.txt\", \"s/u/*\", \"keep/*\"]", "st/7.1"), 0);
    sh("printf theirs >results/of/theirs; printf x >results/of/keep/theirs; rm -r task; mkdir task; printf 2 >task/a.txt");
    assert_int_equal(place("[\"*.txt\"]", "st/7.1"), 0);
    assert_text("a.txt", "2");
    assert_text("b.txt", NULL);
    assert_text("s/u/c.txt", NULL);
    assert_int_equal(access(sub, F_OK), -1);
    assert_int_equal(access(above, F_OK), -1);
    assert_text("keep/k.txt", NULL);
    assert_text("keep/theirs", "x");
    assert_text("theirs", "theirs");
    assert_listed("st/7.1", "[\"a.txt\"]");
    free(sub);
    free(above);
}

static void nothing_of_others_is_replaced(void **state)
{
    sh("printf 1 >task/a.txt; printf 1 >task/b.txt");
    assert_int_equal(place("[\"a.txt\"]", "st/7.1"), 0);
    sh("rm task/a.txt; printf 2 >task/a.txt");
    assert_int_equal(place("[\"a.txt\"]", "st/7.2"), -1); /* another member's */
    assert_non_null(strstr(err.text, "st/7.1"));
    assert_text("a.txt", "1");
    assert_listed("st/7.1", "[\"a.txt\"]");
    sh("printf theirs >results/of/b.txt"); /* a user's file */
    assert_int_equal(place("[\"a.txt\", \"b.txt\"]", "st/7.1"), -1);
    assert_text("a.txt", "1");
    assert_text("b.txt", "theirs");
    assert_listed("st/7.1", "[\"a.txt\"]");
    sh("rm results/of/b.txt; ln -s /nowhere results/of/b.txt"); /* likewise a link that leads nowhere */
    assert_int_equal(place("[\"a.txt\", \"b.txt\"]", "st/7.1"), -1);
    sh("echo '{\"version\": 1}' >results/of/.stretto.json");
    assert_int_equal(place("[\"a.txt\"]", "st/7.1"), -1);
    sh("echo '{' >results/of/.stretto.json");
    assert_int_equal(place("[\"a.txt\"]", "st/7.1"), -1);
    assert_text("a.txt", "1");
}

/* A list that somebody has written names files outside, or is none at all. */
static void a_strange_list_removes_nothing(void **state)
{
    sh("printf 1 >task/a.txt; mkdir -p results/of; printf x >results/outside; printf y >results/of/gone");
    sh("echo '{\"version\": 1, \"member\": \"st/7.1\", \"files\": [\"../outside\", 5, \"gone\", \"never/there\"]}' >results/of/.stretto.json");
    assert_int_equal(place("[\"a.txt\"]", "st/7.1"), 0);
    sh("[ \"$(cat results/outside)\" = x ]");
    assert_text("gone", NULL);
    assert_listed("st/7.1", "[\"a.txt\"]");
}

/* On another file system there can be no hard link. Where there can be none at all, the task has failed. */
static void elsewhere_they_are_symbolic_links(void **state)
{
    struct stat here, there, st;
    char *to;

    sh("printf a >task/a.txt");
    assert_int_equal(stat(dir, &here), 0);
    if (stat("/dev/shm", &there) == 0 && here.st_dev != there.st_dev && access("/dev/shm", W_OK) == 0) {
        snprintf(results, sizeof results, "/dev/shm/stretto-test-%d", (int)getpid());
        assert_int_equal(place("[\"a.txt\"]", "st/7.1"), 0);
        to = xasprintf("%s/a.txt", results);
        assert_int_equal(lstat(to, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_text("a.txt", "a");
        free(to);
        sh("rm -r '%s'", results);
    }
    snprintf(results, sizeof results, "%s/results/of", top);
    sh("mkdir -p results/of/a.txt; echo '{\"version\": 1, \"member\": \"st/7.1\", \"files\": [\"a.txt\"]}' >results/of/.stretto.json");
    assert_int_equal(place("[\"a.txt\"]", "st/7.1"), -1); /* there is a directory in its place */
    assert_text(".stretto.new", NULL);
    snprintf(results, sizeof results, "/proc/nowhere");
    assert_int_equal(place("[\"a.txt\"]", "st/7.1"), -1);
}

/* --- as parts of a task's end */

static struct task *taken[3];
static size_t n_taken;

static void note_taken(void *arg, struct task *t)
{
    assert_ptr_equal(arg, taken);
    taken[n_taken++] = t;
}

static void they_decide_whether_a_task_has_succeeded(void **state)
{
    json_t *patterns = json_pack("[s]", "*.txt");
    struct jobdesc desc = {.artefacts = patterns};
    struct job job = {.desc = &desc};
    struct jobdesc_task of[] = {{.id = "7.0", .dir = dir, .results = results, .owner = "st/7.0"}, {.id = "7.1", .dir = "/nowhere"},
                                {.id = "7.2", .dir = dir, .results = results, .owner = "st/7.2"}};
    struct task tasks[3] = {{.job = &job, .desc = &of[0]}, {.job = &job, .desc = &of[1]}, {.job = &job, .desc = &of[2]}};
    struct artefacts a;

    sh("printf a >task/a.txt");
    n_taken = 0;
    assert_int_equal(artefacts_init(&a, &job, note_taken, taken, &err), 0);
    assert_true(artefacts_fd(&a) >= 0);
    tasks[0].rec.end.outcome = ATTEMPT_FAILED;
    assert_false(artefacts_take(&a, &tasks[0])); /* it has none to give */
    for (int i = 0; i < 3; i++) {
        tasks[i].rec.end.outcome = ATTEMPT_SUCCEEDED;
        assert_true(artefacts_take(&a, &tasks[i]));
        assert_int_equal(a.open, i + 1);
    }
    while (n_taken < 3) {
        struct pollfd fd = {.fd = artefacts_fd(&a), .events = POLLIN};

        assert_int_equal(poll(&fd, 1, 1000 * (int)test_wait_s()), 1);
        artefacts_work(&a);
        assert_int_equal(a.open, 3 - n_taken);
    }
    assert_ptr_equal(taken[0], &tasks[0]);
    assert_int_equal(tasks[0].rec.end.outcome, ATTEMPT_SUCCEEDED);
    assert_int_equal(json_array_size(tasks[0].rec.end.artefacts), 1);
    assert_ptr_equal(tasks[0].artefacts, tasks[0].rec.end.artefacts);
    assert_text("a.txt", "a");
    assert_int_equal(tasks[1].rec.end.outcome, ATTEMPT_FAILED);
    assert_non_null(strstr(tasks[1].rec.end.reason, "exit status 0, but "));
    assert_null(tasks[1].rec.end.artefacts);
    assert_int_equal(tasks[2].rec.end.outcome, ATTEMPT_FAILED); /* its place is another member's */
    assert_non_null(strstr(tasks[2].rec.end.reason, "st/7.0"));
    assert_null(tasks[2].rec.end.artefacts);
    json_decref(tasks[0].artefacts);
    artefacts_fini(&a);
    json_decref(patterns);
    desc.artefacts = NULL;
    assert_int_equal(artefacts_init(&a, &job, note_taken, taken, &err), 0);
    assert_int_equal(artefacts_fd(&a), -1);
    assert_false(artefacts_take(&a, &tasks[0]));
    artefacts_work(&a);
    artefacts_fini(&a);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, open_dir, close_dir)
    const struct CMUnitTest tests[] = {
        CASE(they_are_found_and_measured),
        CASE(each_pattern_must_find_one),
        CASE(links_lead_nowhere),
        CASE(links_that_come_later_lead_nowhere),
        CASE(there_are_not_too_many),
        CASE(a_path_may_be_long_and_is_utf8),
        CASE(results_are_links_with_a_list),
        CASE(a_later_attempt_takes_the_place_of_the_first),
        CASE(nothing_of_others_is_replaced),
        CASE(a_strange_list_removes_nothing),
        CASE(elsewhere_they_are_symbolic_links),
        CASE(they_decide_whether_a_task_has_succeeded),
    };

    test_limit(60); /* what never comes is a failure, too */
    return cmocka_run_group_tests_name("artefacts", tests, NULL, NULL);
}

/* Files that a task must leave: found, measured, and linked into a directory of results that belongs to one member. */
#include "tasks/runner/artefacts.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tests/unit/unit.h"

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

/* On another file system there can be no hard link. If there can be none at all, the task has failed. */
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

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, open_dir, close_dir)
    const struct CMUnitTest tests[] = {
        CASE(links_lead_nowhere),
        CASE(links_that_come_later_lead_nowhere),
        CASE(there_are_not_too_many),
        CASE(a_path_may_be_long_and_is_utf8),
        CASE(a_strange_list_removes_nothing),
        CASE(elsewhere_they_are_symbolic_links),
    };

    test_limit(60); /* what never comes is a failure, too */
    return cmocka_run_group_tests_name("artefacts", tests, NULL, NULL);
}

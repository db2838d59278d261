/* Job descriptors: each of their keys, what it may be at most, and what it is where it is not there. */
#include "common/files.h"
#include "tasks/proto/jobdesc.h"
#include "tests/unit/jobdesc_whole.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char least[] =
    "{\"version\": 1, \"job\": \"j\", \"ensemble\": 0, \"kind\": \"members\", \"walltime\": 0, \"grace\": 0,"
    " \"tasks\": [{\"id\": \"7.1\", \"dir\": \"/d\", \"argv\": [\"x\"]}]}";

/* What is not said is so. */
static void assert_bare(const struct jobdesc *d)
{
    const struct jobdesc_task *t = &d->tasks[0];

    assert_string_equal(d->job, "j");
    assert_int_equal(d->ensemble, 0);
    assert_int_equal(d->kind, JOBDESC_MEMBERS);
    assert_true(d->walltime_ms == 0 && d->grace_ms == 0 && d->silence_ms == 0 && d->stopped_ms == 0 &&
                !d->restarts.any);
    assert_true(d->control == NULL && d->umask == NULL && d->artefacts == NULL);
    assert_true(!d->tmpdir && !d->merged && !d->checkpoint.any);
    assert_true(d->checkpoint.before_ms == 0 && d->checkpoint.signal == 0 && d->checkpoint.glob == NULL &&
                d->checkpoint.keep == 1);
    assert_true(d->metrics.file == NULL && d->metrics.format == JOBDESC_LINES &&
                d->metrics.diverged == JOBDESC_DIVERGED_FAIL);
    assert_true(d->metrics.rung == NULL && d->metrics.name == NULL && !d->metrics.has_least && !d->metrics.has_most &&
                !d->metrics.best);
    assert_int_equal(d->ntasks, 1);
    assert_string_equal(t->id, "7.1");
    assert_string_equal(t->dir, "/d");
    assert_int_equal(json_array_size(t->argv), 1);
    assert_true(t->env == NULL && t->path == NULL && t->launcher == NULL && t->launch == NULL &&
                t->success_file == NULL);
    assert_true(t->results == NULL && t->owner == NULL && t->resume == NULL);
    assert_true(t->ntasks == 1 && t->nodes == 1 && t->since == 0 && t->since_in == 0 && t->until == 0 && !t->last);
}

static struct jobdesc *again(const struct jobdesc *desc, json_t **root)
{
    struct error err;
    struct jobdesc *copy;
    char *text = jobdesc_whole(desc);

    *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(*root);
    copy = jobdesc_parse(*root, &err);
    assert_non_null(copy);
    free(text);
    return copy;
}

static void little_has_to_be_said(void **state)
{
    static const char *const not_written[] = {"silence", "stopped", "checkpoint", "artefacts", "metrics", "restarts", "streams", "umask", "output",
                                              "control"},
                      *const not_of_tasks[] = {"env", "path", "launcher", "launch", "nodes", "success_file", "glob", "metrics_file", "artefacts", "results", "owner", "resume",
                                               "since", "since_in", "until", "last"};
    json_t *root = json_loads(least, 0, NULL), *other, *task;
    struct error err;
    struct jobdesc *desc = jobdesc_parse(root, &err), *copy;

    assert_non_null(desc);
    assert_bare(desc);
    copy = again(desc, &other);
    assert_bare(copy);
    task = json_array_get(json_object_get(other, "tasks"), 0);
    for (size_t i = 0; i < sizeof not_written / sizeof *not_written; i++)
        assert_null(json_object_get(other, not_written[i]));
    for (size_t i = 0; i < sizeof not_of_tasks / sizeof *not_of_tasks; i++)
        assert_null(json_object_get(task, not_of_tasks[i]));
    jobdesc_free(copy);
    jobdesc_free(desc);
    json_decref(other);
    json_decref(root);
}

/* The least one, with this in it: a place such as "/tasks/0/nodes", whose last name may be new, and a JSON text. */
static json_t *with(const char *place, const char *value)
{
    json_t *root = json_loads(least, 0, NULL), *target = root;
    char names[64], *name = names + 1;

    strcpy(names, place);
    for (char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        *slash = '\0';
        if (json_is_object(target) && json_object_get(target, name) == NULL)
            json_object_set_new(target, name,
                                strcmp(name, "checkpoint") == 0 ? json_pack("{s:i}", "before", 0) : json_object());
        target = json_is_array(target) ? json_array_get(target, (size_t)atoi(name)) : json_object_get(target, name);
    }
    assert_int_equal(json_object_set_new(target, name, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
    if (strcmp(place, "/tasks/0/results") == 0)
        json_object_set_new(target, "owner", json_string("7.1"));
    return root;
}

/* Values at the bounds of what is taken; each is there again after it was written, and nothing else is. */
static void what_is_said_is_taken_and_written(void **state)
{
    static const struct {
        const char *place, *value;
    } good[] = {
        {"/job", "\"a\""},
        {"/job", "\"_A.z-9aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""},
        {"/ensemble", "9223372036854775807"},
        {"/kind", "\"members\""},
        {"/kind", "\"training\""},
        {"/kind", "\"pilot\""},
        {"/control", "\"/x\""},
        {"/walltime", "3162240000"},
        {"/walltime", "0.001"},
        {"/walltime", "7"},
        {"/grace", "1.5"},
        {"/grace", "12.034"},
        {"/silence", "0.25"},
        {"/stopped", "30"},
        {"/restarts", "{\"retries\":0,\"failures\":0,\"losses\":0}"},
        {"/restarts", "{\"retries\":3,\"failures\":2,\"losses\":1,\"step\":0,\"batches\":5,\"drawn\":9223372036854775807}"},
        {"/tmpdir", "true"},
        {"/umask", "\"022\""},
        {"/streams", "\"required\""},
        {"/streams", "\"optional\""},
        {"/output", "\"merged\""},
        {"/artefacts", "[\"a\", \"b/*.pt\"]"},
        {"/checkpoint/before", "60"},
        {"/checkpoint/signal", "\"USR2\""},
        {"/checkpoint/glob", "\"c-*\""},
        {"/checkpoint/keep", "9223372036854775807"},
        {"/metrics/file", "\"m.csv\""},
        {"/metrics/diverged", "\"end\""},
        {"/metrics/diverged", "\"ignore\""},
        {"/metrics/rung", "\"loss\""},
        {"/metrics/success", "\"acc\""},
        {"/tasks/0/id", "\"7.training.0!~aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""},
        {"/tasks/0/dir", "\"/\""},
        {"/tasks/0/argv", "[\"x\", \"\", \"a b\"]"},
        {"/tasks/0/env", "{\"A\": \"1\", \"B\": \"\"}"},
        {"/tasks/0/path", "[\"/a\", \"/b c\"]"},
        {"/tasks/0/launcher", "\"srun\""},
        {"/tasks/0/launch", "[\"mpiexec\", \"{hosts}\"]"},
        {"/tasks/0/ntasks", "10000000"},
        {"/tasks/0/nodes", "1000000"},
        {"/tasks/0/nodes", "2"},
        {"/tasks/0/success_file", "\"...\""},
        {"/tasks/0/success_file", "\"a/..b/c..\""},
        {"/tasks/0/glob", "\"a-*.ckpt\""},
        {"/tasks/0/metrics_file", "\"a/log.csv\""},
        {"/tasks/0/artefacts", "[\"a.pt\", \"b\"]"},
        {"/tasks/0/results", "\"/r\""},
        {"/tasks/0/resume", "[\"--from\"]"},
        {"/tasks/0/since", "1"},
        {"/tasks/0/since_in", "1"},
        {"/tasks/0/until", "1"},
        {"/tasks/0/last", "true"},
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        json_t *root = with(good[i].place, good[i].value), *other, *value = NULL, *written, *bare, *no_more;
        struct error err;
        struct jobdesc *desc = jobdesc_parse(root, &err), *copy, *base;
        char pointer[64], *name = pointer + 1;

        if (desc == NULL)
            fail_msg("%s %s: %s", good[i].place, good[i].value, err.text);
        copy = again(desc, &other);
        strcpy(pointer, good[i].place);
        written = other;
        for (char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
            *slash = '\0';
            written = json_is_array(written) ? json_array_get(written, 0) : json_object_get(written, name);
        }
        value = json_loads(good[i].value, JSON_DECODE_ANY, NULL);
        if (!json_equal(json_object_get(written, name), value))
            fail_msg("%s %s was not written", good[i].place, good[i].value);
        /* without it, and without what comes along, it is the least one again */
        bare = json_loads(least, 0, NULL);
        base = jobdesc_parse(bare, &err);
        jobdesc_free(again(base, &no_more));
        if (strcmp(good[i].place, "/tasks/0/results") == 0)
            json_object_del(written, "owner");
        if (json_object_get(written == other ? no_more : json_array_get(json_object_get(no_more, "tasks"), 0), name) != NULL)
            json_object_set(written, name, json_object_get(written == other ? no_more : json_array_get(json_object_get(no_more, "tasks"), 0), name));
        else
            json_object_del(written, name);
        json_object_del(other, "checkpoint");
        json_object_del(other, "metrics");
        if (!json_equal(other, no_more))
            fail_msg("%s %s has changed something else", good[i].place, good[i].value);
        json_decref(value);
        json_decref(no_more);
        jobdesc_free(base);
        json_decref(bare);
        jobdesc_free(copy);
        json_decref(other);
        jobdesc_free(desc);
        json_decref(root);
    }
}

static void what_cannot_be_is_refused_with_the_place(void **state)
{
    static const struct {
        const char *place, *value, *pointer; /* pointer NULL: the place */
    } wrong[] = {
        {"/version", "0", NULL},
        {"/version", "null", NULL},
        {"/job", "\"\"", NULL},
        {"/job", "\".a\"", NULL},
        {"/job", "\"a b\"", NULL},
        {"/job", "\"a/b\"", NULL},
        {"/job", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", NULL},
        {"/ensemble", "-1", NULL},
        {"/ensemble", "null", NULL},
        {"/kind", "null", NULL},
        {"/streams", "\"none\"", NULL},
        {"/streams", "true", NULL},
        {"/kind", "\"member\"", NULL},
        {"/control", "7", NULL},
        {"/walltime", "3162240001", NULL},
        {"/walltime", "null", NULL},
        {"/walltime", "-0.001", NULL},
        {"/grace", "-1", NULL},
        {"/silence", "-1", NULL},
        {"/silence", "\"1\"", NULL},
        {"/silence", "null", NULL},
        {"/stopped", "-1", NULL},
        {"/stopped", "null", NULL},
        {"/restarts", "1", NULL},
        {"/restarts", "{\"retries\":-1,\"failures\":0,\"losses\":0}", "/restarts/retries"},
        {"/restarts", "{\"retries\":1,\"failures\":0}", "/restarts/losses"},
        {"/restarts", "{\"retries\":1,\"failures\":0,\"losses\":0,\"drawn\":-1}", "/restarts/drawn"},
        {"/tmpdir", "1", NULL},
        {"/umask", "\"8\"", NULL},
        {"/umask", "\"0100\"", NULL},
        {"/output", "true", NULL},
        {"/output", "\"merge\"", NULL},
        {"/artefacts", "[]", NULL},
        {"/artefacts", "[\"/a\"]", "/artefacts/0"},
        {"/artefacts", "[\"a\", \"..\"]", "/artefacts/1"},
        {"/artefacts", "[\"a\", \"b\", 3]", "/artefacts/2"},
        {"/checkpoint", "[]", NULL},
        {"/checkpoint", "{}", "/checkpoint/before"},
        {"/checkpoint/before", "-1", NULL},
        {"/checkpoint/signal", "\"KILL\"", NULL},
        {"/checkpoint/signal", "10", NULL},
        {"/checkpoint/glob", "\"/c\"", NULL},
        {"/checkpoint/glob", "\"a/..\"", NULL},
        {"/checkpoint/glob", "7", NULL},
        {"/checkpoint/keep", "0", NULL},
        {"/metrics", "7", NULL},
        {"/metrics/file", "\"/m\"", NULL},
        {"/metrics/file", "\"../m\"", NULL},
        {"/metrics/file", "7", NULL},
        {"/metrics/format", "\"line\"", NULL},
        {"/metrics/diverged", "\"no\"", NULL},
        {"/metrics/rung", "7", NULL},
        {"/metrics/success", "7", NULL},
        {"/metrics/at_least", "\"7\"", NULL},
        {"/metrics/at_most", "\"7\"", NULL},
        {"/metrics/best", "1", NULL},
        {"/tasks", "{}", NULL},
        {"/tasks/0/id", "null", NULL},
        {"/tasks/0/id", "\"a b\"", NULL},
        {"/tasks/0/id", "\"a\\u007f\"", NULL},
        {"/tasks/0/id", "\"\u00e9\"", NULL},
        {"/tasks/0/id", "\"a\\n\"", NULL},
        {"/tasks/0/id", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", NULL},
        {"/tasks/0/dir", "null", NULL},
        {"/tasks/0/dir", "\"d/e\"", NULL},
        {"/tasks/0/argv", "null", NULL},
        {"/tasks/0/env", "[]", NULL},
        {"/tasks/0/env", "{\"\": \"1\"}", "/tasks/0/env/"},
        {"/tasks/0/path", "[\"/a:b\"]", NULL},
        {"/tasks/0/path", "[\"/a\", \"b\"]", NULL},
        {"/tasks/0/path", "[7]", "/tasks/0/path/0"},
        {"/tasks/0/launcher", "7", NULL},
        {"/tasks/0/launch", "[]", NULL},
        {"/tasks/0/launch", "\"srun\"", NULL},
        {"/tasks/0/ntasks", "10000001", NULL},
        {"/tasks/0/nodes", "0", NULL},
        {"/tasks/0/nodes", "1000001", NULL},
        {"/tasks/0/success_file", "\"..\"", NULL},
        {"/tasks/0/success_file", "7", NULL},
        {"/tasks/0/glob", "\"../*\"", NULL},
        {"/tasks/0/metrics_file", "\"/log.csv\"", NULL},
        {"/tasks/0/artefacts", "[\"a/../..\"]", NULL},
        {"/tasks/0/results", "7", NULL},
        {"/tasks/0/owner", "7", NULL},
        {"/tasks/0/resume", "[]", NULL},
        {"/tasks/0/since", "-1", NULL},
        {"/tasks/0/since_in", "-1", NULL},
        {"/tasks/0/until", "-1", NULL},
        {"/tasks/0/last", "1", NULL},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *root = with(wrong[i].place, wrong[i].value);
        struct error err = {0};

        errno = 0;
        if (jobdesc_parse(root, &err) != NULL)
            fail_msg("%s was taken: %s", wrong[i].place, wrong[i].value);
        assert_int_equal(errno, EBADMSG);
        if (strcmp(err.pointer, wrong[i].pointer ? wrong[i].pointer : wrong[i].place) != 0)
            fail_msg("%s %s: %s at %s", wrong[i].place, wrong[i].value, err.text, err.pointer);
        json_decref(root);
    }
}

static void metrics_have_bounds(void **state)
{
    static const char *const texts[] = {"{\"success\":\"a\",\"at_least\":0.1}", "{\"success\":\"a\",\"at_most\":-2.5}",
                                        "{\"success\":\"a\",\"at_most\":1,\"best\":true}",
                                        "{\"file\":\"m\",\"format\":\"tensorboard\"}", "{\"file\":\"m\",\"format\":\"lines\"}"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *root = with("/metrics", texts[i]), *other;
        struct error err;
        struct jobdesc *desc = jobdesc_parse(root, &err), *copy;
        const struct jobdesc_metrics *m;

        assert_non_null(desc);
        copy = again(desc, &other);
        m = &copy->metrics;
        assert_int_equal(m->has_least, i == 0);
        assert_int_equal(m->has_most, i == 1 || i == 2);
        assert_int_equal(m->best, i == 2);
        assert_true(i != 0 || m->least == 0.1);
        assert_true(i != 1 || m->most == -2.5);
        assert_int_equal(m->format, i == 3 ? JOBDESC_TENSORBOARD : JOBDESC_LINES);
        assert_int_equal(json_object_get(json_object_get(other, "metrics"), "format") != NULL, i == 3);
        assert_int_equal(m->diverged, JOBDESC_DIVERGED_FAIL);
        jobdesc_free(copy);
        json_decref(other);
        jobdesc_free(desc);
        json_decref(root);
    }
}

static void signals_have_two_names(void **state)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM},  {"INT", SIGINT},   {"HUP", SIGHUP},   {"QUIT", SIGQUIT},
                   {"ALRM", SIGALRM}, {"CONT", SIGCONT}, {"URG", SIGURG},    {"XCPU", SIGXCPU}, {"WINCH", SIGWINCH}};
    static const char *const none[] = {"", "SIG", "usr1", "KILL", "STOP", "USR", "SIGSIGUSR1", "10"};
    char whole[16];

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        snprintf(whole, sizeof whole, "SIG%s", signals[i].name);
        assert_int_equal(jobdesc_signal(signals[i].name), signals[i].number);
        assert_int_equal(jobdesc_signal(whole), signals[i].number);
        assert_string_equal(jobdesc_signal_name(signals[i].number), signals[i].name);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(jobdesc_signal(none[i]), 0);
    assert_null(jobdesc_signal_name(0));
    assert_null(jobdesc_signal_name(SIGKILL));
}

static void one_of_several_tasks_is_kept(void **state)
{
    json_t *root = json_loads(least, 0, NULL), *tasks = json_object_get(root, "tasks"), *other;
    struct error err;
    struct jobdesc *desc, *copy;
    char id[8] = "7.2";

    for (; id[2] < '5'; id[2]++)
        json_array_append_new(tasks, json_pack("{s:s, s:s, s:[s], s:{s:s}}", "id", id, "dir", "/e", "argv", id, "env", "E", id));
    desc = jobdesc_parse(root, &err);
    assert_int_equal(desc->ntasks, 4);
    copy = again(desc, &other);
    assert_int_equal(copy->ntasks, 4);
    for (int i = 1; i < 4; i++) {
        assert_string_equal(json_string_value(json_array_get(copy->tasks[i].argv, 0)), copy->tasks[i].id);
        assert_string_equal(json_string_value(json_object_get(copy->tasks[i].env, "E")), copy->tasks[i].id);
    }
    jobdesc_keep(copy, 2);
    assert_int_equal(copy->ntasks, 1);
    assert_string_equal(copy->tasks[0].id, "7.3");
    jobdesc_free(copy);
    jobdesc_free(desc);
    json_decref(other);
    json_decref(root);
    jobdesc_free(NULL);
}

static void a_descriptor_is_read_from_its_file(void **state)
{
    char path[] = "/tmp/stretto-jobdesc-XXXXXX";
    struct jobdesc *desc;
    struct error err;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write_whole(path, least, strlen(least), 0600, &err), 0);
    desc = jobdesc_read(path, &err);
    assert_non_null(desc);
    assert_bare(desc);
    jobdesc_free(desc);
    assert_int_equal(file_write_whole(path, "{\"version\": 1}", 14, 0600, &err), 0);
    assert_null(jobdesc_read(path, &err));
    assert_int_equal(errno, EBADMSG);
    assert_string_equal(err.pointer, "/job");
    unlink(path);
    assert_null(jobdesc_read(path, &err));
    assert_int_equal(errno, ENOENT);
}

static void there_is_a_limit_to_tasks(void **state)
{
    json_t *root = json_loads(least, 0, NULL), *tasks = json_object_get(root, "tasks"),
           *task = json_array_get(tasks, 0);
    struct jobdesc *desc;
    struct error err;
    char id[16];

    for (int i = 1; i < JOB_TASKS_MAX; i++) {
        json_t *another = json_copy(task);

        snprintf(id, sizeof id, "7.%d", i + 1);
        json_object_set_new(another, "id", json_string(id));
        json_array_append_new(tasks, another);
    }
    desc = jobdesc_parse(root, &err);
    assert_non_null(desc);
    assert_int_equal(desc->ntasks, JOB_TASKS_MAX);
    jobdesc_free(desc);
    json_array_append(tasks, task);
    assert_null(jobdesc_parse(root, &err));
    assert_string_equal(err.pointer, "/tasks");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_has_to_be_said),
        cmocka_unit_test(what_is_said_is_taken_and_written),
        cmocka_unit_test(what_cannot_be_is_refused_with_the_place),
        cmocka_unit_test(metrics_have_bounds),
        cmocka_unit_test(signals_have_two_names),
        cmocka_unit_test(one_of_several_tasks_is_kept),
        cmocka_unit_test(a_descriptor_is_read_from_its_file),
        cmocka_unit_test(there_is_a_limit_to_tasks),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Claims, exit records and control messages: each of what they have in them, and what becomes of wrong ones. */
#include "common/files.h"
#include "common/process.h"
#include "tasks/proto/claim.h"
#include "tasks/proto/control.h"
#include "tasks/proto/exitrec.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static struct error err;

static int open_dir(void **state)
{
    strcpy(dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int close_dir(void **state)
{
    char rm[96];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static const char *in_dir(const char *name)
{
    static char path[160];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static json_t *read_json(const char *name)
{
    json_t *json = file_read_json(in_dir(name), &err);

    assert_non_null(json);
    return json;
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text != NULL ? text : "";
}

static void a_claim_says_who_has_the_job(void **state)
{
    struct claim claim;
    char boot_id[BOOT_ID_SIZE], host[64] = "";
    struct timespec before, after;
    json_t *json;

    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &before);
    assert_int_equal(claim_make(dir, "/tmp/t", "0,3", "a:2,b:1", &err), 0);
    clock_gettime(CLOCK_REALTIME, &after);
    assert_int_equal(claim_read(dir, &claim, &err), 0);
    assert_int_equal(claim.pid, getpid());
    assert_true(claim.start_time == process_start_time(getpid()) && claim.start_time > 0);
    assert_string_equal(claim.boot_id, process_boot_id(boot_id));
    assert_true(strlen(boot_id) == 36);
    assert_string_equal(claim.host, host);
    assert_string_equal(claim.tmpdir, "/tmp/t");
    assert_string_equal(claim.gpus, "0,3");
    assert_string_equal(claim.application, "");
    assert_true(claim.time >= (double)before.tv_sec && claim.time <= (double)after.tv_sec + 1);
    json = read_json("claim.json");
    assert_string_equal(text_of(json, "hosts"), "a:2,b:1");
    assert_null(json_object_get(json, "application"));
    json_decref(json);
    assert_int_equal(unlink(in_dir("claim.json")), 0);
    assert_int_equal(claim_make(dir, NULL, "", NULL, &err), 0);
    json = read_json("claim.json"); /* what there is none of is not there */
    assert_true(json_object_get(json, "gpus") == NULL && json_object_get(json, "hosts") == NULL &&
                json_object_get(json, "tmpdir") == NULL);
    json_decref(json);
    assert_int_equal(claim_read(dir, &claim, &err), 0);
    assert_true(claim.tmpdir[0] == '\0' && claim.gpus[0] == '\0');
}

static void put(const char *name, const char *text)
{
    assert_int_equal(file_write_whole(in_dir(name), text, strlen(text), 0600, &err), 0);
}

static void claims_without_what_they_need_are_none(void **state)
{
    static const char *const wrong[] = {
        "{\"pid\":1,\"start_time\":1,\"boot_id\":\"b\"}",
        "{\"version\":2,\"pid\":1,\"start_time\":1,\"boot_id\":\"b\"}",
        "{\"version\":1,\"start_time\":1,\"boot_id\":\"b\"}",
        "{\"version\":1,\"pid\":0,\"start_time\":1,\"boot_id\":\"b\"}",
        "{\"version\":1,\"pid\":2147483648,\"start_time\":1,\"boot_id\":\"b\"}",
        "{\"version\":1,\"pid\":1,\"boot_id\":\"b\"}",
        "{\"version\":1,\"pid\":1,\"start_time\":-1,\"boot_id\":\"b\"}",
        "{\"version\":1,\"pid\":1,\"start_time\":1}",
        "{\"version\":1,\"pid\":1,\"start_time\":1,\"boot_id\":7}",
        "{\"version\":1,\"pid\":1,\"start_time\":1,\"boot_id\":\"b\",\"host\":7}",
        "{\"version\":1,\"pid\":1,\"start_time\":1,\"boot_id\":\"b\",\"tmpdir\":7}",
        "{\"version\":1,\"pid\":1,\"start_time\":1,\"boot_id\":\"b\",\"gpus\":7}",
        "{\"version\":1,\"pid\":1,\"start_time\":1,\"boot_id\":\"b\",\"application\":7}",
        "{\"version\":1,\"pid\":1,\"start_time\":1,\"boot_id\":\"b\",\"time\":\"7\"}",
        "[]",
        "",
    };
    struct claim claim;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put("claim.json", wrong[i]);
        errno = 0;
        assert_int_equal(claim_read(dir, &claim, &err), -1);
        assert_int_equal(errno, EBADMSG);
        assert_int_equal(claim_join(dir, "42", &err), -1);
        assert_int_equal(errno, EEXIST);
    }
    put("claim.json", "{\"version\":1,\"pid\":2147483647,\"start_time\":0,\"boot_id\":\"b\"}");
    assert_int_equal(claim_read(dir, &claim, &err), 0);
    assert_int_equal(claim.pid, 2147483647);
    assert_true(claim.host[0] == '\0' && claim.tmpdir[0] == '\0' && claim.gpus[0] == '\0' &&
                claim.application[0] == '\0' && claim.time == 0);
    assert_int_equal(claim_join("/nowhere/at/all", "42", &err), -1);
    assert_int_equal(errno, ENOENT);
}

/* Of texts there is room for, and no more. */
static void long_texts_of_a_claim_are_cut(void **state)
{
    struct claim claim;
    char text[2048];
    json_t *json = json_pack("{s:i, s:i, s:i}", "version", 1, "pid", 7, "start_time", 1);

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    json_object_set_new(json, "boot_id", json_string(text));
    json_object_set_new(json, "host", json_string(text));
    json_object_set_new(json, "tmpdir", json_string(text));
    json_object_set_new(json, "gpus", json_string(text));
    json_object_set_new(json, "application", json_string(text));
    assert_int_equal(file_write_json(in_dir("claim.json"), json, 0600, &err), 0);
    assert_int_equal(claim_read(dir, &claim, &err), 0);
    assert_int_equal(strlen(claim.host), sizeof claim.host - 1);
    assert_int_equal(strlen(claim.application), sizeof claim.application - 1);
    json_decref(json);
}

static void a_claim_lives_as_long_as_its_process(void **state)
{
    struct claim claim;
    int ends[2], made[2], status;
    char byte = 'x';
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(made), 0);
    pid = fork();
    if (pid == 0) {
        close(ends[1]);
        _exit(claim_make(dir, NULL, NULL, NULL, &err) < 0 || write(made[1], &byte, 1) != 1 ||
              read(ends[0], &byte, 1) < 0);
    }
    close(ends[0]);
    close(made[1]);
    assert_int_equal(read(made[0], &byte, 1), 1);
    close(made[0]);
    assert_int_equal(claim_read(dir, &claim, &err), 0);
    assert_int_equal(claim.pid, pid);
    assert_true(claim_alive(&claim));
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(claim_alive(&claim));
    claim.start_time = 0; /* nobody knows of such a process that it is the same */
    assert_false(claim_alive(&claim));
}

/* A claim could name any directory. */
static void only_a_job_s_own_directory_is_removed(void **state)
{
    static const char *const stay[] = {"stretto-job-abcde", "stretto-job-abcdefg", "stretto-jobs-abcdef", "tretto-job-abcdeff", "stretto-jobxabcdef", "abcdef"};
    char below[256], path[160];
    struct stat st;

    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
        assert_int_equal(mkdir(in_dir(stay[i]), 0700), 0);
        job_tmpdir_remove(in_dir(stay[i]));
        assert_int_equal(stat(in_dir(stay[i]), &st), 0);
    }
    put("stretto-job-aaaaaa", "a file");
    job_tmpdir_remove(in_dir("stretto-job-aaaaaa"));
    assert_int_equal(stat(in_dir("stretto-job-aaaaaa"), &st), 0);
    assert_int_equal(symlink(stay[0], in_dir("stretto-job-bbbbbb")), 0);
    job_tmpdir_remove(in_dir("stretto-job-bbbbbb"));
    assert_int_equal(lstat(in_dir("stretto-job-bbbbbb"), &st), 0);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir(in_dir("stretto-job-cccccc"), 0700), 0);
    job_tmpdir_remove("stretto-job-cccccc");
    assert_int_equal(stat(in_dir("stretto-job-cccccc"), &st), 0);
    assert_int_equal(mkdir(in_dir("sub"), 0700), 0);
    assert_int_equal(mkdir(in_dir("sub/stretto-job-cccccc"), 0700), 0);
    job_tmpdir_remove("sub/stretto-job-cccccc");
    assert_int_equal(stat(in_dir("sub/stretto-job-cccccc"), &st), 0);
    assert_int_equal(chdir("/"), 0);
    if (geteuid() == 0) {
        assert_int_equal(mkdir(in_dir("stretto-job-dddddd"), 0700), 0);
        assert_int_equal(chown(in_dir("stretto-job-dddddd"), 54321, 54321), 0);
        job_tmpdir_remove(in_dir("stretto-job-dddddd"));
        assert_int_equal(stat(in_dir("stretto-job-dddddd"), &st), 0);
    }
    strcpy(path, in_dir("stretto-job-cccccc"));
    snprintf(below, sizeof below, "%s/a/b/c", path);
    assert_int_equal(dir_make(below, &err), 0);
    job_tmpdir_remove(path);
    assert_int_equal(stat(path, &st), -1);
    job_tmpdir_remove(path); /* gone already */
}

static struct exitrec record(void)
{
    struct exitrec rec = {.end = {.started_ms = 10250, .ended_ms = 12500, .outcome = ATTEMPT_FAILED, .exit_code = 1}};

    strcpy(rec.job, "st-1-2");
    strcpy(rec.id, "7.123");
    return rec;
}

/* With one key changed. */
static void exit_records_are_checked_key_by_key(void **state)
{
    static const struct {
        const char *key, *value, *pointer; /* pointer NULL: it is taken */
    } keys[] = {
        {"version", "null", "/version"},
        {"job", "null", "/job"},
        {"job", "\"\"", "/job"},
        {"job", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", "/job"},
        {"job", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", NULL},
        {"id", "null", "/id"},
        {"id", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", "/id"},
        {"host", "7", "/host"},
        {"host", "null", NULL},
        {"started", "null", "/started"},
        {"ended", "\"1\"", "/ended"},
        {"outcome", "null", "/outcome"},
        {"outcome", "\"fail\"", "/outcome"},
        {"exit_code", "256", "/exit_code"},
        {"exit_code", "-1", "/exit_code"},
        {"exit_code", "255", NULL},
        {"exit_code", "0", NULL},
        {"signal", "0", "/signal"},
        {"signal", "128", "/signal"},
        {"signal", "1", NULL},
        {"signal", "127", NULL},
        {"reason", "7", "/reason"},
        {"cpu_seconds", "\"1\"", "/cpu_seconds"},
        {"cpu_seconds", "0.0001", NULL},
        {"started", "1e90", "/started"},
        {"ended", "-1", "/ended"},
        {"outcome", "\"lost\"", "/outcome"},
        {"max_rss", "-1", "/max_rss"},
        {"max_rss", "9223372036854775807", NULL},
        {"late", "1", "/late"},
        {"late", "false", NULL},
        {"final", "1", "/final"},
        {"points", "-1", "/points"},
        {"points", "0", NULL},
        {"rung", "7", "/rung"},
        {"rung", "{}", "/rung/value"},
        {"rung", "{\"value\":1}", "/rung/step"},
        {"rung", "{\"value\":1,\"step\":-1}", "/rung/step"},
        {"rung", "{\"value\":\"1\",\"step\":1}", "/rung/value"},
        {"rung", "{\"value\":null,\"step\":0}", NULL},
        {"notice", "7", "/notice"},
        {"checkpoints", "{}", "/checkpoints"},
        {"checkpoints", "[]", NULL},
        {"resumed", "[]", "/resumed"},
        {"artefacts", "{}", "/artefacts"},
        {"artefacts", "[]", NULL},
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct exitrec rec = record(), back;
        json_t *json = exitrec_json(&rec);

        json_object_set_new(json, keys[i].key, json_loads(keys[i].value, JSON_DECODE_ANY, NULL));
        err.pointer[0] = '\0';
        if (exitrec_parse(json, &back, &err) != (keys[i].pointer ? -1 : 0))
            fail_msg("%s: %s", keys[i].key, keys[i].value);
        if (keys[i].pointer != NULL)
            assert_string_equal(err.pointer, keys[i].pointer);
        json_decref(json);
    }
}

/* Except where it has gone as far as it was to: then somebody ended it. */
static void success_needs_the_exit_status_0(void **state)
{
    for (int code = -1; code < 2; code++)
        for (int rung = 0; rung < 2; rung++) {
            struct exitrec rec = record(), back;
            json_t *json;

            rec.end.outcome = ATTEMPT_SUCCEEDED;
            rec.end.exit_code = code;
            rec.end.at_rung = rung;
            json = exitrec_json(&rec);
            assert_int_equal(exitrec_parse(json, &back, &err), code == 0 || rung ? 0 : -1);
            json_decref(json);
        }
}

static void every_message_says_what_it_is_about(void **state)
{
    static const char *const names[] = {"claim", "exit", "ended", "status", "metrics", "done", "endpoint"};
    static const char *const wrong[] = {
        "[]", "7", "{\"version\":2,\"job\":\"x\",\"what\":\"exit\"}", "{\"job\":\"x\",\"what\":\"exit\"}", "{\"version\":1,\"what\":\"exit\"}",
        "{\"version\":1,\"job\":\"x\"}", "{\"version\":1,\"job\":\"x\",\"what\":7}", "{\"version\":1,\"job\":7,\"what\":\"exit\"}",
        "{\"version\":1,\"job\":\".x\",\"what\":\"exit\"}", "{\"version\":1,\"job\":\"../x\",\"what\":\"exit\"}",
        "{\"version\":1,\"job\":\"x\",\"what\":\"exits\"}",
    };
    static const char *const jobs[] = {"st-1", "st-012345678901234567890123456789012345678901234567890123456789"};
    char text[CONTROL_MESSAGE_MAX], padded[CONTROL_MESSAGE_MAX + 1];
    struct control_message message;
    size_t size;

    for (int i = CONTROL_CLAIM; i <= CONTROL_ENDPOINT; i++)
        for (int j = 0; j < 2; j++) {
            size = control_build(text, jobs[j], (enum control_what)i);
            assert_int_equal(size, strlen(text));
            assert_non_null(strstr(text, names[i]));
            assert_int_equal(control_parse(text, size, &message, &err), 0);
            assert_int_equal(message.what, i);
            assert_string_equal(message.job, jobs[j]);
            for (size_t cut = 0; cut < size; cut++)
                assert_int_equal(control_parse(text, cut, &message, &err), -1);
        }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (control_parse(wrong[i], strlen(wrong[i]), &message, &err) == 0)
            fail_msg("%s was taken", wrong[i]);
    memset(padded, ' ', sizeof padded);
    memcpy(padded, text, size);
    assert_int_equal(control_parse(padded, CONTROL_MESSAGE_MAX - 1, &message, &err), 0);
    assert_int_equal(control_parse(padded, CONTROL_MESSAGE_MAX, &message, &err), -1);
}

/* Binds a socket as the daemon does; its path is in dir and has `length` bytes, or is short if that is 0. */
static int listen_at(struct sockaddr_un *address, size_t length)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memset(address->sun_path, 'x', length);
    memcpy(address->sun_path, in_dir("control"), strlen(in_dir("control")));
    assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof *address), 0);
    return fd;
}

static bool next_is(int fd, const char *job, enum control_what what)
{
    char text[CONTROL_MESSAGE_MAX];
    ssize_t n = recv(fd, text, sizeof text, 0);
    struct control_message message;

    return n > 0 && control_parse(text, (size_t)n, &message, &err) == 0 && strcmp(message.job, job) == 0 &&
           message.what == what;
}

/* A daemon that does not read costs its runners nothing but nudges: its queue fills up, and has room again later. */
static void a_full_queue_is_not_waited_for(void **state)
{
    struct sockaddr_un address;
    int fd = listen_at(&address, 0), from = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), n = 0;

    while (sendto(from, "x", 1, 0, (struct sockaddr *)&address, sizeof address) == 1)
        n++;
    assert_int_equal(errno, EAGAIN);
    for (int i = 0; i < 3; i++)
        control_nudge(address.sun_path, "st-1-2", CONTROL_EXIT);
    for (; n > 0; n--)
        assert_int_equal(recv(fd, (char[2]){0}, 2, 0), 1);
    assert_int_equal(recv(fd, (char[2]){0}, 2, 0), -1); /* they are lost */
    control_nudge(address.sun_path, "st-1-2", CONTROL_ENDED);
    assert_true(next_is(fd, "st-1-2", CONTROL_ENDED));
    close(fd);
}

/* No daemon, or none on this host: nothing happens, and no descriptor is left. */
static void without_a_daemon_a_nudge_does_nothing(void **state)
{
    struct sockaddr_un stale;
    char too_long[sizeof stale.sun_path + 1] = "";
    const char *paths[] = {NULL, "", "control", "/nowhere/at/all", too_long, stale.sun_path, in_dir("file")};
    int first;

    memset(too_long, '/', sizeof too_long - 1);
    close(listen_at(&stale, 0));
    put("file", "");
    first = dup(0);
    close(first);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        control_nudge(paths[i], "st-1-2", CONTROL_EXIT);
    assert_int_equal(dup(0), first);
    close(first);
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, open_dir, close_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DIR(a_claim_says_who_has_the_job),
        WITH_DIR(claims_without_what_they_need_are_none),
        WITH_DIR(long_texts_of_a_claim_are_cut),
        WITH_DIR(a_claim_lives_as_long_as_its_process),
        WITH_DIR(only_a_job_s_own_directory_is_removed),
        cmocka_unit_test(exit_records_are_checked_key_by_key),
        cmocka_unit_test(success_needs_the_exit_status_0),
        cmocka_unit_test(every_message_says_what_it_is_about),
        WITH_DIR(a_full_queue_is_not_waited_for),
        WITH_DIR(without_a_daemon_a_nudge_does_nothing),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

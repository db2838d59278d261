/* Lines of the log: their words, where they go, and what keeps them from being too many. */
#include "common/log_changes.h"
#include "common/log_limit.h"
#include "common/log_sink.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[64], path[128], text[LOG_LINE_MAX];

static int open_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    snprintf(path, sizeof path, "%s/log", mkdtemp(dir));
    return 0;
}

static int close_dir(void **state)
{
    char rm[96];

    log_close();
    snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm);
}

static const char *contents(const char *file)
{
    FILE *f = fopen(file, "r");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static size_t format(char *out, const char *message, const struct log_ids *ids, enum log_format as,
                     enum log_frame frame)
{
    struct log_record record = {LOG_LEVEL_WARN, 1769860800123, "strettod", 42, ids, message};
    size_t n = log_format(out, &record, as, frame);

    assert_true(n <= LOG_LINE_MAX);
    out[n] = '\0';
    return n;
}

static void notices_are_told_apart(void **state)
{
    static const struct {
        enum log_level level;
        bool notice;
    } cases[] = {{LOG_LEVEL_ERROR, false}, {LOG_LEVEL_WARN, false}, {LOG_LEVEL_INFO, true}, {LOG_LEVEL_DEBUG, true}};
    static const char *const others[] = {"", "info: done", "2026-01-31 12:00:00 solver[3] info: done", "2026-01-31T12:00:00.000Z info: done",
                                         "2026-01-31T12:00:00.000Z solver[3]: info: done"};
    char line[LOG_LINE_MAX + 1];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct log_record record = {cases[i].level, 1769860800123, "stretto", 42, NULL, "error: it waits"};

        line[log_format(line, &record, LOG_TEXT, LOG_PLAIN)] = '\0';
        assert_int_equal(log_is_notice(line), cases[i].notice);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(log_is_notice(others[i]));
}

static json_t *parsed(const char *message, const struct log_ids *ids)
{
    char line[LOG_LINE_MAX + 1];
    size_t n = format(line, message, ids, LOG_JSON, LOG_PLAIN);
    json_t *json;

    assert_int_equal(line[n - 1], '\n');
    assert_null(memchr(line, '\n', n - 1));
    json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    return json;
}

/* jansson refuses what is not UTF-8. */
static void json_is_json_whatever_was_said(void **state)
{
    char message[2 * LOG_LINE_MAX];
    json_t *json;

    for (int byte = 1; byte < 256; byte++) {
        for (size_t size = 1; size <= 5; size++) {
            memset(message, byte, size);
            memcpy(message + size, "end", 4);
            json = parsed(message, NULL);
            assert_non_null(strstr(json_string_value(json_object_get(json, "message")), "end"));
            json_decref(json);
        }
    }
    for (size_t size = LOG_LINE_MAX - 200; size < LOG_LINE_MAX + 50; size++) {
        for (size_t i = 0; i + 2 < size; i += 3)
            memcpy(message + i, "\xe2\x82\xac", 3);
        message[size - size % 3] = '\0';
        json_decref(parsed(message, NULL));
        memset(message, '"', size);
        message[size] = '\0';
        json_decref(parsed(message, LOG_JOB(1, "st")));
    }
    json = parsed("\xe2\x82\xac \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80", NULL); /* good; too long; surrogate; beyond */
    assert_int_equal(strncmp(json_string_value(json_object_get(json, "message")), "\xe2\x82\xac \xef\xbf\xbd", 7), 0);
    json_decref(json);
}

/* Moved away, and nothing can be put in its place: the log goes on where it was, and says why. */
static void a_file_that_cannot_be_begun_anew_goes_on(void **state)
{
    struct error err = {0};
    char moved[160];

    snprintf(moved, sizeof moved, "%s.1", path);
    assert_int_equal(log_open(path, LOG_TEXT, &err), 0);
    log_info("one");
    rename(path, moved);
    assert_int_equal(mkdir(path, 0700), 0);
    log_reopen();
    log_info("two");
    assert_non_null(strstr(contents(moved), "goes on where it was"));
    assert_non_null(strstr(contents(moved), "two"));
    assert_int_equal(rmdir(path), 0);
    log_reopen();
    log_info("three");
    assert_null(strstr(contents(moved), "three"));
    assert_non_null(strstr(contents(path), "three"));
}

/* Also where nobody sends SIGHUP. */
static void a_file_that_was_removed_is_begun_anew(void **state)
{
    struct log_sink sink;
    struct error err = {0};

    assert_int_equal(log_sink_open(&sink, path, &err), 0);
    log_sink_write(&sink, "one\n", 4, 10000);
    unlink(path);
    log_sink_write(&sink, "two\n", 4, 20000);
    assert_string_equal(contents(path), "two\n");
    unlink(path);
    log_sink_write(&sink, "three\n", 6, 20001); /* no second look so soon */
    assert_int_equal(access(path, F_OK), -1);
    log_sink_close(&sink);
}

static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    assert_true(strlen(name) < sizeof address.sun_path);
    memcpy(address.sun_path, name, strlen(name));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void syslog_comes_and_goes(void **state)
{
    struct log_sink sink;
    struct error err = {0};
    char to[160];
    int fd;

    snprintf(to, sizeof to, "syslog:%s", path);
    assert_int_equal(log_sink_open(&sink, to, &err), 0);
    log_sink_write(&sink, "lost", 4, 10000);
    assert_int_equal(sink.lost, 1);
    fd = listen_at(path);
    log_sink_write(&sink, "one", 3, 20000);
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), 3);
    close(fd);
    unlink(path);
    log_sink_write(&sink, "lost", 4, 30000);
    fd = listen_at(path);
    log_sink_write(&sink, "two", 3, 40000);
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), 3);
    assert_int_equal(strncmp(text, "two", 3), 0);
    assert_int_equal(sink.lost, 0);
    for (int i = 0; i < 1000; i++)
        log_sink_write(&sink, "much", 4, 40000); /* never blocks */
    assert_true(sink.lost > 0);
    close(fd);
    log_sink_close(&sink);
}

/* Half a line that a full pipe took is ended before the next. */
static void a_torn_line_is_ended_first(void **state)
{
    struct log_sink sink = {.kind = LOG_SINK_STDERR, .torn = true, .lost = 1};
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    sink.fd = ends[1];
    log_sink_write(&sink, "next\n", 5, 0);
    assert_int_equal(recv(ends[0], text, sizeof text, MSG_DONTWAIT), 6);
    assert_memory_equal(text, "\nnext\n", 6);
    assert_true(!sink.torn && sink.lost == 0);
    log_sink_write(&sink, "more\n", 5, 0);
    assert_int_equal(recv(ends[0], text, sizeof text, MSG_DONTWAIT), 5);
    close(ends[0]);
    close(ends[1]);
}

static void repeated_lines_are_counted(void **state)
{
    static const char site[] = "the disk %s is full", other[] = "%s";
    struct log_limit *limit = calloc(1, sizeof *limit);
    struct log_limit_slot out;
    int passed = 0;

    for (int i = 0; i < 1000; i++)
        passed += log_limit_pass(limit, site, LOG_LEVEL_ERROR, "the disk sda is full", 1000 + i);
    assert_int_equal(passed, LOG_LIMIT_SAME);
    assert_true(log_limit_pass(limit, site, LOG_LEVEL_ERROR, "the disk sdb is full", 2000));
    assert_true(log_limit_pass(limit, other, LOG_LEVEL_ERROR, "the disk sda is full", 2000));
    log_limit_take(limit, 2000, false, &out);
    assert_true(out.key == 0); /* its minute is not over */
    log_limit_take(limit, 1000 + LOG_LIMIT_WINDOW_MS, false, &out);
    assert_true(out.key != 0);
    assert_int_equal(out.silent, 1000 - LOG_LIMIT_SAME);
    assert_string_equal(out.sample, "the disk sda is full");
    assert_int_equal(out.level, LOG_LEVEL_ERROR);
    log_limit_take(limit, 1000 + LOG_LIMIT_WINDOW_MS, false, &out);
    assert_true(out.key == 0);
    assert_true(log_limit_pass(limit, site, LOG_LEVEL_ERROR, "the disk sda is full", 1000 + LOG_LIMIT_WINDOW_MS));
    free(limit);
}

static void one_place_cannot_flood(void **state)
{
    static const char site[] = "member %d failed";
    struct log_limit *limit = calloc(1, sizeof *limit);
    struct log_limit_slot out;
    char message[64];
    int passed = 0;

    for (int i = 0; i < 10000; i++) {
        snprintf(message, sizeof message, site, i);
        passed += log_limit_pass(limit, site, LOG_LEVEL_WARN, message, 1000);
    }
    assert_int_equal(passed, LOG_LIMIT_SITE);
    log_limit_take(limit, 1000, true, &out);
    assert_int_equal(out.silent, 10000 - LOG_LIMIT_SITE);
    assert_string_equal(out.sample, "member 9999 failed");
    log_limit_take(limit, 1000, true, &out); /* which is told once */
    assert_int_equal(out.silent, 0);
    free(limit);
}

/* Through the whole of it. */
static void what_was_left_out_is_told(void **state)
{
    struct error err = {0};

    assert_int_equal(log_open(path, LOG_JSON, &err), 0);
    for (int i = 0; i < 8; i++)
        log_warn_of(LOG_ENSEMBLE(7), "again and again");
    log_info("another");
    log_close();
    contents(path);
    assert_non_null(strstr(text, "\"level\":\"warning\",\"program\":\"test\""));
    assert_non_null(strstr(text, "\"ensemble\":7,\"message\":\"again and again\"}\n"));
    assert_non_null(strstr(text, "\"message\":\"5 more lines like this were left out: again and again\"}\n"));
    assert_non_null(strstr(text, "\"message\":\"another\"}\n"));
}

/* How many lines of the log have this in them. */
static int lines_with(const char *what)
{
    int n = 0;

    for (const char *at = contents(path); (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* The log tells of what is committed, and of nothing else. */
static void changes_are_logged_when_they_are_committed(void **state)
{
    char job[] = "st-committed";
    struct error err;

    assert_int_equal(log_open(path, LOG_JSON, &err), 0);
    log_changes_keep(true);
    for (int i = 0; i < 20; i++)
        log_change(LOG_LEVEL_INFO, LOG_JOB(7, job), "change %d", i);
    job[0] = 'x'; /* the caller's again */
    assert_int_equal(lines_with("change"), 0);
    log_changes_write();
    assert_int_equal(lines_with("change"), 20);
    assert_int_equal(lines_with("\"job\":\"st-committed\""), 20);
    log_change(LOG_LEVEL_INFO, NULL, "never");
    log_changes_drop();
    log_changes_write();
    assert_int_equal(lines_with("never"), 0);
    assert_int_equal(lines_with("change"), 20);

    log_change(LOG_LEVEL_INFO, NULL, "the last");
    log_changes_keep(false);
    assert_int_equal(lines_with("the last"), 1);
    log_change(LOG_LEVEL_INFO, NULL, "at once");
    assert_int_equal(lines_with("at once"), 1);
    log_changes_keep(true);
    log_change(LOG_LEVEL_INFO, NULL, "again");
    assert_int_equal(lines_with("again"), 0);
    log_changes_keep(false);
    assert_int_equal(lines_with("again"), 1);
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, open_dir, close_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_are_told_apart),
        cmocka_unit_test(json_is_json_whatever_was_said),
        WITH_DIR(a_file_that_cannot_be_begun_anew_goes_on),
        WITH_DIR(a_file_that_was_removed_is_begun_anew),
        WITH_DIR(syslog_comes_and_goes),
        cmocka_unit_test(a_torn_line_is_ended_first),
        cmocka_unit_test(repeated_lines_are_counted),
        cmocka_unit_test(one_place_cannot_flood),
        WITH_DIR(what_was_left_out_is_told),
        WITH_DIR(changes_are_logged_when_they_are_committed),
    };

    test_limit(60);
    signal(SIGPIPE, SIG_IGN);
    log_init("test", LOG_LEVEL_INFO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

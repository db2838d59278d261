/* The log at its edges: every level and id, what fits on a line, when a minute is over, and files that cannot be a
 * log. */
#include "common/log_changes.h"
#include "common/log_limit.h"
#include "common/log_sink.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static char dir[64], path[128], text[1 << 16];
static struct error err;

static int open_dir(void **state)
{
    strcpy(dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/log", dir);
    return 0;
}

static int close_dir(void **state)
{
    char rm[96];

    log_close();
    log_init("test", LOG_LEVEL_INFO);
    snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm);
}

static const char *contents(void)
{
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static const char *format(enum log_level level, const char *message, const struct log_ids *ids, enum log_format as,
                          enum log_frame frame)
{
    static char line[LOG_LINE_MAX + 1];
    struct log_record record = {level, 1769860800123, "strettod", 42, ids, message};
    size_t n = log_format(line, &record, as, frame);

    assert_true(n <= LOG_LINE_MAX);
    line[n] = '\0';
    return line;
}

/* Ids that a line is not about are not there, even where others are. */
static void each_id_is_a_field_of_its_own(void **state)
{
    static const char *const keys[] = {"request", "ensemble", "member", "attempt", "training", "job", "adapter"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct log_ids ids;
        json_t *json;

        ids.request = i == 0 ? UINT64_C(12345678901) : 0;
        ids.ensemble = i == 1 ? INT64_C(12345678901) : 0;
        ids.member = i == 2 ? 0 : -1;
        ids.attempt = i == 3 ? INT64_C(12345678901) : 0;
        ids.training = i == 4 ? INT64_C(12345678901) : 0;
        ids.job = i == 5 ? "a\"b" : NULL;
        ids.adapter = i == 6 ? "a\"b" : NULL;
        json = json_loads(format(LOG_LEVEL_INFO, "m", &ids, LOG_JSON, LOG_PLAIN), 0, NULL);
        assert_non_null(json);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const json_t *value = json_object_get(json, keys[k]);

            assert_int_equal(value != NULL, k == i);
            if (k == i && k < 5)
                assert_int_equal(json_integer_value(value), k == 2 ? 0 : INT64_C(12345678901));
            else if (k == i)
                assert_string_equal(json_string_value(value), "a\"b");
        }
        json_decref(json);
    }
}

/* In a process of its own, since it is told of a whole program. */
static void trouble_is_an_error_or_a_warning(void **state)
{
    for (int i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            alarm(20);
            log_init("test", LOG_LEVEL_DEBUG);
            if (log_open(path, LOG_TEXT, &err) < 0 || log_troubled())
                _exit(2);
            log_line((enum log_level)i, NULL, "x");
            log_line(LOG_LEVEL_INFO, NULL, "x"); /* it stays so */
            _exit(log_troubled());
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), i <= LOG_LEVEL_WARN);
    }
}

static int lines_with(const char *what)
{
    int n = 0;

    for (const char *at = contents(); (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* A disk that is full for the last lines: the log says so as soon as it can, also at its end or when it is looked
 * after. */
static void losses_are_told_at_the_end(void **state)
{
    struct rlimit whole, small;

    signal(SIGXFSZ, SIG_IGN);
    for (int settles = 0; settles < 2; settles++) {
        assert_int_equal(log_open(path, LOG_TEXT, &err), 0);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
        small = (struct rlimit){0, whole.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        log_info("lost");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
        if (settles)
            log_settle();
        else
            log_close();
        assert_int_equal(lines_with("warning: 1 line of this log could not be written\n"), 1 + settles);
    }
}

static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, name, strlen(name));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* A syslog that is busy keeps its connection; one that is gone is tried again, but not each time. */
static void syslog_is_tried_again_after_a_second(void **state)
{
    struct log_sink sink;
    char to[160];
    int fd, was;

    snprintf(to, sizeof to, "syslog:%s", path);
    assert_int_equal(log_sink_open(&sink, to, &err), 0);
    log_sink_write(&sink, "lost", 4, 10000);
    fd = listen_at(path);
    log_sink_write(&sink, "lost", 4, 10999);
    assert_int_equal(sink.lost, 2);
    log_sink_write(&sink, "one", 3, 11000);
    assert_int_equal(sink.lost, 0);
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), 3);
    was = sink.fd;
    while (sink.lost == 0)
        log_sink_write(&sink, "much", 4, 11000);
    assert_int_equal(sink.fd, was); /* it is busy, and still there */
    while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
        ;
    log_sink_write(&sink, "two", 3, 11000);
    assert_int_equal(recv(fd, text, sizeof text, MSG_DONTWAIT), 3);
    assert_int_equal(log_sink_reopen(&sink, &err), 0); /* that is for files */
    assert_int_equal(sink.fd, was);
    close(fd);
    log_sink_write(&sink, "lost", 4, 11000);
    assert_int_equal(sink.fd, -1);
    log_sink_close(&sink);
    assert_true(sink.kind == LOG_SINK_STDERR && sink.fd == STDERR_FILENO);
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

/* A file that was removed is begun anew when it is looked after, once a second. */
static void a_file_is_looked_after_once_a_second(void **state)
{
    struct log_sink sink;

    assert_int_equal(log_sink_open(&sink, path, &err), 0);
    log_sink_write(&sink, "one\n", 4, 10000);
    unlink(path);
    log_sink_write(&sink, "two\n", 4, 10999);
    assert_int_equal(access(path, F_OK), -1);
    log_sink_write(&sink, "three\n", 6, 11000);
    assert_string_equal(contents(), "three\n");
    log_sink_close(&sink);
}

static void a_minute_of_a_line_is_its_own(void **state)
{
    static const char site[] = "%s";
    struct log_limit *limit = calloc(1, sizeof *limit);
    struct log_limit_slot out;

    for (int i = 0; i < LOG_LIMIT_SAME; i++)
        assert_true(log_limit_pass(limit, site, LOG_LEVEL_WARN, "a", 5000));
    assert_false(log_limit_pass(limit, site, LOG_LEVEL_WARN, "a", 5000));
    assert_false(log_limit_pass(limit, site, LOG_LEVEL_ERROR, "a", 5000 + LOG_LIMIT_WINDOW_MS - 1));
    log_limit_take(limit, 5000 + LOG_LIMIT_WINDOW_MS - 1, false, &out);
    assert_true(out.key == 0);
    assert_false(log_limit_pass(limit, site, LOG_LEVEL_WARN, "a", 5000 + LOG_LIMIT_WINDOW_MS)); /* until that is told */
    log_limit_take(limit, 5000 + LOG_LIMIT_WINDOW_MS, false, &out);
    assert_int_equal(out.silent, 3);
    assert_int_equal(out.level, LOG_LEVEL_WARN); /* of the last */
    assert_true(log_limit_pass(limit, site, LOG_LEVEL_WARN, "a", 5000 + LOG_LIMIT_WINDOW_MS));
    /* a line of which none was left out begins anew after its minute */
    for (int i = 0; i < LOG_LIMIT_SAME; i++)
        assert_true(log_limit_pass(limit, site, LOG_LEVEL_WARN, "b", 100000));
    for (int i = 0; i < LOG_LIMIT_SAME; i++)
        assert_true(log_limit_pass(limit, site, LOG_LEVEL_WARN, "b", 100000 + LOG_LIMIT_WINDOW_MS));
    assert_false(log_limit_pass(limit, site, LOG_LEVEL_WARN, "b", 100000 + LOG_LIMIT_WINDOW_MS));
    free(limit);
}

/* A repetition that is left out does not count against its place. */
static void repetitions_leave_room_for_others(void **state)
{
    static const char site[] = "%s";
    struct log_limit *limit = calloc(1, sizeof *limit);
    struct log_limit_slot out;
    char message[16];
    int passed = 0;

    for (int i = 0; i < 1000; i++)
        log_limit_pass(limit, site, LOG_LEVEL_WARN, "the same", 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(message, sizeof message, "%d", i);
        passed += log_limit_pass(limit, site, LOG_LEVEL_WARN, message, 1000);
    }
    assert_int_equal(passed, LOG_LIMIT_SITE - LOG_LIMIT_SAME);
    passed = 0;
    for (int n = 0; n < 2; n++) {
        log_limit_take(limit, 1000, true, &out);
        passed += (int)out.silent;
    }
    assert_int_equal(passed, 2000 - LOG_LIMIT_SITE);
    log_limit_take(limit, 1000, true, &out);
    assert_true(out.key == 0);
    free(limit);
}

/* There is only so much memory for lines that repeat; others are let through. */
static void more_kinds_of_lines_than_slots_are_written(void **state)
{
    struct log_limit *limit = calloc(1, sizeof *limit);
    char sites[2 * LOG_LIMIT_SLOTS];

    for (size_t i = 0; i < sizeof sites; i++)
        for (int n = 0; n < (i < 10 ? LOG_LIMIT_SAME : 1); n++)
            assert_true(log_limit_pass(limit, &sites[i], LOG_LEVEL_WARN, "x", 1000));
    for (size_t i = 0; i < sizeof sites; i++)
        assert_int_equal(log_limit_pass(limit, &sites[i], LOG_LEVEL_WARN, "x", 1001), i >= 10);
    free(limit);
}

static int descriptors;

static void no_descriptor_is_left_open(void **state)
{
    assert_int_equal(test_descriptors(), descriptors);
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, open_dir, close_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DIR(trouble_is_an_error_or_a_warning), /* the first, before there is any here */
        cmocka_unit_test(each_id_is_a_field_of_its_own),
        WITH_DIR(losses_are_told_at_the_end),
        WITH_DIR(syslog_is_tried_again_after_a_second),
        WITH_DIR(a_torn_line_is_ended_first),
        WITH_DIR(a_file_is_looked_after_once_a_second),
        cmocka_unit_test(a_minute_of_a_line_is_its_own),
        cmocka_unit_test(repetitions_leave_room_for_others),
        cmocka_unit_test(more_kinds_of_lines_than_slots_are_written),
        cmocka_unit_test(no_descriptor_is_left_open),
    };

    test_limit(12);
    descriptors = test_descriptors();
    signal(SIGPIPE, SIG_IGN);
    log_init("test", LOG_LEVEL_INFO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

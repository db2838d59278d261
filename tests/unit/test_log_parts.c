/* The log at its edges: every level and id, what fits on a line, when a minute is over, and files that cannot be a
 * log. */
#include "common/log_changes.h"
#include "common/log_limit.h"
#include "common/log_sink.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

static void each_level_has_its_name_and_its_priority(void **state)
{
    static const char *const names[] = {"error", "warning", "info", "debug"}, *const priorities[] = {"<3>", "<4>", "<6>", "<7>"},
                      *const of_daemons[] = {"<27>", "<28>", "<30>", "<31>"};
    char wanted[128];

    setenv("TZ", "UTC", 1);
    for (int i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++) {
        assert_string_equal(log_level_name((enum log_level)i), names[i]);
        snprintf(wanted, sizeof wanted, "2026-01-31T12:00:00.123Z strettod[42] %s: m\n", names[i]);
        assert_string_equal(format((enum log_level)i, "m", NULL, LOG_TEXT, LOG_PLAIN), wanted);
        snprintf(wanted, sizeof wanted, "%sm\n", priorities[i]);
        assert_string_equal(format((enum log_level)i, "m", NULL, LOG_TEXT, LOG_JOURNAL), wanted);
        snprintf(wanted, sizeof wanted, "%sJan 31 12:00:00 strettod[42]: m", of_daemons[i]);
        assert_string_equal(format((enum log_level)i, "m", NULL, LOG_TEXT, LOG_SYSLOG), wanted);
        snprintf(wanted, sizeof wanted, "\"level\":\"%s\",\"program\":\"strettod\",\"pid\":42,", names[i]);
        assert_non_null(strstr(format((enum log_level)i, "m", NULL, LOG_JSON, LOG_PLAIN), wanted));
    }
    assert_memory_equal(format(LOG_LEVEL_WARN, "m", NULL, LOG_JSON, LOG_JOURNAL), "<4>{\"time\":", 11);
    /* a datagram needs no newline */
    assert_string_equal(strrchr(format(LOG_LEVEL_WARN, "m", NULL, LOG_JSON, LOG_SYSLOG), 'm'), "m\"}");
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

/* Every character stays what it is, if it is one. */
static void characters_stay_whole(void **state)
{
    static const struct {
        const char *said, *in_text, *in_json;
    } cases[] = {
        {"\xc2\x80|\xdf\xbf", NULL, NULL},
        {"\xe0\xa0\x80|\xed\x9f\xbf|\xee\x80\x80|\xef\xbf\xbf", NULL, NULL},
        {"\xf0\x90\x80\x80|\xf4\x8f\xbf\xbf", NULL, NULL},
        {"a~ ", NULL, NULL},
        {"\xc1\xbf|", "\xef\xbf\xbd\xef\xbf\xbd|", "\xef\xbf\xbd\xef\xbf\xbd|"},
        {"\xe0\x9f\xbf|", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"},
        {"\xed\xa0\x80|", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"},
        {"\xf0\x8f\xbf\xbf|", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|", NULL},
        {"\xf4\x90\x80\x80|", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|", NULL},
        {"\xf5\x80\x80\x80|", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|", NULL},
        {"\xc3|", "\xef\xbf\xbd|", "\xef\xbf\xbd|"},
        {"\xe2\x82|", "\xef\xbf\xbd\xef\xbf\xbd|", "\xef\xbf\xbd\xef\xbf\xbd|"},
        {"\x7f|", " |", "\xef\xbf\xbd|"},
        {"\t\x1f|", "  |", "\t\x1f|"},
        {"\n|", " |", " |"},
        {"\"\\|", "\"\\|", "\"\\|"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *in_text = cases[i].in_text ? cases[i].in_text : cases[i].said, *in_json = cases[i].in_json ? cases[i].in_json : in_text;
        const char *line = format(LOG_LEVEL_INFO, cases[i].said, NULL, LOG_TEXT, LOG_JOURNAL);
        json_t *json;

        assert_int_equal(strlen(line), strlen(in_text) + 4);
        assert_memory_equal(line + 3, in_text, strlen(in_text));
        json = json_loads(format(LOG_LEVEL_INFO, cases[i].said, NULL, LOG_JSON, LOG_PLAIN), 0, NULL);
        assert_string_equal(json_string_value(json_object_get(json, "message")), in_json);
        json_decref(json);
    }
}

/* As much of it as there is room for. */
static void a_long_message_is_cut_at_the_line_s_end(void **state)
{
    char message[2 * LOG_LINE_MAX];

    memset(message, 'm', sizeof message);
    message[sizeof message - 1] = '\0';
    assert_true(strlen(format(LOG_LEVEL_INFO, message, NULL, LOG_TEXT, LOG_PLAIN)) >= LOG_LINE_MAX - 4);
    assert_true(strlen(format(LOG_LEVEL_INFO, message, NULL, LOG_JSON, LOG_PLAIN)) >= LOG_LINE_MAX - 3);
    message[0] = '\xe2'; /* no character */
    assert_true(strlen(format(LOG_LEVEL_INFO, message, LOG_JOB(7, "a"), LOG_JSON, LOG_SYSLOG)) >= LOG_LINE_MAX - 4);
}

static void a_level_leaves_out_what_is_below(void **state)
{
    static const enum log_level levels[] = {LOG_LEVEL_NONE, LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO,
                                            LOG_LEVEL_DEBUG};

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        log_init("test", levels[i]);
        assert_int_equal(log_open(path, LOG_TEXT, &err), 0);
        errno = EXDEV;
        log_error("an error");
        log_warn("a warning");
        log_info("a notice");
        log_debug("a detail");
        assert_int_equal(errno, EXDEV);
        log_message(LOG_LEVEL_DEBUG, 0, NULL, "", "as a message");
        contents();
        assert_int_equal(strstr(text, "error: an error\n") != NULL, i >= 1);
        assert_int_equal(strstr(text, "warning: a warning\n") != NULL, i >= 2);
        assert_int_equal(strstr(text, "info: a notice\n") != NULL, i >= 3);
        assert_int_equal(strstr(text, "debug: a detail\n") != NULL, i >= 4);
        assert_int_equal(strstr(text, "1970-01-01T00:00:00.000Z") != NULL, i >= 4);
        log_close();
        unlink(path);
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

/* Who asks for everything gets everything. */
static void details_are_never_left_out(void **state)
{
    log_init("test", LOG_LEVEL_DEBUG);
    assert_int_equal(log_open(path, LOG_TEXT, &err), 0);
    for (int i = 0; i < 200; i++)
        log_info("the same");
    assert_int_equal(lines_with("the same"), 200);
}

static void one_line_that_is_left_out_is_one(void **state)
{
    assert_int_equal(log_open(path, LOG_TEXT, &err), 0);
    for (int i = 0; i < LOG_LIMIT_SAME + 1; i++)
        log_warn("once more");
    log_settle(); /* its minute is not over */
    assert_int_equal(lines_with("once more"), LOG_LIMIT_SAME);
    log_close();
    assert_int_equal(lines_with("warning: 1 more line like this was left out: once more\n"), 1);
    log_close(); /* nothing is told twice */
    assert_int_equal(lines_with("left out"), 1);
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

static void what_may_be_a_log(void **state)
{
    char longest[1025];

    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[1024] = '\0';
    assert_false(log_to_valid(longest));
    longest[1023] = '\0';
    assert_true(log_to_valid(longest));
    assert_true(log_to_valid("stderr") && log_to_valid("syslog") && log_to_valid("syslog:/dev/log") &&
                log_to_valid("/x"));
    assert_false(log_to_valid("syslog:") || log_to_valid("syslogs") || log_to_valid("stderr:/x") ||
                 log_to_valid("syslog:dev/log"));
}

static void others_files_are_no_log(void **state)
{
    char other[160];
    struct stat st;
    int reader;

    snprintf(other, sizeof other, "%s/other", dir);
    close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(log_open(path, LOG_TEXT, &err), -1);
    assert_string_equal(err.code, "log_unusable");
    assert_non_null(strstr(err.text, "symbolic link"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(log_open(path, LOG_TEXT, &err), -1);
    assert_non_null(strstr(err.text, "no file"));
    close(reader);
    unlink(path);
    assert_int_equal(log_open("/dev/null", LOG_TEXT, &err), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666); /* which stays open to others */
    if (geteuid() == 0) {
        assert_int_equal(chown(other, 54321, 54321), 0);
        assert_int_equal(log_open(other, LOG_TEXT, &err), -1);
        assert_non_null(strstr(err.text, "another user"));
    }
    unlink(other);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_int_equal(log_open(path, LOG_TEXT, &err), -1);
    assert_string_equal(err.code, "path_not_safe");
    assert_int_equal(access(path, F_OK), -1);
}

/* A log that goes on in a file that is there, and the one before is not touched by a failure. */
static void lines_are_added_at_the_end(void **state)
{
    assert_int_equal(log_open(path, LOG_TEXT, &err), 0);
    log_info("one");
    assert_int_equal(log_open("/nowhere/at/all", LOG_JSON, &err), -1);
    log_info("two");
    assert_int_equal(log_open(path, LOG_JSON, &err), 0);
    log_info("three");
    log_close();
    log_reopen(); /* there is no file: that changes nothing */
    contents();
    assert_true(strstr(text, "info: one\n") < strstr(text, "info: two\n"));
    assert_non_null(strstr(text, "\"message\":\"three\"}\n"));
}

static void a_journal_is_known_by_its_inode(void **state)
{
    struct log_sink sink = {.kind = LOG_SINK_STDERR};
    struct stat st;
    char stream[64];
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    sink.fd = ends[1];
    assert_int_equal(fstat(ends[1], &st), 0);
    unsetenv("JOURNAL_STREAM");
    assert_int_equal(log_sink_frame(&sink), LOG_PLAIN);
    for (int i = 0; i < 4; i++) {
        snprintf(stream, sizeof stream, i == 3 ? "%llu" : "%llu:%llu", (unsigned long long)st.st_dev + (i == 1),
                 (unsigned long long)st.st_ino + (i == 2));
        setenv("JOURNAL_STREAM", stream, 1);
        assert_int_equal(log_sink_frame(&sink), i == 0 ? LOG_JOURNAL : LOG_PLAIN);
    }
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    sink.kind = LOG_SINK_FILE;
    assert_int_equal(log_sink_frame(&sink), LOG_PLAIN);
    sink.kind = LOG_SINK_SYSLOG;
    assert_int_equal(log_sink_frame(&sink), LOG_SYSLOG);
    unsetenv("JOURNAL_STREAM");
    close(ends[0]);
    close(ends[1]);
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

/* Everything of a line about a change is there when it is written, though its caller has gone on. */
static void a_change_keeps_what_it_is_about(void **state)
{
    char job[] = "st-1", adapter[] = "slurm";
    struct log_ids ids = {.ensemble = 7, .member = 3, .attempt = 2, .training = 5, .request = 9, .job = job, .adapter = adapter};
    json_t *json;

    log_init("test", LOG_LEVEL_DEBUG);
    assert_int_equal(log_open(path, LOG_JSON, &err), 0);
    log_changes_keep(true);
    log_change(LOG_LEVEL_WARN, &ids, "%s", "one");
    ids = (struct log_ids){.member = -1};
    memset(job, 'x', 4);
    memset(adapter, 'x', 5);
    for (int i = 0; i < 40; i++)
        log_change(LOG_LEVEL_DEBUG, NULL, "%d", i);
    log_changes_keep(false);
    json = json_loads(contents(), JSON_DISABLE_EOF_CHECK, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "message")), "one");
    assert_string_equal(json_string_value(json_object_get(json, "level")), "warning");
    assert_string_equal(json_string_value(json_object_get(json, "job")), "st-1");
    assert_string_equal(json_string_value(json_object_get(json, "adapter")), "slurm");
    assert_int_equal(json_integer_value(json_object_get(json, "ensemble")), 7);
    assert_int_equal(json_integer_value(json_object_get(json, "member")), 3);
    assert_int_equal(json_integer_value(json_object_get(json, "attempt")), 2);
    assert_int_equal(json_integer_value(json_object_get(json, "training")), 5);
    assert_int_equal(json_integer_value(json_object_get(json, "request")), 9);
    json_decref(json);
    assert_int_equal(lines_with("\"level\":\"debug\""), 40);
    assert_int_equal(lines_with("\"member\""), 1);
    log_changes_keep(true);
    log_change(LOG_LEVEL_WARN, LOG_JOB(7, "never"), "never");
    log_changes_drop();
    log_changes_keep(false);
    assert_int_equal(lines_with("never"), 0);
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
        cmocka_unit_test(each_level_has_its_name_and_its_priority),
        cmocka_unit_test(each_id_is_a_field_of_its_own),
        cmocka_unit_test(characters_stay_whole),
        cmocka_unit_test(a_long_message_is_cut_at_the_line_s_end),
        WITH_DIR(a_level_leaves_out_what_is_below),
        WITH_DIR(details_are_never_left_out),
        WITH_DIR(one_line_that_is_left_out_is_one),
        WITH_DIR(losses_are_told_at_the_end),
        cmocka_unit_test(what_may_be_a_log),
        WITH_DIR(others_files_are_no_log),
        WITH_DIR(lines_are_added_at_the_end),
        WITH_DIR(a_journal_is_known_by_its_inode),
        WITH_DIR(syslog_is_tried_again_after_a_second),
        WITH_DIR(a_torn_line_is_ended_first),
        WITH_DIR(a_file_is_looked_after_once_a_second),
        cmocka_unit_test(a_minute_of_a_line_is_its_own),
        cmocka_unit_test(repetitions_leave_room_for_others),
        cmocka_unit_test(more_kinds_of_lines_than_slots_are_written),
        WITH_DIR(a_change_keeps_what_it_is_about),
        cmocka_unit_test(no_descriptor_is_left_open),
    };

    test_limit(12);
    descriptors = test_descriptors();
    signal(SIGPIPE, SIG_IGN);
    log_init("test", LOG_LEVEL_INFO);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

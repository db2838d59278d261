/* The life of a pilot on one node: what it takes from its inbox, what its jobs have, what its journal says, and when it
 * gives the node back. */
#include "tests/unit/pilot_rig.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/proto/control.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOB(name, more) "{\"job\": \"" name "\", \"dir\": \"/jobs/" name "\", \"cpus\": 1, \"grace\": 10, \"descriptor\": {\"its\": \"" name "\"}" more "}\n"

static void jobs_start_in_the_order_of_their_batches(void **state)
{
    static const struct rig_event all[] = {{5000, hand_over, JOB("a", "") JOB("b", "")}, {5000, hand_over, JOB("c", "")}, {30000, hand_over, JOB("d", "")}, {0}};

    configure("{\"cpus\": 1}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start a; end a 0; start b; end b 0; start c; end c 0; start d; end d 0; over idle");
    assert_int_equal(now, START + 90000); /* idle since the last has ended */
}

/* Without the kernel's help it looks each second at least; where that helps, at once, and rarely otherwise. */
static void what_comes_is_found_soon(void **state)
{
    static const struct rig_event all[] = {{20000, hand_over, JOB("a", "")}, {40000, hand_over, JOB("b", "")}, {0}};

    for (int blind = 0; blind < 2; blind++) {
        json_t *a, *b;

        configure("{\"cpus\": 1}");
        without_inotify = blind;
        events = all;
        assert_int_equal(fly(false), 0);
        a = report_of("a");
        b = report_of("b");
        assert_in_range(json_integer_value(json_object_get(a, "started")), 20000, blind ? 21000 : 20000);
        assert_in_range(json_integer_value(json_object_get(b, "started")), 40000, blind ? 41000 : 40000);
        assert_in_range(n_waits, 20, blind ? 200 : 80);
        json_decref(a);
        json_decref(b);
    }
}

static void a_job_has_what_is_its_own_and_nothing_else(void **state)
{
    static const struct rig_event all[] = {{1000, hand_over, JOB("stay-a", ", \"gpus\": 1, \"memory\": 5") JOB("b", ", \"gpus\": 2")}, {2000, end_jobs, NULL}, {0}};
    json_t *report;

    setenv("STRETTO_GPUS", "x,yy,z", 1);
    setenv("STRETTO_DEADLINE", "1700000900", 1);
    configure("{\"cpus\": 2, \"idle\": 5}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start stay-a; start b; end b 0; end stay-a 0; over idle");
    report = report_of("b");
    assert_string_equal(json_string_value(json_object_get(report, "dir")), "/jobs/b");
    assert_string_equal(json_string_value(json_object_get(report, "descriptor")), "{\"its\":\"b\"}");
    assert_string_equal(json_string_value(json_object_get(report, "gpus")), "yy,z");
    assert_string_equal(json_string_value(json_object_get(report, "pilot")), "st-pilot");
    assert_true(json_is_true(json_object_get(report, "leads")));
    assert_true(json_is_true(json_object_get(report, "quiet")));
    assert_true(json_is_true(json_object_get(report, "child")));
    assert_int_equal(json_integer_value(json_object_get(report, "started")), 1000);
    assert_int_equal(json_integer_value(json_object_get(report, "until")), 900000);
    json_decref(report);
    report = report_of("stay-a");
    assert_string_equal(json_string_value(json_object_get(report, "gpus")), "x");
    json_decref(report);
    unsetenv("STRETTO_GPUS");
    unsetenv("STRETTO_DEADLINE");
}

/* The last of many has as many as the first: its letter, and three of this test. */
static void descriptors_of_others_are_closed_in_it(void **state)
{
    static const struct rig_event all[] = {
        {1000, hand_over, JOB("stay-a", "") JOB("stay-b", "") JOB("c", "")}, {2000, end_jobs, NULL}, {0}};
    json_t *first, *last;

    configure("{\"cpus\": 3, \"idle\": 5}");
    events = all;
    assert_int_equal(fly(false), 0);
    first = report_of("stay-a");
    last = report_of("c");
    assert_int_equal(json_integer_value(json_object_get(first, "descriptors")),
                     json_integer_value(json_object_get(last, "descriptors")));
    assert_int_equal(json_integer_value(json_object_get(first, "descriptors")), 4);
    assert_null(json_string_value(json_object_get(last, "gpus"))); /* nobody has counted them */
    assert_int_equal(json_integer_value(json_object_get(last, "until")), -1);
    json_decref(first);
    json_decref(last);
}

static void told_to_end_it_ends_its_jobs_first(void **state)
{
    static const char *const words[] = {"15", "2", "1"}; /* SIGTERM, SIGINT, SIGHUP */

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct rig_event all[] = {{1000, hand_over, JOB("stay-a", "") JOB("b", "")}, {5000, stop, words[i]}, {7000, end_jobs, NULL},
                                        {7500, hand_over, JOB("late", "")}, {0}};

        configure("{\"cpus\": 1}");
        events = all;
        assert_int_equal(fly(false), 0);
        assert_told("start stay-a; return b its allocation was told to end; end stay-a 143; over told to end");
        assert_int_equal(n_terminated, 1);
        assert_int_equal(terminated_at, 5000);
        assert_int_equal(n_killed, 0);
    }
}

static void other_signals_do_not_end_it(void **state)
{
    static const struct rig_event all[] = {{1000, stop, "10"}, {2000, stop, "12"}, {3000, stop, "17"}, {0}};

    configure("{}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("over idle");
}

static void a_job_that_is_cancelled_is_told(void **state)
{
    static const struct rig_event all[] = {{1000, hand_over, JOB("stay-a", "") JOB("b", "") JOB("c", "")}, {5000, hand_over, "{\"cancel\": \"b\"}\n{\"cancel\": \"stay-a\"}\n"},
                                           {7000, end_jobs, NULL}, {0}};

    configure("{\"cpus\": 1}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start stay-a; return b cancelled; end stay-a 143; start c; end c 0; over idle");
    assert_int_equal(terminated_at, 5000);
}

/* A link of somebody else's could have commands run; what cannot be read stays. */
static void put_strange_files(const char *ignored)
{
    static const char order[] = JOB("bad", "");
    char *outside = xasprintf("%s/outside", dir), *link = xasprintf("%s/node0/inbox/0.jsonl", dir),
         *other = xasprintf("%s/node0/inbox/1.json", dir);
    char *none = xasprintf("%s/node0/inbox/.jsonl", dir), *folder = xasprintf("%s/node0/inbox/9.jsonl", dir);
    struct error err;

    if (file_write_whole(outside, order, strlen(order), 0600, &err) < 0 ||
        file_write_whole(other, order, strlen(order), 0600, &err) < 0 ||
        file_write_whole(none, order, strlen(order), 0600, &err) < 0 || symlink(outside, link) < 0 ||
        mkdir(folder, 0700) < 0)
        abort();
    free(outside);
    free(link);
    free(other);
    free(none);
    free(folder);
}

static bool is_in_inbox(const char *name)
{
    char *path = xasprintf("%s/node0/inbox/%s", dir, name);
    struct stat st;
    bool is = lstat(path, &st) == 0;

    free(path);
    return is;
}

static void only_what_the_daemon_has_written_is_taken(void **state)
{
    static const struct rig_event all[] = {
        {1000, put_strange_files, NULL}, {2000, hand_over, JOB("a", "") "no order\n[]\n" JOB("b", "")}, {0}};

    configure("{\"cpus\": 1}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start a; end a 0; start b; end b 0; over idle");
    assert_false(is_in_inbox("0.jsonl"));
    assert_false(is_in_inbox("1.jsonl")); /* it was a batch */
    assert_true(is_in_inbox("1.json") && is_in_inbox(".jsonl") && is_in_inbox("9.jsonl"));
}

static void a_runner_that_fails_tells_no_records(void **state)
{
    static const struct rig_event all[] = {{1000, hand_over, JOB("fail", "")}, {0}};
    json_t *line;

    configure("{\"cpus\": 1}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start fail; end fail 74; over idle");
    line = line_of(0, "end", "fail");
    assert_null(json_object_get(line, "records"));
    json_decref(line);
}

/* Nothing is lost, and nothing is told twice; and the node is not given back before all is told. */
static void a_journal_that_cannot_be_written_waits(void **state)
{
    static const struct rig_event all[] = {{1000, hand_over, JOB("a", "")}, {0}};

    configure("{\"cpus\": 1, \"idle\": 20}");
    journal_full_until = 50200;
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start a; end a 0; over idle");
    assert_in_range(now, START + 50200, START + 50700); /* each half a second */
    assert_in_range(n_waits, 50, 200);
    configure("{\"cpus\": 1}");
    writes_little = true;
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start a; end a 0; over idle");
}

/* So that other hosts see it soon. */
static void it_is_flushed_where_that_is_asked_for(void **state)
{
    static const struct rig_event all[] = {{1000, hand_over, JOB("a", "")}, {0}};

    configure("{\"cpus\": 1}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_int_equal(n_synced, 0);
    configure("{\"cpus\": 1, \"flush\": true}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_int_equal(n_synced, 3); /* behind "ready", the job, and "over" */
    assert_int_equal(synced_at, 61000);
}

static int64_t second_sync_at;

static void note_sync(const char *ignored)
{
    second_sync_at = n_synced == 2 ? synced_at : -1;
}

static void it_is_flushed_within_a_tenth_of_a_second(void **state)
{
    static const struct rig_event all[] = {{1000, hand_over, JOB("a", "")}, {3000, note_sync, NULL}, {0}};

    configure("{\"cpus\": 1, \"flush\": true}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_int_equal(second_sync_at, 1100);
}

/* Nothing is left of it: no process, no descriptor. It has one more process where it tells the daemon of news. */
static void at_its_end_nothing_is_left(void **state)
{
    static const struct rig_event all[] = {
        {1000, hand_over, JOB("stay-a", "") JOB("b", "")}, {2000, end_jobs, NULL}, {0}};
    int first = dup(0), next;

    close(first);
    configure("{\"cpus\": 2}");
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start stay-a; start b; end b 0; end stay-a 0; over idle");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    next = dup(0);
    close(next);
    assert_int_equal(next, first);
}

static int control_socket;
static char nudges[100];

/* Notes the nudges that have come since the last time. */
static void note_nudges(const char *when)
{
    char text[CONTROL_MESSAGE_MAX];
    struct control_message message;
    struct error err;
    ssize_t n;

    strcat(nudges, when);
    while ((n = recv(control_socket, text, sizeof text, MSG_DONTWAIT)) > 0) {
        assert_int_equal(control_parse(text, (size_t)n, &message, &err), 0);
        assert_string_equal(message.job, "st-pilot");
        assert_int_equal(message.what, CONTROL_EXIT);
        strcat(nudges, "*");
    }
}

/* Each time that it has written to its journal, it nudges the daemon once, which then finds the lines there. */
static void the_daemon_is_nudged_when_there_is_news(void **state)
{
    static const struct rig_event all[] = {{900, note_nudges, "ready"},   {1000, hand_over, JOB("stay-a", "")},
                                           {1900, note_nudges, " start"}, {2000, end_jobs, NULL},
                                           {2900, note_nudges, " end"},   {0}};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char config[200];

    control_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/control", dir);
    assert_int_equal(bind(control_socket, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(config, sizeof config, "{\"cpus\": 2, \"control\": \"%s\"}", address.sun_path);
    configure(config);
    events = all;
    assert_int_equal(fly(false), 0);
    assert_told("start stay-a; end stay-a 0; over idle");
    note_nudges(" over");
    assert_string_equal(nudges, "ready* start* end* over*");
    close(control_socket);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_start_in_the_order_of_their_batches),
        cmocka_unit_test(what_comes_is_found_soon),
        cmocka_unit_test(a_job_has_what_is_its_own_and_nothing_else),
        cmocka_unit_test(descriptors_of_others_are_closed_in_it),
        cmocka_unit_test(told_to_end_it_ends_its_jobs_first),
        cmocka_unit_test(other_signals_do_not_end_it),
        cmocka_unit_test(a_job_that_is_cancelled_is_told),
        cmocka_unit_test(only_what_the_daemon_has_written_is_taken),
        cmocka_unit_test(a_runner_that_fails_tells_no_records),
        cmocka_unit_test(a_journal_that_cannot_be_written_waits),
        cmocka_unit_test(it_is_flushed_where_that_is_asked_for),
        cmocka_unit_test(it_is_flushed_within_a_tenth_of_a_second),
        cmocka_unit_test(at_its_end_nothing_is_left),
        cmocka_unit_test(the_daemon_is_nudged_when_there_is_news),
    };

    return RIG_MAIN("pilot", tests);
}

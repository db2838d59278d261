/* The output of qstat of OpenPBS and Torque, read. */
#include "common/xalloc.h"
#include "scheduler-adapters/pbs.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct batch_rows rows;
static struct error err;

static int parse(enum pbs_kind kind, const char *text)
{
    char *copy = xstrdup(text);
    int rc;

    rows.kind = (int)kind;
    batch_rows_free(&rows);
    batch_text_clean(copy, strlen(copy));
    rc = kind == PBS_KIND_TORQUE ? pbs_xml_parse(&rows, copy, strlen(copy), &err)
                                 : pbs_json_parse(&rows, copy, strlen(copy), &err);
    free(copy);
    batch_rows_sort(&rows);
    return rc;
}

static int close_rows(void **state)
{
    batch_rows_free(&rows);
    return 0;
}

static struct adapter_status status_of(const char *name)
{
    struct adapter_status status = {0};
    size_t n;
    struct batch_row *row = batch_rows_find(&rows, name, &n);

    assert_non_null(row);
    pbs_status((enum pbs_kind)rows.kind, row, &status);
    return status;
}

/* A job of OpenPBS's, with further attributes. */
static void one(const char *name, const char *state, const char *more)
{
    char text[1000];

    snprintf(text, sizeof text,
             "{\"timestamp\":\t1,\"Jobs\":\t{\"12.pbs\":\t{\"Job_Name\":\t\"x\",\"job_state\":\t\"%s\",\"Variable_List\":\t{\"N\":\t1,"
             "\"STRETTO_RUNNER\":\t\"%s\"}%s}}}\n",
             state, name, more);
    assert_int_equal(parse(PBS_KIND_OPENPBS, text), 0);
}

static void states_of_openpbs_are_read(void **state)
{
    struct adapter_status status;

    one("a", "R", ",\"comment\":\t\"x\",\"comment\":\t\"y\""); /* as with what a user's site adds */
    assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);

    one("a", "Q", ",\"comment\":\"Not Running: Not enough free nodes available\",\"run_count\":0");
    status = status_of("a");
    assert_int_equal(status.state, ADAPTER_JOB_QUEUED);
    assert_string_equal(status.reason, "Not Running: Not enough free nodes available");
    assert_false(status.never);
    one("a", "Q", ",\"comment\":\"Can Never Run: Insufficient amount of resource: ncpus (R: 99 A: 0 T: 4)\"");
    assert_true(status_of("a").never);
    one("a", "H", ",\"comment\":\"job held, too many failed attempts to run\"");
    assert_true(status_of("a").never);
    one("a", "H", "");
    assert_false(status_of("a").never);
    one("a", "R", ",\"exec_host\":\"n7/0*2+n8/0*2\",\"stime\":\"Sun Nov 22 04:58:35 2026\"");
    status = status_of("a");
    assert_int_equal(status.state, ADAPTER_JOB_RUNNING);
    assert_string_equal(status.host, "n7");
    assert_string_equal(status.scheduler_id, "12.pbs");
    assert_true(status.started_ms == 1000LL * mktime(&(struct tm){.tm_year = 126, .tm_mon = 10, .tm_mday = 22, .tm_hour = 4,
                                                                  .tm_min = 58, .tm_sec = 35, .tm_isdst = -1}));
    for (const char *letter = "SUEBM?"; *letter != '\0'; letter++) {
        one("a", (const char[]){*letter, '\0'}, "");
        assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);
    }
    for (const char *letter = "QHWT"; *letter != '\0'; letter++) { /* an exit status is of an earlier try */
        one("a", (const char[]){*letter, '\0'}, ",\"Exit_status\":-20");
        assert_int_equal(status_of("a").state, ADAPTER_JOB_QUEUED);
        assert_false(status_of("a").node_lost);
    }
}

static void ends_of_openpbs_are_read(void **state)
{
    static const struct {
        const char *status, *reason;
        bool node_lost;
    } cases[] = {
        {"0", "", false},
        {"3", "PBS: FAILED (Exit_status 3)", false},
        {"137", "PBS: FAILED, by signal 9 (Exit_status 137)", false},
        {"271", "PBS: deleted (Exit_status 271)", false},
        {"265", "PBS: its shell was ended by signal 9 (Exit_status 265)", false},
        {"-29", "PBS: its walltime was over (Exit_status -29)", false},
        {"-20", "PBS: its node was lost (Exit_status -20)", true},
        {"254", "PBS: its shell could not be started (Exit_status 254)", false},
        {"192", "PBS: FAILED, by signal 64 (Exit_status 192)", false},
        {"193", "PBS: FAILED (Exit_status 193)", false},
        {"128", "PBS: FAILED (Exit_status 128)", false},
        {"129", "PBS: FAILED, by signal 1 (Exit_status 129)", false},
        {"256", "PBS: FAILED (Exit_status 256)", false},
        {"257", "PBS: its shell was ended by signal 1 (Exit_status 257)", false},
        {"255", "PBS: FAILED (Exit_status 255)", false},
        {"-11", "PBS: put back into the queue (Exit_status -11)", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char more[100];

        snprintf(more, sizeof more, ",\"Exit_status\":%s,\"stime\":\"Sun Nov 22 04:58:35 2026\"", cases[i].status);
        one("a", "F", more);
        assert_int_equal(status_of("a").state, ADAPTER_JOB_ENDED);
        assert_string_equal(status_of("a").reason, cases[i].reason);
        assert_int_equal(status_of("a").node_lost, cases[i].node_lost);
    }
    one("a", "F", ",\"substate\":91");
    assert_string_equal(status_of("a").reason, "cancelled before it started");
    one("a", "F", ",\"substate\":91,\"stime\":\"Sun Nov 22 04:58:35 2026\",\"run_count\":1");
    assert_string_equal(status_of("a").reason, "PBS: put back into the queue, and taken out of it");
    assert_true(status_of("a").node_lost);
}

static void ends_of_torque_are_read(void **state)
{
    static const struct {
        int status;
        const char *reason;
        bool node_lost;
    } cases[] = {
        {0, "", false},
        {254, "PBS: FAILED (Exit_status 254)", false},
        {271, "PBS: deleted (Exit_status 271)", false},
        {-11, "PBS: its walltime was over (Exit_status -11)", false},
        {-3, "PBS: it could not be started, for now (Exit_status -3)", true},
        {-20, "PBS: FAILED (Exit_status -20)", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];

        snprintf(text, sizeof text,
                 "<Data><Job><Job_Id>6.t</Job_Id><job_state>C</job_state><exec_host>n1/0</exec_host><start_time>5</start_time>"
                 "<exit_status>%d</exit_status><Variable_List>STRETTO_RUNNER=a</Variable_List></Job></Data>",
                 cases[i].status);
        assert_int_equal(parse(PBS_KIND_TORQUE, text), 0);
        assert_int_equal(status_of("a").state, ADAPTER_JOB_ENDED);
        assert_string_equal(status_of("a").reason, cases[i].reason);
        assert_int_equal(status_of("a").node_lost, cases[i].node_lost);
    }
}

/* Statuses with which PBS itself has ended a job, or could not begin it: their words, and whether the job is at
 * fault. */
static void statuses_below_zero_have_a_meaning(void **state)
{
    static const struct {
        int status;
        const char *openpbs, *torque;
        bool node_lost[2];
    } cases[] = {
        {-1, "it could not be started", "it could not be started", {false, false}},
        {-2, "it could not be started", "it could not be started", {false, false}},
        {-3, "it could not be started, for now", "it could not be started, for now", {true, true}},
        {-4, "ended when its node was started again", "ended when its node was started again", {true, true}},
        {-5, "ended when its node was started again", "ended when its node was started again", {true, true}},
        {-6, "ended when its node was started again", "ended when its node was started again", {true, true}},
        {-8, "FAILED", "its shell could not be started", {false, false}},
        {-9, "FAILED", "its output could not be opened", {false, false}},
        {-10, "its user is not known on the node", "it used more memory than it had asked for", {false, false}},
        {-11, "put back into the queue", "its walltime was over", {true, false}},
        {-12, "FAILED", "it used more CPU time than it had asked for", {false, false}},
        {-13, "FAILED", "it could not be started, for now", {false, true}},
        {-14, "one of its nodes was lost", "FAILED", {true, false}},
        {-20, "its node was lost", "FAILED", {true, false}},
        {-24, "it used more CPUs than it had asked for", "FAILED", {false, false}},
        {-25, "it used more CPUs than it had asked for", "FAILED", {false, false}},
        {-26, "it used more virtual memory than it had asked for", "FAILED", {false, false}},
        {-27, "it used more memory than it had asked for", "FAILED", {false, false}},
        {-28, "it used more CPU time than it had asked for", "FAILED", {false, false}},
        {-29, "its walltime was over", "FAILED", {false, false}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int kind = 0; kind < 2; kind++) {
            struct batch_row row = {.id = "7.p", .phase = BATCH_OVER, .state = "F", .reason = "", .host = "n1", .started = 5,
                                    .has_exit_status = true, .exit_status = cases[i].status};
            struct adapter_status status = {0};
            char wanted[100];

            snprintf(wanted, sizeof wanted, "PBS: %s (Exit_status %d)", kind == 0 ? cases[i].openpbs : cases[i].torque,
                     cases[i].status);
            pbs_status(kind == 0 ? PBS_KIND_OPENPBS : PBS_KIND_TORQUE, &row, &status);
            assert_string_equal(status.reason, wanted);
            assert_int_equal(status.node_lost, cases[i].node_lost[kind]);
        }
}

static void xml_of_torque_is_read(void **state)
{
    struct adapter_status status;

    assert_int_equal(
        parse(PBS_KIND_TORQUE,
              "<?xml version=\"1.0\"?>\n<Data>"
              "<Job><Job_Id>6.t</Job_Id><Job_Name>x</Job_Name><resources_used><walltime>00:00:01</walltime></resources_used>"
              "<job_state>C</job_state><exec_host>n1/0+n1/1</exec_host><Variable_List>PBS_O_QUEUE=b,A=x&lt;y,STRETTO_RUNNER=a,B=c"
              "</Variable_List><start_time>1382109600</start_time><exit_status>-11</exit_status></Job>"
              "<Job><Job_Id>7.t</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=b</Variable_List></Job>"
              "<Job><Job_Id>8.t</Job_Id><job_state>R</job_state><Variable_List>NOT_STRETTO_RUNNER=c</Variable_List></Job>"
              "<Job><Job_Id>9.t</Job_Id><job_state>C</job_state><Variable_List>STRETTO_RUNNER=d</Variable_List>"
              "<exit_status>0</exit_status></Job></Data>\n"),
        0);
    assert_int_equal(rows.n, 3);
    status = status_of("a");
    assert_int_equal(status.state, ADAPTER_JOB_ENDED);
    assert_string_equal(status.reason, "PBS: its walltime was over (Exit_status -11)");
    assert_string_equal(status.host, "n1");
    assert_true(status.started_ms == 1382109600000);
    assert_int_equal(status_of("b").state, ADAPTER_JOB_QUEUED);
    assert_int_equal(status_of("d").state, ADAPTER_JOB_ENDED);
    assert_int_equal(parse(PBS_KIND_TORQUE, ""), 0);
    assert_int_equal(parse(PBS_KIND_TORQUE, "<?xml version=\"1.0\"?>\n<Data></Data>\n"), 0);
    assert_int_equal(rows.n, 0);
}

static void a_list_that_is_not_whole_is_none(void **state)
{
    assert_int_equal(parse(PBS_KIND_TORQUE, "<Data><Job><Job_Id>7.t</Job_Id><Variable_List>STRETTO_RUNNER=b</Variable_List></Job>"), -1);
    assert_int_equal(rows.n, 0);
    assert_int_equal(parse(PBS_KIND_OPENPBS, "{\"Jobs\":{\"1.p\":{\"job_state\":\"R\"}"), -1);
    assert_int_equal(parse(PBS_KIND_OPENPBS, ""), -1);
    assert_int_equal(parse(PBS_KIND_OPENPBS, "{\"timestamp\":1,\"pbs_version\":\"23\"}"), 0);
    assert_int_equal(rows.n, 0);
}

/* They stand in variables of people who have nothing to do with us. */
static void bytes_that_no_format_allows_harm_nothing(void **state)
{
    one("a", "R", ",\"Account_Name\":\"caf\xe9 \x1b[31m \xed\xa0\x80 \xef\xbf\xbe\xf5 ok \xc3\xa9\"");
    assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);
    assert_int_equal(parse(PBS_KIND_TORQUE, "<Data><Job><Job_Id>6.t</Job_Id><comment>\x01 \xe9 \xef\xbf\xbf</comment><job_state>R</job_state>"
                                            "<Variable_List>STRETTO_RUNNER=a</Variable_List></Job></Data>"),
                     0);
    assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);
}

/* Versions before 23 print them so (openpbs issues 1255, 2541, pull requests 2049, 2603). */
static void what_old_versions_print_is_read(void **state)
{
    static const char text[] =
        "{\n    \"timestamp\":1,\n    \"Jobs\":{\n"
        "        \"1.p\":{\n            \"job_state\":\"R\",\n            \"Variable_List\":{\n                \"A\":005,\n"
        "                \"B\":.123,\n                \"C\":\"x\\'y\\,z\\\\\",\n                \"D\":-00,\n                \"E\":12,\n"
        "                \"STRETTO_RUNNER\":\"a\"\n            },\n            \"Exit_status\":3\n        },\n"
        "        \"2.p\":{\n            \"Variable_List\":{\n                \"BASH_FUNC\":\"() {  echo \"hello\" }\"\n            }\n"
        "        },\n"
        "        \"3.p\":{\n            \"job_state\":\"Q\",\n            \"Variable_List\":{\n                \"STRETTO_RUNNER\":\"b\",\n"
        "                \"A\":00\n            }\n        }\n    }\n}\n";
    char *copy = xstrdup(text), *at;

    assert_int_equal(parse(PBS_KIND_OPENPBS, text), 0);
    assert_int_equal(rows.n, 2);
    assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);
    assert_int_equal(status_of("b").state, ADAPTER_JOB_QUEUED);
    for (size_t n = 1; n + 2 < sizeof text; n++) { /* cut anywhere it is none */
        char *part = strndup(text, n);

        if (parse(PBS_KIND_OPENPBS, part) == 0)
            fail_msg("cut after %zu bytes", n);
        free(part);
    }
    at = strstr(copy, "echo");
    memcpy(strstr(copy, "BASH_FUNC\""), "STRETTO_RUNNER\":\"", 17); /* one of ours that cannot be read */
    assert_non_null(at);
    assert_int_equal(parse(PBS_KIND_OPENPBS, copy), -1);
    free(copy);
}

/* Anybody may give a job any variable. */
static void somebody_elses_job_is_none_of_ours(void **state)
{
    rows.user = "me";
    one("a", "R", ",\"Job_Owner\":\"me@login1\"");
    assert_int_equal(rows.n, 1);
    one("a", "R", ",\"Job_Owner\":\"mel@login1\"");
    assert_int_equal(rows.n, 0);
    assert_int_equal(parse(PBS_KIND_TORQUE,
                           "<Data><Job><Job_Id>6.t</Job_Id><Job_Owner>m@x</Job_Owner><job_state>R</job_state>"
                           "<Variable_List>STRETTO_RUNNER=a</Variable_List></Job></Data>"),
                     0);
    assert_int_equal(rows.n, 0);
    rows.user = NULL;
}

/* Ids jump, and are used again: the name is the job. Of two the one that runs, else the first that waits, else the last
 * that ended. */
static void the_right_one_of_a_name_is_told_of(void **state)
{
    static const char *const letters[] = {"FQR", "QHF", "FFF"}, *const first[] = {"3.t", "1.t", "3.t"};
    size_t n;

    for (size_t i = 0; i < 3; i++) {
        char text[900] = "<Data>";

        for (int job = 1; job <= 3; job++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "<Job><Job_Id>%d.t</Job_Id><job_state>%c</job_state><ctime>%d</ctime><Variable_List>STRETTO_RUNNER=a"
                     "</Variable_List></Job>",
                     job, letters[i][job - 1], 100 + job);
        strcat(text, "</Data>");
        assert_int_equal(parse(PBS_KIND_TORQUE, text), 0);
        assert_string_equal(batch_rows_find(&rows, "a", &n)->id, first[i]);
        assert_int_equal(n, 3);
        assert_null(batch_rows_find(&rows, "b", &n));
    }
}

static void is_row(const char *name, const char *id, enum adapter_state state)
{
    struct adapter_status status = status_of(name);
    size_t n;

    batch_rows_find(&rows, name, &n);
    assert_int_equal(n, 1);
    assert_string_equal(status.scheduler_id, id);
    assert_int_equal(status.state, state);
}

/* The array st-10+: what waits of it are its indices; what runs and has ended are jobs; of what ended without a history
 * the server knows the array's attributes, and a word. */
static void arrays_of_openpbs_are_read(void **state)
{
    static const char text[] =
        "{\"Jobs\":{\n"
        "\"7[].p\":{\"job_state\":\"B\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"stime\":\"Sun Nov 22 04:58:35 2026\","
        "\"comment\":\"Not Running: x\",\"array\":\"True\",\"Exit_status\":1,\"array_indices_remaining\":\"4-6:2,8\"},\n"
        "\"7[0].p\":{\"job_state\":\"R\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"exec_host\":\"n1/0\"},\n"
        "\"7[1].p\":{\"job_state\":\"X\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"exec_host\":\"n1/0\",\"Exit_status\":3},\n"
        "\"7[2].p\":{\"job_state\":\"X\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"Exit_status\":2,"
        "\"stime\":\"Sun Nov 22 04:58:35 2026\",\"comment\":\"Subjob finished\"},\n"
        "\"7[3].p\":{\"job_state\":\"X\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"Exit_status\":0,"
        "\"comment\":\"Subjob terminated\"},\n"
        "\"7[9].p\":{\"job_state\":\"X\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"Exit_status\":-20,"
        "\"stime\":\"Sun Nov 22 04:58:35 2026\"},\n"
        "\"7[10].p\":{\"job_state\":\"F\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"Exit_status\":2,"
        "\"stime\":\"Sun Nov 22 04:58:35 2026\",\"comment\":\"Subjob failed\"},\n"
        "\"7[4].p\":{\"job_state\":\"Q\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"}},\n"
        "\"8[].p\":{\"job_state\":\"F\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-30+\"},\"array_indices_remaining\":\"-\"},\n"
        "\"9[].p\":{\"job_state\":\"Q\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-40+\"},\"array_indices_remaining\":"
        "\"0-99999999999\"},\n"
        "\"12.p\":{\"job_state\":\"Q\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-5\"}}\n}\n}\n";

    assert_int_equal(parse(PBS_KIND_OPENPBS, text), 0);
    assert_int_equal(rows.n, 10);
    is_row("st-10", "7[0].p", ADAPTER_JOB_RUNNING);
    is_row("st-11", "7[1].p", ADAPTER_JOB_ENDED);
    assert_string_equal(status_of("st-11").reason, "PBS: FAILED (Exit_status 3)");
    is_row("st-12", "7[2].p", ADAPTER_JOB_ENDED);
    assert_string_equal(status_of("st-12").reason, "");
    assert_true(status_of("st-12").started_ms == 0);
    is_row("st-13", "7[3].p", ADAPTER_JOB_ENDED);
    assert_string_equal(status_of("st-13").reason, "PBS: deleted (Subjob terminated)");
    is_row("st-19", "7[9].p", ADAPTER_JOB_ENDED);
    assert_string_equal(status_of("st-19").reason, "PBS: its node was lost (Exit_status -20)");
    assert_true(status_of("st-19").node_lost);
    is_row("st-20", "7[10].p", ADAPTER_JOB_ENDED);
    assert_string_equal(status_of("st-20").reason, "PBS: Subjob failed");
    assert_true(status_of("st-20").started_ms == 0);
    is_row("st-14", "7[4].p", ADAPTER_JOB_QUEUED);
    assert_string_equal(status_of("st-14").reason, "Not Running: x");
    is_row("st-16", "7[6].p", ADAPTER_JOB_QUEUED);
    is_row("st-18", "7[8].p", ADAPTER_JOB_QUEUED);
    is_row("st-5", "12.p", ADAPTER_JOB_QUEUED);
}

static void arrays_of_torque_are_read(void **state)
{
    assert_int_equal(
        parse(PBS_KIND_TORQUE,
              "<Data><Job><Job_Id>6[].t</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-10+</Variable_List></Job>"
              "<Job><Job_Id>6[0].t</Job_Id><job_state>Q</job_state><Variable_List>STRETTO_RUNNER=st-10+,PBS_ARRAYID=0</Variable_List></Job>"
              "<Job><Job_Id>6[12].t</Job_Id><job_state>C</job_state><exit_status>271</exit_status>"
              "<Variable_List>STRETTO_RUNNER=st-10+,PBS_ARRAYID=12</Variable_List><start_time>5</start_time></Job></Data>"),
        0);
    assert_int_equal(rows.n, 2);
    is_row("st-10", "6[0].t", ADAPTER_JOB_QUEUED);
    is_row("st-22", "6[12].t", ADAPTER_JOB_ENDED);
    assert_string_equal(status_of("st-22").reason, "PBS: deleted (Exit_status 271)");
}

/* In seconds, or in English; what is neither is not known. */
static void times_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: as the calendar says */
        struct tm tm;
    } cases[] = {
        {"1382109600", 1382109600000, {0}}, {"-5", 0, {0}}, {"0", 0, {0}}, {"", 0, {0}}, {"12x", 0, {0}}, {"Sun Nov 22 04:58", 0, {0}},
        {"Sun Foo 22 04:58:35 2026", 0, {0}}, {"Sun anF 22 04:58:35 2026", 0, {0}}, {"Sun No 22 04:58:35 2026", 0, {0}},
        {"Thu Jan  1 00:00:07 2026", -1, {.tm_year = 126, .tm_mday = 1, .tm_sec = 7}},
        {"Thu Dec 31 23:59:00 2026", -1, {.tm_year = 126, .tm_mon = 11, .tm_mday = 31, .tm_hour = 23, .tm_min = 59}},
        {"Fri Jul 10 12:00:00 2026", -1, {.tm_year = 126, .tm_mon = 6, .tm_mday = 10, .tm_hour = 12}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tm tm = cases[i].tm;
        char more[100];

        tm.tm_isdst = -1;
        snprintf(more, sizeof more, ",\"stime\":\"%s\",\"ctime\":\"%s\"", cases[i].text, cases[i].text);
        one("a", "R", more);
        assert_int_equal(status_of("a").started_ms, cases[i].ms >= 0 ? cases[i].ms : 1000LL * mktime(&tm));
        assert_int_equal(rows.row[0].submitted, status_of("a").started_ms / 1000);
    }
    one("a", "R", ",\"stime\":1382109600"); /* no string */
    assert_int_equal(status_of("a").started_ms, 1382109600000);
}

static void attributes_are_read_as_versions_write_them(void **state)
{
    static const struct {
        const char *host, *first;
    } hosts[] = {{"n7/0*2+n8/0*2", "n7"}, {"n7+n8", "n7"}, {"n7*2", "n7"}, {"n7", "n7"}, {"n7.x-y/3", "n7.x-y"}};
    char more[100];

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(more, sizeof more, ",\"exec_host\":\"%s\"", hosts[i].host);
        one("a", "R", more);
        assert_string_equal(status_of("a").host, hosts[i].first);
    }
    one("a", "F", ",\"Exit_status\":\"3\",\"stime\":5"); /* a string */
    assert_string_equal(status_of("a").reason, "PBS: FAILED (Exit_status 3)");
    one("a", "Q", ",\"run_count\":2");
    assert_int_equal(rows.row[0].runs, 2);
    one("a", "E", "");
    assert_true(rows.row[0].is_ending);
    one("a", "R", "");
    assert_false(rows.row[0].is_ending);
    one("a,B=c", "R", "");
    assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);
    one("a", "", ""); /* it is not known that it does not run */
    assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);
    one("a", "Q", ",\"comment\":\"job held, too many failed attempts to run\"");
    assert_false(status_of("a").never); /* it is held no more */
    assert_int_equal(parse(PBS_KIND_OPENPBS, "{\"Jobs\":{\"1.p\":{\"job_state\":\"R\",\"Resource_List\":{\"STRETTO_RUNNER\":\"x\"},"
                                             "\"Variable_List\":{\"STRETTO_RUNNER\":5}},\"2.p\":{\"job_state\":\"R\",\"Variable_List\":"
                                             "\"A=b,STRETTO_RUNNER=c,D=e\"}}}"), 0);
    assert_int_equal(rows.n, 1); /* by its variable, however that is written */
    assert_string_equal(rows.row[0].name, "c");
    assert_int_equal(parse(PBS_KIND_TORQUE, "<Data><Job><Job_Id>6.t</Job_Id><job_state>Q</job_state><start_count>3</start_count><qtime>7</qtime>"
                                            "<Variable_List>STRETTO_RUNNER=a</Variable_List></Job><Job><job_state>Q</job_state>"
                                            "<Variable_List>STRETTO_RUNNER=b</Variable_List></Job></Data> \r\n\t"), 0);
    assert_int_equal(rows.n, 1); /* the other has no id */
    assert_int_equal(rows.row[0].runs, 3);
    assert_int_equal(parse(PBS_KIND_TORQUE, "<Data><Other><Job_Id>6.t</Job_Id><Job>x</Job><Variable_List>STRETTO_RUNNER=a</Variable_List></Other></Data>"), 0);
    assert_int_equal(rows.n, 0);
    assert_int_equal(parse(PBS_KIND_TORQUE, " \r\n\t"), 0);
    assert_int_equal(rows.n, 0);
    assert_int_equal(parse(PBS_KIND_TORQUE, "<Data><Job><Job_Id>6.t</Job_Id><job_state>R</job_state><Resource_List><Variable_List>STRETTO_RUNNER=x"
                                            "</Variable_List></Resource_List><comment/></Job></Data>"), 0);
    assert_int_equal(rows.n, 0);
}

/* An array that has begun has run; one of which nothing waits is no job. */
static void an_array_tells_whether_it_has_begun(void **state)
{
    for (int has_begun = 0; has_begun < 2; has_begun++) {
        char text[300];

        snprintf(text, sizeof text, "{\"Jobs\":{\"7[].p\":{\"job_state\":\"B\",\"Variable_List\":{\"STRETTO_RUNNER\":\"st-10+\"},\"Exit_status\":1,"
                                    "%s\"array_indices_remaining\":\"2\"}}}", has_begun ? "\"stime\":\"1382109600\"," : "");
        assert_int_equal(parse(PBS_KIND_OPENPBS, text), 0);
        assert_int_equal(rows.n, 1);
        is_row("st-12", "7[2].p", ADAPTER_JOB_QUEUED);
        assert_int_equal(rows.row[0].runs, has_begun);
        assert_int_equal(rows.row[0].started, 0);
        assert_false(rows.row[0].has_exit_status);
    }
}

/* Output of versions before 23: valid values stay the same in any surroundings. */
static void odd_values_are_mended(void **state)
{
    static const struct {
        const char *value;
        bool is_whole;
    } cases[] = {{"1", true}, {"-1.5e3", true}, {"true", true}, {"null", true}, {"0x1F", true}, {"1,2", false}, {"a b", true}, {"\\", true},
                 {"\"a\\/b\\u00e9\\t\"", true}, {"\"a: 05, {[\"", true}, {"{\"x\":\t07}", true}, {"\"x\\q\"", true}, {"\"open", false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500];

        snprintf(text, sizeof text,
                 "{\n\"Jobs\":{\n\"1.p\":\t{\n\"job_state\":\"R\",\n\"Variable_List\":{\n\"Z\":007,\n\"A\":%s,\n\"STRETTO_RUNNER\":\"a\"\n},\n"
                 "\"Exit_status\":3\n},\n\"2.p\":{\n\"job_state\":\"Q\",\n\"Variable_List\":{\n\"STRETTO_RUNNER\":\"b\"\n}\n}\n}\n}\n",
                 cases[i].value);
        if ((parse(PBS_KIND_OPENPBS, text) == 0) != cases[i].is_whole)
            fail_msg("%s", cases[i].value);
        if (!cases[i].is_whole)
            continue;
        assert_int_equal(rows.n, 2);
        assert_int_equal(status_of("a").state, ADAPTER_JOB_RUNNING);
        assert_int_equal(rows.row[0].exit_status, 3);
        assert_int_equal(status_of("b").state, ADAPTER_JOB_QUEUED);
    }
}

#define CASE(test) cmocka_unit_test_teardown(test, close_rows)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(states_of_openpbs_are_read),
        CASE(ends_of_openpbs_are_read),
        CASE(ends_of_torque_are_read),
        CASE(statuses_below_zero_have_a_meaning),
        CASE(xml_of_torque_is_read),
        CASE(a_list_that_is_not_whole_is_none),
        CASE(bytes_that_no_format_allows_harm_nothing),
        CASE(what_old_versions_print_is_read),
        CASE(somebody_elses_job_is_none_of_ours),
        CASE(the_right_one_of_a_name_is_told_of),
        CASE(arrays_of_openpbs_are_read),
        CASE(arrays_of_torque_are_read),
        CASE(times_are_read),
        CASE(attributes_are_read_as_versions_write_them),
        CASE(an_array_tells_whether_it_has_begun),
        CASE(odd_values_are_mended),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

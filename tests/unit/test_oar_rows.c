/* The output of oarstat, read with the plugin's own source and what is installed for it. */
#include "scheduler-adapters/oar/oar.h"
#include "tests/unit/unit.h"

#include <stretto/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct batch_rows rows;
static struct error err;

static int parse(enum oar_rows kind, const char *text)
{
    char *copy = xstrdup(text);
    int rc;

    batch_rows_free(&rows);
    rows.kind = (int)kind;
    rows.user = "me";
    rc = oar_parse(&rows, copy, strlen(copy), &err);
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
    const struct batch_row *row = batch_rows_find(&rows, name, &n);

    assert_non_null(row);
    oar_status(NULL, row, &status);
    return status;
}

/* One job of mine that is over: what else is said of it. */
static struct adapter_status ended(const char *more)
{
    char text[1000];

    snprintf(text, sizeof text, "{\"7\": {\"name\": \"st-a-1\", \"owner\": \"me\", \"resubmit_job_id\": 0, %s}}", more);
    assert_int_equal(parse(OAR_ROWS_SOME, text), 0);
    return status_of("st-a-1");
}

static void nothing_is_no_answer_once_there_was_a_job(void **state)
{
    assert_int_equal(parse(OAR_ROWS_MAY_BE_NONE, "\n"), 0);
    assert_int_equal(rows.n, 0);
    assert_int_equal(parse(OAR_ROWS_SOME, "\n"), -1);
    assert_string_equal(err.code, "batch_system_unsure");
    assert_int_equal(parse(OAR_ROWS_SOME, "{\"7\": {\"name\": \"st-a-1\", \"own"), -1);
    assert_int_equal(parse(OAR_ROWS_SOME, "[]"), -1);
    assert_int_equal(parse(OAR_ROWS_SOME, "{\"9\": {\"name\": \"st-a-1\", \"owner\": \"you\", \"state\": \"Running\"}}"), 0);
    assert_int_equal(rows.n, 0); /* the newest is another's */
    assert_int_equal(parse(OAR_ROWS_SOME, "{\"9\": {\"name\": \"st-a-1\", \"owner\": \"me\", \"state\": \"Terminated\"}}"), 0);
    assert_int_equal(rows.n, 0); /* or mine, and it is not told here how it ended */
    assert_int_equal(parse(OAR_ROWS_SOME, "{\"9\": {\"name\": \"caf\xe9\", \"owner\": \"me\", \"state\": \"Running\"}}"), 0);
    assert_int_equal(rows.n, 1);
}

static void jobs_of_an_array_have_names_of_their_own(void **state)
{
    struct adapter_status status;

    assert_int_equal(parse(OAR_ROWS_SOME,
                           "{\"31\": {\"name\": \"st-a-9+\", \"owner\": \"me\", \"array_index\": \"1\", \"state\": \"Running\", "
                           "\"startTime\": \"1700000000\", \"submissionTime\": 1699999990, \"assigned_network_address\": [\"n2\", \"n3\"]},"
                           "\"33\": {\"name\": \"st-a-9+\", \"owner\": \"me\", \"array_index\": 3, \"state\": \"Waiting\", "
                           "\"message\": \"R=1,W=0:1:0,J=B (Karma=0.000)\"},"
                           "\"34\": {\"name\": \"st-a-1\", \"owner\": \"me\", \"array_index\": 1, \"state\": \"Launching\"}}"), 0);
    status = status_of("st-a-9");
    assert_int_equal(status.state, ADAPTER_JOB_RUNNING);
    assert_int_equal(status.started_ms, 1700000000000);
    assert_string_equal(status.host, "n2");
    assert_string_equal(status.scheduler_id, "31");
    status = status_of("st-a-11");
    assert_int_equal(status.state, ADAPTER_JOB_QUEUED);
    assert_string_equal(status.reason, "");
    assert_int_equal(status_of("st-a-1").state, ADAPTER_JOB_RUNNING);
}

static void what_waits_says_for_what(void **state)
{
    static const char text[] = "{\"7\": {\"name\": \"st-a-1\", \"owner\": \"me\", \"state\": \"%s\", \"message\": \"%s\", \"resubmit_job_id\": \"%d\"}}";
    struct adapter_status status;
    char job[300];

    snprintf(job, sizeof job, text, "Waiting", "Cannot find enough resources for job 7", 0);
    assert_int_equal(parse(OAR_ROWS_SOME, job), 0);
    status = status_of("st-a-1");
    assert_string_equal(status.reason, "Cannot find enough resources for job 7");
    assert_false(status.never); /* a node may come back */
    assert_int_equal(rows.row[0].runs, 0);
    snprintf(job, sizeof job, text, "Waiting", "This reservation cannot run", 6);
    assert_int_equal(parse(OAR_ROWS_SOME, job), 0);
    assert_true(status_of("st-a-1").never);
    assert_int_equal(rows.row[0].runs, 1); /* it is OAR's second try of job 6 */
    snprintf(job, sizeof job, text, "Hold", "", 0);
    assert_int_equal(parse(OAR_ROWS_SOME, job), 0);
    assert_string_equal(status_of("st-a-1").reason, "Hold");
    assert_true(oar_is_held(&rows.row[0]));
}

static void an_end_is_explained(void **state)
{
    struct adapter_status status =
        ended("\"state\": \"Terminated\", \"startTime\": 5, \"exit_code\": \"19968\", \"events\": []");

    assert_string_equal(status.reason, "OAR: FAILED (exit status 78)");
    status = ended("\"state\": \"Terminated\", \"startTime\": 5, \"exit_code\": 9, \"events\": []");
    assert_string_equal(status.reason, "OAR: FAILED, by signal 9");
    status = ended("\"state\": \"Terminated\", \"startTime\": 5, \"exit_code\": 0, \"events\": []");
    assert_string_equal(status.reason, "");
    assert_false(status.node_lost);
    status = ended("\"state\": \"Error\", \"startTime\": 0, \"message\": \"Job killed by Leon directly\", \"events\": ["
                   "{\"type\": \"FRAG_JOB_REQUEST\", \"description\": \"User me requested to frag the job 7\"}]");
    assert_string_equal(status.reason, "cancelled before it started");
    status =
        ended("\"state\": \"Error\", \"startTime\": 5, \"events\": [{\"type\": \"FRAG_JOB_REQUEST\", \"description\": "
              "\"User oar requested to frag the job 7\"}, {\"type\": \"WALLTIME\", \"description\": \"(Elapsed)\"}]");
    assert_string_equal(status.reason, "OAR: WALLTIME: (Elapsed)");
    assert_false(status.node_lost);
    status =
        ended("\"state\": \"Error\", \"startTime\": 5, \"events\": [{\"type\": \"FRAG_JOB_REQUEST\", \"description\": "
              "\"User oar requested to frag the job 7\"}]");
    assert_true(status.node_lost);
    status =
        ended("\"state\": \"Error\", \"startTime\": 5, \"events\": [{\"type\": \"FRAG_JOB_REQUEST\", \"description\": "
              "\"User me requested to frag the job 7\"}]");
    assert_false(status.node_lost); /* we did, or the user by hand */
    assert_string_equal(status.reason, "OAR: FRAG_JOB_REQUEST: User me requested to frag the job 7");
    status = ended("\"state\": \"Terminated\", \"startTime\": 5, \"exit_code\": 0, \"events\": [{\"type\": \"CHECKPOINT\", \"description\": "
                   "\"User oar (metasched) requested a checkpoint on the job 7 on n1\"}]");
    assert_true(status.node_lost);
    status = ended("\"state\": \"Terminated\", \"startTime\": 5, \"exit_code\": 0, \"events\": [{\"type\": \"CHECKPOINT\", \"description\": "
                   "\"User oar (sarko) requested a checkpoint on the job 7 on n1\"}]");
    assert_false(status.node_lost); /* its time was over */
}

static void every_state_has_its_meaning(void **state)
{
    static const struct {
        const char *state;
        enum adapter_state is;
        bool is_ending, takes_signals;
    } cases[] = {
        {"Waiting", ADAPTER_JOB_QUEUED, false, false},   {"Hold", ADAPTER_JOB_QUEUED, false, false},
        {"toAckReservation", ADAPTER_JOB_QUEUED, false, false}, {"toLaunch", ADAPTER_JOB_RUNNING, false, false},
        {"Launching", ADAPTER_JOB_RUNNING, false, false}, {"Running", ADAPTER_JOB_RUNNING, false, true},
        {"Suspended", ADAPTER_JOB_RUNNING, false, false}, {"Resuming", ADAPTER_JOB_RUNNING, false, false},
        {"Finishing", ADAPTER_JOB_RUNNING, true, false}, {"toError", ADAPTER_JOB_ENDED, false, false},
        {"Error", ADAPTER_JOB_ENDED, false, false},      {"Terminated", ADAPTER_JOB_ENDED, false, false},
        {"Something", ADAPTER_JOB_RUNNING, false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char more[100];
        struct adapter_status status;

        snprintf(more, sizeof more, "\"state\": \"%s\", \"startTime\": 5, \"events\": []", cases[i].state);
        status = ended(more);
        if (status.state != cases[i].is || rows.row[0].is_ending != cases[i].is_ending ||
            oar_takes_signals(&rows.row[0]) != cases[i].takes_signals)
            fail_msg("%s is %d", cases[i].state, (int)status.state);
    }
}

/* For what the site or a node is to blame costs the member no retry. */
static void every_event_has_its_meaning(void **state)
{
    static const char *const nodes[] = {
        "BESTEFFORT_KILL", "PING_CHECKER_NODE_SUSPECTED", "CPUSET_ERROR", "PROLOGUE_ERROR", "CANNOT_WRITE_NODE_FILE", "CANNOT_WRITE_PID_FILE",
        "USER_SHELL", "CANNOT_CREATE_TMP_DIRECTORY", "SSH_TRANSFER_TIMEOUT", "BAD_HASHTABLE_DUMP", "LAUNCHING_OAREXEC_TIMEOUT",
        "SERVER_PROLOGUE_TIMEOUT", "SERVER_PROLOGUE_EXIT_CODE_ERROR", "SERVER_PROLOGUE_ERROR", "EXIT_VALUE_OAREXEC", "EXTERMINATE_JOB", NULL};
    static const char *const own[] = {"WALLTIME", "WORKING_DIRECTORY", "OUTPUT_FILES", NULL};
    static const char *const *const lists[] = {nodes, own};

    for (int list = 0; list < 2; list++)
        for (const char *const *type = lists[list]; *type != NULL; type++) {
            char more[200], wanted[100];
            struct adapter_status status;

            snprintf(more, sizeof more, "\"state\": \"Error\", \"startTime\": 5, \"events\": [{\"type\": \"%s\", \"description\": \"so\"}]", *type);
            snprintf(wanted, sizeof wanted, "OAR: %s: so", *type);
            status = ended(more);
            assert_string_equal(status.reason, wanted);
            if (status.node_lost != (list == 0))
                fail_msg("%s", *type);
        }
}

static void ids_of_an_array_are_told_apart(void **state)
{
    char id[64];

    oar_task_id("12 13 17", 0, id, sizeof id);
    assert_string_equal(id, "12");
    oar_task_id("12 13 17", 2, id, sizeof id);
    assert_string_equal(id, "17");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_is_no_answer_once_there_was_a_job, close_rows),
        cmocka_unit_test_teardown(jobs_of_an_array_have_names_of_their_own, close_rows),
        cmocka_unit_test_teardown(what_waits_says_for_what, close_rows),
        cmocka_unit_test_teardown(an_end_is_explained, close_rows),
        cmocka_unit_test_teardown(every_state_has_its_meaning, close_rows),
        cmocka_unit_test_teardown(every_event_has_its_meaning, close_rows),
        cmocka_unit_test(ids_of_an_array_are_told_apart),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

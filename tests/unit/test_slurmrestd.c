/* The requests to slurmrestd and its answers, in the words of all its API versions. Those of v0.0.38 and before are as
 * a real server of Slurm 22.05 takes and gives them; the later ones as they are documented. */
#include "scheduler-adapters/slurmrestd.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct batch_rows rows;

static int parse(const char *text, struct error *err)
{
    char *copy = strdup(text);
    int rc;

    rows.user = "me";
    rows.kind = 1000;
    rc = slurmrestd_parse(&rows, copy, strlen(copy), err);
    free(copy);
    batch_rows_sort(&rows);
    return rc;
}

static struct adapter_status status_of(const char *name)
{
    struct adapter_status status = {0};
    size_t n;
    struct batch_row *row = batch_rows_find(&rows, name, &n);

    assert_non_null(row);
    assert_int_equal(n, 1);
    slurm_status(NULL, row, &status);
    return status;
}

static int clear(void **state)
{
    batch_rows_free(&rows);
    return 0;
}

static void jobs_are_read_as_slurm_22_05_tells_them(void **state)
{
    struct adapter_status status;
    struct error err;
    size_t n;

    assert_int_equal(parse("{\"meta\": {}, \"errors\": [], \"jobs\": ["
                           "{\"job_id\": 1, \"name\": \"a\", \"array_job_id\": 0, \"array_task_id\": null, \"job_state\": \"RUNNING\", \"nodes\": \"n1\","
                           " \"batch_host\": \"n1\", \"state_reason\": \"None\", \"user_name\": \"me\", \"user_id\": 7, \"submit_time\": 100, \"start_time\": 120},"
                           "{\"job_id\": 2, \"name\": \"b\", \"array_job_id\": 0, \"array_task_id\": null, \"job_state\": \"PENDING\", \"nodes\": \"\","
                           " \"state_reason\": \"PartitionTimeLimit\", \"user_name\": \"\", \"user_id\": 1000, \"submit_time\": 100, \"start_time\": 0},"
                           "{\"job_id\": \"3\", \"name\": \"c\", \"array_job_id\": \"0\", \"job_state\": \"FAILED\", \"nodes\": \"n1\", \"batch_host\": \"n1\","
                           " \"state_reason\": \"NonZeroExitCode\", \"user_name\": \"me\", \"submit_time\": 100, \"start_time\": 120},"
                           "{\"job_id\": 4, \"name\": \"theirs\", \"job_state\": \"RUNNING\", \"user_name\": \"them\", \"user_id\": 1000},"
                           "{\"job_id\": 5, \"name\": \"theirs\", \"job_state\": \"RUNNING\", \"user_name\": \"\", \"user_id\": 7},"
                           "{\"job_id\": 6, \"name\": \"tasks+\", \"array_job_id\": 6, \"array_task_id\": null, \"array_task_string\": \"3-9\","
                           " \"job_state\": \"PENDING\", \"user_name\": \"me\"},"
                           "{\"job_id\": 9, \"name\": \"st-1-10+\", \"array_job_id\": 6, \"array_task_id\": 2, \"job_state\": \"CANCELLED\", \"nodes\": \"\","
                           " \"user_name\": \"me\"},"
                           "{\"name\": \"neither\", \"job_state\": \"RUNNING\", \"user_name\": \"me\"}]}", &err), 0);
    assert_null(batch_rows_find(&rows, "neither", &n)); /* it has no id */
    status = status_of("a");
    assert_int_equal(status.state, ADAPTER_JOB_RUNNING);
    assert_string_equal(status.scheduler_id, "1");
    assert_string_equal(status.host, "n1");
    assert_true(status.started_ms == 120000);
    status = status_of("b");
    assert_int_equal(status.state, ADAPTER_JOB_QUEUED);
    assert_true(status.never);
    assert_string_equal(status_of("c").reason, "Slurm: FAILED (NonZeroExitCode)");
    assert_string_equal(status_of("c").scheduler_id, "3");
    assert_string_equal(status_of("st-1-12").scheduler_id, "6_2");
    assert_string_equal(status_of("st-1-12").reason, "cancelled before it started");
    assert_null(batch_rows_find(&rows, "theirs", &n));
    assert_null(batch_rows_find(&rows, "tasks+", &n));
    assert_string_equal(status_of("tasks9").scheduler_id, "6_9");
}

static void jobs_are_read_as_later_ones_tell_them(void **state)
{
    struct adapter_status status;
    struct error err;
    size_t n;

#define ALONE "\"array_job_id\": {\"set\": true, \"infinite\": false, \"number\": 0}, \"array_task_id\": {\"set\": false, \"infinite\": false, \"number\": 0}, "
    assert_int_equal(parse("{\"jobs\": ["
                           "{\"job_id\": 1, \"name\": \"a\", " ALONE "\"job_state\": [\"RUNNING\"], \"nodes\": \"n1\", \"batch_host\": \"n1\", \"user_name\": \"me\","
                           " \"submit_time\": {\"set\": true, \"infinite\": false, \"number\": 100}, \"start_time\": {\"set\": true, \"infinite\": false, \"number\": 120}},"
                           "{\"job_id\": 2, \"name\": \"b\", " ALONE "\"job_state\": [\"CANCELLED\", \"COMPLETING\"], \"nodes\": \"n1\", \"user_name\": \"me\"},"
                           "{\"job_id\": 3, \"name\": \"c\", " ALONE "\"job_state\": [\"RUNNING\", \"CONFIGURING\"], \"nodes\": \"n1\", \"user_name\": \"me\"},"
                           "{\"job_id\": 4, \"name\": \"d\", " ALONE "\"job_state\": [\"NODE_FAIL\"], \"nodes\": \"n1\", \"user_name\": \"me\"},"
                           "{\"job_id\": 5, \"name\": \"e\", " ALONE "\"job_state\": [], \"user_name\": \"me\"},"
                           "{\"job_id\": 6, \"name\": \"f\", \"array_job_id\": {\"set\": true, \"infinite\": false, \"number\": 6},"
                           " \"array_task_id\": {\"set\": true, \"infinite\": false, \"number\": 0}, \"job_state\": [\"RUNNING\"], \"user_name\": \"me\"}"
                           "], \"warnings\": [], \"errors\": []}", &err), 0);
    status = status_of("a");
    assert_int_equal(status.state, ADAPTER_JOB_RUNNING);
    assert_true(status.started_ms == 120000);
    assert_int_equal(batch_rows_find(&rows, "a", &n)->submitted, 100);
    assert_int_equal(status_of("b").state, ADAPTER_JOB_RUNNING);
    assert_true(batch_rows_find(&rows, "b", &n)->is_ending);
    assert_int_equal(status_of("c").state, ADAPTER_JOB_QUEUED);
    assert_true(status_of("d").node_lost);
    assert_null(batch_rows_find(&rows, "e", &n));
    assert_string_equal(status_of("f").scheduler_id, "6_0");
}

/* Of none of these may be concluded that there are no jobs. */
/* The first of it as Slurm 22.05 tells it, the last as later ones do. */
static void accounts_are_read(void **state)
{
    struct adapter_status status;
    struct error err;
    size_t n;

    assert_int_equal(parse("{\"errors\": [], \"jobs\": ["
                           "{\"job_id\": 4, \"name\": \"a\", \"array\": {\"job_id\": 0, \"task_id\": null}, \"user\": \"me\", \"nodes\": \"n2\","
                           " \"state\": {\"current\": \"CANCELLED\", \"reason\": \"None\"}, \"kill_request_user\": \"root\","
                           " \"time\": {\"submission\": 100, \"start\": 120}},"
                           "{\"job_id\": 4, \"name\": \"theirs\", \"array\": {\"job_id\": 0, \"task_id\": null}, \"user\": \"them\", \"nodes\": \"n2\","
                           " \"state\": {\"current\": \"COMPLETED\", \"reason\": \"None\"}},"
                           "{\"job_id\": 5, \"name\": \"b\", \"array\": {\"job_id\": 0, \"task_id\": null}, \"user\": \"me\", \"nodes\": \"None assigned\","
                           " \"state\": {\"current\": \"CANCELLED\", \"reason\": \"JobHeldUser\"}, \"time\": {\"submission\": 100, \"start\": null}},"
                           "{\"job_id\": 9, \"name\": \"t-7+\", \"array\": {\"job_id\": 3, \"task_id\": 1}, \"user\": \"me\", \"nodes\": \"n1\","
                           " \"state\": {\"current\": \"NODE_FAIL\", \"reason\": \"None\"}, \"time\": {\"submission\": 100, \"start\": 120}},"
                           "{\"job_id\": 7, \"name\": \"u-7+\", \"array\": {\"job_id\": 7, \"task_id\": null, \"task\": \"0xD\"}, \"user\": \"me\","
                           " \"state\": {\"current\": \"CANCELLED\", \"reason\": \"None\"}},"
                           "{\"job_id\": 11, \"name\": \"c\", \"array\": {\"job_id\": 0, \"task_id\": {\"set\": false, \"number\": 0}}, \"user\": \"me\","
                           " \"nodes\": \"n1\", \"state\": {\"current\": [\"TIMEOUT\"], \"reason\": \"TimeLimit\"}, \"time\": {\"submission\": 100, \"start\": 120}}]}",
                           &err), 0);
    assert_int_equal(rows.n, 4);
    status = status_of("a");
    assert_int_equal(status.state, ADAPTER_JOB_ENDED);
    assert_int_equal(status.started_ms, 120000);
    assert_string_equal(status.reason, "Slurm: CANCELLED by root");
    assert_string_equal(status.scheduler_id, "4");
    assert_string_equal(status_of("b").reason, "cancelled before it started");
    status = status_of("t-8");
    assert_string_equal(status.reason, "Slurm: NODE_FAIL");
    assert_string_equal(status.scheduler_id, "3_1");
    assert_true(status.node_lost);
    assert_string_equal(status_of("c").reason, "Slurm: TIMEOUT (TimeLimit)");
    assert_null(batch_rows_find(&rows, "theirs", &n));
}

static void what_is_not_whole_is_no_list(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "cut off"},
        {"<html>", "cut off"},
        {"{\"jobs\": [{\"job_id\": 1", "cut off"},
        {"{}", "no list"},
        {"[]", "no list"},
        {"{\"jobs\": null}", "no list"},
        {"{\"jobs\": [], \"errors\": [{\"error_number\": -1, \"error\": \"Unspecified error\", \"source\": \"slurm_load_jobs\"}]}", "Unspecified"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = {0};

        assert_int_equal(parse(cases[i].text, &err), -1);
        assert_string_equal(err.code, "batch_system_unsure");
        assert_non_null(strstr(err.text, cases[i].why));
        assert_int_equal(rows.n, 0);
    }
}

static struct slurmrestd_said said(const char *body)
{
    struct slurmrestd_said said;
    char *copy = strdup(body);

    slurmrestd_read_said(&(struct rest_result){.status = 500, .body = copy, .size = strlen(copy)}, &said);
    free(copy);
    return said;
}

static void what_is_wrong_is_told_in_slurms_words(void **state)
{
    assert_string_equal(said("{\"errors\": [{\"error_code\": 2000, \"error\": \"Invalid partition name specified\"}]}").text, "Invalid partition name specified");
    assert_int_equal(said("{\"errors\": [{\"error_code\": 2000, \"error\": \"Invalid partition name specified\"}]}").number, 2000);
    assert_string_equal(said("{\"errors\": [{\"description\": \"Unknown key\", \"error_number\": -1, \"error\": \"Unspecified error\"},"
                             " {\"error_code\": 9001, \"error\": \"Failure during parsing\"}]}").text, "Unknown key; Failure during parsing");
    assert_int_equal(said("{\"errors\": [{\"error_number\": -1}, {\"error_code\": 9001}]}").number, 9001);
    assert_string_equal(said("Authentication failure\r\nmore").text, "Authentication failure");
    assert_string_equal(said("").text, "");
}

static void versions_are_found(void **state)
{
    assert_int_equal(slurmrestd_version_in("{\"paths\": {\"\\/slurm\\/v0.0.37\\/jobs\": {}, \"\\/slurm\\/v0.0.38\\/jobs\": {}, \"\\/slurm\\/v0.0.36\\/jobs\": {}}}", "slurm"), 38);
    assert_int_equal(slurmrestd_version_in("\"/slurm/v0.0.40/jobs/\" \"/slurm/v0.0.99/jobs/\"", "slurm"), 40);
    assert_int_equal(slurmrestd_version_in("\"/slurmdb/v0.0.38/jobs\" \"v0.0.38_job\" \"/slurm/v0.0.35/jobs\"", "slurm"), 0);
    assert_int_equal(slurmrestd_version_in("v0.0.38/v0.0.38", "slurm"), 0);
    assert_int_equal(slurmrestd_version_in("/v0.0.38", "slurm"), 0);
    assert_int_equal(slurmrestd_version_in("", "slurm"), 0);
    assert_true(slurmrestd_has_version("\"/slurm/v0.0.38/jobs\" \"\\/slurmdb\\/v0.0.38\\/jobs\"", "slurmdb", 38));
    assert_false(slurmrestd_has_version("\"/slurm/v0.0.38/jobs\" \"/slurmdb/v0.0.37/jobs\"", "slurmdb", 38));
    assert_false(slurmrestd_has_version("\"/slurm/v0.0.38/jobs\"", "slurmdb", 38));
}

static json_t *document_of_group(const struct batch_group *group, const char *site_extra, int version)
{
    static const char *const env[] = {"PATH=/bin:/usr/bin", "A=b=c", NULL};
    json_t *extra = json_loads(site_extra, 0, NULL), *doc;
    struct error err = {0};
    char *text = slurmrestd_document(group, extra, "exec x", env, 90, version, &err);

    assert_string_equal(err.text, "");
    doc = json_loads(text, 0, NULL);
    assert_non_null(doc);
    json_decref(extra);
    free(text);
    return doc;
}

static json_t *document_of(const struct adapter_job *job, const char *site_extra, int version)
{
    struct batch_submission one = {.job = *job, .dir = (char *)job->dir};
    const struct batch_group group = {.first = &one, .n = 1};

    snprintf(one.name, sizeof one.name, "%s", job->name);
    return document_of_group(&group, site_extra, version);
}

static void assert_job(const json_t *doc, const char *wanted)
{
    json_t *all = json_loads(wanted, 0, NULL), *value;
    const char *key;

    assert_non_null(all);
    json_object_foreach (all, key, value) {
        if (!json_equal(json_object_get(json_object_get(doc, "job"), key), value))
            fail_msg("%s", key);
    }
    assert_int_equal(json_object_size(json_object_get(doc, "job")), json_object_size(all));
    json_decref(all);
}

static void a_job_is_a_document(void **state)
{
    json_t *extra = json_loads("[\"-C\", \"haswell\", \"--mem-per-cpu=2G\", \"--qos=mine\"]", 0, NULL), *doc;
    struct adapter_job job = {.name = "st-1-2", .dir = "/run/100%/st-1-2",
                              .resources = {.nodes = 2, .tasks = 4, .copies = 1, .cpus_per_task = 3, .gpus = 4, .memory = 3 << 20, .whole_nodes = true,
                                            .walltime_ms = 1, .queue = "q", .account = "a", .extra = extra}};

    doc = document_of(&job, "[\"--qos=site\", \"--hold\"]", 38);
    assert_string_equal(json_string_value(json_object_get(doc, "script")), "#!/bin/sh\nexec x\n");
    assert_job(doc, "{\"name\": \"st-1-2\", \"nodes\": \"2\", \"tasks\": 4, \"tasks_per_node\": 2, \"cpus_per_task\": 3, \"gres\": \"gpu:2\", \"memory_per_node\": 2, \"exclusive\": \"exclusive\","
                    " \"time_limit\": 90, \"partition\": \"q\", \"account\": \"a\", \"qos\": \"mine\", \"hold\": true, \"constraints\": \"haswell\", \"memory_per_cpu\": 2048,"
                    " \"current_working_directory\": \"/run/100%/st-1-2\", \"standard_output\": \"/run/100%%/st-1-2/runner.log\","
                    " \"standard_error\": \"/run/100%%/st-1-2/runner.log\", \"standard_input\": \"/dev/null\", \"open_mode\": \"append\", \"no_requeue\": true,"
                    " \"environment\": {\"PATH\": \"/bin:/usr/bin\", \"A\": \"b=c\"}}");
    json_decref(doc);
#define NUMBER(n) "{\"set\": true, \"infinite\": false, \"number\": " n "}"
    doc = document_of(&job, "[\"--exclusive=user\"]", 40);
    assert_job(doc, "{\"name\": \"st-1-2\", \"nodes\": \"2\", \"tasks\": 4, \"tasks_per_node\": 2, \"cpus_per_task\": 3, \"tres_per_node\": \"gres/gpu:2\", \"memory_per_node\": " NUMBER("2") ","
                    " \"exclusive\": [\"user\"], \"time_limit\": " NUMBER("90") ", \"partition\": \"q\", \"account\": \"a\", \"qos\": \"mine\", \"constraints\": \"haswell\","
                    " \"memory_per_cpu\": " NUMBER("2048") ", \"current_working_directory\": \"/run/100%/st-1-2\","
                    " \"standard_output\": \"/run/100%%/st-1-2/runner.log\", \"standard_error\": \"/run/100%%/st-1-2/runner.log\", \"standard_input\": \"/dev/null\","
                    " \"open_mode\": [\"APPEND\"], \"requeue\": false, \"environment\": [\"PATH=/bin:/usr/bin\", \"A=b=c\"]}");
    json_decref(doc);
    json_decref(extra);
}

static void several_are_an_array(void **state)
{
    const struct adapter_resources want = {.nodes = 1, .tasks = 1, .copies = 1, .cpus_per_task = 1};
    struct batch_submission second = {.name = "st-1-13", .dir = (char *)"/run/100%/st-1-13", .number = 13, .digits = 2,
                                      .job = {.name = "st-1-13", .dir = "/run/100%/st-1-13", .resources = want}};
    struct batch_submission first = {.next = &second, .name = "st-1-12", .dir = (char *)"/run/100%/st-1-12", .number = 12, .digits = 2,
                                     .job = {.name = "st-1-12", .dir = "/run/100%/st-1-12", .resources = want}};
    struct adapter a = {.host = {.runner = "/bin/stretto run"}};
    const struct batch_group group = {.a = &a, .first = &first, .n = 2, .base = 12};
    json_t *doc = document_of_group(&group, "[]", 38);
    char *script;

    assert_job(doc, "{\"name\": \"st-1-12+\", \"array\": \"0-1%2\", \"nodes\": \"1\", \"tasks\": 1, \"cpus_per_task\": 1, \"time_limit\": 90,"
                    " \"current_working_directory\": \"/run/100%/\", \"standard_output\": \"/dev/null\", \"standard_error\": \"/dev/null\","
                    " \"standard_input\": \"/dev/null\", \"open_mode\": \"append\", \"no_requeue\": true,"
                    " \"environment\": {\"PATH\": \"/bin:/usr/bin\", \"A\": \"b=c\"}}");
    json_decref(doc);
    script = slurm_script(&group, 0);
    assert_non_null(strstr(script, "d='/run/100%/st-1-'$((12 + SLURM_ARRAY_TASK_ID))"));
    assert_non_null(strstr(script, "exec '/bin/stretto run' \"$d\""));
    free(script);
}

/* What waits of an array stands in it, as far as it fits into 64 characters. */
static void tasks_that_wait_are_found_in_a_list_that_is_cut_off(void **state)
{
#define ARRAY "{\"jobs\": [{\"job_id\": 6, \"name\": \"st-1-10+\", \"array_job_id\": 6, \"array_task_id\": null, \"job_state\": \"PENDING\"," \
              " \"state_reason\": \"Priority\", \"user_name\": \"me\", \"array_max_tasks\": 8, \"array_task_string\": "
    struct error err;
    size_t n;

    assert_int_equal(parse(ARRAY "\"1,3-4%8\"}]}", &err), 0);
    assert_int_equal(rows.n, 3);
    assert_string_equal(status_of("st-1-11").scheduler_id, "6_1");
    assert_string_equal(status_of("st-1-13").reason, "Priority");
    assert_string_equal(status_of("st-1-14").scheduler_id, "6_4");
    batch_rows_free(&rows);
    assert_int_equal(parse(ARRAY "\"0,2,...%8\"}, {\"job_id\": 9, \"name\": \"st-1-10+\", \"array_job_id\": 6, \"array_task_id\": 5,"
                                 " \"job_state\": \"COMPLETED\", \"nodes\": \"n1\", \"user_name\": \"me\"}]}", &err), 0);
    assert_null(batch_rows_find(&rows, "st-1-11", &n));
    assert_string_equal(status_of("st-1-12").scheduler_id, "6_2");
    for (int i = 13; i < 18; i++) {
        char name[24];

        snprintf(name, sizeof name, "st-1-%d", i);
        assert_int_equal(status_of(name).state, i == 15 ? ADAPTER_JOB_ENDED : ADAPTER_JOB_QUEUED);
    }
    assert_null(batch_rows_find(&rows, "st-1-18", &n));
    batch_rows_free(&rows);
    assert_int_equal(parse(ARRAY "\"1-3,5...%8\"}]}", &err), 0); /* which may be 5, or 50 */
    assert_string_equal(status_of("st-1-14").scheduler_id, "6_4");
    assert_int_equal(rows.n, 7);
    batch_rows_free(&rows);
    assert_int_equal(parse(ARRAY "\"...\"}]}", &err), 0);
    assert_int_equal(rows.n, 8);
    batch_rows_free(&rows);
    assert_int_equal(parse(ARRAY "null}]}", &err), 0);
    assert_int_equal(rows.n, 0);
}

static void options_without_a_counterpart_are_refused_at_their_place(void **state)
{
    static const struct {
        const char *extra, *pointer;
    } cases[] = {
        {"[\"--qos=a\", \"--mail-user=b\"]", "/extra/1"}, {"[\"--qos\"]", "/extra/0"},        {"[\"--qos\", \"a\", \"b\"]", "/extra/2"},
        {"[\"--nice=x\"]", "/extra/0"},                   {"[\"--nice=\"]", "/extra/0"},      {"[\"--mem-per-cpu=2Q\"]", "/extra/0"},
        {"[\"-Z\"]", "/extra/0"},                         {"[\"\"]", "/extra/0"},             {"[\"--\"]", "/extra/0"},
        {"[\"-\"]", "/extra/0"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *extra = json_loads(cases[i].extra, 0, NULL);
        struct error err = {0};

        assert_int_equal(slurmrestd_options(extra, "/extra", 0, NULL, &err), -1);
        assert_string_equal(err.pointer, cases[i].pointer);
        json_decref(extra);
    }
}

/* Each of sbatch's options that the API has, as it may be written, by a key of the API, in the words of each
 * version. */
static void options_have_their_counterparts(void **state)
{
    static const struct {
        const char *words[2], *old, *new, *newest; /* NULL: as the one before */
    } cases[] = {
        {{"--account=x"}, "{\"account\": \"x\"}", NULL, NULL}, {{"-Ax"}, "{\"account\": \"x\"}", NULL, NULL}, {{"-A", "x"}, "{\"account\": \"x\"}", NULL, NULL},
        {{"--comment", "a=b"}, "{\"comment\": \"a=b\"}", NULL, NULL}, {{"--comment=a=b"}, "{\"comment\": \"a=b\"}", NULL, NULL},
        {{"-C", "x"}, "{\"constraints\": \"x\"}", NULL, NULL}, {{"--constraint=x"}, "{\"constraints\": \"x\"}", NULL, NULL},
        {{"--cores-per-socket=2"}, "{\"cores_per_socket\": 2}", NULL, NULL}, {{"-dafterok:3"}, "{\"dependency\": \"afterok:3\"}", NULL, NULL},
        {{"--exclusive"}, "{\"exclusive\": \"exclusive\"}", "{\"exclusive\": [\"true\"]}", NULL},
        {{"--exclusive=user"}, "{\"exclusive\": \"user\"}", "{\"exclusive\": [\"user\"]}", NULL},
        {{"--gpus-per-node=2"}, "{\"gres\": \"gpu:2\"}", "{\"tres_per_node\": \"gres:gpu:2\"}", "{\"tres_per_node\": \"gres/gpu:2\"}"},
        {{"--gres=gpu:2,tmp:1"}, "{\"gres\": \"gpu:2,tmp:1\"}", "{\"tres_per_node\": \"gres:gpu:2,gres:tmp:1\"}",
         "{\"tres_per_node\": \"gres/gpu:2,gres/tmp:1\"}"},
        {{"-H"}, "{\"hold\": true}", NULL, NULL}, {{"--hold"}, "{\"hold\": true}", NULL, NULL}, {{"-L", "x:2"}, "{\"licenses\": \"x:2\"}", NULL, NULL},
        {{"--nice=-5"}, "{\"nice\": -5}", NULL, NULL}, {{"--ntasks-per-node", "4"}, "{\"tasks_per_node\": 4}", NULL, NULL},
        {{"-p", "x"}, "{\"partition\": \"x\"}", NULL, NULL}, {{"-qx"}, "{\"qos\": \"x\"}", NULL, NULL}, {{"--qos=x"}, "{\"qos\": \"x\"}", NULL, NULL},
        {{"--reservation=x"}, "{\"reservation\": \"x\"}", NULL, NULL}, {{"--sockets-per-node=1"}, "{\"sockets_per_node\": 1}", NULL, NULL},
        {{"--threads-per-core=1"}, "{\"threads_per_core\": 1}", NULL, NULL}, {{"--wckey=x"}, "{\"wckey\": \"x\"}", NULL, NULL},
        {{"--mem-per-cpu=7"}, "{\"memory_per_cpu\": 7}", "{\"memory_per_cpu\": {\"set\": true, \"infinite\": false, \"number\": 7}}", NULL},
        {{"--mem-per-cpu=7m"}, "{\"memory_per_cpu\": 7}", "", NULL}, {{"--mem-per-cpu=2G"}, "{\"memory_per_cpu\": 2048}", "", NULL},
        {{"--mem-per-cpu=1024K"}, "{\"memory_per_cpu\": 1}", "", NULL}, {{"--mem-per-cpu=1025k"}, "{\"memory_per_cpu\": 2}", "", NULL},
        {{"--mem-per-cpu=3T"}, "{\"memory_per_cpu\": 3145728}", "", NULL}, {{"--mem-per-cpu=1073741824"}, "{\"memory_per_cpu\": 1073741824}", "", NULL},
    };
    static const int versions[] = {SLURMRESTD_OBJECTS - 1, SLURMRESTD_OBJECTS, SLURMRESTD_OBJECTS + 1};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *wanted = NULL, *const texts[] = {cases[i].old, cases[i].new, cases[i].newest};
        json_t *extra = json_pack("[s, s*]", cases[i].words[0], cases[i].words[1]);

        for (int k = 0; k < 3; k++) {
            json_t *job = json_object(), *json;
            struct error err;

            wanted = texts[k] != NULL ? texts[k] : wanted;
            assert_int_equal(slurmrestd_options(extra, "/extra", versions[k], job, &err), 0);
            json = json_loads(wanted, 0, NULL);
            if (wanted[0] != '\0' && !json_equal(job, json))
                fail_msg("%s: %s", cases[i].words[0], json_dumps(job, 0));
            json_decref(json);
            json_decref(job);
        }
        json_decref(extra);
    }
    for (const char *const *bad = (const char *const[]){"--mem-per-cpu=2GB", "--mem-per-cpu=x", "--mem-per-cpu=-1", "--mem-per-cpu=2X", "--mem-per-cpu=1073741825",
                                                        "--nice=x", "--nice=5x", "--nice=", "--partition", "--account-x=1", "--accoun=1", "x", NULL};
         *bad != NULL; bad++) {
        json_t *extra = json_pack("[s, s]", "--qos=x", *bad);
        struct error err;

        if (slurmrestd_options(extra, "/extra", 38, NULL, &err) != -1)
            fail_msg("%s", *bad);
        assert_string_equal(err.pointer, "/extra/1");
        json_decref(extra);
    }
}

static void limits_of_partitions_are_read(void **state)
{
    struct slurm_times times = {0};
    struct adapter_job job = {.grace_ms = 10000, .resources = {.walltime_ms = 3600000}};

    slurmrestd_read_times(&times, "{\"partitions\": [{\"name\": \"short\", \"max_time_limit\": 60, \"flags\": [\"default\"]}, {\"name\": \"long\", \"max_time_limit\": null}]}");
    assert_int_equal(slurm_times_minutes(&times, NULL, &job), 60);
    job.resources.queue = "long";
    assert_int_equal(slurm_times_minutes(&times, NULL, &job), 61);
    job.resources.queue = NULL;
    slurmrestd_read_times(&times, "{\"partitions\": [{\"name\": \"short\", \"max_time_limit\": 60, \"flags\": [\"hidden\"]}, {\"max_time_limit\": 60, \"flags\": [\"default\"]},"
                                  " {\"name\": \"long\", \"max_time_limit\": 0, \"flags\": [\"hidden\", 1, \"DEFAULT\"]}]}");
    assert_int_equal(slurm_times_minutes(&times, NULL, &job), 61);
    job.resources.queue = "long";
    slurmrestd_read_times(&times,
                          "{\"partitions\": [{\"name\": \"long\", \"maximums\": {\"time\": " NUMBER("60") "}}]}");
    assert_int_equal(slurm_times_minutes(&times, NULL, &job), 60);
    slurmrestd_read_times(&times, "{\"partitions\": [{\"name\": \"longest\", \"maximums\": {\"time\": " NUMBER("30") "}}, "
                                  "{\"name\": \"long\", \"maximums\": {\"time\": " NUMBER("60") "}}]}");
    assert_int_equal(slurm_times_minutes(&times, NULL, &job), 60); /* not the one whose name only begins like that */
    slurmrestd_read_times(&times, "nothing");
    assert_int_equal(slurm_times_minutes(&times, NULL, &job), 60);
    slurm_times_clear(&times);
}

static void limits_are_asked_for_again_after_ten_minutes(void **state)
{
    struct slurm_times times = {0};

    assert_false(slurm_times_hold(&times, 5));
    slurm_times_set(&times, 5);
    assert_true(slurm_times_hold(&times, 5 + 599999));
    assert_false(slurm_times_hold(&times, 5 + 600000));
}

static void read_limits(struct slurmrestd_limits *limits, const char *text)
{
    json_t *doc = json_loads(text, 0, NULL);

    assert_non_null(doc);
    slurmrestd_limits_read(limits, "me", doc);
    json_decref(doc);
}

/* As v0.0.38 tells them, but for the objects. */
static void limits_on_how_many_jobs_there_may_be_are_read(void **state)
{
    struct slurmrestd_limits limits = {.most = INT64_MAX};

    read_limits(&limits, "{\"QOS\": [{\"name\": \"normal\", \"flags\": [], \"limits\": {\"max\": {\"jobs\": {\"per\": {\"account\": null,"
                         " \"user\": 12}, \"active_jobs\": {\"per\": {\"account\": 1, \"user\": 1}}}}}}]}");
    assert_true(limits.most == 12);
    assert_false(limits.denies);
    read_limits(&limits, "{\"qos\": [{\"flags\": [\"NO_RESERVE\", \"DENY_LIMIT\"], \"limits\": {\"max\": {\"jobs\": {\"count\": {\"set\": false,"
                         " \"number\": 0}, \"per\": {\"user\": {\"set\": true, \"infinite\": false, \"number\": 9}}}}}}]}");
    assert_true(limits.most == 9);
    assert_true(limits.denies);
    read_limits(&limits, "{\"associations\": [{\"user\": \"them\", \"max\": {\"jobs\": {\"total\": 1, \"per\": {\"submitted\": 1}}}},"
                         " {\"user\": \"me\", \"max\": {\"jobs\": {\"total\": 7, \"active\": 1, \"per\": {\"submitted\": 5, \"count\": 1}}}}]}");
    assert_true(limits.most == 5);
    assert_false(limits.is_shared);
    read_limits(&limits, "{\"associations\": [{\"user\": null, \"max\": {\"jobs\": {\"total\": 4, \"per\": {\"submitted\": 100}}}}]}");
    assert_true(limits.most == 4);
    assert_true(limits.is_shared);
    limits = (struct slurmrestd_limits){.most = INT64_MAX};
    read_limits(&limits, "{\"QOS\": [{\"limits\": {\"max\": {\"jobs\": {\"per\": {\"account\": 12}}}}}]}");
    assert_true(limits.is_shared);
    assert_true(limits.most == INT64_MAX);
}

static void jobs_of_a_time_are_counted(void **state)
{
    static const char text[] = "{\"jobs\": ["
                               "{\"job_id\": 1, \"name\": \"a\", \"job_state\": \"RUNNING\", \"user_name\": \"me\", \"end_time\": 50},"
                               "{\"job_id\": 2, \"name\": \"b\", \"job_state\": \"COMPLETED\", \"user_name\": \"me\", \"end_time\": 99},"
                               "{\"job_id\": 3, \"name\": \"c\", \"job_state\": \"FAILED\", \"user_name\": \"me\", \"end_time\": 100},"
                               "{\"job_id\": 4, \"name\": \"d\", \"job_state\": \"PENDING\", \"user_name\": \"them\", \"end_time\": 0},"
                               "{\"job_id\": 5, \"name\": \"e1+\", \"array_job_id\": 5, \"array_task_id\": null, \"array_task_string\": \"2-4,6\","
                               " \"job_state\": \"PENDING\", \"user_name\": \"me\", \"end_time\": 0}]}";
    struct error err;

    rows.user = "me";
    assert_int_equal(slurmrestd_count(&rows, text, strlen(text), 100, &err), 6);
    batch_rows_free(&rows);
    assert_int_equal(slurmrestd_count(&rows, text, strlen(text) - 1, 100, &err), -1);
}

static void a_token_is_read_from_a_file_of_ours_alone(void **state)
{
    static const struct {
        const char *text;
        unsigned mode;
        const char *token, *why;
    } cases[] = {
        {"SLURM_JWT=abc.def.ghi\n", 0600, "abc.def.ghi", NULL}, {"abc.def.ghi", 0400, "abc.def.ghi", NULL}, {" \nabc==\n\n", 0600, "abc==", NULL},
        {"abc", 0640, NULL, "mode 0640"},                       {"abc", 0604, NULL, "mode 0604"},          {"", 0600, NULL, "no token"},
        {"abc def", 0600, NULL, "no token"},                    {"a\x01" "b", 0600, NULL, "no token"},
    };
    char path[] = "/tmp/stretto-token-XXXXXX", *token;
    int fd = mkstemp(path);
    struct error err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        token = NULL;
        err.text[0] = '\0';
        assert_int_equal(fchmod(fd, 0600), 0);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, cases[i].text, strlen(cases[i].text), 0), (ssize_t)strlen(cases[i].text));
        assert_int_equal(fchmod(fd, cases[i].mode), 0);
        assert_int_equal(rest_token_read(path, &token, &err), cases[i].token != NULL ? 0 : -1);
        if (cases[i].token != NULL)
            assert_string_equal(token, cases[i].token);
        else
            assert_non_null(strstr(err.text, cases[i].why));
        free(token);
    }
    close(fd);
    unlink(path);
    assert_int_equal(rest_token_read(path, &token, &err), -1);
    assert_int_equal(rest_token_read("/tmp", &token, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(jobs_are_read_as_slurm_22_05_tells_them, clear),
        cmocka_unit_test_teardown(jobs_are_read_as_later_ones_tell_them, clear),
        cmocka_unit_test_teardown(accounts_are_read, clear),
        cmocka_unit_test_teardown(what_is_not_whole_is_no_list, clear),
        cmocka_unit_test(what_is_wrong_is_told_in_slurms_words),
        cmocka_unit_test(versions_are_found),
        cmocka_unit_test(a_job_is_a_document),
        cmocka_unit_test(several_are_an_array),
        cmocka_unit_test_teardown(tasks_that_wait_are_found_in_a_list_that_is_cut_off, clear),
        cmocka_unit_test(options_without_a_counterpart_are_refused_at_their_place),
        cmocka_unit_test(options_have_their_counterparts),
        cmocka_unit_test(limits_of_partitions_are_read),
        cmocka_unit_test(limits_are_asked_for_again_after_ten_minutes),
        cmocka_unit_test(limits_on_how_many_jobs_there_may_be_are_read),
        cmocka_unit_test_teardown(jobs_of_a_time_are_counted, clear),
        cmocka_unit_test(a_token_is_read_from_a_file_of_ours_alone),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The questions to slurmrestd, and the meaning of its answers. This program is the server, too, on the same loop. */
#include "tests/unit/adapter_named.h"
#include "tests/unit/batch_site.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWERS_MAX 16
#define API "/slurm/v0.0.38"
#define ACCOUNTS "/slurmdb/v0.0.38"
#define BOTH "{\"paths\": {\"" API "/jobs\": {}, \"" ACCOUNTS "/jobs\": {}}}"
#define POLICY "{\"errors\": [{\"error_number\": 2050, \"error\": \"Job violates accounting/QOS policy\"}]}"

/* --- the server */

/* To a request that begins so; the last that fits. */
static struct {
    const char *request, *body;
    int status;
} answers[ANSWERS_MAX];
static size_t n_answers;
static char requests[20000]; /* "METHOD PATH BODY\n" of each */
static uv_pipe_t listener;

struct connection {
    uv_pipe_t pipe;
    uv_write_t write;
    char text[20000], reply[20000];
    size_t n;
    bool is_answered;
};

static void answer(const char *request, int status, const char *body)
{
    assert_true(n_answers < ANSWERS_MAX);
    answers[n_answers].request = request;
    answers[n_answers].status = status;
    answers[n_answers++].body = body;
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void written(uv_write_t *write, int status)
{
    struct connection *c = write->data;

    uv_close((uv_handle_t *)&c->pipe, closed);
}

static void reply(struct connection *c, const char *body_asked)
{
    const char *body = "{}";
    size_t n = strlen(requests), end = strcspn(c->text, "\r");
    int status = 200;
    uv_buf_t buf;

    c->is_answered = true;
    end = (size_t)(strstr(c->text, " HTTP/") - c->text);
    snprintf(requests + n, sizeof requests - n, "%.*s %s\n", (int)end, c->text, body_asked);
    for (size_t i = 0; i < n_answers; i++)
        if (strncmp(requests + n, answers[i].request, strlen(answers[i].request)) == 0) {
            body = answers[i].body;
            status = answers[i].status;
        }
    snprintf(c->reply, sizeof c->reply, "HTTP/1.1 %d Told\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
             status, strlen(body), body);
    buf = uv_buf_init(c->reply, (unsigned)strlen(c->reply));
    c->write.data = c;
    uv_write(&c->write, (uv_stream_t *)&c->pipe, &buf, 1, written);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct connection *c = handle->data;

    *buf = uv_buf_init(c->text + c->n, (unsigned)(sizeof c->text - 1 - c->n));
}

static void take(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct connection *c = stream->data;
    const char *end, *length;

    if (n < 0) {
        if (!uv_is_closing((uv_handle_t *)stream) && !c->is_answered)
            uv_close((uv_handle_t *)stream, closed);
        return;
    }
    c->n += (size_t)n;
    c->text[c->n] = '\0';
    end = strstr(c->text, "\r\n\r\n");
    length = strstr(c->text, "Content-Length: ");
    if (end != NULL && !c->is_answered && (length == NULL || strlen(end + 4) >= strtoul(length + 16, NULL, 10)))
        reply(c, end + 4);
}

static void connected(uv_stream_t *server, int status)
{
    struct connection *c = calloc(1, sizeof *c);

    assert_non_null(c);
    uv_pipe_init(&site.loop, &c->pipe, 0);
    c->pipe.data = c;
    assert_int_equal(uv_accept(server, (uv_stream_t *)&c->pipe), 0);
    uv_read_start((uv_stream_t *)&c->pipe, room, take);
}

static unsigned count(const char *request)
{
    unsigned n = 0;

    for (const char *at = requests; (at = strstr(at, request)) != NULL; at++)
        n++;
    return n;
}

static void assert_said(const char *request)
{
    if (count(request) == 0)
        fail_msg("there was no %s, but:\n%s", request, requests);
}

/* --- the test's */

static int open_all(void **state)
{
    char path[100], url[110];

    site_open(state);
    n_answers = 0;
    requests[0] = '\0';
    snprintf(path, sizeof path, "%s/socket", site.dir);
    snprintf(url, sizeof url, "unix:%s", path);
    json_object_set_new(site.config, "url", json_string(url));
    json_object_set_new(site.config, "user", json_string("me"));
    uv_pipe_init(&site.loop, &listener, 0);
    assert_int_equal(uv_pipe_bind(&listener, path), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&listener, 16, connected), 0);
    answer("GET /openapi/v3", 200, BOTH);
    answer("GET " API "/partitions", 200,
           "{\"partitions\": [{\"name\": \"main\", \"flags\": [\"default\"], \"max_time_limit\": 60}]}");
    answer("GET " API "/jobs", 200, "{\"jobs\": []}");
    answer("POST " API "/job/submit", 200, "{\"job_id\": 7}");
    return 0;
}

static void begin(void)
{
    site_begin(adapter_named("slurmrestd"));
}

static int close_all(void **state)
{
    site_end();
    uv_close((uv_handle_t *)&listener, NULL);
    return site_close(state);
}

static struct told submit(int number)
{
    static struct told told;

    site_submit(site_job(&site_plain), number, &told);
    site_until(&told, 1);
    return told;
}

static void a_job_is_submitted_in_the_newest_version_of_both(void **state)
{
    answer("GET /openapi/v3", 200,
           "{\"paths\": {\"/slurm/v0.0.36/jobs\": {}, \"" API "/jobs\": {}, \"/slurm/v0.0.99/jobs\": {}}}");
    begin();
    assert_string_equal(submit(1).id, "7");
    assert_said("POST " API "/job/submit {");
    assert_said("\"time_limit\":60"); /* as the default partition allows */
    submit(2);
    assert_int_equal(count("/openapi/v3"), 1);
    assert_int_equal(count("/partitions"), 1);
}

static void another_version_is_found_when_the_server_is_another(void **state)
{
    struct told told;

    begin();
    site_status(1, "7");
    answer("GET " API "/jobs", 404, "no such page");
    site_poll(&(struct site_known){1, "7", 1}, 1, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    answer("GET /openapi/v3", 200, "{\"paths\": {\"/slurm/v0.0.37/jobs\": {}}}");
    answer("GET /slurm/v0.0.37/jobs", 200,
           "{\"jobs\": [{\"job_id\": 7, \"name\": \"st-0-1\", \"job_state\": \"RUNNING\", \"user_name\": \"me\"}]}");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_RUNNING);
}

static void refusals_are_told_apart(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum adapter_answer answer;
    } cases[] = {
        {500, "{\"errors\": [{\"error_number\": 2000, \"error\": \"Invalid partition name specified\"}]}", ADAPTER_REFUSED},
        {500, "{\"errors\": [{\"error_number\": 2014, \"error\": \"Requested node configuration is not available\"}]}", ADAPTER_UNCLEAR},
        {500, "{\"errors\": [{\"error_number\": 9202, \"error\": \"Unable to parse\"}]}", ADAPTER_REFUSED},
        {400, "{\"errors\": [{\"description\": \"Unknown key\"}]}", ADAPTER_REFUSED},
        {500, "{\"errors\": [{\"error_number\": 1800, \"error\": \"Unable to contact slurm controller (connect failure)\"}]}", ADAPTER_UNSURE},
        {500, "{\"errors\": [{\"error_number\": 1900, \"error\": \"Something of the protocol\"}]}", ADAPTER_UNSURE},
        {500, "{\"errors\": [{\"error_number\": 5000, \"error\": \"Something else\"}]}", ADAPTER_UNSURE},
        {500, "", ADAPTER_UNSURE},
        {502, "Bad Gateway", ADAPTER_UNSURE},
        {401, "Authentication failure", ADAPTER_UNSURE},
        {200, "{}", ADAPTER_UNSURE},
        {200, "{\"job_id\": 0}", ADAPTER_UNSURE},
    };

    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        answer("POST " API "/job/submit", cases[i].status, cases[i].body);
        told = submit((int)i);
        if (told.answer != cases[i].answer)
            fail_msg("answer %d (%s) to %s", (int)told.answer, told.text, cases[i].body);
        assert_string_equal(told.code, told.answer == ADAPTER_REFUSED || told.answer == ADAPTER_UNCLEAR ? "job_refused" : "batch_system_unsure");
        assert_true(told.text[0] != '\0');
    }
}

static void what_could_not_be_sent_was_not_accepted(void **state)
{
    char path[100];

    begin();
    submit(1);
    snprintf(path, sizeof path, "%s/socket", site.dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(submit(2).answer, ADAPTER_LATER);
}

#define QOS(flags, user, account) \
    "{\"QOS\": [{\"flags\": [" flags "], \"limits\": {\"max\": {\"jobs\": {\"per\": {\"user\": " user ", \"account\": " account "}}}}}]}"
#define MINE(user, max) "{\"associations\": [{\"user\": \"" user "\", \"max\": {\"jobs\": {\"per\": {\"submitted\": " max "}}}}]}"
#define OF(id, name, state, user) "{\"job_id\": " id ", \"name\": \"" name "\", \"job_state\": \"" state "\", \"user_name\": \"" user "\", \"end_time\": 1}"
#define TWO "{\"jobs\": [" OF("1", "a", "RUNNING", "me") ", " OF("2", "b", "PENDING", "me") ", " OF("3", "c", "FAILED", "me") \
            ", " OF("4", "d", "RUNNING", "them") "]}"

/* Where so many jobs as there may be are there, the next one waits for one of them; if there are fewer, it is the
 * job itself. */
static void a_job_beyond_a_limit_waits_where_it_may_be_for_others(void **state)
{
    static const struct {
        const char *qos, *associations, *jobs;
        enum adapter_answer answer;
        const char *why;
    } cases[] = {
        {QOS("\"DENY_LIMIT\"", "3", "null"), MINE("me", "5"), TWO, ADAPTER_UNCLEAR, "one more could be there"},
        {QOS("\"DENY_LIMIT\"", "2", "null"), MINE("me", "5"), TWO, ADAPTER_LATER, "the limit of the QOS is reached"},
        {QOS("\"DENY_LIMIT\"", "5", "null"), MINE("me", "2"), TWO, ADAPTER_LATER, "the limit of the user is reached"},
        {QOS("\"DENY_LIMIT\"", "1", "null"), MINE("me", "5"), TWO, ADAPTER_LATER, "it is passed"},
        {QOS("\"DENY_LIMIT\"", "null", "null"), MINE("them", "1"), TWO, ADAPTER_UNCLEAR, "the limit is another's"},
        {QOS("\"DENY_LIMIT\"", "3", "9"), MINE("me", "5"), TWO, ADAPTER_LATER, "others of the account count"},
        {QOS("\"DENY_LIMIT\"", "3", "null"), MINE("", "9"), TWO, ADAPTER_LATER, "others of the association count"},
        {QOS("", "3", "null"), MINE("me", "5"), TWO, ADAPTER_LATER, "what is too large would wait"},
        {QOS("\"DENY_LIMIT\"", "3", "null"), "{\"associations\": []}", TWO, ADAPTER_LATER, "the limits of the user are not known"},
        {"{\"QOS\": []}", MINE("me", "5"), TWO, ADAPTER_LATER, "those of the QOS are not known"},
        {QOS("\"DENY_LIMIT\"", "3", "null"), MINE("me", "0"), TWO, ADAPTER_LATER, "there may be none for now"},
        {QOS("\"DENY_LIMIT\"", "3", "null"), MINE("me", "5"), "{\"jobs\": [", ADAPTER_LATER, "the jobs are not known"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told told;

        begin(); /* anew, or it would not ask again so soon */
        n_answers = 4;
        answer("POST " API "/job/submit", 500, POLICY);
        answer("GET " ACCOUNTS "/qos", 200, cases[i].qos);
        answer("GET " ACCOUNTS "/associations", 200, cases[i].associations);
        answer("GET " API "/jobs", 200, cases[i].jobs);
        told = submit(1);
        if (told.answer != cases[i].answer)
            fail_msg("answer %d, though %s", (int)told.answer, cases[i].why);
        assert_string_equal(told.code, told.answer == ADAPTER_REFUSED || told.answer == ADAPTER_UNCLEAR ? "job_refused" : "batch_system_unsure");
        assert_non_null(strstr(told.text, "Job violates accounting/QOS policy"));
        site_end();
    }
}

/* A job that waits is submitted again and again. */
static void limits_are_not_asked_for_all_the_time(void **state)
{
    begin();
    answer("POST " API "/job/submit", 500, POLICY);
    answer("GET " ACCOUNTS "/qos", 200, QOS("", "3", "null"));
    for (int i = 0; i < 3; i++)
        assert_int_equal(submit(i).answer, ADAPTER_LATER);
    assert_int_equal(count("/qos"), 1);
}

static void without_accounts_such_a_job_waits(void **state)
{
    answer("GET /openapi/v3", 200, "{\"paths\": {\"" API "/jobs\": {}}}");
    answer("POST " API "/job/submit", 500, POLICY);
    begin();
    assert_int_equal(submit(1).answer, ADAPTER_LATER);
    assert_int_equal(count("/qos"), 0);
}

#define THREE "{\"jobs\": [" OF("7", "st-0-1", "PENDING", "me") ", " OF("8", "st-0-2", "RUNNING", "me") ", " OF("9", "st-0-3", "FAILED", "me") "]}"

static void cancel_ok(int number)
{
    struct told told;

    site_cancel(number, 60000, &told);
    site_until(&told, 1);
    if (told.answer != ADAPTER_OK)
        fail_msg("%s", told.text);
}

static void a_cancel_is_what_the_state_asks_for(void **state)
{
    struct told told;
    bool is_new = *state != NULL;

    if (is_new) {
        answer("GET /openapi/v3", 200, "{\"paths\": {\"/slurm/v0.0.40/jobs\": {}}}");
        answer("GET /slurm/v0.0.40/jobs", 200, THREE);
    }
    answer("GET " API "/jobs", 200, THREE);
    begin();
    cancel_ok(1);
    assert_said(is_new ? "DELETE /slurm/v0.0.40/job/7 \n" : "DELETE " API "/job/7 \n");
    cancel_ok(2);
    assert_said(is_new ? "DELETE /slurm/v0.0.40/job/8?signal=TERM&flags=BATCH_JOB \n"
                       : "DELETE " API "/job/8?signal=TERM \n");
    cancel_ok(3);
    cancel_ok(4);
    assert_int_equal(count("DELETE"), 2);
    answer("DELETE ", 500, "{\"errors\": [{\"error_number\": 2017, \"error\": \"Invalid job id specified\"}]}");
    cancel_ok(2); /* it has just ended */
    answer("DELETE ", 500,
           "{\"errors\": [{\"error_number\": 1800, \"error\": \"Unable to contact slurm controller\"}]}");
    site_cancel(2, 0, &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    site_signal(2, SIGUSR2, &told);
    site_until(&told, 1);
    assert_said("/job/8?signal=USR2");
    assert_int_equal(told.answer, ADAPTER_UNSURE);
}

/* `then`: its state after it was held. */
static void withdraw(const char *then)
{
    struct told told;

    answer("GET " API "/jobs", 200, THREE);
    answer("GET " API "/job/7", 200, then);
    begin();
    site_withdraw(1, "7", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK);
    assert_said("POST " API "/job/7 {\"hold\":true}");
}

static void what_waits_is_taken_out(void **state)
{
    withdraw("{\"jobs\": [" OF("7", "st-0-1", "PENDING", "me") "]}");
    assert_said("DELETE " API "/job/7 \n");
    assert_int_equal(count("\"hold\":false"), 0);
}

static void what_has_begun_is_let_go(void **state)
{
    withdraw("{\"jobs\": [" OF("7", "st-0-1", "RUNNING", "me") "]}");
    assert_said("POST " API "/job/7 {\"hold\":false}");
    assert_int_equal(count("DELETE"), 0);
}

static void what_is_over_is_left_alone(void **state)
{
    withdraw("{\"jobs\": [" OF("7", "st-0-1", "CANCELLED", "me") "]}");
    assert_int_equal(count("DELETE") + count("\"hold\":false"), 0);
}

static void what_cannot_be_held_for_now_is_tried_again(void **state)
{
    struct told told;

    answer("GET " API "/jobs", 200, THREE);
    answer("POST " API "/job/7", 500,
           "{\"errors\": [{\"error_number\": 1800, \"error\": \"Unable to contact slurm controller\"}]}");
    begin();
    site_withdraw(1, "7", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_UNSURE);
    answer("POST " API "/job/7", 500,
           "{\"errors\": [{\"error_number\": 2021, \"error\": \"Job is no longer pending execution\"}]}");
    site_withdraw(1, "7", &told);
    site_until(&told, 1);
    assert_int_equal(told.answer, ADAPTER_OK); /* it is left alone */
    assert_int_equal(count("DELETE"), 0);
}

#define RECORD(id, name, state) \
    "{\"job_id\": " id ", \"name\": \"" name "\", \"user\": \"me\", \"array\": {\"job_id\": 0, \"task_id\": null}, \"nodes\": \"n1\"," \
    " \"state\": {\"current\": \"" state "\", \"reason\": \"None\"}, \"time\": {\"submission\": 100, \"start\": 120}}"

static void the_accounts_tell_of_what_is_gone(void **state)
{
    const struct site_known jobs[] = {{1, "7", INT64_C(1700003600000)}, {2, "8", INT64_C(1700000000000)}, {3, NULL, 0}};
    struct told told;

    answer("GET " ACCOUNTS "/jobs", 200,
           "{\"jobs\": [" RECORD("7", "st-0-1", "TIMEOUT") ", " RECORD("8", "st-0-9", "FAILED") "]}");
    begin();
    site_poll(jobs, 3, &told);
    site_until(&told, 1);
    assert_said("GET " ACCOUNTS "/jobs?step=7%2C8&skip_steps=true&start_time=uts1699996400");
    assert_string_equal(told.statuses[0].reason, "Slurm: TIMEOUT");
    assert_int_equal(told.statuses[1].state, ADAPTER_JOB_UNKNOWN); /* its id is another's by now */
    assert_int_equal(told.statuses[2].state, ADAPTER_JOB_UNKNOWN);
    answer("GET " ACCOUNTS "/jobs", 500,
           "{\"errors\": [{\"error_number\": 9003, \"error\": \"Nothing found with query\"}]}");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(count(ACCOUNTS "/jobs"), 3);
    assert_null(strstr(site.said, "cannot be looked up"));
    answer("GET " ACCOUNTS "/jobs", 500,
           "{\"errors\": [{\"error_number\": 7000, \"error\": \"Unable to connect to database\"}]}");
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(site_status(1, "7").state, ADAPTER_JOB_UNKNOWN);
    assert_int_equal(count(ACCOUNTS "/jobs"), 4); /* it is spared for a while */
    assert_non_null(strstr(site.said, "cannot be looked up: slurmrestd: Unable to connect to database"));
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_job_is_submitted_in_the_newest_version_of_both),
        WITH_SERVER(another_version_is_found_when_the_server_is_another),
        WITH_SERVER(refusals_are_told_apart),
        WITH_SERVER(what_could_not_be_sent_was_not_accepted),
        WITH_SERVER(a_job_beyond_a_limit_waits_where_it_may_be_for_others),
        WITH_SERVER(limits_are_not_asked_for_all_the_time),
        WITH_SERVER(without_accounts_such_a_job_waits),
        {"a_cancel_is_what_the_state_asks_for", a_cancel_is_what_the_state_asks_for, open_all, close_all, NULL},
        {"a_cancel_of_later_ones_is_of_the_runner_alone", a_cancel_is_what_the_state_asks_for, open_all, close_all, "new"},
        WITH_SERVER(what_waits_is_taken_out),
        WITH_SERVER(what_has_begun_is_let_go),
        WITH_SERVER(what_is_over_is_left_alone),
        WITH_SERVER(what_cannot_be_held_for_now_is_tried_again),
        WITH_SERVER(the_accounts_tell_of_what_is_gone),
    };

    test_limit(200); /* what never comes is a failure, too */
    signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

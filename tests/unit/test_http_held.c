/* Clients that read late, are silent or are too many, and changes that are not on the disk yet, as it is on the
 * wire. */
#include "api/limits.h"
#include "common/log.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"
#include "tests/unit/http_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static int read_locks; /* of files, that were taken */

int fcntl64(int fd, int command, ...);

int fcntl64(int fd, int command, ...)
{
    struct flock *lock;
    va_list ap;

    va_start(ap, command);
    lock = va_arg(ap, struct flock *); /* or a number */
    va_end(ap);
    if (command == F_SETLK && lock->l_type == F_RDLCK)
        read_locks++;
    return (int)syscall(SYS_fcntl, fd, command, lock);
}

static void header_is(const struct reply *r, const char *name, const char *wanted)
{
    const char *has = rig_header(r, name);

    if (wanted == NULL ? has != NULL : has == NULL || strcmp(has, wanted) != 0)
        fail_msg("%s is not %s: %s", name, wanted != NULL ? wanted : "left out", r->headers);
}

static void put_events(int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        must(store_event_put(store, 1000, i % 3 == 0 ? "ensemble.complete" : "other", 1 + i % 2, i,
                             "{\"a\": \"some detail, so that it is long\"}", &err));
    must(store_commit(store, &err));
}

static int begin_stream(const char *request)
{
    int fd = rig_begin(request, "Accept: text/event-stream\r\n");

    rig_until(fd, "retry: 1000\n\n");
    return fd;
}

/* --- streams */

#define EVENTS 15000 /* about 2 MB, more than a socket holds */

/* Each event comes once and in its order, however much has to wait. */
static void ids_come_in_order(const char *text, int64_t first, int64_t step, int64_t end)
{
    int64_t wanted = first;

    for (const char *line = text; wanted < end && *line != '\0'; line++) { /* by bytes, since sanitizers let strstr() read all of it */
        if (line[0] == 'i' && line[1] == 'd' && line[2] == ':') {
            if (strtoll(line + 3, NULL, 10) != wanted)
                fail_msg("event %lld is missing before %.100s", (long long)wanted, line);
            wanted += step;
        }
        while (*line != '\n' && *line != '\0')
            line++;
    }
    assert_int_equal(wanted, end);
}

static void who_reads_late_gets_everything(void **state)
{
    int fd, other;

    rig_turn();
    fd = begin_stream("GET /v1/events?after=0");
    other = begin_stream("GET /v1/events?kind=ensemble.complete");
    put_events(EVENTS);
    assert_int_equal(rig_ask("DELETE /v1/sessions", "", NULL)->status, 200); /* a commit of which the feed hears */
    for (int i = 0; i < 300; i++)
        rig_turn();
    ids_come_in_order(rig_wait(fd, "id: 15000\n"), 1, 1, EVENTS + 1);
    rig_until(fd, "id: 15000\n");
    put_events(1);
    assert_int_equal(rig_ask("DELETE /v1/sessions", "", NULL)->status, 200);
    rig_until(fd, "id: 15001\n"); /* and goes on */
    close(fd);
    rig_until(other, "id: 1\n");
    ids_come_in_order(rig_wait(other, "id: 14998\n"), 4, 3, 15001);
    close(other);
}

static int open_with_heartbeats(void **state)
{
    rig_options.heartbeat_ms = 40;
    return rig_open(state);
}

static void who_hears_nothing_gets_a_sign_of_life(void **state)
{
    int fd = begin_stream("GET /v1/events");

    rig_until(fd, ":\n\n");
    put_events(1);
    assert_int_equal(rig_ask("DELETE /v1/sessions", "", NULL)->status, 200);
    rig_until(fd, "id: 1\n");
    rig_until(fd, ":\n\n");
    rig_until(fd, ":\n\n");
    close(fd);
}

/* A stream cannot go on where events cannot be read, and does not look like one that ends. */
static void a_stream_that_cannot_be_read_is_cut(void **state)
{
    int fd = begin_stream("GET /v1/events");

    put_events(1);
    must(store_exec(store, &err, "ALTER TABLE event RENAME TO elsewhere", ""));
    must(store_commit(store, &err));
    assert_int_equal(rig_ask("DELETE /v1/sessions", "", NULL)->status, 200);
    assert_null(strstr(rig_rest(fd), "id: 1\n"));
    must(store_exec(store, &err, "ALTER TABLE elsewhere RENAME TO event", ""));
    must(store_commit(store, &err));
    fd = begin_stream("GET /v1/events?after=0");
    rig_until(fd, "id: 1\n");
    close(fd);
}

/* --- clients */

#define CLIENTS 6 /* those who are known: a quarter of the connections is for strangers */

static int open_for_few(void **state)
{
    rig_options.connections_max = 8;
    return rig_open(state);
}

static bool is_let_in(void)
{
    return rig_ask("GET /healthz", "", NULL)->status == 200;
}

static void clients_that_are_too_many_are_told(void **state)
{
    const struct reply *r;
    int fds[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        fds[i] = begin_stream("GET /v1/events");
    r = rig_refused("GET /healthz", "", NULL, 503, "busy");
    header_is(r, "Connection", "close");
    header_is(r, "Retry-After", "10");
    rig_over_tcp(true); /* no listener takes the room of another */
    rig_refused("GET /healthz", "", NULL, 401, "token_missing");
    rig_over_tcp(false);
    close(fds[0]);
    must(store_event_put(store, 1000, "other", 1, -1, NULL, &err)); /* which cannot be sent to who has gone */
    TEST_UNTIL(is_let_in(), rig_turn());
    for (int i = 1; i < CLIENTS; i++)
        close(fds[i]);
}

static void two_requests_may_come_at_once(void **state)
{
    static const char both[] = "GET /healthz HTTP/1.1\r\nHost: stretto\r\n\r\nGET /readyz HTTP/1.1\r\nHost: stretto\r\nConnection: close\r\n\r\n";
    const struct reply *r = rig_send(both, strlen(both));

    assert_non_null(strstr(r->body, "HTTP/1.1 200 OK"));
    assert_non_null(strstr(r->body, "\"ready\""));
}

static void no_request_is_too_long_for_an_answer(void **state)
{
    static char many[20000];
    static const char blank
        [] = "GET /healthz HTTP/1.1\r\nHost: stretto\r\nX Y: z\r\nConnection: close\r\n\r\n",
   sign[] =
        "POST /v1/ensembles/1/resume HTTP/1.1\r\nHost: stretto\r\nContent-Length: +2\r\nConnection: close\r\n\r\n{}";

    strcpy(many, "GET /v1/ensembles?");
    for (int i = 0; i < 4000; i++)
        strcat(many + 18 + 4 * i, "a=1&");
    rig_refused(many, "", NULL, 400, "query_unknown_parameter");
    strcpy(many, "GET /v1/ensembles?");
    for (int i = 0; i < 1000; i++)
        strcat(many + 18 + 8 * i, "limit=1&");
    rig_refused(many, "", NULL, 400, "query_wrong_value");
    assert_int_equal(rig_send(blank, strlen(blank))->status, 400);
    assert_int_equal(rig_send(sign, strlen(sign))->status, 400);
}

static void chunked(char *text, size_t size, const char *request, const char *headers, size_t body)
{
    int n = snprintf(text, size,
                     "%s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n%s\r\n",
                     request, headers);

    if (body > 0)
        n += snprintf(text + n, size - (size_t)n, "%zx\r\n%0*d\r\n", body, (int)body, 1);
    snprintf(text + n, size - (size_t)n, "0\r\n\r\n");
}

/* A body whose length nobody has said counts as it comes. */
static void bodies_in_chunks_are_limited_too(void **state)
{
    static char text[10000];

    chunked(text, sizeof text, "POST /v1/ensembles/1/resume", "", 0);
    assert_int_equal(rig_send(text, strlen(text))->status, 404);
    chunked(text, sizeof text, "POST /v1/ensembles/1/resume", "Content-Type: text/plain\r\n", 0);
    assert_int_equal(rig_send(text, strlen(text))->status, 415);
    chunked(text, sizeof text, "POST /v1/ensembles", "", 6000);
    assert_int_equal(rig_send(text, strlen(text))->status, 400);
    rig_refused("POST /v1/ensembles", "Content-Type: text/plain\r\n", NULL, 415, "body_not_json");
    rig_refused("GET /healthz", "Content-Type: text/plain\r\n", "ab", 415, "body_not_json");
    rig_over_tcp(true);
    chunked(text, sizeof text, "POST /v1/sessions", "", LIMIT_OPEN_BODY + 1);
    assert_int_equal(rig_send(text, strlen(text))->status, 413);
    chunked(text, sizeof text, "POST /v1/sessions", "", LIMIT_OPEN_BODY);
    assert_int_equal(rig_send(text, strlen(text))->status, 400);
}

/* --- changes that are not on the disk */

static int refuse_commit(void *arg)
{
    return 1;
}

static void who_cannot_store_is_not_ready(void **state)
{
    sqlite3_commit_hook(store->db, refuse_commit, NULL);
    assert_true(rig_ask("POST /v1/tokens", "", "{\"role\": \"reader\"}")->status >= 500);
    rig_refused("GET /readyz", "", NULL, 503, "not_ready");
    assert_int_equal(rig_ask("GET /healthz", "", NULL)->status, 200);
    assert_non_null(strstr(rig_ask("GET /metrics", "", NULL)->body, "\nstretto_commit_failing 1\n"));
    sqlite3_commit_hook(store->db, NULL, NULL);
    assert_int_equal(rig_ask("POST /v1/tokens", "", "{\"role\": \"reader\"}")->status, 201);
    assert_int_equal(rig_ask("GET /readyz", "", NULL)->status, 200);
}

static int64_t ensembles_told(void)
{
    return (int64_t)json_array_size(json_object_get(rig_json(rig_ask("GET /v1/ensembles", "", NULL)), "ensembles"));
}

static int open_patiently(void **state)
{
    rig_options.patience_ms = 3600000;
    return rig_open(state);
}

static int open_with_reader(void **state)
{
    rig_options.reader = true;
    return open_patiently(state);
}

/* What one is told of is never undone. */
static void answers_wait_for_the_disk(void **state)
{
    add_ensemble(3);
    assert_true(store_dirty(store));
    assert_int_equal(ensembles_told(), 1);
    assert_false(store_dirty(store));
}

static void what_only_reads_does_not_wait(void **state)
{
    add_ensemble(3);
    assert_int_equal(ensembles_told(), 0);
    assert_int_equal(rig_ask("HEAD /v1/ensembles", "", NULL)->status, 200);
    assert_int_equal(json_array_size(json_object_get(rig_json(rig_ask("GET /v1/ensembles?sort=rate", "", NULL)), "ensembles")), 0);
    assert_true(store_dirty(store));
    assert_int_equal(rig_ask("GET /v1/ensembles/1/states", "", NULL)->status, 404);
    /* which is a change, and takes the other with it */
    assert_int_equal(rig_ask("DELETE /v1/sessions", "", NULL)->status, 200);
    assert_false(store_dirty(store));
    assert_int_equal(ensembles_told(), 1);
    assert_int_equal(rig_ask("GET /v1/ensembles/1/states", "", NULL)->size, 3);
}

/* --- the end of the daemon */

/* Whoever is in the middle of an answer then does not hold it up. */
static void a_daemon_that_ends_waits_for_no_answer(void **state)
{
    static const char *const requests[] = {"GET /v1/ensembles/1/states", "GET /v1/ensembles/1/states?host=a", "GET /v1/ensembles/1/members?host=a",
                                           "GET /v1/ensembles/1/members?sort=took", "GET /v1/ensembles?trouble=1", "GET /v1/ensembles?sort=rate",
                                           "GET /v1/trainings/1/metrics", "GET /v1/events", "GET /v1/backup", "GET /metrics",
                                           "GET /v1/trainings/1/ranks"};
    int fds[sizeof requests / sizeof *requests];

    for (int turns = 0; turns < 12; turns++) {
        struct training_row training = {.ensemble = 1, .adapter = "local", .ranks = 1, .generation = 1, .created_ms = 1};

        add_ensemble(100000);
        for (int i = 0; i < 120; i++)
            add_ensemble(1);
        must(store_training_insert(store, &training, &err));
        for (int i = 0; i < 5000; i++)
            must(store_metric_put(store, training.id, "loss", &(struct metric_point){.step = i, .time_ms = 1, .value = 1}, &err));
        must(store_commit(store, &err));
        for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
            fds[i] = rig_begin(requests[i], "Accept-Encoding: gzip\r\n");
        for (int i = 0; i < turns; i++)
            rig_turn();
        assert_int_equal(rig_close(state), 0);
        for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
            close(fds[i]);
        assert_int_equal(rig_open(state), 0);
    }
}

/* SQLite takes and gives back a lock for each transaction, which costs as much as all else of a small query. */
static void an_answer_takes_one_lock(void **state)
{
    char request[64];

    snprintf(request, sizeof request, "GET /v1/ensembles/%lld", (long long)add_ensemble(3));
    must(store_commit(store, &err));
    assert_int_equal(rig_ask(request, "", NULL)->status, 200); /* meanwhile the feed has looked at the change */
    read_locks = 0;
    assert_int_equal(rig_ask(request, "", NULL)->status, 200);
    assert_int_equal(read_locks, 1);
}

#define WITH_HTTP(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)
#define WITH(test, open) cmocka_unit_test_setup_teardown(test, open, rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HTTP(who_reads_late_gets_everything), WITH(who_hears_nothing_gets_a_sign_of_life, open_with_heartbeats),
        WITH_HTTP(a_stream_that_cannot_be_read_is_cut), WITH(clients_that_are_too_many_are_told, open_for_few),
        WITH_HTTP(two_requests_may_come_at_once), WITH_HTTP(no_request_is_too_long_for_an_answer),
        WITH_HTTP(bodies_in_chunks_are_limited_too), WITH_HTTP(who_cannot_store_is_not_ready),
        WITH(answers_wait_for_the_disk, open_patiently), WITH(what_only_reads_does_not_wait, open_with_reader),
        WITH(an_answer_takes_one_lock, open_with_reader),
        WITH_HTTP(a_daemon_that_ends_waits_for_no_answer),
    };

    log_init("http", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

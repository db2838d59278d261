/* Requests as they are on the wire: to a daemon whose database cannot be read, or that ends; and what one costs. */
#include "common/log.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"
#include "tests/unit/http_rig.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define MEMBERS 10000 /* more than two pieces of a reply of states */

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

static int open_with_reader(void **state)
{
    rig_options.reader = true;
    rig_options.patience_ms = 3600000;
    return rig_open(state);
}

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

/* Members 1, 5000 and the last have rows. */
static void add_states(void)
{
    add_ensemble(MEMBERS);
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = 1, .state = MEMBER_RUNNING}, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = 5000, .state = MEMBER_FAILED}, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = MEMBERS - 1, .state = MEMBER_SUCCEEDED}, &err));
    must(store_event_put(store, 1, "member.ended", 1, 1, NULL, &err));
    must(store_event_put(store, 1, "other", 2, 1, NULL, &err));
    must(store_commit(store, &err));
}

static void run_sql(const char *sql)
{
    must(store_exec(store, &err, sql, ""));
    must(store_commit(store, &err));
}

/* States that are wrong are worse than none. */
static void states_that_cannot_be_read_are_not_sent(void **state)
{
    static const char *const requests[] = {"GET /v1/ensembles/1/states", "GET /v1/ensembles/1/states?host=a"};

    add_states();
    run_sql("ALTER TABLE member RENAME TO elsewhere");
    for (size_t i = 0; i < 2; i++) {
        const struct reply *r = rig_ask(requests[i], "", NULL);

        assert_false(r->status == 200 && r->whole);
        r = rig_ask(requests[i], "Accept-Encoding: gzip\r\n", NULL);
        assert_false(r->status == 200 && r->whole);
    }
    run_sql("ALTER TABLE elsewhere RENAME TO member");
    run_sql("ALTER TABLE event RENAME TO elsewhere");
    assert_int_equal(rig_ask(requests[0], "", NULL)->status, 500);
    assert_int_equal(rig_ask("GET /v1/events", "", NULL)->status, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO event");
}

static void status_is(const char *request, const char *headers, const char *body, int status)
{
    const struct reply *r = rig_ask(request, headers, body);

    if (r->status != status)
        fail_msg("%s, %s: %s%s", request, headers, r->headers, r->body);
}

/* Nobody is let in because it cannot be known who they are. */
static void a_database_that_cannot_be_read_lets_nobody_in(void **state)
{
    const char *reader = rig_bearer("{\"role\": \"reader\"}");
    const struct reply *r;

    status_is("GET /v1/tokens", reader, NULL, 403);
    run_sql("ALTER TABLE token RENAME TO elsewhere");
    r = rig_ask("GET /v1/jobs", reader, NULL);
    assert_int_equal(r->status, 500);
    assert_non_null(rig_header(r, "X-Request-Id"));
    status_is("GET /v1/tokens", reader, NULL, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO token");
    status_is("GET /v1/jobs", reader, NULL, 200);
    run_sql("ALTER TABLE session RENAME TO elsewhere");
    status_is("GET /s/AAAAAAAAAAAAAAAAAAAAAA/v1/jobs", "Cookie: stretto=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n", NULL, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO session");
}

#define WITH_HTTP(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)
#define WITH(test, open) cmocka_unit_test_setup_teardown(test, open, rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HTTP(states_that_cannot_be_read_are_not_sent),
        WITH_HTTP(a_stream_that_cannot_be_read_is_cut),
        WITH_HTTP(a_database_that_cannot_be_read_lets_nobody_in),
        WITH(an_answer_takes_one_lock, open_with_reader),
        WITH_HTTP(a_daemon_that_ends_waits_for_no_answer),
    };

    log_init("http", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

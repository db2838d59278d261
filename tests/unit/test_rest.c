/* Requests to a batch system's HTTP server: this program is the server, too, between two turns of the loop. */
#include "common/files.h"
#include "scheduler-adapters/rest.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LIMIT_MS 500
#define HOUR_MS 3600000

static uv_loop_t loop;
static struct rest *rest;
static char dir[] = "/tmp/test_rest.XXXXXX", token_path[100];
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener;
static bool gone;

struct answer {
    unsigned answers;
    bool in_call;
    long status;
    bool not_sent;
    size_t size;
    char why[400], body[100];
    uint64_t at;
};

static void answered(void *arg, struct rest_result *result)
{
    struct answer *a = arg;

    assert_false(a->in_call);
    a->answers++;
    a->status = result->status;
    a->not_sent = result->not_sent;
    a->size = result->size;
    snprintf(a->why, sizeof a->why, "%s", result->why);
    snprintf(a->body, sizeof a->body, "%s", result->body);
    a->at = uv_hrtime();
}

static void ask_for(struct answer *a, const char *method, const char *body, int64_t limit_ms, size_t max)
{
    *a = (struct answer){.in_call = true};
    rest_ask(rest, &(struct rest_request){.method = method, .path = "/jobs", .body = body, .limit_ms = limit_ms, .max = max}, answered, a);
    a->in_call = false;
}

static void ask_within(struct answer *a, int64_t limit_ms)
{
    ask_for(a, "GET", NULL, limit_ms, 1 << 20);
}

static void ask(struct answer *a)
{
    ask_within(a, LIMIT_MS);
}

static void until(const struct answer *a)
{
    TEST_UNTIL(a->answers > 0, uv_run(&loop, UV_RUN_ONCE));
    assert_int_equal(a->answers, 1);
}

static char asked[2000]; /* the last request */

static bool is_whole(void)
{
    const char *end = strstr(asked, "\r\n\r\n"), *length = strstr(asked, "Content-Length: ");

    return end != NULL && strlen(end + 4) >= (length != NULL ? strtoul(length + 16, NULL, 10) : 0);
}

/* The connection that it comes by, when it has come whole; -1: its time was over before. */
static int take_request(const struct answer *a)
{
    size_t n = 0;
    ssize_t got;
    int fd = -1;
    unsigned left = alarm(test_wait_s());

    do {
        uv_run(&loop, UV_RUN_NOWAIT); /* it may be that nothing ever comes: the alarm ends that */
        if (fd < 0)
            fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        got = fd >= 0 ? recv(fd, asked + n, sizeof asked - 1 - n, 0) : 0;
        n += got > 0 ? (size_t)got : 0;
        asked[n] = '\0';
    } while (!is_whole() && a->answers == 0);
    alarm(left);
    if (a->answers == 0)
        return fd;
    close(fd);
    return -1;
}

static void put(int fd, const char *text, size_t size)
{
    assert_int_equal(send(fd, text, size, MSG_NOSIGNAL), size);
}

static void put_text(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

/* The loop did not turn while the answer came and the time ran out, as when the daemon is stopped for a while. It is of
 * more than is read at once. If this machine was held up before it was there, it is tried again. */
static void what_came_in_time_is_taken_however_late_the_loop_is(void **state)
{
    static char text[120000];
    static struct answer a;
    size_t n = (size_t)sprintf(text, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n") + 100000;
    uint64_t began;
    int fd;

    memset(text + n - 100000, 'x', 100000);
    do {
        began = uv_hrtime();
        ask(&a);
        fd = take_request(&a);
        if (fd < 0)
            continue;
        put(fd, text, n);
        close(fd);
        if ((uv_hrtime() - began) / 1000000 < LIMIT_MS)
            break;
        until(&a);
    } while (true);
    usleep((LIMIT_MS + 100) * 1000);
    until(&a);
    assert_string_equal(a.why, "");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.size, 100000);
}

static void what_does_not_come_is_out_of_time(void **state)
{
    static struct answer a;
    char why[500];
    uint64_t began = uv_hrtime();
    int fd;

    ask(&a);
    fd = take_request(&a);
    if (fd >= 0)
        put(fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123", 42);
    until(&a);
    close(fd);
    assert_int_equal(a.status, 0);
    assert_false(fd >= 0 && a.not_sent); /* it may have been heard */
    assert_true((a.at - began) / 1000000 >= LIMIT_MS);
    snprintf(why, sizeof why, "%s: timed out after 500 ms with %d bytes received", address.sun_path, fd >= 0 ? 3 : 0);
    assert_string_equal(a.why, why);
}

/* An answer that drips on and on is cut off: the rest of it has not come in time. */
static void what_never_ends_is_out_of_time(void **state)
{
    static struct answer a;
    int fd;

    ask(&a);
    fd = take_request(&a);
    if (fd >= 0)
        put(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 45);
    TEST_UNTIL(a.answers > 0, (fd >= 0 ? send(fd, "x", 1, MSG_NOSIGNAL) : 0, uv_run(&loop, UV_RUN_ONCE)));
    close(fd);
    assert_int_equal(a.status, 0);
    assert_non_null(strstr(a.why, "timed out after 500 ms"));
}

static void send_more(int fd, const char *text, size_t size, size_t *n)
{
    ssize_t more = *n < size ? send(fd, text + *n, size - *n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

    *n += more > 0 ? (size_t)more : 0;
}

/* An answer that is longer than may be kept is not used at all. */
static void a_long_answer_is_none(void **state)
{
    static char body[2 << 20];
    static struct answer a;
    size_t n = 0;
    int fd;

    memset(body, 'x', sizeof body);
    ask_within(&a, HOUR_MS);
    fd = take_request(&a);
    put_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2097152\r\n\r\n");
    TEST_UNTIL(a.answers > 0, (send_more(fd, body, sizeof body, &n), uv_run(&loop, UV_RUN_NOWAIT)));
    close(fd);
    assert_int_equal(a.status, 0);
    assert_false(a.not_sent);
    assert_non_null(strstr(a.why, "its answer is too long"));
}

/* A proxy of the environment would see the token, and cannot reach the socket. */
static void a_request_goes_straight_to_the_server(void **state)
{
    static struct answer a;
    int fd;

    ask_within(&a, HOUR_MS);
    fd = take_request(&a);
    put_text(fd, "HTTP/1.1 204 Nothing\r\nContent-Length: 0\r\n\r\n");
    until(&a);
    close(fd);
    assert_int_equal(strncmp(asked, "GET /jobs HTTP/1.1\r\n", 20), 0);
    assert_non_null(strstr(asked, "\r\nX-USER: me\r\n"));
    assert_non_null(strstr(asked, "\r\nX-TOKEN: secret\r\n"));
    assert_int_equal(a.status, 204);
}

static void destroyed(void *arg)
{
    gone = true;
}

static void create(const char *url, const char *token)
{
    const struct rest_place place = {.url = url, .token_file = token, .user = "me", .user_header = "X-USER", .token_header = "X-TOKEN"};
    struct error err = {0};

    gone = false;
    rest = rest_create(&loop, &place, 1, &err);
    assert_string_equal(err.text, "");
    assert_non_null(rest);
}

static void until_destroyed(void)
{
    rest_destroy(rest, destroyed, NULL);
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
}

static void create_anew(const char *url, const char *token)
{
    until_destroyed();
    create(url, token);
}

static const char *socket_url(void)
{
    static char url[200];

    snprintf(url, sizeof url, "unix:%s", address.sun_path);
    return url;
}

static void assert_header(const char *header, bool is_there)
{
    if ((strstr(asked, header) != NULL) != is_there)
        fail_msg("%s in\n%s", header, asked);
}

static void a_request_has_what_belongs_to_it(void **state)
{
    static const char *const bodies[] = {NULL, "{\"job\": [1, 2]}", ""};
    static struct answer a;

    for (int i = 0; i < 6; i++) {
        const char *body = bodies[i % 3];
        int fd;

        create_anew(socket_url(), i < 3 ? token_path : NULL);
        ask_for(&a, body != NULL ? "POST" : "DELETE", body, HOUR_MS, 100);
        fd = take_request(&a);
        assert_int_equal(strncmp(asked, body != NULL ? "POST /jobs HTTP/1.1\r\n" : "DELETE /jobs HTTP/1.1\r\n", body != NULL ? 21 : 23), 0);
        assert_header("\r\nAccept: application/json\r\n", true);
        assert_header("\r\nUser-Agent: stretto\r\n", true);
        assert_header("\r\nContent-Type: application/json\r\n", body != NULL);
        assert_header("\r\nExpect:", false); /* the server would be waited for */
        assert_header("\r\nX-USER: me\r\n", i < 3);
        assert_header("\r\nX-TOKEN: secret\r\n", i < 3);
        assert_string_equal(strstr(asked, "\r\n\r\n") + 4, body != NULL ? body : "");
        put_text(fd, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nwords");
        until(&a);
        close(fd);
        assert_int_equal(a.status, 500);
        assert_string_equal(a.body, "words");
        assert_string_equal(a.why, "");
        assert_int_equal(a.size, 5);
    }
}

static void an_answer_may_be_as_long_as_allowed(void **state)
{
    static struct answer a;

    for (int i = 0; i < 3; i++) {
        int fd;

        ask_for(&a, "GET", NULL, HOUR_MS, 10);
        fd = take_request(&a);
        put_text(fd, i == 0   ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234567890"
                     : i == 1 ? "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901"
                              : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        until(&a);
        close(fd);
        assert_int_equal(a.status, i == 1 ? 0 : 200);
        if (i != 1)
            assert_string_equal(a.body, i == 0 ? "1234567890" : "");
    }
}

/* A connection that is kept might be closed just when the next request is sent. */
static void each_has_its_turn_and_a_connection_of_its_own(void **state)
{
    static struct answer a[3];
    char byte;
    int fd, other;

    for (int i = 0; i < 3; i++)
        ask_within(&a[i], HOUR_MS);
    for (int i = 0; i < 3; i++) {
        fd = take_request(&a[i]);
        for (int k = 0; k < 20; k++)
            uv_run(&loop, UV_RUN_NOWAIT);
        other = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        assert_int_equal(other, -1);
        put_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        until(&a[i]);
        for (int k = i + 1; k < 3; k++)
            assert_int_equal(a[k].answers, 0);
        TEST_UNTIL(recv(fd, &byte, 1, 0) == 0, uv_run(&loop, UV_RUN_NOWAIT));
        close(fd);
    }
}

static void assert_not_answered(const struct answer *a, bool not_sent, const char *why)
{
    assert_int_equal(a->answers, 1);
    assert_int_equal(a->status, 0);
    assert_int_equal(a->not_sent, not_sent);
    assert_string_equal(a->body, "");
    if (strstr(a->why, why) == NULL)
        fail_msg("%s: %s", why, a->why);
}

/* Only where nobody listens is it certain that nothing was done. */
static void a_server_that_is_not_there_is_told_apart(void **state)
{
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof port;
    static struct answer a;
    char url[64], why[200];
    int fd;

    ask_within(&a, HOUR_MS);
    fd = take_request(&a);
    close(fd);
    until(&a);
    assert_not_answered(&a, false, address.sun_path);
    ask_within(&a, HOUR_MS);
    fd = take_request(&a);
    put_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
    close(fd);
    until(&a);
    assert_int_equal(a.status, 0);
    assert_false(a.not_sent);
    create_anew("unix:/nowhere/socket", NULL);
    ask_within(&a, HOUR_MS);
    until(&a);
    assert_not_answered(&a, true, "/nowhere/socket: No such file or directory");
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&port, sizeof port), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&port, &size), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(port.sin_port));
    create_anew(url, NULL);
    ask_within(&a, HOUR_MS); /* nobody listens at the port */
    until(&a);
    snprintf(why, sizeof why, "%s: ", url);
    assert_not_answered(&a, true, why);
    close(fd);
    create_anew(socket_url(), token_path);
}

static void without_its_token_nothing_is_sent(void **state)
{
    static struct answer a;
    char away[120];
    int fd;

    snprintf(away, sizeof away, "%s.away", token_path);
    assert_int_equal(rename(token_path, away), 0);
    ask_within(&a, HOUR_MS);
    until(&a);
    assert_int_equal(rename(away, token_path), 0);
    assert_not_answered(&a, true, token_path);
    assert_int_equal(accept4(listener, NULL, NULL, SOCK_NONBLOCK), -1);
    if (geteuid() == 0) { /* only then can there be a file of somebody else */
        assert_int_equal(chown(token_path, 12345, 0), 0);
        ask_within(&a, HOUR_MS);
        until(&a);
        assert_int_equal(chown(token_path, 0, 0), 0);
        assert_not_answered(&a, true, "another user");
    }
    ask_within(&a, HOUR_MS); /* it is read for each */
    fd = take_request(&a);
    assert_header("\r\nX-TOKEN: secret\r\n", true);
    put_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    until(&a);
    close(fd);
}

/* A call that waits is not sent; one that is under way may have been received. */
static void its_end_answers_all(void **state)
{
    static struct answer a[4];

    for (int turns = 0; turns < 4; turns++) { /* while the token is read, or just after */
        ask_within(&a[0], HOUR_MS);
        for (int i = 0; i < turns; i++)
            uv_run(&loop, UV_RUN_NOWAIT);
        until_destroyed();
        assert_int_equal(a[0].answers, 1);
        assert_int_equal(a[0].status, 0);
        create(socket_url(), token_path);
    }
    while (accept4(listener, NULL, NULL, SOCK_NONBLOCK) >= 0)
        ;
    for (int i = 0; i < 4; i++)
        ask_within(&a[i], HOUR_MS);
    close(take_request(&a[0]));
    until(&a[0]);
    assert_true(take_request(&a[1]) >= 0);
    for (int i = 1; i < 4; i++)
        a[i].in_call = true;
    rest_destroy(rest, destroyed, NULL);
    for (int i = 1; i < 4; i++)
        a[i].in_call = false;
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
    for (int i = 1; i < 4; i++)
        assert_not_answered(&a[i], i > 1, "the daemon ends");
    create(socket_url(), token_path);
}

static uv_sem_t gate;

static void wait_at_the_gate(uv_work_t *work)
{
    uv_sem_wait(&gate);
}

static void has_waited(uv_work_t *work, int status)
{
}

/* The only worker thread is held, so that its token is not read yet. */
static void its_end_waits_for_a_token_that_is_read(void **state)
{
    static struct answer a;
    uv_work_t work;

    assert_int_equal(uv_sem_init(&gate, 0), 0);
    assert_int_equal(uv_queue_work(&loop, &work, wait_at_the_gate, has_waited), 0);
    ask_within(&a, HOUR_MS);
    uv_run(&loop, UV_RUN_NOWAIT);
    rest_destroy(rest, destroyed, NULL);
    for (int i = 0; i < 5; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    assert_false(gone);
    uv_sem_post(&gate);
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
    assert_not_answered(&a, true, "the daemon ends");
    assert_int_equal(accept4(listener, NULL, NULL, SOCK_NONBLOCK), -1);
    uv_sem_destroy(&gate);
    create(socket_url(), token_path);
}

static void tokens_are_words(void **state)
{
    static const struct {
        const char *text, *token; /* NULL: refused */
    } cases[] = {{"abc", "abc"},     {"NAME=abc\n", "abc"}, {"NAME=a=b", "a=b"},   {"abc=", "abc="},   {"abc==", "abc=="}, {"!~", "!~"},
                 {"a\x7f", NULL},    {"a\x80", NULL},       {"a\x1f", NULL},       {"", NULL},         {"  \r\n", NULL},   {"a b", NULL},
                 {"\t a \r\n\n", "a"}, {"a\n b", NULL},      {"NAME=", "NAME="}};
    struct error err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *token = NULL, path[120];
        int rc;

        snprintf(path, sizeof path, "%s.word", token_path);
        assert_int_equal(file_write_whole(path, cases[i].text, strlen(cases[i].text), 0600, &err), 0);
        rc = rest_token_read(path, &token, &err);
        unlink(path);
        if (rc != (cases[i].token != NULL ? 0 : -1) || (token != NULL && strcmp(token, cases[i].token) != 0))
            fail_msg("case %zu: %s", i, token != NULL ? token : err.text);
        free(token);
    }
}

static void a_place_that_is_none_is_refused(void **state)
{
    struct error err = {0};

    assert_null(rest_create(&loop, &(struct rest_place){.url = "nowhere"}, 1, &err));
    assert_string_equal(err.pointer, "/url");
    assert_true(err.text[0] != '\0');
}

static int open_all(void **state)
{
    struct error err;

    uv_loop_init(&loop);
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", dir);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 10) < 0)
        return -1;
    setenv("http_proxy", "http://127.0.0.1:9", 1);
    snprintf(token_path, sizeof token_path, "%s/token", dir);
    if (file_write_whole(token_path, "secret\n", 7, 0600, &err) < 0)
        return -1;
    create(socket_url(), token_path);
    return 0;
}

static int close_all(void **state)
{
    until_destroyed();
    close(listener);
    unlink(address.sun_path);
    unlink(token_path);
    rmdir(dir);
    return uv_loop_close(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_in_time_is_taken_however_late_the_loop_is),
        cmocka_unit_test(what_does_not_come_is_out_of_time),
        cmocka_unit_test(what_never_ends_is_out_of_time),
        cmocka_unit_test(a_long_answer_is_none),
        cmocka_unit_test(a_request_goes_straight_to_the_server),
        cmocka_unit_test(a_request_has_what_belongs_to_it),
        cmocka_unit_test(an_answer_may_be_as_long_as_allowed),
        cmocka_unit_test(each_has_its_turn_and_a_connection_of_its_own),
        cmocka_unit_test(a_server_that_is_not_there_is_told_apart),
        cmocka_unit_test(without_its_token_nothing_is_sent),
        cmocka_unit_test(its_end_answers_all),
        cmocka_unit_test(its_end_waits_for_a_token_that_is_read),
        cmocka_unit_test(tokens_are_words),
        cmocka_unit_test(a_place_that_is_none_is_refused),
    };

    setenv("UV_THREADPOOL_SIZE", "1", 1);
    test_limit(100); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, open_all, close_all);
}

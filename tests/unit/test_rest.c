/* Requests to a batch system's HTTP server: this program is the server, too, between two turns of the loop. */
#include "common/files.h"
#include "scheduler-adapters/rest.h"
#include "tests/unit/unit.h"

#include <errno.h>
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
    char why[400];
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
    a->at = uv_hrtime();
}

static void ask_within(struct answer *a, int64_t limit_ms)
{
    *a = (struct answer){.in_call = true};
    rest_ask(rest, &(struct rest_request){.method = "GET", .path = "/jobs", .limit_ms = limit_ms, .max = 1 << 20}, answered, a);
    a->in_call = false;
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

/* The connection that it comes by, when it has come whole; -1: its time was over before. */
static int take_request(const struct answer *a)
{
    size_t n = 0;
    ssize_t got;
    int fd = -1;
    unsigned left = alarm(test_wait_s());

    do {
        uv_run(&loop, UV_RUN_NOWAIT);
        if (fd < 0)
            fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        got = fd >= 0 ? recv(fd, asked + n, sizeof asked - 1 - n, 0) : 0;
        n += got > 0 ? (size_t)got : 0;
        asked[n] = '\0';
    } while (strstr(asked, "\r\n\r\n") == NULL && a->answers == 0);
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

/* The loop did not turn while the answer came and the time ran out, as when the daemon is stopped for a while. It is of more than
 * is read at once. Where this machine was held up before it was there, it is tried again. */
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

/* What drips on and on is cut off: the rest of it is not what has come in time. */
static void what_never_ends_is_out_of_time(void **state)
{
    static struct answer a;
    int fd;

    ask(&a);
    fd = take_request(&a);
    if (fd >= 0)
        put(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 45);
    while (a.answers == 0) {
        if (fd >= 0)
            send(fd, "x", 1, MSG_NOSIGNAL);
        uv_run(&loop, UV_RUN_ONCE);
    }
    close(fd);
    assert_int_equal(a.status, 0);
    assert_non_null(strstr(a.why, "timed out after 500 ms"));
}

/* Of more than may be kept nothing is used. */
static void a_long_answer_is_none(void **state)
{
    static char body[2 << 20];
    static struct answer a;
    int fd;

    memset(body, 'x', sizeof body);
    ask_within(&a, HOUR_MS);
    fd = take_request(&a);
    put_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2097152\r\n\r\n");
    for (size_t n = 0; a.answers == 0;) {
        ssize_t more = n < sizeof body ? send(fd, body + n, sizeof body - n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

        n += more > 0 ? (size_t)more : 0;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
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

static int open_all(void **state)
{
    struct error err;
    char url[200];

    gone = false;
    uv_loop_init(&loop);
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", dir);
    snprintf(url, sizeof url, "unix:%s", address.sun_path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 10) < 0)
        return -1;
    setenv("http_proxy", "http://127.0.0.1:9", 1);
    snprintf(token_path, sizeof token_path, "%s/token", dir);
    if (file_write_whole(token_path, "secret\n", 7, 0600, &err) < 0)
        return -1;
    rest = rest_create(&loop, &(struct rest_place){.url = url, .token_file = token_path, .user = "me", .user_header = "X-USER", .token_header = "X-TOKEN"},
                       1, &err);
    return rest != NULL ? 0 : -1;
}

static int close_all(void **state)
{
    rest_destroy(rest, destroyed, NULL);
    TEST_UNTIL(gone, uv_run(&loop, UV_RUN_ONCE));
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
    };

    test_limit(100); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, open_all, close_all);
}

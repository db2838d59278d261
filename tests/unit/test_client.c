/* The HTTP client against a server that misbehaves in a chosen way, one answer a connection. */
#include "tests/unit/unit.h"

#include "cli/client.h"
#include "cli/watch.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ANSWERS_MAX 4
#define AWAY_MS 300

/* For an answer: the connection is closed without one, and nobody listens for a while. */
static const char restarted[] = "";
static const char closed[] = "closed before a request was read";
/* Likewise: nothing comes, and the user presses Ctrl-C; then what comes is little, but never so little that it counts
 * as silence. */
static const char slow[] = "";
#define SLOW_MS 50
#define SILENT_TURNS 40
#define SLOW_TURNS 200
/* An answer after a while, for which who is in a hurry does not wait. */
static const char late[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
#define LATE_MS 1500

/* The number of times that the client has paused before another try; its pauses come here. */
static int pauses;

int nanosleep(const struct timespec *pause, struct timespec *rest)
{
    pauses++;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, pause, rest) == 0 ? 0 : -1;
}

struct server {
    char dir[32], path[64], url[80];
    int fd;
    pthread_t thread;
    const char *answers[ANSWERS_MAX]; /* "" closes the connection without one; NULL ends the server */
    char requests[ANSWERS_MAX][2048];
    volatile int interrupt, hung_up; /* Ctrl-C; the client has ended a connection over which nothing came */
};

static void listen_at(struct server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {200, 0}; /* of accept: the thread ends whatever the client does */

    strcpy(address.sun_path, server->path);
    server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(server->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->fd, 8), 0);
}

/* Acts like a daemon that ends while a request is under way, and is started again. */
static void restart(struct server *server, int connection)
{
    close(server->fd);
    unlink(server->path);
    close(connection);
    usleep(AWAY_MS * 1000);
    listen_at(server);
}

static void answer_slowly(struct server *server, int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    char head[100];

    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", SLOW_TURNS - SILENT_TURNS);
    server->interrupt = 1;
    for (int i = 0; i < SLOW_TURNS && !server->hung_up; i++) {
        if (i >= SILENT_TURNS)
            send(fd, i == SILENT_TURNS ? head : " ", i == SILENT_TURNS ? strlen(head) : 1, MSG_NOSIGNAL);
        server->hung_up = poll(&end, 1, SLOW_MS) > 0;
    }
    close(fd);
}

static void *serve(void *arg)
{
    struct server *server = arg;

    for (int i = 0; i < ANSWERS_MAX && server->answers[i]; i++) {
        int fd = accept(server->fd, NULL, NULL);
        size_t n = 0;

        if (fd < 0)
            break;
        if (server->answers[i] == closed) {
            close(fd);
            continue;
        }
        do { /* the requests here end with a header, or with the body "{}" */
            ssize_t got = read(fd, server->requests[i] + n, sizeof server->requests[i] - 1 - n);

            n += got > 0 ? (size_t)got : 0;
            if (got <= 0)
                break;
        } while (strstr(server->requests[i], "\r\n\r\n") == NULL ||
                 (strncmp(server->requests[i], "POST", 4) == 0 &&
                  strstr(server->requests[i], "Length: 0\r\n") == NULL && server->requests[i][n - 1] != '}'));
        if (server->answers[i] == slow) {
            answer_slowly(server, fd);
            continue;
        }
        if (server->answers[i] == restarted) {
            restart(server, fd);
            continue;
        }
        if (server->answers[i] == late)
            usleep(LATE_MS * 1000);
        if (send(fd, server->answers[i], strlen(server->answers[i]), MSG_NOSIGNAL) < 0)
            break;
        close(fd);
    }
    return NULL;
}

static void server_start(struct server *server)
{
    strcpy(server->dir, "/tmp/stretto-client-XXXXXX");
    assert_non_null(mkdtemp(server->dir));
    snprintf(server->path, sizeof server->path, "%s/s", server->dir);
    snprintf(server->url, sizeof server->url, "unix:%s", server->path);
    listen_at(server);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    unlink(server->path);
    rmdir(server->dir);
}

#define ANSWER(status, type, length, body) \
    "HTTP/1.1 " status "\r\nContent-Type: " type "\r\nContent-Length: " length "\r\nConnection: close\r\n\r\n" body

static void key_of(const char *request, char key[64])
{
    const char *at = strstr(request, "Idempotency-Key: ");

    assert_non_null(at);
    assert_int_equal(sscanf(at, "Idempotency-Key: %63s", key), 1);
}

/* Lost after the request was sent, so that nobody knows whether it was done; then cut in the middle of an answer. */
static void test_post_is_tried_again_with_its_key(void **state)
{
    struct server server = {.answers = {"", ANSWER("201 Created", "application/json", "100", "{\"id\""),
                                        ANSWER("201 Created", "application/json", "8", "{\"id\":7}")}};
    char first[64], second[64], third[64], *text = NULL;
    struct error err;
    json_t *reply = NULL;
    struct client *client;

    server_start(&server);
    client = client_create(server.url, NULL, &err);
    assert_int_equal(client_post(client, "/v1/ensembles", "{}", &reply, &text, &err), 0);
    assert_string_equal(text, "{\"id\":7}");
    assert_int_equal(json_integer_value(json_object_get(reply, "id")), 7);
    key_of(server.requests[0], first);
    key_of(server.requests[1], second);
    key_of(server.requests[2], third);
    assert_true(strlen(first) >= 32);
    assert_string_equal(first, second);
    assert_string_equal(first, third);
    json_decref(reply);
    free(text);
    client_destroy(client);
    server_stop(&server);
}

/* The server closes connections like a daemon that ends. libcurl says of some of these that there was no connection, so
 * the test tries several. */
static void test_connection_closed_at_once_is_made_again(void **state)
{
    for (int i = 0; i < 20; i++) {
        struct server server = {.answers = {closed, ANSWER("200 OK", "application/json", "8", "{\"id\":7}")}};
        struct error err;
        struct client *client;
        json_t *reply;

        server_start(&server);
        client = client_create(server.url, NULL, &err);
        if (client_get(client, "/v1/ensembles/7", &reply, NULL, &err) < 0)
            fail_msg("%s", err.text);
        json_decref(reply);
        client_destroy(client);
        server_stop(&server);
    }
}

/* A program that waits for a pressed key gets no second try, and no long one. */
static void test_hurry(void **state)
{
    struct server server = {.answers = {"", late}};
    struct error err;
    struct client *client;

    server_start(&server);
    client = client_create(server.url, NULL, &err);
    client_hurry(client, 100000);
    pauses = 0;
    assert_int_equal(client_get(client, "/x", NULL, NULL, &err), -1);
    assert_int_equal(pauses, 0);
    assert_string_equal(err.code, CLIENT_NO_DAEMON);
    client_hurry(client, 1);
    assert_int_equal(client_get(client, "/x", NULL, NULL, &err), -1);
    assert_string_equal(err.code, CLIENT_NO_DAEMON);
    client_destroy(client);
    server_stop(&server);
}

static char *read_to(struct client *client, bool stream, bool is_read_only, int64_t *n, int *rc, struct error *err)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size), *to = is_read_only ? fopen("/dev/null", "r") : memory;

    *n = -2;
    *rc = stream ? client_stream(client, "/x", to, err) : client_get_text(client, "/x", to, true, n, err);
    if (to != memory)
        fclose(to);
    fclose(memory);
    return text;
}

/* The client passes a body on as it comes, but not the reason of a refusal, and does not ask again for what it has
 * passed on. */
static void test_text_is_passed_on(void **state)
{
    struct server server = {.answers = {ANSWER("404 No", "application/problem+json", "30", "{\"code\":\"none\",\"detail\":\"No.\"}"),
                                        ANSWER("200 OK", "text/plain", "3", "abc"),
                                        ANSWER("200 OK", "text/plain", "9", "abc"),
                                        ANSWER("200 OK", "text/event-stream", "9", "abcd")}};
    struct error err;
    struct client *client;
    int64_t n;
    char *text;
    int rc;

    server_start(&server);
    client = client_create(server.url, NULL, &err);
    text = read_to(client, false, false, &n, &rc, &err);
    assert_true(rc == -1 && n == -1);
    assert_string_equal(err.code, "none");
    assert_string_equal(text, "");
    free(text);
    text = read_to(client, false, false, &n, &rc, &err);
    assert_true(rc == 0 && n == 3);
    assert_string_equal(text, "abc");
    free(text);
    text = read_to(client, false, false, &n, &rc, &err); /* cut off */
    assert_true(rc == -1 && n == 3);
    assert_string_equal(err.code, CLIENT_NO_DAEMON);
    assert_string_equal(text, "abc");
    free(text);
    text = read_to(client, true, false, &n, &rc, &err);
    assert_int_equal(rc, -1);
    assert_string_equal(text, "abcd");
    assert_non_null(strstr(server.requests[3], "Accept: text/event-stream\r\n"));
    assert_null(strstr(server.requests[2], "event-stream"));
    free(text);
    client_destroy(client);
    server_stop(&server);
}

static void test_interrupt_while_little_comes(void **state)
{
    struct server server = {.answers = {slow}};
    struct error err;
    struct client *client;

    server_start(&server);
    client = client_create(server.url, NULL, &err);
    client_interrupt(client, &server.interrupt);
    assert_int_equal(client_get(client, "/x", NULL, NULL, &err), -1);
    assert_string_equal(err.code, CLIENT_INTERRUPTED);
    client_destroy(client);
    server_stop(&server);
    assert_true(server.hung_up);
}

static void count_show(void *arg, const json_t *ensemble)
{
    ++*(int *)arg;
}

static void count_nothing(void *arg)
{
}

/* A daemon that has too much to do just now is asked again. */
static void test_watching_outlasts_a_busy_daemon(void **state)
{
    struct server server = {.answers = {ANSWER("200 OK", "application/json", "19", "{\"state\":\"running\"}"),
                                        ANSWER("503 No", "application/problem+json", "30", "{\"code\":\"busy\",\"detail\":\"No.\"}"),
                                        ANSWER("503 No", "application/problem+json", "34", "{\"code\":\"tcp_busy\",\"detail\":\"No.\"}"),
                                        ANSWER("200 OK", "application/json", "20", "{\"state\":\"complete\"}")}};
    int shown = 0;
    struct view view = {count_show, count_nothing, &shown};
    struct cli cli = {0};
    struct error err;
    json_t *ensemble;
    char *text;

    server_start(&server);
    cli.client = client_create(server.url, NULL, &err);
    assert_int_equal(watch_ensemble(&cli, 7, &view, &ensemble, &text), CLI_HOLDS);
    assert_int_equal(shown, 2);
    assert_string_equal(text, "{\"state\":\"complete\"}");
    json_decref(ensemble);
    free(text);
    client_destroy(cli.client);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_post_is_tried_again_with_its_key),
        cmocka_unit_test(test_connection_closed_at_once_is_made_again),
        cmocka_unit_test(test_hurry),
        cmocka_unit_test(test_text_is_passed_on),
        cmocka_unit_test(test_interrupt_while_little_comes),
        cmocka_unit_test(test_watching_outlasts_a_busy_daemon),
    };

    test_limit(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/unit/http_rig.h"

#include "api/api.h"
#include "common/xalloc.h"
#include "daemon/turn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ROOM (8u << 20)

char rig_dir[64];
struct engine rig_engine;
int64_t rig_now;

static uv_loop_t loop;
static uv_poll_t client;
static uv_timer_t beat; /* so that no wait is for ever */
static struct turn *turn;
static struct loop_latency *latency;
static struct api *api;
static struct reply reply;
static json_t *json;
static char *got, value[1024];
static size_t got_size;

/* In place of the control socket's. */
const struct control_counts *control_counts(const struct control *control)
{
    static const struct control_counts counts = {.taken = 11, .wrong_key = 12, .malformed = 13};

    return &counts;
}

static int64_t clock_ms(void *arg)
{
    return rig_now;
}

static void rolled_back(void *arg)
{
}

static void on_beat(uv_timer_t *timer)
{
}

static void on_client(uv_poll_t *poll, int status, int events)
{
}

int rig_open(void **state)
{
    char listen[96];

    rig_now = 1000000;
    snprintf(rig_dir, sizeof rig_dir, "/tmp/stretto-test-XXXXXX");
    if (open_store(state) != 0 || mkdtemp(rig_dir) == NULL || uv_loop_init(&loop) != 0)
        return -1;
    must(store_commit(store, &err));
    got = xcalloc(1, ROOM);
    uv_loop_configure(&loop, UV_METRICS_IDLE_TIME);
    uv_timer_init(&loop, &beat);
    uv_timer_start(&beat, on_beat, 20, 20);
    turn = turn_create(&loop, store, rolled_back, NULL);
    latency = loop_latency_create(&loop);
    rig_engine = (struct engine){.store = store, .turn = turn, .ports = {.rows_dir = "/nowhere", .run_dir = rig_dir}};
    must(api_create(&api, &(struct api_config){.loop = &loop, .turn = turn, .store = store, .engine = &rig_engine, .latency = latency,
                                               .now_ms = clock_ms, .state_dir = rig_dir, .listeners = 1, .heartbeat_ms = 3600000}, &err));
    snprintf(listen, sizeof listen, "unix:%s/socket", rig_dir);
    must(api_listen(api, listen, &err));
    return 0;
}

int rig_close(void **state)
{
    char rm[96];

    api_destroy(api);
    turn_destroy(turn);
    loop_latency_destroy(latency);
    uv_close((uv_handle_t *)&beat, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    json_decref(json);
    json = NULL;
    free(reply.body);
    reply = (struct reply){0};
    free(got);
    snprintf(rm, sizeof rm, "rm -rf '%s'", rig_dir);
    return system(rm) | close_store(state);
}

void rig_turn(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
}

/* Connects, and sends. The listener takes the connection later, as the loop goes on. */
static int begin(const char *bytes, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", rig_dir);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    while (size > 0) { /* a long one is read meanwhile */
        ssize_t n = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            break;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
        if (size > 0)
            rig_turn();
    }
    got_size = 0;
    return fd;
}

/* Waits for more, and reads that. Returns false where the connection is closed. */
static bool read_more(int fd)
{
    ssize_t n;

    uv_poll_init(&loop, &client, fd);
    uv_poll_start(&client, UV_READABLE, on_client);
    while ((n = recv(fd, got + got_size, ROOM - 1 - got_size, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
        uv_run(&loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&client, NULL);
    rig_turn();
    got_size += n > 0 ? (size_t)n : 0;
    got[got_size] = '\0';
    return n > 0;
}

/* Puts the chunks of the body together. */
static void join(const char *from, size_t size)
{
    const char *end = from + size;
    char *rest;

    while (from < end) {
        size_t n = strtoul(from, &rest, 16);

        if (n == 0) {
            reply.whole = true;
            return;
        }
        from = rest + 2;
        if (from + n > end)
            return;
        memcpy(reply.body + reply.size, from, n);
        reply.size += n;
        from += n + 2;
    }
}

static const struct reply *take_reply(int fd)
{
    const char *length;
    char *end;

    while (read_more(fd))
        ;
    close(fd);
    free(reply.body);
    reply = (struct reply){.body = xcalloc(1, got_size + 1)};
    end = strstr(got, "\r\n\r\n");
    if (end == NULL)
        return &reply;
    snprintf(reply.headers, sizeof reply.headers, "%.*s", (int)(end + 2 - got), got);
    sscanf(got, "HTTP/1.1 %d", &reply.status);
    if (rig_header(&reply, "Transfer-Encoding") != NULL) {
        join(end + 4, got_size - (size_t)(end + 4 - got));
        return &reply;
    }
    reply.size = got_size - (size_t)(end + 4 - got);
    memcpy(reply.body, end + 4, reply.size);
    length = rig_header(&reply, "Content-Length");
    reply.whole = length == NULL || strtoul(length, NULL, 10) == reply.size;
    return &reply;
}

static char *words_of(const char *request, const char *headers, const char *body)
{
    char *length = body != NULL ? xasprintf("Content-Length: %zu\r\n", strlen(body)) : xstrdup(""), *all;

    all = xasprintf("%s HTTP/1.1\r\nHost: stretto\r\nConnection: close\r\n%s%s\r\n%s", request, length, headers, body != NULL ? body : "");
    free(length);
    return all;
}

const struct reply *rig_send(const char *bytes, size_t size)
{
    return take_reply(begin(bytes, size));
}

const struct reply *rig_ask(const char *request, const char *headers, const char *body)
{
    char *all = words_of(request, headers, body);
    const struct reply *r = rig_send(all, strlen(all));

    free(all);
    return r;
}

const char *rig_header(const struct reply *r, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = r->headers; line != NULL && *line != '\0'; line = strstr(line, "\r\n"), line += line != NULL ? 2 : 0)
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(line + n + 2, "\r"), line + n + 2);
            return value;
        }
    return NULL;
}

const json_t *rig_json(const struct reply *r)
{
    json_decref(json);
    json = json_loadb(r->body, r->size, JSON_DECODE_ANY, NULL);
    if (json == NULL)
        fail_msg("no JSON: %s%s", r->headers, r->body);
    return json;
}

const struct reply *rig_refused(const char *request, const char *headers, const char *body, int status, const char *code)
{
    const struct reply *r = rig_ask(request, headers, body);
    const char *type = rig_header(r, "Content-Type");

    if (r->status != status)
        fail_msg("%s: %s%s", request, r->headers, r->body);
    if (type == NULL || strcmp(type, "application/problem+json") != 0)
        fail_msg("%s: %s", request, r->headers);
    assert_string_equal(json_string_value(json_object_get(rig_json(r), "code")), code);
    return r;
}

int rig_begin(const char *request, const char *headers)
{
    char *all = words_of(request, headers, NULL);
    int fd = begin(all, strlen(all));

    free(all);
    return fd;
}

void rig_until(int fd, const char *text)
{
    char *found;

    while ((found = strstr(got, text)) == NULL || got_size == 0)
        if (!read_more(fd))
            fail_msg("closed before \"%s\": %s", text, got);
    found += strlen(text);
    got_size -= (size_t)(found - got);
    memmove(got, found, got_size + 1);
}

const char *rig_rest(int fd)
{
    while (read_more(fd))
        ;
    close(fd);
    return got;
}

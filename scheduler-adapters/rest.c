#include "scheduler-adapters/rest.h"

#include "common/text.h"
#include "common/url.h"
#include "common/xalloc.h"

#include <curl/curl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* turns of the loop, of a millisecond or more, in which data that came before the limit is read */
#define LATE_TURNS 1000

struct rest_call {
    struct rest_call *next, *prev; /* in the list of requests that wait, or of those under way */
    struct rest *rest;
    char *method, *url, *body;
    int64_t limit_ms;
    size_t max;
    rest_cb *cb;
    void *arg;

    uv_work_t work; /* reads the token */
    char *token;
    struct error no_token;
    CURL *curl; /* NULL: it is not under way yet */
    struct curl_slist *headers;
    uv_timer_t limit;
    unsigned late; /* turns of the loop since the limit */
    size_t read;   /* bytes read by the turn before */
    struct text text;
    bool too_long, unconnected;
    char reason[CURL_ERROR_SIZE];
};

struct rest {
    uv_loop_t *loop;
    struct url url;
    char *ca_file, *token_file, *user, *user_header, *token_header;
    unsigned most, n;
    struct rest_call *active, *waiting;
    CURLM *multi;
    uv_timer_t timer; /* curl's timer */
    uv_idle_t idle;
    unsigned handles; /* open handles */
    bool stopping, closed;
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* A socket of curl. */
struct rest_watch {
    uv_poll_t poll;
    struct rest *rest;
    curl_socket_t fd;
};

static void rest_turn(uv_idle_t *idle);

static void rest_go_on(struct rest *rest)
{
    if (!rest->closed && (rest->stopping || (rest->waiting != NULL && rest->n < rest->most)))
        uv_idle_start(&rest->idle, rest_turn);
}

static void request_free(struct rest_call *r)
{
    if (r->token != NULL)
        explicit_bzero(r->token, strlen(r->token));
    for (struct curl_slist *header = r->headers; header != NULL; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(r->headers);
    free(r->token);
    free(r->method);
    free(r->url);
    free(r->body);
    free(r->text.data);
    free(r);
}

/* Calls the callback. why: the failure; NULL: there is an answer. */
static void answer_request(struct rest_call *r, const char *why)
{
    static char nothing[1];
    struct rest_result result = {.body = r->text.data != NULL ? r->text.data : nothing, .size = r->text.size};

    nothing[0] = '\0';
    result.not_sent = why != NULL && (r->curl == NULL || r->unconnected);
    if (why != NULL)
        snprintf(result.why, sizeof result.why, "%s", why);
    else
        curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &result.status);
    r->cb(r->arg, &result);
}

static void rest_handle_gone(struct rest *rest);

static void limit_closed(uv_handle_t *limit)
{
    struct rest_call *r = limit->data;
    struct rest *rest = r->rest;

    request_free(r);
    rest_handle_gone(rest);
}

static void finish_request(struct rest_call *r, const char *why)
{
    struct rest *rest = r->rest;

    DL_DELETE(rest->active, r);
    rest->n--;
    answer_request(r, why);
    curl_easy_cleanup(r->curl);
    r->curl = NULL;
    uv_close((uv_handle_t *)&r->limit, limit_closed);
    rest_go_on(rest);
}

static void fail_request(struct rest_call *r, const char *what)
{
    const struct url *url = &r->rest->url;
    char why[400];

    snprintf(why, sizeof why, "%.150s: %.200s", url->socket != NULL ? url->socket : url->base, what);
    finish_request(r, why);
}

static void transferred(struct rest_call *r, CURLcode rc)
{
    const char *what = r->reason[0] != '\0' ? r->reason : curl_easy_strerror(rc);
    long number = 0;

    curl_easy_getinfo(r->curl, CURLINFO_OS_ERRNO, &number);
    r->unconnected = rc == CURLE_COULDNT_CONNECT || rc == CURLE_COULDNT_RESOLVE_HOST;
    if (r->too_long)
        what = "its answer is too long";
    else if (rc == CURLE_COULDNT_CONNECT && r->rest->url.socket != NULL && number != 0)
        what = strerror((int)number); /* curl's words are about a port */
    if (rc == CURLE_OK)
        finish_request(r, NULL);
    else
        fail_request(r, what);
}

/* Timers ring before a process that was held up has read what came meanwhile: all of that is read first, which may take
 * some turns. Curl's own limit would not do that. */
static void request_limit_reached(uv_timer_t *limit)
{
    struct rest_call *r = limit->data;
    char what[100];

    if (r->late == 0 || (r->text.size > r->read && r->late < LATE_TURNS)) {
        r->late++;
        r->read = r->text.size;
        uv_timer_start(limit, request_limit_reached, 1, 0);
        return;
    }
    curl_multi_remove_handle(r->rest->multi, r->curl);
    snprintf(what, sizeof what, "timed out after %lld ms with %zu bytes received", (long long)r->limit_ms,
             r->text.size);
    fail_request(r, what);
}

static void take_what_is_done(struct rest *rest)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(rest->multi, &left)) != NULL) {
        CURLcode rc = message->data.result;
        CURL *curl = message->easy_handle;
        struct rest_call *r;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, &r);
        curl_multi_remove_handle(rest->multi, curl);
        transferred(r, rc);
    }
}

static void rest_timer_rang(uv_timer_t *timer)
{
    struct rest *rest = timer->data;
    int running;

    curl_multi_socket_action(rest->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    take_what_is_done(rest);
}

static int set_curl_timer(CURLM *multi, long ms, void *arg)
{
    struct rest *rest = arg;

    if (ms < 0)
        uv_timer_stop(&rest->timer);
    else
        uv_timer_start(&rest->timer, rest_timer_rang, (uint64_t)ms, 0);
    return 0;
}

static void socket_ready(uv_poll_t *poll, int status, int events)
{
    struct rest_watch *watch = poll->data;
    struct rest *rest = watch->rest;
    int what = (events & UV_READABLE ? CURL_CSELECT_IN : 0) | (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0), running;

    curl_multi_socket_action(rest->multi, watch->fd, status < 0 ? CURL_CSELECT_ERR : what, &running);
    take_what_is_done(rest);
}

static void rest_handle_gone(struct rest *rest)
{
    void (*destroyed)(void *) = rest->destroyed;
    void *arg = rest->destroyed_arg;

    if (--rest->handles > 0)
        return;
    url_fini(&rest->url);
    free(rest->ca_file);
    free(rest->token_file);
    free(rest->user);
    free(rest->user_header);
    free(rest->token_header);
    free(rest);
    destroyed(arg);
}

static void rest_watch_closed(uv_handle_t *handle)
{
    struct rest_watch *watch = handle->data;
    struct rest *rest = watch->rest;

    free(watch);
    rest_handle_gone(rest);
}

static void rest_handle_closed(uv_handle_t *handle)
{
    rest_handle_gone(handle->data);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    struct rest *rest = arg;
    struct rest_watch *watch = known;

    if (what == CURL_POLL_REMOVE) {
        if (watch != NULL)
            uv_close((uv_handle_t *)&watch->poll, rest_watch_closed);
        curl_multi_assign(rest->multi, fd, NULL);
        return 0;
    }
    if (watch == NULL) {
        watch = xcalloc(1, sizeof *watch);
        watch->rest = rest;
        watch->fd = fd;
        watch->poll.data = watch;
        if (uv_poll_init(rest->loop, &watch->poll, fd) < 0) {
            free(watch);
            return -1;
        }
        rest->handles++;
        curl_multi_assign(rest->multi, fd, watch);
    }
    return uv_poll_start(
        &watch->poll, (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0), socket_ready);
}

static size_t request_on_data(char *data, size_t size, size_t n, void *arg)
{
    struct rest_call *r = arg;

    r->too_long = r->text.size + size * n > r->max;
    if (r->too_long)
        return 0;
    text_put(&r->text, data, size * n);
    return size * n;
}

static void add_header(struct rest_call *r, const char *name, const char *value)
{
    char *header = xasprintf("%s: %s", name, value);

    r->headers = curl_slist_append(r->headers, header);
    explicit_bzero(header, strlen(header));
    free(header);
}

static void prepare(struct rest_call *r)
{
    const struct rest *rest = r->rest;
    CURL *curl = r->curl;

    add_header(r, "Accept", "application/json");
    if (r->body != NULL) {
        add_header(r, "Content-Type", "application/json");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(r->body));
        r->headers = curl_slist_append(r->headers, "Expect:");
    }
    if (r->token != NULL) {
        add_header(r, rest->user_header, rest->user);
        add_header(r, rest->token_header, r->token);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
    curl_easy_setopt(curl, CURLOPT_URL, r->url);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, rest->url.socket);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*"); /* a proxy must not see a token */
    if (rest->ca_file != NULL)
        curl_easy_setopt(curl, CURLOPT_CAINFO, rest->ca_file);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, r->headers);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "stretto");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, request_on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, r->reason);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, r);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)INT_MAX); /* request_limit_reached() limits all phases */
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* otherwise it would wait here for a name server that hangs */
#endif
}

static void start_transfer(struct rest_call *r)
{
    r->curl = curl_easy_init();
    if (r->curl == NULL) {
        finish_request(r, "libcurl cannot be initialised");
        return;
    }
    prepare(r);
    uv_timer_start(&r->limit, request_limit_reached, (uint64_t)r->limit_ms, 0);
    curl_multi_add_handle(r->rest->multi, r->curl);
}

static void read_token(uv_work_t *work)
{
    struct rest_call *r = work->data;

    rest_token_read(r->rest->token_file, &r->token, &r->no_token);
}

static void token_read(uv_work_t *work, int status)
{
    struct rest_call *r = work->data;

    if (r->rest->stopping)
        finish_request(r, "the daemon ends");
    else if (r->token == NULL)
        finish_request(r, r->no_token.text);
    else
        start_transfer(r);
}

static void begin_request(struct rest_call *r)
{
    struct rest *rest = r->rest;

    DL_DELETE(rest->waiting, r);
    DL_APPEND(rest->active, r);
    rest->n++;
    rest->handles++;
    uv_timer_init(rest->loop, &r->limit);
    r->work.data = r->limit.data = r;
    if (rest->token_file != NULL)
        uv_queue_work(rest->loop, &r->work, read_token, token_read);
    else
        start_transfer(r);
}

/* Fails all requests; a token that is being read is waited for. */
static void rest_stop(struct rest *rest)
{
    struct rest_call *r, *next;

    while ((r = rest->waiting) != NULL) {
        DL_DELETE(rest->waiting, r);
        answer_request(r, "the daemon ends");
        request_free(r);
    }
    DL_FOREACH_SAFE (rest->active, r, next) {
        if (r->curl == NULL)
            continue;
        curl_multi_remove_handle(rest->multi, r->curl);
        finish_request(r, "the daemon ends");
    }
    if (rest->n > 0 || rest->closed)
        return;
    rest->closed = true;
    curl_multi_cleanup(rest->multi);
    uv_idle_stop(&rest->idle);
    uv_close((uv_handle_t *)&rest->idle, rest_handle_closed);
    uv_close((uv_handle_t *)&rest->timer, rest_handle_closed);
}

static void rest_turn(uv_idle_t *idle)
{
    struct rest *rest = idle->data;

    uv_idle_stop(idle);
    while (!rest->stopping && rest->waiting != NULL && rest->n < rest->most)
        begin_request(rest->waiting);
    if (rest->stopping)
        rest_stop(rest);
}

static char *copy_text(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

struct rest *rest_create(uv_loop_t *loop, const struct rest_place *place, unsigned most, struct error *err)
{
    static bool is_initialised;
    struct rest *rest;
    struct url url;

    if (url_parse(&url, place->url, err) < 0) {
        snprintf(err->pointer, sizeof err->pointer, "/url");
        return NULL;
    }
    if (!is_initialised)
        curl_global_init(CURL_GLOBAL_DEFAULT);
    is_initialised = true;
    rest = xcalloc(1, sizeof *rest);
    *rest = (struct rest){.loop = loop,
                          .url = url,
                          .most = most,
                          .handles = 2,
                          .ca_file = copy_text(place->ca_file),
                          .token_file = copy_text(place->token_file),
                          .user = copy_text(place->user),
                          .user_header = copy_text(place->user_header),
                          .token_header = copy_text(place->token_header)};
    rest->multi = curl_multi_init();
    curl_multi_setopt(rest->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(rest->multi, CURLMOPT_SOCKETDATA, rest);
    curl_multi_setopt(rest->multi, CURLMOPT_TIMERFUNCTION, set_curl_timer);
    curl_multi_setopt(rest->multi, CURLMOPT_TIMERDATA, rest);
    uv_timer_init(loop, &rest->timer);
    uv_idle_init(loop, &rest->idle);
    rest->timer.data = rest->idle.data = rest;
    return rest;
}

void rest_destroy(struct rest *rest, void (*done)(void *arg), void *arg)
{
    rest->stopping = true;
    rest->destroyed = done;
    rest->destroyed_arg = arg;
    rest_go_on(rest);
}

void rest_ask(struct rest *rest, const struct rest_request *request, rest_cb *cb, void *arg)
{
    struct rest_call *r = xcalloc(1, sizeof *r);

    *r = (struct rest_call){.rest = rest,
                            .method = xstrdup(request->method),
                            .body = copy_text(request->body),
                            .limit_ms = request->limit_ms,
                            .max = request->max,
                            .cb = cb,
                            .arg = arg};
    r->url = xasprintf("%s%s", rest->url.base, request->path);
    DL_APPEND(rest->waiting, r);
    rest_go_on(rest);
}

#include "cli/client.h"

#include "cli/peer.h"
#include "cli/url.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#define RETRY_FOR_MS 20000 /* time in which a daemon that is being restarted comes back */
#define SILENCE_S 30       /* a daemon that sends nothing for so long hangs */
#define ANSWER_MAX ((size_t)256 << 20)

struct client {
    struct url url;
    char *authorization; /* "Authorization: Bearer …" or NULL */
    char *ca_file;       /* NULL for the system's certificates */
    CURL *curl;
    const volatile int *interrupt;
    long hurry_ms; /* time limit of a call; 0 for none */
    char reason[CURL_ERROR_SIZE];
    int fd;               /* the Unix socket that curl opened last */
    struct error refused; /* why nothing was sent to the socket; without a code unless the check failed */
};

struct answer {
    struct client *client;
    const char *method; /* NULL for GET, or for POST if there is a body */
    const char *accept; /* NULL for JSON or text */
    FILE *to;           /* where 2xx bodies are written; NULL for `text` */
    char *text;
    size_t size;
    bool live;        /* each piece of the answer is shown at once */
    bool patient;     /* silence is no sign of trouble */
    size_t passed_on; /* bytes written to `to`; a call that has printed something is not tried again */
};

struct client *client_create(const char *url, const char *token, struct error *err)
{
    struct client *client = xcalloc(1, sizeof *client);

    if (cli_url_parse(&client->url, url, err) < 0)
        goto fail;
    if (token && token[0] != '\0') {
        if (!client->url.is_private) {
            error_set(err, CLIENT_BAD_URL, "the token would travel unencrypted to %s: use https://", client->url.base);
            goto fail;
        }
        client->authorization = xasprintf("Authorization: Bearer %s", token);
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    client->curl = curl_easy_init();
    if (client->curl == NULL) {
        error_set(err, CLIENT_BAD_URL, "libcurl cannot be initialised");
        goto fail;
    }
    return client;
fail:
    client_destroy(client);
    return NULL;
}

void client_destroy(struct client *client)
{
    if (client == NULL)
        return;
    if (client->curl) {
        curl_easy_cleanup(client->curl);
        curl_global_cleanup();
    }
    url_fini(&client->url);
    free(client->authorization);
    free(client->ca_file);
    free(client);
}

void client_trust(struct client *client, const char *ca_file)
{
    free(client->ca_file);
    client->ca_file = ca_file && ca_file[0] ? xstrdup(ca_file) : NULL;
}

void client_interrupt(struct client *client, const volatile int *flag)
{
    client->interrupt = flag;
}

void client_hurry(struct client *client, long ms)
{
    client->hurry_ms = ms;
}

static int is_interrupted(const struct client *client)
{
    return client->interrupt && *client->interrupt;
}

static size_t client_on_data(char *data, size_t size, size_t count, void *arg)
{
    struct answer *answer = arg;
    size_t n = size * count;
    long status = 0;

    curl_easy_getinfo(answer->client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (answer->to && status / 100 == 2) {
        answer->passed_on += n;
        if (fwrite(data, 1, n, answer->to) != n || (answer->live && fflush(answer->to) != 0))
            return 0;
        return n;
    }
    if (answer->size + n > ANSWER_MAX)
        return 0;
    answer->text = xrealloc(answer->text, answer->size + n + 1, 1);
    memcpy(answer->text + answer->size, data, n);
    answer->size += n;
    answer->text[answer->size] = '\0';
    return n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    return is_interrupted(arg);
}

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct client *client = arg;

    return client->fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* libcurl calls this when the socket is connected, before anything is sent. */
static int on_connected(void *arg, char *peer_ip, char *own_ip, int peer_port, int own_port)
{
    struct client *client = arg;

    return peer_check(client->fd, client->url.socket, &client->refused) < 0 ? CURL_PREREQFUNC_ABORT
                                                                            : CURL_PREREQFUNC_OK;
}

static CURLcode perform(struct client *client, const char *url, const char *body, struct curl_slist *headers,
                        struct answer *answer)
{
    CURL *curl = client->curl;

    curl_easy_reset(curl); /* keeps the connection */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (client->url.socket) {
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->url.socket);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, on_open);
        curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, client);
        curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, on_connected);
        curl_easy_setopt(curl, CURLOPT_PREREQDATA, client);
    }
    if (client->url.is_local)
        curl_easy_setopt(curl, CURLOPT_NOPROXY, "*"); /* http_proxy is for the network; a proxy must not see a token */
    if (client->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
    }
    if (answer->method)
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, answer->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "stretto");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, client_on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, client->hurry_ms);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, answer->patient ? 0L : 1L); /* in bytes a second */
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->reason);
    client->reason[0] = '\0';
    client->refused.code[0] = '\0';
    return curl_easy_perform(curl);
}

static bool was_connected(struct client *client, CURLcode rc)
{
    long number = 0;

    /* If a Unix socket is closed as soon as it is connected, libcurl says that it could not connect, but the error
     * number shows that connect(2) did not fail. */
    if (rc == CURLE_COULDNT_CONNECT && client->url.socket)
        return curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &number) == CURLE_OK &&
               (number == 0 || number == ECONNRESET);
    return rc == CURLE_SEND_ERROR || rc == CURLE_RECV_ERROR || rc == CURLE_GOT_NOTHING || rc == CURLE_PARTIAL_FILE;
}

/* Calls perform(), and tries again if the connection was lost after it had been made. */
static CURLcode perform_surely(struct client *client, const char *url, const char *body, struct curl_slist *headers,
                               struct answer *answer)
{
    int64_t until = time_monotonic_ms() + RETRY_FOR_MS;
    struct timespec pause = {0, 100 * 1000 * 1000};
    bool lost = false;
    CURLcode rc;

    for (;;) {
        rc = perform(client, url, body, headers, answer);
        lost = lost || was_connected(client, rc);
        if (!(was_connected(client, rc) || (lost && rc == CURLE_COULDNT_CONNECT)) || answer->passed_on > 0)
            return rc;
        if (is_interrupted(client) || client->hurry_ms > 0 || time_monotonic_ms() > until)
            return rc;
        free(answer->text);
        answer->text = NULL;
        answer->size = 0;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 800 * 1000 * 1000)
            pause.tv_nsec *= 2;
    }
}

static int no_daemon(const struct client *client, CURLcode rc, struct error *err)
{
    const char *why = client->reason[0] ? client->reason : curl_easy_strerror(rc);
    curl_off_t connected = 0;
    long number = 0;

    if (is_interrupted(client))
        return error_set(err, CLIENT_INTERRUPTED, "interrupted");
    if (client->refused.code[0] != '\0') {
        *err = client->refused;
        return -1;
    }
    if (rc == CURLE_WRITE_ERROR)
        return error_set(err, CLIENT_BAD_ANSWER, "the answer could not be written");
    curl_easy_getinfo(client->curl, CURLINFO_CONNECT_TIME_T, &connected);
    if (rc == CURLE_OPERATION_TIMEDOUT && (client->url.socket || connected > 0)) /* there, but silent */
        return error_set(
            err, CLIENT_NO_DAEMON,
            "the daemon at %s%s takes connections but has not answered for %d s: is it stopped, or its disk very slow?",
            client->url.socket ? "unix:" : "", client->url.socket ? client->url.socket : client->url.base, SILENCE_S);
    if (client->url.socket == NULL)
        return error_set(err, CLIENT_NO_DAEMON, "no daemon answers at %s: %s", client->url.base, why);
    curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &number);
    if (rc == CURLE_COULDNT_CONNECT && number != 0)
        why = strerror((int)number); /* libcurl's own text speaks of a port */
    return error_set(
        err, CLIENT_NO_DAEMON,
        "no daemon answers at unix:%s: %s. Start one with `strettod`, or say by --url or STRETTO_URL where it is",
        client->url.socket, why);
}

/* Makes an error of the daemon's refusal, which is a problem document. */
static int refusal(const struct client *client, long status, const char *text, struct error *err)
{
    json_t *problem = text ? json_loads(text, 0, NULL) : NULL;
    const char *code = json_string_value(json_object_get(problem, "code"));
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *pointer = json_string_value(json_object_get(problem, "pointer"));

    if (status == 503 && (code == NULL || strcmp(code, "not_ready") == 0)) /* counts as no daemon, but it can say why */
        error_set(err, CLIENT_NO_DAEMON, "the daemon is not ready: %s", detail ? detail : "no reason given");
    else if (code && detail)
        error_at(err, code, pointer ? pointer : "", "%s", detail);
    else
        error_set(err, CLIENT_BAD_ANSWER, "%s answered HTTP status %ld without saying why: is it strettod?",
                  client->url.socket ? client->url.socket : client->url.base, status);
    json_decref(problem);
    return -1;
}

static struct curl_slist *make_headers(const struct client *client, bool post, const char *accept)
{
    struct curl_slist *headers = curl_slist_append(NULL, accept);
    unsigned char random[16];
    char key[64] = "Idempotency-Key: ";

    if (client->authorization)
        headers = curl_slist_append(headers, client->authorization);
    if (!post)
        return headers;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        abort(); /* getrandom(2) cannot fail for 16 bytes */
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(key + strlen(key), 3, "%02x", random[i]);
    headers = curl_slist_append(headers, key);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    return curl_slist_append(headers, "Expect:"); /* avoids a round trip before large specs */
}

static int client_call(struct client *client, const char *path, const char *body, struct answer *answer,
                       struct error *err)
{
    struct curl_slist *headers = make_headers(
        client, body != NULL, answer->accept ? answer->accept : "Accept: application/json, text/plain;q=0.5");
    char *url = xasprintf("%s%s", client->url.base, path);
    long status = 0;
    CURLcode rc = perform_surely(client, url, body, headers, answer);

    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    free(url);
    curl_slist_free_all(headers);
    if (rc != CURLE_OK)
        return no_daemon(client, rc, err);
    if (status / 100 != 2)
        return refusal(client, status, answer->text, err);
    return 0;
}

static int call_json(struct client *client, const char *method, const char *path, const char *body, json_t **out,
                     char **text, struct error *err)
{
    struct answer answer = {.client = client, .method = method};
    json_error_t where;
    json_t *document = NULL;
    int rc = client_call(client, path, body, &answer, err);

    if (rc == 0) {
        document = json_loads(answer.text ? answer.text : "", 0, &where);
        if (document == NULL)
            rc = error_set(err, CLIENT_BAD_ANSWER, "the answer to %s is not JSON: %s", path, where.text);
    }
    if (rc == 0 && text) {
        *text = answer.text;
        answer.text = NULL;
    }
    if (rc == 0 && out)
        *out = json_incref(document);
    json_decref(document);
    free(answer.text);
    return rc;
}

int client_get(struct client *client, const char *path, json_t **out, char **text, struct error *err)
{
    return call_json(client, NULL, path, NULL, out, text, err);
}

int client_post(struct client *client, const char *path, const char *body, json_t **out, char **text, struct error *err)
{
    return call_json(client, NULL, path, body ? body : "", out, text, err);
}

int client_patch(struct client *client, const char *path, const char *body, json_t **out, char **text,
                 struct error *err)
{
    return call_json(client, "PATCH", path, body, out, text, err);
}

int client_delete(struct client *client, const char *path, json_t **out, char **text, struct error *err)
{
    return call_json(client, "DELETE", path, NULL, out, text, err);
}

int client_get_text(struct client *client, const char *path, FILE *to, bool follow, int64_t *n, struct error *err)
{
    struct answer answer = {.client = client, .to = to, .live = follow, .patient = follow};
    int rc = client_call(client, path, NULL, &answer, err);
    long status = 0;

    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    *n = status / 100 == 2 ? (int64_t)answer.passed_on : -1;
    free(answer.text);
    return rc;
}

int client_stream(struct client *client, const char *path, FILE *to, struct error *err)
{
    struct answer answer = {.client = client, .accept = "Accept: text/event-stream", .to = to, .live = true};
    int rc = client_call(client, path, NULL, &answer, err);

    free(answer.text);
    return rc;
}

char *client_curl_line(const struct client *client, const char *path)
{
    const char *quote = strpbrk(path, "?&") ? "'" : "";

    if (client->url.socket)
        return xasprintf("curl --unix-socket %s %s%s%s%s", client->url.socket, quote, client->url.base, path, quote);
    return xasprintf("curl %s%s%s%s%s", client->authorization ? "-H \"Authorization: Bearer $STRETTO_TOKEN\" " : "",
                     quote, client->url.base, path, quote);
}

const struct url *client_url(const struct client *client)
{
    return &client->url;
}

char *client_escape(const char *text)
{
    char *escaped = xcalloc(3 * strlen(text) + 1, 1), *to = escaped;

    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", *c))
            *to++ = (char)*c;
        else
            to += sprintf(to, "%%%02X", *c);
    }
    return escaped;
}

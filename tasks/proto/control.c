#include "tasks/proto/control.h"

#include "common/jsonx.h"
#include "tasks/proto/jobdesc.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define LINGER_MS 1000
#define ZMQ_LIBRARY "libzmq.so.5" /* the name that libzmq 4 has kept */

static const char *const what_names[] = {
    [CONTROL_CLAIM] = "claim",       [CONTROL_EXIT] = "exit",       [CONTROL_ENDED] = "ended",
    [CONTROL_STATUS] = "status",     [CONTROL_METRICS] = "metrics", [CONTROL_DONE] = "done",
    [CONTROL_ENDPOINT] = "endpoint",
};

bool control_key_valid(const char *key)
{
    return strlen(key) == CONTROL_KEY_SIZE - 1 && strspn(key, "0123456789abcdef") == CONTROL_KEY_SIZE - 1;
}

size_t control_build(char buf[CONTROL_MESSAGE_MAX], const char *job, const char *key, enum control_what what)
{
    bool keyed = *key != '\0';

    return (size_t)snprintf(buf, CONTROL_MESSAGE_MAX, "{\"version\": 1, \"job\": \"%.63s\", %s%.32s%s\"what\": \"%s\"}",
                            job, keyed ? "\"key\": \"" : "", key, keyed ? "\", " : "", what_names[what]);
}

int control_parse(const void *data, size_t size, struct control_message *out, struct error *err)
{
    const char *job = NULL, *key = "", *what = NULL;
    json_error_t jerr;
    json_t *root;
    int64_t version;
    size_t i;
    int rc = -1;

    if (size >= CONTROL_MESSAGE_MAX)
        return error_set(err, "control_invalid", "a control message of %zu bytes is too long", size);
    root = json_loadb(data, size, 0, &jerr);
    if (root == NULL || !json_is_object(root)) {
        error_set(err, "control_invalid", "a control message is no JSON object");
        goto out;
    }
    if (jsonx_int(root, "", "version", JSONX_REQUIRED, 1, 1, &version, err) < 0 ||
        jsonx_string(root, "", "job", JSONX_REQUIRED, &job, err) < 0 ||
        jsonx_string(root, "", "key", JSONX_OPTIONAL, &key, err) < 0 ||
        jsonx_string(root, "", "what", JSONX_REQUIRED, &what, err) < 0)
        goto out;
    for (i = 0; i < sizeof what_names / sizeof *what_names && strcmp(what, what_names[i]) != 0; i++)
        ;
    if (!job_name_valid(job) || (*key != '\0' && !control_key_valid(key)) ||
        i == sizeof what_names / sizeof *what_names) {
        error_set(err, "control_invalid", "a control message about nothing known");
        goto out;
    }
    snprintf(out->job, sizeof out->job, "%s", job);
    snprintf(out->key, sizeof out->key, "%s", key);
    out->what = (enum control_what)i;
    rc = 0;
out:
    json_decref(root);
    return rc;
}

/* The functions of libzmq, which is loaded by the first message: loading it, with all that it needs, takes longer than
 * a short job runs, and many runners have nothing to send. Where it is not installed, nothing is sent. */
static struct {
    __typeof__(zmq_ctx_new) *ctx_new;
    __typeof__(zmq_ctx_term) *ctx_term;
    __typeof__(zmq_socket) *socket;
    __typeof__(zmq_setsockopt) *setsockopt;
    __typeof__(zmq_connect) *connect;
    __typeof__(zmq_send) *send;
    __typeof__(zmq_close) *close;
} zmq;
static bool zmq_there;

static void load_zmq(void)
{
    static const char *const names[] = {"zmq_ctx_new", "zmq_ctx_term", "zmq_socket", "zmq_setsockopt",
                                        "zmq_connect", "zmq_send",     "zmq_close"};
    void *places[] = {&zmq.ctx_new, &zmq.ctx_term, &zmq.socket, &zmq.setsockopt, &zmq.connect, &zmq.send, &zmq.close};
    void *library = dlopen(ZMQ_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; library != NULL && i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(library, names[i]);

        if (symbol == NULL)
            return;
        memcpy(places[i], &symbol, sizeof symbol);
    }
    zmq_there = library != NULL;
}

struct control_sender {
    char *endpoint;
    char *job, *key;
    void *context;
    void *socket;
};

struct control_sender *control_sender_create(const char *endpoint, const char *job, const char *key)
{
    struct control_sender *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->endpoint = endpoint ? strdup(endpoint) : NULL;
    s->job = strdup(job);
    s->key = strdup(key ? key : "");
    if (s->job == NULL || s->key == NULL || (endpoint != NULL && s->endpoint == NULL)) {
        control_sender_destroy(s);
        return NULL;
    }
    return s;
}

/* Connects the socket. An endpoint that cannot be used is forgotten: there is nobody to send to. */
static int connect_once(struct control_sender *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (s->socket != NULL)
        return 0;
    if (s->endpoint == NULL)
        return -1;
    pthread_once(&once, load_zmq);
    if (!zmq_there)
        return -1;
    s->context = zmq.ctx_new();
    s->socket = s->context ? zmq.socket(s->context, ZMQ_PUSH) : NULL;
    if (s->socket != NULL) {
        zmq.setsockopt(s->socket, ZMQ_LINGER, &(int){LINGER_MS}, sizeof(int));
        zmq.setsockopt(s->socket, ZMQ_SNDHWM, &(int){100}, sizeof(int));
        zmq.setsockopt(s->socket, ZMQ_RECONNECT_IVL_MAX, &(int){10000}, sizeof(int));
        if (zmq.connect(s->socket, s->endpoint) == 0)
            return 0;
        zmq.close(s->socket);
        s->socket = NULL;
    }
    if (s->context != NULL)
        zmq.ctx_term(s->context);
    s->context = NULL;
    free(s->endpoint);
    s->endpoint = NULL;
    return -1;
}

void control_sender_nudge(struct control_sender *s, enum control_what what)
{
    char text[CONTROL_MESSAGE_MAX];

    if (s != NULL && connect_once(s) == 0)
        zmq.send(s->socket, text, control_build(text, s->job, s->key, what), ZMQ_DONTWAIT);
}

void control_sender_destroy(struct control_sender *s)
{
    int saved = errno;

    if (s == NULL)
        return;
    if (s->socket != NULL)
        zmq.close(s->socket);
    if (s->context != NULL)
        zmq.ctx_term(s->context);
    free(s->endpoint);
    free(s->job);
    free(s->key);
    free(s);
    errno = saved;
}

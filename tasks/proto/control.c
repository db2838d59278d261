#include "tasks/proto/control.h"

#include "common/jsonx.h"
#include "common/xalloc.h"
#include "tasks/proto/jobdesc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define LINGER_MS 1000

static const char *const what_names[] = {
    [CONTROL_CLAIM] = "claim",     [CONTROL_EXIT] = "exit", [CONTROL_ENDED] = "ended",       [CONTROL_STATUS] = "status",
    [CONTROL_METRICS] = "metrics", [CONTROL_DONE] = "done", [CONTROL_ENDPOINT] = "endpoint",
};

bool control_key_valid(const char *key)
{
    return strlen(key) == CONTROL_KEY_SIZE - 1 && strspn(key, "0123456789abcdef") == CONTROL_KEY_SIZE - 1;
}

size_t control_build(char buf[CONTROL_MESSAGE_MAX], const char *job, const char *key, enum control_what what)
{
    bool keyed = *key != '\0';

    return (size_t)snprintf(buf, CONTROL_MESSAGE_MAX, "{\"version\": 1, \"job\": \"%.63s\", %s%.32s%s\"what\": \"%s\"}", job,
                            keyed ? "\"key\": \"" : "", key, keyed ? "\", " : "", what_names[what]);
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
    if (!job_name_valid(job) || (*key != '\0' && !control_key_valid(key)) || i == sizeof what_names / sizeof *what_names) {
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

struct control_sender {
    char *endpoint;
    char *job, *key;
    void *context;
    void *socket;
};

struct control_sender *control_sender_create(const char *endpoint, const char *job, const char *key)
{
    struct control_sender *s = xcalloc(1, sizeof *s);

    s->endpoint = endpoint ? xstrdup(endpoint) : NULL;
    s->job = xstrdup(job);
    s->key = xstrdup(key ? key : "");
    return s;
}

/* An endpoint that cannot be used is forgotten: there is nobody to tell. */
static int connect_once(struct control_sender *s)
{
    if (s->socket != NULL)
        return 0;
    if (s->endpoint == NULL)
        return -1;
    s->context = zmq_ctx_new();
    s->socket = s->context ? zmq_socket(s->context, ZMQ_PUSH) : NULL;
    if (s->socket != NULL) {
        zmq_setsockopt(s->socket, ZMQ_LINGER, &(int){LINGER_MS}, sizeof(int));
        zmq_setsockopt(s->socket, ZMQ_SNDHWM, &(int){100}, sizeof(int));
        zmq_setsockopt(s->socket, ZMQ_RECONNECT_IVL_MAX, &(int){10000}, sizeof(int));
        if (zmq_connect(s->socket, s->endpoint) == 0)
            return 0;
        zmq_close(s->socket);
        s->socket = NULL;
    }
    if (s->context != NULL)
        zmq_ctx_term(s->context);
    s->context = NULL;
    free(s->endpoint);
    s->endpoint = NULL;
    return -1;
}

void control_sender_nudge(struct control_sender *s, enum control_what what)
{
    char text[CONTROL_MESSAGE_MAX];
    size_t size = control_build(text, s->job, s->key, what);

    if (connect_once(s) == 0)
        zmq_send(s->socket, text, size, ZMQ_DONTWAIT);
}

void control_sender_destroy(struct control_sender *s)
{
    int saved = errno;

    if (s == NULL)
        return;
    if (s->socket != NULL)
        zmq_close(s->socket);
    if (s->context != NULL)
        zmq_ctx_term(s->context);
    free(s->endpoint);
    free(s->job);
    free(s->key);
    free(s);
    errno = saved;
}

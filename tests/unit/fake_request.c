#include "tests/unit/fake_request.h"

#include "api/paced.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/value.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS_MAX 10000 /* more than any answer needs */

struct request {
    const struct asked *asked;
    char query[1024];
    struct query parsed;
    int answers, status;
    json_t *json;
    struct {
        const char *name;
        char value[256];
    } headers[8];
    int n_headers;
};

struct api_config fake_config;
int fake_revocations;
bool fake_is_abandoned;
void (*fake_between_turns)(void);
void (*fake_on_hold)(void);
static struct request current;
static struct paced_waiter *waiting;

static void read_query(struct request *r)
{
    char *rest = r->query, *item;

    snprintf(r->query, sizeof r->query, "%s", r->asked->query != NULL ? r->asked->query : "");
    while ((item = strsep(&rest, "&")) != NULL && item[0] != '\0') {
        char *value = strchr(item, '=');

        *value++ = '\0';
        r->parsed.item[r->parsed.n].name = item;
        r->parsed.item[r->parsed.n++].value = value;
    }
}

const json_t *ask(void (*handler)(struct request *r), const struct asked *asked, int *status)
{
    json_decref(current.json);
    current = (struct request){.asked = asked};
    read_query(&current);
    handler(&current);
    for (int turns = 0; waiting != NULL; turns++) {
        struct paced_waiter *waiter = waiting;

        assert_true(turns < TURNS_MAX);
        waiting = NULL;
        if (fake_between_turns != NULL)
            fake_between_turns();
        waiter->piece(waiter, false);
    }
    assert_int_equal(current.answers, 1);
    *status = current.status;
    return current.json;
}

const json_t *get(void (*handler)(struct request *r), int64_t id, const char *query)
{
    int status;
    const json_t *json = ask(handler, &(struct asked){.ids = {id}, .query = query}, &status);

    if (status != 200)
        fail_msg("%s: %d, %s", query, status, json_string_value(json_object_get(json, "detail")));
    return json;
}

void is_refused(void (*handler)(struct request *r), int64_t id, const char *query, int wanted, const char *code)
{
    int status;
    const json_t *json = ask(handler, &(struct asked){.ids = {id}, .query = query}, &status);

    if (status != wanted || strcmp(json_string_value(json_object_get(json, "code")) ?: "", code) != 0)
        fail_msg("%s: %d, %s", query, status, json_string_value(json_object_get(json, "detail")));
}

void paced_wait(struct paced *paced, struct paced_waiter *waiter)
{
    waiting = waiter;
}

/* --- api/request.h */

const struct api_config *request_config(const struct request *r)
{
    return &fake_config;
}

struct store *request_store(const struct request *r)
{
    return fake_config.store;
}

int64_t request_now_ms(const struct request *r)
{
    return 1000000;
}

int64_t request_id(const struct request *r, int n)
{
    return r->asked->ids[n];
}

const char *request_query(const struct request *r, const char *name)
{
    return query_get(&r->parsed, name);
}

int request_query_int(const struct request *r, const char *name, int64_t min, int64_t max, int64_t *value,
                      struct error *err)
{
    return query_int(&r->parsed, name, min, max, value, err);
}

int request_query_words(const struct request *r, const char *name, const char *const words[], size_t n, unsigned *bits,
                        struct error *err)
{
    return query_words(&r->parsed, name, words, n, bits, err);
}

const char *request_header(const struct request *r, const char *name)
{
    for (size_t i = 0; i < 2; i++)
        if (r->asked->headers[i][0] != NULL && strcmp(r->asked->headers[i][0], name) == 0)
            return r->asked->headers[i][1];
    return NULL;
}

int64_t request_token(const struct request *r)
{
    return r->asked->caller.token;
}

const struct caller *request_caller(const struct request *r)
{
    return &r->asked->caller;
}

void request_add_header(struct request *r, const char *name, const char *value)
{
    assert_true(r->n_headers < 8);
    r->headers[r->n_headers].name = name;
    snprintf(r->headers[r->n_headers++].value, sizeof r->headers[0].value, "%s", value);
}

const char *header_of_answer(const char *name)
{
    for (int i = 0; i < current.n_headers; i++)
        if (strcmp(current.headers[i].name, name) == 0)
            return current.headers[i].value;
    return NULL;
}

const void *request_body(const struct request *r, size_t *size)
{
    *size = r->asked->body != NULL ? strlen(r->asked->body) : 0;
    return r->asked->body;
}

json_t *request_json(struct request *r)
{
    json_t *json = r->asked->body != NULL ? json_loads(r->asked->body, 0, NULL) : NULL;

    if (json == NULL)
        request_reply_error(r, "json_malformed", "no JSON");
    return json;
}

void request_revokes(struct request *r)
{
    fake_revocations++;
}

/* The caller, whatever says so. */
int request_bearer(struct request *r, struct caller *bearer, struct error *err)
{
    *bearer = r->asked->caller;
    return 0;
}

void request_refuse(struct request *r, struct error *err)
{
    request_reply_problem(r, err);
}

const char *request_place(const struct request *r)
{
    return "PLACE";
}

bool request_is_secure(const struct request *r)
{
    return false;
}

void request_hold(struct request *r)
{
    if (fake_on_hold != NULL)
        fake_on_hold();
}

bool request_is_abandoned(const struct request *r)
{
    return fake_is_abandoned;
}

bool request_is_orphan(const struct request *r)
{
    return false;
}

const char *request_file(const struct request *r)
{
    return "";
}

bool request_wants_page(const struct request *r)
{
    return false;
}

int request_socket(const struct request *r)
{
    return -1;
}

bool request_is_allowed(struct request *r)
{
    return true;
}

void request_pause(struct request *r)
{
}

void request_go_on(struct request *r)
{
}

void request_reply_json(struct request *r, int status, json_t *json)
{
    r->answers++;
    r->status = status;
    r->json = json;
}

void request_reply_text(struct request *r, int status, const char *content_type, char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, 0, &where);

    if (json == NULL)
        fail_msg("%s: %s", where.text, text);
    free(text);
    request_reply_json(r, status, json);
}

void request_reply_static(struct request *r, int status, const char *content_type, const char *data, size_t size)
{
    request_reply_json(r, status, json_null());
}

void request_reply_response(struct request *r, int status, const char *content_type, struct MHD_Response *response)
{
    MHD_destroy_response(response);
    request_reply_json(r, status, json_null());
}

void request_reply_problem(struct request *r, const struct error *err)
{
    request_reply_json(r, problem_status(err->code), problem_json(err));
}

void request_reply_error(struct request *r, const char *code, const char *fmt, ...)
{
    struct error err;
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_set(&err, code, "%s", text);
    request_reply_problem(r, &err);
}

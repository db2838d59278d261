#include "api/request_private.h"

#include "api/problem.h"
#include "api/value.h"
#include "common/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Adds headers for browsers: a reply such as the output of a member may be shown in a window, as text that can do
 * nothing. */
static void add_for_browser(struct MHD_Response *response)
{
    MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
}

/* Sets the answer to `response`, which is taken over, in place of an earlier one. With NULL the connection is
 * closed. */
static void request_set_response(struct request *r, int status, const char *content_type, struct MHD_Response *response)
{
    if (r->response != NULL)
        MHD_destroy_response(r->response);
    r->response = response;
    r->status = status;
    if (response == NULL)
        return;
    if (content_type != NULL)
        MHD_add_response_header(response, "Content-Type", content_type);
    if (MHD_get_response_header(response, "Cache-Control") == NULL)
        MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (r->caller.session != 0)
        add_for_browser(response);
    if (status >= 500) {
        char number[24];

        snprintf(number, sizeof number, "%" PRIu64, r->number);
        MHD_add_response_header(response, "X-Request-Id", number);
    }
    for (size_t i = 0; i < r->n_headers; i++)
        MHD_add_response_header(response, r->headers[i].name, r->headers[i].value);
}

void request_set_json(struct request *r, int status, json_t *json)
{
    char *text = value_dump(json);

    json_decref(json);
    if (text == NULL) {
        log_error_of(LOG_REQUEST(r->number), "request %" PRIu64 ": the reply could not be put into words: no memory",
                     r->number);
        request_set_response(r, 500, NULL, MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
        return;
    }
    request_set_response(r, status, status >= 400 ? "application/problem+json" : "application/json",
                         MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}

void request_add_header(struct request *r, const char *name, const char *value)
{
    if (r->n_headers == HEADERS_MAX)
        return;
    r->headers[r->n_headers].name = name;
    snprintf(r->headers[r->n_headers].value, sizeof r->headers[0].value, "%s", value);
    r->n_headers++;
}

void request_reply_json(struct request *r, int status, json_t *json)
{
    request_set_json(r, status, json);
    request_answered(r);
}

void request_reply_text(struct request *r, int status, const char *content_type, char *text)
{
    request_reply_response(r, status, content_type,
                           MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}

void request_reply_static(struct request *r, int status, const char *content_type, const char *data, size_t size)
{
    request_reply_response(r, status, content_type,
                           MHD_create_response_from_buffer(size, (void *)data, MHD_RESPMEM_PERSISTENT));
}

void request_reply_response(struct request *r, int status, const char *content_type, struct MHD_Response *response)
{
    request_set_response(r, status, content_type, response);
    request_answered(r);
}

void request_reply_problem(struct request *r, const struct error *err)
{
    const char *challenge = access_challenge(err);
    int status = problem_status(err->code);

    if (challenge != NULL)
        request_add_header(r, "WWW-Authenticate", challenge);
    if (strcmp(err->code, "too_many_tries") == 0)
        request_add_header(r, "Retry-After", "60");
    if (status >= 500)
        log_error_of(LOG_REQUEST(r->number), "request %" PRIu64 ", %s %s: %s (%s)", r->number, r->method,
                     r->route != NULL ? r->route->pattern : "?", err->text, err->code);
    request_reply_json(r, status, problem_json(err));
}

void request_reply_error(struct request *r, const char *code, const char *fmt, ...)
{
    struct error err;
    char text[sizeof err.text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    error_set(&err, code, "%s", text);
    request_reply_problem(r, &err);
}

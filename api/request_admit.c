#include "api/request_private.h"

#include "api/clients.h"
#include "api/headers.h"
#include "api/limits.h"
#include "api/problem.h"

#include <stdio.h>
#include <string.h>

/* Refuses a caller. The answer says what to send, and nothing about what there is. */
static void refuse_access(struct request *r, const struct error *err)
{
    r->route = NULL;
    request_reply_problem(r, err);
}

/* Checks If-Match, which wants strong entity tags. Those of this API are weak, so that only "*" can hold. */
static int check_precondition(const struct request *r, struct error *err)
{
    const char *match = request_header(r, "If-Match");

    if (match == NULL || strcmp(match, "*") == 0)
        return 0;
    return error_set(err, "precondition_failed",
                     "If-Match cannot hold here, since all entity tags are weak; only \"*\" is possible");
}

void request_judge(struct request *r, const char *whole, const struct error *malformed)
{
    char allow[64];
    struct error err;
    const char *path = session_path(whole, r->place);
    enum routes_answer answer = routes_find(r->method, path, &r->route, r->ids, allow, sizeof allow);
    struct access_ask ask = {r->method, r->route, r->place, request_wants_page(r)};

    snprintf(r->file, sizeof r->file, "%s", strncmp(path, "/web/", 5) == 0 ? path + 5 : "");
    if (malformed != NULL)
        err = *malformed;
    if (malformed != NULL || headers_check(r->connection, &err) < 0) {
        access_log(r->host->access, r->connection, err.text);
        request_add_header(r, "Connection", "close");
        r->route = NULL;
        request_reply_problem(r, &err);
        return;
    }
    if (access_check(r->host->access, r->host->listener, r->connection, &ask, &r->caller, &err) < 0) {
        refuse_access(r, &err);
        return;
    }
    if (!r->caller.stranger && !clients_admit(r->host->clients, r->client)) {
        request_add_header(r, "Retry-After", "10");
        request_add_header(r, "Connection", "close");
        error_set(&err, "busy", "too many clients are connected; try again later");
        access_log(r->host->access, r->connection, err.text); /* with its limit, since it is no error of the daemon */
        request_reply_json(r, problem_status(err.code), problem_json(&err));
        return;
    }
    if (answer == ROUTES_NO_PATH) {
        request_reply_error(r, "path_not_found", "there is nothing at %.300s; /openapi.json lists what there is", path);
        return;
    }
    if (answer == ROUTES_NO_METHOD) {
        request_add_header(r, "Allow", allow);
        if (strcmp(r->method, "OPTIONS") == 0)
            request_reply_static(r, 204, NULL, "", 0);
        else
            request_reply_error(r, "method_not_allowed", "%s is not possible here; possible: %s", r->method, allow);
        return;
    }
    if (r->caller.stranger)
        r->body.max = LIMIT_OPEN_BODY;
    if (access_permit(r->host->access, r->connection, &r->caller, r->route, &err) < 0 ||
        check_precondition(r, &err) < 0 || query_read(&r->query, r->connection, r->route->query, &err) < 0 ||
        body_check_headers(&r->body, r->connection, r->route->flags & (ROUTE_BODY | ROUTE_BODY_OPTIONAL), &err) < 0)
        request_reply_problem(r, &err);
}

json_t *request_json(struct request *r)
{
    struct error err;
    json_t *json, *problem;
    int line, column;

    json = body_json(&r->body, &line, &column, &err);
    if (json != NULL)
        return json;
    problem = problem_json(&err);
    json_object_set_new(problem, "line", json_integer(line));
    json_object_set_new(problem, "column", json_integer(column));
    request_reply_json(r, problem_status(err.code), problem);
    return NULL;
}

/* Checks that a call that takes no body gets none, or an empty object: nothing that it would have to ignore. */
bool request_body_is_fit(struct request *r)
{
    struct error err;
    json_t *json;
    bool fit;

    if ((r->route->flags & (ROUTE_BODY | ROUTE_BODY_OPTIONAL)) || r->body.size == 0 ||
        strcmp(r->route->method, "GET") == 0)
        return true;
    json = request_json(r);
    if (json == NULL)
        return false;
    fit = json_is_object(json) && json_object_size(json) == 0;
    json_decref(json);
    if (!fit) {
        error_set(&err, "spec_unknown_key", "this call takes no body, or {}");
        request_reply_problem(r, &err);
    }
    return fit;
}

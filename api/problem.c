#include "api/problem.h"

#include "api/value.h"

#include <string.h>

const struct problem problem_table[] = {
#define PROBLEM(code, status, title) {code, status, title},
#include "api/tbl/problems.h"
#undef PROBLEM
    {NULL, 0, NULL},
};

static const struct problem *find_problem(const char *code)
{
    const struct problem *p = problem_table;

    while (p->code != NULL && strcmp(p->code, code) != 0)
        p++;
    return p->code != NULL ? p : NULL;
}

int problem_status(const char *code)
{
    const struct problem *p = find_problem(code);

    return p != NULL ? p->status : 500;
}

json_t *problem_json(const struct error *err)
{
    const struct problem *p = find_problem(err->code);
    json_t *json = json_object();
    char type[96] = "urn:stretto:problem:";

    strncat(type, err->code, sizeof type - strlen(type) - 1);
    json_object_set_new(json, "type", value_text(type));
    json_object_set_new(json, "title", value_text(p != NULL ? p->title : "Internal error"));
    json_object_set_new(json, "status", json_integer(p != NULL ? p->status : 500));
    json_object_set_new(json, "code", value_text(err->code));
    json_object_set_new(json, "detail", value_text(err->text));
    if (err->pointer[0] != '\0' || (p != NULL && p->status == 422))
        json_object_set_new(json, "pointer", value_text(err->pointer));
    return json;
}

/* The document that is served, held against the tables that the daemon works by, both ways. */
#include "tests/unit/unit.h"

#include "api/routes.h"
#include "common/embedded.h"
#include "common/member_state.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

extern const struct embedded api_openapi[];

static const struct {
    const char *method, *pattern, *query;
    int wants_body;
} routes[] = {
#define ROUTE(method, pattern, handler, query, flags) {#method, pattern, query, (flags) & (ROUTE_BODY | ROUTE_BODY_OPTIONAL)},
#include "api/tbl/routes.h"
#undef ROUTE
};

static const struct {
    const char *code;
    int status;
} problems[] = {
#define PROBLEM(code, status, title) {code, status},
#include "api/tbl/problems.h"
#undef PROBLEM
};

#define N(array) (sizeof array / sizeof array[0])

static json_t *document(void **state)
{
    return *state;
}

static int setup(void **state)
{
    *state = json_loadb(api_openapi[0].data, api_openapi[0].size, JSON_REJECT_DUPLICATES, NULL);
    return *state != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    json_decref(*state);
    return 0;
}

static json_t *resolve(json_t *doc, json_t *value)
{
    const char *ref = json_string_value(json_object_get(value, "$ref"));
    char key[64];

    if (ref == NULL)
        return value;
    assert_int_equal(sscanf(ref, "#/components/parameters/%63s", key), 1);
    return json_object_get(json_object_get(json_object_get(doc, "components"), "parameters"), key);
}

static json_t *operation(json_t *doc, const char *method, const char *pattern)
{
    char key[8];
    size_t i;

    for (i = 0; method[i] != '\0'; i++)
        key[i] = (char)tolower(method[i]);
    key[i] = '\0';
    return json_object_get(json_object_get(json_object_get(doc, "paths"), pattern), key);
}

static void every_route_is_described(void **state)
{
    for (size_t i = 0; i < N(routes); i++) {
        json_t *op = operation(document(state), routes[i].method, routes[i].pattern);

        if (op == NULL)
            fail_msg("openapi.yaml lacks %s %s", routes[i].method, routes[i].pattern);
        if ((json_object_get(op, "requestBody") != NULL) != (routes[i].wants_body != 0))
            fail_msg("%s %s: the document and the table disagree on a body", routes[i].method, routes[i].pattern);
    }
}

static size_t route_index(const char *method, const char *pattern)
{
    size_t i = 0;

    while (i < N(routes) && (strcasecmp(routes[i].method, method) != 0 || strcmp(routes[i].pattern, pattern) != 0))
        i++;
    return i;
}

static void every_described_call_has_a_route(void **state)
{
    const char *path, *method;
    json_t *item, *op;

    json_object_foreach (json_object_get(document(state), "paths"), path, item) {
        json_object_foreach (item, method, op) {
            if (strcmp(method, "parameters") != 0 && route_index(method, path) == N(routes))
                fail_msg("openapi.yaml describes %s %s, which has no route", method, path);
        }
    }
}

/* The names of the query parameters, in the document's order. */
static void list_query(json_t *doc, json_t *op, char *out, size_t size)
{
    json_t *value;
    size_t i;

    *out = '\0';
    json_array_foreach (json_object_get(op, "parameters"), i, value) {
        json_t *param = resolve(doc, value);

        assert_non_null(param);
        if (strcmp(json_string_value(json_object_get(param, "in")), "query") == 0)
            snprintf(out + strlen(out), size - strlen(out), "%s%s", *out ? " " : "",
                     json_string_value(json_object_get(param, "name")));
    }
}

static void query_parameters_are_the_same(void **state)
{
    for (size_t i = 0; i < N(routes); i++) {
        char names[128];

        list_query(document(state), operation(document(state), routes[i].method, routes[i].pattern), names,
                   sizeof names);
        assert_string_equal(names, routes[i].query);
    }
}

static void codes_and_statuses_are_the_same(void **state)
{
    json_t *schema = json_object_get(
        json_object_get(json_object_get(document(state), "components"), "schemas"), "Problem");
    json_t *codes = json_object_get(json_object_get(json_object_get(schema, "properties"), "code"), "enum");
    json_t *statuses = json_object_get(schema, "x-status");

    assert_int_equal(json_array_size(codes), N(problems));
    assert_int_equal(json_object_size(statuses), N(problems));
    for (size_t i = 0; i < N(problems); i++) {
        assert_string_equal(json_string_value(json_array_get(codes, i)), problems[i].code);
        assert_int_equal(json_integer_value(json_object_get(statuses, problems[i].code)), problems[i].status);
    }
}

static void states_of_members_are_the_same(void **state)
{
    json_t *schemas = json_object_get(json_object_get(document(state), "components"), "schemas");
    json_t *names = json_object_get(json_object_get(schemas, "MemberState"), "enum");

    assert_int_equal(json_array_size(names), MEMBER_STATE_COUNT);
    for (enum member_state i = 0; i < MEMBER_STATE_COUNT; i++)
        assert_string_equal(json_string_value(json_array_get(names, i)), member_state_name(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_described),
        cmocka_unit_test(every_described_call_has_a_route),
        cmocka_unit_test(query_parameters_are_the_same),
        cmocka_unit_test(codes_and_statuses_are_the_same),
        cmocka_unit_test(states_of_members_are_the_same),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, setup, teardown);
}

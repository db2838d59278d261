/* All routes alike: what is not there is not found, a query or a body that says nothing is refused, and each request
 * has one answer. */
#include "api/handlers.h"
#include "api/request.h"
#include "api/routes.h"
#include "common/embedded.h"
#include "common/log.h"
#include "daemon/engine/memory/core.h"
#include "daemon/store/training.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"
#include "tests/unit/virtual_uv.h"

#include <stdio.h>
#include <string.h>

extern const struct embedded api_openapi[];

enum { GET, POST, PATCH, DELETE };

static const struct {
    int method;
    const char *path;
    void (*handler)(struct request *r);
    const char *query;
    int flags;
} routes[] = {
#define ROUTE(method, pattern, handler, query, flags) {method, pattern, handler, query, flags},
#include "api/tbl/routes.h"
#undef ROUTE
};

#define ROUTES (sizeof routes / sizeof *routes)

static int wrong; /* of all that were tried in a test */
static struct engine engine = {.ports.run_dir = "/run", .ports.rows_dir = "/nowhere"};

static int set_up(void **state)
{
    struct training_row training = {.ensemble = 1, .adapter = "local", .ranks = 1, .generation = 1, .created_ms = 1};

    wrong = 0;
    if (open_store(state) != 0)
        return -1;
    add_ensemble(4);
    must(store_training_insert(store, &training, &err));
    engine.store = store;
    fake_config = (struct api_config){.store = store, .engine = &engine};
    return 0;
}

static int tear_down(void **state)
{
    must(store_commit(store, &err));
    return close_store(state);
}

static bool takes_body(size_t i)
{
    return (routes[i].flags & (ROUTE_BODY | ROUTE_BODY_OPTIONAL)) != 0;
}

static void is(size_t i, const struct asked *asked, int wanted, const char *code)
{
    int status;
    const json_t *answer = ask(routes[i].handler, asked, &status);
    const char *got = json_string_value(json_object_get(answer, "code"));

    if (status == wanted && (code == NULL || (got != NULL && strcmp(got, code) == 0)))
        return;
    print_error("%d %s?%s %s: %d, %s\n", routes[i].method, routes[i].path, asked->query != NULL ? asked->query : "",
                asked->body != NULL ? asked->body : "", status, got != NULL ? got : "");
    wrong++;
}

/* A body with which the route can be asked; NULL: it takes none. */
static const char *body_of(size_t i)
{
    if (routes[i].handler == ensemble_patch)
        return "{\"width\": 1}";
    if (routes[i].handler == training_patch)
        return "{\"ranks\": 1}";
    if (routes[i].handler == suggestions_post)
        return "{\"suggestions\": [{\"parameters\": {\"x\": 1}}]}";
    return takes_body(i) ? "{}" : NULL;
}

static void what_is_not_there_is_not_found(void **state)
{
    int tried = 0;

    for (size_t i = 0; i < ROUTES; i++) {
        if (strstr(routes[i].path, "{id}") == NULL)
            continue;
        is(i, &(struct asked){.ids = {999999, 0}, .body = body_of(i), .query = strstr(routes[i].query, "name") != NULL ? "name=x" : NULL}, 404, NULL);
        if (strstr(routes[i].path, "{index}") != NULL)
            is(i, &(struct asked){.ids = {1, 4}, .body = body_of(i), .query = strstr(routes[i].query, "name") != NULL ? "name=x" : NULL}, 404, NULL);
        tried++;
    }
    assert_int_equal(wrong, 0);
    assert_true(tried > 30);
}

/* Returns whether a route has the parameter. */
static bool has(size_t i, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = routes[i].query; (at = strstr(at, name)) != NULL; at += n)
        if ((at == routes[i].query || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static void a_query_that_says_nothing_is_refused(void **state)
{
    static const char *const queries[] = {"limit=0", "limit=x", "limit=", "limit=-1", "limit=1000001", "cursor=x", "after=x", "after=-1",
                                          "since=x", "buckets=0", "buckets=x", "moments=x", "attempt=0", "rank=-1", "follow=2", "from=x",
                                          "ensemble=x", "ensemble=0", "training=0", "member=x", "sort=x", "order=x", "state=x", "family=x"};
    int tried = 0;

    for (size_t i = 0; i < ROUTES; i++)
        for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
            char name[16], query[64];

            snprintf(name, sizeof name, "%.*s", (int)strcspn(queries[q], "="), queries[q]);
            if (!has(i, name) || routes[i].handler == results_get) /* which refuses an ensemble that takes no suggestions first */
                continue;
            snprintf(query, sizeof query, "%s%s", queries[q],
                     has(i, "name") && routes[i].handler != ensembles_get ? "&name=x" : "");
            is(i, &(struct asked){.ids = {1, 0}, .query = query}, 400, "query_wrong_value");
            tried++;
        }
    assert_int_equal(wrong, 0);
    assert_true(tried > 80);
}

static const json_t *resolve(const json_t *doc, const json_t *value)
{
    const char *ref = json_string_value(json_object_get(value, "$ref"));

    return ref == NULL ? value
                       : json_object_get(json_object_get(json_object_get(doc, "components"), "parameters"),
                                         strrchr(ref, '/') + 1);
}

static void is_possible(size_t i, const char *name, json_int_t value, bool wanted)
{
    char query[96];
    int status;
    const json_t *answer;

    snprintf(query, sizeof query, "%s=%lld%s", name, (long long)value,
             has(i, "name") && routes[i].handler != ensembles_get ? "&name=x" : "");
    if (strcmp(name, "from") == 0 && has(i, "follow"))
        strcat(query, "&follow=1");
    if (strcmp(name, "member") == 0)
        strcat(query, "&ensemble=1");
    answer = ask(routes[i].handler, &(struct asked){.ids = {1, 0}, .query = query}, &status);
    if ((strcmp(json_string_value(json_object_get(answer, "code")) ?: "", "query_wrong_value") != 0) == wanted)
        return;
    print_error("%s?%s: %d\n", routes[i].path, query, status);
    wrong++;
}

/* Numbers are possible from the least to the most that the document names. */
static void numbers_are_limited_as_the_document_says(void **state)
{
    json_t *doc = json_loadb(api_openapi[0].data, api_openapi[0].size, 0, NULL);
    int tried = 0;

    must(store_exec(store, &err, "UPDATE ensemble SET intake = 'open'", ""));
    for (size_t i = 0; i < ROUTES; i++) {
        const json_t *list = json_object_get(json_object_get(json_object_get(json_object_get(doc, "paths"), routes[i].path), "get"), "parameters"), *one;
        size_t n;

        if (routes[i].method != GET || routes[i].handler == events_get) /* which wants a feed, and is in test_pages.c */
            continue;
        json_array_foreach (list, n, one) {
            const json_t *parameter = resolve(doc, one), *schema = json_object_get(parameter, "schema"), *least, *most;
            const char *name = json_string_value(json_object_get(parameter, "name"));

            if (strcmp(json_string_value(json_object_get(schema, "type")) ?: "", "integer") != 0)
                continue;
            least = json_object_get(schema, "minimum");
            most = json_object_get(schema, "maximum");
            assert_non_null(least);
            if (!has(i, "follow") || strcmp(name, "from") != 0) /* a follower waits */
                is_possible(i, name, json_integer_value(least), true);
            is_possible(i, name, json_integer_value(least) - 1, false);
            if (most != NULL) {
                is_possible(i, name, json_integer_value(most), true);
                is_possible(i, name, json_integer_value(most) + 1, false);
            }
            tried++;
        }
    }
    json_decref(doc);
    assert_int_equal(wrong, 0);
    assert_true(tried > 30);
}

static void a_body_that_is_no_json_is_refused(void **state)
{
    int tried = 0;

    for (size_t i = 0; i < ROUTES; i++) {
        if (!takes_body(i))
            continue;
        is(i, &(struct asked){.ids = {1, 0}, .body = "x"}, 400, "json_malformed");
        tried++;
    }
    assert_int_equal(wrong, 0);
    assert_true(tried > 10);
}

/* A body is refused if it is no object, or has unknown keys. */
static void a_body_has_what_is_known(void **state)
{
    for (size_t i = 0; i < ROUTES; i++) {
        if (!takes_body(i) || routes[i].handler == sessions_post)
            continue;
        is(i, &(struct asked){.ids = {1, 0}, .body = "[]"}, 422, "spec_wrong_type");
        if (routes[i].handler != ensembles_post) /* whose body the engine reads */
            is(i, &(struct asked){.ids = {1, 0}, .body = "{\"xyz\": 1}"}, 422, NULL);
    }
    assert_int_equal(wrong, 0);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(what_is_not_there_is_not_found), WITH_STORE(a_query_that_says_nothing_is_refused),
        WITH_STORE(numbers_are_limited_as_the_document_says), WITH_STORE(a_body_that_is_no_json_is_refused),
        WITH_STORE(a_body_has_what_is_known)};

    log_init("routes", LOG_LEVEL_NONE);
    virtual_uv_begin(1000);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

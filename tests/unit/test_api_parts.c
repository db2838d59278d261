/* Small parts of the HTTP interface, each with all that can be asked of it: codings, buckets, shares, paths, wishes,
 * tries. */
#include "api/access.h"
#include "api/body.h"
#include "api/buckets.h"
#include "api/refusals.h"
#include "api/routes.h"
#include "api/shares.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The buckets of points at these steps, as JSON. */
static json_t *buckets_of(int64_t from, int64_t to, int64_t n, const int64_t *steps, const double *values,
                          size_t points)
{
    struct text text = {0};
    struct buckets buckets;
    json_t *json;

    text_string(&text, "[");
    buckets_init(&buckets, &text, from, to, n);
    for (size_t i = 0; i < points; i++) {
        struct series_point point = series_point_of(steps[i], 1000 * (int64_t)(i + 1), 0, values[i], 0);
        buckets_add(&buckets, &point);
    }
    buckets_end(&buckets);
    text_string(&text, "]");
    json = json_loads(text.data, 0, NULL);
    if (json == NULL)
        fail_msg("%s", text.data);
    free(text.data);
    return json;
}

static int64_t whole(const json_t *bucket, const char *key)
{
    return json_integer_value(json_object_get(bucket, key));
}

static double real(const json_t *bucket, const char *key)
{
    const json_t *value = json_object_get(bucket, key);

    return json_is_null(value) ? NAN : json_number_value(value);
}

/* Nothing that a plot must not lose is lost: the first and the last, the lowest and the highest, and what is no
 * number. */
static void buckets_have_what_a_plot_needs(void **state)
{
    static const int64_t steps[] = {0, 1, 3, 4, 5, 7, 8, 9};
    static const double values[] = {NAN, 5, -2, 3, INFINITY, 3, NAN, NAN};
    json_t *list = buckets_of(0, 9, 3, steps, values, 8), *bucket; /* of 4 steps each: 0–3, 4–7, 8–9 */

    assert_int_equal(json_array_size(list), 3);
    bucket = json_array_get(list, 0);
    assert_true(whole(bucket, "step") == 0 && whole(bucket, "last_step") == 3 && whole(bucket, "count") == 3 &&
                whole(bucket, "not_finite") == 1);
    assert_true(isnan(real(bucket, "first")) && real(bucket, "last") == -2 && real(bucket, "min") == -2 &&
                real(bucket, "max") == 5);
    assert_string_equal(json_string_value(json_object_get(bucket, "time")), "1970-01-01T00:00:01.000Z");
    assert_string_equal(json_string_value(json_object_get(bucket, "last_time")), "1970-01-01T00:00:03.000Z");
    bucket = json_array_get(list, 1);
    assert_true(whole(bucket, "step") == 4 && whole(bucket, "last_step") == 7 && whole(bucket, "count") == 3 &&
                whole(bucket, "not_finite") == 1);
    assert_true(real(bucket, "first") == 3 && real(bucket, "last") == 3 && real(bucket, "min") == 3 &&
                real(bucket, "max") == 3);
    bucket = json_array_get(list, 2);
    assert_true(whole(bucket, "step") == 8 && whole(bucket, "last_step") == 9 && whole(bucket, "count") == 2 &&
                whole(bucket, "not_finite") == 2);
    assert_true(isnan(real(bucket, "min")) && isnan(real(bucket, "max")));
    json_decref(list);
}

static void buckets_are_never_more_than_asked_for(void **state)
{
    static const int64_t far[] = {INT64_MIN, -1, 0, INT64_MAX};
    static const double values[64];
    int64_t steps[64];
    json_t *list;

    for (int64_t i = 0; i < 64; i++)
        steps[i] = 100 + i;
    for (int64_t n = 1; n <= 70; n++) {
        int64_t points = 0;

        list = buckets_of(100, 163, n, steps, values, 64);
        assert_true((int64_t)json_array_size(list) <= n);
        for (size_t i = 0; i < json_array_size(list); i++)
            points += whole(json_array_get(list, i), "count");
        assert_int_equal(points, 64);
        json_decref(list);
    }
    list = buckets_of(INT64_MIN, INT64_MAX, 2, far, values, 4);
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(whole(json_array_get(list, 0), "count"), 2);
    json_decref(list);
    list = buckets_of(INT64_MIN, INT64_MAX, 1, far, values, 3);
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
    list = buckets_of(5, 5, 500, (const int64_t[]){5}, values, 1);
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
}

static void is_busy(struct shares *shares, int64_t token, const char *code)
{
    struct error err;

    assert_int_equal(shares_take(shares, token, &err), -1);
    assert_string_equal(err.code, code);
}

static void take(struct shares *shares, int64_t token, int n)
{
    struct error err;

    for (int i = 0; i < n; i++)
        if (shares_take(shares, token, &err) < 0)
            fail_msg("%d of %d: %s", i, n, err.text);
}

/* Of 16, a token has 4 at most, all of them 12, and the owner the rest. */
static void nobody_takes_all(void **state)
{
    struct shares shares = {.max = 16, .what = "things"};

    take(&shares, 1, 4);
    is_busy(&shares, 1, "token_busy");
    take(&shares, 2, 4);
    take(&shares, 3, 3);
    take(&shares, 4, 1);
    is_busy(&shares, 4, "tcp_busy");
    is_busy(&shares, 1, "token_busy");
    take(&shares, 0, 4);
    is_busy(&shares, 0, "busy");
    for (int round = 0; round < 50; round++) { /* whatever is given back is there again */
        shares_give_back(&shares, 1);
        take(&shares, 3, 1);
        is_busy(&shares, 2, "token_busy");
        shares_give_back(&shares, 3);
        take(&shares, 1, 1);
        shares_give_back(&shares, 0);
        take(&shares, 0, 1);
    }
    for (int i = 0; i < 4; i++) {
        shares_give_back(&shares, 0);
        shares_give_back(&shares, 1);
        shares_give_back(&shares, 2);
        shares_give_back(&shares, i < 3 ? 3 : 4);
    }
    assert_int_equal(shares.taken + shares.by_tcp, 0);
    assert_null(shares.tokens);
    take(&shares, 0, 16); /* the owner may have all */
    is_busy(&shares, 0, "busy");
    is_busy(&shares, 9, "busy");
    for (int i = 0; i < 16; i++)
        shares_give_back(&shares, 0);
}

static void a_thing_has_one_path(void **state)
{
    static const struct {
        const char *method, *path;
        enum routes_answer answer;
        int64_t ids[2];
        const char *allow;
    } cases[] = {
        {"GET", "/v1/ensembles/7", ROUTES_FOUND, {7}, "GET, HEAD, PATCH, OPTIONS"},
        {"HEAD", "/v1/ensembles/7", ROUTES_FOUND, {7}, "GET, HEAD, PATCH, OPTIONS"},
        {"PATCH", "/v1/ensembles/9223372036854775807", ROUTES_FOUND, {INT64_MAX}, "GET, HEAD, PATCH, OPTIONS"},
        {"DELETE", "/v1/ensembles/7", ROUTES_NO_METHOD, {0}, "GET, HEAD, PATCH, OPTIONS"},
        {"get", "/v1/ensembles/7", ROUTES_NO_METHOD, {0}, "GET, HEAD, PATCH, OPTIONS"},
        {"GET", "/v1/ensembles/7/members/0", ROUTES_FOUND, {7, 0}, "GET, HEAD, OPTIONS"},
        {"GET", "/v1/ensembles/07", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/7/members/00", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/-7", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/+7", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/7x", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/ 7", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/9223372036854775808", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/10000000000000000007", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/7/", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles/", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensembles//members", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensemblesx", ROUTES_NO_PATH, {0}, ""},
        {"GET", "/v1/ensemble", ROUTES_NO_PATH, {0}, ""},
        {"GET", "", ROUTES_NO_PATH, {0}, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct route *route;
        int64_t ids[ROUTE_IDS] = {0};
        char allow[64];
        enum routes_answer answer = routes_find(cases[i].method, cases[i].path, &route, ids, allow, sizeof allow);

        if (answer != cases[i].answer || (route != NULL) != (answer == ROUTES_FOUND) || ids[0] != cases[i].ids[0] ||
            ids[1] != cases[i].ids[1] || strcmp(allow, cases[i].allow) != 0)
            fail_msg("%s %s: %d, %lld, %lld, %s", cases[i].method, cases[i].path, answer, (long long)ids[0],
                     (long long)ids[1], allow);
    }
}

static void what_is_wrong_in_a_body_has_its_place(void **state)
{
    static const struct {
        const char *text;
        int line, column; /* 0: it is right */
    } cases[] = {{"{\"a\": 1}", 0, 0}, {"{\n \"a\": x}", 2, 7}, {"{\"a\": 1, \"a\": 2}", 1, 12}, {"", 1, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t budget = 0;
        struct body body;
        struct error err;
        int line, column;
        json_t *json;

        body_init(&body, &budget);
        if (cases[i].text[0] != '\0')
            assert_int_equal(body_append(&body, cases[i].text, strlen(cases[i].text), &err), 0);
        json = body_json(&body, &line, &column, &err);
        assert_int_equal(json != NULL, cases[i].line == 0);
        if (json == NULL) {
            assert_string_equal(err.code, "json_malformed");
            assert_int_equal(line, cases[i].line);
            assert_true(abs(column - cases[i].column) <= 2); /* where jansson stopped */
        }
        json_decref(json);
        body_fini(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_have_what_a_plot_needs),
        cmocka_unit_test(buckets_are_never_more_than_asked_for),
        cmocka_unit_test(nobody_takes_all),
        cmocka_unit_test(a_thing_has_one_path),
        cmocka_unit_test(what_is_wrong_in_a_body_has_its_place),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

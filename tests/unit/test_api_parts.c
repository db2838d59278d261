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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_never_more_than_asked_for),
        cmocka_unit_test(nobody_takes_all),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "daemon/spec/draw.h"
#include "daemon/spec/params.h"
#include "daemon/spec/suggestion.h"
#include "daemon/spec/template.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct params *parse(const char *text, json_t **json)
{
    struct error err;
    struct params *p;

    *json = json_loads(text, 0, NULL);
    assert_non_null(*json);
    p = params_parse(*json, "/p", NULL, &err);
    if (p == NULL)
        fail_msg("%s: %s", text, err.text);
    return p;
}

/* Each member has its own seed, which is another one where the spec's is: studies with several seeds are not one study
 * several times. */
static void seeds_of_members_are_drawn_from_the_seed(void **state)
{
    uint64_t seeds[4];
    json_t *json;

    for (int i = 0; i < 4; i++) {
        struct params *p = parse(i < 2 ? "{\"grid\": {\"a\": [1, 2]}, \"seed\": 42}" : "{\"grid\": {\"a\": [1, 2]}, \"seed\": 43}", &json);

        seeds[i] = params_seed(p, i % 2);
        for (int j = 0; j < i; j++)
            assert_true(seeds[i] != seeds[j]);
        params_destroy(p);
        json_decref(json);
    }
    assert_true(seeds[0] == draw_bits(42, UINT64_C(0x6d656d626572), 0)); /* for ever */
    assert_true(seeds[3] == draw_bits(43, UINT64_C(0x6d656d626572), 1));
}

/* The first points of the Halton sequence in bases 2 and 3, from the literature. */
static void halton_without_seed_is_the_published_sequence(void **state)
{
    static const double base2[] = {1. / 2, 1. / 4, 3. / 4, 1. / 8, 5. / 8, 3. / 8, 7. / 8};
    static const double base3[] = {1. / 3, 2. / 3, 1. / 9, 4. / 9, 7. / 9, 2. / 9, 5. / 9};

    for (unsigned i = 0; i < 7; i++) {
        assert_true(fabs(draw_halton(0, i, 0) - base2[i]) < 1e-15);
        assert_true(fabs(draw_halton(0, i, 1) - base3[i]) < 1e-15);
    }
}

/* Figures of the first release: a member's parameters must never change under an ensemble that lives for months. */
static void draws_stay_the_same_for_ever(void **state)
{
    assert_true(draw_bits(0, 0, 0) == UINT64_C(0x238275bc38fcbe91));
    assert_true(draw_bits(42, 7, 3) == UINT64_C(0xf55e4254d4655539));
    assert_true(draw_monte_carlo(42, 7, 3) == 0.95846952982937705);
    assert_true(draw_halton(42, 7, 3) == 0.58684239326383458);
    assert_true(draw_latin_hypercube(42, 7, 250, 3) == 0.85197620842318822);
}

/* Each dimension has the next prime as its base: the first point is one over it, and the one of that index begins its
 * next digit. */
static void halton_has_a_prime_for_each_dimension(void **state)
{
    unsigned prime = 2;

    for (unsigned dim = 0; dim < DRAW_HALTON_DIMENSIONS; dim++, prime++) {
        for (unsigned n = 2; n * n <= prime; n++) {
            if (prime % n == 0) {
                prime++;
                n = 1;
            }
        }
        assert_true(fabs(draw_halton(0, 0, dim) - 1. / prime) < 1e-15);
        assert_true(fabs(draw_halton(0, prime - 2, dim) - (prime - 1.) / prime) < 1e-15);
        assert_true(fabs(draw_halton(0, prime - 1, dim) - 1. / prime / prime) < 1e-15);
    }
}

/* Around the sizes at which the permutation takes more bits, too. */
static void latin_hypercube_has_one_point_in_each_stratum(void **state)
{
    static const unsigned counts[] = {1,  2,  3,  4,   5,   7,   8,   9,    15,   16,   17,   33,
                                      63, 64, 65, 129, 255, 256, 257, 1000, 1024, 1025, 4097, 16385};
    static unsigned char seen[16385];

    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        unsigned count = counts[c];

        for (unsigned dim = 0; dim < 3; dim++) {
            memset(seen, 0, sizeof seen);
            for (unsigned i = 0; i < count; i++) {
                double u = draw_latin_hypercube(7, i, count, dim);

                assert_true(u >= 0 && u < 1);
                seen[(int)(u * count)]++;
            }
            for (unsigned i = 0; i < count; i++)
                assert_int_equal(seen[i], 1);
        }
    }
}

/* Chi-square of 10,000 draws in 20 bins, 19 degrees of freedom: 43.8 is passed by chance once in a thousand. */
static void monte_carlo_is_uniform(void **state)
{
    for (unsigned dim = 0; dim < 4; dim++) {
        int bins[20] = {0};
        double chi = 0;

        for (unsigned i = 0; i < 10000; i++)
            bins[(int)(20 * draw_monte_carlo(11, i, dim))]++;
        for (int i = 0; i < 20; i++)
            chi += (bins[i] - 500.) * (bins[i] - 500.) / 500.;
        assert_true(chi < 43.8);
    }
}

static void a_member_is_a_function_of_spec_and_index(void **state)
{
    static const char *const methods[] = {"halton", "monte-carlo", "latin-hypercube"};

    for (size_t m = 0; m < 3; m++) {
        char text[200];
        json_t *json, *late, *early;
        struct params *p;

        snprintf(text, sizeof text,
                 "{\"method\": \"%s\", \"count\": 1000000, \"seed\": 42, \"space\": {\"b\": [100, 500], \"a\": [-1, 1]}}",
                 methods[m]);
        p = parse(text, &json);
        late = params_at(p, 999999);
        early = params_at(p, 0);
        assert_string_equal(json_object_iter_key(json_object_iter(late)), "b");
        assert_true(json_number_value(json_object_get(late, "b")) >= 100);
        assert_true(json_number_value(json_object_get(late, "b")) < 500);
        assert_false(json_equal(late, early));
        json_decref(early);
        early = params_at(p, 999999);
        assert_true(json_equal(late, early));
        assert_true(params_seed(p, 1) != params_seed(p, 2));
        json_decref(early);
        json_decref(late);
        params_destroy(p);
        json_decref(json);
    }
}

static void a_grid_names_every_point_once(void **state)
{
    json_t *json, *first, *second, *last;
    struct params *p = parse("{\"grid\": {\"lr\": [0.1, 0.01], \"batch\": [32, 64, 128], \"opt\": [\"adam\"]}}", &json);

    assert_int_equal(params_count(p), 6);
    first = params_at(p, 0);
    second = params_at(p, 1);
    last = params_at(p, 5);
    assert_int_equal(json_integer_value(json_object_get(first, "batch")), 32);
    assert_int_equal(json_integer_value(json_object_get(second, "batch")), 64);
    assert_true(json_number_value(json_object_get(last, "lr")) == 0.01);
    assert_int_equal(json_integer_value(json_object_get(last, "batch")), 128);
    json_decref(first);
    json_decref(second);
    json_decref(last);
    params_destroy(p);
    json_decref(json);
}

/* Each combination once; the last parameter varies fastest. */
static void a_grid_goes_through_its_values_in_order(void **state)
{
    json_t *json;
    struct params *p = parse("{\"grid\": {\"a\": [1, 2], \"b\": [10, 20], \"c\": [100, 200, 300]}}", &json);

    for (int64_t i = 0; i < params_count(p); i++) {
        json_t *point = params_at(p, i);

        assert_int_equal(json_integer_value(json_object_get(point, "a")), 1 + i / 6);
        assert_int_equal(json_integer_value(json_object_get(point, "b")), 10 * (1 + i / 3 % 2));
        assert_int_equal(json_integer_value(json_object_get(point, "c")), 100 * (1 + i % 3));
        json_decref(point);
    }
    params_destroy(p);
    json_decref(json);
}

/* A spec of a single member need not say anything of parameters. */
static void without_parameters_there_is_one_member(void **state)
{
    struct error err;
    struct params *p = params_parse(NULL, "/p", NULL, &err);
    json_t *none = params_at(p, 0);

    assert_int_equal(params_count(p), 1);
    assert_int_equal(params_size(p), 0);
    assert_true(json_is_object(none) && json_object_size(none) == 0);
    assert_false(params_are_rows(p) || params_are_drawn(p));
    json_decref(none);
    params_destroy(p);
}

/* A program is given the number that the member has, in as few digits as that takes. */
static void reals_are_given_exactly(void **state)
{
    static const double reals[] = {0.1, 1.0 / 3, 0.1 + 0.2, 1e300, 5e-324, -123456.78901234567, 2.0 / 3 * 1e-7};
    struct text text = {0};

    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        json_t *values = json_pack("{s:f}", "a", reals[i]);

        template_fill(&text, "{a}", NULL, values, 100);
        assert_true(strtod(text.data, NULL) == reals[i]);
        json_decref(values);
    }
    free(text.data);
}

static bool knows_a(void *arg, const char *name)
{
    return strcmp(name, "a") == 0;
}

static void templates(void **state)
{
    json_t *values = json_pack("{s:f, s:s, s:b, s:I}", "a", 0.1, "s", "x y", "t", 1, "n", (json_int_t)123456789012345);
    struct error err;
    struct text text = {0};

    template_fill(&text, "--x={a} {{{s}}} {t}{n}", NULL, values, 100);
    assert_string_equal(text.data, "--x=0.1 {x y} true123456789012345");
    template_fill(&text, "", NULL, values, 0);
    assert_string_equal(text.data, "");
    free(text.data);
    assert_int_equal(template_check("{a}{{}}", knows_a, NULL, "/c/0", &err), 0);
    assert_int_equal(template_check("{b}", knows_a, NULL, "/c/0", &err), -1);
    assert_string_equal(err.code, "spec_unfilled_placeholder");
    assert_int_equal(template_check("a}", knows_a, NULL, "/c/0", &err), -1);
    assert_int_equal(template_check("{", knows_a, NULL, "/c/0", &err), -1);
    assert_int_equal(template_check("{}", knows_a, NULL, "/c/0", &err), -1);
    json_decref(values);
}

/* Lists and objects are given as JSON, and a path reaches inside. */
static void structures_in_templates(void **state)
{
    json_t *values = json_loads("{\"net\": [64, [0.1, \"x\"]], \"opt\": {\"name\": \"a b\", \"betas\": [0.9, 1e18, 2.0], \"k.v\": true}, "
                                "\"opt.name\": 5, \"no\": {}}", 0, NULL);
    static const struct {
        const char *template, *filled; /* NULL if something is left */
    } cases[] = {
        {"{net}", "[64,[0.1,\"x\"]]"}, {"{opt}", "{\"name\":\"a b\",\"betas\":[0.9,1e18,2.0],\"k.v\":true}"},
        {"{no}", "{}"}, {"{net.0}-{net.1.1}", "64-x"}, {"{net.1}", "[0.1,\"x\"]"}, {"{opt.betas.1}", "1e18"},
        {"{opt.betas.2}", "2"}, {"{opt.name}", "5"}, {"{opt.k.v}", "true"}, {"{opt.betas.3}", NULL}, {"{net.x}", NULL},
        {"{net.00000000000000000001}", NULL}, {"{net.1.}", NULL}, {"{no.a}", NULL}, {"{net.0.0}", NULL}, {"{x}", NULL},
    };
    struct text text = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[TEMPLATE_NAME_MAX + 1];

        assert_int_equal(template_is_full(cases[i].template, NULL, values, name), cases[i].filled != NULL);
        assert_int_equal(template_fill(&text, cases[i].template, NULL, values, 100), 0);
        assert_string_equal(text.data, cases[i].filled != NULL ? cases[i].filled : "");
        if (cases[i].filled == NULL) {
            assert_int_equal(name[strlen(name)], '\0');
            assert_int_equal(strncmp(name, cases[i].template + 1, strlen(name)), 0);
        }
    }
    free(text.data);
    json_decref(values);
}

static json_t *give(void *arg, int64_t root, int64_t index)
{
    *(int *)arg += 1;
    return index < 2 ? json_pack("{s:I, s:I}", "y", (json_int_t)(10 * root), "x", (json_int_t)index) : NULL;
}

/* The parameters of members that are suggested are asked for, each time anew. */
static void suggestions_are_asked_for(void **state)
{
    json_t *json, *row;
    struct params *p = parse("{\"open\": [\"x\", \"y\"], \"seed\": 5}", &json);
    int asked = 0;

    assert_true(params_are_open(p) && params_are_rows(p) && !params_are_drawn(p));
    assert_true(params_is_numeric(p, 0));
    assert_int_equal(params_most(p), 0);
    assert_int_equal(params_size(p), 2);
    assert_int_equal(params_count(p), 0);
    assert_string_equal(params_name(p, 1), "y");
    assert_null(params_at(p, 0));
    params_ask(p, give, &asked, 7);
    row = params_one(p, 1, 1);
    assert_int_equal(json_integer_value(row), 70);
    json_decref(row);
    row = params_at(p, 1);
    assert_int_equal(json_integer_value(json_object_get(row, "x")), 1);
    json_decref(row);
    assert_null(params_at(p, 2));
    assert_null(params_one(p, 0, 2));
    assert_int_equal(asked, 4);
    assert_true(params_seed(p, 1) == draw_bits(5, UINT64_C(0x6d656d626572), 1));
    params_destroy(p);
    json_decref(json);
}

static void suggestions_are_checked(void **state)
{
    static const struct {
        const char *values, *pointer; /* NULL: they are right */
    } cases[] = {
        {"{\"x\": 1, \"y\": \"a\"}", NULL},
        {"{\"y\": true, \"x\": -1.5e300}", NULL},
        {"{\"x\": 1}", "/s/y"},
        {"{\"x\": 1, \"y\": null}", "/s/y"},
        {"{\"x\": [1, {\"b\": null}], \"y\": {}}", NULL},
        {"{\"x\": 1, \"y\": [1, {\"b\": \"a\\u0000b\"}]}", "/s/y/1/b"},
        {"{\"x\": 1, \"y\": 2, \"a/b\": 3}", "/s/a~1b"},
        {"{\"x\": 1, \"y\": \"a\\u0000b\"}", "/s/y"},
    };
    json_t *json;
    struct params *p = parse("{\"open\": [\"x\", \"y\"]}", &json);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *values = json_loads(cases[i].values, JSON_ALLOW_NUL, NULL);
        struct error err = {.pointer = ""};
        int rc = suggestion_check(p, values, false, "/s", &err);

        assert_int_equal(rc, cases[i].pointer == NULL ? 0 : -1);
        if (cases[i].pointer != NULL)
            assert_string_equal(err.pointer, cases[i].pointer);
        json_decref(values);
    }
    params_destroy(p);
    json_decref(json);
}

/* Each of them would fit into an environment variable, but not all of them. */
static void a_suggestion_has_room_for_its_values_together(void **state)
{
    json_t *json, *values = json_object();
    struct params *p = parse("{\"open\": [\"x\", \"y\"]}", &json);
    static char half[40001];
    struct error err;

    memset(half, 'v', sizeof half - 1);
    json_object_set_new(values, "x", json_string(half));
    json_object_set_new(values, "y", json_string(half + 20000));
    assert_int_equal(suggestion_check(p, values, false, "/s", &err), 0);
    json_object_set_new(values, "y", json_string(half));
    assert_int_equal(suggestion_check(p, values, false, "/s", &err), -1);
    assert_string_equal(err.pointer, "/s");
    json_decref(values);
    params_destroy(p);
    json_decref(json);
}

static void a_training_gets_numbers(void **state)
{
    json_t *json, *values = json_pack("{s:i, s:s}", "x", 1, "y", "2");
    struct params *p = parse("{\"open\": [\"x\", \"y\"], \"most\": 12}", &json);
    struct error err;

    assert_int_equal(params_most(p), 12);
    assert_int_equal(suggestion_check(p, values, false, "/s", &err), 0);
    assert_int_equal(suggestion_check(p, values, true, "/s", &err), -1);
    assert_string_equal(err.pointer, "/s/y");
    json_object_set_new(values, "y", json_real(2.5));
    assert_int_equal(suggestion_check(p, values, true, "/s", &err), 0);
    json_decref(values);
    params_destroy(p);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halton_without_seed_is_the_published_sequence),
        cmocka_unit_test(halton_has_a_prime_for_each_dimension),
        cmocka_unit_test(seeds_of_members_are_drawn_from_the_seed),
        cmocka_unit_test(draws_stay_the_same_for_ever),
        cmocka_unit_test(latin_hypercube_has_one_point_in_each_stratum),
        cmocka_unit_test(monte_carlo_is_uniform),
        cmocka_unit_test(a_member_is_a_function_of_spec_and_index),
        cmocka_unit_test(a_grid_names_every_point_once),
        cmocka_unit_test(a_grid_goes_through_its_values_in_order),
        cmocka_unit_test(without_parameters_there_is_one_member),
        cmocka_unit_test(reals_are_given_exactly),
        cmocka_unit_test(templates),
        cmocka_unit_test(structures_in_templates),
        cmocka_unit_test(suggestions_are_asked_for),
        cmocka_unit_test(suggestions_are_checked),
        cmocka_unit_test(a_suggestion_has_room_for_its_values_together),
        cmocka_unit_test(a_training_gets_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

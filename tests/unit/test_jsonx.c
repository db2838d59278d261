#include "common/jsonx.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    return value;
}

static void pointers_escape(void **state)
{
    char buf[64];

    assert_string_equal(jsonx_pointer(buf, sizeof buf, "/members", "a/b~c"), "/members/a~1b~0c");
    assert_string_equal(jsonx_pointer(buf, 8, "/members", "abc"), "/member");
    assert_string_equal(jsonx_pointer(buf, sizeof buf, "", ""), "/");
}

/* A part that has no room is left out, to the byte, and nothing is written beyond it. */
static void pointers_are_cut(void **state)
{
    static const char whole[] = "/a/b~1c~0d";

    for (size_t size = 1; size < sizeof whole + 3; size++) {
        char *buf = malloc(size);
        size_t length;

        assert_ptr_equal(jsonx_pointer(buf, size, "/a", "b/c~d"), buf);
        length = strlen(buf);
        assert_true(length < size && length + 4 > (size < sizeof whole ? size : sizeof whole));
        assert_memory_equal(buf, whole, length);
        assert_true(length == 0 || buf[length - 1] != '~'); /* no half of an escape */
        free(buf);
    }
}

static void each_reader_names_the_place(void **state)
{
    json_t *obj = parse("{\"s\": 1, \"i\": 1.5, \"d\": \"10\", \"l\": [\"a\", 2], \"n\": null, \"e\": \"\"}");
    struct error err;
    const char *s = NULL;
    int64_t n = 7;
    const json_t *list;

    assert_int_equal(jsonx_string(obj, "/x", "s", JSONX_OPTIONAL, &s, &err), -1);
    assert_string_equal(err.code, "spec_wrong_type");
    assert_string_equal(err.pointer, "/x/s");
    assert_int_equal(jsonx_string(obj, "/x", "e", JSONX_OPTIONAL, &s, &err), -1);
    assert_int_equal(jsonx_int(obj, "", "i", JSONX_REQUIRED, 0, 10, &n, &err), -1);
    assert_string_equal(err.pointer, "/i");
    assert_int_equal(jsonx_duration(obj, "", "d", JSONX_REQUIRED, 0, &n, &err), -1);
    assert_string_equal(err.code, "spec_impossible_value");
    assert_int_equal(jsonx_strings(obj, "", "l", JSONX_REQUIRED, 1, &list, &err), -1);
    assert_string_equal(err.pointer, "/l/1");
    assert_int_equal(jsonx_int(obj, "", "n", JSONX_OPTIONAL, 0, 10, &n, &err), 0);
    assert_int_equal(n, 7);
    assert_int_equal(jsonx_int(obj, "", "n", JSONX_REQUIRED, 0, 10, &n, &err), -1);
    assert_string_equal(err.code, "spec_missing_key");
    json_decref(obj);
}

/* One of each reader, whose value goes to a place of its own. */
union read {
    const char *s;
    int64_t n;
    double x;
    bool b;
    const json_t *json;
};

static int read_string(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_string(obj, "/x", key, need, &out->s, err);
}

static int read_int(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_int(obj, "/x", key, need, -3, 5, &out->n, err);
}

static int read_bool(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_bool(obj, "/x", key, need, &out->b, err);
}

static int read_number(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_number(obj, "/x", key, need, &out->x, err);
}

static int read_duration(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_duration(obj, "/x", key, need, 2000, &out->n, err);
}

static int read_size(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_size(obj, "/x", key, need, &out->n, err);
}

static int read_object(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_object(obj, "/x", key, need, &out->json, err);
}

static int read_array(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_array(obj, "/x", key, need, 2, &out->json, err);
}

static int read_strings(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err)
{
    return jsonx_strings(obj, "/x", key, need, 2, &out->json, err);
}

typedef int reader(const json_t *obj, const char *key, enum jsonx_need need, union read *out, struct error *err);

/* A value that the reader takes (code NULL), or refuses with a code, and words that must be in the sentence. */
static const struct {
    reader *read;
    const char *value, *code, *words;
} readings[] = {
    {read_string, "\"a\"", NULL, NULL},
    {read_string, "\"\"", "spec_impossible_value", "empty"},
    {read_string, "7", "spec_wrong_type", "an integer"},
    {read_string, "[]", "spec_wrong_type", "an array"},
    {read_string, "{}", "spec_wrong_type", "an object"},
    {read_string, "0.5", "spec_wrong_type", "a number"},
    {read_string, "true", "spec_wrong_type", "true or false"},
    {read_string, "false", "spec_wrong_type", "true or false"},
    {read_int, "-3", NULL, NULL},
    {read_int, "5", NULL, NULL},
    {read_int, "-4", "spec_impossible_value", "-3 and 5, not -4"},
    {read_int, "6", "spec_impossible_value", "-3 and 5, not 6"},
    {read_int, "1.0", "spec_wrong_type", "a number"},
    {read_int, "\"1\"", "spec_wrong_type", "a string"},
    {read_bool, "true", NULL, NULL},
    {read_bool, "false", NULL, NULL},
    {read_bool, "0", "spec_wrong_type", "an integer"},
    {read_number, "0.25", NULL, NULL},
    {read_number, "-7", NULL, NULL},
    {read_number, "\"7\"", "spec_wrong_type", "a string"},
    {read_duration, "\"2s\"", NULL, NULL},
    {read_duration, "\"1h\"", NULL, NULL},
    {read_duration, "\"1999ms\"", "spec_impossible_value", "2000 ms"},
    {read_duration, "\"soon\"", "spec_impossible_value", "soon"},
    {read_duration, "10", "spec_wrong_type", "a duration"},
    {read_size, "\"2kB\"", NULL, NULL},
    {read_size, "\"2 kB\"", "spec_impossible_value", "2 kB"},
    {read_size, "2000", "spec_wrong_type", "a size"},
    {read_object, "{}", NULL, NULL},
    {read_object, "[]", "spec_wrong_type", "an array"},
    {read_array, "[1, \"a\"]", NULL, NULL},
    {read_array, "[1]", "spec_impossible_value", "2 items"},
    {read_array, "{}", "spec_wrong_type", "an object"},
    {read_strings, "[\"a\", \"\"]", NULL, NULL},
    {read_strings, "[\"a\"]", "spec_impossible_value", "2 items"},
    {read_strings, "\"a\"", "spec_wrong_type", "a string"},
};

static bool is_value(reader *read, const union read *got, json_t *value)
{
    if (read == read_string)
        return strcmp(got->s, json_string_value(value)) == 0;
    if (read == read_int)
        return got->n == json_integer_value(value);
    if (read == read_bool)
        return got->b == json_is_true(value);
    if (read == read_number)
        return got->x == json_number_value(value);
    if (read == read_duration)
        return got->n == (strcmp(json_string_value(value), "2s") == 0 ? 2000 : 3600000);
    if (read == read_size)
        return got->n == 2000;
    return got->json == value;
}

static void each_reader_takes_what_it_is_for(void **state)
{
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        json_t *value = json_loads(readings[i].value, JSON_DECODE_ANY, NULL),
               *obj = json_pack("{s:o, s:n}", "k", value, "n");
        union read got, before;
        struct error err = {0};

        memset(&got, 0x55, sizeof got);
        before = got;
        assert_int_equal(readings[i].read(obj, "k", JSONX_REQUIRED, &got, &err), readings[i].code ? -1 : 0);
        if (readings[i].code == NULL) {
            if (!is_value(readings[i].read, &got, value))
                fail_msg("%s was read as something else", readings[i].value);
        } else {
            assert_memory_equal(&got, &before, sizeof got);
            assert_string_equal(err.code, readings[i].code);
            assert_string_equal(err.pointer, "/x/k");
            if (strstr(err.text, readings[i].words) == NULL)
                fail_msg("%s: %s", readings[i].value, err.text);
        }
        for (int null = 0; null < 2; null++) { /* null is as good as nothing */
            got = before;
            assert_int_equal(readings[i].read(obj, null ? "n" : "none", JSONX_OPTIONAL, &got, &err), 0);
            assert_memory_equal(&got, &before, sizeof got);
            assert_int_equal(readings[i].read(obj, null ? "n" : "none", JSONX_REQUIRED, &got, &err), -1);
            assert_string_equal(err.code, "spec_missing_key");
            assert_string_equal(err.pointer, null ? "/x/n" : "/x/none");
        }
        json_decref(obj);
    }
}

static void items_are_counted_in_words(void **state)
{
    json_t *obj = parse("{\"l\": []}");
    const json_t *list = NULL;
    struct error err;

    assert_int_equal(jsonx_array(obj, "", "l", JSONX_REQUIRED, 1, &list, &err), -1);
    assert_non_null(strstr(err.text, "1 item"));
    assert_null(strstr(err.text, "items"));
    assert_int_equal(jsonx_array(obj, "", "l", JSONX_REQUIRED, 0, &list, &err), 0);
    assert_ptr_equal(list, json_object_get(obj, "l"));
    json_decref(obj);
}

/* Whom a slip of the hand costs no look into the documents. */
static void who_mistypes_a_key_is_told_the_right_one(void **state)
{
    static const char *const known[] = {"walltime", "ntasks", "adapter", "env", "a-key-of-more-than-forty-characters-in-all", NULL};
    static const struct {
        const char *key, *meant; /* NULL: nothing like it is known */
    } keys[] = {{"waltime", "walltime"}, {"walltimes", "walltime"}, {"wallt1me", "walltime"}, {"walltiem", "walltime"},
                {"awlltime", "walltime"}, {"wall_time_", "walltime"}, {"ntask", "ntasks"}, {"tasks", "ntasks"}, {"adaptor", "adapter"},
                {"dapater", "adapter"}, {"en", "env"}, {"evn", "env"}, {"nev", "env"}, {"vne", NULL}, {"x", NULL}, {"en12", "env"}, {"en123", NULL}, {"ex1", NULL},
                {"wall", NULL}, {"timewall", NULL}, {"ab", NULL}, {"something-else", NULL}, {"time", NULL},
                {"a-key-of-more-than-forty-characters-in-al", NULL}};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *obj = json_pack("{s:i}", keys[i].key, 1);
        char wanted[64];
        struct error err;

        assert_int_equal(jsonx_only(obj, "", known, &err), -1);
        snprintf(wanted, sizeof wanted, "did you mean \"%s\"", keys[i].meant ? keys[i].meant : "");
        if ((keys[i].meant != NULL) != (strstr(err.text, wanted) != NULL) ||
            (keys[i].meant == NULL && strstr(err.text, "did you mean")))
            fail_msg("\"%s\": %s", keys[i].key, err.text);
        assert_non_null(strstr(err.text, "walltime, ntasks, adapter, env, a-key"));
        json_decref(obj);
    }
}

static void the_nearest_of_two_is_meant(void **state)
{
    static const char *const known[] = {"until", "units", NULL}, *const turned[] = {"units", "until", NULL};
    json_t *obj = parse("{\"unit\": 1}"), *other = parse("{\"untill\": 1}");
    struct error err;

    assert_int_equal(jsonx_only(obj, "", turned, &err), -1); /* both are as near: the first */
    assert_non_null(strstr(err.text, "mean \"units\""));
    assert_int_equal(jsonx_only(other, "", known, &err), -1);
    assert_non_null(strstr(err.text, "mean \"until\""));
    assert_int_equal(jsonx_only(other, "", turned, &err), -1);
    assert_non_null(strstr(err.text, "mean \"until\""));
    json_decref(obj);
    json_decref(other);
}

/* A parameter may be inside another, or have a dot in its name. */
static void values_are_reached_by_their_path(void **state)
{
    static const struct {
        const char *path;
        int value; /* 0: there is none */
    } paths[] = {{"a", 1}, {"b.c", 2}, {"b.d.e", 3}, {"f.g", 4}, {"f.g.h", 0}, {"i.0", 5}, {"i.1", 6}, {"i.2", 0}, {"i.1.x", 0},
                 {"i.2.k", 0}, {"j.0.k", 7}, {"j.0.l.1", 8}, {"j.00.k", 7}, {"m.n.o", 9}, {"m.n.p", 0}, {"", 0}, {".", 0}, {"b.", 0}, {".a", 0},
                 {"i.", 0}, {"i.x", 0}, {"i.0x", 0}, {"i.-1", 0}, {"i.4294967296", 0}, {"i.0000000000", 0}, {"b", -1}, {"q.r.s.t", 10},
                 {"nothing", 0}, {"a.b", 0}};
    json_t *obj = parse("{\"a\": 1, \"b\": {\"c\": 2, \"d\": {\"e\": 3}}, \"f.g\": 4, \"i\": [5, 6], \"j\": [{\"k\": 7, \"l\": [0, 8]}],"
                        " \"m.n\": {\"o\": 9}, \"m\": {\"n\": {\"p\": 11}}, \"q.r\": {\"s.t\": 10}}");
    char longest[JSONX_PATH_MAX + 2], *dot;
    json_t *deep;

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const json_t *value = jsonx_reach(obj, paths[i].path);

        if (paths[i].value < 0)
            assert_ptr_equal(value, json_object_get(obj, paths[i].path));
        else if (paths[i].value != (value != NULL ? (int)json_integer_value(value) : 0))
            fail_msg("\"%s\" leads to %s", paths[i].path, value ? "something else" : "nothing");
    }
    memset(longest, 'y', sizeof longest);
    longest[JSONX_PATH_MAX] = '\0';
    dot = &longest[JSONX_PATH_MAX / 2];
    *dot = '\0';
    deep = json_pack("{s:{s:i}}", longest, dot + 1, 1);
    *dot = '.';
    assert_int_equal(json_integer_value(jsonx_reach(deep, longest)), 1);
    longest[JSONX_PATH_MAX] = 'y';
    longest[JSONX_PATH_MAX + 1] = '\0';
    assert_null(jsonx_reach(deep, longest));
    json_decref(deep);
    json_decref(obj);
}

static void unknown_keys_are_refused(void **state)
{
    static const char *const known[] = {"a", "b", NULL};
    json_t *good = parse("{\"a\": 1}"), *bad = parse("{\"a\": 1, \"bb\": 2}");
    struct error err;

    assert_int_equal(jsonx_only(good, "", known, &err), 0);
    assert_int_equal(jsonx_only(bad, "/m", known, &err), -1);
    assert_string_equal(err.code, "spec_unknown_key");
    assert_string_equal(err.pointer, "/m/bb");
    json_decref(good);
    json_decref(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_escape),
        cmocka_unit_test(each_reader_names_the_place),
        cmocka_unit_test(unknown_keys_are_refused),
        cmocka_unit_test(pointers_are_cut),
        cmocka_unit_test(each_reader_takes_what_it_is_for),
        cmocka_unit_test(items_are_counted_in_words),
        cmocka_unit_test(who_mistypes_a_key_is_told_the_right_one),
        cmocka_unit_test(the_nearest_of_two_is_meant),
        cmocka_unit_test(values_are_reached_by_their_path),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "daemon/spec/value.h"

#include "common/jsonx.h"
#include "common/text.h"
#include "daemon/spec/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool arrays_equal(const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!value_equal(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return json_array_size(a) == json_array_size(b);
}

static bool objects_equal(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)a, key, value)
        if (!value_equal(value, json_object_get(b, key)))
            return false;
    return json_object_size(a) == json_object_size(b);
}

bool value_equal(const json_t *a, const json_t *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return json_number_value(a) == json_number_value(b);
    if (json_is_array(a) && json_is_array(b))
        return arrays_equal(a, b);
    if (json_is_object(a) && json_is_object(b))
        return objects_equal(a, b);
    return json_equal(a, b);
}

static int check_inside(const json_t *value, int depth, const char *at, struct error *err)
{
    char place[256];
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
        return error_at(err, "spec_impossible_value", at, "the text has a zero byte, which no command can be given");
    if ((json_is_array(value) || json_is_object(value)) && depth == VALUE_DEPTH_MAX)
        return error_at(err, "spec_impossible_value", at, "more than %d lists and objects are in one another",
                        VALUE_DEPTH_MAX);
    json_object_foreach ((json_t *)value, key, item)
        if (check_inside(item, depth + 1, jsonx_pointer(place, sizeof place, at, key), err) < 0)
            return -1;
    json_array_foreach (value, i, item) {
        snprintf(place, sizeof place, "%.200s/%zu", at, i);
        if (check_inside(item, depth + 1, place, err) < 0)
            return -1;
    }
    return 0;
}

int value_check(const json_t *value, const char *at, struct error *err)
{
    struct text text = {0};
    size_t size;

    if (json_is_null(value))
        return error_at(err, "spec_wrong_type", at,
                        "a parameter is a number, a string, a boolean, a list or an object, and not null");
    if (check_inside(value, 0, at, err) < 0)
        return -1;
    text_json(&text, value);
    size = text.size;
    free(text.data);
    if (size > ROWS_BYTES_MAX)
        return error_at(err, "spec_impossible_value", at,
                        "the value has %zu bytes as JSON, and a program's environment takes %zu", size, ROWS_BYTES_MAX);
    return 0;
}

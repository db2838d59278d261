#include "tasks/proto/fields.h"
#include "tasks/proto/frame.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD 24

static const struct frame example = {
    .kind = FRAME_SAMPLE,
    .key = 0x9f86d081884c7d65u,
    .ensemble = 7,
    .member = 123,
    .session = 0x1122334455667788u,
    .attempt = 2,
    .generation = 3,
    .step = 99,
    .sequence = 41,
    .field = 5,
    .dtype = 1,
    .ndim = 2,
    .shape = {2, 3},
    .length = PAYLOAD,
};

/* A message of exactly its size on the heap, so that a sanitizer sees any read beyond it; to be freed. */
static uint8_t *message(struct frame f, int checksum)
{
    uint8_t *m = malloc(FRAME_HEADER_SIZE + PAYLOAD);

    for (int i = 0; i < PAYLOAD; i++)
        m[FRAME_HEADER_SIZE + i] = (uint8_t)(i * 7);
    if (checksum) {
        f.flags = FRAME_PAYLOAD_CHECKSUM;
        f.payload_checksum = frame_checksum(m + FRAME_HEADER_SIZE, PAYLOAD);
    }
    frame_encode(&f, m);
    return m;
}

static enum frame_fault decode(const uint8_t *m)
{
    struct frame f;

    return frame_decode(m, FRAME_HEADER_SIZE + PAYLOAD, &f);
}

static void what_is_written_is_read(void **state)
{
    for (int checksum = 0; checksum < 2; checksum++) {
        uint8_t *m = message(example, checksum);
        struct frame f;

        assert_int_equal(frame_decode(m, FRAME_HEADER_SIZE + PAYLOAD, &f), FRAME_OK);
        f.flags = 0;
        f.payload_checksum = 0;
        assert_memory_equal(&f, &example, sizeof f);
        free(m);
    }
}

/* The documented bytes: a program in another language depends on them. */
static void the_layout_is_the_documented_one(void **state)
{
    static const uint8_t begin[] = {'S', 'T', 'R', 'T', 1, 0, 3, 0, 0x65, 0x7d, 0x4c, 0x88, 0x81, 0xd0, 0x86, 0x9f};
    uint8_t *m = message(example, 0);

    assert_memory_equal(m, begin, sizeof begin);
    assert_int_equal(m[16], 7);
    assert_int_equal(m[24], 123);
    assert_int_equal(m[32], 0x88);
    assert_int_equal(m[40], 2);
    assert_int_equal(m[44], 3);
    assert_int_equal(m[48], 99);
    assert_int_equal(m[56], 41);
    assert_int_equal(m[64], 5);
    assert_int_equal(m[66], 1);
    assert_int_equal(m[67], 2);
    assert_int_equal(m[72], 2);
    assert_int_equal(m[80], 3);
    assert_int_equal(m[104], PAYLOAD);
    free(m);
}

static void every_flipped_bit_is_seen(void **state)
{
    uint8_t *m = message(example, 1);

    for (int bit = 0; bit < (FRAME_HEADER_SIZE + PAYLOAD) * 8; bit++) {
        m[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_true(decode(m) != FRAME_OK);
        m[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(decode(m), FRAME_OK);
    free(m);
}

static void every_truncation_is_seen(void **state)
{
    uint8_t *whole = message(example, 0);

    for (size_t size = 0; size < FRAME_HEADER_SIZE + PAYLOAD; size++) {
        uint8_t *m = malloc(size ? size : 1);
        struct frame f;

        memcpy(m, whole, size);
        assert_int_equal(frame_decode(m, size, &f), size < FRAME_HEADER_SIZE ? FRAME_SHORT : FRAME_BAD_LENGTH);
        free(m);
    }
    free(whole);
}

static enum frame_fault fault_of(struct frame f)
{
    uint8_t *m = message(f, 0);
    enum frame_fault fault = decode(m);

    free(m);
    return fault;
}

/* Then only the place follows the header, and the payload's checksum is not this one's to verify. */
static void a_payload_in_memory_has_a_place(void **state)
{
    struct frame f = example, g;
    uint8_t m[FRAME_HEADER_SIZE + FRAME_PLACE_SIZE];

    f.flags = FRAME_IN_MEMORY | FRAME_PAYLOAD_CHECKSUM;
    f.payload_checksum = 1;
    f.length = (uint64_t)1 << 40;
    frame_encode(&f, m);
    frame_encode_place(0x1234567890abcdefu, m + FRAME_HEADER_SIZE);
    assert_true(m[FRAME_HEADER_SIZE] == 0xef && m[FRAME_HEADER_SIZE + 7] == 0x12);
    assert_int_equal(frame_decode(m, sizeof m, &g), FRAME_OK);
    assert_true(frame_is_in_memory(&g) && g.place == 0x1234567890abcdefu && g.length == f.length);
    assert_int_equal(frame_decode(m, sizeof m - 1, &g), FRAME_BAD_LENGTH);
    f.flags |= FRAME_MORE;
    frame_encode(&f, m);
    assert_int_equal(frame_decode(m, sizeof m, &g), FRAME_BAD_FLAGS);
    f.flags = FRAME_IN_MEMORY;
    f.payload_checksum = 0;
    f.kind = FRAME_HELLO;
    frame_encode(&f, m);
    assert_int_equal(frame_decode(m, sizeof m, &g), FRAME_BAD_FLAGS);
    f.kind = FRAME_WELCOME; /* where it says something else */
    f.length = 0;
    frame_encode(&f, m);
    assert_int_equal(frame_decode(m, FRAME_HEADER_SIZE, &g), FRAME_OK);
    assert_true(!frame_is_in_memory(&g) && g.place == 0);
    f.flags |= FRAME_MORE;
    frame_encode(&f, m);
    assert_int_equal(frame_decode(m, sizeof m, &g), FRAME_BAD_FLAGS);
}

static void impossible_headers_are_refused(void **state)
{
    struct frame f;

    f = example, f.kind = 0;
    assert_int_equal(fault_of(f), FRAME_BAD_KIND);
    f = example, f.kind = 10;
    assert_int_equal(fault_of(f), FRAME_BAD_KIND);
    f = example, f.flags = 8;
    assert_int_equal(fault_of(f), FRAME_BAD_FLAGS);
    f = example, f.payload_checksum = 1;
    assert_int_equal(fault_of(f), FRAME_BAD_FLAGS);
    f = example, f.ndim = 5;
    assert_int_equal(fault_of(f), FRAME_BAD_SHAPE);
    f = example, f.shape[3] = 1;
    assert_int_equal(fault_of(f), FRAME_BAD_SHAPE);
    f = example, f.step = -1;
    assert_int_equal(fault_of(f), FRAME_BAD_STEP);
    f = example, f.length = PAYLOAD + 1;
    assert_int_equal(fault_of(f), FRAME_BAD_LENGTH);
    f = example, f.length = UINT64_MAX - FRAME_HEADER_SIZE + 1 + PAYLOAD;
    assert_int_equal(fault_of(f), FRAME_BAD_LENGTH);
    f = example, f.flags = FRAME_PAYLOAD_CHECKSUM, f.payload_checksum = 1;
    assert_int_equal(fault_of(f), FRAME_BAD_PAYLOAD);
}

/* Several small frames in one message: each says whether another follows, and none reads beyond its place. */
static void frames_share_a_message(void **state)
{
    size_t span = FRAME_HEADER_SIZE + PAYLOAD;
    uint8_t *one = message(example, 0), *both = malloc(2 * span), *large = calloc(1, 3 * FRAME_SHARING_MAX);
    struct frame f = example;

    assert_int_equal(frame_span(&f), span);
    f.length--;
    assert_int_equal(frame_span(&f), span);
    memcpy(both, one, span);
    memcpy(both + span, one, span);
    assert_int_equal(frame_decode(both, 2 * span, &f), FRAME_BAD_LENGTH); /* it does not say so */
    f = example, f.flags = FRAME_MORE;
    frame_encode(&f, both);
    assert_int_equal(frame_decode(both, 2 * span, &f), FRAME_OK);
    assert_int_equal(f.flags, FRAME_MORE);
    assert_int_equal(frame_decode(both + frame_span(&f), 2 * span - frame_span(&f), &f), FRAME_OK);
    assert_int_equal(f.flags, 0);
    assert_int_equal(frame_decode(both, span + FRAME_HEADER_SIZE, &f), FRAME_OK);
    assert_int_equal(frame_decode(both, span + FRAME_HEADER_SIZE - 1, &f), FRAME_BAD_LENGTH); /* no room for another */
    assert_int_equal(frame_decode(both, span, &f), FRAME_BAD_LENGTH);
    f = example, f.flags = FRAME_MORE, f.kind = FRAME_FINALIZE;
    frame_encode(&f, both);
    assert_int_equal(frame_decode(both, 2 * span, &f), FRAME_BAD_FLAGS);

    f = example, f.flags = FRAME_MORE, f.length = FRAME_SHARING_MAX - FRAME_HEADER_SIZE;
    frame_encode(&f, large);
    assert_int_equal(frame_decode(large, 3 * FRAME_SHARING_MAX, &f), FRAME_OK);
    f.length++;
    frame_encode(&f, large);
    assert_int_equal(frame_decode(large, 3 * FRAME_SHARING_MAX, &f), FRAME_BAD_LENGTH);
    f.length = UINT64_MAX;
    frame_encode(&f, large);
    assert_int_equal(frame_decode(large, 3 * FRAME_SHARING_MAX, &f), FRAME_BAD_LENGTH);
    free(one);
    free(both);
    free(large);
}

static int parse(const char *text, struct field_set *set, struct error *err)
{
    json_t *json = json_loads(text, 0, NULL);
    int rc;

    assert_non_null(json);
    rc = field_set_parse(json, "/training/fields", set, err);
    json_decref(json);
    return rc;
}

static void fields_are_numbered_by_name(void **state)
{
    struct field_set set;
    struct error err;

    assert_int_equal(
        parse("{\"v\": {\"dtype\": \"int64\", \"shape\": []}, \"a\": {\"dtype\": \"float32\", \"shape\": [2, 5]}}",
              &set, &err),
        0);
    assert_int_equal(field_set_find(&set, "a"), 0);
    assert_int_equal(field_set_find(&set, "v"), 1);
    assert_int_equal(field_set_find(&set, "x"), -1);
    assert_int_equal(set.field[0].bytes, 40);
    assert_int_equal(set.field[1].bytes, 8);
    field_set_fini(&set);
}

static void wrong_fields_are_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *pointer;
    } wrong[] = {
        {"{}", "/training/fields"},
        {"{\"u\": 3}", "/training/fields/u"},
        {"{\"u\": {\"shape\": [1]}}", "/training/fields/u/dtype"},
        {"{\"u\": {\"dtype\": \"complex\", \"shape\": [1]}}", "/training/fields/u/dtype"},
        {"{\"u\": {\"dtype\": \"float32\"}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [0]}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [-1, 3]}}", "/training/fields/u/max"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [-1, 3], \"max\": 0}}", "/training/fields/u/max"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [-2, 3], \"max\": 4}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [3, -1], \"max\": 4}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [-1, 4], \"max\": 4611686018427387904}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [1.5]}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [1,1,1,1,1]}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [4294967296, 4294967296]}}", "/training/fields/u/shape"},
        {"{\"u\": {\"dtype\": \"float32\", \"shape\": [8589934592]}}", "/training/fields/u/shape"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct field_set set;
        struct error err;

        assert_int_equal(parse(wrong[i].text, &set, &err), -1);
        assert_string_equal(err.pointer, wrong[i].pointer);
    }
}

static void a_field_takes_what_is_declared_and_whole(void **state)
{
    static const struct {
        int field, ndim;
        uint64_t shape[FRAME_MAX_DIMS], length;
        bool taken;
    } frames[] = {
        {0, 2, {7, 3}, 84, true},      {0, 2, {0, 3}, 0, true},    {0, 2, {1, 3}, 12, true},   {0, 2, {8, 3}, 96, false},
        {0, 2, {7, 3}, 83, false},     {0, 2, {7, 3}, 85, false},  {0, 2, {6, 3}, 84, false},  {0, 2, {7, 2}, 56, false},
        {0, 1, {21}, 84, false},       {0, 2, {0, 3}, 12, false},  {0, 2, {EXTENT_VARIES, 3}, 84, false},
        {0, 2, {((uint64_t)1 << 62) + 1, 3}, 12, false},           {1, 1, {2}, 16, true},      {1, 1, {1}, 8, false},
        {1, 1, {2}, 8, false},         {1, 1, {EXTENT_VARIES}, 16, false},                     {2, 0, {0}, 1, true},
        {2, 0, {0}, 0, false},         {2, 1, {1}, 1, false},
    };
    struct field_set set;
    struct error err;

    assert_int_equal(parse("{\"a\": {\"dtype\": \"float32\", \"shape\": [-1, 3], \"max\": 7}, \"b\": {\"dtype\": \"int64\", "
                           "\"shape\": [2]}, \"c\": {\"dtype\": \"uint8\", \"shape\": []}}", &set, &err), 0);
    assert_true(field_varies(&set.field[0]) && !field_varies(&set.field[1]) && !field_varies(&set.field[2]));
    assert_true(set.field[0].bytes == 84 && set.field[0].unit == 12 && set.field[0].count == 21);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        struct frame f = {.dtype = (uint8_t)set.field[frames[i].field].dtype, .ndim = (uint8_t)frames[i].ndim,
                          .length = frames[i].length};

        memcpy(f.shape, frames[i].shape, sizeof f.shape);
        if (field_takes(&set.field[frames[i].field], &f) != frames[i].taken)
            fail_msg("frame %zu", i);
        f.dtype = STRETTO_FLOAT64;
        assert_false(field_takes(&set.field[frames[i].field], &f));
    }
    field_set_fini(&set);
}

static void every_kind_is_read_and_no_other(void **state)
{
    for (int kind = 0; kind <= 10; kind++) {
        struct frame f = example, g;
        uint8_t *m;

        f.kind = (enum frame_kind)kind;
        m = message(f, 0);
        assert_int_equal(frame_decode(m, FRAME_HEADER_SIZE + PAYLOAD, &g),
                         kind >= 1 && kind <= 9 ? FRAME_OK : FRAME_BAD_KIND);
        assert_true(kind < 1 || kind > 9 || (int)g.kind == kind);
        free(m);
    }
}

/* The largest of what fits into each place of a header stays what it is. */
static void the_largest_of_each_is_read(void **state)
{
    struct frame f = example, g;
    uint8_t *m;

    f.key = f.ensemble = f.member = f.session = f.sequence = UINT64_MAX;
    f.attempt = f.generation = UINT32_MAX;
    f.step = INT64_MAX;
    f.field = UINT16_MAX;
    f.dtype = UINT8_MAX;
    f.ndim = FRAME_MAX_DIMS;
    for (int i = 0; i < FRAME_MAX_DIMS; i++)
        f.shape[i] = UINT64_MAX - (uint64_t)i;
    m = message(f, 0);
    assert_int_equal(frame_decode(m, FRAME_HEADER_SIZE + PAYLOAD, &g), FRAME_OK);
    assert_memory_equal(&f, &g, sizeof f);
    free(m);
}

/* So many fields, so many dimensions and so many bytes, and not one more. */
static void a_stream_has_limits(void **state)
{
    for (int n = FIELDS_MAX; n <= FIELDS_MAX + 1; n++) {
        json_t *fields = json_object();
        struct field_set set;
        struct error err;
        char name[16];

        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "f%04d", i);
            json_object_set_new(fields, name, json_pack("{s:s, s:[]}", "dtype", "uint8", "shape"));
        }
        assert_int_equal(field_set_parse(fields, "/f", &set, &err), n > FIELDS_MAX ? -1 : 0);
        if (n <= FIELDS_MAX) {
            assert_int_equal(set.count, FIELDS_MAX);
            assert_int_equal(field_set_find(&set, "f0000"), 0);
            assert_int_equal(field_set_find(&set, name), FIELDS_MAX - 1);
            field_set_fini(&set);
            assert_int_equal(set.count, 0);
        }
        json_decref(fields);
    }
    for (int i = 0; i < 6; i++) {
        static const char *const texts[] = {
            "{\"u\": {\"dtype\": \"uint8\", \"shape\": [17179869184]}}", "{\"u\": {\"dtype\": \"uint8\", \"shape\": [17179869185]}}",
            "{\"u\": {\"dtype\": \"float64\", \"shape\": [2, 1073741824]}}", "{\"u\": {\"dtype\": \"float64\", \"shape\": [2, 1073741825]}}",
            "{\"u\": {\"dtype\": \"uint8\", \"shape\": [1, 1, 1, 1]}}", "{\"u\": {\"dtype\": \"uint8\", \"shape\": [-1], \"max\": 17179869185}}"};
        struct field_set set;
        struct error err;

        assert_int_equal(parse(texts[i], &set, &err), i % 2 ? -1 : 0);
        if (i % 2 == 0)
            field_set_fini(&set);
        else
            assert_string_equal(err.pointer, "/training/fields/u/shape");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read_and_no_other),
        cmocka_unit_test(the_largest_of_each_is_read),
        cmocka_unit_test(a_stream_has_limits),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(every_truncation_is_seen),
        cmocka_unit_test(a_payload_in_memory_has_a_place),
        cmocka_unit_test(impossible_headers_are_refused),
        cmocka_unit_test(frames_share_a_message),
        cmocka_unit_test(fields_are_numbered_by_name),
        cmocka_unit_test(wrong_fields_are_refused_with_the_place),
        cmocka_unit_test(a_field_takes_what_is_declared_and_whole),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

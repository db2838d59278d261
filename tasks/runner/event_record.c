#include "tasks/runner/event_record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The Castagnoli polynomial, by its bits in reverse. */
static uint32_t crc32c(const unsigned char *data, size_t size)
{
    static uint32_t table[256]; /* all zero but for 0 until it is made */
    uint32_t crc = ~(uint32_t)0;

    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t rest = i;

            for (int bit = 0; bit < 8; bit++)
                rest = rest >> 1 ^ (rest & 1 ? UINT32_C(0x82f63b78) : 0);
            table[i] = rest;
        }
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
    return ~crc;
}

uint32_t event_checksum(const unsigned char *data, size_t size)
{
    uint32_t crc = crc32c(data, size);

    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static uint64_t wire_little_endian(const unsigned char *data, size_t size)
{
    uint64_t value = 0;

    for (size_t i = size; i-- > 0;)
        value = value << 8 | data[i];
    return value;
}

int event_length(const unsigned char header[EVENT_HEADER], uint64_t *length)
{
    *length = wire_little_endian(header, 8);
    return wire_little_endian(header + 8, 4) == event_checksum(header, 8) ? 0 : -1;
}

bool event_is_whole(const unsigned char *event, size_t size)
{
    return wire_little_endian(event + size, 4) == event_checksum(event, size);
}

/* The fields of a message. */
struct wire_message {
    const unsigned char *at, *end;
    bool broken;
};

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
    unsigned number;
    enum wire wire;
    uint64_t value; /* of a number, or the size of bytes */
    const unsigned char *bytes;
};

static uint64_t take_varint(struct wire_message *m)
{
    uint64_t value = 0;

    for (unsigned shift = 0; m->at < m->end && shift < 64; shift += 7) {
        unsigned char byte = *m->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    m->broken = true;
    return 0;
}

static bool message_next_field(struct wire_message *m, struct wire_field *field)
{
    uint64_t key, left;

    if (m->broken || m->at == m->end)
        return false;
    key = take_varint(m);
    *field = (struct wire_field){.number = (unsigned)(key >> 3), .wire = (enum wire)(key & 7)};
    left = (uint64_t)(m->end - m->at);
    switch (field->wire) {
    case WIRE_VARINT: field->value = take_varint(m); return !m->broken;
    case WIRE_FIXED64:
    case WIRE_FIXED32: {
        size_t size = field->wire == WIRE_FIXED64 ? 8 : 4;

        m->broken = m->broken || left < size;
        if (m->broken)
            return false;
        field->value = wire_little_endian(m->at, size);
        m->at += size;
        return true;
    }
    case WIRE_BYTES:
        field->value = take_varint(m);
        m->broken = m->broken || field->value > (uint64_t)(m->end - m->at);
        if (m->broken)
            return false;
        field->bytes = m->at;
        m->at += field->value;
        return true;
    }
    m->broken = true;
    return false;
}

static struct wire_message message_inside(const struct wire_field *field)
{
    return (struct wire_message){field->bytes, field->bytes + field->value, false};
}

static double from_float(uint64_t bits)
{
    uint32_t small = (uint32_t)bits;
    float value;

    memcpy(&value, &small, sizeof value);
    return (double)value;
}

static double from_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static double from_half(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double value = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(1024 + fraction, exponent - 25);

    return bits >> 15 & 1 ? -value : value;
}

/* The types of tensors that are numbers, as TensorFlow counts them; where a message has their values, and how. */
static const struct type {
    unsigned type, field;
    size_t size; /* bytes of one in tensor_content */
    enum wire wire;
} types[] = {
    {1, 5, 4, WIRE_FIXED32},  /* float */
    {2, 6, 8, WIRE_FIXED64},  /* double */
    {3, 7, 4, WIRE_VARINT},   /* int32 */
    {9, 10, 8, WIRE_VARINT},  /* int64 */
    {14, 13, 2, WIRE_VARINT}, /* bfloat16 */
    {19, 13, 2, WIRE_VARINT}, /* half */
};

static double number_of_bits(const struct type *type, uint64_t bits)
{
    switch (type->type) {
    case 1: return from_float(bits);
    case 2: return from_double(bits);
    case 3: return (double)(int32_t)(uint32_t)bits;
    case 9: return (double)(int64_t)bits;
    case 14: return from_float((bits & 0xffff) << 16);
    default: return from_half(bits);
    }
}

/* Returns whether a shape has one item. */
static bool is_one(struct wire_message shape)
{
    struct wire_field field, size;

    while (message_next_field(&shape, &field)) {
        struct wire_message dimension;

        if (field.number == 3 && field.wire == WIRE_VARINT && field.value != 0)
            return false; /* the shape is not known */
        if (field.number != 2 || field.wire != WIRE_BYTES)
            continue;
        dimension = message_inside(&field);
        size.value = 0;
        for (struct wire_field one; message_next_field(&dimension, &one);)
            if (one.number == 1)
                size = one;
        if (size.value != 1)
            return false;
    }
    return !shape.broken;
}

/* Reads the first value of a field that may be repeated: packed, or by itself. */
static void field_first_value(const struct wire_field *field, const struct type *type, bool *has, uint64_t *bits)
{
    struct wire_message packed;
    size_t size = type->wire == WIRE_FIXED64 ? 8 : 4;

    if (*has)
        return;
    if (field->wire == type->wire) {
        *bits = field->value;
        *has = true;
    } else if (field->wire == WIRE_BYTES && type->wire == WIRE_VARINT) {
        packed = message_inside(field);
        *bits = take_varint(&packed);
        *has = !packed.broken;
    } else if (field->wire == WIRE_BYTES && field->value >= size) {
        *bits = wire_little_endian(field->bytes, size);
        *has = true;
    }
}

/* Reads a tensor of one number. */
static bool read_tensor(struct wire_message tensor, double *value)
{
    const struct wire_message whole = tensor;
    const struct type *type = NULL;
    struct wire_field field;
    bool has = false;
    uint64_t bits = 0;

    while (message_next_field(&tensor, &field)) {
        if (field.number == 1 && field.wire == WIRE_VARINT)
            for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                type = types[i].type == field.value ? &types[i] : type;
        if (field.number == 2 && field.wire == WIRE_BYTES && !is_one(message_inside(&field)))
            return false;
    }
    if (tensor.broken || type == NULL)
        return false;
    tensor = whole;
    while (message_next_field(&tensor, &field)) {
        if (field.number == type->field) {
            field_first_value(&field, type, &has, &bits);
        } else if (field.number == 4 && field.wire == WIRE_BYTES && field.value == type->size) {
            bits = wire_little_endian(field.bytes, type->size);
            has = true;
        }
    }
    *value = number_of_bits(type, bits); /* zeros may be left out */
    return !tensor.broken;
}

/* Returns whether a value's metadata names another plugin than that for scalars. */
static bool is_for_others(struct wire_message metadata)
{
    static const char scalars[] = "scalars";
    struct wire_field field, name;

    while (message_next_field(&metadata, &field)) {
        struct wire_message plugin;

        if (field.number != 1 || field.wire != WIRE_BYTES)
            continue;
        plugin = message_inside(&field);
        while (message_next_field(&plugin, &name))
            if (name.number == 1 && name.wire == WIRE_BYTES && name.value > 0)
                return name.value != strlen(scalars) || memcmp(name.bytes, scalars, name.value) != 0;
    }
    return false;
}

/* Reads a value of a summary, if it is a scalar. Returns NULL, or a sentence about the mistake. */
static const char *take_value(struct wire_message value, const char *prefix, struct metric_line *line)
{
    struct metric_value *out = &line->values[line->n];
    struct wire_field field, tag = {0};
    bool is_scalar = false, others = false;
    int size;

    while (message_next_field(&value, &field)) {
        if (field.number == 1 && field.wire == WIRE_BYTES) {
            tag = field;
        } else if (field.number == 2 && field.wire == WIRE_FIXED32) {
            out->value = from_float(field.value);
            is_scalar = true;
        } else if (field.number == 8 && field.wire == WIRE_BYTES) {
            is_scalar = read_tensor(message_inside(&field), &out->value);
        } else if (field.number == 9 && field.wire == WIRE_BYTES) {
            others = is_for_others(message_inside(&field));
        }
    }
    if (value.broken)
        return "it is no event";
    if (!is_scalar || others)
        return NULL;
    if (tag.value > POINTS_NAME_MAX || (tag.value > 0 && memchr(tag.bytes, '\0', tag.value) != NULL))
        return "a tag is too long or no text";
    size = snprintf(out->name, sizeof out->name, "%s%s%.*s", prefix, prefix[0] != '\0' ? "/" : "", (int)tag.value,
                    tag.value > 0 ? (const char *)tag.bytes : "");
    if (tag.value == 0 || size < 0 || (size_t)size >= sizeof out->name || !points_name_valid(out->name))
        return "a tag is empty, too long or no text";
    line->n++;
    return NULL;
}

int event_read(const unsigned char *event, size_t size, const char *prefix, struct metric_line *line, const char **why)
{
    struct wire_message m = {event, event + size, false}, summary;
    struct wire_field field, value;

    *line = (struct metric_line){.has_step = true, .step = 0, .time = NAN, .n = 0};
    *why = NULL;
    while (message_next_field(&m, &field)) {
        if (field.number == 1 && field.wire == WIRE_FIXED64)
            line->time = from_double(field.value);
        else if (field.number == 2 && field.wire == WIRE_VARINT)
            line->step = (int64_t)field.value;
        if (field.number != 5 || field.wire != WIRE_BYTES)
            continue;
        summary = message_inside(&field);
        while (line->n < METRIC_VALUES_MAX && message_next_field(&summary, &value)) {
            const char *wrong =
                value.number == 1 && value.wire == WIRE_BYTES ? take_value(message_inside(&value), prefix, line) : NULL;

            *why = wrong != NULL ? wrong : *why;
        }
        m.broken = m.broken || summary.broken;
    }
    if (m.broken)
        *why = "it is no event";
    else if (line->n > 0 && (line->step > POINTS_STEP_MAX || line->step < -POINTS_STEP_MAX))
        *why = "a step is no number that can be";
    return *why == NULL ? 0 : -1;
}

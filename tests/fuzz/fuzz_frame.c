/* Frames of the stream. If the first byte is odd the header gets its right checksum, or nothing behind it would ever
 * be reached. */
#include "tests/fuzz/fuzz.h"

#include "tasks/proto/fields.h"
#include "tasks/proto/frame.h"

#include <xxhash.h>

static struct field_set fields;

static void parse_fields(void)
{
    json_t *json = json_loads("{\"a\": {\"dtype\": \"uint8\", \"shape\": [-1], \"max\": 40},"
                              " \"b\": {\"dtype\": \"float32\", \"shape\": [-1, 3], \"max\": 5},"
                              " \"c\": {\"dtype\": \"float32\", \"shape\": [2, 3]},"
                              " \"d\": {\"dtype\": \"int64\", \"shape\": []}}", 0, NULL);
    struct error err;

    MUST(field_set_parse(json, "", &fields, &err) == 0);
    json_decref(json);
}

/* What a receiver goes by once a field has taken a frame: the payload is whole elements, as many as the shape says. */
static void check_taken(const struct field *field, const struct frame *f)
{
    uint64_t extent = f->ndim > 0 ? f->shape[0] : 1, bytes = dtype_size(f->dtype);

    if (!field_takes(field, f))
        return;
    MUST(f->dtype == field->dtype && f->ndim == field->ndim);
    MUST(!field_varies(field) || extent <= field->max);
    for (int i = 0; i < f->ndim; i++)
        bytes *= f->shape[i];
    MUST(f->length == bytes && f->length <= field->bytes && f->length == extent * field->unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *message, header[FRAME_HEADER_SIZE];
    struct frame f;
    enum frame_fault fault;

    if (size == 0)
        return 0;
    if (fields.count == 0)
        parse_fields();
    message = (uint8_t *)text_of(data + 1, size - 1);
    if ((data[0] & 1) && size - 1 >= FRAME_HEADER_SIZE) {
        uint64_t sum = XXH3_64bits(message, 120);

        for (int i = 0; i < 8; i++)
            message[120 + i] = (uint8_t)(sum >> (8 * i));
    }
    fault = frame_decode(message, size - 1, &f);
    MUST(frame_fault_text(fault) != NULL);
    if (fault == FRAME_OK) {
        if (frame_is_in_memory(&f))
            MUST(size - 1 == FRAME_HEADER_SIZE + FRAME_PLACE_SIZE && !(f.flags & FRAME_MORE) &&
                 f.place == frame_decode_place(message + FRAME_HEADER_SIZE));
        else if (f.flags & FRAME_MORE)
            MUST(f.kind == FRAME_SAMPLE && frame_span(&f) + FRAME_HEADER_SIZE <= size - 1 &&
                 f.length + FRAME_HEADER_SIZE <= FRAME_SHARING_MAX);
        else
            MUST(f.length == size - 1 - FRAME_HEADER_SIZE);
        MUST(f.step >= 0 && f.ndim <= FRAME_MAX_DIMS);
        for (int i = 0; i < fields.count; i++)
            check_taken(&fields.field[i], &f);
        frame_encode(&f, header);
        MUST(memcmp(header, message, sizeof header) == 0);
    }
    free(message);
    return 0;
}

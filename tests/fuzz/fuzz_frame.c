/* Frames of the stream. Where the first byte is odd the header gets its right checksum, or nothing behind it would ever
 * be reached. */
#include "tests/fuzz/fuzz.h"

#include "tasks/proto/frame.h"

#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *message, header[FRAME_HEADER_SIZE];
    struct frame f;
    enum frame_fault fault;

    if (size == 0)
        return 0;
    message = (uint8_t *)text_of(data + 1, size - 1);
    if ((data[0] & 1) && size - 1 >= FRAME_HEADER_SIZE) {
        uint64_t sum = XXH3_64bits(message, 120);

        for (int i = 0; i < 8; i++)
            message[120 + i] = (uint8_t)(sum >> (8 * i));
    }
    fault = frame_decode(message, size - 1, &f);
    MUST(frame_fault_text(fault) != NULL);
    if (fault == FRAME_OK) {
        if (f.flags & FRAME_MORE)
            MUST(f.kind == FRAME_SAMPLE && frame_span(&f) + FRAME_HEADER_SIZE <= size - 1 &&
                 f.length + FRAME_HEADER_SIZE <= FRAME_SHARING_MAX);
        else
            MUST(f.length == size - 1 - FRAME_HEADER_SIZE);
        MUST(frame_kind_name(f.kind) != NULL && f.step >= 0 && f.ndim <= FRAME_MAX_DIMS);
        frame_encode(&f, header);
        MUST(memcmp(header, message, sizeof header) == 0);
    }
    free(message);
    return 0;
}

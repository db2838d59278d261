#include "tasks/proto/shared.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_LIMIT ((uint64_t)1 << 42) /* an eighth of what a process can map, as there may be many members */

size_t shared_units(size_t bytes)
{
    return (bytes + SHARED_UNIT - 1) / SHARED_UNIT;
}

/* Whole units are at most a quarter more than the payloads, of which none is below SHARED_FROM. The window always takes
 * two frames for each rank. */
size_t shared_size(const struct field_set *fields, int ranks)
{
    uint64_t largest = 0, lent = 0, window = FRAME_WINDOW_BYTES / 4 * 5;

    for (int i = 0; i < fields->count; i++) {
        uint64_t bytes = fields->field[i].bytes;

        if (bytes < SHARED_FROM)
            continue;
        largest = bytes > largest ? bytes : largest;
        lent += shared_units(bytes) * SHARED_UNIT;
    }
    if (largest == 0)
        return 0;
    if (2 * (uint64_t)ranks * shared_units(largest) * SHARED_UNIT > window)
        window = 2 * (uint64_t)ranks * shared_units(largest) * SHARED_UNIT;
    return window + lent <= SIZE_LIMIT ? window + lent : 0;
}

bool shared_wanted(void)
{
    const char *text = getenv("STRETTO_STREAM_MEMORY");

    return text == NULL || strcmp(text, "0") != 0;
}

#include "tasks/proto/ends.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 32

static size_t packed_size(int digits, size_t members)
{
    return 1 + (size_t)digits * ((members + 7) / 8);
}

/* At least one, so that the file of an ensemble always has the same size as long as nothing is tried twice. */
static int digits_of(const uint32_t *ended, size_t members)
{
    uint32_t all = 1;

    for (size_t i = 0; i < members; i++)
        all |= ended[i];
    return DIGITS_MAX - __builtin_clz(all);
}

unsigned char *ends_pack(const uint32_t *ended, size_t members, size_t *size)
{
    int digits = digits_of(ended, members);
    unsigned char *packed;

    *size = packed_size(digits, members);
    packed = calloc(*size, 1);
    if (packed == NULL)
        return NULL;
    packed[0] = (unsigned char)digits;
    for (size_t i = 0; i < members; i++)
        for (int digit = 0; digit < digits; digit++)
            packed[1 + i / 8 * (size_t)digits + (size_t)digit] |= (unsigned char)((ended[i] >> digit & 1) << i % 8);
    return packed;
}

static int read_digits(const unsigned char *packed, size_t size)
{
    return size > 0 && packed[0] <= DIGITS_MAX ? packed[0] : 0;
}

bool ends_are_all(const unsigned char *packed, size_t size, size_t members)
{
    int digits = read_digits(packed, size);

    return digits > 0 && size == packed_size(digits, members);
}

void ends_unpack(const unsigned char *packed, size_t size, size_t from, uint32_t *ended, size_t n)
{
    int digits = read_digits(packed, size);

    memset(ended, 0, n * sizeof *ended);
    for (size_t i = 0; i < n; i++)
        for (int digit = 0; digit < digits; digit++) {
            size_t at = 1 + (from + i) / 8 * (size_t)digits + (size_t)digit;

            if (at < size)
                ended[i] |= (uint32_t)(packed[at] >> (from + i) % 8 & 1) << digit;
        }
}

#include "tasks/proto/frame.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Offsets in the header; docs/protocol.md has the same table. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_KIND = 6,
    AT_KEY = 8,
    AT_ENSEMBLE = 16,
    AT_MEMBER = 24,
    AT_SESSION = 32,
    AT_ATTEMPT = 40,
    AT_GENERATION = 44,
    AT_STEP = 48,
    AT_SEQUENCE = 56,
    AT_FIELD = 64,
    AT_DTYPE = 66,
    AT_NDIM = 67,
    AT_FLAGS = 68,
    AT_RESERVED = 70, /* two bytes of zero, which keep the extents aligned */
    AT_SHAPE = 72,
    AT_LENGTH = 104,
    AT_PAYLOAD_CHECKSUM = 112,
    AT_CHECKSUM = 120,
};

static const uint8_t magic[4] = {'S', 'T', 'R', 'T'};

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

void frame_encode(const struct frame *f, uint8_t header[FRAME_HEADER_SIZE])
{
    memset(header, 0, FRAME_HEADER_SIZE);
    memcpy(header + AT_MAGIC, magic, sizeof magic);
    put(header + AT_VERSION, FRAME_VERSION, 2);
    put(header + AT_KIND, f->kind, 2);
    put(header + AT_KEY, f->key, 8);
    put(header + AT_ENSEMBLE, f->ensemble, 8);
    put(header + AT_MEMBER, f->member, 8);
    put(header + AT_SESSION, f->session, 8);
    put(header + AT_ATTEMPT, f->attempt, 4);
    put(header + AT_GENERATION, f->generation, 4);
    put(header + AT_STEP, (uint64_t)f->step, 8);
    put(header + AT_SEQUENCE, f->sequence, 8);
    put(header + AT_FIELD, f->field, 2);
    put(header + AT_DTYPE, f->dtype, 1);
    put(header + AT_NDIM, f->ndim, 1);
    put(header + AT_FLAGS, f->flags, 2);
    for (int i = 0; i < FRAME_MAX_DIMS; i++)
        put(header + AT_SHAPE + 8 * i, f->shape[i], 8);
    put(header + AT_LENGTH, f->length, 8);
    put(header + AT_PAYLOAD_CHECKSUM, f->payload_checksum, 8);
    put(header + AT_CHECKSUM, XXH3_64bits(header, AT_CHECKSUM), 8);
}

enum frame_fault frame_decode(const void *message, size_t size, struct frame *f)
{
    const uint8_t *header = message;

    memset(f, 0, sizeof *f);
    if (size < FRAME_HEADER_SIZE)
        return FRAME_SHORT;
    if (memcmp(header + AT_MAGIC, magic, sizeof magic) != 0)
        return FRAME_BAD_MAGIC;
    if (get(header + AT_VERSION, 2) != FRAME_VERSION)
        return FRAME_BAD_VERSION;
    if (get(header + AT_CHECKSUM, 8) != XXH3_64bits(header, AT_CHECKSUM))
        return FRAME_BAD_CHECKSUM;
    f->key = get(header + AT_KEY, 8);
    f->ensemble = get(header + AT_ENSEMBLE, 8);
    f->member = get(header + AT_MEMBER, 8);
    f->session = get(header + AT_SESSION, 8);
    f->attempt = (uint32_t)get(header + AT_ATTEMPT, 4);
    f->generation = (uint32_t)get(header + AT_GENERATION, 4);
    f->sequence = get(header + AT_SEQUENCE, 8);
    f->field = (uint16_t)get(header + AT_FIELD, 2);
    f->dtype = (uint8_t)get(header + AT_DTYPE, 1);
    f->ndim = (uint8_t)get(header + AT_NDIM, 1);
    f->flags = (uint16_t)get(header + AT_FLAGS, 2);
    for (int i = 0; i < FRAME_MAX_DIMS; i++)
        f->shape[i] = get(header + AT_SHAPE + 8 * i, 8);
    f->length = get(header + AT_LENGTH, 8);
    f->payload_checksum = get(header + AT_PAYLOAD_CHECKSUM, 8);
    if (get(header + AT_KIND, 2) < FRAME_HELLO || get(header + AT_KIND, 2) > FRAME_REFUSED)
        return FRAME_BAD_KIND;
    f->kind = (enum frame_kind)get(header + AT_KIND, 2);
    if ((f->flags & ~FRAME_PAYLOAD_CHECKSUM) != 0 || get(header + AT_RESERVED, 2) != 0)
        return FRAME_BAD_FLAGS;
    if (f->ndim > FRAME_MAX_DIMS)
        return FRAME_BAD_SHAPE;
    for (int i = f->ndim; i < FRAME_MAX_DIMS; i++)
        if (f->shape[i] != 0)
            return FRAME_BAD_SHAPE;
    if (get(header + AT_STEP, 8) > INT64_MAX)
        return FRAME_BAD_STEP;
    f->step = (int64_t)get(header + AT_STEP, 8);
    if (f->length != size - FRAME_HEADER_SIZE)
        return FRAME_BAD_LENGTH;
    if (f->flags & FRAME_PAYLOAD_CHECKSUM) {
        if (f->payload_checksum != frame_checksum(header + FRAME_HEADER_SIZE, size - FRAME_HEADER_SIZE))
            return FRAME_BAD_PAYLOAD;
    } else if (f->payload_checksum != 0) {
        return FRAME_BAD_FLAGS;
    }
    return FRAME_OK;
}

uint64_t frame_checksum(const void *payload, size_t size)
{
    return XXH3_64bits(payload, size);
}

const char *frame_fault_text(enum frame_fault fault)
{
    switch (fault) {
    case FRAME_OK: return "no fault";
    case FRAME_SHORT: return "shorter than a header";
    case FRAME_BAD_MAGIC: return "not a frame of stretto's";
    case FRAME_BAD_VERSION: return "another version of the protocol";
    case FRAME_BAD_CHECKSUM: return "the header's checksum is wrong";
    case FRAME_BAD_KIND: return "unknown kind";
    case FRAME_BAD_FLAGS: return "unknown flags";
    case FRAME_BAD_SHAPE: return "impossible shape";
    case FRAME_BAD_STEP: return "negative step";
    case FRAME_BAD_LENGTH: return "the length is not the message's";
    case FRAME_BAD_PAYLOAD: return "the payload's checksum is wrong";
    }
    return "unknown fault";
}

const char *frame_kind_name(enum frame_kind kind)
{
    static const char *const names[] = {"?",      "HELLO",    "WELCOME",   "SAMPLE", "ACK",
                                        "REWIND", "WHO",      "FINALIZE", "FINALIZED", "REFUSED"};

    return kind >= FRAME_HELLO && kind <= FRAME_REFUSED ? names[kind] : names[0];
}

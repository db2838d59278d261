#include "tasks/proto/frame.h"

#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Offsets in the header; docs/protocol.md has the same table. No value crosses a boundary of 8-byte words. */
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

static inline uint16_t get16(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static inline uint32_t get32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t get64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

/* Writes whole words: the checksum could not read bytes written one by one as words without a stall. */
void frame_encode(const struct frame *f, uint8_t header[FRAME_HEADER_SIZE])
{
    uint64_t word[FRAME_HEADER_SIZE / 8] = {
        [AT_MAGIC / 8] = get32(magic) | (uint64_t)FRAME_VERSION << 32 | (uint64_t)f->kind << 48,
        [AT_KEY / 8] = f->key,
        [AT_ENSEMBLE / 8] = f->ensemble,
        [AT_MEMBER / 8] = f->member,
        [AT_SESSION / 8] = f->session,
        [AT_ATTEMPT / 8] = f->attempt | (uint64_t)f->generation << 32,
        [AT_STEP / 8] = (uint64_t)f->step,
        [AT_SEQUENCE / 8] = f->sequence,
        [AT_FIELD / 8] = f->field | (uint64_t)f->dtype << 16 | (uint64_t)f->ndim << 24 | (uint64_t)f->flags << 32,
        [AT_LENGTH / 8] = f->length,
        [AT_PAYLOAD_CHECKSUM / 8] = f->payload_checksum,
    };

    for (int i = 0; i < FRAME_MAX_DIMS; i++)
        word[AT_SHAPE / 8 + i] = f->shape[i];
    for (int i = 0; i < AT_CHECKSUM / 8; i++)
        word[i] = htole64(word[i]);
    word[AT_CHECKSUM / 8] = htole64(XXH3_64bits(word, AT_CHECKSUM));
    memcpy(header, word, FRAME_HEADER_SIZE);
}

void frame_encode_place(uint64_t place, uint8_t at[FRAME_PLACE_SIZE])
{
    place = htole64(place);
    memcpy(at, &place, sizeof place);
}

uint64_t frame_decode_place(const uint8_t at[FRAME_PLACE_SIZE])
{
    return get64(at);
}

size_t frame_span(const struct frame *f)
{
    return (FRAME_HEADER_SIZE + f->length + FRAME_ALIGNMENT - 1) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
}

bool frame_is_in_memory(const struct frame *f)
{
    return f->kind == FRAME_SAMPLE && (f->flags & FRAME_IN_MEMORY);
}

/* Returns whether the frame fills the rest of its message, or leaves room for the header of the next. */
static bool length_holds(const struct frame *f, size_t size)
{
    if (frame_is_in_memory(f))
        return size == FRAME_HEADER_SIZE + FRAME_PLACE_SIZE;
    if (!(f->flags & FRAME_MORE))
        return f->length == size - FRAME_HEADER_SIZE;
    return f->length <= FRAME_SHARING_MAX - FRAME_HEADER_SIZE && frame_span(f) + FRAME_HEADER_SIZE <= size;
}

static bool flags_hold(const struct frame *f)
{
    if ((f->flags & ~(FRAME_PAYLOAD_CHECKSUM | FRAME_MORE | FRAME_IN_MEMORY)) != 0)
        return false;
    if (f->flags & FRAME_IN_MEMORY)
        return (f->kind == FRAME_WELCOME || f->kind == FRAME_SAMPLE) && !(f->flags & FRAME_MORE);
    return f->kind == FRAME_SAMPLE || !(f->flags & FRAME_MORE);
}

enum frame_fault frame_decode(const void *frame, size_t size, struct frame *f)
{
    const uint8_t *header = frame;

    memset(f, 0, sizeof *f);
    if (size < FRAME_HEADER_SIZE)
        return FRAME_SHORT;
    if (memcmp(header + AT_MAGIC, magic, sizeof magic) != 0)
        return FRAME_BAD_MAGIC;
    if (get16(header + AT_VERSION) != FRAME_VERSION)
        return FRAME_BAD_VERSION;
    if (get64(header + AT_CHECKSUM) != XXH3_64bits(header, AT_CHECKSUM))
        return FRAME_BAD_CHECKSUM;
    f->key = get64(header + AT_KEY);
    f->ensemble = get64(header + AT_ENSEMBLE);
    f->member = get64(header + AT_MEMBER);
    f->session = get64(header + AT_SESSION);
    f->attempt = get32(header + AT_ATTEMPT);
    f->generation = get32(header + AT_GENERATION);
    f->sequence = get64(header + AT_SEQUENCE);
    f->field = get16(header + AT_FIELD);
    f->dtype = header[AT_DTYPE];
    f->ndim = header[AT_NDIM];
    f->flags = get16(header + AT_FLAGS);
    for (int i = 0; i < FRAME_MAX_DIMS; i++)
        f->shape[i] = get64(header + AT_SHAPE + 8 * i);
    f->length = get64(header + AT_LENGTH);
    f->payload_checksum = get64(header + AT_PAYLOAD_CHECKSUM);
    if (get16(header + AT_KIND) < FRAME_HELLO || get16(header + AT_KIND) > FRAME_REFUSED)
        return FRAME_BAD_KIND;
    f->kind = (enum frame_kind)get16(header + AT_KIND);
    if (!flags_hold(f) || get16(header + AT_RESERVED) != 0)
        return FRAME_BAD_FLAGS;
    if (f->ndim > FRAME_MAX_DIMS)
        return FRAME_BAD_SHAPE;
    for (int i = f->ndim; i < FRAME_MAX_DIMS; i++)
        if (f->shape[i] != 0)
            return FRAME_BAD_SHAPE;
    if (get64(header + AT_STEP) > INT64_MAX)
        return FRAME_BAD_STEP;
    f->step = (int64_t)get64(header + AT_STEP);
    if (!length_holds(f, size))
        return FRAME_BAD_LENGTH;
    if (frame_is_in_memory(f))
        f->place = get64(header + FRAME_HEADER_SIZE);
    if (f->flags & FRAME_PAYLOAD_CHECKSUM) {
        if (!frame_is_in_memory(f) && f->payload_checksum != frame_checksum(header + FRAME_HEADER_SIZE, f->length))
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

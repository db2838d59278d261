/* Frames of the stream: a 128-byte little-endian header and its payload. One ZeroMQ message is one frame, so that the
 * received message itself is the storage of a sample. Small SAMPLE frames share a message, one behind the other, since
 * a message costs far more than the copy of a few KiB. docs/protocol.md has the layout byte for byte, and the purpose
 * of each kind. */
#ifndef TASKS_PROTO_FRAME_H
#define TASKS_PROTO_FRAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_SIZE 128
#define FRAME_VERSION 1
#define FRAME_MAX_DIMS 4
#define FRAME_SHARING_MAX 8192                /* bytes of header and payload of a frame that may share its message */
#define FRAME_ALIGNMENT 8                     /* of a frame in a message */
#define FRAME_SHARED_MAX 65536                /* bytes of a message of several frames */
#define FRAME_PLACE_SIZE 8                    /* bytes after the header of a frame whose payload is in memory */
#define FRAME_WINDOW_BYTES ((size_t)32 << 20) /* unacknowledged bytes that a member keeps, over all ranks */

enum frame_kind {
    FRAME_HELLO = 1,     /* member → rank: identifies the member; payload: JSON with the parameters */
    FRAME_WELCOME = 2,   /* rank → member: how much of the session the rank holds */
    FRAME_SAMPLE = 3,    /* member → rank: one field of one time step */
    FRAME_ACK = 4,       /* rank → member: held safely up to `sequence` */
    FRAME_REWIND = 5,    /* rank → member: something is missing after `sequence`, to be sent again from there */
    FRAME_WHO = 6,       /* rank → member: the rank does not know the member, and asks for HELLO */
    FRAME_FINALIZE = 7,  /* member → rank: nothing more will come */
    FRAME_FINALIZED = 8, /* rank → member: FINALIZE was noted */
    FRAME_REFUSED = 9,   /* rank → member: the member is refused; payload: the reason, UTF-8 */
};

enum frame_flag {
    FRAME_PAYLOAD_CHECKSUM = 1,
    FRAME_MORE = 2, /* another frame follows in the same message */
    /* SAMPLE: the payload is in memory that the member shares; WELCOME: the rank can read it there */
    FRAME_IN_MEMORY = 4,
};

struct frame {
    enum frame_kind kind;
    uint64_t key; /* the stream's key, by which its frames differ from other ensembles' */
    uint64_t ensemble;
    uint64_t member;
    /* a random number of each opened stream, by which two processes of one member are distinguished */
    uint64_t session;
    uint32_t attempt;
    uint32_t generation; /* of the ranks */
    int64_t step;        /* >= 0 */
    uint64_t sequence;   /* counts the SAMPLE frames of a session to one rank, from 1 */
    uint16_t field;      /* index of the field in the stream's field_set */
    uint8_t dtype;       /* enum stretto_dtype; 0 if the payload is no array */
    uint8_t ndim;
    uint16_t flags;
    uint64_t shape[FRAME_MAX_DIMS]; /* 0 beyond ndim */
    uint64_t length;                /* bytes of payload */
    uint64_t payload_checksum;      /* XXH3-64, 0 without the flag */
    uint64_t place; /* the offset of the payload in memory, read from behind the header; 0 without the flag */
};

/* The reasons for refusing a frame, in the order in which they are checked. */
enum frame_fault {
    FRAME_OK,
    FRAME_SHORT, /* fewer bytes than a header */
    FRAME_BAD_MAGIC,
    FRAME_BAD_VERSION,
    FRAME_BAD_CHECKSUM, /* of the header */
    FRAME_BAD_KIND,
    FRAME_BAD_FLAGS,
    FRAME_BAD_SHAPE, /* too many dimensions, or extents beyond them */
    FRAME_BAD_STEP,
    FRAME_BAD_LENGTH,  /* differs from the message */
    FRAME_BAD_PAYLOAD, /* checksum of the payload */
};

/* Writes the header for `f` and computes its checksum. f->payload_checksum is used as it is. */
void frame_encode(const struct frame *f, uint8_t header[FRAME_HEADER_SIZE]);

/* The offset of a payload in memory, which stands behind the header. */
void frame_encode_place(uint64_t place, uint8_t at[FRAME_PLACE_SIZE]);
uint64_t frame_decode_place(const uint8_t at[FRAME_PLACE_SIZE]);

/* Reads a frame strictly; `size` is the number of bytes from it to the message's end. If f->flags has FRAME_MORE,
 * another frame follows after frame_span(f) bytes; otherwise this was the last. The payload checksum is verified if the
 * flag is set, and the payload is in the message. *f is filled in only if the header's own checksum is right:
 * FRAME_BAD_KIND and all faults after it leave the identity valid. */
enum frame_fault frame_decode(const void *frame, size_t size, struct frame *f);

/* Returns whether it is a SAMPLE whose payload is not in its message. */
bool frame_is_in_memory(const struct frame *f);

/* Returns the bytes from the beginning of a frame to that of the next one in its message. */
size_t frame_span(const struct frame *f);

/* Returns the XXH3-64 of a payload. */
uint64_t frame_checksum(const void *payload, size_t size);

const char *frame_fault_text(enum frame_fault fault);
#endif

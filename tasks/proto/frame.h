/* Frames of the stream: a 128-byte little-endian header and its payload. One ZeroMQ message is one frame, so that the
 * received message itself is the storage of a sample; or several small SAMPLE frames one behind the other, since a
 * message costs far more than the copy of a few KiB. docs/protocol.md has the layout byte for byte, and what each kind
 * is for. */
#ifndef TASKS_PROTO_FRAME_H
#define TASKS_PROTO_FRAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_SIZE 128
#define FRAME_VERSION 1
#define FRAME_MAX_DIMS 4
#define FRAME_SHARING_MAX 8192 /* header and payload of a frame that may share its message */
#define FRAME_ALIGNMENT 8      /* of a frame in a message */
#define FRAME_SHARED_MAX 65536 /* a message of several frames */
#define FRAME_PLACE_SIZE 8     /* what follows the header of a frame whose payload is in memory */
#define FRAME_WINDOW_BYTES ((size_t)32 << 20) /* that a member keeps unacknowledged, over all ranks */

enum frame_kind {
    FRAME_HELLO = 1,     /* member → rank: who I am; payload: JSON with the parameters */
    FRAME_WELCOME = 2,   /* rank → member: what I hold of your session */
    FRAME_SAMPLE = 3,    /* member → rank: one field of one time step */
    FRAME_ACK = 4,       /* rank → member: held safely up to `sequence` */
    FRAME_REWIND = 5,    /* rank → member: something is missing after `sequence`, send again from there */
    FRAME_WHO = 6,       /* rank → member: I do not know you, say HELLO */
    FRAME_FINALIZE = 7,  /* member → rank: nothing more will come */
    FRAME_FINALIZED = 8, /* rank → member: noted */
    FRAME_REFUSED = 9,   /* rank → member: I cannot take this; payload: the reason, UTF-8 */
};

enum frame_flag {
    FRAME_PAYLOAD_CHECKSUM = 1,
    FRAME_MORE = 2, /* another frame follows in the same message */
    FRAME_IN_MEMORY = 4, /* SAMPLE: the payload is in memory that the member shares; WELCOME: the rank can read it there */
};

struct frame {
    enum frame_kind kind;
    uint64_t key;        /* the stream's key: another ensemble's frames are told apart */
    uint64_t ensemble;
    uint64_t member;
    uint64_t session;    /* drawn at random by each opened stream; tells two processes of one member apart */
    uint32_t attempt;
    uint32_t generation; /* of the ranks */
    int64_t step;        /* >= 0 */
    uint64_t sequence;   /* counts the SAMPLE frames of a session to one rank, from 1 */
    uint16_t field;      /* index of the field in the stream's field_set */
    uint8_t dtype;       /* enum stretto_dtype; 0 where the payload is no array */
    uint8_t ndim;
    uint16_t flags;
    uint64_t shape[FRAME_MAX_DIMS]; /* 0 beyond ndim */
    uint64_t length;                /* bytes of payload */
    uint64_t payload_checksum;      /* XXH3-64, 0 without the flag */
    uint64_t place;                 /* where in memory the payload begins; read from behind the header, 0 without the flag */
};

/* Why a frame is refused, in the order in which it is checked. */
enum frame_fault {
    FRAME_OK,
    FRAME_SHORT,            /* fewer bytes than a header */
    FRAME_BAD_MAGIC,
    FRAME_BAD_VERSION,
    FRAME_BAD_CHECKSUM,     /* of the header */
    FRAME_BAD_KIND,
    FRAME_BAD_FLAGS,
    FRAME_BAD_SHAPE,        /* too many dimensions, or extents beyond them */
    FRAME_BAD_STEP,
    FRAME_BAD_LENGTH,       /* not what the message holds */
    FRAME_BAD_PAYLOAD,      /* checksum of the payload */
};

/* Write the header for `f` and compute its checksum. f->payload_checksum is taken as it is. */
void frame_encode(const struct frame *f, uint8_t header[FRAME_HEADER_SIZE]);

/* The place of a payload in memory, behind the header. */
void frame_encode_place(uint64_t place, uint8_t at[FRAME_PLACE_SIZE]);
uint64_t frame_decode_place(const uint8_t at[FRAME_PLACE_SIZE]);

/* Read a frame, and `size`, the bytes from it to the message's end: strict, never beyond them. With FRAME_MORE in
 * f->flags another one follows after frame_span(f) bytes; without it, this was the last. The payload checksum is
 * verified where the flag is set, and the payload is in the message. *f is filled as far as the header's own checksum held: FRAME_BAD_KIND and everything
 * after it leave the identity valid. */
enum frame_fault frame_decode(const void *frame, size_t size, struct frame *f);

/* A SAMPLE whose payload is not in its message. */
bool frame_is_in_memory(const struct frame *f);

/* From the beginning of a frame to that of the next one in its message. */
size_t frame_span(const struct frame *f);

/* XXH3-64 of a payload. */
uint64_t frame_checksum(const void *payload, size_t size);

const char *frame_fault_text(enum frame_fault fault);
const char *frame_kind_name(enum frame_kind kind);
#endif

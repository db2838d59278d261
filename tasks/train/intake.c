#include "tasks/train/intake.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "tasks/proto/copy.h"
#include "tasks/proto/shared.h"
#include "tasks/train/peers.h"
#include "tasks/train/stepset.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACKS_MAX 256
#define READY_BYTES ((size_t)256 << 10)
/* So much of a member is acknowledged at once; less waits for intake_flush(). Far less than a member's window. */
#define ACK_FRAMES 64
#define ACK_BYTES ((size_t)256 << 10)

/* A whole sample on its way into the pool, and how far its member may be acknowledged while it is not there. */
struct ready {
    struct sample *sample;
    struct peer *peer;
    uint64_t before;
};

struct intake {
    const struct train_config *config;
    struct pool *pool;
    struct sample_store *store;
    intake_reply *reply;
    void *arg;
    struct peers *peers;
    struct stepset *have;
    uint8_t *finalized; /* a bit for each member */
    struct ready ready[POOL_PUT_MAX];
    int readies;
    struct peer *ack[ACKS_MAX];
    int acks;
    size_t memory_max; /* that a member may share; 0 where none */
    bool ended; /* the training has: nothing is taken any more */
    bool said[FAULTS];
    struct {
        atomic_uint_least64_t received, duplicates, finalized, rejected[FAULTS];
        atomic_uint_least64_t bytes; /* where samples differ in size */
        atomic_uint_least64_t memory_bytes;
    } counters; /* written by this thread alone */
};

/* The connection that a frame came by. */
struct origin {
    const uint8_t *routing;
    uint8_t routing_size;
    zmq_msg_t *msg; /* NULL where there is none at hand */
};

struct intake *intake_create(const struct train_config *config, struct pool *pool, struct sample_store *store,
                             intake_reply *reply, void *arg)
{
    struct intake *in = xcalloc(1, sizeof *in);

    in->config = config;
    in->pool = pool;
    in->store = store;
    in->reply = reply;
    in->arg = arg;
    in->memory_max = shared_wanted() ? shared_size(&config->fields, config->ranks) : 0;
    in->peers = peers_create();
    in->have = stepset_create();
    in->finalized = xcalloc(config->count / 8 + 1, 1);
    return in;
}

void intake_destroy(struct intake *in)
{
    if (in == NULL)
        return;
    for (int i = 0; i < in->readies; i++)
        sample_unref(in->ready[i].sample);
    peers_destroy(in->peers);
    stepset_destroy(in->have);
    free(in->finalized);
    free(in);
}

static uint64_t read_counter(atomic_uint_least64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* There is one writer, so this needs no locked instruction. */
static void count(atomic_uint_least64_t *counter, int64_t by)
{
    atomic_store_explicit(counter, read_counter(counter) + (uint64_t)by, memory_order_relaxed);
}

void intake_counters(struct intake *in, struct receiver_counters *counters)
{
    counters->received = read_counter(&in->counters.received);
    counters->duplicates = read_counter(&in->counters.duplicates);
    counters->finalized = read_counter(&in->counters.finalized);
    counters->bytes = in->config->varies ? read_counter(&in->counters.bytes)
                                         : counters->received * in->config->sample_bytes;
    counters->memory_bytes = read_counter(&in->counters.memory_bytes);
    for (int i = 0; i < FAULTS; i++)
        counters->rejected[i] = read_counter(&in->counters.rejected[i]);
}

/* Who sent it, as far as that can be told: what the frame says where its header is whole, and the connection. */
static const char *sender(char *buf, size_t size, struct origin from, const struct frame *f)
{
    const char *address = from.msg != NULL ? zmq_msg_gets(from.msg, "Peer-Address") : NULL;
    int n = 0;

    if (f != NULL)
        n = snprintf(buf, size, "member %llu.%llu, attempt %u, ", (unsigned long long)f->ensemble,
                     (unsigned long long)f->member, f->attempt);
    n += snprintf(buf + n, size - (size_t)n, "connection ");
    for (int i = 0; i < from.routing_size && i < 16; i++)
        n += snprintf(buf + n, size - (size_t)n, "%02x", from.routing[i]);
    if (address != NULL && *address != '\0')
        snprintf(buf + n, size - (size_t)n, " from %.64s", address);
    return buf;
}

/* f is NULL where nothing in the frame can be believed. */
static void reject(struct intake *in, struct origin from, const struct frame *f, int fault, const char *why)
{
    char who[256];

    count(&in->counters.rejected[fault], 1);
    if (!in->said[fault])
        log_warn("ensemble %llu, rank %d: a frame of %s was rejected: %s (said once; the status counts them as \"%s\")",
                 (unsigned long long)in->config->ensemble, in->config->rank, sender(who, sizeof who, from, f), why,
                 fault_name(fault));
    in->said[fault] = true;
}

void intake_parts(struct intake *in, const uint8_t *routing, uint8_t routing_size, int parts)
{
    struct origin from = {routing, routing_size, NULL};
    char why[64];

    snprintf(why, sizeof why, "a message of %d parts instead of one", parts);
    reject(in, from, NULL, FAULT_PARTS, why);
}

/* Answer a frame: the member knows the answer as its own by key and session. */
static void answer_flagged(struct intake *in, struct origin to, const struct frame *f, enum frame_kind kind,
                           uint16_t flags, uint64_t sequence, int64_t step, const char *payload)
{
    struct frame reply = {.kind = kind,
                          .flags = flags,
                          .key = f->key,
                          .ensemble = f->ensemble,
                          .member = f->member,
                          .session = f->session,
                          .attempt = f->attempt,
                          .generation = in->config->generation,
                          .sequence = sequence,
                          .step = step,
                          .length = payload != NULL ? strlen(payload) : 0};

    in->reply(in->arg, to.routing, to.routing_size, &reply, payload);
}

static void answer(struct intake *in, struct origin to, const struct frame *f, enum frame_kind kind, uint64_t sequence,
                   int64_t step, const char *payload)
{
    answer_flagged(in, to, f, kind, 0, sequence, step, payload);
}

static void __attribute__((format(printf, 5, 6)))
refuse(struct intake *in, struct origin to, const struct frame *f, int fault, const char *fmt, ...)
{
    char why[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    reject(in, to, f, fault, why);
    answer(in, to, f, FRAME_REFUSED, 0, 0, why);
}

static void ack_later(struct intake *in, struct peer *peer)
{
    if (peer->ack_due)
        return;
    if (in->acks == ACKS_MAX)
        intake_flush(in);
    peer->ack_due = true;
    in->ack[in->acks++] = peer;
}

static struct frame frame_of(const struct intake *in, const struct peer *peer)
{
    return (struct frame){.key = in->config->key,
                          .ensemble = in->config->ensemble,
                          .member = peer->member,
                          .session = peer->session,
                          .attempt = peer->attempt};
}

static bool worth_an_ack(const struct intake *in, const struct peer *peer)
{
    uint64_t frames = peer->limit - peer->acked;

    return frames >= ACK_FRAMES || frames * in->config->sample_bytes >= ACK_BYTES * (size_t)in->config->fields.count;
}

/* Acknowledge what is held, all of it or where it is worth it. Of a peer some of whose samples still wait, only what is
 * before them. Who is owed more stays in the list. */
static void send_acks(struct intake *in, int waiting, bool all)
{
    int kept = 0;

    for (int i = 0; i < in->acks; i++)
        in->ack[i]->limit = in->ack[i]->last;
    for (int i = in->readies - 1; i >= waiting; i--)
        in->ready[i].peer->limit = in->ready[i].before;
    for (int i = 0; i < in->acks; i++) {
        struct peer *peer = in->ack[i];
        bool rest = peer->limit != peer->last;

        if (all ? !rest || peer->limit > peer->acked : worth_an_ack(in, peer)) {
            struct frame f = frame_of(in, peer);

            answer(in, (struct origin){peer->routing, peer->routing_size, NULL}, &f, FRAME_ACK, peer->limit, 0, NULL);
            peer->acked = peer->limit;
        } else {
            rest = true;
        }
        if (rest)
            in->ack[kept++] = peer;
        else
            peer->ack_due = false;
    }
    in->acks = kept;
}

static uint64_t bytes_of(const struct intake *in, const struct sample *sample)
{
    uint64_t bytes = 0;

    for (int i = 0; i < in->config->fields.count; i++)
        bytes += sample_bytes(sample, i);
    return bytes;
}

/* Nobody will draw any more: what still comes is refused. */
static void end(struct intake *in, int from)
{
    in->ended = true;
    count(&in->counters.received, from - in->readies);
    for (int i = in->readies - 1; i >= from; i--) {
        struct peer *peer = in->ready[i].peer;
        struct frame f = frame_of(in, peer);

        count(&in->counters.bytes, -(int64_t)bytes_of(in, in->ready[i].sample));
        peer->last = in->ready[i].before;
        refuse(in, (struct origin){peer->routing, peer->routing_size, NULL}, &f, FAULT_ENDED, "the training has ended");
        sample_unref(in->ready[i].sample);
    }
}

static void put_ready(struct intake *in)
{
    struct sample *sample[POOL_PUT_MAX];
    int put = 0, n = 0;

    for (int i = 0; i < in->readies; i++)
        sample[i] = in->ready[i].sample;
    while (put < in->readies && (n = pool_put(in->pool, sample + put, in->readies - put)) >= 0) {
        put += n;
        if (put < in->readies) {
            send_acks(in, put, true);
            pool_wait_for_room(in->pool);
        }
    }
    if (n < 0)
        end(in, put);
    in->readies = 0;
}

void intake_flush(struct intake *in)
{
    put_ready(in);
    send_acks(in, 0, true);
}

bool intake_turn(struct intake *in)
{
    put_ready(in);
    send_acks(in, 0, false);
    return in->acks > 0;
}

static void forget(struct intake *in, struct peer *peer)
{
    intake_flush(in); /* the list may hold it */
    peers_remove(in->peers, peer);
}

static struct params *read_params(struct intake *in, struct origin from, const struct frame *f, const json_t *body)
{
    const json_t *given = json_object_get(body, "parameters");
    struct params *params = params_create(in->config->parameters);

    for (int i = 0; i < params->count; i++) {
        const json_t *value = json_object_get(given, in->config->parameter[i]);

        if (!json_is_number(value)) {
            refuse(in, from, f, FAULT_PARAMETERS, "its HELLO has no number for the parameter \"%s\"",
                   in->config->parameter[i]);
            params_unref(params);
            params = NULL;
            break;
        }
        params->value[i] = json_number_value(value);
    }
    return params;
}

static void take_hello(struct intake *in, struct origin from, const struct frame *f, const char *payload)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session), *older;

    if (peer == NULL) {
        json_t *body = json_loadb(payload, f->length, 0, NULL);
        struct params *params = read_params(in, from, f, body);
        struct mapping *memory = NULL;

        if (params != NULL)
            memory = mapping_open(json_object_get(body, "memory"), in->memory_max);
        json_decref(body);
        if (params == NULL)
            return;
        while ((older = peers_find_older(in->peers, f->member, f->attempt)) != NULL)
            forget(in, older);
        peer = peers_add(in->peers, f->member, f->session, f->attempt, params);
        peer->memory = memory;
        peer->last = peer->acked = (uint64_t)f->step; /* what the member has as acknowledged, it no longer keeps */
    }
    peer->rewound = false;
    memcpy(peer->routing, from.routing, from.routing_size);
    peer->routing_size = from.routing_size;
    answer_flagged(in, from, f, FRAME_WELCOME, peer->memory != NULL ? FRAME_IN_MEMORY : 0, peer->last,
                   (int64_t)(f->sequence & INT64_MAX), NULL);
}

/* A sample is whole. Its reference is taken over. */
static void take_sample(struct intake *in, struct peer *peer, struct sample *sample, uint64_t before)
{
    /* Counted before it can be drawn, so that nobody sees more drawn than received. */
    count(&in->counters.received, 1);
    if (in->config->varies)
        count(&in->counters.bytes, (int64_t)bytes_of(in, sample));
    if (stepset_add(in->have, sample->member, sample->step)) {
        in->ready[in->readies++] = (struct ready){sample, peer, before};
        return;
    }
    count(&in->counters.duplicates, 1);
    sample_unref(sample);
}

/* Have the payload in a message of its own, as if it had come in one. It is verified there: its member could write to what
 * it shares at any time. */
static bool fetch(struct intake *in, struct origin from, const struct peer *peer, const struct frame *f, zmq_msg_t *msg)
{
    const void *payload = peer->memory != NULL ? mapping_at(peer->memory, f->place, f->length) : NULL;
    uint8_t *to;

    if (payload == NULL) {
        reject(in, from, f, FAULT_MEMORY, "its payload lies nowhere in the memory that the member shares");
        return false;
    }
    if (zmq_msg_init_size(msg, FRAME_HEADER_SIZE + f->length) != 0)
        abort(); /* as all that cannot get memory here */
    to = (uint8_t *)zmq_msg_data(msg) + FRAME_HEADER_SIZE;
    copy_out(to, payload, f->length);
    if ((f->flags & FRAME_PAYLOAD_CHECKSUM) && f->payload_checksum != frame_checksum(to, f->length)) {
        reject(in, from, f, FRAME_BAD_PAYLOAD, frame_fault_text(FRAME_BAD_PAYLOAD));
        zmq_msg_close(msg);
        return false;
    }
    count(&in->counters.memory_bytes, (int64_t)f->length);
    return true;
}

/* Whether the frame was as it must be. */
static bool take_field(struct intake *in, struct origin from, struct peer *peer, const struct frame *f,
                       const uint8_t *payload)
{
    struct sample *sample = in->config->fields.count > 1 ? peer_partial(peer, f->step) : NULL;
    uint64_t before = peer->last;
    zmq_msg_t fetched;

    if (in->ended) {
        refuse(in, from, f, FAULT_ENDED, "the training has ended");
        return false;
    }
    if (f->field >= in->config->fields.count || !field_takes(&in->config->fields.field[f->field], f)) {
        refuse(in, from, f, FAULT_FIELD, "field %u is not as the spec declares it", f->field);
        return false;
    }
    if (sample == NULL && peer->partials >= FIELDS_OPEN_STEPS_MAX) {
        refuse(in, from, f, FAULT_OPEN_STEPS, "more than %d steps lack fields", FIELDS_OPEN_STEPS_MAX);
        return false;
    }
    if (frame_is_in_memory(f)) {
        if (!fetch(in, from, peer, f, &fetched))
            return false;
        from.msg = &fetched;
        payload = (const uint8_t *)zmq_msg_data(&fetched) + FRAME_HEADER_SIZE;
    }
    if (sample == NULL) {
        sample = sample_create(in->store, peer->member, f->step, peer->params);
        if (in->config->fields.count > 1)
            peer_partial_begin(peer, sample);
    }
    sample_take(sample, f->field, payload, f->length, from.msg);
    if (frame_is_in_memory(f))
        zmq_msg_close(&fetched);
    peer->last = f->sequence;
    peer->rewound = false;
    ack_later(in, peer);
    if (!sample_is_whole(sample))
        return true;
    if (in->config->fields.count > 1)
        peer_partial_end(peer, sample);
    take_sample(in, peer, sample, before);
    if (in->readies == POOL_PUT_MAX || (size_t)in->readies * in->config->sample_bytes >= READY_BYTES)
        intake_turn(in);
    return true;
}

static bool take_sample_frame(struct intake *in, struct origin from, const struct frame *f, const uint8_t *payload)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session);

    if (peer == NULL) {
        answer(in, from, f, FRAME_WHO, 0, 0, NULL);
        return false;
    }
    if (peer->routing_size != from.routing_size || memcmp(peer->routing, from.routing, from.routing_size) != 0) {
        memcpy(peer->routing, from.routing, from.routing_size);
        peer->routing_size = from.routing_size;
    }
    if (f->sequence == peer->last + 1)
        return take_field(in, from, peer, f, payload);
    if (f->sequence <= peer->last) {
        ack_later(in, peer);
    } else {
        if (!peer->rewound)
            answer(in, from, f, FRAME_REWIND, peer->last, 0, NULL);
        peer->rewound = true;
    }
    return true;
}

static void take_finalize(struct intake *in, struct origin from, const struct frame *f)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session);
    uint8_t bit = (uint8_t)(1 << f->member % 8);

    intake_flush(in); /* what comes before it is in the buffer first */
    if (peer == NULL) {
        answer(in, from, f, FRAME_WHO, 0, 0, NULL);
        return;
    }
    if (f->sequence != peer->last) {
        answer(in, from, f, FRAME_REWIND, peer->last, 0, NULL);
        return;
    }
    if (!(in->finalized[f->member / 8] & bit))
        count(&in->counters.finalized, 1);
    in->finalized[f->member / 8] |= bit;
    forget(in, peer);
    answer(in, from, f, FRAME_FINALIZED, f->sequence, 0, NULL);
}

/* A frame that is whole in itself. false where nothing of its sender can be taken, what follows in the message
 * neither. */
static bool take_frame(struct intake *in, struct origin from, const struct frame *f, const uint8_t *payload)
{
    /* Without the key there is no answer, to tell strangers nothing. */
    if (f->key != in->config->key || f->ensemble != in->config->ensemble) {
        reject(in, from, f, FAULT_KEY, "another ensemble's stream key");
        return false;
    }
    if (f->generation != in->config->generation) {
        reject(in, from, f, FAULT_GENERATION, "meant for another generation of ranks");
        return false;
    }
    if (f->member >= in->config->count) {
        refuse(in, from, f, FAULT_MEMBER, "the ensemble has no such member");
        return false;
    }
    if (f->step > STEPSET_STEP_MAX) {
        refuse(in, from, f, FAULT_RANGE, "a step beyond %lld", (long long)STEPSET_STEP_MAX);
        return false;
    }
    switch (f->kind) {
    case FRAME_HELLO:
        take_hello(in, from, f, (const char *)payload);
        return true;
    case FRAME_SAMPLE:
        return take_sample_frame(in, from, f, payload);
    case FRAME_FINALIZE:
        take_finalize(in, from, f);
        return true;
    default:
        reject(in, from, f, FAULT_DIRECTION, "a kind that only ranks send");
        return false;
    }
}

/* What follows another frame is small, and a sample's. */
static bool may_follow(const struct frame *f)
{
    return f->kind == FRAME_SAMPLE && FRAME_HEADER_SIZE + f->length <= FRAME_SHARING_MAX;
}

size_t intake_message(struct intake *in, const uint8_t *routing, uint8_t routing_size, zmq_msg_t *msg)
{
    struct origin from = {routing, routing_size, msg};
    const uint8_t *data = zmq_msg_data(msg);
    size_t size = zmq_msg_size(msg), at = 0, in_memory = 0;
    struct frame f = {.flags = FRAME_MORE};

    for (; f.flags & FRAME_MORE; at += frame_span(&f)) {
        enum frame_fault fault = frame_decode(data + at, size - at, &f);

        if (fault == FRAME_OK && at > 0 && !may_follow(&f))
            fault = FRAME_BAD_LENGTH;
        if (fault != FRAME_OK)
            reject(in, from, fault > FRAME_BAD_CHECKSUM ? &f : NULL, (int)fault, frame_fault_text(fault));
        if (fault != FRAME_OK || !take_frame(in, from, &f, data + at + FRAME_HEADER_SIZE))
            break;
        if (frame_is_in_memory(&f))
            in_memory += f.length;
    }
    return size + in_memory;
}

void intake_sweep(struct intake *in)
{
    peers_sweep(in->peers);
}

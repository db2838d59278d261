#include "tasks/train/intake_private.h"

#include "tasks/proto/shared.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool wants_held(const struct train_config *config)
{
    return config->steps > 0 || config->checkpoint.dir != NULL;
}

struct intake *intake_create(const struct train_config *config, struct pool *pool, struct sample_store *store,
                             struct kept *kept, intake_reply *reply, void *arg)
{
    struct intake *in = calloc(1, sizeof *in);

    if (in == NULL)
        return NULL;
    in->config = config;
    in->pool = pool;
    in->store = store;
    in->kept = kept;
    in->reply = reply;
    in->arg = arg;
    in->memory_max = shared_wanted() ? shared_size(&config->fields, config->ranks) : 0;
    in->peers = peers_create();
    in->have = stepset_create();
    in->ended_by = calloc(config->count + 1, sizeof *in->ended_by);
    if (wants_held(config))
        in->held = calloc(config->count + 1, sizeof *in->held);
    if (in->peers != NULL && in->have != NULL && in->ended_by != NULL && (!wants_held(config) || in->held != NULL))
        return in;
    intake_destroy(in);
    return NULL;
}

void intake_destroy(struct intake *in)
{
    if (in == NULL)
        return;
    for (int i = 0; i < in->readies; i++)
        sample_unref(in->ready[i].sample);
    intake_drop_orphans(in);
    intake_drop_left(in);
    peers_destroy(in->peers);
    stepset_destroy(in->have);
    stepset_destroy(in->fed);
    free((void *)in->ended_by);
    free((void *)in->held);
    free(in);
}

void intake_ended(const struct intake *in, const struct drawn *drawn, uint32_t *ended)
{
    /* once a member's end is seen here, all that it has sent is in `held` */
    for (uint64_t i = 0; i < in->config->count; i++) {
        uint32_t attempt = atomic_load_explicit(&in->ended_by[i], memory_order_acquire);

        if (attempt != 0 && (drawn == NULL || intake_held(in, i) == drawn_of(drawn, i)))
            ended[i] = attempt;
    }
}

void intake_counters(struct intake *in, struct receiver_counters *counters)
{
    counters->duplicates = intake_counted(&in->counters.duplicates);
    counters->received = intake_counted(&in->counters.unique) + counters->duplicates;
    counters->finalized = intake_counted(&in->counters.finalized);
    counters->skipped = intake_counted(&in->counters.skipped);
    counters->bytes =
        in->config->varies ? intake_counted(&in->counters.bytes) : counters->received * in->config->sample_bytes;
    counters->memory_bytes = intake_counted(&in->counters.memory_bytes);
    for (int i = 0; i < FAULTS; i++)
        counters->rejected[i] = intake_counted(&in->counters.rejected[i]);
}

uint32_t intake_held(const struct intake *in, uint64_t member)
{
    return in->held != NULL ? atomic_load_explicit(&in->held[member], memory_order_relaxed) : 0;
}

void intake_held_counts(const struct intake *in, uint32_t *counts)
{
    for (uint64_t i = 0; i < in->config->count; i++)
        counts[i] = htole32(intake_held(in, i));
}

void intake_parts(struct intake *in, const uint8_t *routing, uint8_t routing_size, int parts)
{
    struct frame_origin from = {routing, routing_size, NULL};
    char why[64];

    snprintf(why, sizeof why, "a message of %d parts instead of one", parts);
    intake_reject(in, from, NULL, FAULT_PARTS, why);
}

static void forget_peer(struct intake *in, struct peer *peer)
{
    intake_flush(in); /* the list of acknowledgements may contain the peer */
    peers_remove(in->peers, peer);
}

/* Returns how many steps of the member are held, for FINALIZED, if the spec says how many there are. */
static int64_t steps_told(const struct intake *in, uint64_t member)
{
    return in->config->steps > 0 ? intake_held(in, member) : 0;
}

static struct sample_params *read_params(struct intake *in, struct frame_origin from, const struct frame *f,
                                         const json_t *body)
{
    const json_t *given = json_object_get(body, "parameters");
    struct sample_params *params = sample_params_create(in->config->parameters);

    if (params == NULL)
        intake_no_memory(in);
    for (int i = 0; params != NULL && i < params->count; i++) {
        const json_t *value = json_object_get(given, in->config->parameter[i]);

        if (!json_is_number(value)) {
            intake_refuse(in, from, f, FAULT_PARAMETERS, "its HELLO has no number for the parameter \"%s\"",
                          in->config->parameter[i]);
            sample_params_unref(params);
            params = NULL;
            break;
        }
        params->value[i] = json_number_value(value);
    }
    return params;
}

/* Makes room for one more session of that member, by removing another one if need be. Returns whether there is room. */
static bool make_session_room(struct intake *in, struct frame_origin from, const struct frame *f)
{
    struct peer *spare;

    if (peers_may_add(in->peers, f->member, f->attempt, &spare))
        return true;
    if (spare != NULL)
        forget_peer(in, spare);
    else
        intake_refuse(in, from, f, FAULT_SESSIONS,
                      "%d streams of this member have sent some fields of a step and not the others",
                      PEERS_SESSIONS_MAX);
    return spare != NULL;
}

static void note_member_end(struct intake *in, uint64_t member, uint32_t attempt)
{
    atomic_store_explicit(&in->ended_by[member], attempt, memory_order_release);
    if (in->kept != NULL)
        kept_ended(in->kept)[member] = attempt;
}

/* Takes back that the member has ended if a later attempt of it has begun, which has more to send. A session of the
 * same attempt may have missed the answer to its end, or belong to another process. */
static void member_goes_on(struct intake *in, uint64_t member, uint32_t attempt)
{
    uint32_t ended = atomic_load_explicit(&in->ended_by[member], memory_order_relaxed);

    if (ended == 0 || attempt <= ended)
        return;
    intake_count(&in->counters.finalized, -1);
    note_member_end(in, member, 0);
}

static struct gaps_of gaps_here(const struct intake *in, uint64_t member)
{
    return (struct gaps_of){
        .have = in->have, .dealing = in->config->dealing, .rank = in->config->rank, .member = member};
}

/* Begins a session that is new here; NULL if it cannot be taken. */
static struct peer *begin_session(struct intake *in, struct frame_origin from, const struct frame *f,
                                  const char *payload)
{
    json_t *body = json_loadb(payload, f->length, 0, NULL);
    struct sample_params *params = NULL;
    struct peer *peer = NULL, *older;
    struct gaps_of of = gaps_here(in, f->member);

    /* Jansson may report a lack of memory as an error of the text, so the member is not refused: it sends HELLO
     * again. */
    if (body == NULL)
        intake_reject(in, from, f, FAULT_PARAMETERS, "its HELLO cannot be read: it is not JSON, or there is no memory");
    else
        params = read_params(in, from, f, body);
    if (params != NULL && !make_session_room(in, from, f)) {
        sample_params_unref(params);
        params = NULL;
    }
    if (params != NULL)
        peer = peers_add(in->peers, f->member, f->session, f->attempt, params);
    if (peer != NULL && !intake_adopt_orphans(in, peer)) {
        peers_remove(in->peers, peer);
        peer = NULL;
        params = NULL;
        intake_no_memory(in);
    }
    if (peer != NULL) {
        member_goes_on(in, f->member, f->attempt);
        peer->memory = mapping_open(json_object_get(body, "memory"), in->memory_max);
        /* the member no longer keeps frames that it regards as acknowledged */
        peer->last = peer->acked = (uint64_t)f->step;
        while ((older = peers_find_older(in->peers, f->member, f->attempt)) != NULL) {
            gaps_follow(&peer->gaps, &older->gaps, &of);
            forget_peer(in, older);
        }
    } else if (params != NULL) {
        sample_params_unref(params);
        intake_no_memory(in);
    }
    json_decref(body);
    return peer;
}

static void take_hello(struct intake *in, struct frame_origin from, const struct frame *f, const char *payload)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session);

    /* This attempt was regarded as lost, and still runs. Its samples that were not whole were forgotten, though
     * acknowledged. */
    if (peer == NULL && peers_find_later(in->peers, f->member, f->attempt) != NULL) {
        intake_refuse(in, from, f, FAULT_ATTEMPT, "a later attempt of this member has begun");
        return;
    }
    if (peer == NULL)
        peer = begin_session(in, from, f, payload);
    if (peer == NULL)
        return;
    intake_flush(in); /* what the answer says is held is in the buffer */
    peers_hear(in->peers, peer);
    peer->rewound = false;
    memcpy(peer->routing, from.routing, from.routing_size);
    peer->routing_size = from.routing_size;
    intake_welcome(in, from, f, peer);
}

static bool take_sample_frame(struct intake *in, struct frame_origin from, const struct frame *f,
                              const uint8_t *payload)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session);

    if (peer == NULL) {
        intake_answer(in, from, f, FRAME_WHO, 0, 0, NULL);
        return false;
    }
    peers_hear(in->peers, peer);
    if (peer->routing_size != from.routing_size || memcmp(peer->routing, from.routing, from.routing_size) != 0) {
        memcpy(peer->routing, from.routing, from.routing_size);
        peer->routing_size = from.routing_size;
    }
    if (f->sequence <= peer->last) {
        intake_ack_later(in, peer);
        return true;
    }
    if (in->ended != 0) {
        intake_take_no_more(in, from, f);
        return false;
    }
    if (f->sequence == peer->last + 1)
        return intake_take_field(in, from, peer, f, payload);
    if (!peer->rewound) {
        intake_flush(in);
        intake_answer(in, from, f, FRAME_REWIND, peer->last, 0, NULL);
    }
    peer->rewound = true;
    return true;
}

/* Reports steps that were left out. Such a member has not finished: it may send them in another attempt, so its state
 * is kept. */
static bool answer_gap(struct intake *in, struct frame_origin from, const struct frame *f, const struct peer *peer)
{
    struct gaps_of of = gaps_here(in, peer->member);
    int64_t first = 0, last = 0, n = gaps_count(&peer->gaps, &of, &first, &last);
    char text[200];

    if (n == 0)
        return false;
    snprintf(text, sizeof text,
             "%lld step%s from %lld to %lld never came to rank %d: this attempt began behind them, and no earlier one "
             "had sent them",
             (long long)n, n == 1 ? "" : "s", (long long)first, (long long)last, in->config->rank);
    intake_answer(in, from, f, FRAME_FINALIZED, f->sequence, steps_told(in, f->member), text);
    return true;
}

static void take_finalize(struct intake *in, struct frame_origin from, const struct frame *f)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session);
    uint32_t before, attempt;

    intake_flush(in); /* samples that came before it are put into the buffer first */
    if (peer == NULL) {
        intake_answer(in, from, f, FRAME_WHO, 0, 0, NULL);
        return;
    }
    if (f->sequence != peer->last) {
        intake_answer(in, from, f, FRAME_REWIND, peer->last, 0, NULL);
        return;
    }
    if (answer_gap(in, from, f, peer))
        return;
    before = atomic_load_explicit(&in->ended_by[f->member], memory_order_relaxed);
    /* the daemon counts from 1; a member that is started by hand may have 0 */
    attempt = peer->attempt > 0 ? peer->attempt : 1;
    if (before != attempt) /* it may report its end again */
        intake_count(&in->counters.skipped, f->step);
    note_member_end(in, f->member, attempt);
    if (before == 0) /* after that was noted: a checkpoint that is begun because of the count has the member */
        intake_count(&in->counters.finalized, 1);
    forget_peer(in, peer);
    intake_answer(in, from, f, FRAME_FINALIZED, f->sequence, steps_told(in, f->member), NULL);
}

/* Handles a frame that is valid in itself. Returns false if its sender is refused, with the rest of the message. */
static bool take_frame(struct intake *in, struct frame_origin from, const struct frame *f, const uint8_t *payload)
{
    /* A sender without the key gets no answer, so that strangers learn nothing. */
    if (f->key != in->config->key || f->ensemble != in->config->ensemble) {
        intake_reject(in, from, f, FAULT_KEY, "another ensemble's stream key");
        return false;
    }
    if (f->generation != in->config->generation) {
        intake_reject(in, from, f, FAULT_GENERATION, "meant for another generation of ranks");
        return false;
    }
    if (f->member >= in->config->count) {
        intake_refuse(in, from, f, FAULT_MEMBER, "the ensemble has no such member");
        return false;
    }
    if (f->step > STEPSET_STEP_MAX) {
        intake_refuse(in, from, f, FAULT_RANGE, "a step beyond %lld", (long long)STEPSET_STEP_MAX);
        return false;
    }
    switch (f->kind) {
    case FRAME_HELLO: take_hello(in, from, f, (const char *)payload); return true;
    case FRAME_SAMPLE: return take_sample_frame(in, from, f, payload);
    case FRAME_FINALIZE: take_finalize(in, from, f); return true;
    default: intake_reject(in, from, f, FAULT_DIRECTION, "a kind that only ranks send"); return false;
    }
}

/* Returns whether the frame may follow another one in a message: a small SAMPLE. */
static bool may_follow(const struct frame *f)
{
    return f->kind == FRAME_SAMPLE && FRAME_HEADER_SIZE + f->length <= FRAME_SHARING_MAX;
}

size_t intake_message(struct intake *in, const uint8_t *routing, uint8_t routing_size, zmq_msg_t *msg)
{
    struct frame_origin from = {routing, routing_size, msg};
    const uint8_t *data = zmq_msg_data(msg);
    size_t size = zmq_msg_size(msg), at = 0, in_memory = 0;
    struct frame f = {.flags = FRAME_MORE};

    for (; f.flags & FRAME_MORE; at += frame_span(&f)) {
        enum frame_fault fault = frame_decode(data + at, size - at, &f);

        if (fault == FRAME_OK && at > 0 && !may_follow(&f))
            fault = FRAME_BAD_LENGTH;
        if (fault != FRAME_OK)
            intake_reject(in, from, fault > FRAME_BAD_CHECKSUM ? &f : NULL, (int)fault, frame_fault_text(fault));
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

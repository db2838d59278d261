#include "tasks/train/intake.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "tasks/train/peers.h"
#include "tasks/train/stepset.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACKS_MAX 256

struct intake {
    const struct train_config *config;
    struct pool *pool;
    intake_reply *reply;
    void *arg;
    struct peers *peers;
    struct stepset *have;
    uint8_t *finalized; /* a bit for each member */
    struct peer *ack[ACKS_MAX];
    int acks;
    bool said_rejected;
    pthread_mutex_t lock; /* of the counters */
    struct receiver_counters counters;
};

/* The connection that a frame came by. */
struct origin {
    const uint8_t *routing;
    uint8_t routing_size;
};

struct intake *intake_create(const struct train_config *config, struct pool *pool, intake_reply *reply, void *arg)
{
    struct intake *in = xcalloc(1, sizeof *in);

    in->config = config;
    in->pool = pool;
    in->reply = reply;
    in->arg = arg;
    in->peers = peers_create();
    in->have = stepset_create();
    in->finalized = xcalloc(config->count / 8 + 1, 1);
    pthread_mutex_init(&in->lock, NULL);
    return in;
}

void intake_destroy(struct intake *in)
{
    if (in == NULL)
        return;
    peers_destroy(in->peers);
    stepset_destroy(in->have);
    pthread_mutex_destroy(&in->lock);
    free(in->finalized);
    free(in);
}

void intake_counters(struct intake *in, struct receiver_counters *counters)
{
    pthread_mutex_lock(&in->lock);
    *counters = in->counters;
    pthread_mutex_unlock(&in->lock);
}

static void count(struct intake *in, uint64_t *counter, int by)
{
    pthread_mutex_lock(&in->lock);
    *counter += (uint64_t)by;
    pthread_mutex_unlock(&in->lock);
}

void intake_reject(struct intake *in, const char *why)
{
    count(in, &in->counters.rejected, 1);
    if (!in->said_rejected)
        log_warn("ensemble %llu, rank %d: a frame was rejected: %s (said once; the status counts them)",
                 (unsigned long long)in->config->ensemble, in->config->rank, why);
    in->said_rejected = true;
}

/* Answer a frame: the member knows the answer as its own by key and session. */
static void answer(struct intake *in, struct origin to, const struct frame *f, enum frame_kind kind, uint64_t sequence,
                   int64_t step, const char *payload)
{
    struct frame reply = {.kind = kind,
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

static void __attribute__((format(printf, 4, 5)))
refuse(struct intake *in, struct origin to, const struct frame *f, const char *fmt, ...)
{
    char why[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    intake_reject(in, why);
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

void intake_flush(struct intake *in)
{
    for (int i = 0; i < in->acks; i++) {
        struct peer *peer = in->ack[i];
        struct frame f = {.key = in->config->key,
                          .ensemble = in->config->ensemble,
                          .member = peer->member,
                          .session = peer->session,
                          .attempt = peer->attempt};

        peer->ack_due = false;
        answer(in, (struct origin){peer->routing, peer->routing_size}, &f, FRAME_ACK, peer->last, 0, NULL);
    }
    in->acks = 0;
}

static void forget(struct intake *in, struct peer *peer)
{
    intake_flush(in); /* the list may hold it */
    peers_remove(in->peers, peer);
}

static struct params *read_params(struct intake *in, struct origin from, const struct frame *f, const char *payload)
{
    json_t *body = json_loadb(payload, f->length, 0, NULL), *given = json_object_get(body, "parameters");
    struct params *params = params_create(in->config->parameters);

    for (int i = 0; i < params->count; i++) {
        const json_t *value = json_object_get(given, in->config->parameter[i]);

        if (!json_is_number(value)) {
            refuse(in, from, f, "its HELLO has no number for the parameter \"%s\"", in->config->parameter[i]);
            params_unref(params);
            params = NULL;
            break;
        }
        params->value[i] = json_number_value(value);
    }
    json_decref(body);
    return params;
}

static void take_hello(struct intake *in, struct origin from, const struct frame *f, const char *payload)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session), *older;

    if (peer == NULL) {
        struct params *params = read_params(in, from, f, payload);

        if (params == NULL)
            return;
        while ((older = peers_find_older(in->peers, f->member, f->attempt)) != NULL)
            forget(in, older);
        peer = peers_add(in->peers, f->member, f->session, f->attempt, params);
        peer->last = (uint64_t)f->step; /* what the member has as acknowledged, it no longer keeps */
    }
    peer->rewound = false;
    memcpy(peer->routing, from.routing, from.routing_size);
    peer->routing_size = from.routing_size;
    answer(in, from, f, FRAME_WELCOME, peer->last, (int64_t)(f->sequence & INT64_MAX), NULL);
}

/* A sample is whole. Its reference is taken over. */
static int take_sample(struct intake *in, struct sample *sample)
{
    uint64_t member = sample->member;
    int64_t step = sample->step; /* a sample that was put may be gone at once */

    if (stepset_has(in->have, member, step)) {
        pthread_mutex_lock(&in->lock);
        in->counters.received++;
        in->counters.duplicates++;
        pthread_mutex_unlock(&in->lock);
        sample_unref(sample);
        return 0;
    }
    /* Counted before it can be drawn, so that nobody sees more drawn than received. */
    count(in, &in->counters.received, 1);
    if (!pool_has_room(in->pool))
        intake_flush(in);
    if (pool_put(in->pool, sample) == 0) {
        stepset_add(in->have, member, step);
        return 0;
    }
    count(in, &in->counters.received, -1);
    sample_unref(sample);
    return -1;
}

static bool field_fits(const struct train_config *config, const struct frame *f)
{
    const struct field *field;

    if (f->field >= config->fields.count)
        return false;
    field = &config->fields.field[f->field];
    return f->dtype == field->dtype && f->length == field->bytes && field_has_shape(field, f->ndim, f->shape);
}

static int take_field(struct intake *in, struct origin from, struct peer *peer, const struct frame *f, zmq_msg_t *msg)
{
    struct sample *sample = peer_partial(peer, f->step);

    if (!field_fits(in->config, f)) {
        refuse(in, from, f, "field %u is not as the spec declares it", f->field);
        return 0;
    }
    if (sample == NULL) {
        if (peer->partials >= FIELDS_OPEN_STEPS_MAX) {
            refuse(in, from, f, "more than %d steps lack fields", FIELDS_OPEN_STEPS_MAX);
            return 0;
        }
        sample = sample_create(in->config->fields.count, peer->member, f->step, peer->params);
        peer_partial_begin(peer, sample);
    }
    sample_take(sample, f->field, msg);
    peer->last = f->sequence;
    peer->rewound = false;
    if (sample->have == sample->fields) {
        peer_partial_end(peer, sample);
        if (take_sample(in, sample) < 0) {
            peer->last = f->sequence - 1;
            refuse(in, from, f, "the training has ended");
            return -1;
        }
    }
    ack_later(in, peer);
    return 0;
}

static int take_sample_frame(struct intake *in, struct origin from, const struct frame *f, zmq_msg_t *msg)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session);

    if (peer == NULL) {
        answer(in, from, f, FRAME_WHO, 0, 0, NULL);
        return 0;
    }
    if (peer->routing_size != from.routing_size || memcmp(peer->routing, from.routing, from.routing_size) != 0) {
        memcpy(peer->routing, from.routing, from.routing_size);
        peer->routing_size = from.routing_size;
    }
    if (f->sequence <= peer->last) {
        ack_later(in, peer);
    } else if (f->sequence > peer->last + 1) {
        if (!peer->rewound)
            answer(in, from, f, FRAME_REWIND, peer->last, 0, NULL);
        peer->rewound = true;
    } else {
        return take_field(in, from, peer, f, msg);
    }
    return 0;
}

static void take_finalize(struct intake *in, struct origin from, const struct frame *f)
{
    struct peer *peer = peers_find(in->peers, f->member, f->session);
    uint8_t bit = (uint8_t)(1 << f->member % 8);

    if (peer == NULL) {
        answer(in, from, f, FRAME_WHO, 0, 0, NULL);
        return;
    }
    if (f->sequence != peer->last) {
        answer(in, from, f, FRAME_REWIND, peer->last, 0, NULL);
        return;
    }
    if (!(in->finalized[f->member / 8] & bit))
        count(in, &in->counters.finalized, 1);
    in->finalized[f->member / 8] |= bit;
    forget(in, peer);
    answer(in, from, f, FRAME_FINALIZED, f->sequence, 0, NULL);
}

int intake_frame(struct intake *in, const uint8_t *routing, uint8_t routing_size, zmq_msg_t *msg)
{
    struct origin from = {routing, routing_size};
    struct frame f;
    enum frame_fault fault = frame_decode(zmq_msg_data(msg), zmq_msg_size(msg), &f);

    if (fault != FRAME_OK) {
        intake_reject(in, frame_fault_text(fault));
        return 0;
    }
    /* Without the key there is no answer, to tell strangers nothing. */
    if (f.key != in->config->key || f.ensemble != in->config->ensemble) {
        intake_reject(in, "another ensemble's stream key");
        return 0;
    }
    if (f.generation != in->config->generation) {
        intake_reject(in, "meant for another generation of ranks");
        return 0;
    }
    if (f.member >= in->config->count || f.step > STEPSET_STEP_MAX) {
        refuse(in, from, &f, "no such member, or an impossible step");
        return 0;
    }
    switch (f.kind) {
    case FRAME_HELLO:
        take_hello(in, from, &f, (const char *)zmq_msg_data(msg) + FRAME_HEADER_SIZE);
        return 0;
    case FRAME_SAMPLE:
        return take_sample_frame(in, from, &f, msg);
    case FRAME_FINALIZE:
        take_finalize(in, from, &f);
        return 0;
    default:
        intake_reject(in, "a kind that only ranks send");
        return 0;
    }
}

#include "tasks/train/intake_private.h"

#define READY_BYTES ((size_t)256 << 10)
/* So much of a member is acknowledged at once; less waits for intake_flush(). This is far less than a member's
 * window. */
#define ACK_FRAMES 64
#define ACK_BYTES ((size_t)256 << 10)

void intake_ack_later(struct intake *in, struct peer *peer)
{
    if (peer->ack_due)
        return;
    if (in->acks == ACKS_MAX)
        intake_flush(in);
    peer->ack_due = true;
    in->ack[in->acks++] = peer;
}

static struct frame answer_frame(const struct intake *in, const struct peer *peer)
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

/* Acknowledges what is held: everything, or only if much has come. For a peer with samples that still wait, only the
 * frames before them are acknowledged. Peers that are owed more stay in the list. */
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
            struct frame f = answer_frame(in, peer);

            intake_answer(in, (struct frame_origin){peer->routing, peer->routing_size, NULL}, &f, FRAME_ACK,
                          peer->limit, 0, NULL);
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

void intake_take_no_more(struct intake *in, struct frame_origin from, const struct frame *f)
{
    if (in->ended == FAULT_ENDED)
        intake_refuse(in, from, f, FAULT_ENDED, "the training has ended");
    else
        intake_reject(in, from, f, FAULT_STOPPED, "the training draws no more samples");
}

static void count_held(struct intake *in, uint64_t member)
{
    if (in->held != NULL)
        atomic_store_explicit(&in->held[member], intake_held(in, member) + 1, memory_order_relaxed);
}

/* Drops the samples from `from` on, because nobody will draw any more. */
static void drop_ready(struct intake *in, int from, int fault)
{
    in->ended = fault;
    intake_count(&in->counters.unique, from - in->readies);
    for (int i = in->readies - 1; i >= from; i--) {
        struct peer *peer = in->ready[i].peer;
        struct frame f = answer_frame(in, peer);

        intake_count(&in->counters.bytes, -(int64_t)bytes_of(in, in->ready[i].sample));
        peer->last = in->ready[i].before;
        intake_take_no_more(in, (struct frame_origin){peer->routing, peer->routing_size, NULL}, &f);
        /* of a sample of several fields, the first ones may be acknowledged; nobody sends these again */
        if (in->config->fields.count == 1 || peer_partial_begin(peer, in->ready[i].sample) < 0)
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
        for (int i = put; i < put + n; i++)
            count_held(in, in->ready[i].peer->member);
        put += n;
        if (put < in->readies) {
            send_acks(in, put, true);
            pool_wait_for_room(in->pool);
        }
    }
    if (n < 0)
        drop_ready(in, put, n == POOL_PUT_ENDED && !in->quiet ? FAULT_ENDED : FAULT_STOPPED);
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

void intake_take_sample(struct intake *in, struct peer *peer, struct sample *sample, uint64_t before)
{
    if (in->config->varies)
        intake_count(&in->counters.bytes, (int64_t)bytes_of(in, sample));
    gaps_note(&peer->gaps, sample->step);
    if (stepset_add(in->have, sample->member, sample->step)) {
        /* before the sample can be drawn, so that nobody sees more drawn than received */
        intake_count(&in->counters.unique, 1);
        in->ready[in->readies++] = (struct ready){sample, peer, before};
        return;
    }
    intake_count(&in->counters.duplicates, 1);
    sample_unref(sample);
}

bool intake_is_full(const struct intake *in)
{
    return in->readies == POOL_PUT_MAX || (size_t)in->readies * in->config->sample_bytes >= READY_BYTES;
}

#include "tasks/train/intake_private.h"

#include "tasks/proto/copy.h"

#include <stdlib.h>

/* Finds the payload of a frame that lies in its member's memory; NULL if it does not. */
static const void *find_payload(struct intake *in, struct frame_origin from, const struct peer *peer,
                                const struct frame *f)
{
    const void *payload = peer->memory != NULL ? mapping_at(peer->memory, f->place, f->length) : NULL;

    if (payload == NULL)
        intake_reject(in, from, f, FAULT_MEMORY, "its payload lies nowhere in the memory that the member shares");
    return payload;
}

/* Copies the payload. The copy is verified, since its member could write to the shared memory at any time. */
static bool copy_payload(struct intake *in, struct frame_origin from, const struct frame *f, void *to,
                         const void *payload)
{
    copy_out(to, payload, f->length);
    if ((f->flags & FRAME_PAYLOAD_CHECKSUM) && f->payload_checksum != frame_checksum(to, f->length)) {
        intake_reject(in, from, f, FRAME_BAD_PAYLOAD, frame_fault_text(FRAME_BAD_PAYLOAD));
        return false;
    }
    intake_count(&in->counters.memory_bytes, (int64_t)f->length);
    return true;
}

/* Takes a field out of the memory of its member: to where the sample keeps it, or into a message of its own, as if it
 * had come in one. */
static bool take_from_memory(struct intake *in, struct frame_origin from, const struct peer *peer,
                             const struct frame *f, struct sample *sample)
{
    const void *payload = find_payload(in, from, peer, f);
    void *to = payload != NULL ? sample_place(sample, f->field) : NULL;
    zmq_msg_t msg;
    uint8_t *data;
    bool taken;

    if (payload == NULL)
        return false;
    if (to != NULL) {
        if (!copy_payload(in, from, f, to, payload))
            return false;
        sample_placed(sample, f->field, f->length);
        return true;
    }
    if (zmq_msg_init_size(&msg, FRAME_HEADER_SIZE + f->length) != 0)
        return intake_no_memory(in);
    data = (uint8_t *)zmq_msg_data(&msg) + FRAME_HEADER_SIZE;
    taken = copy_payload(in, from, f, data, payload);
    if (taken && !sample_take(sample, f->field, data, f->length, &msg))
        taken = intake_no_memory(in);
    zmq_msg_close(&msg);
    return taken;
}

/* Begins the sample of a step with its first field; NULL if there is no memory. */
static struct sample *begin_step_sample(struct intake *in, struct peer *peer, int64_t step)
{
    struct sample *sample = sample_create(in->store, peer->member, step, peer->params);

    if (sample != NULL && in->config->fields.count > 1 && peer_partial_begin(peer, sample) < 0) {
        sample_unref(sample);
        sample = NULL;
    }
    if (sample != NULL)
        sample_set_stream(sample, peer->session, peer->attempt);
    return sample;
}

/* Drops a sample of which nothing has come. */
static void drop_begun(struct intake *in, struct peer *peer, struct sample *sample)
{
    if (in->config->fields.count > 1)
        peer_partial_end(peer, sample);
    sample_unref(sample);
}

/* Handles a field of a step that is held already. In a stream with several fields, it may belong to a step whose first
 * fields another generation had acknowledged. Field 0 stands for the whole sample in the books. */
static bool take_again(struct intake *in, struct peer *peer, const struct frame *f)
{
    if (in->config->varies)
        intake_count(&in->counters.bytes, (int64_t)f->length);
    if (f->field == 0) {
        intake_count(&in->counters.duplicates, 1);
        gaps_note(&peer->gaps, f->step);
    }
    peer->last = f->sequence;
    peer->rewound = false;
    intake_ack_later(in, peer);
    return true;
}

bool intake_take_field(struct intake *in, struct frame_origin from, struct peer *peer, const struct frame *f,
                       const uint8_t *payload)
{
    struct sample *sample = in->config->fields.count > 1 ? peer_partial(peer, f->step) : NULL;
    uint64_t before = peer->last;
    bool taken;

    if (f->field >= in->config->fields.count || !field_takes(&in->config->fields.field[f->field], f)) {
        intake_refuse(in, from, f, FAULT_FIELD, "field %u is not as the spec declares it", f->field);
        return false;
    }
    if (in->config->fields.count > 1 && sample == NULL && stepset_has(in->have, f->member, f->step))
        return take_again(in, peer, f);
    if (sample == NULL && peer->partials >= FIELDS_OPEN_STEPS_MAX) {
        intake_refuse(in, from, f, FAULT_OPEN_STEPS, "more than %d steps lack fields", FIELDS_OPEN_STEPS_MAX);
        return false;
    }
    if (stepset_reserve(in->have) < 0)
        return intake_no_memory(in);
    if (sample == NULL && (sample = begin_step_sample(in, peer, f->step)) == NULL)
        return intake_no_memory(in);
    if (frame_is_in_memory(f))
        taken = take_from_memory(in, from, peer, f, sample);
    else
        taken = sample_take(sample, f->field, payload, f->length, from.msg) || intake_no_memory(in);
    if (!taken) {
        if (sample->have == 0)
            drop_begun(in, peer, sample);
        return false;
    }
    peer->last = f->sequence;
    peer->rewound = false;
    intake_ack_later(in, peer);
    if (!sample_is_whole(sample))
        return true;
    if (in->config->fields.count > 1)
        peer_partial_end(peer, sample);
    intake_take_sample(in, peer, sample, before);
    if (intake_is_full(in))
        intake_turn(in);
    return true;
}

#include "tasks/train/sample.h"

#include "common/xalloc.h"
#include "tasks/proto/frame.h"

#include <stdlib.h>
#include <string.h>

/* ZeroMQ hands out messages up to this size as references into its 8 KiB read buffer. Kept for long, one such message
 * would hold all of that, so these are copied; larger ones have their own memory and are only moved. */
#define SHARED_MAX 8192

struct params *params_create(int count)
{
    struct params *params = xcalloc(1, sizeof *params + (size_t)count * sizeof *params->value);

    atomic_init(&params->refs, 1);
    params->count = count;
    return params;
}

struct params *params_ref(struct params *params)
{
    atomic_fetch_add_explicit(&params->refs, 1, memory_order_relaxed);
    return params;
}

void params_unref(struct params *params)
{
    if (params != NULL && atomic_fetch_sub_explicit(&params->refs, 1, memory_order_acq_rel) == 1)
        free(params);
}

struct sample *sample_create(int fields, uint64_t member, int64_t step, struct params *params)
{
    struct sample *sample = xcalloc(1, sizeof *sample + (size_t)fields * sizeof *sample->field);

    atomic_init(&sample->refs, 1);
    sample->fields = fields;
    sample->member = member;
    sample->step = step;
    sample->params = params_ref(params);
    for (int i = 0; i < fields; i++)
        zmq_msg_init(&sample->field[i]);
    return sample;
}

struct sample *sample_ref(struct sample *sample)
{
    atomic_fetch_add_explicit(&sample->refs, 1, memory_order_relaxed);
    return sample;
}

void sample_unref(struct sample *sample)
{
    if (sample == NULL || atomic_fetch_sub_explicit(&sample->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < sample->fields; i++)
        zmq_msg_close(&sample->field[i]);
    params_unref(sample->params);
    free(sample);
}

bool sample_take(struct sample *sample, int field, zmq_msg_t *msg)
{
    zmq_msg_t *at = &sample->field[field];
    size_t size = zmq_msg_size(msg);

    if (zmq_msg_size(at) > 0)
        return false;
    if (size > SHARED_MAX || zmq_msg_init_size(at, size) != 0) {
        zmq_msg_move(at, msg);
    } else {
        memcpy(zmq_msg_data(at), zmq_msg_data(msg), size);
        zmq_msg_close(msg);
        zmq_msg_init(msg);
    }
    sample->have++;
    return true;
}

const void *sample_payload(struct sample *sample, int field)
{
    return (const uint8_t *)zmq_msg_data(&sample->field[field]) + FRAME_HEADER_SIZE;
}

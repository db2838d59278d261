#include "tasks/train/sample.h"

#include "tasks/proto/copy.h"

#include <stdlib.h>
#include <string.h>

/* A small frame shares its message with others, or ZeroMQ has returned it as a reference into its 8 KiB read buffer. A
 * small frame that is kept for long would hold all of that, so it is copied; larger ones have their own memory and are
 * only moved. */
#define IN_MESSAGE SIZE_MAX

struct sample_store {
    struct kept *kept; /* NULL: samples are not kept in slots */
    int fields, parameters;
    size_t size; /* of a sample with its small fields */
    size_t slot_size;
    size_t at[FIELDS_MAX];    /* the place of a field in it or in its slot; IN_MESSAGE for large ones */
    size_t bytes[FIELDS_MAX]; /* of a field; the maximum, if it varies */
    bool varies[FIELDS_MAX];
    size_t sizes;                   /* the place in it, or in its slot, of the sizes of fields that vary */
    struct sample *idle;            /* used by the thread that creates samples */
    _Atomic(struct sample *) freed; /* added to by any thread; taken over as a whole */
};

struct sample_params *sample_params_create(int count)
{
    struct sample_params *params = calloc(1, sizeof *params + (size_t)count * sizeof *params->value);

    if (params == NULL)
        return NULL;
    atomic_init(&params->refs, 1);
    params->count = count;
    return params;
}

static struct sample_params *sample_params_ref(struct sample_params *params)
{
    atomic_fetch_add_explicit(&params->refs, 1, memory_order_relaxed);
    return params;
}

void sample_params_unref(struct sample_params *params)
{
    if (params != NULL && atomic_fetch_sub_explicit(&params->refs, 1, memory_order_acq_rel) == 1)
        free(params);
}

/* Lays out small fields behind the sample; large ones stay in their messages. */
static void lay_out_sample(struct sample_store *store, const struct field_set *fields)
{
    store->size = store->sizes = sizeof(struct sample) + (size_t)fields->count * sizeof(zmq_msg_t);
    if (memchr(store->varies, true, sizeof store->varies) != NULL)
        store->size += (size_t)fields->count * sizeof(size_t);
    store->size = (store->size + 15) / 16 * 16;
    for (int i = 0; i < fields->count; i++) {
        store->at[i] = IN_MESSAGE;
        if (FRAME_HEADER_SIZE + store->bytes[i] > FRAME_SHARING_MAX)
            continue;
        store->at[i] = store->size;
        store->size += (store->bytes[i] + 15) / 16 * 16;
    }
}

/* Lays out a slot: its head, the parameters, the fields' sizes, and the fields, each from a new line of the cache. */
static void lay_out_slot(struct sample_store *store, const struct field_set *fields)
{
    store->size = sizeof(struct sample);
    store->sizes = KEPT_SLOT_HEAD + (size_t)store->parameters * sizeof(double);
    store->slot_size = store->sizes + (size_t)fields->count * sizeof(size_t);
    store->slot_size = (store->slot_size + 63) / 64 * 64;
    for (int i = 0; i < fields->count; i++) {
        store->at[i] = store->slot_size;
        store->slot_size += (store->bytes[i] + 63) / 64 * 64;
    }
}

struct sample_store *sample_store_create(const struct field_set *fields, struct kept *kept, int parameters)
{
    struct sample_store *store = calloc(1, sizeof *store);

    if (store == NULL)
        return NULL;
    store->kept = kept;
    store->fields = fields->count;
    store->parameters = parameters;
    for (int i = 0; i < fields->count; i++) {
        store->varies[i] = field_varies(&fields->field[i]);
        store->bytes[i] = fields->field[i].bytes;
    }
    if (kept != NULL)
        lay_out_slot(store, fields);
    else
        lay_out_sample(store, fields);
    atomic_init(&store->freed, NULL);
    return store;
}

size_t sample_slot_size(const struct sample_store *store)
{
    return store->slot_size;
}

static void free_list(struct sample *sample)
{
    for (struct sample *next; sample != NULL; sample = next) {
        next = sample->next;
        free(sample);
    }
}

void sample_store_destroy(struct sample_store *store)
{
    if (store == NULL)
        return;
    free_list(store->idle);
    free_list(atomic_load(&store->freed));
    free(store);
}

static struct sample *take_idle_sample(struct sample_store *store)
{
    struct sample *sample;

    if (store->idle == NULL)
        store->idle = atomic_exchange_explicit(&store->freed, NULL, memory_order_acquire);
    sample = store->idle;
    if (sample == NULL)
        return calloc(1, store->size);
    store->idle = sample->next;
    return sample;
}

static struct sample *sample_begin(struct sample_store *store, uint64_t member, int64_t step)
{
    struct sample *sample = take_idle_sample(store);

    if (sample == NULL)
        return NULL;
    atomic_init(&sample->refs, 1);
    sample->draws = 0;
    sample->cut = KEPT_NOT_DRAWN;
    sample->unlearnt = false;
    sample->have = 0;
    sample->member = member;
    sample->step = step;
    sample->store = store;
    sample->slot = NULL;
    return sample;
}

/* Gives a sample that nothing was entered in back to the store. */
static void put_idle(struct sample *sample)
{
    sample->next = sample->store->idle;
    sample->store->idle = sample;
}

static double *params_of(struct kept_slot *slot)
{
    return (double *)(void *)((char *)slot + KEPT_SLOT_HEAD);
}

struct sample *sample_create(struct sample_store *store, uint64_t member, int64_t step, struct sample_params *params)
{
    struct sample *sample = sample_begin(store, member, step);
    struct kept_slot *slot;

    if (sample == NULL)
        return NULL;
    if (store->kept != NULL) {
        slot = sample->slot = kept_take(store->kept);
        if (slot == NULL) {
            put_idle(sample);
            return NULL;
        }
        slot->member = member;
        slot->step = step;
        slot->session = 0;
        memcpy(params_of(slot), params->value, (size_t)params->count * sizeof *params->value);
    }
    sample->params = sample_params_ref(params);
    return sample;
}

struct sample *sample_of_slot(struct sample_store *store, struct kept_slot *slot)
{
    struct sample_params *params = sample_params_create(store->parameters);
    struct sample *sample = params != NULL ? sample_begin(store, slot->member, slot->step) : NULL;

    if (sample == NULL) {
        sample_params_unref(params);
        return NULL;
    }
    memcpy(params->value, params_of(slot), (size_t)params->count * sizeof *params->value);
    sample->params = params;
    sample->slot = slot;
    sample->have = atomic_load_explicit(&slot->have, memory_order_acquire);
    return sample;
}

void sample_set_stream(struct sample *sample, uint64_t session, uint32_t attempt)
{
    if (sample->slot == NULL)
        return;
    sample->slot->session = session;
    sample->slot->attempt = attempt;
}

struct sample *sample_ref(struct sample *sample)
{
    atomic_fetch_add_explicit(&sample->refs, 1, memory_order_relaxed);
    return sample;
}

void sample_unref(struct sample *sample)
{
    struct sample_store *store;

    if (sample == NULL || atomic_fetch_sub_explicit(&sample->refs, 1, memory_order_acq_rel) != 1)
        return;
    store = sample->store;
    if (sample->slot != NULL)
        kept_give(store->kept, sample->slot, sample->cut);
    for (int i = 0; sample->slot == NULL && i < store->fields; i++)
        if (store->at[i] == IN_MESSAGE && (sample->have >> i & 1))
            zmq_msg_close(&sample->field[i]);
    sample_params_unref(sample->params);
    sample->next = atomic_load_explicit(&store->freed, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&store->freed, &sample->next, sample, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

/* The memory in which the fields lie that are not in messages. */
static char *field_memory(const struct sample *sample)
{
    return sample->slot != NULL ? (char *)sample->slot : (char *)sample;
}

static size_t *sizes_of(const struct sample *sample)
{
    return (size_t *)(void *)(field_memory(sample) + sample->store->sizes);
}

/* Keeps a large field's message. A field that can be large, but is small this time, gets memory of its own, too. */
static bool keep_message(zmq_msg_t *to, const void *payload, size_t bytes, zmq_msg_t *msg)
{
    if (FRAME_HEADER_SIZE + bytes > FRAME_SHARING_MAX) {
        zmq_msg_init(to);
        zmq_msg_move(to, msg);
        return true;
    }
    if (zmq_msg_init_size(to, FRAME_HEADER_SIZE + bytes) != 0)
        return false;
    memcpy((char *)zmq_msg_data(to) + FRAME_HEADER_SIZE, payload, bytes);
    return true;
}

bool sample_take(struct sample *sample, int field, const void *payload, size_t bytes, zmq_msg_t *msg)
{
    size_t at = sample->store->at[field];

    if (sample->have >> field & 1)
        return true;
    if (at == IN_MESSAGE) {
        if (!keep_message(&sample->field[field], payload, bytes, msg))
            return false;
        sample->have |= (uint64_t)1 << field;
    } else {
        copy_out(field_memory(sample) + at, payload, bytes);
        sample_placed(sample, field, bytes);
    }
    return true;
}

void *sample_place(struct sample *sample, int field)
{
    size_t at = sample->store->at[field];

    return at == IN_MESSAGE || (sample->have >> field & 1) ? NULL : field_memory(sample) + at;
}

void sample_placed(struct sample *sample, int field, size_t bytes)
{
    if (sample->store->varies[field])
        sizes_of(sample)[field] = bytes;
    sample->have |= (uint64_t)1 << field;
    if (sample->slot != NULL) /* from now on the field outlives the process */
        atomic_store_explicit(&sample->slot->have, sample->have, memory_order_release);
}

bool sample_is_whole(const struct sample *sample)
{
    return sample->have == UINT64_MAX >> (64 - sample->store->fields);
}

size_t sample_bytes(const struct sample *sample, int field)
{
    const struct sample_store *store = sample->store;

    if (!store->varies[field])
        return store->bytes[field];
    return store->at[field] == IN_MESSAGE ? zmq_msg_size(&sample->field[field]) - FRAME_HEADER_SIZE
                                          : sizes_of(sample)[field];
}

const void *sample_payload(struct sample *sample, int field)
{
    size_t at = sample->store->at[field];

    return at == IN_MESSAGE ? (const char *)zmq_msg_data(&sample->field[field]) + FRAME_HEADER_SIZE
                            : field_memory(sample) + at;
}

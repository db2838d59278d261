/* A sample: all fields of one step of one member, with the member's parameters. A large field stays in the message in
 * which it came; small ones are copied into the sample's own memory, which is reused. If samples outlive the
 * process, all fields and the parameters are copied into the sample's slot (kept.h). */
#ifndef TASKS_TRAIN_SAMPLE_H
#define TASKS_TRAIN_SAMPLE_H
#include "tasks/proto/fields.h"
#include "tasks/train/kept.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

/* The parameters of a member, shared by its samples. */
struct sample_params {
    atomic_int refs;
    int count;
    double value[];
};

struct sample_params *sample_params_create(int count);  /* zeros, one reference; NULL if there is no memory */
void sample_params_unref(struct sample_params *params); /* NULL is allowed */

struct sample {
    atomic_int refs;
    uint32_t draws; /* how often it went into a batch; used by the training's thread only */
    bool unlearnt;  /* it was drawn, and the program has not learnt from it (pool_learnt()); used by the same thread */
    uint32_t cut;   /* the number of the first checkpoint that has it (kept_give()); used by the same thread */
    uint64_t have;  /* a bit for each field that has come */
    uint64_t member;
    int64_t step;
    struct sample_params *params;
    struct sample_store *store;
    struct kept_slot *slot; /* NULL if it does not outlive the process */
    struct sample *next;    /* in the store, when idle */
    /* header and payload of large fields; behind them the small ones' sizes, if any varies, and payloads */
    zmq_msg_t field[];
};

/* The samples of one stream: their layout, and the memory of idle samples. */
struct sample_store;

/* Samples of a store with `kept`, which outlives it, are kept in its slots, each with that many parameters; NULL for
 * samples that end with the process. NULL if there is no memory. */
struct sample_store *sample_store_create(const struct field_set *fields, struct kept *kept, int parameters);
size_t sample_slot_size(const struct sample_store *store); /* the size of a slot, its head included */
void sample_store_destroy(struct sample_store *store);     /* called after the last sample; NULL is allowed */

/* Creates a sample with one reference; it takes another reference to `params`. NULL if there is no memory. Called by
 * one thread at a time, unlike the other functions. */
struct sample *sample_create(struct sample_store *store, uint64_t member, int64_t step, struct sample_params *params);

/* Makes the sample of a slot that a former process has left, with one reference. NULL if there is no memory. */
struct sample *sample_of_slot(struct sample_store *store, struct kept_slot *slot);

/* Notes the stream to which a sample belongs as long as it lacks fields. */
void sample_set_stream(struct sample *sample, uint64_t session, uint32_t attempt);

struct sample *sample_ref(struct sample *sample);
void sample_unref(struct sample *sample); /* NULL is allowed */

/* Takes a field: a small one is copied from `payload`, somewhere in the message; a large one has a message of its own,
 * which is taken over and left empty. Nothing is done if the sample has this field already; false if there is no
 * memory. */
bool sample_take(struct sample *sample, int field, const void *payload, size_t bytes, zmq_msg_t *msg);

/* For a payload that lies elsewhere: returns where it is to be copied, NULL if the sample keeps it in a message
 * only. sample_placed() says that it is there. */
void *sample_place(struct sample *sample, int field);
void sample_placed(struct sample *sample, int field, size_t bytes);

bool sample_is_whole(const struct sample *sample);

/* The content of a field, and its size in bytes. */
const void *sample_payload(struct sample *sample, int field);
size_t sample_bytes(const struct sample *sample, int field);
#endif

/* A sample: all fields of one step of one member, with the member's parameters. A large field stays in the message in
 * which it came; small ones are copied into the sample's own memory, which is used again and again. */
#ifndef TASKS_TRAIN_SAMPLE_H
#define TASKS_TRAIN_SAMPLE_H
#include "tasks/proto/fields.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

/* The parameters of a member, shared by its samples. */
struct params {
    atomic_int refs;
    int count;
    double value[];
};

struct params *params_create(int count); /* zeros, one reference; NULL where there is no memory */
struct params *params_ref(struct params *params);
void params_unref(struct params *params); /* NULL is taken */

struct sample {
    atomic_int refs;
    uint32_t draws; /* how often it went into a batch; the training's thread's alone */
    uint64_t have;  /* a bit for each field that has come */
    uint64_t member;
    int64_t step;
    struct params *params;
    struct sample_store *store;
    struct sample *next; /* in the store, when idle */
    zmq_msg_t field[];   /* header and payload of large fields; behind them small ones' sizes, where any varies, and payloads */
};

/* The samples of one stream: their layout, and the memory of those that are idle. */
struct sample_store;

/* NULL where there is no memory. */
struct sample_store *sample_store_create(const struct field_set *fields);
void sample_store_destroy(struct sample_store *store); /* after the last sample; NULL is taken */

/* By one thread at a time, unlike all else. One reference; `params` gets another one. NULL where there is no memory. */
struct sample *sample_create(struct sample_store *store, uint64_t member, int64_t step, struct params *params);
struct sample *sample_ref(struct sample *sample);
void sample_unref(struct sample *sample); /* NULL is taken */

/* Take a field: a small one is copied from `payload`, somewhere in the message; of a large one, which has a message of
 * its own, the message is taken over and left empty. Nothing is done where the sample has this field already; false where
 * there is no memory. */
bool sample_take(struct sample *sample, int field, const void *payload, size_t bytes, zmq_msg_t *msg);

bool sample_is_whole(const struct sample *sample);

/* A field's contents, and their size in bytes. */
const void *sample_payload(struct sample *sample, int field);
size_t sample_bytes(const struct sample *sample, int field);
#endif

/* A sample: all fields of one step of one member, in the messages in which they came, with the member's parameters. */
#ifndef TASKS_TRAIN_SAMPLE_H
#define TASKS_TRAIN_SAMPLE_H
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

struct params *params_create(int count); /* zeros, one reference */
struct params *params_ref(struct params *params);
void params_unref(struct params *params); /* NULL is taken */

struct sample {
    atomic_int refs;
    bool drawn; /* went into a batch; under the pool's lock */
    int fields;
    int have; /* fields that have come */
    uint64_t member;
    int64_t step;
    struct params *params;
    zmq_msg_t field[]; /* header and payload; initialised, empty where not yet there */
};

/* One reference; `params` gets another one. */
struct sample *sample_create(int fields, uint64_t member, int64_t step, struct params *params);
struct sample *sample_ref(struct sample *sample);
void sample_unref(struct sample *sample); /* NULL is taken */

/* Take over a field's message, left empty. false where the sample has this field: the message is untouched then. */
bool sample_take(struct sample *sample, int field, zmq_msg_t *msg);

/* The bytes behind the header. */
const void *sample_payload(struct sample *sample, int field);
#endif

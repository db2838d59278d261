/* The interface between a buffer policy and tasks/train/buffer.c. The items are in one array; policies differ in how
 * they order it. */
#ifndef TASKS_TRAIN_POLICY_H
#define TASKS_TRAIN_POLICY_H
#include "tasks/proto/buffer_policies.h"
#include "tasks/train/buffer.h"
#include "tasks/train/random.h"

struct buffer {
    const struct policy *policy;
    struct random drawing;
    struct random evicting;
    size_t capacity;
    size_t threshold;
    void **item;
    size_t head;  /* fifo: the place of the oldest, as the array is a ring; 0 for the others */
    size_t count; /* items */
    size_t seen;  /* reservoir: item[0 … seen) were drawn, item[seen … count) were not */
    bool over;
};

/* Every method is required. */
struct policy {
    const char *name;
    /* Checks that these sizes can produce batches at all; the reason is in *err if not. */
    int (*check)(const struct buffer_config *config, struct error *err);
    bool (*has_room)(const struct buffer *b);
    void *(*put)(struct buffer *b, void *item);
    bool (*put_seen)(struct buffer *b, void *item); /* false if it has no place for an item that was drawn before */
    bool (*can_draw)(const struct buffer *b);       /* called with count > 0, and while reception is not over */
    void *(*draw)(struct buffer *b, bool *removed);
};

#define POLICY_DECLARE(name) extern const struct policy policy_##name;
BUFFER_POLICIES(POLICY_DECLARE)
#endif

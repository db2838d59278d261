/* The buffer between reception and training: it decides which sample a batch draws, and which one makes room. It has no
 * threads and no clock, and does not know what a sample is; it holds pointers that the caller owns.
 *
 * tasks/proto/buffer_policies.h lists its policies. Draws and evictions take their randomness from two generators made
 * of the seed, so that the same seed and the same order of calls give the same draws. */
#ifndef TASKS_TRAIN_BUFFER_H
#define TASKS_TRAIN_BUFFER_H
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer_config {
    const char *policy;
    size_t capacity;
    size_t threshold;
    size_t batch; /* for the check that capacity, threshold and batch can go together */
    uint64_t seed;
};

struct buffer;

/* NULL on an unknown policy, or sizes that would wait for ever. */
struct buffer *buffer_create(const struct buffer_config *config, struct error *err);

/* Frees the buffer, but not the items that it still holds: call buffer_each() first. NULL is allowed. */
void buffer_destroy(struct buffer *b);

bool buffer_has_room(const struct buffer *b);

/* Adds an item; needs room. Returns the item that was evicted, which the caller must release, or NULL. */
void *buffer_put(struct buffer *b, void *item);

/* Adds an item that an earlier buffer has held and drawn. Returns false if it cannot be drawn again, or only in the
 * place of another one. */
bool buffer_put_seen(struct buffer *b, void *item);

bool buffer_can_draw(const struct buffer *b);

/* Draws an item; needs buffer_can_draw(). *removed says whether the item has left the buffer and is the caller's
 * alone. */
void *buffer_draw(struct buffer *b, bool *removed);

/* Reception is over: from now on draws remove, and no threshold holds. */
void buffer_over(struct buffer *b);

size_t buffer_population(const struct buffer *b);
size_t buffer_unseen(const struct buffer *b);

void buffer_each(struct buffer *b, void (*visit)(void *item, void *arg), void *arg);
#endif

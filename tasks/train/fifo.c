#include "tasks/train/policy.h"

#include "common/stretto_assert.h"

static int fifo_check(const struct buffer_config *config, struct error *err)
{
    return 0;
}

static bool fifo_has_room(const struct buffer *b)
{
    return b->count < b->capacity;
}

static void *fifo_put(struct buffer *b, void *item)
{
    stretto_assert(b->count < b->capacity);
    b->item[(b->head + b->count++) % b->capacity] = item;
    return NULL;
}

static bool fifo_put_seen(struct buffer *b, void *item)
{
    return false;
}

static bool fifo_can_draw(const struct buffer *b)
{
    return true;
}

static void *fifo_draw(struct buffer *b, bool *removed)
{
    void *item = b->item[b->head];

    stretto_assert(b->count > 0 && b->head < b->capacity);
    b->head = (b->head + 1) % b->capacity;
    b->count--;
    *removed = true;
    return item;
}

const struct policy policy_fifo = {"fifo",        fifo_check,    fifo_has_room, fifo_put,
                                   fifo_put_seen, fifo_can_draw, fifo_draw};

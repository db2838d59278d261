#include "tasks/train/policy.h"

static int check(const struct buffer_config *config, struct error *err)
{
    return 0;
}

static bool has_room(const struct buffer *b)
{
    return b->count < b->capacity;
}

static void *put(struct buffer *b, void *item)
{
    b->item[(b->head + b->count++) % b->capacity] = item;
    return NULL;
}

static bool put_seen(struct buffer *b, void *item)
{
    return false;
}

static bool can_draw(const struct buffer *b)
{
    return true;
}

static void *draw(struct buffer *b, bool *removed)
{
    void *item = b->item[b->head];

    b->head = (b->head + 1) % b->capacity;
    b->count--;
    *removed = true;
    return item;
}

const struct policy policy_fifo = {"fifo", check, has_room, put, put_seen, can_draw, draw};

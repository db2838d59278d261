#include "tasks/train/policy.h"

#include "common/stretto_assert.h"

static int firo_check(const struct buffer_config *config, struct error *err)
{
    if (config->threshold >= config->capacity)
        return error_set(err, "buffer_sizes", "the threshold of a firo buffer (%zu) must be below its capacity (%zu)",
                         config->threshold, config->capacity);
    return 0;
}

static bool firo_has_room(const struct buffer *b)
{
    return b->count < b->capacity;
}

static void *firo_put(struct buffer *b, void *item)
{
    stretto_assert(b->count < b->capacity);
    b->item[b->count++] = item;
    return NULL;
}

static bool firo_put_seen(struct buffer *b, void *item)
{
    return false;
}

static bool firo_can_draw(const struct buffer *b)
{
    return b->count > b->threshold;
}

static void *firo_draw(struct buffer *b, bool *removed)
{
    size_t at = random_below(&b->drawing, b->count);
    void *item = b->item[at];

    stretto_assert(at < b->count && b->count <= b->capacity);
    b->item[at] = b->item[--b->count];
    *removed = true;
    return item;
}

const struct policy policy_firo = {"firo",        firo_check,    firo_has_room, firo_put,
                                   firo_put_seen, firo_can_draw, firo_draw};

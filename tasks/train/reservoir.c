/* The Reservoir of "High Throughput Training of Deep Surrogates from Large Ensemble Runs" (SC'23). Each operation is a
 * few swaps at the border between the seen and the unseen items. */
#include "tasks/train/policy.h"

#include "common/stretto_assert.h"

static int reservoir_check(const struct buffer_config *config, struct error *err)
{
    if (config->threshold > config->capacity)
        return error_set(err, "buffer_sizes", "the threshold of a reservoir (%zu) is above its capacity (%zu)",
                         config->threshold, config->capacity);
    return 0;
}

static bool reservoir_has_room(const struct buffer *b)
{
    return b->count < b->capacity || b->seen > 0;
}

static void *reservoir_put(struct buffer *b, void *item)
{
    void *evicted;
    size_t at;

    if (b->count < b->capacity) {
        b->item[b->count++] = item;
        return NULL;
    }
    stretto_assert(b->seen > 0 && b->seen <= b->count);
    at = random_below(&b->evicting, b->seen);
    evicted = b->item[at];
    b->seen--;
    b->item[at] = b->item[b->seen];
    b->item[b->seen] = item;
    return evicted;
}

static bool reservoir_put_seen(struct buffer *b, void *item)
{
    if (b->count == b->capacity)
        return false;
    stretto_assert(b->seen <= b->count);
    b->item[b->count++] = b->item[b->seen];
    b->item[b->seen++] = item;
    return true;
}

static bool reservoir_can_draw(const struct buffer *b)
{
    return b->count >= b->threshold;
}

static void *reservoir_draw(struct buffer *b, bool *removed)
{
    size_t at = random_below(&b->drawing, b->count);
    void *item = b->item[at];
    stretto_assert(b->seen <= b->count && b->count <= b->capacity);

    *removed = b->over;
    if (!b->over) {
        if (at >= b->seen) {
            b->item[at] = b->item[b->seen];
            b->item[b->seen++] = item;
        }
        return item;
    }
    b->count--;
    if (at < b->seen) {
        b->seen--;
        b->item[at] = b->item[b->seen];
        at = b->seen;
    }
    b->item[at] = b->item[b->count];
    return item;
}

const struct policy policy_reservoir = {"reservoir",        reservoir_check,    reservoir_has_room, reservoir_put,
                                        reservoir_put_seen, reservoir_can_draw, reservoir_draw};

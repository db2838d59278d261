#include "tasks/proto/stepset.h"

#include "common/stretto_assert.h"

#include <stdlib.h>

/* A hash table with open addressing and linear probing; an entry without bits is a free place, and nothing is ever
 * removed. */
struct stepset {
    struct stepset_run *entry;
    size_t size; /* a power of two */
    size_t used;
};

struct stepset *stepset_create(void)
{
    struct stepset *set = calloc(1, sizeof *set);

    if (set == NULL)
        return NULL;
    set->size = 64;
    set->entry = calloc(set->size, sizeof *set->entry);
    if (set->entry == NULL) {
        free(set);
        return NULL;
    }
    return set;
}

void stepset_destroy(struct stepset *set)
{
    if (set == NULL)
        return;
    free(set->entry);
    free(set);
}

static uint64_t stepset_key(uint64_t member, int64_t step)
{
    return member << 32 | (uint64_t)step / 64;
}

/* Returns the entry of the key, or the free place where it belongs. */
static struct stepset_run *stepset_find(const struct stepset *set, uint64_t key)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    size_t at = (hash ^ hash >> 32) & (set->size - 1);

    while (set->entry[at].bits != 0 && set->entry[at].key != key)
        at = (at + 1) & (set->size - 1);
    return &set->entry[at];
}

static int stepset_grow(struct stepset *set)
{
    struct stepset larger = {.size = 2 * set->size, .used = set->used};

    larger.entry = calloc(larger.size, sizeof *larger.entry);
    if (larger.entry == NULL)
        return -1;
    for (size_t i = 0; i < set->size; i++)
        if (set->entry[i].bits != 0)
            *stepset_find(&larger, set->entry[i].key) = set->entry[i];
    free(set->entry);
    *set = larger;
    return 0;
}

int stepset_reserve(struct stepset *set)
{
    return (set->used + 1) * 5 > set->size * 4 ? stepset_grow(set) : 0;
}

bool stepset_add(struct stepset *set, uint64_t member, int64_t step)
{
    uint64_t key = stepset_key(member, step), bit = (uint64_t)1 << (step % 64);
    struct stepset_run *e = stepset_find(set, key);

    if (e->bits & bit)
        return false;
    if (e->bits == 0)
        set->used++;
    stretto_assert(set->used < set->size);
    e->key = key;
    e->bits |= bit;
    return true;
}

bool stepset_has(const struct stepset *set, uint64_t member, int64_t step)
{
    return (stepset_find(set, stepset_key(member, step))->bits & (uint64_t)1 << (step % 64)) != 0;
}

uint64_t stepset_bits(const struct stepset *set, uint64_t key)
{
    return stepset_find(set, key)->bits;
}

size_t stepset_runs(const struct stepset *set)
{
    return set->used;
}

void stepset_copy(const struct stepset *set, struct stepset_run *runs)
{
    for (size_t i = 0; i < set->size; i++)
        if (set->entry[i].bits != 0)
            *runs++ = set->entry[i];
}

int stepset_add_run(struct stepset *set, const struct stepset_run *run)
{
    struct stepset_run *e;
    int added;

    if (run->bits == 0)
        return 0;
    if (stepset_reserve(set) < 0)
        return -1;
    e = stepset_find(set, run->key);
    if (e->bits == 0)
        set->used++;
    added = __builtin_popcountll(run->bits & ~e->bits);
    e->key = run->key;
    e->bits |= run->bits;
    return added;
}

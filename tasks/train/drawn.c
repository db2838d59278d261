#include "tasks/train/drawn.h"

#include "common/stretto_assert.h"
#include "tasks/train/kept.h"

#include <stdlib.h>

struct drawn {
    struct stepset *set;
    uint64_t members, count;
    uint32_t cut;  /* the number of the next checkpoint */
    uint32_t of[]; /* each member */
};

struct drawn *drawn_create(uint64_t count)
{
    struct drawn *drawn = calloc(1, sizeof *drawn + count * sizeof *drawn->of);

    if (drawn == NULL)
        return NULL;
    drawn->members = count;
    drawn->cut = 1;
    drawn->set = stepset_create();
    if (drawn->set != NULL)
        return drawn;
    drawn_destroy(drawn);
    return NULL;
}

void drawn_destroy(struct drawn *drawn)
{
    if (drawn == NULL)
        return;
    stepset_destroy(drawn->set);
    free(drawn);
}

uint32_t drawn_add(struct drawn *drawn, uint64_t member, int64_t step)
{
    if (stepset_reserve(drawn->set) < 0)
        return KEPT_FOREVER;
    if (!stepset_add(drawn->set, member, step)) /* it is twice in one batch */
        return drawn->cut;
    stretto_assert(member < drawn->members);
    drawn->of[member]++;
    drawn->count++;
    return drawn->cut;
}

uint32_t drawn_cut(const struct drawn *drawn)
{
    return drawn->cut;
}

void drawn_next_cut(struct drawn *drawn)
{
    drawn->cut++;
}

int drawn_add_run(struct drawn *drawn, const struct stepset_run *run)
{
    uint64_t member = run->key >> 32;
    int added = member < drawn->members ? stepset_add_run(drawn->set, run) : -1;

    if (added < 0)
        return -1;
    drawn->of[member] += (uint32_t)added;
    drawn->count += (uint64_t)added;
    return 0;
}

uint64_t drawn_count(const struct drawn *drawn)
{
    return drawn->count;
}

uint32_t drawn_of(const struct drawn *drawn, uint64_t member)
{
    stretto_assert(member < drawn->members);
    return drawn->of[member];
}

const struct stepset *drawn_set(const struct drawn *drawn)
{
    return drawn->set;
}

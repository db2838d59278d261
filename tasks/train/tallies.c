#include "tasks/train/tallies.h"

#include "common/stretto_assert.h"

#include <stdbool.h>
#include <stdlib.h>

#define SIZE_MIN 64

/* Returns the place of a member, or the free one where it belongs. */
static uint32_t *tally_place(const struct tallies *t, int64_t member)
{
    size_t at = (size_t)(((uint64_t)member * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (t->size - 1);

    while (t->places[at] != 0 && t->list[t->places[at] - 1].member != member)
        at = (at + 1) & (t->size - 1);
    return &t->places[at];
}

/* Makes room for one more member. */
static bool make_tally_room(struct tallies *t)
{
    size_t size = t->size > 0 ? 2 * t->size : SIZE_MIN;
    struct tally *list;
    uint32_t *places;

    if (2 * (t->n + 1) <= t->size)
        return true;
    if (size > UINT32_MAX || (list = realloc(t->list, size / 2 * sizeof *list)) == NULL)
        return false;
    t->list = list;
    places = calloc(size, sizeof *places);
    if (places == NULL)
        return false;
    free(t->places);
    t->places = places;
    t->size = size;
    for (size_t i = 0; i < t->n; i++)
        *tally_place(t, t->list[i].member) = (uint32_t)i + 1;
    return true;
}

int tallies_add(struct tallies *t, int64_t member, double value)
{
    uint32_t *place;

    if (!make_tally_room(t))
        return -1;
    stretto_assert(t->n < t->size / 2);
    place = tally_place(t, member);
    if (*place == 0) {
        t->list[t->n] = (struct tally){.member = member};
        *place = (uint32_t)++t->n;
    }
    t->list[*place - 1].sum += value;
    t->list[*place - 1].count++;
    return 0;
}

void tallies_fini(struct tallies *t)
{
    free(t->list);
    free(t->places);
    *t = (struct tallies){0};
}

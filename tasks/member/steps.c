#include "tasks/member/steps.h"

#include "common/stretto_assert.h"
#include "tasks/proto/fields.h"
#include "tasks/proto/stepset.h"

#include <stdlib.h>

struct open_step {
    int64_t step;
    uint64_t have;  /* bit f: field f was sent */
    uint64_t place; /* of its first frame */
};

struct steps {
    uint64_t all;
    int fields;
    struct open_step open[FIELDS_OPEN_STEPS_MAX]; /* in the order in which they were begun */
    size_t count;
    struct stepset *whole; /* steps of which all fields were sent, so that one of them may be sent once more */
};

struct steps *steps_create(int fields)
{
    struct steps *steps = calloc(1, sizeof *steps);

    if (steps == NULL)
        return NULL;
    steps->whole = stepset_create();
    if (steps->whole == NULL) {
        free(steps);
        return NULL;
    }
    steps->fields = fields;
    steps->all = fields == 64 ? UINT64_MAX : ((uint64_t)1 << fields) - 1;
    return steps;
}

void steps_destroy(struct steps *steps)
{
    if (steps == NULL)
        return;
    stepset_destroy(steps->whole);
    free(steps);
}

static bool is_step_whole(const struct steps *steps, int64_t step)
{
    return step <= STEPSET_STEP_MAX && stepset_has(steps->whole, 0, step);
}

static void remove_open(struct steps *steps, size_t i)
{
    for (steps->count--; i < steps->count; i++)
        steps->open[i] = steps->open[i + 1];
}

void steps_note(struct steps *steps, int64_t step, int field, uint64_t place)
{
    uint64_t bit = (uint64_t)1 << field;
    size_t i;
    stretto_assert(field >= 0 && field < steps->fields);

    if (bit == steps->all || is_step_whole(steps, step))
        return;
    for (i = 0; i < steps->count && steps->open[i].step != step; i++)
        ;
    stretto_assert(i < FIELDS_OPEN_STEPS_MAX);
    if (i == steps->count)
        steps->open[steps->count++] = (struct open_step){.step = step, .place = place};
    steps->open[i].have |= bit;
    if (steps->open[i].have != steps->all)
        return;
    remove_open(steps, i);
    if (step <= STEPSET_STEP_MAX && stepset_reserve(steps->whole) == 0)
        stepset_add(steps->whole, 0, step);
}

void steps_drop(struct steps *steps, int64_t step)
{
    for (size_t i = 0; i < steps->count; i++)
        if (steps->open[i].step == step) {
            remove_open(steps, i);
            return;
        }
}

uint64_t steps_oldest(const struct steps *steps)
{
    return steps->count > 0 ? steps->open[0].place : UINT64_MAX;
}

bool steps_may_begin(const struct steps *steps, int64_t step, int max)
{
    if (steps->count < (size_t)max || is_step_whole(steps, step))
        return true;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->open[i].step == step)
            return true;
    return false;
}

bool steps_first_incomplete(const struct steps *steps, int64_t *step, int *field)
{
    if (steps->count == 0)
        return false;
    *step = steps->open[0].step;
    for (*field = 0; steps->open[0].have & ((uint64_t)1 << *field); ++*field)
        ;
    return true;
}

#include "tasks/train/gaps.h"

#define COUNT_MAX 1000000

void gaps_note(struct gaps *g, int64_t step)
{
    if (g->samples == 0)
        g->first = step;
    else
        g->last_stride = step - g->last;
    if (g->samples == 1)
        g->first_stride = g->last_stride;
    g->samples++;
    g->last = step;
}

/* Finds the steps that were left out between the session before and this one, *from to *to. Returns false where there
 * are none, or where the steps are not equally far apart, so that nothing can be concluded. */
static bool own(const struct gaps *g, int64_t *from, int64_t *to)
{
    int64_t stride = g->first_stride;

    *from = g->before + stride;
    *to = g->first - stride;
    return stride > 0 && stride == g->stride_before && *from <= *to && (g->first - g->before) % stride == 0;
}

void gaps_follow(struct gaps *g, const struct gaps *earlier)
{
    int64_t from, to;

    if (earlier->samples >= 2 || g->stride_before == 0) {
        g->before = earlier->samples > 0 ? earlier->last : earlier->before;
        g->stride_before = earlier->samples >= 2 ? earlier->last_stride : earlier->stride_before;
    }
    if (earlier->stride > 0) {
        g->from = earlier->from;
        g->to = earlier->to;
        g->stride = earlier->stride;
    } else if (own(earlier, &from, &to)) {
        g->from = from;
        g->to = to;
        g->stride = earlier->first_stride;
    }
}

static int64_t count(const struct stepset *have, uint64_t member, int64_t from, int64_t to, int64_t stride,
                     int64_t *first, int64_t *last)
{
    int64_t n = 0;

    for (int64_t step = from, looks = 0; step <= to && looks < COUNT_MAX; step += stride, looks++) {
        if (stepset_has(have, member, step))
            continue;
        *first = n++ == 0 ? step : *first;
        *last = step;
    }
    return n;
}

int64_t gaps_count(const struct gaps *g, const struct stepset *have, uint64_t member, int64_t *from, int64_t *to)
{
    int64_t own_from, own_to, n = 0;

    if (g->stride > 0)
        n = count(have, member, g->from, g->to, g->stride, from, to);
    if (n == 0 && own(g, &own_from, &own_to))
        n = count(have, member, own_from, own_to, g->first_stride, from, to);
    return n;
}

#include "tasks/train/gaps.h"

#define LOOKS_MAX 1000000
#define ORDERLY 1000 /* steps that are looked at to find out whether a session's have equal distances */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

void gaps_note(struct gaps *g, int64_t step)
{
    if (g->samples++ == 0)
        g->first = step;
    else if (step <= g->last)
        g->unordered = true;
    else
        g->distance = common_divisor(step - g->last, g->distance);
    g->last = step;
}

/* Returns whether that step belongs to the rank, and has not come. */
static bool is_missing(const struct gaps_of *of, int64_t step)
{
    return dealing_rank(of->dealing, of->member, step) == of->rank && !stepset_has(of->have, of->member, step);
}

/* Returns whether the last steps up to `to`, at that distance from each other, have come. */
static bool is_orderly(const struct gaps_of *of, int64_t from, int64_t to, int64_t distance)
{
    for (int64_t step = to, looks = 0; step >= from && looks < ORDERLY; step -= distance, looks++)
        if (is_missing(of, step))
            return false;
    return true;
}

/* Finds the steps that were left out between the session before and this one: *from to *to, at that distance. Returns
 * false if there are none, or if nothing can be concluded. */
static bool own(const struct gaps *g, const struct gaps_of *of, int64_t *from, int64_t *to, int64_t *distance)
{
    if (g->unordered || g->distance == 0 || g->before_distance == 0)
        return false;
    *distance = common_divisor(g->distance, g->before_distance);
    *from = g->before + *distance;
    *to = g->first - *distance;
    return *from <= *to && (g->first - g->before) % *distance == 0 &&
           is_orderly(of, g->before_first, g->before, *distance) && is_orderly(of, g->first, g->last, *distance);
}

void gaps_follow(struct gaps *g, const struct gaps *earlier, const struct gaps_of *of)
{
    int64_t from, to, distance;

    if (earlier->samples >= 2 || g->before_distance == 0) {
        bool itself = earlier->samples >= 2;

        g->before_first = itself ? earlier->first : earlier->before_first;
        g->before = itself ? earlier->last : earlier->before;
        g->before_distance = itself ? (earlier->unordered ? 0 : earlier->distance) : earlier->before_distance;
    }
    if (earlier->between > 0) {
        g->from = earlier->from;
        g->to = earlier->to;
        g->between = earlier->between;
    } else if (own(earlier, of, &from, &to, &distance)) {
        g->from = from;
        g->to = to;
        g->between = distance;
    }
}

static int64_t count_missing(const struct gaps_of *of, int64_t from, int64_t to, int64_t distance, int64_t *first,
                             int64_t *last)
{
    int64_t n = 0;

    for (int64_t step = from, looks = 0; step <= to && looks < LOOKS_MAX; step += distance, looks++) {
        if (!is_missing(of, step))
            continue;
        *first = n++ == 0 ? step : *first;
        *last = step;
    }
    return n;
}

int64_t gaps_count(const struct gaps *g, const struct gaps_of *of, int64_t *from, int64_t *to)
{
    int64_t own_from, own_to, distance, n = 0;

    if (g->between > 0)
        n = count_missing(of, g->from, g->to, g->between, from, to);
    if (n == 0 && own(g, of, &own_from, &own_to, &distance))
        n = count_missing(of, own_from, own_to, distance, from, to);
    return n;
}

#include "cli/curve.h"

#include <math.h>

bool curve_better(bool higher, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) && isnan(b);
    return higher ? a > b : a < b;
}

void curve_begin(struct curve *curve, double horizon, double target, bool higher)
{
    *curve = (struct curve){.horizon = horizon,
                            .target = target,
                            .higher = higher,
                            .area = NAN,
                            .best = NAN,
                            .last = NAN,
                            .reached = NAN,
                            .first = NAN,
                            .second = NAN};
}

static void take_best(struct curve *c, double time, double value)
{
    if (curve_better(c->higher, value, c->best))
        c->best = value;
    if (isnan(c->reached) && !isnan(c->target) && isfinite(value) &&
        (c->higher ? value >= c->target : value <= c->target))
        c->reached = time;
}

/* Returns the part of a piece of the axis that lies before the horizon, from 0 to 1. */
static double part_before_horizon(const struct curve *c, double from, double to)
{
    double end = c->first + c->horizon;

    if (to <= end)
        return 1;
    return end > from ? (end - from) / (to - from) : 0;
}

/* Adds the area of a straight piece from the last point, up to the horizon. */
static void add_curve_piece(struct curve *c, double at, double value)
{
    double part = at > c->at ? part_before_horizon(c, c->at, at) : 0;

    c->area += part * (at - c->at) * (c->value + c->value + part * (value - c->value)) / 2;
}

static void note_place(struct curve *c, double at)
{
    bool is_new = c->finite++ == 0 || at > c->at;

    if (is_new && at > c->first && isnan(c->second))
        c->second = at;
    c->measured += is_new && at <= c->first + c->horizon;
}

/* Adds a value to the curve itself. If the area from the last value to it is known (NAN: it is not), its difference
 * from that of a straight line is spread evenly. */
static void extend(struct curve *c, double at, double value, double area)
{
    if (c->finite == 0) {
        c->first = c->at = at;
        c->area = 0;
    }
    at = at < c->at ? c->at : at;
    add_curve_piece(c, at, value);
    if (!isnan(area))
        c->area += (area - (at - c->at) * (c->value + value) / 2) * part_before_horizon(c, c->at, at);
    note_place(c, at);
    c->at = at;
    c->value = c->last = value;
}

void curve_add(struct curve *c, double at, double time, double value)
{
    c->points++;
    c->ends_finite = isfinite(value);
    if (!c->ends_finite) {
        c->not_finite++;
        return;
    }
    extend(c, at, value, NAN);
    take_best(c, time, value);
}

/* Counts the second of merged points as measured, as if they were evenly spaced: the others lie behind it. */
static void note_second(struct curve *c, const struct curve_merged *m)
{
    int64_t finite = m->count - m->not_finite;

    if (finite > 2 && m->last_at > m->at)
        note_place(c, m->at + (m->last_at - m->at) / (double)(finite - 1));
}

void curve_add_merged(struct curve *c, const struct curve_merged *m)
{
    c->points += m->count;
    c->not_finite += m->not_finite;
    c->ends_finite = isfinite(m->last);
    if (isfinite(m->first)) {
        extend(c, m->at, m->first, NAN);
        note_second(c, m);
    }
    if (isfinite(m->last))
        extend(c, m->last_at, m->last, isfinite(m->first) ? m->area : NAN);
    if (isfinite(c->higher ? m->max : m->min))
        take_best(c, m->last_time, c->higher ? m->max : m->min);
}

void curve_end(struct curve *c)
{
    double end = c->first + c->horizon;

    if (c->measured < 2) {
        c->area = NAN;
        return;
    }
    c->carried = isfinite(c->horizon) && c->at < end;
    if (c->carried)
        c->area += (end - c->at) * c->value;
}

double curve_span(const struct curve *c)
{
    return c->finite > 0 ? c->at - c->first : NAN;
}

void run_clock_begin(struct run_clock *clock, const double *starts, int64_t attempts)
{
    *clock = (struct run_clock){.starts = starts, .attempts = attempts, .attempt = -1};
}

double run_clock_at(struct run_clock *clock, int64_t attempt, double unix_time)
{
    double at;

    if (attempt != clock->attempt) {
        clock->before = clock->at;
        clock->base = attempt >= 1 && attempt <= clock->attempts ? clock->starts[attempt - 1] : NAN;
        if (isnan(clock->base))
            clock->base = unix_time;
        clock->attempt = attempt;
    }
    at = clock->before + (unix_time - clock->base);
    clock->at = at > clock->at ? at : clock->at; /* the clocks of two hosts may differ */
    return clock->at;
}

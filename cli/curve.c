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
    *curve = (struct curve){
        .horizon = horizon, .target = target, .higher = higher, .area = NAN, .best = NAN, .last = NAN, .reached = NAN};
}

static void take_best(struct curve *c, double time, double value)
{
    if (curve_better(c->higher, value, c->best))
        c->best = value;
    if (isnan(c->reached) && !isnan(c->target) && isfinite(value) &&
        (c->higher ? value >= c->target : value <= c->target))
        c->reached = time;
}

/* Adds the area of a straight piece from the last point, up to the horizon. */
static void add_piece(struct curve *c, double time, double value)
{
    double span = time - c->time, end = time < c->horizon ? time : c->horizon, at_end;

    if (end <= c->time)
        return;
    at_end = c->value + (value - c->value) * (end - c->time) / span;
    c->area += (end - c->time) * (c->value + at_end) / 2;
}

/* Adds a value to the curve itself. */
static void extend(struct curve *c, double time, double value)
{
    if (!c->any) {
        c->area = value * (time < c->horizon ? time : c->horizon);
        c->any = true;
    } else {
        time = time < c->time ? c->time : time;
        add_piece(c, time, value);
    }
    c->time = time;
    c->value = c->last = value;
}

void curve_add(struct curve *c, double time, double value)
{
    c->points++;
    c->until = time > c->until ? time : c->until;
    c->ends_finite = isfinite(value);
    if (!c->ends_finite) {
        c->not_finite++;
        return;
    }
    extend(c, time, value);
    take_best(c, c->time, value);
}

void curve_add_merged(struct curve *c, double time, double first, double last_time, double last, double min, double max,
                      int64_t count, int64_t not_finite)
{
    c->points += count;
    c->not_finite += not_finite;
    c->until = last_time > c->until ? last_time : c->until;
    c->ends_finite = isfinite(last);
    if (isfinite(first))
        extend(c, time, first);
    if (isfinite(last))
        extend(c, last_time, last);
    if (isfinite(c->higher ? max : min))
        take_best(c, last_time, c->higher ? max : min);
}

void curve_end(struct curve *c)
{
    c->carried = c->any && isfinite(c->horizon) && c->time < c->horizon;
    if (c->carried)
        c->area += (c->horizon - c->time) * c->value;
    if (!isfinite(c->horizon) && !c->any)
        c->area = NAN;
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

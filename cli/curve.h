/* A metric of one run: the figures in reports, from its points one by one.
 *
 * A point has a place `at` on the axis over which the area is taken, and the time of the run. The axis is that time, or
 * the step. The time of a run is the time in which its attempts ran; it stands still between them. Work that a later
 * attempt did again counts once, since the later points have replaced the earlier ones. */
#ifndef CLI_CURVE_H
#define CLI_CURVE_H
#include <stdbool.h>
#include <stdint.h>

struct curve {
    /* set by curve_begin() */
    double horizon; /* along the axis, from the first finite point on; INFINITY for none */
    double target;  /* NAN for none */
    bool higher;    /* higher values are better */
    /* read after curve_end() */
    double area;       /* under the curve up to the horizon, in value times the axis; NAN if there is no curve */
    double best, last; /* of the finite values; NAN if there is none */
    double reached;    /* the time of the run at which the target was reached; NAN: never */
    int64_t points, not_finite;
    int64_t finite;       /* points with a finite value */
    int64_t measured;     /* places up to the horizon that have such points; a curve needs two */
    double first, second; /* the first two places that have such points; NAN if there is none */
    bool ends_finite;     /* the last value is */
    bool carried;         /* the last value was carried on to the horizon */
    /* the last finite point */
    double at, value;
};

/* Several neighbouring points of which only this much is known. */
struct curve_merged {
    double at, last_at, last_time; /* the place of the first one; place and time of the last one */
    double first, last, min, max;
    double area; /* under the curve from the first one to the last one */
    int64_t count, not_finite;
};

void curve_begin(struct curve *curve, double horizon, double target, bool higher);

/* Adds a point, not before the last one. Between points the curve is straight. A value that is not finite is counted
 * and passed over. */
void curve_add(struct curve *curve, double at, double time, double value);

/* Adds points that were merged. Their least or greatest value, the better one, counts for the best one and, at the time
 * of the last one, for the target. A horizon among them takes its part of their area, as
 * if they were evenly spaced. */
void curve_add_merged(struct curve *curve, const struct curve_merged *merged);

/* Carries the last value on to a finite horizon. */
void curve_end(struct curve *curve);

/* Returns the length of the axis from the first finite point to the last one. */
double curve_span(const struct curve *curve);

/* Returns whether a is better than b; a number is better than NAN. */
bool curve_better(bool higher, double a, double b);

/* Turns the times of points into the time of the run. */
struct run_clock {
    const double *starts; /* Unix seconds of the attempts 1, 2, …; NAN if it is not known */
    int64_t attempts;
    int64_t attempt; /* of the last point; -1 before the first */
    double base;     /* when that attempt began */
    double before;   /* the time of the run when it began */
    double at;       /* the time of the run at the last point */
};

void run_clock_begin(struct run_clock *clock, const double *starts, int64_t attempts);
/* Returns the time of the run at a point that an attempt reported; 0 stands for one in an earlier ensemble. */
double run_clock_at(struct run_clock *clock, int64_t attempt, double unix_time);
#endif

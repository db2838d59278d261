/* A metric of one run over time: what reports tell of it, from its points one by one.
 *
 * The time of a run is that in which its attempts ran: it stands still between attempts, and work that a later attempt
 * did again counts once, since the later points have replaced the earlier ones. */
#ifndef CLI_CURVE_H
#define CLI_CURVE_H
#include <stdbool.h>
#include <stdint.h>

struct curve {
    /* set by curve_begin() */
    double horizon; /* seconds; INFINITY for none */
    double target;  /* NAN for none */
    bool higher;    /* higher values are better */
    /* read after curve_end() */
    double area;       /* under the curve up to the horizon, in value times seconds; NAN where no value is finite */
    double best, last; /* of the finite values; NAN where there is none */
    double reached;    /* when the target was reached; NAN: never */
    double until;      /* the time of the last point */
    int64_t points, not_finite;
    bool ends_finite; /* the last value is */
    bool carried;     /* the last value was carried on to the horizon */
    /* the last finite point */
    double time, value;
    bool any;
};

void curve_begin(struct curve *curve, double horizon, double target, bool higher);

/* Adds a point, not before the last one. Between points the curve is straight; before the first one it has the first
 * value. A value that is not finite is counted and passed over. */
void curve_add(struct curve *curve, double time, double value);

/* Adds several neighbouring points of which only this much is known. Their least or greatest value, the better one,
 * counts for the best one and, at the time of the last one, for the target. */
void curve_add_merged(struct curve *curve, double time, double first, double last_time, double last, double min,
                      double max, int64_t count, int64_t not_finite);

/* Carries the last value on to a finite horizon. */
void curve_end(struct curve *curve);

/* Returns whether a is better than b; a number is better than NAN. */
bool curve_better(bool higher, double a, double b);

/* Turns the times of points into the time of the run. */
struct run_clock {
    const double *starts; /* Unix seconds of the attempts 1, 2, …; NAN where it is not known */
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

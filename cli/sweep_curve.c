#include "cli/sweep_curve.h"

#include "cli/points.h"
#include "cli/render.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>

double sweep_number(const json_t *obj, const char *key)
{
    const json_t *value = json_object_get(obj, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

double sweep_moment(const json_t *obj, const char *key)
{
    double at = render_time_parse(get_string(obj, key));

    return at < 0 ? NAN : at;
}

void attempts_fini(struct attempts *attempts)
{
    free(attempts->starts);
    free(attempts->ends);
}

int attempts_read(struct cli *cli, const struct sweep_run *run, struct attempts *attempts, struct error *err)
{
    json_t *member = NULL, *item;
    const json_t *list;
    size_t i;

    *attempts = (struct attempts){.n = run->attempts};
    attempts->starts = xcalloc((size_t)run->attempts + 1, sizeof *attempts->starts);
    attempts->ends = xcalloc((size_t)run->attempts + 1, sizeof *attempts->ends);
    for (int64_t k = 0; k < run->attempts; k++)
        attempts->starts[k] = attempts->ends[k] = NAN;
    if (run->attempts == 1) {
        attempts->starts[0] = run->started;
        attempts->ends[0] = run->ended;
        return 0;
    }
    if (run->attempts > 1 && (member = sweep_member(cli, run, err)) == NULL)
        return -1;
    list = json_object_get(member, "attempts");
    json_array_foreach ((json_t *)list, i, item) {
        int64_t k = get_int(item, "number") - 1;

        if (k < 0 || k >= run->attempts)
            continue;
        attempts->starts[k] = sweep_moment(item, "started");
        attempts->ends[k] = sweep_moment(item, "ended");
    }
    json_decref(member);
    return 0;
}

/* Returns the time for which all attempts together ran. */
double attempts_time(const struct attempts *attempts)
{
    double sum = 0;

    for (int64_t k = 0; k < attempts->n; k++)
        if (attempts->ends[k] > attempts->starts[k])
            sum += attempts->ends[k] - attempts->starts[k];
    return sum;
}

struct curve_walk {
    struct run_clock clock;
    bool over_steps;
    struct curve *curve;
    void (*each)(void *arg, double at, double value); /* NULL for none */
    void *arg;
};

/* Returns the area of merged points over their steps; the API has that over their time. */
static double area_over_steps(const struct curve_merged *m, double seconds)
{
    double steps = m->last_at - m->at;

    return seconds > 0 ? m->area / seconds * steps : (m->first + m->last) / 2 * steps;
}

static void add_merged_point(struct curve_walk *walk, const json_t *point, double time)
{
    struct curve_merged m = {.first = sweep_number(point, "first"),
                             .last = sweep_number(point, "value"),
                             .min = sweep_number(point, "min"),
                             .max = sweep_number(point, "max"),
                             .area = sweep_number(point, "area"),
                             .count = get_int(point, "count"),
                             .not_finite = get_int(point, "not_finite")};

    m.last_time = run_clock_at(&walk->clock, get_int(point, "attempt"), sweep_moment(point, "last_time"));
    m.at = walk->over_steps ? (double)get_int(point, "step") : time;
    m.last_at = walk->over_steps ? (double)get_int(point, "last_step") : m.last_time;
    if (walk->over_steps)
        m.area = area_over_steps(&m, sweep_moment(point, "last_time") - sweep_moment(point, "time"));
    curve_add_merged(walk->curve, &m);
    if (walk->each != NULL) {
        walk->each(walk->arg, m.at - walk->curve->first, m.first);
        walk->each(walk->arg, m.last_at - walk->curve->first, m.last);
    }
}

static bool take_curve_point(void *arg, const json_t *point)
{
    struct curve_walk *walk = arg;
    double time = run_clock_at(&walk->clock, get_int(point, "attempt"), sweep_moment(point, "time"));
    double at = walk->over_steps ? (double)get_int(point, "step") : time, value = sweep_number(point, "value");

    if (get_int(point, "count") >= 2) {
        add_merged_point(walk, point, time);
        return true;
    }
    curve_add(walk->curve, at, time, value);
    if (walk->each != NULL)
        walk->each(walk->arg, at - walk->curve->first, value);
    return true;
}

/* Reads the points of the run into a curve. */
static int read_curve(struct cli *cli, const struct sweep_query *query, const struct sweep_run *run,
                      const struct attempts *attempts, struct curve_walk *walk, struct error *err)
{
    int rc;

    curve_begin(walk->curve, isnan(query->horizon) ? INFINITY : query->horizon, query->target, query->higher);
    walk->over_steps = query->over_steps;
    run_clock_begin(&walk->clock, attempts->starts, attempts->n);
    rc = member_points_read(cli, run->ensemble, run->index, query->metric, take_curve_point, walk, err);
    curve_end(walk->curve);
    return rc;
}

/* Returns the time that the run took. The last points' attempt, and later ones, count up to their ends. */
static double time_of_run(const struct run_clock *clock, const struct attempts *attempts)
{
    int64_t k = clock->attempt;
    double sum;

    if (k < 1 || k > attempts->n || isnan(attempts->ends[k - 1]) || isnan(attempts->starts[k - 1]))
        return clock->at;
    sum = clock->before + attempts->ends[k - 1] - attempts->starts[k - 1];
    for (; k < attempts->n; k++)
        if (attempts->ends[k] > attempts->starts[k])
            sum += attempts->ends[k] - attempts->starts[k];
    return sum > clock->at ? sum : clock->at;
}

int sweep_measure(struct cli *cli, const struct sweep_query *query, const json_t *own, const struct attempts *attempts,
                  struct sweep_run *run, struct error *err)
{
    double first = sweep_moment(own, "first_time"), last = sweep_moment(own, "last_time");
    struct curve curve;
    struct curve_walk walk = {.curve = &curve};

    if (run->attempts == 1 && run->not_finite == 0 && first >= run->started && !query->over_steps) {
        run->figures[SWEEP_RAN] = run->ended - run->started;
        run->span = last - first;
        return 0;
    }
    if (read_curve(cli, query, run, attempts, &walk, err) < 0)
        return -1;
    run->figures[SWEEP_RAN] = time_of_run(&walk.clock, attempts);
    run->span = curve_span(&curve);
    return 0;
}

static int by_length(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

/* Returns when a run has its second point, as if its points were evenly spaced. */
static double second_point(const struct sweep_run *run)
{
    int64_t finite = run->points - run->not_finite;

    return finite > 2 ? run->span / (double)(finite - 1) : run->span;
}

void sweep_choose_horizon(struct sweep_query *query, const struct sweep *sweep)
{
    double *spans = xcalloc(sweep->n_runs + 1, sizeof *spans), *seconds = xcalloc(sweep->n_runs + 1, sizeof *seconds);
    size_t n = 0;

    for (size_t i = 0; i < sweep->n_runs; i++)
        if (sweep->runs[i].fate == SWEEP_RANKED && sweep->runs[i].span > 0) {
            seconds[n] = second_point(&sweep->runs[i]);
            spans[n++] = sweep->runs[i].span;
        }
    qsort(spans, n, sizeof *spans, by_length);
    qsort(seconds, n, sizeof *seconds, by_length);
    if (isnan(query->horizon) && n > 0)
        query->horizon = fmax((spans[(n - 1) / 2] + spans[n / 2]) / 2, seconds[(n - 1) * 9 / 10]);
    free(seconds);
    free(spans);
}

/* Returns why the run has no curve up to the horizon. */
static char *no_curve(const struct sweep_query *query, const struct curve *curve)
{
    char first[RENDER_SIZE], horizon[RENDER_SIZE];

    if (curve->finite < 2)
        return xstrdup("it has one point only");
    if (isnan(curve->second))
        return xstrdup(query->over_steps ? "all its points have the same step"
                                         : "all its points have the same time: it can report \"time\" itself, or use "
                                           "--steps");
    if (query->over_steps)
        return xasprintf("its second point is %.15g steps after the first, and the horizon is %.15g",
                         curve->second - curve->first, query->horizon);
    return xasprintf("its second point is %s after the first, and the horizon is %s",
                     render_duration(first, curve->second - curve->first), render_duration(horizon, query->horizon));
}

int sweep_read_curve(struct cli *cli, struct sweep_query *query, enum sweep_figure by, struct sweep_run *run,
                     struct error *err)
{
    struct attempts attempts;
    struct curve curve;
    struct curve_walk walk = {.curve = &curve};
    int rc = attempts_read(cli, run, &attempts, err);

    if (rc == 0)
        rc = read_curve(cli, query, run, &attempts, &walk, err);
    attempts_fini(&attempts);
    if (rc < 0)
        return rc;
    run->figures[SWEEP_AREA] = curve.area;
    run->figures[SWEEP_BEST] = curve.best;
    run->figures[SWEEP_REACHED] = curve.reached;
    query->curves += !isnan(curve.area);
    query->carried += curve.carried;
    if (by == SWEEP_AREA && isnan(curve.area)) {
        run->fate = SWEEP_NO_CURVE;
        free(run->reason);
        run->reason = no_curve(query, &curve);
    }
    return 0;
}

int sweep_read_points(struct cli *cli, const struct sweep_query *query, const struct sweep_run *run,
                      void (*each)(void *arg, double at, double value), void *arg, struct error *err)
{
    struct attempts attempts;
    struct curve curve;
    struct curve_walk walk = {.curve = &curve, .each = each, .arg = arg};
    int rc = attempts_read(cli, run, &attempts, err);

    if (rc == 0)
        rc = read_curve(cli, query, run, &attempts, &walk, err);
    attempts_fini(&attempts);
    return rc;
}

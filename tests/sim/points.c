/* Members of the simulated cluster that report a metric as they run, for the rules of early stopping that pause nobody,
 * and what must follow from it. Nothing is drawn here: points follow from a member's id and attempt, and from how long
 * the attempt has run. */
#include "tests/sim/cluster.h"

#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/store/internal.h"
#include "tasks/proto/points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "reports"
#define POINTS_MAX 60

static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h ^ (h >> 29);
}

json_t *points_command(void)
{
    return json_pack("[s]", COMMAND);
}

static bool reports(const json_t *task)
{
    const char *program = json_string_value(json_array_get(json_object_get(task, "argv"), 0));

    return program != NULL && strcmp(program, COMMAND) == 0;
}

static char *path_of(const json_t *task)
{
    return xasprintf("%s/" POINTS_FILE, json_string_value(json_object_get(task, "dir")));
}

/* The point of an attempt of this number, from 0 on. There are few values, so that many are equal; some are not finite.
 * Some attempts begin further on than others, and some skip steps. */
static struct points_point point_of(uint64_t seed, int number)
{
    uint64_t h = (seed + (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    int64_t step = (int64_t)(seed % 3) + number * (int64_t)(1 + seed / 3 % 3);
    double value = (h >> 33) % 13 == 5 ? NAN : (double)((h >> 40) % 17) / 8 - 1;

    return (struct points_point){.step = step, .last_step = step, .time_ms = 1, .last_time_ms = 1, .count = 1,
                                 .not_finite = isnan(value), .first = value, .last = value, .min = value, .max = value};
}

void points_begin(struct cluster *c, const json_t *task)
{
    char *path = path_of(task), *key;

    if (reports(task)) {
        key = xasprintf("%s.%s", json_string_value(json_object_get(task, "id")),
                        json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_ATTEMPT")));
        json_object_set_new(sim_files(c->sim), path,
                            json_pack("{s:I, s:I}", "seed", (json_int_t)(hash(key) >> 2), "begun", (json_int_t)sim_now(c->sim)));
        free(key);
    }
    free(path);
}

void points_end(struct cluster *c, const json_t *task)
{
    char *path = path_of(task);
    json_t *file = json_object_get(sim_files(c->sim), path);

    if (file != NULL)
        json_object_set_new(file, "ended", json_integer((json_int_t)sim_now(c->sim)));
    free(path);
}

static int count_of(const json_t *file, int64_t now)
{
    const json_t *ended = json_object_get(file, "ended");
    int64_t ms = (ended != NULL ? json_integer_value(ended) : now) - json_integer_value(json_object_get(file, "begun"));

    return ms / 1000 < POINTS_MAX ? (int)(ms / 1000) : POINTS_MAX;
}

/* Sets the name of the metric of a point: mostly the one by which members are stopped, else one of so many that the
 * daemon does not keep them all in memory. */
static void name_of(int number, char *out, size_t size)
{
    int other = number / 5 * 2 + number % 5 - 3;

    if (number % 5 < 3)
        snprintf(out, size, "loss");
    else
        snprintf(out, size, "other%d", other % 11);
}

char *points_text(struct sim *sim, const char *path)
{
    const json_t *file = json_object_get(sim_files(sim), path);
    struct text text = {0};

    for (int i = 0, n = count_of(file, sim_now(sim)); file != NULL && i < n; i++) {
        struct points_point p = point_of((uint64_t)json_integer_value(json_object_get(file, "seed")), i);
        char line[POINTS_LINE_MAX], name[16];

        name_of(i, name, sizeof name);
        text_put(&text, line, points_write(line, name, &p));
    }
    return text.data;
}

void points_record(struct cluster *c, const json_t *task, json_t *record)
{
    char *path = path_of(task), *text = points_text(c->sim, path);

    if (reports(task))
        json_object_set_new(record, "points", json_integer(text != NULL ? (json_int_t)strlen(text) : 0));
    free(text);
    free(path);
}

struct arrival {
    int64_t number, rung, index, attempt, step, promoted;
    double loss, value, best;
    bool found, cancelled; /* cancelled: somebody has ever cancelled its member */
};

struct rule {
    int64_t ensemble, reduction, min_members, n, steps[16]; /* reduction: 0 with the rule of the median */
    bool more_is_better, begins; /* begins: its members have no metrics from an ensemble before it */
    struct arrival *list; /* in their order */
    size_t arrivals;
};

static double column(sqlite3_stmt *stmt, int at)
{
    return sqlite3_column_type(stmt, at) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, at);
}

static void read_arrivals(struct sim *sim, struct rule *rule)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err,
                                     "SELECT number, rung, idx, attempt, step, promoted, value, best, EXISTS "
                                     "(SELECT 1 FROM event v WHERE v.ensemble = a.ensemble AND v.idx = a.idx AND v.kind = "
                                     "'member.cancelled') FROM arrival a WHERE ensemble = ?1 ORDER BY number",
                                     "i", rule->ensemble);

    while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
        double value = column(stmt, 6);

        rule->list = xrealloc(rule->list, rule->arrivals + 1, sizeof *rule->list);
        rule->list[rule->arrivals++] =
            (struct arrival){.number = sqlite3_column_int64(stmt, 0), .rung = sqlite3_column_int64(stmt, 1),
                             .index = sqlite3_column_int64(stmt, 2), .attempt = sqlite3_column_int64(stmt, 3),
                             .step = sqlite3_column_int64(stmt, 4), .promoted = sqlite3_column_int64(stmt, 5),
                             .value = value, .best = column(stmt, 7),
                             .cancelled = sqlite3_column_int(stmt, 8) != 0,
                             .loss = isnan(value) ? INFINITY : rule->more_is_better ? -value : value};
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Sorts the losses of all that had arrived at the rung before. */
static bool is_above_median(const struct rule *rule, size_t now)
{
    const struct arrival *a = &rule->list[now];
    double *losses = xcalloc(now + 1, sizeof *losses), best = isnan(a->best) ? INFINITY : rule->more_is_better ? -a->best : a->best;
    size_t n = 0;
    bool above;

    for (size_t i = 0; i < now; i++)
        if (rule->list[i].rung == a->rung)
            losses[n++] = rule->list[i].loss;
    qsort(losses, n, sizeof *losses, by_size);
    above = (int64_t)n >= rule->min_members && best > (losses[(n - 1) / 2] + losses[n / 2]) / 2;
    free(losses);
    return above;
}

/* Counts how many of those that had arrived at the rung are better than a loss, to decide without any order. */
static bool runs_on(const struct rule *rule, size_t now)
{
    const struct arrival *a = &rule->list[now];
    int64_t better = 0, all = 0;

    if (rule->reduction == 0)
        return !is_above_median(rule, now);

    for (size_t i = 0; i <= now; i++) {
        all += rule->list[i].rung == a->rung;
        better += rule->list[i].rung == a->rung && rule->list[i].loss < a->loss;
    }
    return isfinite(a->loss) && better < (all < rule->reduction ? 1 : all / rule->reduction);
}

static void check_decisions(struct sim *sim, const struct rule *rule)
{
    for (size_t i = 0; i < rule->arrivals; i++) {
        const struct arrival *a = &rule->list[i];

        if (a->number != (int64_t)i + 1)
            sim_violate(sim, "arrival %lld comes after %zu others", (long long)a->number, i);
        if (a->rung < rule->n && (a->promoted == a->number) != runs_on(rule, i))
            sim_violate(sim, "member %lld.%lld with %g should %s at rung %lld, and arrival %lld has decided otherwise",
                        (long long)rule->ensemble, (long long)a->index, a->value,
                        runs_on(rule, i) ? "run on" : "be stopped", (long long)a->rung, (long long)a->number);
    }
}

static struct arrival *find(const struct rule *rule, int64_t index, int64_t rung)
{
    for (size_t i = 0; i < rule->arrivals; i++)
        if (rule->list[i].index == index && rule->list[i].rung == rung)
            return &rule->list[i];
    return NULL;
}

/* The series of a member, as its points have come, with those replaced from whose steps on it went again. */
struct curve {
    struct {
        int64_t step;
        double value;
    } points[100 * POINTS_MAX];
    size_t n;
};

static double add_point(struct curve *curve, const struct rule *rule, const struct points_point *p)
{
    double best = NAN;

    while (curve->n > 0 && curve->points[curve->n - 1].step >= p->step)
        curve->n--;
    if (curve->n == sizeof curve->points / sizeof *curve->points)
        abort();
    curve->points[curve->n].step = p->step;
    curve->points[curve->n++].value = p->last;
    for (size_t i = 0; i < curve->n; i++)
        if (isnan(best) || (rule->more_is_better ? curve->points[i].value > best : curve->points[i].value < best))
            best = curve->points[i].value;
    return best;
}

/* Lets a member arrive anew by the points of an attempt that were read, and compares. Returns the rung that it is to
 * reach next. */
static int64_t replay(struct sim *sim, const struct rule *rule, int64_t index, int64_t attempt, int64_t rung,
                      struct curve *curve, const char *text, int64_t read)
{
    char name[POINTS_NAME_MAX + 1];
    struct points_point p;
    double best;
    bool over = false;

    for (const char *line = text, *end; line < text + read && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (points_read(line, end, name, &p) < 0 || strcmp(name, "loss") != 0)
            continue;
        best = add_point(curve, rule, &p);
        for (; !over && rung <= rule->n && p.step >= rule->steps[rung - 1]; rung++) {
            struct arrival *a = find(rule, index, rung);

            if (a == NULL || a->attempt != attempt || a->step != p.step ||
                (isnan(p.last) ? !isnan(a->value) : a->value != p.last)) {
                sim_violate(sim,
                            "attempt %lld.%lld.%lld has reached rung %lld with %g at step %lld, and that is not stored",
                            (long long)rule->ensemble, (long long)index, (long long)attempt, (long long)rung, p.last,
                            (long long)p.step);
                return rung;
            }
            a->found = true;
            if (rung < rule->n && rule->reduction == 0 && rule->begins &&
                (isnan(best) ? !isnan(a->best) : a->best != best))
                sim_violate(sim, "member %lld.%lld had %g at best at rung %lld, and is said to have had %g",
                            (long long)rule->ensemble, (long long)index, best, (long long)rung, a->best);
            over = rung < rule->n && a->promoted != a->number;
        }
    }
    return rung;
}

static void check_members(struct sim *sim, const struct rule *rule)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(
        sim_store(sim), &err,
        "SELECT idx, number, iif(outcome IS NULL, (SELECT max(file_read) FROM member_series s WHERE s.ensemble = "
        "a.ensemble AND s.idx = a.idx AND s.file_attempt = a.number), points_read) FROM attempt a WHERE ensemble = ?1 "
        "AND NOT EXISTS (SELECT 1 FROM event v WHERE v.ensemble = a.ensemble AND v.idx = a.idx AND v.kind = "
        "'member.cancelled') ORDER BY idx, number",
        "i", rule->ensemble);
    struct curve *curve = xcalloc(1, sizeof *curve);
    int64_t index = -1, rung = 1;

    while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
        int64_t attempt = sqlite3_column_int64(stmt, 1), read = sqlite3_column_int64(stmt, 2);
        char *path, *text;

        if (sqlite3_column_int64(stmt, 0) != index)
            rung = 1, curve->n = 0;
        index = sqlite3_column_int64(stmt, 0);
        path = xasprintf("/run/e%lld/members/%lld/%lld/a%lld/" POINTS_FILE, (long long)rule->ensemble,
                         (long long)(index / 1000), (long long)index, (long long)attempt);
        text = points_text(sim, path);
        if (text != NULL && sim_violation(sim) == NULL)
            rung = replay(sim, rule, index, attempt, rung, curve, text, read);
        free(text);
        free(path);
    }
    free(curve);
    for (size_t i = 0; i < rule->arrivals; i++)
        if (!rule->list[i].found && !rule->list[i].cancelled && sim_violation(sim) == NULL)
            sim_violate(sim, "member %lld.%lld has not reached rung %lld, and is said to have arrived there",
                        (long long)rule->ensemble, (long long)rule->list[i].index, (long long)rule->list[i].rung);
}

static void check_rule(struct sim *sim, struct rule *rule, const char *steps)
{
    json_t *list = json_loads(steps, 0, NULL), *step;
    size_t i;

    json_array_foreach (list, i, step)
        rule->steps[rule->n++] = json_integer_value(step);
    read_arrivals(sim, rule);
    check_decisions(sim, rule);
    check_members(sim, rule);
    free(rule->list);
    json_decref(list);
}

#define STOP_ONLY "json_extract(e.spec, '$.early_stopping.rule') <> 'asha'"
/* arrivals at which members were stopped, whatever has become of them since */
#define STOPPED_THERE                                                                                                  \
    "a.promoted <> a.number AND a.rung < json_array_length(e.spec, '$.early_stopping.rungs.steps') AND " STOP_ONLY

void watch_points(struct sim *sim)
{
    int64_t last = sim_number(sim, "SELECT coalesce(max(id), 0) FROM ensemble");

    for (int64_t id = 1; id <= last; id++) {
        struct error err;
        sqlite3_stmt *stmt = store_query(
            sim_store(sim), &err,
            "SELECT json_extract(spec, '$.early_stopping.rungs.reduction'), json_extract(spec, '$.early_stopping.goal') "
            "= 'max', json_extract(spec, '$.early_stopping.rungs.steps'), json_extract(spec, '$.early_stopping.min_members'), "
            "root IS NULL FROM ensemble e WHERE id = ?1 AND " STOP_ONLY,
            "i", id);
        struct rule rule = {.ensemble = id};
        char steps[256] = "";

        while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
            rule.reduction = sqlite3_column_int64(stmt, 0);
            rule.more_is_better = sqlite3_column_int(stmt, 1) != 0;
            rule.min_members = sqlite3_column_int64(stmt, 3);
            rule.begins = sqlite3_column_int(stmt, 4) != 0;
            store_text(stmt, 2, steps, sizeof steps);
        }
        if (steps[0] != '\0')
            check_rule(sim, &rule, steps);
    }
    SIM_HOLDS(sim, "members that were stopped early and went on, though nobody asked for that",
              "SELECT count(*) FROM arrival a JOIN ensemble e ON e.id = a.ensemble WHERE a.promoted = 0 AND " STOPPED_THERE
              " AND EXISTS (SELECT 1 FROM attempt t WHERE t.ensemble = a.ensemble AND t.idx = a.idx AND t.number > a.attempt)");
    SIM_HOLDS(sim, "members that the rule has stopped, and that have another end",
              "SELECT count(*) FROM arrival a JOIN ensemble e ON e.id = a.ensemble JOIN member m ON m.ensemble = a.ensemble "
              "AND m.idx = a.idx WHERE a.promoted = 0 AND " STOPPED_THERE " AND m.state NOT IN ('stopped', 'succeeded') AND "
              "NOT (m.state = 'cancelled' AND (e.state IN ('cancelled', 'failed') OR EXISTS (SELECT 1 FROM cancellation c "
              "WHERE c.ensemble = m.ensemble AND c.idx = m.idx)))");
    SIM_HOLDS(sim, "stopped members that no rule has stopped",
              "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE m.state = 'stopped' AND " STOP_ONLY
              " AND NOT EXISTS (SELECT 1 FROM arrival a WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.promoted = 0 "
              "AND " STOPPED_THERE ")");
    SIM_HOLDS(sim, "jobs of one member that was stopped, and that were not cancelled",
              "SELECT count(*) FROM arrival a JOIN ensemble e ON e.id = a.ensemble JOIN attempt t ON t.ensemble = a.ensemble AND "
              "t.idx = a.idx AND t.number = a.attempt JOIN job j ON j.id = t.job WHERE j.size = 1 AND j.cancel = 0 AND "
              STOPPED_THERE);
    SIM_HOLDS(sim, "stops that were not told, or the other way round",
              "SELECT (SELECT count(*) FROM arrival a JOIN ensemble e ON e.id = a.ensemble WHERE " STOPPED_THERE
              ") - (SELECT count(*) FROM event WHERE kind = 'member.stopped')");
}

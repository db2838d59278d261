/* Points that members report come into the store, each once and as the file of its attempt has it, on the simulated
 * cluster. The daemon keeps some series of each attempt in memory, and adds to them without reading the store again. */
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/store/internal.h"
#include "daemon/store/series.h"
#include "tasks/proto/points.h"
#include "tests/unit/engine_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 6
#define MEMBERS 4
#define NAMES 12    /* more than the daemon keeps in memory */
#define POINTS 2000 /* of a series */

/* The series of a member by the files of its attempts. */
struct expected {
    char name[POINTS_NAME_MAX + 1];
    struct {
        int64_t step, attempt;
        double value;
    } points[POINTS];
    int64_t n, at;
};

static struct expected all[NAMES];
static size_t n_all;
static int nans; /* values that were not finite, in all */

static struct expected *find(const char *name)
{
    for (size_t i = 0; i < n_all; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    assert_true(n_all < NAMES);
    all[n_all].n = 0;
    snprintf(all[n_all].name, sizeof all[n_all].name, "%s", name);
    return &all[n_all++];
}

/* Adds what was read of the file of an attempt. A point replaces those from its step on. */
static void expect(int64_t attempt, const char *text, int64_t read)
{
    char name[POINTS_NAME_MAX + 1];
    struct points_point p;

    for (const char *line = text, *end; line < text + read && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        struct expected *e;

        assert_int_equal(points_read(line, end, name, &p), 0);
        e = find(name);
        while (e->n > 0 && e->points[e->n - 1].step >= p.step)
            e->n--;
        assert_true(e->n < POINTS);
        e->points[e->n].step = p.step;
        e->points[e->n].attempt = attempt;
        e->points[e->n++].value = p.last;
    }
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static int is_expected(void *arg, const struct series_point *p)
{
    struct expected *e = arg;

    if (e->at == e->n)
        fail_msg("%s has %g of attempt %lld at step %lld, which is not known to be read", e->name, p->last,
                 (long long)p->attempt, (long long)p->step);
    if (p->step != e->points[e->at].step || p->attempt != e->points[e->at].attempt ||
        !same(p->last, e->points[e->at].value) || p->count != 1)
        fail_msg("%s has %g of attempt %lld at step %lld, not %g of attempt %lld at step %lld", e->name, p->last,
                 (long long)p->attempt, (long long)p->step, e->points[e->at].value,
                 (long long)e->points[e->at].attempt, (long long)e->points[e->at].step);
    e->at++;
    return 0;
}

static void series_is_expected(int64_t index, struct expected *e)
{
    double least = NAN, greatest = NAN;
    struct series_row row;
    int64_t not_finite = 0;

    for (int64_t i = 0; i < e->n; i++) {
        double value = e->points[i].value;

        not_finite += !isfinite(value);
        least = isfinite(value) && !(least <= value) ? value : least;
        greatest = isfinite(value) && !(greatest >= value) ? value : greatest;
    }
    nans += (int)not_finite;
    assert_int_equal(store_series_get(sim_store(sim), id, index, e->name, &row, &err), 1);
    e->at = 0;
    assert_int_equal(
        store_series_each_point(sim_store(sim), &row, INT64_MIN, INT64_MAX, INT64_MAX, is_expected, e, &err), 0);
    assert_int_equal(e->at, e->n);
    assert_int_equal(row.points, e->n);
    assert_int_equal(row.not_finite, not_finite);
    assert_true(same(row.min, least) && same(row.max, greatest));
    assert_true(row.step == e->points[e->n - 1].step && same(row.last, e->points[e->n - 1].value));
    assert_int_equal(row.attempt, e->points[e->n - 1].attempt);
}

/* Returns the answer of a query about an attempt: ?1 is the ensemble, ?2 the member, ?3 the attempt. */
static int64_t number_of(const char *sql, int64_t index, int64_t attempt)
{
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err, sql, "iii", id, index, attempt);
    int64_t n;

    assert_non_null(stmt);
    assert_int_equal(store_row(sim_store(sim), stmt, &err), 1);
    n = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return n;
}

/* Compares what the store has of a member with the files of its attempts. Returns how many series it has. */
static size_t member_is_expected(int64_t index)
{
    int64_t attempts =
        number_of("SELECT count(*) FROM attempt WHERE ensemble = ?1 AND idx = ?2 AND ?3 = 0", index, 0);

    n_all = 0;
    for (int64_t attempt = 1; attempt <= attempts; attempt++) {
        char *path = xasprintf("/run/e%lld/members/0/%lld/a%lld/" POINTS_FILE, (long long)id, (long long)index,
                               (long long)attempt);
        char *text = points_text(sim, path);

        if (text != NULL)
            expect(attempt, text,
                   number_of("SELECT iif(outcome IS NULL, (SELECT max(file_read) FROM member_series s WHERE s.ensemble = "
                             "a.ensemble AND s.idx = a.idx AND s.file_attempt = a.number), points_read) FROM attempt a "
                             "WHERE ensemble = ?1 AND idx = ?2 AND number = ?3",
                             index, attempt));
        free(text);
        free(path);
    }
    for (size_t i = 0; i < n_all; i++)
        series_is_expected(index, &all[i]);
    assert_int_equal(
        number_of("SELECT count(*) FROM member_series WHERE ensemble = ?1 AND idx = ?2 AND ?3 = 0", index, 0), n_all);
    return n_all;
}

static json_t *reporters(void)
{
    return json_pack("{s:{s:o, s:i, s:{s:s, s:i, s:i, s:{s:[ii]}}}}", "members", "command", points_command(), "retries",
                     3, "parameters", "method", "monte-carlo", "count", MEMBERS, "seed", 1, "space", "x", 0, 1);
}

static void check_all(void)
{
    for (int64_t index = 0; index < MEMBERS; index++)
        member_is_expected(index);
}

/* Steps on to the end, with restarts of the daemon, while the store and the files are compared again and again. */
static void run_to_the_end(int *restarts)
{
    for (int n = 1; !sim_is_over(sim); n++) {
        assert_true(n < 200000);
        step();
        if (n % 50 == 0)
            check_all();
        if (n % 400 == 0) {
            sim_crash(sim);
            sim_boot(sim);
            ++*restarts;
        }
    }
    check_all();
}

static void points_are_stored_as_the_files_have_them(void **state)
{
    static const struct sim_faults rough = {
        .task_fails = 400, .runner_killed = 100, .commit_fails = 20, .read_fails = 20};
    int restarts = 0, again = 0;
    size_t most = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int64_t n = 0;
        bool cancelled;

        begin(seed, (struct sim_faults){.run_ms = 200000});
        submit(MEMBERS, 2, reporters());
        assert_int_equal(sim_turn(sim), 0); /* the submission is not among what fails */
        set_faults(rough);
        until("SELECT count(*) > 0 FROM member_series");
        assert_int_equal(engine_cancel_member(sim_engine(sim), id, 1, &cancelled, &sim_left, &err), 0);
        sim_turn(sim);
        run_to_the_end(&restarts);
        if (engine_resubmit_member(sim_engine(sim), id, 1, true, &n, &sim_left, &err) == 0 && sim_turn(sim) == 0)
            run_to_the_end(&restarts);
        for (int64_t index = 0; index < MEMBERS; index++) {
            size_t series = member_is_expected(index);

            most = series > most ? series : most;
        }
        again += sim_number(sim, "SELECT max(number) > 1 FROM attempt") != 0;
        end();
    }
    assert_true(restarts > 0 && again > 0 && nans > 0);
    assert_int_equal(most, NAMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_stored_as_the_files_have_them),
    };

    test_limit(300); /* what wakes itself never comes back */
    log_init("sim", getenv("SIM_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

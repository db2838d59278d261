/* The engine at width: members by the hundred thousand through the real store and the simulated cluster, in virtual time.
 * Is what a member costs the same from the first to the last, and at any width?
 *
 * What a change costs is compared between the first and the last tenth of the time in which the width is full: before, members
 * are submitted by the hundred in a turn, and after, few are left. Memory is the process's, most of which is the simulated
 * cluster's (it remembers a job for 10 s, and its files); what is left once the cluster has forgotten all is the daemon's.
 *
 * engine-million [MEMBERS [WIDTH…]]: at each width, with default 1000000 members at 10000, and a tenth of it at 1000 and
 * at 100, and a resubmission of as many at once (alone: engine-million again MEMBERS WIDTH). STRETTO_BENCH_DIR says where the database lies (default: /dev/shm). About 4,000 members run a (virtual) second. */
#include "common/log.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "tests/sim/sim.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE 4000 /* members a second of virtual time */

struct mark {
    double engine_s, cpu_s;
    int64_t members, changes;
    double rss_mb;
};

static double cpu_s(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static double rss_mb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static int64_t succeeded(struct sim *sim, int64_t id)
{
    int64_t tally[MEMBER_STATE_COUNT];
    struct error err;

    return store_tally_get(sim_store(sim), id, tally, &err) == 0 ? tally[MEMBER_SUCCEEDED] : -1;
}

static bool is_over(struct sim *sim, int64_t id)
{
    struct ensemble_row row;
    struct error err;

    return store_ensemble_get(sim_store(sim), id, &row, &err) == 1 && ensemble_is_over(&row);
}

static struct mark mark(struct sim *sim, int64_t id)
{
    int64_t oldest, changes = 0;
    struct error err;

    store_event_bounds(sim_store(sim), &oldest, &changes, &err); /* each change is an event */
    return (struct mark){(double)sim_engine_ns(sim) / 1e9, cpu_s(), succeeded(sim, id), changes, rss_mb()};
}

static void figure(const char *what, long long width, double value, const char *unit, int64_t members)
{
    printf("{\"name\": \"engine-million-%s\", \"width\": %lld, \"members\": %lld, \"value\": %.4g, \"unit\": \"%s\"}\n", what,
           width, (long long)members, value, unit);
    fflush(stdout);
}

/* says nothing if there are so few members that nothing changed between the two */
static void figure_a_change(const char *what, long long width, const struct mark *from, const struct mark *to, int64_t members)
{
    if (to->changes > from->changes)
        figure(what, width, 1e6 * (to->engine_s - from->engine_s) / (double)(to->changes - from->changes), "us/change", members);
}

/* marks[0]: the start; 1 to 11: full width, by tenths; 12: the end; 13: when the cluster has forgotten all. */
enum { START, FULL, LAST_FULL = FULL + 10, END, FORGOTTEN, MARKS };

static void report(const struct mark marks[MARKS], int64_t members, long long width, const char *dir)
{
    char path[250];
    struct stat st;

    figure("cpu", width, 1e6 * (marks[END].engine_s - marks[START].engine_s) / (double)members, "us/member", members);
    figure("cpu-with-simulation", width, 1e6 * (marks[END].cpu_s - marks[START].cpu_s) / (double)members, "us/member", members);
    figure_a_change("change-first-tenth", width, &marks[FULL], &marks[FULL + 1], members);
    figure_a_change("change-last-tenth", width, &marks[LAST_FULL - 1], &marks[LAST_FULL], members);
    figure("memory-at-start", width, marks[START].rss_mb, "MB", members);
    figure("memory-at-10", width, marks[FULL + 1].rss_mb, "MB", members);
    figure("memory-at-50", width, marks[FULL + 5].rss_mb, "MB", members);
    figure("memory-at-100", width, marks[LAST_FULL].rss_mb, "MB", members);
    figure("memory-without-cluster", width, marks[FORGOTTEN].rss_mb, "MB", members);
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    if (stat(path, &st) == 0)
        figure("database", width, (double)st.st_size / (double)members, "B/member", members);
}

/* Which statements cost what: STRETTO_BENCH_SQL=1. */
static void report_sql(struct store *store)
{
    for (size_t i = 0; i < STORE_STATEMENTS && getenv("STRETTO_BENCH_SQL"); i++) {
        sqlite3_stmt *stmt = store->statements[i].stmt;

        if (stmt != NULL)
            fprintf(stderr, "%9d runs %7d rows scanned a run %7d steps a run: %.90s\n",
                    sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_RUN, 0),
                    sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0) /
                        (sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_RUN, 0) + 1),
                    sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0) /
                        (sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_RUN, 0) + 1),
                    store->statements[i].sql);
    }
}

static int64_t submit(struct sim *sim, int64_t members, long long width)
{
    json_t *spec = json_pack("{s:s, s:I, s:i, s:{s:[s], s:i, s:{s:s, s:I, s:{s:[ff]}}}}", "name", "million", "width", (json_int_t)width,
                             "max_same_failures", 0, "members", "command", "x", "retries", 0, "parameters", "method", "halton", "count", (json_int_t)members,
                             "space", "p", 0.0, 1.0);
    struct error err;
    int64_t id;

    if (sim_submit(sim, spec, &id, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    json_decref(spec);
    sim_turn(sim);
    return id;
}

static struct sim_faults weather_for(long long width)
{
    int life = (int)(1000 * width / RATE);

    return (struct sim_faults){.queue_ms = life + 1, .run_ms = life + 1, .forget_ms = 10000, .disk_ms = life / 10 + 1,
                               .answer_ms = life / 10 + 1, .tidy = true};
}

static struct sim *start(const struct sim_faults *weather, char dir[200])
{
    const char *base = getenv("STRETTO_BENCH_DIR");
    struct sim *sim;

    snprintf(dir, 200, "%s/stretto-bench-XXXXXX", base ? base : "/dev/shm");
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        exit(1);
    }
    sim = sim_create(1, weather, dir);
    sim_boot(sim);
    return sim;
}

static int finish(struct sim *sim, const char *dir)
{
    char command[250];

    sim_destroy(sim);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 ? 0 : 1;
}

static int fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

/* Everything failed, and is to go again at once; then it is cancelled, with everything under way. */
static int run_again(int64_t members, long long width)
{
    static const enum member_state failed[] = {MEMBER_FAILED};
    struct sim_faults weather = weather_for(width);
    char dir[200];
    struct sim *sim;
    struct error err;
    int64_t id, n, before;
    double longest = 0;

    weather.task_fails = 1000;
    sim = start(&weather, dir);
    id = submit(sim, members, width);
    while (!is_over(sim, id) && sim_step_ms(sim))
        ;
    before = sim_engine_ns(sim);
    sim_enter(sim);
    if (engine_resubmit(sim_engine(sim), id, failed, 1, false, &n, &sim_left, &err) < 0 || n != members)
        return fail("not all members are resubmitted");
    sim_leave(sim);
    sim_turn(sim);
    figure("resubmit", width, (double)(sim_engine_ns(sim) - before) / 1e6, "ms", members);
    for (int64_t end = sim_now(sim) + 2000; sim_now(sim) < end; before = sim_engine_ns(sim)) {
        before = sim_engine_ns(sim);
        sim_step_ms(sim);
        if ((double)(sim_engine_ns(sim) - before) / 1e6 > longest)
            longest = (double)(sim_engine_ns(sim) - before) / 1e6;
    }
    figure("longest-turn-after-resubmit", width, longest, "ms", members);
    before = sim_engine_ns(sim);
    sim_enter(sim);
    if (engine_cancel(sim_engine(sim), id, &sim_left, &err) < 0)
        return fail(err.text);
    sim_leave(sim);
    sim_turn(sim);
    figure("cancel", width, (double)(sim_engine_ns(sim) - before) / 1e6, "ms", members);
    return finish(sim, dir);
}

static void run_until(struct sim *sim, int64_t id, int64_t done)
{
    for (int64_t step = 0; step % 256 != 0 || succeeded(sim, id) < done; step++)
        if (!sim_step_ms(sim) || sim_violation(sim) != NULL)
            return;
}

static int run(int64_t members, long long width)
{
    struct sim_faults weather = weather_for(width);
    int64_t id, full = members > 4 * width ? 2 * width : 0, rest = members > 4 * width ? members - 3 * width : members;
    struct mark marks[MARKS];
    char dir[200];
    struct sim *sim;

    sim = start(&weather, dir);
    id = submit(sim, members, width);
    marks[START] = mark(sim, id);
    for (int tenth = 0; tenth <= 10; tenth++) {
        run_until(sim, id, full + rest * tenth / 10);
        marks[FULL + tenth] = mark(sim, id);
    }
    run_until(sim, id, members);
    marks[END] = mark(sim, id);
    if (sim_violation(sim) != NULL || marks[END].members != members) {
        fprintf(stderr, "%lld of %lld members succeeded: %s\n", (long long)marks[END].members, (long long)members,
                sim_violation(sim) ? sim_violation(sim) : "nothing more happened");
        return 1;
    }
    while (sim_step_ms(sim)) /* until nothing is left to happen */
        ;
    malloc_trim(0);
    marks[FORGOTTEN] = mark(sim, id);
    report_sql(sim_store(sim));
    sqlite3_exec(sim_store(sim)->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    report(marks, members, width, dir);
    return finish(sim, dir);
}

/* In a process of its own, so that each begins with the same memory. */
static int run_apart(int (*what)(int64_t members, long long width), int64_t members, long long width)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        exit(what(members, width));
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int64_t members = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    int rc = 0;

    log_init("bench", LOG_LEVEL_ERROR);
    if (argc == 4 && strcmp(argv[1], "again") == 0)
        return run_apart(run_again, strtoll(argv[2], NULL, 10), strtoll(argv[3], NULL, 10));
    if (members < 10) {
        fprintf(stderr, "usage: engine-million [MEMBERS [WIDTH...]] | again MEMBERS WIDTH\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        rc |= run_apart(run, members, strtoll(argv[i], NULL, 10));
    if (argc <= 2) {
        rc |= run_apart(run, members, 10000);
        rc |= run_apart(run, members / 10, 1000);
        rc |= run_apart(run, members / 10, 100);
        rc |= run_apart(run_again, members / 10, 10000);
    }
    return rc;
}

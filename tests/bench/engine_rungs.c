/* Early stopping through the engine, the real store and the simulated cluster, in virtual time: what an attempt costs with it and
 * without it, and the longest turn.
 *
 * engine-rungs [TRIALS]: by default 10000, with 5 rungs and a reduction of 3. STRETTO_BENCH_DIR says where the database lies
 * (default: /dev/shm). */
#include "common/log.h"
#include "daemon/store/internal.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int64_t submit(struct sim *sim, int64_t trials, bool stopping)
{
    json_t *spec = json_pack("{s:s, s:I, s:{s:[s], s:i, s:{s:s, s:I, s:{s:[ff]}}}}", "name", "trials", "width", (json_int_t)100,
                             "members", "command", "x", "retries", 0, "parameters", "method", "halton", "count",
                             (json_int_t)trials, "space", "p", 0.0, 1.0);
    struct error err;
    int64_t id;

    if (stopping)
        json_object_set_new(spec, "early_stopping",
                            json_pack("{s:s, s:s, s:{s:[i, i, i, i, i], s:i}}", "rule", "asha", "metric", "loss", "rungs",
                                      "steps", 1, 3, 9, 27, 81, "reduction", 3));
    if (sim_submit(sim, spec, &id, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    json_decref(spec);
    sim_turn(sim);
    return id;
}

static void figure(const char *what, double value, const char *unit, int64_t n)
{
    printf("{\"name\": \"engine-rungs-%s\", \"attempts\": %lld, \"value\": %.4g, \"unit\": \"%s\"}\n", what, (long long)n, value, unit);
    fflush(stdout);
}

/* Returns the engine's time for an attempt, in microseconds. */
static double run(int64_t trials, bool stopping)
{
    struct sim_faults weather = {.queue_ms = 50, .run_ms = 50, .forget_ms = 1000, .disk_ms = 5, .answer_ms = 5, .tidy = true};
    const char *base = getenv("STRETTO_BENCH_DIR");
    char dir[200], command[250];
    struct sim *sim;
    int64_t before, longest = 0, attempts;
    double us;

    snprintf(dir, sizeof dir, "%s/stretto-bench-XXXXXX", base != NULL ? base : "/dev/shm");
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        exit(1);
    }
    sim = sim_create(1, &weather, dir);
    sim_boot(sim);
    submit(sim, trials, stopping);
    for (before = sim_engine_ns(sim); sim_step(sim) && sim_violation(sim) == NULL; before = sim_engine_ns(sim))
        longest = sim_engine_ns(sim) - before > longest ? sim_engine_ns(sim) - before : longest;
    attempts = sim_number(sim, "SELECT count(*) FROM attempt");
    us = (double)sim_engine_ns(sim) / 1000 / (double)attempts;
    figure(stopping ? "attempt" : "attempt-without", us, "us", attempts);
    figure(stopping ? "longest-turn" : "longest-turn-without", (double)longest / 1e6, "ms", attempts);
    if (stopping) {
        figure("promotions", (double)sim_number(sim, "SELECT count(*) FROM arrival WHERE promoted > 0"), "members", attempts);
        if (getenv("STRETTO_BENCH_CHECK") != NULL)
            watch_rungs(sim); /* sorts all arrivals anew for each of them */
    }
    if (sim_violation(sim) != NULL || sim_number(sim, "SELECT count(*) FROM ensemble WHERE state <> 'complete'") != 0) {
        fprintf(stderr, "%s\n", sim_violation(sim) != NULL ? sim_violation(sim) : "it is not complete");
        exit(1);
    }
    sim_destroy(sim);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        exit(1);
    return us;
}

int main(int argc, char **argv)
{
    int64_t trials = argc > 1 ? strtoll(argv[1], NULL, 10) : 10000;
    double with, without;

    log_init("bench", LOG_LEVEL_ERROR);
    without = run(trials, false);
    with = run(trials, true);
    figure("decision", with - without, "us", trials);
    return 0;
}

/* fill_members DIR COUNT DONE: a state directory with an ensemble of COUNT members of which DONE have run to their end, on
 * the simulated cluster; as the engine and the store leave it, but in less time than it takes to run them. */
#include "common/log.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static const struct sim_faults calm;
    int64_t tally[MEMBER_STATE_COUNT] = {0}, id;
    struct sim *sim;
    struct error err;
    json_t *spec;

    if (argc != 4) {
        fputs("usage: fill_members DIR COUNT DONE\n", stderr);
        return 2;
    }
    log_init("fill_members", LOG_LEVEL_NONE);
    sim = sim_create(1, &calm, argv[1]);
    sim_boot(sim);
    spec = json_pack("{s:s, s:i, s:{s:[s], s:i, s:{s:s, s:I, s:{s:[ff], s:[ff]}}}}", "name", "million", "width", 100,
                     "members", "command", "true", "retries", 0, "parameters", "method", "latin-hypercube", "count",
                     (json_int_t)atoll(argv[2]), "space", "t0", 100.0, 500.0, "tw", 100.0, 500.0);
    if (engine_submit(sim_engine(sim), spec, NULL, &id, &err) < 0) {
        fprintf(stderr, "fill_members: %s at %s\n", err.text, err.pointer);
        return 1;
    }
    json_decref(spec);
    sim_turn(sim);
    for (int64_t done = atoll(argv[3]); tally[MEMBER_SUCCEEDED] < done && sim_step(sim);) {
        if (sim_violation(sim) != NULL || store_tally_get(sim_store(sim), id, tally, &err) < 0) {
            fprintf(stderr, "fill_members: %s\n", sim_violation(sim) ?: err.text);
            return 1;
        }
    }
    sim_destroy(sim);
    return 0;
}

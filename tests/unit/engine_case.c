#include "tests/unit/engine_case.h"

#include "tests/sim/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_MAX 100000

struct sim *sim;
int64_t id;
struct error err;
struct sim_faults faults;

static char dir[64];
static int begun; /* lives so far: of every fifth SQLite's memory is watched, too */

void begin(uint64_t seed, struct sim_faults with)
{
    faults = with;
    faults.queue_ms = faults.queue_ms ? faults.queue_ms : 2000;
    faults.run_ms = faults.run_ms ? faults.run_ms : 2000;
    faults.forget_ms = 300000;
    faults.disk_ms = 50;
    faults.answer_ms = 500;
    snprintf(dir, sizeof dir, "%s/stretto-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    sim_memory(begun++ % 5 == 0);
    sim = sim_create(seed, &faults, dir);
    sim_boot(sim);
}

void end(void)
{
    if (sim_violation(sim) != NULL)
        fail_msg("%s", sim_violation(sim));
    sim_destroy(sim);
    sim_remove_state(dir);
    assert_int_equal(rmdir(dir), 0);
}

void submit(int count, int pack, json_t *more)
{
    json_t *spec = json_pack("{s:s, s:s, s:i, s:i, s:{s:[s], s:{s:s, s:i, s:i, s:{s:[ii]}}}}", "name", "x", "adapter",
                             sim_adapters[0], "width", count, "pack", pack, "members", "command", "x", "parameters",
                             "method", "monte-carlo", "count", count, "seed", 1, "space", "x", 0, 1);

    json_object_update(spec, more);
    json_decref(more);
    if (sim_submit(sim, spec, &id, &err) < 0)
        fail_msg("%s %s", err.pointer, err.text);
    json_decref(spec);
}

void step(void)
{
    if (!sim_step(sim))
        fail_msg("nothing will happen any more");
    if (sim_violation(sim) != NULL)
        fail_msg("%s", sim_violation(sim));
}

void until(const char *sql)
{
    for (int n = 0; sim_number(sim, sql) == 0; n++) {
        assert_true(n < STEPS_MAX);
        step();
    }
}

void run_for(int64_t ms)
{
    int64_t now = sim_now(sim);

    while (sim_now(sim) < now + ms)
        step();
}

void until_over(void)
{
    for (int n = 0; !sim_is_over(sim); n++) {
        assert_true(n < STEPS_MAX);
        step();
    }
    watch_end(sim);
}

json_t *training(int retries)
{
    return json_pack("{s:{s:[s], s:i, s:{s:{s:s, s:[i]}}}}", "training", "command", "y", "retries", retries, "fields",
                     "u", "dtype", "float32", "shape", 4);
}

json_t *allocation(void)
{
    return json_pack("{s:{s:i, s:i, s:i, s:s}}", "allocation", "nodes", 1, "count", 1, "cpus", 4, "idle", "60s");
}

void set_faults(struct sim_faults with)
{
    with.queue_ms = faults.queue_ms, with.run_ms = faults.run_ms, with.forget_ms = faults.forget_ms;
    with.disk_ms = faults.disk_ms, with.answer_ms = faults.answer_ms;
    sim_set_faults(sim, &with);
}

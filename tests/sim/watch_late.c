/* Verifies that the daemon learns in time of the end of attempts that ended while nobody told of it, or while there was
 * no daemon: their records are in the run directory, and the scheduler is asked. */
#include "tests/sim/sim.h"

#include "daemon/store/internal.h"

#include <string.h>

#define LATE_MS 3600000 /* counted while the daemon is up; no job runs for longer */
/* a map from "ENSEMBLE.INDEX.ATTEMPT" to the time since when it has ended and is still open, counted while the daemon
 * is up */
#define SINCE "//late"

/* Returns whether an attempt has ended for good. One that was killed may have been put back into the queue by its
 * scheduler. */
static bool has_ended(struct sim *sim, const char *attempt)
{
    const char *is = json_string_value(json_object_get(sim_ledger(sim), attempt));

    return is != NULL && strcmp(is, "running") != 0 && strcmp(is, "killed") != 0;
}

void watch_late(struct sim *sim)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err,
                                     "SELECT ensemble || '.' || idx || '.' || number FROM attempt WHERE outcome IS "
                                     "NULL", "");
    json_t *before = json_object_get(sim_files(sim), SINCE), *now = json_object();
    json_int_t up = sim_up_ms(sim);

    while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
        const char *attempt = (const char *)sqlite3_column_text(stmt, 0);
        json_t *since = json_object_get(before, attempt);

        if (!has_ended(sim, attempt))
            continue;
        json_object_set_new(now, attempt, since ? json_incref(since) : json_integer(up));
        if (since != NULL && up - json_integer_value(since) > LATE_MS)
            sim_violate(sim, "attempt %s ended long ago, and that is not known", attempt);
    }
    json_object_set_new(sim_files(sim), SINCE, now);
}

/* Follow-ups at any time, and the rules that families must keep. */
#include "daemon/engine/engine.h"
#include "daemon/store/internal.h"
#include "tests/sim/sim.h"

#include <string.h>

int sim_follow_up(struct sim *sim, int64_t ensemble, int64_t *made, struct error *err)
{
    static const enum member_state unfinished = MEMBER_UNFINISHED, failed = MEMBER_FAILED;
    struct engine_follow_up wish = {.states = {unfinished, failed}, .n_states = 1 + sim_random(sim, 2)};
    json_t *changes = json_object();
    bool is_new = false;
    int rc;

    if (sim_chance(sim, 300))
        wish = (struct engine_follow_up){.states = {failed}, .n_states = 1};
    if (sim_chance(sim, 500))
        json_object_set_new(changes, "width", json_integer((json_int_t)(1 + sim_random(sim, 12))));
    if (sim_chance(sim, 300))
        json_object_set_new(changes, "adapter", json_string(sim_adapters[sim_random(sim, SIM_ADAPTERS)]));
    if (sim_chance(sim, 300))
        json_object_set_new(changes, "pack", json_integer((json_int_t)(1 + sim_random(sim, 4))));
    wish.changes = changes;
    rc = engine_follow_up(sim_engine(sim), ensemble, &wish, &sim_left, &is_new, err);
    if (rc == 0)
        sim_check_left(sim, sim_left.id);
    *made = rc == 0 && is_new ? sim_left.id : 0;
    json_decref(changes);
    return rc;
}

static void check_told(void *arg, int64_t root, const struct ensemble_row *follow_up, const struct error *failed)
{
    if (follow_up == NULL)
        return;
    sim_left = *follow_up;
    sim_check_left(arg, follow_up->id);
}

int sim_follow_up_all(struct sim *sim, struct error *err)
{
    int64_t after = 0;

    return engine_follow_up_all(sim_engine(sim), NULL, 1 + (int)sim_random(sim, 3), &after, check_told, sim, err);
}

/* Checks that nothing of a family is followed up while anything of it is under way. */
void watch_families_store(struct sim *sim)
{
    static const char trigger[] =
        "CREATE TEMP TRIGGER followed_up BEFORE INSERT ON main.ensemble WHEN NEW.root IS NOT NULL AND EXISTS (SELECT 1 "
        "FROM main.ensemble e WHERE (e.id = NEW.root OR e.root = NEW.root) AND (e.ended IS NULL OR EXISTS (SELECT 1 "
        "FROM main.attempt a WHERE a.ensemble = e.id AND a.outcome IS NULL))) BEGIN SELECT violate('a follow-up was "
        "made of what has not ended'); END;";
    char *why = NULL;

    if (sqlite3_exec(sim_store(sim)->db, trigger, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
}

void watch_families(struct sim *sim)
{
    if (sim_number(sim, "SELECT EXISTS (SELECT 1 FROM ensemble WHERE root IS NOT NULL)") == 0)
        return; /* each ensemble is a family of its own, which watch_always() checks */
    SIM_HOLDS(sim, "members of a family that are in two of its ensembles at once",
          "SELECT count(*) FROM (SELECT 1 FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE m.successor IS NULL "
          "GROUP BY coalesce(e.root, e.id), m.idx HAVING count(*) > 1)");
    SIM_HOLDS(sim, "members that were handed on, and have not arrived",
          "SELECT count(*) FROM member m WHERE m.successor IS NOT NULL AND NOT EXISTS (SELECT 1 FROM member h WHERE "
          "h.ensemble = m.successor AND h.idx = m.idx AND h.predecessor = m.ensemble)");
    SIM_HOLDS(sim, "members handed on that are not counted so",
          "SELECT count(*) FROM tally t WHERE t.handed <> (SELECT count(*) FROM member m WHERE m.ensemble = t.ensemble "
          "AND m.state = t.state AND m.successor IS NOT NULL)");
    SIM_HOLDS(sim, "families whose books do not add up to their members",
          "SELECT count(*) FROM ensemble r WHERE r.root IS NULL AND r.count <> (SELECT sum(t.n - t.handed) FROM "
          "ensemble e JOIN tally t ON t.ensemble = e.id WHERE e.id = r.id OR e.root = r.id) - (SELECT "
          "coalesce(sum(e.count - e.next_index), 0) FROM ensemble e WHERE e.root = r.id)");
}

void watch_families_end(struct sim *sim)
{
    SIM_HOLDS(sim, "follow-ups that still wait for members", "SELECT count(*) FROM handover");
    SIM_HOLDS(sim, "follow-ups that took over what they were not asked for",
          "SELECT count(*) FROM member m JOIN member o ON o.ensemble = m.predecessor AND o.idx = m.idx WHERE o.state NOT IN "
          "('unfinished', 'failed')");
    SIM_HOLDS(sim, "members that were unfinished, and began at the start again in a follow-up",
          "SELECT count(*) FROM attempt a JOIN member m ON m.ensemble = a.ensemble AND m.idx = a.idx JOIN member o ON "
          "o.ensemble = m.predecessor AND o.idx = m.idx WHERE o.state = 'unfinished' AND a.number = 1 AND a.resumed IS NULL "
          "AND a.outcome IN ('succeeded', 'timeout')");
    SIM_HOLDS(sim, "families with unfinished members that were to be followed up by themselves, and were not",
          "SELECT count(*) FROM ensemble r WHERE r.root IS NULL AND json_extract(r.spec, '$.follow_up.auto') AND NOT "
          "EXISTS (SELECT 1 FROM ensemble e WHERE (e.id = r.id OR e.root = r.id) AND e.state IN ('cancelled', "
          "'failed')) AND (SELECT count(*) FROM ensemble e WHERE e.root = r.id) < json_extract(r.spec, "
          "'$.follow_up.max') AND EXISTS (SELECT 1 FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE (e.id = "
          "r.id OR e.root = r.id) AND m.successor IS NULL AND m.state = 'unfinished')");
}

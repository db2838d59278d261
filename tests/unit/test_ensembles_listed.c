/* Lists of ensembles: each way to sort and to choose them, page by page. */
#include "api/handlers.h"
#include "common/log.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/training.h"
#include "tests/unit/failing_store.h"
#include "tests/unit/fake_engine.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <string.h>

/* A row with a loss of 0 is an ensemble without a training. */
static const struct {
    const char *name;
    enum ensemble_state state;
    int64_t created_ms, ended_ms, count, succeeded, failed, root;
    double loss;
} rows[] = {
    {"delta", ENSEMBLE_RUNNING, 100000, 0, 10, 1, 0, 0, 5},      {"alpha", ENSEMBLE_PAUSED, 600000, 0, 10, 9, 1, 0, 3},
    {"charlie", ENSEMBLE_RUNNING, 0, 0, 10, 0, 0, 0, 0},         {"bravo", ENSEMBLE_COMPLETE, 0, 900000, 10, 10, 0, 0, 4},
    {"alpha two", ENSEMBLE_RUNNING, 800000, 0, 10, 5, 0, 2, 0},  {"echo", ENSEMBLE_FAILED, 0, 900000, 10, 2, 8, 0, 0},
};

#define ROWS ((int)(sizeof rows / sizeof *rows))

static void add_loss(int64_t ensemble, double loss)
{
    struct training_row training = {.ensemble = ensemble, .adapter = "local", .ranks = 1, .generation = 1, .created_ms = 1};

    must(store_training_insert(store, &training, &err));
    for (int i = 0; i < 2; i++)
        must(store_metric_put(store, training.id, "loss", &(struct metric_point){.step = i, .time_ms = 1, .value = loss * (i == 0 ? 10 : 1)}, &err));
}

static int set_up(void **state)
{
    if (open_store(state) != 0)
        return -1;
    fake_config = (struct api_config){.store = store};
    fake_engine_is_well = true;
    for (int i = 0; i < ROWS; i++) {
        struct ensemble_row row = {.adapter = "local", .stream_key = "0", .count = rows[i].count, .width = 1, .created_ms = rows[i].created_ms,
                                   .root = rows[i].root, .parent = rows[i].root};

        snprintf(row.name, sizeof row.name, "%s", rows[i].name);
        must(store_ensemble_insert(store, &row, "{}", &err));
        row.state = rows[i].state;
        row.ended_ms = rows[i].ended_ms;
        must(store_ensemble_update(store, &row, &err));
        must(store_exec(store, &err, "UPDATE tally SET n = CASE state WHEN 'succeeded' THEN ?2 WHEN 'failed' THEN ?3 WHEN 'pending' THEN ?4 "
                        "ELSE 0 END WHERE ensemble = ?1", "iiii", row.id, rows[i].succeeded, rows[i].failed,
                        rows[i].count - rows[i].succeeded - rows[i].failed));
        must(store_exec(store, &err, "UPDATE progress SET final = ?2 WHERE ensemble = ?1", "ii", row.id,
                        rows[i].succeeded + rows[i].failed));
        if (rows[i].loss > 0)
            add_loss(row.id, rows[i].loss);
    }
    return 0;
}

static int tear_down(void **state)
{
    must(store_commit(store, &err));
    return close_store(state);
}

/* The ids of all pages of so many ensembles at most; and the pages have to be full but for the last. */
static void pages_are(const char *query, int limit, const char *expected)
{
    char cursor[160] = "", whole[320], ids[64] = "";
    int pages = 0;

    do {
        const json_t *page, *item;
        size_t i;

        snprintf(whole, sizeof whole, "%s%slimit=%d%s%s", query, query[0] ? "&" : "", limit, cursor[0] ? "&cursor=" : "", cursor);
        page = get(ensembles_get, 0, whole);
        json_array_foreach (json_object_get(page, "ensembles"), i, item)
            snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%lld ",
                     (long long)json_integer_value(json_object_get(item, "id")));
        snprintf(cursor, sizeof cursor, "%s", json_string_value(json_object_get(page, "next")) ?: "");
        if (cursor[0] != '\0')
            assert_int_equal(json_array_size(json_object_get(page, "ensembles")), limit);
        assert_true(++pages < 20);
    } while (cursor[0] != '\0');
    if (strcmp(ids, expected) != 0)
        fail_msg("%s, %d at a time: %sand not %s", query, limit, ids, expected);
}

static void are(const char *query, const char *expected)
{
    for (int limit = 1; limit < 9; limit++)
        pages_are(query, limit, expected);
    is_told_that_the_store_fails(ensembles_get, &(struct asked){.query = query});
}

static void more_than_are_measured_in_a_turn(void **state)
{
    int n = 0;
    const json_t *page;

    for (int i = 0; i < 130; i++) {
        int64_t id = add_ensemble(10);

        must(store_exec(store, &err, "UPDATE tally SET n = 1 WHERE ensemble = ?1 AND state = 'succeeded'", "i", id));
    }
    page = get(ensembles_get, 0, "sort=rate&order=desc&limit=1000");
    n = (int)json_array_size(json_object_get(page, "ensembles"));
    assert_int_equal(n, ROWS + 130);
    for (int i = 1; i < n; i++) {
        double before = json_number_value(json_object_get(json_array_get(json_object_get(page, "ensembles"), (size_t)i - 1), "rate")),
               after = json_number_value(json_object_get(json_array_get(json_object_get(page, "ensembles"), (size_t)i), "rate"));

        assert_true(after <= before);
        assert_int_equal(after > 0, i < 133);
    }
}

static const char *eta_after(int64_t submitted_ms, int64_t ended_ms)
{
    must(store_exec(store, &err, "UPDATE attempt SET outcome = 'succeeded', submitted = ?1, ended = ?2", "ii",
                    submitted_ms, ended_ms));
    return json_string_value(json_object_get(get(ensemble_get, 1, NULL), "eta")) ?: "none";
}

/* One of ten members was done in 900 s; where none has come to its end lately, nobody knows when the others do. */
static void an_end_is_estimated_while_members_succeed(void **state)
{
    struct ensemble_row row;

    must(store_exec(store, &err, "INSERT INTO member (ensemble, idx, state) VALUES (1, 0, 'pending')", ""));
    add_attempt(add_job(1, "local").id, 1, 0, 1);
    must(store_exec(store, &err,
                    "UPDATE tally SET n = iif(state = 'pending', 9, state = 'succeeded') WHERE ensemble = 1", ""));
    assert_string_equal(eta_after(994000, 995000), "1970-01-01T02:30:55.000Z");
    assert_string_equal(eta_after(939000, 940000), "1970-01-01T02:22:39.999Z");
    assert_string_equal(eta_after(938999, 939999), "none");
    assert_string_equal(eta_after(839999, 939999), "1970-01-01T02:22:39.991Z"); /* members take longer */
    must(store_ensemble_get(store, 1, &row, &err));
    row.state = ENSEMBLE_PAUSED;
    must(store_ensemble_update(store, &row, &err));
    assert_string_equal(eta_after(994000, 995000), "none");
}

static void what_is_in_trouble(void **state)
{
    struct training_row training;

    are("trouble=1", "6 2 ");
    are("trouble=1&state=paused", "2 ");
    are("trouble=1&family=5", "2 ");
    must(store_training_get(store, 1, &training, &err));
    training.state = TRAINING_FAILED;
    must(store_training_update(store, &training, &err));
    are("trouble=1", "6 2 1 ");
    fake_engine_is_well = false; /* all are held, but those that have been over for long are history */
    are("trouble=1", "6 5 4 3 2 1 ");
    must(store_exec(store, &err, "UPDATE ensemble SET ended = ?1 WHERE id = 6", "i",
                    INT64_C(1000000) - INT64_C(7) * 86400 * 1000 - 1));
    are("trouble=1", "5 4 3 2 1 ");
    for (int i = 0; i < 120; i++) /* more than are looked at in a turn */
        add_ensemble(1);
    assert_int_equal(json_array_size(json_object_get(get(ensembles_get, 0, "trouble=1&limit=1000"), "ensembles")), 125);
    fake_engine_is_well = true;
    are("trouble=1", "2 1 ");
    is_refused(ensembles_get, 0, "trouble=0", 400, "query_wrong_value");
    is_refused(ensembles_get, 0, "trouble=1&sort=name", 400, "query_wrong_value");
    is_refused(ensembles_get, 0, "trouble=1&order=asc", 400, "query_wrong_value");
    is_refused(ensembles_get, 0, "trouble=1&family=999", 404, "ensemble_not_found");
}

/* What does not pass by itself is somebody's trouble. */
static void not_all_that_waits_is_in_trouble(void **state)
{
    static const char *const urgent[] = {"held", "ending", "adapter_not_here", "not_readable", "adapter_not_set_up", "adapter_silent", "state_not_written",
                                         "no_room", "not_submitted", "training_silent"},
                      *const usual[] = {"paused", "hel", "heldx", "after"};

    fake_engine_is_well = false;
    for (size_t i = 0; i < sizeof urgent / sizeof *urgent; i++) {
        fake_engine_notice = urgent[i];
        pages_are("trouble=1", 8, "6 5 4 3 2 1 ");
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        fake_engine_notice = usual[i];
        pages_are("trouble=1", 8, "6 2 ");
    }
    fake_engine_notice = NULL;
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_STORE(more_than_are_measured_in_a_turn),
                                       WITH_STORE(an_end_is_estimated_while_members_succeed),
                                       WITH_STORE(what_is_in_trouble), WITH_STORE(not_all_that_waits_is_in_trouble)};

    log_init("listed", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

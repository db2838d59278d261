#include "tests/unit/store_members.h"

#include "daemon/store/attempt.h"
#include "daemon/store/cancellation.h"
#include "daemon/store/bulk.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/idempotency.h"
#include "daemon/store/internal.h"
#include "daemon/store/job.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static int note_index(void *arg, const struct member_row *row)
{
    int64_t **at = arg;

    *(*at)++ = row->index;
    return 0;
}

/* Members that wait: the longest due first, then by index. */
void the_longest_due_go_first(void **state)
{
    static const int64_t due[] = {500, 0, 100, 0, 100};
    struct store *store = must_open();
    struct ensemble_row ens = add_ensemble(store, 10);
    int64_t got[8], *end = got, when;
    struct error err;

    assert_int_equal(store_member_next_due(store, ens.id, &when, &err), 0);
    assert_true(when == INT64_MAX);
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(store_member_put(store, &(struct member_row){.ensemble = ens.id, .index = i, .not_before_ms = due[i]},
                                          &err), 0);
    assert_int_equal(store_member_each_due(store, ens.id, 499, 3, note_index, &end, &err), 0);
    assert_true(end - got == 3 && got[0] == 1 && got[1] == 3 && got[2] == 2);
    for (int64_t i = 1; i < 5; i++)
        assert_int_equal(store_member_put(store, &(struct member_row){.ensemble = ens.id, .index = i, .state = MEMBER_RUNNING},
                                          &err), 0);
    assert_int_equal(store_member_next_due(store, ens.id, &when, &err), 0);
    assert_int_equal(when, 500);
    store_close(store);
}

/* One that waited for its next attempt when it was cancelled, say. */
void a_member_that_is_reset_waits_for_nothing(void **state)
{
    struct store *store = must_open();
    struct ensemble_row ens = add_ensemble(store, 10);
    struct member_row member = {.ensemble = ens.id, .index = 1, .state = MEMBER_CANCELLED, .attempts = 4, .failures = 2, .losses = 1,
                                .stalls = 1, .not_before_ms = 900, .reason = "x"};
    int64_t when;
    struct error err;

    assert_int_equal(store_member_put(store, &member, &err), 0);
    assert_int_equal(store_member_reset(store, ens.id, MEMBER_CANCELLED, 0, 9, false, &err), 0);
    assert_int_equal(store_member_next_due(store, ens.id, &when, &err), 0);
    assert_int_equal(when, MEMBER_AT_ONCE);
    assert_int_equal(store_member_get(store, ens.id, 1, &member, &err), 1);
    assert_int_equal(member.state, MEMBER_PENDING);
    assert_int_equal(member.attempts, 4);
    assert_int_equal(member.failures + member.losses + member.stalls, 0);
    assert_string_equal(member.reason, "");
    store_close(store);
}

void a_member_that_was_cancelled_alone_is_not_reset(void **state)
{
    struct store *store = must_open();
    struct ensemble_row ens = add_ensemble(store, 10);
    struct member_row member = {.ensemble = ens.id, .state = MEMBER_CANCELLED, .attempts = 2, .since = 1, .reason = "x"};
    struct error err;

    assert_int_equal(store_member_put(store, &member, &err), 0);
    assert_int_equal(store_cancellation_put(store, ens.id, 0, 1, &err), 0);
    assert_int_equal(store_member_reset(store, ens.id, MEMBER_CANCELLED, 0, 9, true, &err), 0);
    assert_int_equal(store_member_get(store, ens.id, 0, &member, &err), 1);
    assert_int_equal(member.state, MEMBER_CANCELLED);
    assert_int_equal(member.since, 1);
    assert_string_equal(member.reason, "x");
    store_close(store);
}

void ensembles_are_counted_as_they_change(void **state)
{
    struct store *store = must_open();
    struct ensemble_row a = add_ensemble(store, 4), b = add_ensemble(store, 3);
    int64_t ensembles[ENSEMBLE_STATE_COUNT], members[MEMBER_STATE_COUNT];
    struct error err;

    assert_int_equal(store_member_put(store, &(struct member_row){.ensemble = a.id, .state = MEMBER_RUNNING}, &err), 0);
    b.state = ENSEMBLE_PAUSED;
    assert_int_equal(store_ensemble_update(store, &b, &err), 0);
    assert_int_equal(store_census_get(store, ensembles, members, &err), 0);
    assert_true(ensembles[ENSEMBLE_RUNNING] == 1 && ensembles[ENSEMBLE_PAUSED] == 1 &&
                ensembles[ENSEMBLE_COMPLETE] == 0);
    assert_true(members[MEMBER_PENDING] == 6 && members[MEMBER_RUNNING] == 1);
    a.state = ENSEMBLE_COMPLETE;
    a.ended_ms = 7;
    assert_int_equal(store_ensemble_update(store, &a, &err), 0);
    assert_int_equal(store_census_get(store, ensembles, members, &err), 0);
    assert_true(ensembles[ENSEMBLE_RUNNING] == 0 && ensembles[ENSEMBLE_PAUSED] == 1 &&
                ensembles[ENSEMBLE_COMPLETE] == 1);
    assert_true(members[MEMBER_PENDING] == 3 && members[MEMBER_RUNNING] == 0);
    store_close(store);
}

void replies_are_remembered_for_a_day(void **state)
{
    const int64_t day = INT64_C(86400000);
    struct store *store = must_open();
    struct error err;
    char digest[65], *body;
    int status;

    assert_int_equal(store_idempotency_put(store, "k", "d", 201, "{}", 1, &err), 0);
    assert_int_equal(store_idempotency_get(store, "k", digest, &status, &body, &err), 1);
    assert_int_equal(status, 201);
    free(body);
    assert_int_equal(store_idempotency_prune(store, day + 1, 10, &err), 0);
    assert_int_equal(store_idempotency_get(store, "k", digest, &status, &body, &err), 1);
    free(body);
    assert_int_equal(store_idempotency_prune(store, day + 2, 10, &err), 0);
    assert_int_equal(store_idempotency_get(store, "k", digest, &status, &body, &err), 0);
    assert_int_equal(store_idempotency_put(store, "k", "d", 201, "{}", 1, &err), 0);
    assert_int_equal(store_idempotency_put(store, "l", "d", 201, "{}", day + 2, &err), 0);
    assert_int_equal(store_idempotency_get(store, "k", digest, &status, &body, &err), 0);
    store_close(store);
}

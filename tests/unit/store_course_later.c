#include "tests/unit/store_course_later.h"

#include "daemon/store/bulk.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/series.h"
#include "daemon/store/session.h"
#include "tests/unit/open_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bulk_is(int64_t ensemble, enum bulk_kind kind, enum member_state of, int64_t next, bool afresh)
{
    struct bulk bulk;

    assert_int_equal(store_bulk_first(store, ensemble, &bulk, &err), 1);
    assert_true(bulk.ensemble == ensemble && bulk.kind == kind && bulk.next == next && bulk.afresh == afresh);
    if (kind == BULK_RESUBMIT)
        assert_int_equal(bulk.state, of);
    must(store_bulk_end(store, &bulk, &err));
}

void bulk_operations_are_done_one_by_one(void **state)
{
    int64_t id = add_ensemble(9), other = add_ensemble(9);
    struct bulk bulk = {.ensemble = id, .kind = BULK_STOP, .next = 2};

    assert_int_equal(store_bulk_first(store, id, &bulk, &err), 0);
    bulk = (struct bulk){.ensemble = id, .kind = BULK_STOP, .next = 2};
    must(store_bulk_put(store, &bulk, &err));
    bulk = (struct bulk){.ensemble = id, .kind = BULK_RESUBMIT, .state = MEMBER_UNFINISHED, .next = 3, .afresh = true};
    must(store_bulk_put(store, &bulk, &err));
    bulk.state = MEMBER_FAILED;
    bulk.afresh = false;
    must(store_bulk_put(store, &bulk, &err));
    bulk.next = 4; /* it goes on */
    must(store_bulk_put(store, &bulk, &err));
    bulk = (struct bulk){.ensemble = other, .kind = BULK_CANCEL, .next = 5};
    must(store_bulk_put(store, &bulk, &err));
    bulk_is(id, BULK_RESUBMIT, MEMBER_FAILED, 4, false);
    bulk_is(id, BULK_RESUBMIT, MEMBER_UNFINISHED, 3, true);
    bulk_is(id, BULK_STOP, MEMBER_PENDING, 2, false);
    assert_int_equal(store_bulk_first(store, id, &bulk, &err), 0);
    must(store_bulk_end_all(store, id, &err));
    bulk_is(other, BULK_CANCEL, MEMBER_PENDING, 5, false);
    bulk = (struct bulk){.ensemble = id, .kind = BULK_STOP, .next = 2};
    must(store_bulk_put(store, &bulk, &err));
    must(store_bulk_end_all(store, id, &err));
    assert_int_equal(store_bulk_first(store, id, &bulk, &err), 0);
}

/* A piece has so many members; the next one goes on behind it, and the last one cancels those without a row. */
void a_cancellation_goes_on_where_it_was(void **state)
{
    int64_t id = add_ensemble(20), n[MEMBER_STATE_COUNT];
    struct bulk bulk = {.ensemble = id, .kind = BULK_CANCEL};
    struct member_span span;

    must(store_exec(store, &err, "UPDATE ensemble SET next_index = 7 WHERE id = 1", ""));
    for (int64_t i = 0; i < 7; i++)
        put_member(id, i, i == 1 ? MEMBER_RUNNING : MEMBER_PENDING);
    assert_int_equal(store_bulk_piece(store, &bulk, 3, &span, &err), 1);
    assert_true(bulk.next == 4 && span.first == 0 && span.last == 3);
    assert_int_equal(store_bulk_piece(store, &bulk, 3, &span, &err), 1);
    assert_true(bulk.next == 7 && span.first == 4 && span.last == 6);
    must(store_tally_get(store, id, n, &err));
    assert_true(n[MEMBER_PENDING] == 13 && n[MEMBER_CANCELLED] == 6);
    assert_int_equal(store_bulk_piece(store, &bulk, 3, &span, &err), 0);
    assert_true(span.first > span.last);
    must(store_tally_get(store, id, n, &err));
    assert_true(n[MEMBER_PENDING] == 0 && n[MEMBER_CANCELLED] == 19 && n[MEMBER_RUNNING] == 1);
}

static int note_session(void *arg, const struct session_row *row)
{
    note("%lld ", (long long)row->id);
    return 0;
}

static int note_token(void *arg, const struct token_row *row)
{
    note("%lld %s %lld %lld, ", (long long)row->id, row->label, (long long)row->expires_ms,
         (long long)row->last_used_ms);
    return 0;
}

void sessions_and_tokens_are_listed_newest_first(void **state)
{
    struct session_row session = {.role = TOKEN_OPERATOR, .path = "/", .created_ms = 1}, read;
    struct token_row token = {.role = TOKEN_OPERATOR, .created_ms = 1}, known;

    for (int i = 0; i < 4; i++) {
        memset(session.hash, 'a' + i, 64);
        session.expires_ms = i == 2 ? 50 : 100;
        must(store_session_insert(store, &session, &err));
        memset(token.hash, 'a' + i, 64);
        snprintf(token.label, sizeof token.label, i == 1 ? "" : "t%d", i);
        token.expires_ms = i == 1 ? 0 : 200 + i;
        must(store_token_insert(store, &token, &err));
    }
    must(store_session_each(store, 0, 9, 49, note_session, NULL, &err));
    is_listed("4 3 2 1 ");
    must(store_session_each(store, 0, 2, 50, note_session, NULL, &err));
    is_listed("4 2 ");
    must(store_session_each(store, 2, 2, 50, note_session, NULL, &err));
    is_listed("1 ");
    must(store_session_touch(store, 2, 30, &err));
    assert_int_equal(store_session_get(store, 2, &read, &err), 1);
    assert_true(read.last_used_ms == 30 && read.expires_ms == 100 && read.created_ms == 1 &&
                read.role == TOKEN_OPERATOR);
    assert_int_equal(store_session_get(store, 1, &read, &err), 1);
    assert_int_equal(read.last_used_ms, 0);
    must(store_session_end(store, 4, &err));
    must(store_session_each(store, 0, 9, 49, note_session, NULL, &err));
    is_listed("3 2 1 ");
    must(store_session_end_all(store, &err));
    must(store_session_each(store, 0, 9, 0, note_session, NULL, &err));
    is_listed("");

    must(store_token_touch(store, 3, 40, &err));
    must(store_token_each(store, 0, 3, note_token, NULL, &err));
    is_listed("4 t3 203 0, 3 t2 202 40, 2  0 0, ");
    must(store_token_each(store, 3, 1, note_token, NULL, &err));
    is_listed("2  0 0, ");
    assert_int_equal(store_token_get(store, 3, &known, &err), 1);
    assert_true(known.role == TOKEN_OPERATOR && known.revoked_ms == 0 && known.created_ms == 1 &&
                known.hash[63] == 'c');
    assert_int_equal(store_token_get(store, 5, &known, &err), 0);
}

void the_bounds_of_a_series_are_in_the_range(void **state)
{
    int64_t id = add_ensemble(9), first, last;
    struct series_row row;

    put_member(id, 0, MEMBER_RUNNING);
    assert_int_equal(store_series_open(store, id, 0, "loss", &row, &err), 1);
    for (int64_t step = 10; step <= 30; step += 10) {
        struct series_point point = series_point_of(step, step, 1, 1, 0);

        must(store_series_add(store, &row, &point, 100, &err));
    }
    must(store_series_save(store, &row, &err));
    assert_int_equal(store_series_bounds(store, &row, 10, 30, &first, &last, &err), 1);
    assert_true(first == 10 && last == 30);
    assert_int_equal(store_series_bounds(store, &row, 11, 29, &first, &last, &err), 1);
    assert_true(first == 20 && last == 20);
    assert_int_equal(store_series_bounds(store, &row, 21, 29, &first, &last, &err), 0);
    assert_int_equal(store_series_bounds(store, &row, 31, 99, &first, &last, &err), 0);
}

/* The members that are whole in a checkpoint of a training, by the files of its ranks; its row; and the members that it
 * sends back. */
#include "common/files.h"
#include "daemon/rundir/whole.h"
#include "daemon/store/bulk.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/training.h"
#include "daemon/store/training_checkpoint.h"
#include "tasks/proto/ends.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMBERS 3000

#define N 11

static void pack_and_unpack(const uint32_t *ended, size_t n, size_t wanted_size)
{
    uint32_t read[64];
    size_t size;
    unsigned char *packed = ends_pack(ended, n, &size);

    assert_int_equal(size, wanted_size);
    assert_true(ends_are_all(packed, size, n));
    assert_false(ends_are_all(packed, size - 1, n));
    for (size_t from = 0; from < n; from++) {
        ends_unpack(packed, size, from, read, n - from);
        assert_memory_equal(read, ended + from, (n - from) * sizeof *read);
    }
    ends_unpack(packed, size - 1, 0, read, n); /* a part of it */
    for (size_t i = 0; i < n; i++)
        assert_true(read[i] <= ended[i]);
    ends_unpack(packed, size, 0, read, n + 9); /* there were fewer members when it was packed */
    for (size_t i = n; i < n + 9; i++)
        assert_int_equal(read[i], 0);
    free(packed);
}

static void attempts_take_as_many_bits_as_the_highest_has(void **state)
{
    pack_and_unpack((uint32_t[N]){0}, N, 1 + 2);
    pack_and_unpack((uint32_t[N]){1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1}, N, 1 + 2);
    pack_and_unpack((uint32_t[N]){1, 3, 0, 2, 0, 0, 0, 1, 1, 0, 3}, N, 1 + 2 * 2);
    pack_and_unpack((uint32_t[N]){1, 3, 0, 2, 0, 0, 0, 1, 1, 0, 300}, N, 1 + 9 * 2);
    pack_and_unpack((uint32_t[8]){UINT32_MAX, 0, 0, 0, 0, 0, 0, 1}, 8, 1 + 32);
    assert_false(ends_are_all((const unsigned char *)"", 0, 0));
    assert_false(ends_are_all((const unsigned char *)"\0", 2, 8));
    assert_false(ends_are_all((const unsigned char *)"\x21", 34, 8));
}

/* Writes what two ranks say of some members, and returns what both say, as digits. */
static const char *both(const char *first, size_t n_first, const char *second, size_t n_second, int64_t count)
{
    static char digits[64];
    char a[] = "/tmp/stretto-test-XXXXXX", b[] = "/tmp/stretto-test-XXXXXX", *paths[] = {a, b};
    uint32_t ended[24];
    struct whole whole;

    close(mkstemp(a));
    close(mkstemp(b));
    must(file_write_whole(a, first, n_first, 0600, &err));
    must(file_write_whole(b, second, n_second, 0600, &err));
    assert_int_equal(whole_read(&whole, paths, 2, count, &err), 1);
    assert_true(whole.size == 0 || whole.ends[whole.size - 1] != 0);
    ends_unpack(whole.ends, whole.size, 0, ended, (size_t)count);
    snprintf(digits, sizeof digits, "%d: ", (int)whole.members);
    for (int64_t i = 0; i < count; i++)
        snprintf(digits + strlen(digits), sizeof digits - strlen(digits), "%d", (int)ended[i]);
    free(whole.ends);
    unlink(a);
    assert_int_equal(whole_read(&whole, paths, 2, count, &err), 0); /* one is not there */
    unlink(b);
    return digits;
}

static void members_are_whole_where_all_ranks_say_so(void **state)
{
    char many[100] = "\x01\xff\xff";

    assert_string_equal(both("\x01\xff\x0f", 3, "\x01\xf0\xff", 3, 16), "8: 0000111111110000");
    /* there are no more members */
    assert_string_equal(both("\x01\xff\xff\xff", 4, "\x01\xff\xff\xff", 4, 11), "11: 11111111111");
    assert_string_equal(both("\x01\xff", 2, "\x01\xff\xff", 3, 16), "8: 1111111100000000"); /* a part of a file */
    assert_string_equal(both("\x01\x01", 2, "\x01\x02", 2, 8), "0: 00000000");
    assert_string_equal(both("\x01\x0f", 2, "\x02\x05\x06", 3, 8), "3: 11100000"); /* the earlier attempt */
    assert_string_equal(both("\x02\x03\x06", 3, "\x02\x05\x06", 3, 8), "3: 12200000");
    assert_string_equal(both("\x40\x0f", 2, "\x01\x0f", 2, 8), "0: 00000000"); /* this is nothing that a rank writes */
    assert_string_equal(both(many, sizeof many, "\x01\xff", 2, 8), "0: 00000000"); /* neither is this */
}

static int note_row(void *arg, const struct training_checkpoint_row *row)
{
    note("%d.%d %s; ", (int)row->training, (int)row->number, row->name);
    return 0;
}

static int64_t add_training(int64_t ensemble)
{
    struct training_row row = {.ensemble = ensemble, .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};

    must(store_training_insert(store, &row, &err));
    return row.id;
}

static void a_checkpoint_is_read_as_it_was_written(void **state)
{
    int64_t ensemble = add_ensemble(20), training = add_training(ensemble), other = add_training(add_ensemble(9));
    struct training_checkpoint_row row = {.training = training, .name = "g2-s5", .generation = 2, .step = 5, .batches = 6, .drawn = 7,
                                          .ranks = 8, .size = 9, .digest = "00112233445566ff", .time_ms = 10, .members = 3}, read;
    uint32_t ended[20];

    assert_int_equal(store_training_checkpoint_newest(store, training, &read, &err), 0);
    must(store_training_checkpoint_add(store, &row, (const unsigned char *)"\x02\x07\x01\x80", 4, &err));
    assert_int_equal(store_training_checkpoint_newest(store, training, &read, &err), 1);
    assert_true(read.number == 1 && read.generation == 2 && read.step == 5 && read.batches == 6 && read.drawn == 7 &&
                read.ranks == 8);
    assert_true(read.size == 9 && read.time_ms == 10 && read.members == 3 && read.training == training &&
                read.ensemble == ensemble);
    assert_string_equal(read.name, "g2-s5");
    assert_string_equal(read.digest, "00112233445566ff");
    assert_int_equal(store_training_checkpoint_ended(store, ensemble, 1, 0, ended, 20, &err), 1);
    assert_memory_equal(ended, ((uint32_t[20]){3, 1, 1, [15] = 1}), sizeof ended);
    assert_int_equal(store_training_checkpoint_ended(store, ensemble, 1, 13, ended, 3, &err), 1);
    assert_memory_equal(ended, ((uint32_t[3]){0, 0, 1}), 3 * sizeof *ended);
    assert_int_equal(store_training_checkpoint_ended(store, ensemble, 2, 0, ended, 20, &err), 0);

    snprintf(row.name, sizeof row.name, "g2-s6");
    must(store_training_checkpoint_add(store, &row, (const unsigned char *)"", 0, &err));
    row.training = other;
    must(store_training_checkpoint_add(store, &row, (const unsigned char *)"", 0, &err));
    must(store_training_checkpoint_each(store, 0, 0, 0, 9, note_row, NULL, &err));
    is_listed("1.1 g2-s5; 1.2 g2-s6; 2.1 g2-s6; ");
    must(store_training_checkpoint_each(store, 0, 1, 2, 9, note_row, NULL, &err));
    is_listed("1.2 g2-s6; 2.1 g2-s6; ");
    must(store_training_checkpoint_drop(store, training, 1, &err));
    must(store_training_checkpoint_each(store, training, 0, 0, 9, note_row, NULL, &err));
    is_listed("1.2 g2-s6; ");
    row.training = training;
    snprintf(row.name, sizeof row.name, "g2-s7");
    must(store_training_checkpoint_add(store, &row, (const unsigned char *)"", 0, &err));
    assert_int_equal(row.number, 3); /* numbers are not used again */
}

/* Of every third member an attempt has told its end, of some of them one before the last. Every fifth has not
 * succeeded. */
static uint32_t ended_of(int member)
{
    return member % 3 == 0 ? 1 + (uint32_t)member % 2 : 0;
}

static int64_t attempts_of(int member)
{
    return member % 9 == 3 ? 2 : 1;
}

static bool is_whole(int member)
{
    return ended_of(member) > 0 && ended_of(member) >= attempts_of(member);
}

static int64_t add_members(void)
{
    int64_t ensemble = add_ensemble(MEMBERS);
    struct training_checkpoint_row row = {.training = add_training(ensemble), .name = "g1-s1", .generation = 1, .ranks = 1, .digest = "00"};
    uint32_t ended[MEMBERS];
    unsigned char *ends;
    size_t size;

    for (int i = 0; i < MEMBERS; i++) {
        must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = i, .attempts = attempts_of(i),
                                                          .state = i % 5 == 0 ? MEMBER_FAILED : MEMBER_SUCCEEDED}, &err));
        ended[i] = ended_of(i);
    }
    ends = ends_pack(ended, MEMBERS, &size);
    must(store_training_checkpoint_add(store, &row, ends, size, &err));
    free(ends);
    return ensemble;
}

static void members_that_are_whole_stay_as_they_are(void **state)
{
    struct bulk bulk = {.kind = BULK_RESUBMIT, .ensemble = add_members(), .state = MEMBER_SUCCEEDED, .afresh = true, .checkpoint = 1};
    struct member_span span;
    struct member_row member;
    int pieces = 0;
    int64_t first = 0;

    while (store_bulk_piece(store, &bulk, 100, &span, &err) == 1) {
        assert_true(span.first <= span.last && !is_whole((int)span.first) && !is_whole((int)span.last));
        while (first % 5 == 0 || is_whole((int)first))
            first++;
        assert_int_equal(span.first, first);
        first = bulk.next;
        must(store_bulk_put(store, &bulk, &err));
        must(store_commit(store, &err));
        must(reopen_store()); /* the next daemon goes on with it */
        assert_int_equal(store_bulk_first(store, bulk.ensemble, &bulk, &err), 1);
        assert_int_equal(bulk.checkpoint, 1);
        pieces++;
    }
    assert_int_equal(pieces, MEMBERS * 4 / 5 / 100);
    for (int i = 0; i < MEMBERS; i++) {
        enum member_state wanted = i % 5 == 0 ? MEMBER_FAILED : is_whole(i) ? MEMBER_SUCCEEDED : MEMBER_PENDING;

        assert_int_equal(store_member_get(store, bulk.ensemble, i, &member, &err), 1);
        assert_int_equal(member.state, wanted);
        assert_int_equal(member.since, wanted == MEMBER_PENDING ? attempts_of(i) + 1 : 0);
    }
}

static void without_the_checkpoint_nobody_is_sent_back(void **state)
{
    struct bulk bulk = {.kind = BULK_RESUBMIT, .ensemble = add_members(), .state = MEMBER_SUCCEEDED, .afresh = true, .checkpoint = 2};

    assert_int_equal(store_bulk_piece(store, &bulk, 100, NULL, &err), -1);
    assert_string_equal(err.code, "store_damaged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_take_as_many_bits_as_the_highest_has),
        cmocka_unit_test(members_are_whole_where_all_ranks_say_so),
        cmocka_unit_test_setup_teardown(a_checkpoint_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(members_that_are_whole_stay_as_they_are, open_store, close_store),
        cmocka_unit_test_setup_teardown(without_the_checkpoint_nobody_is_sent_back, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

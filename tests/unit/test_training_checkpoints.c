/* Which members are whole in a checkpoint of a training, by the files of its ranks; its row; and who is sent back by it. */
#include "common/files.h"
#include "daemon/rundir/whole.h"
#include "daemon/store/chore.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/training.h"
#include "daemon/store/training_checkpoint.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMBERS 3000

/* Writes the bits of two ranks, and returns what both have as digits. */
static const char *both(const char *first, size_t n_first, const char *second, size_t n_second, int64_t count)
{
    static char digits[64];
    char a[] = "/tmp/stretto-test-XXXXXX", b[] = "/tmp/stretto-test-XXXXXX", *paths[] = {a, b};
    struct whole whole;

    close(mkstemp(a));
    close(mkstemp(b));
    must(file_write_whole(a, first, n_first, 0600, &err));
    must(file_write_whole(b, second, n_second, 0600, &err));
    assert_int_equal(whole_read(&whole, paths, 2, count, &err), 1);
    snprintf(digits, sizeof digits, "%d:", (int)whole.members);
    for (size_t i = 0; i < whole.size; i++)
        snprintf(digits + strlen(digits), sizeof digits - strlen(digits), " %02x", whole.bits[i]);
    free(whole.bits);
    unlink(a);
    assert_int_equal(whole_read(&whole, paths, 2, count, &err), 0); /* one is not there */
    unlink(b);
    return digits;
}

static void members_are_whole_where_all_ranks_say_so(void **state)
{
    assert_string_equal(both("\xff\x0f", 2, "\xf0\xff", 2, 16), "8: f0 0f");
    assert_string_equal(both("\xff\xff\xff", 3, "\xff\xff\xff", 3, 11), "11: ff 07"); /* there are no more members */
    assert_string_equal(both("\xff", 1, "\xff\xff", 2, 16), "8: ff");                 /* a part of a file */
    assert_string_equal(both("\x01", 1, "\x02", 1, 8), "0:");
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
    unsigned char bits[4];

    assert_int_equal(store_training_checkpoint_newest(store, training, &read, &err), 0);
    must(store_training_checkpoint_add(store, &row, (const unsigned char *)"\x07\x80", 2, &err));
    assert_int_equal(store_training_checkpoint_newest(store, training, &read, &err), 1);
    assert_true(read.number == 1 && read.generation == 2 && read.step == 5 && read.batches == 6 && read.drawn == 7 && read.ranks == 8);
    assert_true(read.size == 9 && read.time_ms == 10 && read.members == 3 && read.training == training && read.ensemble == ensemble);
    assert_string_equal(read.name, "g2-s5");
    assert_string_equal(read.digest, "00112233445566ff");
    assert_int_equal(store_training_checkpoint_whole(store, ensemble, 1, 0, bits, 4, &err), 1);
    assert_memory_equal(bits, "\x07\x80\0\0", 4);
    assert_int_equal(store_training_checkpoint_whole(store, ensemble, 1, 1, bits, 2, &err), 1);
    assert_memory_equal(bits, "\x80\0", 2);
    assert_int_equal(store_training_checkpoint_whole(store, ensemble, 2, 0, bits, 4, &err), 0);

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

/* Every third member is whole, and every fifth has not succeeded. */
static int64_t add_members(void)
{
    int64_t ensemble = add_ensemble(MEMBERS);
    struct training_checkpoint_row row = {.training = add_training(ensemble), .name = "g1-s1", .generation = 1, .ranks = 1, .digest = "00"};
    unsigned char whole[MEMBERS / 8 + 1] = {0};

    for (int i = 0; i < MEMBERS; i++) {
        must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = i, .attempts = 1,
                                                          .state = i % 5 == 0 ? MEMBER_FAILED : MEMBER_SUCCEEDED}, &err));
        if (i % 3 == 0)
            whole[i / 8] |= (unsigned char)(1 << i % 8);
    }
    must(store_training_checkpoint_add(store, &row, whole, sizeof whole, &err));
    return ensemble;
}

static void members_that_are_whole_stay_as_they_are(void **state)
{
    struct chore chore = {.kind = CHORE_RESUBMIT, .ensemble = add_members(), .state = MEMBER_SUCCEEDED, .afresh = true, .checkpoint = 1};
    struct member_span span;
    struct member_row member;
    int pieces = 0;

    while (store_chore_piece(store, &chore, 100, &span, &err) == 1) {
        assert_true(span.first <= span.last && span.first % 3 != 0 && span.last % 3 != 0);
        must(store_chore_put(store, &chore, &err));
        must(store_commit(store, &err));
        must(reopen_store()); /* the next daemon goes on with it */
        assert_int_equal(store_chore_first(store, chore.ensemble, &chore, &err), 1);
        assert_int_equal(chore.checkpoint, 1);
        pieces++;
    }
    assert_int_equal(pieces, MEMBERS * 4 / 5 / 100);
    for (int i = 0; i < MEMBERS; i++) {
        enum member_state wanted = i % 5 == 0 ? MEMBER_FAILED : i % 3 == 0 ? MEMBER_SUCCEEDED : MEMBER_PENDING;

        assert_int_equal(store_member_get(store, chore.ensemble, i, &member, &err), 1);
        assert_int_equal(member.state, wanted);
        assert_int_equal(member.since, wanted == MEMBER_PENDING ? 2 : 0);
    }
}

static void without_the_checkpoint_nobody_is_sent_back(void **state)
{
    struct chore chore = {.kind = CHORE_RESUBMIT, .ensemble = add_members(), .state = MEMBER_SUCCEEDED, .afresh = true, .checkpoint = 2};

    assert_int_equal(store_chore_piece(store, &chore, 100, NULL, &err), -1);
    assert_string_equal(err.code, "store_damaged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_whole_where_all_ranks_say_so),
        cmocka_unit_test_setup_teardown(a_checkpoint_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(members_that_are_whole_stay_as_they_are, open_store, close_store),
        cmocka_unit_test_setup_teardown(without_the_checkpoint_nobody_is_sent_back, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* How long reception waits for a checkpoint. */
#include "tasks/train/patience.h"

#include "common/files.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 1000 /* more looks than any decision takes */

static struct train_config config;

static struct patience *begin(int ranks)
{
    struct patience *p;

    config = (struct train_config){.ranks = ranks, .rank = 0, .buffer = {.capacity = 50, .batch = 5}};
    p = patience_create(&config);
    assert_non_null(p);
    return p;
}

/* Looks again and again; the other ranks report once between two looks. Returns after how many looks it gives up; -1 if
 * it does not. */
static int looks(struct patience *p, struct patience_own own, struct patience_other other, bool reports)
{
    struct patience_other others[2] = {{0}, other};

    for (int i = 0; i < MANY; i++) {
        others[1].time += reports;
        if (patience_look(p, &own, others) != NULL)
            return i;
    }
    return -1;
}

static void one_rank_waits_while_its_program_goes_on(void **state)
{
    struct patience *p = begin(1);

    assert_int_equal(looks(p, (struct patience_own){0}, (struct patience_other){0}, false), -1);
    assert_int_equal(looks(p, (struct patience_own){.saving = true, .starved = true}, (struct patience_other){0}, false), -1);
    assert_true(looks(p, (struct patience_own){.starved = true}, (struct patience_other){0}, false) > 0);
    patience_destroy(p);
}

static void a_program_that_is_given_samples_meanwhile_is_not_starved(void **state)
{
    struct patience *p = begin(1);
    struct patience_own own = {0};

    for (int i = 0; i < MANY; i++) {
        own.starved = !own.starved;
        assert_null(patience_look(p, &own, NULL));
    }
    patience_destroy(p);
}

static void a_program_that_never_saves_is_not_waited_for(void **state)
{
    struct patience *p = begin(1);
    struct patience_own own = {.batches = 500};

    assert_null(patience_look(p, &own, NULL));
    own.batches += 120; /* a hundred, and two buffers */
    assert_null(patience_look(p, &own, NULL));
    own.batches++;
    assert_non_null(patience_look(p, &own, NULL));
    patience_rest(p);
    assert_null(patience_look(p, &own, NULL)); /* the next time is counted anew */
    patience_destroy(p);
}

static void a_program_that_has_saved_between_two_looks_is_waited_for(void **state)
{
    struct patience *p = begin(1);
    struct patience_own own = {.batches = 500};

    for (int i = 0; i < MANY; i++, own.saves++, own.batches += 1000)
        assert_null(patience_look(p, &own, NULL));
    patience_destroy(p);
}

static void another_rank_that_starves_ends_it(void **state)
{
    struct patience *p = begin(2);

    assert_int_equal(looks(p, (struct patience_own){0}, (struct patience_other){.time = 9}, true), -1);
    assert_int_equal(looks(p, (struct patience_own){0}, (struct patience_other){.time = 9, .starved = true, .saving = true}, true),
                     -1);
    assert_true(looks(p, (struct patience_own){0}, (struct patience_other){.time = 9, .starved = true}, true) > 0);
    patience_destroy(p);
}

static void only_what_ranks_report_meanwhile_counts(void **state)
{
    struct patience *p = begin(2);

    assert_int_equal(looks(p, (struct patience_own){0}, (struct patience_other){.time = 9, .starved = true}, false), -1);
    assert_int_equal(looks(p, (struct patience_own){.starved = true}, (struct patience_other){.time = 9}, false), -1);
    assert_true(looks(p, (struct patience_own){.starved = true}, (struct patience_other){.time = 9}, true) >= 0);
    patience_destroy(p);
}

static void a_part_that_does_not_come_ends_it(void **state)
{
    struct patience *p = begin(2);

    assert_int_equal(looks(p, (struct patience_own){.pending = true}, (struct patience_other){.time = 9, .saving = true}, true), -1);
    assert_true(looks(p, (struct patience_own){.pending = true}, (struct patience_other){.time = 9}, true) > 0);
    patience_rest(p);
    assert_true(looks(p, (struct patience_own){0}, (struct patience_other){.done = true}, false) >= 0);
    patience_destroy(p);
}

/* Rank 0 has reported before the last part was there that it saves nothing, and adds the checkpoint to the list now. */
static void reports_from_before_the_last_part_do_not_count(void **state)
{
    struct patience *p = begin(2);
    struct patience_own own = {.pending = true};
    struct patience_other others[2] = {{0}, {.time = 9}};

    assert_null(patience_look(p, &own, others));
    others[1].time = 10;
    own.written = true;
    assert_null(patience_look(p, &own, others));
    others[1].time = 11, others[1].saving = true;
    assert_null(patience_look(p, &own, others));
    others[1].saving = false;
    assert_null(patience_look(p, &own, others));
    others[1].time = 12; /* it could not add it */
    assert_non_null(patience_look(p, &own, others));
    patience_destroy(p);
}

/* Looks again and again, as rank 1 of three; those report that are told to. */
static bool gives_up(struct patience_other first, bool first_reports, struct patience_other last, bool last_reports)
{
    struct patience_other others[3] = {first, {.saving = true, .done = true, .starved = true, .time = 1}, last};
    struct patience *p = begin(3);
    bool gave_up = false;

    config.rank = 1;
    for (int i = 0; i < MANY && !gave_up; i++) {
        gave_up = patience_look(p, &(struct patience_own){0}, others) != NULL;
        others[0].time += first_reports;
        others[2].time += last_reports;
    }
    patience_destroy(p);
    return gave_up;
}

static void all_other_ranks_count(void **state)
{
    const struct patience_other goes_on = {.time = 9}, starves = {.time = 9, .starved = true}, saves = {.time = 9, .saving = true},
                                done = {.time = 9, .done = true};

    assert_false(gives_up(goes_on, true, goes_on, true));
    assert_true(gives_up(starves, true, goes_on, true) && gives_up(goes_on, true, starves, true));
    assert_true(gives_up(done, false, goes_on, true) && gives_up(goes_on, true, done, false) &&
                gives_up(done, false, starves, true));
    /* one is not known yet */
    assert_false(gives_up(starves, true, goes_on, false) || gives_up(goes_on, false, starves, true));
    assert_false(gives_up(starves, false, goes_on, true) || gives_up(done, false, goes_on, false));
    assert_false(gives_up(starves, true, saves, true) || gives_up(saves, true, starves, true));
    assert_false(gives_up(done, true, saves, false) || gives_up(saves, false, done, true));
}

static void reports_are_read(void **state)
{
    char dir[] = "/tmp/stretto-patience-XXXXXX", path[80];
    struct patience_other others[3];
    struct error err;
    json_t *status = json_pack("{s:f, s:b, s:b}", "time", 12.5, "starved", 1, "saving", 0);

    assert_non_null(mkdtemp(dir));
    config = (struct train_config){.ranks = 3, .rank = 1, .dir = dir};
    snprintf(path, sizeof path, "%s/status-rank0.json", dir);
    assert_int_equal(file_write_json(path, status, 0600, &err), 0);
    json_decref(status);
    patience_read(&config, others);
    assert_true(others[0].time == 12.5 && others[0].starved && !others[0].saving && !others[0].done);
    assert_true(others[2].time == 0 && !others[2].starved && !others[2].done);
    unlink(path);
    snprintf(path, sizeof path, "%s/done-rank2.json", dir);
    assert_int_equal(file_write_whole(path, "{}", 2, 0600, &err), 0);
    patience_read(&config, others);
    assert_true(others[2].done);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_waits_while_its_program_goes_on),
        cmocka_unit_test(a_program_that_is_given_samples_meanwhile_is_not_starved),
        cmocka_unit_test(a_program_that_never_saves_is_not_waited_for),
        cmocka_unit_test(a_program_that_has_saved_between_two_looks_is_waited_for),
        cmocka_unit_test(another_rank_that_starves_ends_it),
        cmocka_unit_test(only_what_ranks_report_meanwhile_counts),
        cmocka_unit_test(a_part_that_does_not_come_ends_it),
        cmocka_unit_test(reports_from_before_the_last_part_do_not_count),
        cmocka_unit_test(all_other_ranks_count),
        cmocka_unit_test(reports_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

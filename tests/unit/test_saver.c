/* Checkpoints that a rank saves, and a rank that goes on from one: which samples it gets again, and which never. */
#include "common/files.h"
#include "tasks/proto/kept.h"
#include "tasks/train/config.h"
#include "tasks/train/cut.h"
#include "tasks/train/resume.h"
#include "tasks/train/saved.h"
#include "tasks/train/state.h"
#include "tests/unit/saver_handover.h"
#include "tests/unit/saver_rig.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void what_was_drawn_before_the_checkpoint_never_comes_again_and_all_else_does(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct cut cut;
    struct error err;
    char from[100];
    int first[2 * STEPS] = {0}, lost[2 * STEPS] = {0}, second[2 * STEPS] = {0};

    set_up(&fx, 1, 2, 2, 0);
    t = fixture_rank(0);
    assert_null(stretto_train_resume(t));
    assert_int_equal(stretto_train_resume_step(t), -1);
    assert_int_equal(stretto_train_resume_ranks(t), 0);
    send_steps(&fx, 0, 1, 0, STEPS);
    send_steps(&fx, 1, 1, 0, STEPS);
    for (int batch = 0; batch < 5; batch++) /* all of member 0, and 5 of member 1 */
        assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, first), 5);
    save(t, 5, "weights", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s5 ");
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, lost), 5);
    stretto_train_close(t);

    snprintf(from, sizeof from, "%s/g1-s5", dir);
    assert_int_equal(cut_read(&cut, from, 0, 2, &err), 0);
    assert_int_equal(cut.drawn, 25);
    assert_int_equal(cut.ended[0], 1);
    assert_int_equal(cut.ended[1], 0);
    cut_fini(&cut);

    begin_anew(&fx, 2, "g1-s5", 5);
    t = fixture_rank(0);
    snprintf(from, sizeof from, "%s/g1-s5/state-rank0", dir);
    assert_string_equal(stretto_train_resume(t), from);
    assert_int_equal(stretto_train_resume_step(t), 5);
    assert_int_equal(stretto_train_resume_ranks(t), 1);
    assert_int_equal(fixture_stats(t).drawn, 25);
    assert_int_equal(fixture_stats(t).unique, 25);
    assert_int_equal(fixture_stats(t).batches, 5);
    assert_int_equal(fixture_stats(t).finalized, 1);
    send_steps(&fx, 1, 2, 0, STEPS); /* the member that was not whole, and no other */
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, second);
    for (int i = 0; i < 2 * STEPS; i++)
        assert_int_equal(first[i] + second[i], 1);
    assert_int_equal(fixture_stats(t).unique, 2 * STEPS);
    assert_int_equal(fixture_stats(t).duplicates, 0);
    assert_int_equal(fixture_stats(t).skipped, 5);
    assert_int_equal(fixture_stats(t).drawn, 2 * STEPS);
    assert_int_equal(fixture_stats(t).batches, 8);
    assert_int_equal(stretto_train_done(t), 0);
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_member_is_whole_once_its_end_has_come_and_all_of_it_was_drawn(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct cut cut;
    struct error err;
    char from[100];
    int times[3 * STEPS] = {0};
    struct stretto *s;

    set_up(&fx, 1, 3, 2, 0);
    t = fixture_rank(0);
    s = fixture_member(0, 1); /* its end does not come */
    for (int step = 0; step < 5; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    wait_for_samples(t, 5);
    send_steps(&fx, 1, 1, 0, 5);
    send_steps(&fx, 2, 1, 0, 5);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    save(t, 1, "a", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s1 ");
    snprintf(from, sizeof from, "%s/g1-s1", dir);
    assert_int_equal(cut_read(&cut, from, 0, 3, &err), 0);
    assert_false(cut_is_whole(&cut, 0)); /* it may send more */
    assert_true(cut_is_whole(&cut, 1));
    assert_false(cut_is_whole(&cut, 2)); /* its samples are still in the buffer */
    cut_fini(&cut);
    stretto_abort(s);
    stretto_train_close(t);
    tear_down(&fx);
}

static void only_the_newest_are_kept(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    char path[100];

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    for (int step = 1; step <= 4; step++)
        save(t, step, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s4 g1-s3 ");
    stretto_train_close(t);
    snprintf(path, sizeof path, "%s/g1-s2", dir);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/g1-s3/state-rank0", dir);
    assert_int_equal(access(path, F_OK), 0);
    begin_anew(&fx, 2, "g1-s3", 3); /* a user did not want the newest */
    t = fixture_rank(0);
    save(t, 3, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s3 g1-s3 ");
    save(t, 4, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s4 g2-s3 ");
    snprintf(path, sizeof path, "%s/g1-s4", dir);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/g1-s3/state-rank0", dir);
    assert_int_equal(access(path, F_OK), 0); /* it may still be read */
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_checkpoint_counts_once_the_parts_of_all_ranks_are_there(void **state)
{
    struct fixture fx;
    struct stretto_train *t0, *t1;
    char path[100];

    set_up(&fx, 2, 1, 2, 0);
    t0 = fixture_rank(0);
    t1 = fixture_rank(1);
    save(t0, 1, "zero", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t0, 2, "zero", STRETTO_TRAIN_CHECKPOINT_DUE); /* so the part of step 1 is written */
    assert_true(lists(""));
    save(t1, 2, NULL, STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s2 ");
    assert_int_equal(stretto_train_done(t1), 0);
    save(t0, 3, "zero", STRETTO_TRAIN_CHECKPOINT_DUE); /* rank 1 has finished without it */
    assert_int_equal(stretto_train_done(t0), 0);
    assert_true(lists("g1-s2 "));
    stretto_train_close(t0);
    stretto_train_close(t1);

    begin_anew(&fx, 2, "g1-s2", 2);
    t1 = fixture_rank(1);
    snprintf(path, sizeof path, "%s/g1-s2/state-rank0", dir);
    assert_string_equal(stretto_train_resume(t1), path); /* it had saved nothing of its own */
    stretto_train_close(t1);
    tear_down(&fx);
}

static void a_damaged_checkpoint_is_not_taken_and_leaves_the_list(void **state)
{
    static const char *const files[] = {"state-rank0", "stream-rank0.bin"};
    struct fixture fx;
    struct stretto_train *t;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        set_up(&fx, 1, 1, 2, 0);
        t = fixture_rank(0);
        save(t, 1, "older", STRETTO_TRAIN_CHECKPOINT_DUE);
        save(t, 2, "newer", STRETTO_TRAIN_CHECKPOINT_DUE);
        WAIT_FOR_LIST("g1-s2 g1-s1 ");
        stretto_train_close(t);
        damage("g1-s2", files[i]);
        begin_anew(&fx, 2, "g1-s2", 2);
        assert_int_equal(stretto_train_open(&t), -1);
        assert_non_null(strstr(stretto_train_error(t), "damaged"));
        assert_non_null(strstr(stretto_train_error(t), files[i]));
        stretto_train_close(t);
        assert_true(lists("g1-s1 "));
        begin_anew(&fx, 3, "g1-s1", 1);
        t = fixture_rank(0);
        stretto_train_close(t);
        tear_down(&fx);
    }
}

static void names_of_checkpoints_have_an_order(void **state)
{
    static const char *const names[] = {"g1-s2",   "g1-s2-b", "g1-s10",  "g1-s10-b", "g1.1-s3", "g1.1-s3-b",
                                        "g1.2-s1", "g2-s1",   "g2-s1-b", "g9-s1",    "g10-s1",  "g10.1-s0"};
    static const char *const others[] = {"", "g1", "g1-s", "s1", "g1-s1-c", "g1-s1.tmp", "g1-s1-b-b", "x"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            assert_int_equal(saved_is_older(names[i], names[j]), i < j);
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            assert_false(saved_is_older(others[j], names[i]) || saved_is_older(names[i], others[j]));
    }
}

/* A checkpoint is taken out of the list for what is wrong with it, and for nothing else, such as memory that is
 * short. */
static void only_a_damaged_checkpoint_leaves_the_list(void **state)
{
    struct train_config config;
    struct fixture fx;
    struct stretto_train *t;
    struct error err;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    save(t, 1, "older", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, 2, "newer", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s2 g1-s1 ");
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s2", 2);
    assert_int_equal(train_config_read(&config, &err), 0);
    error_set(&err, "train_memory", "no memory for it");
    resume_give_up(&config, &err);
    assert_true(lists("g1-s2 g1-s1 "));
    error_set(&err, "train_resume", "it is damaged");
    resume_give_up(&config, &err);
    assert_true(lists("g1-s1 "));
    train_config_fini(&config);
    tear_down(&fx);
}

static int count_lines(const char *path)
{
    FILE *file = fopen(path, "re");
    int n = 0, c;

    assert_non_null(file);
    while ((c = fgetc(file)) != EOF)
        n += c == '\n';
    fclose(file);
    return n;
}

static int count_entries(const char *path)
{
    DIR *list = opendir(path);
    int n = 0;

    assert_non_null(list);
    while (readdir(list) != NULL)
        n++;
    closedir(list);
    return n;
}

/* The kernel may list a thread for a moment longer than it runs. */
static int has_no_more_threads(void *arg)
{
    return count_entries("/proc/self/task") <= *(int *)arg;
}

/* A program may open trainings one after the other: no descriptor, thread or mapping stays, whatever the rank had. */
static void a_rank_that_is_closed_leaves_nothing(void **state)
{
    int descriptors = 0, threads = 0, mappings = 0, memory = make_memory();
    struct fixture fx;
    struct stretto_train *t;
    char restart[16];

    set_up(&fx, 1, 1, 2, 0);
    for (int i = 0; i < 33; i++) {
        snprintf(restart, sizeof restart, "%d", i);
        setenv("STRETTO_RESTART", restart, 1);
        t = fixture_rank(0);
        if (i == 0)
            send_steps(&fx, 0, 1, 0, 5);
        save(t, 1 + i, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
        stretto_train_close(t);
        if (i == 2) { /* what libraries keep is there by now */
            descriptors = count_entries("/proc/self/fd");
            threads = count_entries("/proc/self/task");
            mappings = count_lines("/proc/self/maps");
        }
    }
    assert_int_equal(count_entries("/proc/self/fd"), descriptors);
    assert_true(fixture_wait(has_no_more_threads, &threads, LIMIT_MS));
    assert_in_range(count_lines("/proc/self/maps"), 0, mappings + 20); /* the heap may have grown, but not each time */
    unsetenv("STRETTO_KEPT");
    unsetenv("STRETTO_RESTART");
    close(memory);
    tear_down(&fx);
}

static void the_last_one_ends_the_batches_and_the_training_is_unfinished(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct error err;
    char *done;
    size_t size;
    int times[STEPS] = {0};

    set_up(&fx, 1, 1, 2, 0);
    configure(&fx, "checkpoint", json_pack("{s:s, s:f}", "dir", dir, "before", 60.0));
    setenv("STRETTO_DEADLINE", "1", 1); /* long ago */
    t = fixture_rank(0);
    unsetenv("STRETTO_DEADLINE");
    send_steps(&fx, 0, 1, 0, STEPS);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    assert_int_equal(stretto_train_checkpoint_due(t), STRETTO_TRAIN_CHECKPOINT_LAST);
    save(t, 1, "state", stretto_train_checkpoint_due(t));
    assert_true(lists("g1-s1 ")); /* it was waited for */
    assert_int_equal(stretto_train_checkpoint_due(t), 0);
    assert_int_equal(stretto_train_unfinished(t), 1);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), STRETTO_TRAIN_END);
    assert_int_equal(stretto_train_done(t), 0);
    assert_int_equal(file_read(fixture_path(&fx, "done-rank0.json"), 100000, &done, &size, &err), 0);
    assert_non_null(strstr(done, "\"state\":\"unfinished\""));
    free(done);
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_last_one_that_cannot_be_written_is_reported(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    const char *path;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    path = stretto_train_checkpoint_begin(t, 1);
    assert_non_null(path);
    assert_int_equal(symlink("/nowhere", path), 0); /* neither a file nor a directory */
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_LAST), -1);
    assert_non_null(strstr(stretto_train_error(t), path));
    assert_int_equal(stretto_train_unfinished(t), 0);
    path = stretto_train_checkpoint_begin(t, 2);
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_LAST), -1); /* nothing at all was saved */
    assert_true(lists(""));
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_state_that_could_not_be_saved_leaves_nothing_and_may_be_tried_again(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    char path[100];
    const char *given;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    given = stretto_train_checkpoint_begin(t, 7);
    assert_non_null(given);
    snprintf(path, sizeof path, "%s", given);
    assert_int_equal(write_state(path, "half"), 0);
    assert_int_equal(stretto_train_checkpoint_end(t, 0), 0);
    assert_int_equal(access(path, F_OK), -1);
    save(t, 7, "whole", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s7 ");
    stretto_train_close(t);
    tear_down(&fx);
}

static void nothing_learnt_since_the_one_before_is_no_hindrance(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    save(t, 7, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, 7, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
    assert_true(lists("g1-s7-b g1-s7 "));
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s7-b", 7);
    t = fixture_rank(0);
    save(t, 8, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s8 g1-s7-b ");
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_step_that_does_not_grow_gets_the_next_number(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    save(t, 7, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, 3, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s8 g1-s7 ");
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s8", 8); /* the program counts from 0 again */
    t = fixture_rank(0);
    save(t, 1, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, -5, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s10 g2-s9 ");
    stretto_train_close(t);
    tear_down(&fx);
}

static int is_due(void *arg)
{
    return stretto_train_checkpoint_due(arg) == STRETTO_TRAIN_CHECKPOINT_DUE;
}

static void one_is_due_by_time_and_the_last_by_the_signal(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    set_up(&fx, 1, 1, 2, 0.05);
    setenv("STRETTO_CHECKPOINT_SIGNAL", "10", 1); /* SIGUSR1 */
    t = fixture_rank(0);
    assert_true(fixture_wait(is_due, t, LIMIT_MS));
    raise(SIGUSR1);
    assert_int_equal(stretto_train_checkpoint_due(t), STRETTO_TRAIN_CHECKPOINT_LAST);
    stretto_train_close(t);
    tear_down(&fx);
}

static void a_directory_is_a_state_too(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    const char *path;
    char file[200];

    set_up(&fx, 1, 1, 2, 0);
    t = fixture_rank(0);
    path = stretto_train_checkpoint_begin(t, 1);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/shard%d", path, i);
        assert_int_equal(write_state(file, "weights"), 0);
    }
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_DUE), 0);
    WAIT_FOR_LIST("g1-s1 ");
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s1", 1);
    t = fixture_rank(0);
    assert_non_null(stretto_train_resume(t));
    stretto_train_close(t);
    damage("g1-s1", "state-rank0/shard1");
    begin_anew(&fx, 3, "g1-s1", 1);
    assert_int_equal(stretto_train_open(&t), -1);
    stretto_train_close(t);
    tear_down(&fx);
}

/* A process that ended while the program wrote its state leaves nothing to the next one. */
static void a_state_that_is_begun_anew_begins_empty(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    const char *path;
    char file[200];

    set_up(&fx, 1, 1, 2, 0);
    for (int i = 0; i < 3; i++) {
        t = fixture_rank(0);
        path = stretto_train_checkpoint_begin(t, 1);
        assert_non_null(path);
        assert_int_equal(access(path, F_OK), -1);
        if (i == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        snprintf(file, sizeof file, "%s%s", path, i == 1 ? "/shard" : "");
        assert_int_equal(write_state(file, "half"), 0);
        if (i < 2)
            stretto_train_close(t);
    }
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_DUE), 0);
    WAIT_FOR_LIST("g1-s1 ");
    stretto_train_close(t);
    tear_down(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_drawn_before_the_checkpoint_never_comes_again_and_all_else_does),
        cmocka_unit_test(a_member_is_whole_once_its_end_has_come_and_all_of_it_was_drawn),
        cmocka_unit_test(only_the_newest_are_kept),
        cmocka_unit_test(a_checkpoint_counts_once_the_parts_of_all_ranks_are_there),
        cmocka_unit_test(a_damaged_checkpoint_is_not_taken_and_leaves_the_list),
        cmocka_unit_test(names_of_checkpoints_have_an_order),
        cmocka_unit_test(only_a_damaged_checkpoint_leaves_the_list),
        cmocka_unit_test(a_rank_that_is_closed_leaves_nothing),
        cmocka_unit_test(the_last_one_ends_the_batches_and_the_training_is_unfinished),
        cmocka_unit_test(what_was_not_drawn_is_handed_over),
        cmocka_unit_test(another_number_of_ranks_shares_it_out),
        cmocka_unit_test(a_checkpoint_tells_which_attempt_had_told_its_end),
        cmocka_unit_test(what_was_told_before_the_checkpoint_outlives_the_next_process),
        cmocka_unit_test(what_a_reservoir_may_draw_again_outlives_its_process),
        cmocka_unit_test(more_than_has_room_waits_its_turn),
        cmocka_unit_test(what_waited_its_turn_is_handed_over_again),
        cmocka_unit_test(a_damaged_handover_is_not_taken),
        cmocka_unit_test(samples_of_another_spec_are_not_taken),
        cmocka_unit_test(a_last_one_that_cannot_be_written_is_reported),
        cmocka_unit_test(a_state_that_could_not_be_saved_leaves_nothing_and_may_be_tried_again),
        cmocka_unit_test(nothing_learnt_since_the_one_before_is_no_hindrance),
        cmocka_unit_test(a_step_that_does_not_grow_gets_the_next_number),
        cmocka_unit_test(a_directory_is_a_state_too),
        cmocka_unit_test(a_state_that_is_begun_anew_begins_empty),
        cmocka_unit_test(half_a_sample_is_handed_over_again_and_again),
        cmocka_unit_test(one_is_due_by_time_and_the_last_by_the_signal),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

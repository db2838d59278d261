/* The files that a rank leaves to those that go on from its checkpoint, of another number perhaps, or with another
 * buffer. */
#include "tests/unit/saver_handover.h"

#include "common/files.h"
#include "tasks/proto/kept.h"
#include "tasks/train/cut.h"
#include "tests/unit/saver_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Starts the only rank of a training that keeps so many checkpoints, and sends it all steps of its members. */
static struct stretto_train *rank_with_samples(struct fixture *fx, int members, int keep)
{
    struct stretto_train *t;

    set_up(fx, 1, members, keep, 0);
    t = fixture_rank(0);
    for (int member = 0; member < members; member++)
        send_steps(fx, member, 1, 0, STEPS);
    return t;
}

/* A generation ends as planned with `before` ranks, having drawn a batch on each; the next one has `after` ranks,
 * and this buffer unless NULL, and gets what was not drawn without anybody sending it again. A Reservoir gets what
 * was drawn, too, since it may draw it again. */
static void hand_over(int before, int after, const char *buffer)
{
    struct fixture fx;
    struct stretto_train *t[3];
    bool keeps = buffer != NULL && strstr(buffer, "reservoir") != NULL;
    uint64_t drawn = 0, received = 0, repeats = 0;
    int first[2 * STEPS] = {0}, second[2 * STEPS] = {0}, draws = 0;

    set_up(&fx, before, 2, 2, 0);
    if (keeps)
        configure(&fx, "buffer", json_loads(buffer, 0, NULL));
    for (int rank = 0; rank < before; rank++)
        t[rank] = fixture_rank(rank);
    send_steps(&fx, 0, 1, 0, STEPS);
    send_steps(&fx, 1, 1, 0, STEPS);
    for (int rank = 0; rank < before; rank++)
        assert_int_equal(fixture_draw(&fx, t[rank], LIMIT_MS, STEPS, first), 5);
    for (int rank = before - 1; rank >= 0; rank--) { /* rank 0 waits for the parts of the others */
        save(t[rank], 1, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
        assert_int_equal(stretto_train_done(t[rank]), 0);
        stretto_train_close(t[rank]);
    }
    begin_anew(&fx, 2, "g1-s1", 1);
    configure(&fx, "ranks", json_integer(after));
    if (buffer != NULL)
        configure(&fx, "buffer", json_loads(buffer, 0, NULL));
    fixture_over(&fx);
    for (int rank = 0; rank < after; rank++)
        t[rank] = fixture_rank(rank);
    for (int rank = 0; rank < after; rank++) {
        fixture_draw_all(&fx, t[rank], STEPS, second);
        drawn += fixture_stats(t[rank]).drawn;
        received += fixture_stats(t[rank]).received;
        repeats += fixture_stats(t[rank]).repeats;
        assert_int_equal(fixture_stats(t[rank]).finalized, 2);
    }
    for (int i = 0; i < 2 * STEPS; i++) {
        if (first[i] != 0 && !keeps ? second[i] != 0 : second[i] == 0)
            fail_msg("sample %d was drawn %d times by the first generation, %d by the second", i, first[i], second[i]);
        draws += first[i] + second[i];
    }
    assert_int_equal(drawn, 2 * STEPS);
    assert_int_equal(repeats, (uint64_t)draws - drawn);
    assert_int_equal(received, 2 * STEPS);
    for (int rank = 0; rank < after; rank++)
        stretto_train_close(t[rank]);
    tear_down(&fx);
}

void what_was_not_drawn_is_handed_over(void **state)
{
    hand_over(1, 1, NULL);
    hand_over(1, 1, RESERVOIR(100, 5, 5));
    hand_over(2, 2, NULL);
}

void another_number_of_ranks_shares_it_out(void **state)
{
    hand_over(1, 2, NULL);
    hand_over(2, 1, NULL);
    hand_over(2, 3, RESERVOIR(100, 5, 5));
    hand_over(3, 2, NULL);
}

/* A rank is killed after a checkpoint and a batch more. What it had drawn before the checkpoint may be drawn again
 * by its next process, which has a buffer of that capacity, beside what is not learnt; if there is place. */
static void dies(int capacity)
{
    struct fixture fx;
    struct stretto_train *t;
    struct stretto_train_stats stats;
    char from[100];
    struct error err;
    struct cut cut;
    int first[STEPS] = {0}, lost[STEPS] = {0}, second[STEPS] = {0}, draws = 0, memory = make_memory();
    uint64_t again = 0;

    set_up(&fx, 1, 1, 2, 0);
    configure(&fx, "buffer", json_loads(RESERVOIR(100, 5, 5), 0, NULL));
    t = fixture_rank(0);
    send_steps(&fx, 0, 1, 0, STEPS);
    wait_for_samples(t, STEPS);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, first), 5);
    save(t, 1, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s1 ");
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, lost), 5);
    stretto_train_close(t);

    snprintf(from, sizeof from, "%s/g1-s1", dir);
    assert_int_equal(cut_read(&cut, from, 0, 1, &err), 0);
    setenv("STRETTO_RESTART", "1", 1);
    configure(&fx, "buffer", json_pack("{s:s, s:i, s:i, s:i, s:i}", "policy", "reservoir", "capacity", capacity,
                                       "threshold", 5, "batch", 5, "seed", 7));
    fixture_over(&fx);
    t = fixture_rank(0);
    fixture_draw_all(&fx, t, STEPS, second);
    stats = fixture_stats(t);
    for (int i = 0; i < STEPS; i++) {
        assert_true(second[i] > 0 || first[i] > 0);
        again += second[i] > 0 && first[i] > 0;
        draws += first[i] + second[i];
    }
    assert_int_equal(again, capacity >= STEPS ? cut.drawn : 0);
    assert_int_equal(stats.drawn, STEPS);
    assert_int_equal(stats.repeats, draws - STEPS);
    cut_fini(&cut);
    stretto_train_close(t);
    unsetenv("STRETTO_RESTART");
    unsetenv("STRETTO_KEPT");
    unsetenv("STRETTO_TASK");
    close(memory);
    tear_down(&fx);
}

void what_a_reservoir_may_draw_again_outlives_its_process(void **state)
{
    dies(100);
    dies(10);
}

/* The buffer of one rank has room for less than two have handed over. */
void more_than_has_room_waits_its_turn(void **state)
{
    hand_over(2, 1, "{\"policy\": \"fifo\", \"capacity\": 15, \"threshold\": 0, \"batch\": 5, \"seed\": 7}");
}

void what_waited_its_turn_is_handed_over_again(void **state)
{
    static const char small[] = "{\"policy\": \"fifo\", \"capacity\": 5, \"threshold\": 0, \"batch\": 5, \"seed\": 7}";
    struct fixture fx;
    struct stretto_train *t;
    int times[2 * STEPS] = {0};

    t = rank_with_samples(&fx, 2, 1);
    save(t, 11, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
    stretto_train_close(t);
    for (int generation = 2; generation <= 4; generation++) {
        char name[40];

        snprintf(name, sizeof name, "g%d-s%d", generation - 1, 10 * (generation - 1) + 1);
        begin_anew(&fx, generation, name, 10 * (generation - 1) + 1);
        configure(&fx, "buffer", json_loads(small, 0, NULL));
        t = fixture_rank(0);
        assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
        save(t, 10 * generation, "state", STRETTO_TRAIN_CHECKPOINT_DUE); /* the only one that is kept */
        snprintf(name, sizeof name, "g%d-s%d ", generation, 10 * generation);
        WAIT_FOR_LIST(name);
        save(t, 10 * generation + 1, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
        stretto_train_close(t);
    }
    begin_anew(&fx, 5, "g4-s41", 41);
    fixture_over(&fx);
    t = fixture_rank(0);
    fixture_draw_all(&fx, t, STEPS, times);
    for (int i = 0; i < 2 * STEPS; i++)
        assert_int_equal(times[i], 1);
    stretto_train_close(t);
    for (int generation = 3; generation <= 5; generation++) {
        char name[40];

        snprintf(name, sizeof name, "g%d-rank0.json", generation);
        unlink(fixture_path(&fx, name));
    }
    tear_down(&fx);
}

void a_damaged_handover_is_not_taken(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    t = rank_with_samples(&fx, 1, 2);
    save(t, 1, "older", STRETTO_TRAIN_CHECKPOINT_DUE);
    save(t, 2, "newer", STRETTO_TRAIN_CHECKPOINT_LAST);
    assert_true(lists("g1-s2 g1-s1 "));
    stretto_train_close(t);
    damage("g1-s2", "buffer-rank0.bin");
    begin_anew(&fx, 2, "g1-s2", 2);
    assert_int_equal(stretto_train_open(&t), -1);
    assert_non_null(strstr(stretto_train_error(t), "buffer-rank0.bin"));
    stretto_train_close(t);
    assert_true(lists("g1-s1 "));
    tear_down(&fx);
}

void samples_of_another_spec_are_not_taken(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    t = rank_with_samples(&fx, 1, 2);
    save(t, 1, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
    stretto_train_close(t);
    begin_anew(&fx, 2, "g1-s1", 1);
    configure(&fx, "parameters", json_pack("[s]", "a"));
    assert_int_equal(stretto_train_open(&t), -1);
    assert_string_equal(stretto_train_error_code(t), "train_resume");
    stretto_train_close(t);
    tear_down(&fx);
}

/* The first field of a step has come, and the rank ends twice before the second one does: the step is whole all the
 * same. */
void half_a_sample_is_handed_over_again_and_again(void **state)
{
    int64_t shape[] = {4}, n = 0;
    double u[] = {0, 1, 2, 3};
    int times[STEPS] = {0};
    struct stretto *s;
    struct fixture fx;
    struct stretto_train *t;
    char name[40];

    fixture_init_ranks(&fx, 1, 4, 1, 1, FIFO);
    unit_dir_make(dir);
    configure(&fx, "checkpoint", json_pack("{s:s, s:i, s:f}", "dir", dir, "keep", 2, "every", 0.0));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), 0, &n), 0);
    assert_int_equal(stretto_checkpointed(s, "none", 0), 0); /* it is held */
    for (int generation = 1; generation <= 3; generation++) {
        save(t, generation, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
        stretto_train_close(t);
        snprintf(name, sizeof name, "g%d-s%d", generation, generation);
        begin_anew(&fx, generation + 1, name, generation);
        fx.generation = generation + 1;
        fixture_announce(&fx, 1);
        t = fixture_rank(0);
    }
    assert_int_equal(stretto_send(s, stretto_field(s, "u", STRETTO_FLOAT64, 1, shape), 0, u), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    assert_int_equal(times[0], 1);
    stretto_train_close(t);
    fx.generation = 1;
    for (int generation = 3; generation <= 4; generation++) {
        snprintf(name, sizeof name, "g%d-rank0.json", generation);
        unlink(fixture_path(&fx, name));
    }
    tear_down(&fx);
}

/* The attempt of the member that had told its end by a checkpoint. */
static uint32_t ended_by(const char *checkpoint, int member, uint64_t members)
{
    struct error err;
    struct cut cut;
    char from[100];
    uint32_t attempt;

    snprintf(from, sizeof from, "%s/%s", dir, checkpoint);
    assert_int_equal(cut_read(&cut, from, 0, members, &err), 0);
    attempt = cut.ended[member];
    cut_fini(&cut);
    return attempt;
}

void a_checkpoint_tells_which_attempt_had_told_its_end(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    int times[STEPS] = {0};

    set_up(&fx, 1, 1, 4, 0);
    t = fixture_rank(0);
    for (int attempt = 1; attempt <= 2; attempt++) { /* the first one leaves steps to the second */
        send_steps(&fx, 0, attempt, 0, 5 * attempt);
        assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
        save(t, attempt, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    }
    WAIT_FOR_LIST("g1-s2 g1-s1 ");
    assert_int_equal(ended_by("g1-s1", 0, 1), 1);
    assert_int_equal(ended_by("g1-s2", 0, 1), 2);
    stretto_train_close(t);

    begin_anew(&fx, 2, "g1-s1", 1); /* where the second attempt is to run again, as the third */
    t = fixture_rank(0);
    assert_int_equal(fixture_stats(t).finalized, 1);
    save(t, 2, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    send_steps(&fx, 0, 3, 0, 10);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    save(t, 3, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2-s3 g2-s2 g1-s1 ");
    assert_int_equal(ended_by("g2-s2", 0, 1), 1);
    assert_int_equal(ended_by("g2-s3", 0, 1), 3);
    stretto_train_close(t);
    tear_down(&fx);
}

/* A generation goes on from a checkpoint, and a rank of it is killed. */
void what_was_told_before_the_checkpoint_outlives_the_next_process(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    int times[STEPS] = {0}, memory;

    set_up(&fx, 1, 2, 3, 0);
    t = fixture_rank(0);
    send_steps(&fx, 0, 2, 0, 5);
    assert_int_equal(fixture_draw(&fx, t, LIMIT_MS, STEPS, times), 5);
    save(t, 1, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s1 ");
    stretto_train_close(t);

    begin_anew(&fx, 2, "g1-s1", 1);
    memory = make_memory();
    t = fixture_rank(0);
    assert_true(fixture_wait(is_complete, &memory, LIMIT_MS));
    stretto_train_close(t);
    setenv("STRETTO_RESTART", "1", 1);
    t = fixture_rank(0);
    assert_int_equal(fixture_stats(t).finalized, 1);
    save(t, 2, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g2.1-s2 g1-s1 ");
    assert_int_equal(ended_by("g2.1-s2", 0, 2), 2);
    assert_int_equal(ended_by("g2.1-s2", 1, 2), 0);
    stretto_train_close(t);
    unsetenv("STRETTO_RESTART");
    unsetenv("STRETTO_KEPT");
    unsetenv("STRETTO_TASK");
    close(memory);
    tear_down(&fx);
}

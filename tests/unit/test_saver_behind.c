/* Checkpoints whose state another thread of the program writes while the training goes on. */
#include "common/timefmt.h"
#include "tasks/train/cut.h"
#include "tests/unit/saver_rig.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread of the program that writes a copy of the state, and then ends the checkpoint by that. */
struct writer {
    struct stretto_train *t;
    const char *path;
    int due;
    pid_t until_waits; /* it writes when this thread waits for something; 0: at once */
    atomic_bool written;
    pthread_t thread;
};

static int waits(void *arg)
{
    char path[64], state = '?';
    FILE *f;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)*(pid_t *)arg);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
    fclose(f);
    return state == 'S';
}

static void *write_behind(void *arg)
{
    struct writer *w = arg;

    if (w->until_waits != 0)
        fixture_wait(waits, &w->until_waits, LIMIT_MS);
    write_state(w->path, "state");
    atomic_store(&w->written, true);
    stretto_train_checkpoint_end(w->t, w->due);
    return NULL;
}

static void start(struct writer *w)
{
    assert_int_equal(pthread_create(&w->thread, NULL, write_behind, w), 0);
}

/* Begins a checkpoint and takes its cut. Returns the path. */
static const char *cut(struct stretto_train *t, int64_t step)
{
    const char *path = stretto_train_checkpoint_begin(t, step);

    if (path == NULL || stretto_train_checkpoint_cut(t, STRETTO_TRAIN_CHECKPOINT_DUE) < 0)
        fail_msg("%s", stretto_train_error(t));
    return path;
}

static void what_is_drawn_while_the_state_is_written_is_not_in_the_checkpoint(void **state)
{
    struct fixture fx;
    struct writer w = {.due = STRETTO_TRAIN_CHECKPOINT_DUE};
    struct cut was;
    struct error err;
    char from[100];
    int times[STEPS] = {0};

    set_up(&fx, 1, 1, 2, 0);
    w.t = fixture_rank(0);
    send_steps(&fx, 0, 1, 0, STEPS);
    assert_int_equal(fixture_draw(&fx, w.t, LIMIT_MS, STEPS, times), 5);
    w.path = cut(w.t, 1);
    assert_int_equal(fixture_draw(&fx, w.t, LIMIT_MS, STEPS, times), 5);
    assert_true(lists("")); /* it does not count yet */
    start(&w);
    WAIT_FOR_LIST("g1-s1 ");
    pthread_join(w.thread, NULL);
    snprintf(from, sizeof from, "%s/g1-s1", dir);
    assert_int_equal(cut_read(&was, from, 0, 1, &err), 0);
    assert_int_equal(was.drawn, 5);
    assert_int_equal(was.batches, 1);
    cut_fini(&was);
    stretto_train_close(w.t);
    tear_down(&fx);
}

static int is_due(void *arg)
{
    return stretto_train_checkpoint_due(arg) == STRETTO_TRAIN_CHECKPOINT_DUE;
}

static int has_passed(void *arg)
{
    return time_monotonic_ms() > *(int64_t *)arg;
}

static void none_but_the_last_is_due_while_the_one_before_is_written(void **state)
{
    struct fixture fx;
    struct writer w = {.due = STRETTO_TRAIN_CHECKPOINT_DUE};
    int64_t every;

    set_up(&fx, 1, 1, 2, 0.05);
    setenv("STRETTO_CHECKPOINT_SIGNAL", "10", 1); /* SIGUSR1 */
    w.t = fixture_rank(0);
    assert_int_equal(stretto_train_checkpoint_every_ms(w.t), 50);
    w.path = cut(w.t, 1);
    every = time_monotonic_ms() + 50;
    assert_true(fixture_wait(has_passed, &every, LIMIT_MS));
    assert_int_equal(stretto_train_checkpoint_due(w.t), 0);
    start(&w);
    assert_true(fixture_wait(is_due, w.t, LIMIT_MS));
    assert_true(atomic_load(&w.written));
    pthread_join(w.thread, NULL);
    w.path = cut(w.t, 2);
    raise(SIGUSR1);
    assert_int_equal(stretto_train_checkpoint_due(w.t), STRETTO_TRAIN_CHECKPOINT_LAST);
    assert_int_equal(stretto_train_checkpoint_end(w.t, 0), 0);
    stretto_train_close(w.t);
    tear_down(&fx);
}

static void the_next_one_and_done_wait_for_the_one_before(void **state)
{
    struct fixture fx;
    struct writer w = {.due = STRETTO_TRAIN_CHECKPOINT_DUE, .until_waits = (pid_t)syscall(SYS_gettid)};

    set_up(&fx, 1, 1, 2, 0);
    w.t = fixture_rank(0);
    w.path = cut(w.t, 1);
    start(&w);
    save(w.t, 2, "state", STRETTO_TRAIN_CHECKPOINT_LAST);
    assert_true(atomic_load(&w.written));
    pthread_join(w.thread, NULL);
    assert_true(lists("g1-s2 g1-s1 "));
    assert_int_equal(stretto_train_unfinished(w.t), 1);

    w.written = false;
    w.path = cut(w.t, 3);
    start(&w);
    assert_int_equal(stretto_train_done(w.t), 0);
    assert_true(atomic_load(&w.written));
    pthread_join(w.thread, NULL);
    assert_true(lists("g1-s3 g1-s2 "));
    stretto_train_close(w.t);
    tear_down(&fx);
}

static void a_state_that_cannot_be_written_leaves_the_one_before(void **state)
{
    struct fixture fx;
    struct writer w = {.due = 0};

    set_up(&fx, 1, 1, 2, 0);
    w.t = fixture_rank(0);
    save(w.t, 1, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    w.path = cut(w.t, 2);
    start(&w);
    save(w.t, 3, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    pthread_join(w.thread, NULL);
    WAIT_FOR_LIST("g1-s3 g1-s1 ");
    cut(w.t, 4); /* nobody ends it */
    stretto_train_close(w.t);
    assert_true(lists("g1-s3 g1-s1 "));
    tear_down(&fx);
}

static void a_slow_rank_finishes_a_checkpoint_though_others_have_newer_ones(void **state)
{
    struct fixture fx;
    struct stretto_train *t0;
    struct writer w = {.due = STRETTO_TRAIN_CHECKPOINT_DUE};

    set_up(&fx, 2, 1, 2, 0);
    t0 = fixture_rank(0);
    w.t = fixture_rank(1);
    w.path = cut(w.t, 1);
    for (int step = 1; step <= 3; step++)
        save(t0, step, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    assert_non_null(stretto_train_checkpoint_begin(t0, 4)); /* which has waited for the part of step 3 */
    assert_int_equal(stretto_train_checkpoint_end(t0, 0), 0);
    start(&w);
    WAIT_FOR_LIST("g1-s1 ");
    pthread_join(w.thread, NULL);
    save(w.t, 3, "state", STRETTO_TRAIN_CHECKPOINT_DUE);
    WAIT_FOR_LIST("g1-s3 g1-s1 ");
    stretto_train_close(t0);
    stretto_train_close(w.t);
    tear_down(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_drawn_while_the_state_is_written_is_not_in_the_checkpoint),
        cmocka_unit_test(none_but_the_last_is_due_while_the_one_before_is_written),
        cmocka_unit_test(the_next_one_and_done_wait_for_the_one_before),
        cmocka_unit_test(a_state_that_cannot_be_written_leaves_the_one_before),
        cmocka_unit_test(a_slow_rank_finishes_a_checkpoint_though_others_have_newer_ones),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

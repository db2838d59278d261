/* The account that a member keeps of its stream: a checkpoint is offered once every sample before it is held whole by
 * the rank. */
#include "common/files.h"
#include "tasks/proto/ckptdir.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 10 };

static char dir[128];

/* Leave a checkpoint behind what was sent so far. */
static void leave(struct stretto *s, int step)
{
    struct error err;
    char path[160];

    snprintf(path, sizeof path, "%s/at-%d", dir, step);
    assert_int_equal(file_write_whole(path, "whole", 5, 0600, &err), 0);
    if (stretto_checkpointed(s, path, step) < 0)
        fail_msg("%s", stretto_error(s));
}

/* The step of the checkpoint that another attempt would go on from; -1 if there is none. */
static int64_t offered(void)
{
    struct ckpt_list list;
    struct error err;
    const struct ckpt *newest;
    int64_t step;

    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    newest = ckptdir_newest(dir, &list, &(struct ckpt_chain){.ensemble = 7, .generation = 1});
    step = newest != NULL ? newest->step : -1;
    ckptdir_free(&list);
    return step;
}

/* The rank forgets what it has of a step when the attempt is over before the rest has come. */
static void half_a_step_is_not_held(void **state)
{
    int64_t width = WIDTH, n = 1;
    double u[WIDTH] = {0};
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;
    struct error err;
    char command[200];

    fixture_init(&fx, WIDTH, 1, 1, RESERVOIR(100, 1, 1));
    snprintf(dir, sizeof dir, "%s", fixture_path(&fx, "checkpoints"));
    assert_int_equal(ckptdir_make(dir, &err), 0);
    setenv("STRETTO_CHECKPOINT_DIR", dir, 1);
    t = fixture_rank(0);
    fixture_member_limit();
    for (int attempt = 1; attempt <= 2; attempt++) {
        s = fixture_member(0, attempt);
        assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
        leave(s, 0);
        assert_int_equal(offered(), 0);
        assert_int_equal(stretto_send(s, stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 1, u), 0);
        leave(s, 1);
        assert_int_equal(offered(), -1); /* which would begin with step 2 */
        if (attempt == 1) { /* and no more comes of it */
            stretto_abort(s);
            assert_int_equal(offered(), -1);
            continue;
        }
        assert_int_equal(stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), 1, &n), 0);
        assert_int_equal(stretto_close(s), 0);
        assert_int_equal(offered(), 1);
    }
    stretto_train_close(t);
    unsetenv("STRETTO_CHECKPOINT_DIR");
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    fixture_fini(&fx);
}

/* A program that stops at a checkpoint, since its time is nearly over, goes on in another attempt: the rank is told of
 * no end. One that has sent more since has ended. */
static void who_sends_on_behind_a_checkpoint_has_not_stopped_there(void **state)
{
    struct fixture fx;
    struct stretto_train *t;

    fixture_init(&fx, WIDTH, 0, 1, RESERVOIR(100, 1, 1));
    unsetenv("STRETTO_CHECKPOINT_DIR"); /* nobody keeps it, which is no matter here */
    t = fixture_rank(0);
    fixture_member_limit();
    for (int attempt = 1; attempt <= 4; attempt++) {
        bool due = attempt != 2, more = attempt == 3;
        struct stretto *s = fixture_member(0, attempt);

        assert_int_equal(fixture_send(&fx, s, 0, attempt), 0);
        assert_int_equal(stretto_checkpoint_due(s, due ? 1e6 : 0), due);
        assert_int_equal(stretto_checkpointed(s, "x", attempt), 0);
        if (more)
            assert_int_equal(fixture_send(&fx, s, 0, 10), 0);
        assert_int_equal(stretto_close(s), 0);
        assert_int_equal(fixture_stats(t).finalized, !due || more);
    }
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* Nobody draws, so that the rank holds one of three samples. */
static void a_patient_checkpoint_may_be_tried_again(void **state)
{
    enum { STEPS = 3 };
    int times[STEPS] = {0}, rc = STRETTO_AGAIN;
    int64_t width = WIDTH;
    struct stretto *s = NULL;
    struct fixture fx;
    struct stretto_train *t;

    fixture_init(&fx, WIDTH, 0, 1, "{\"policy\": \"fifo\", \"capacity\": 1, \"batch\": 1}");
    t = fixture_rank(0);
    fixture_member_limit();
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    while (rc == STRETTO_AGAIN)
        rc = stretto_open_patiently(&s, 5);
    assert_int_equal(rc, 0);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 0);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(stretto_checkpointed(s, "x", STEPS), STRETTO_AGAIN);
    while ((rc = stretto_checkpointed(s, "x", STEPS)) == STRETTO_AGAIN)
        fixture_draw(&fx, t, 10, STEPS, times);
    if (rc < 0)
        fail_msg("%s", stretto_error(s));
    stretto_abort(s);
    stretto_train_close(t);
    fixture_fini(&fx);
}

struct sending {
    struct stretto *s;
    double *u;
    int sent;
};

static int has_sent(void *arg, int most)
{
    struct sending *to = arg;
    int rc = STRETTO_AGAIN;

    while (to->sent < most && (rc = stretto_send(to->s, 0, to->sent, to->u)) == 0)
        to->sent++;
    assert_true(rc == 0 || rc == STRETTO_AGAIN);
    return to->sent >= most;
}

enum { RANKS = 2, LARGE = 1 << 18, ROOM = 15, HELD = 1 }; /* frames of a little more than 1 MiB */

static int is_full(void *arg)
{
    return has_sent(arg, RANKS * (ROOM + HELD));
}

/* A member keeps 32 MiB that nobody has acknowledged, however many ranks there are. */
static void ranks_share_the_member_s_window(void **state)
{
    struct sending to = {.u = calloc(LARGE, sizeof *to.u)};
    struct stretto_train *t[RANKS];
    struct fixture fx;
    int64_t width = LARGE;
    int rc = STRETTO_AGAIN;

    fixture_init_ranks(&fx, RANKS, LARGE, 0, 1, "{\"policy\": \"fifo\", \"capacity\": 1, \"batch\": 1}");
    for (int rank = 0; rank < RANKS; rank++)
        t[rank] = fixture_rank(rank);
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    while (rc == STRETTO_AGAIN)
        rc = stretto_open_patiently(&to.s, 100);
    assert_int_equal(rc, 0);
    assert_int_equal(stretto_field(to.s, "u", STRETTO_FLOAT64, 1, &width), 0);
    assert_true(fixture_wait(is_full, &to, FIXTURE_LIMIT_SECONDS * 1000));
    for (int i = 0; i < 20; i++) {
        has_sent(&to, 2 * RANKS * (ROOM + HELD));
        usleep(1000);
    }
    assert_int_equal(to.sent, RANKS * (ROOM + HELD));
    stretto_abort(to.s);
    for (int rank = 0; rank < RANKS; rank++)
        stretto_train_close(t[rank]);
    free(to.u);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_step_is_not_held),
        cmocka_unit_test(who_sends_on_behind_a_checkpoint_has_not_stopped_there),
        cmocka_unit_test(a_patient_checkpoint_may_be_tried_again),
        cmocka_unit_test(ranks_share_the_member_s_window),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

/* Later attempts of a member send only the steps that the ranks do not have. */
#include "tasks/proto/dealing.h"
#include "tests/unit/intake_rig.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { STEPS = 300 };
#define FIFO "{\"policy\": \"fifo\", \"capacity\": 1000, \"threshold\": 0, \"batch\": 1, \"seed\": 7}"

static int times[STEPS];

static int has_received(void *arg)
{
    struct stretto_train *t = ((void **)arg)[0];

    return fixture_stats(t).received >= *(uint64_t *)((void **)arg)[1];
}

static void wait_for_samples(struct stretto_train *t, uint64_t n)
{
    assert_true(fixture_wait(has_received, (void *[]){t, &n}, FIXTURE_LIMIT_SECONDS * 1000));
}

/* The first attempt sends every second step, some to each rank, and is gone. */
static void send_some(const struct fixture *fx, struct stretto_train *const *t, int ranks)
{
    struct stretto *s = fixture_member(0, 1);
    uint64_t of_rank[FIXTURE_RANKS_MAX] = {0};
    struct dealing *dealing = dealing_create(ranks);

    for (int step = 0; step < STEPS; step += 2) {
        assert_int_equal(fixture_send(fx, s, 0, step), 0);
        of_rank[dealing_rank(dealing, 0, step)]++;
    }
    dealing_destroy(dealing);
    for (int rank = 0; rank < ranks; rank++)
        wait_for_samples(t[rank], of_rank[rank]);
    stretto_abort(s);
}

static void send_all(const struct fixture *fx, int attempt)
{
    struct stretto *s = fixture_member(0, attempt);

    for (int step = 0; step < STEPS; step++)
        assert_int_equal(fixture_send(fx, s, 0, step), 0);
    if (stretto_close(s) != 0)
        fail_msg("the member could not close");
}

static void only_what_is_missing_is_sent(int ranks, int with_n)
{
    struct stretto_train *t[FIXTURE_RANKS_MAX];
    struct stretto_train_stats sum = {0};
    struct fixture fx;

    memset(times, 0, sizeof times);
    fixture_init_ranks(&fx, ranks, 4, with_n, 1, FIFO);
    for (int rank = 0; rank < ranks; rank++)
        t[rank] = fixture_rank(rank);
    send_some(&fx, t, ranks);
    send_all(&fx, 2);
    fixture_over(&fx);
    for (int rank = 0; rank < ranks; rank++) {
        struct stretto_train_stats stats;

        fixture_draw_all(&fx, t[rank], STEPS, times);
        stats = fixture_stats(t[rank]);
        sum.received += stats.received;
        sum.duplicates += stats.duplicates;
        sum.skipped += stats.skipped;
        stretto_train_close(t[rank]);
    }
    assert_int_equal(sum.received, STEPS);
    assert_int_equal(sum.duplicates, 0);
    assert_int_equal(sum.skipped, STEPS / 2);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(times[step], 1);
    fixture_fini(&fx);
}

static void a_later_attempt_leaves_out_what_the_rank_has(void **state)
{
    only_what_is_missing_is_sent(1, 0);
}

static void each_rank_tells_its_own(void **state)
{
    only_what_is_missing_is_sent(3, 1);
}

/* Of a step that lacks a field, all fields are sent again; and lent memory that is not sent can be lent again. */
static void a_step_that_lacks_a_field_is_not_left_out(void **state)
{
    int64_t shape[] = {4}, n = 5;
    float *lent;
    struct stretto *s;
    struct stretto_train *t;
    struct fixture fx;
    int u;

    memset(times, 0, sizeof times);
    fixture_init(&fx, 4, 1, 1, FIFO);
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(fixture_send(&fx, s, 0, 4), 0);
    assert_int_equal(stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), 5, &n), 0);
    wait_for_samples(t, 1);
    assert_int_equal(stretto_finish(s), -1);
    assert_non_null(strstr(stretto_error(s), "step 5 was sent without the field \"u\""));
    stretto_abort(s);

    s = fixture_member(0, 2);
    u = stretto_field(s, "u", STRETTO_FLOAT32, 1, shape);
    for (int64_t step = 4; step < 6; step++) {
        assert_int_equal(stretto_lend(s, u, (void **)&lent), 0);
        for (int i = 0; i < 4; i++)
            lent[i] = (float)((double)step / 8 + i);
        assert_int_equal(stretto_send_lent(s, u, step), 0);
        assert_int_equal(stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), step, &step), 0);
    }
    assert_int_equal(stretto_close(s), 0);
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    assert_true(times[4] == 1 && times[5] == 1);
    assert_int_equal(fixture_stats(t).duplicates, 0);
    assert_int_equal(fixture_stats(t).skipped, 1);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static struct stretto *open_second(const char *parameters)
{
    struct stretto *s = NULL;

    fixture_member_limit();
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "2", 1);
    setenv("STRETTO_PARAMS", parameters, 1);
    if (stretto_open_patiently(&s, 10) != 0)
        fail_msg("%s", stretto_error(s));
    return s;
}

/* While it waits for what the ranks have, the program goes on with other things now and then. */
static void a_later_attempt_comes_back_while_it_waits(void **state)
{
    void *zmq = zmq_ctx_new(), *mute = zmq_socket(zmq, ZMQ_ROUTER);
    char endpoint[200];
    struct stretto *s;
    struct stretto_train *t;
    struct fixture fx;

    fixture_init(&fx, 4, 0, 1, FIFO);
    t = fixture_rank(0);
    snprintf(endpoint, sizeof endpoint, "ipc://%s", fixture_path(&fx, "proxy"));
    assert_int_equal(zmq_bind(mute, endpoint), 0);
    fixture_redirect(&fx, endpoint);
    s = open_second("{\"a\": 0, \"b\": 0.5}");
    for (int i = 0; i < 3; i++)
        assert_int_equal(fixture_send(&fx, s, 0, 0), STRETTO_AGAIN);
    stretto_abort(s);
    zmq_close(mute);
    zmq_ctx_term(zmq);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void a_later_attempt_that_is_refused_is_told_each_time(void **state)
{
    struct stretto *s;
    struct stretto_train *t;
    struct fixture fx;
    int rc = STRETTO_AGAIN;

    fixture_init(&fx, 4, 0, 1, FIFO);
    t = fixture_rank(0);
    s = open_second("{\"a\": 1, \"b\": \"x\"}");
    while (rc == STRETTO_AGAIN)
        rc = fixture_send(&fx, s, 0, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rc, -1);
        assert_non_null(strstr(stretto_error(s), "\"b\""));
        rc = fixture_send(&fx, s, 0, 0);
    }
    assert_int_equal(stretto_close(s), -1);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* Reads the payload of the next answer, a WELCOME. Returns its size. */
static size_t next_welcome(const struct rig *rig, uint64_t *runs)
{
    struct frame f;
    zmq_msg_t msg;
    size_t size;

    zmq_msg_init(&msg);
    assert_true(zmq_msg_recv(&msg, rig->raw, 0) >= 0);
    assert_int_equal(frame_decode(zmq_msg_data(&msg), zmq_msg_size(&msg), &f), FRAME_OK);
    assert_int_equal(f.kind, FRAME_WELCOME);
    size = f.length;
    memcpy(runs, (char *)zmq_msg_data(&msg) + FRAME_HEADER_SIZE, size);
    zmq_msg_close(&msg);
    return size;
}

static void a_first_attempt_is_told_nothing_and_a_later_one_each_step(void **state)
{
    struct rig *rig = *state;
    uint64_t runs[16];

    hello(rig, 0, 0);
    assert_int_equal(next_welcome(rig, runs), 0);
    send_sample(rig, frame(FRAME_SAMPLE, 1, 3));
    send_sample(rig, frame(FRAME_SAMPLE, 2, 200));
    send_sample(rig, frame(FRAME_SAMPLE, 3, 201));
    while (expect(rig, FRAME_ACK) < 3)
        ;
    hello_of_attempt(rig, 2, 0, 0);
    assert_int_equal(next_welcome(rig, runs), 32);
    assert_true(le64toh(runs[0]) == 0 && le64toh(runs[1]) == UINT64_C(1) << 3);
    assert_true(le64toh(runs[2]) == 3 && le64toh(runs[3]) == UINT64_C(3) << 8);
}

static int time_limit(void **state)
{
    fixture_time_limit(state);
    test_limit(60); /* a lock that is kept is never free again */
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_attempt_leaves_out_what_the_rank_has),
        cmocka_unit_test(each_rank_tells_its_own),
        cmocka_unit_test(a_step_that_lacks_a_field_is_not_left_out),
        cmocka_unit_test(a_later_attempt_comes_back_while_it_waits),
        cmocka_unit_test(a_later_attempt_that_is_refused_is_told_each_time),
        cmocka_unit_test_setup_teardown(a_first_attempt_is_told_nothing_and_a_later_one_each_step, rig_setup,
                                        rig_teardown),
    };

    return cmocka_run_group_tests(tests, time_limit, NULL);
}

/* Several frames in one message. */
#include "tests/unit/intake_rig.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static void *add_frame(uint8_t *at, struct frame f, bool more)
{
    float u[WIDTH];

    f.flags = more ? FRAME_MORE : 0;
    for (int i = 0; i < WIDTH; i++)
        u[i] = (float)f.member + (float)f.step / 8 + (float)i;
    frame_encode(&f, at);
    memcpy(at + FRAME_HEADER_SIZE, u, sizeof u);
    return at + frame_span(&f);
}

/* Steps [from, to) in one message. */
static void send_together(struct rig *rig, int from, int to)
{
    uint8_t *m = malloc((size_t)(to - from) * (FRAME_HEADER_SIZE + BYTES)), *at = m;

    for (int step = from; step < to; step++)
        at = add_frame(at, frame(FRAME_SAMPLE, (uint64_t)step + 1, step), step + 1 < to);
    assert_true(zmq_send(rig->raw, m, (size_t)(at - m), 0) > 0);
    free(m);
}

static void frames_of_one_message_are_taken_in_their_order(void **state)
{
    struct rig *rig = *state;
    struct stretto_train_stats s;

    send_together(rig, 0, 3);
    expect(rig, FRAME_WHO);
    hello(rig, 0, 3);
    assert_int_equal(expect(rig, FRAME_WELCOME), 0); /* one WHO before it was enough */
    send_together(rig, 0, 3);
    assert_int_equal(expect(rig, FRAME_ACK), 3);
    send_together(rig, 1, 5); /* some of them a second time */
    assert_int_equal(expect(rig, FRAME_ACK), 5);
    send_together(rig, 6, 8);
    assert_int_equal(expect(rig, FRAME_REWIND), 5);
    stretto_train_stats(rig->t, &s);
    assert_int_equal(s.received, 5);
    assert_int_equal(s.duplicates, 0);
    assert_int_equal(s.rejected, 0);
}

/* What is before a damaged frame is taken; nothing behind it can be believed. */
static void a_damaged_frame_ends_its_message(void **state)
{
    enum { SPAN = FRAME_HEADER_SIZE + BYTES };
    struct rig *rig = *state;
    struct stretto_train_stats s;
    uint8_t m[4 * SPAN], *large = calloc(1, SPAN + FRAME_SHARING_MAX + 1);
    struct frame f;

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    for (int i = 0; i < 4; i++)
        add_frame(m + (size_t)i * SPAN, frame(FRAME_SAMPLE, (uint64_t)i + 1, i), i < 3);
    m[2 * SPAN + 50] ^= 1;
    zmq_send(rig->raw, m, sizeof m, 0);
    assert_int_equal(expect(rig, FRAME_ACK), 2);
    send_together(rig, 4, 5);
    assert_int_equal(expect(rig, FRAME_REWIND), 2);

    /* what is not a small sample's does not share a message */
    add_frame(large, frame(FRAME_SAMPLE, 3, 2), true);
    f = frame(FRAME_SAMPLE, 4, 3), f.length = FRAME_SHARING_MAX + 1 - FRAME_HEADER_SIZE;
    frame_encode(&f, large + SPAN);
    zmq_send(rig->raw, large, SPAN + FRAME_SHARING_MAX + 1, 0);
    assert_int_equal(expect(rig, FRAME_ACK), 3);
    add_frame(m, frame(FRAME_SAMPLE, 4, 3), true);
    f = frame(FRAME_FINALIZE, 4, 0);
    frame_encode(&f, m + SPAN);
    zmq_send(rig->raw, m, 2 * SPAN, 0);
    assert_int_equal(expect(rig, FRAME_ACK), 4);
    stretto_train_stats(rig->t, &s);
    assert_int_equal(s.received, 4);
    assert_int_equal(s.rejected, 3);
    assert_int_equal(s.rejected_by[fault_number("header_checksum")], 1);
    assert_int_equal(s.rejected_by[fault_number("length")], 2);
    assert_int_equal(s.finalized, 0);
    free(large);
}

/* Of one message, some samples find room and others wait: only what the buffer has is acknowledged, and the rest once
 * it has room. */
static void samples_that_wait_for_room_are_not_acknowledged(void **state)
{
    enum { SENT = CAPACITY + 5 };
    struct rig *rig = *state;
    int times[3 * SENT] = {0};
    uint64_t held;

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    send_together(rig, 0, SENT);
    held = expect(rig, FRAME_ACK);
    assert_int_equal(held, CAPACITY);
    for (uint64_t drawn = 1; held < SENT; drawn++) {
        zmq_pollitem_t news = {.socket = rig->raw, .events = ZMQ_POLLIN};

        assert_int_equal(fixture_draw(&rig->fx, rig->t, 10000, SENT, times), 1);
        while (zmq_poll(&news, 1, 0) > 0)
            held = expect(rig, FRAME_ACK);
        assert_true(held <= CAPACITY + drawn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_of_one_message_are_taken_in_their_order, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(samples_that_wait_for_room_are_not_acknowledged, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_frame_ends_its_message, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

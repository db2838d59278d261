/* Sessions of members at a rank: later attempts end earlier ones, and what anybody can make a rank remember is
 * bounded. */
#include "tests/unit/intake_rig.h"
#include "tests/unit/unit.h"

#include <string.h>

static void a_later_attempt_ends_the_earlier_sessions(void **state)
{
    struct rig *rig = *state;
    struct frame f = frame(FRAME_HELLO, 0, 0);

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    f.attempt = 2;
    f.session = 6;
    f.length = strlen(HELLO);
    send_bytes(rig, &f, HELLO, strlen(HELLO));
    expect(rig, FRAME_WELCOME);
    send_sample(rig, frame(FRAME_SAMPLE, 1, 0));
    expect(rig, FRAME_WHO);
    hello(rig, 0, 1); /* which was not dead, and comes too late */
    expect(rig, FRAME_REFUSED);
    assert_rejected(rig, 1);
}

/* A sender with ever new sessions costs a rank no more memory than 256 of them, and a stream that is alive beside
 * them is not forgotten. */
static void ever_new_sessions_are_forgotten_again(void **state)
{
    enum { SESSIONS = 2000, LIVE = 1, FIRST = 1000, EVERY = 100 };
    struct rig *rig = *state;
    uint64_t sent = 0;

    say_hello(rig, LIVE);
    assert_int_equal(answer_to(rig, LIVE), FRAME_WELCOME);
    for (uint64_t session = FIRST; session < FIRST + SESSIONS; session++) {
        say_hello(rig, session);
        assert_int_equal(answer_to(rig, session), FRAME_WELCOME);
        if (session % EVERY == 0) {
            /* a step that was sent before: the buffer has room for ten */
            send_sample(rig, of_session(frame(FRAME_SAMPLE, ++sent, 0), LIVE));
            assert_int_equal(answer_to(rig, LIVE), FRAME_ACK);
        }
    }
    send_sample(rig, of_session(frame(FRAME_SAMPLE, 1, 1), FIRST));
    assert_int_equal(answer_to(rig, FIRST), FRAME_WHO);
    send_sample(rig, of_session(frame(FRAME_SAMPLE, 1, 1), FIRST + SESSIONS - 1));
    assert_int_equal(answer_to(rig, FIRST + SESSIONS - 1), FRAME_ACK);
    assert_int_equal(fixture_stats(rig->t).unique, 2);
}

/* Sends the second of two fields: "n" is the first by name, and "u" the second. */
static void send_u(struct rig *rig, uint64_t session, uint64_t sequence, int64_t step)
{
    struct frame f = of_session(frame(FRAME_SAMPLE, sequence, step), session);

    f.field = 1;
    send_sample(rig, f);
}

static void send_n(struct rig *rig, uint64_t session, uint64_t sequence, int64_t step)
{
    struct frame f = of_session(frame(FRAME_SAMPLE, sequence, step), session);
    int64_t n = step;

    f.dtype = STRETTO_INT64;
    f.ndim = 0;
    f.shape[0] = 0;
    f.length = sizeof n;
    send_bytes(rig, &f, &n, sizeof n);
}

/* The acknowledgement of that frame, after those of earlier ones. */
static void await_ack(struct rig *rig, uint64_t session, uint64_t sequence)
{
    struct frame f;

    do {
        f = next_answer(rig);
        if (f.session == session)
            assert_int_equal(f.kind, FRAME_ACK);
    } while (f.session != session || f.sequence < sequence);
}

static enum frame_kind answer_but_ack(struct rig *rig)
{
    enum frame_kind kind;

    do
        kind = next_answer(rig).kind;
    while (kind == FRAME_ACK);
    return kind;
}

/* So much of a member waits for its other fields, and no more. */
static void steps_that_lack_fields_are_bounded(void **state)
{
    enum { OPEN = 64 };
    struct rig *rig = *state;

    say_hello(rig, 5);
    expect(rig, FRAME_WELCOME);
    for (int step = 0; step < OPEN; step++)
        send_u(rig, 5, (uint64_t)step + 1, step);
    await_ack(rig, 5, OPEN);
    send_u(rig, 5, OPEN + 1, OPEN);
    assert_int_equal(answer_but_ack(rig), FRAME_REFUSED);
    assert_int_equal(fixture_stats(rig->t).rejected_by[fault_number("open_steps")], 1);
    assert_int_equal(fixture_stats(rig->t).received, 0);
    send_n(rig, 5, OPEN + 1, 0);
    await_ack(rig, 5, OPEN + 1);
    send_u(rig, 5, OPEN + 2, OPEN); /* in its place */
    await_ack(rig, 5, OPEN + 2);
    assert_int_equal(fixture_stats(rig->t).received, 1);
}

/* A stream with an open step is not forgotten for another one. */
static void streams_that_lack_fields_are_bounded(void **state)
{
    enum { SESSIONS = 256 };
    struct rig *rig = *state;

    for (uint64_t session = 1; session <= SESSIONS; session++) {
        say_hello(rig, session);
        assert_int_equal(answer_to(rig, session), FRAME_WELCOME);
        send_u(rig, session, 1, 3);
        await_ack(rig, session, 1);
    }
    say_hello(rig, SESSIONS + 1);
    assert_int_equal(answer_to(rig, SESSIONS + 1), FRAME_REFUSED);
    assert_int_equal(fixture_stats(rig->t).rejected_by[fault_number("sessions")], 1);
    send_n(rig, 77, 2, 3);
    await_ack(rig, 77, 2);
    say_hello(rig, SESSIONS + 1); /* in the place of one that lacks nothing now */
    assert_int_equal(answer_to(rig, SESSIONS + 1), FRAME_WELCOME);
    send_u(rig, 77, 3, 4);
    assert_int_equal(answer_to(rig, 77), FRAME_WHO);
    send_n(rig, 78, 2, 3);
    await_ack(rig, 78, 2);
    assert_int_equal(fixture_stats(rig->t).unique, 1);
    assert_int_equal(fixture_stats(rig->t).duplicates, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_later_attempt_ends_the_earlier_sessions, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(ever_new_sessions_are_forgotten_again, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(steps_that_lack_fields_are_bounded, rig_setup_two_fields, rig_teardown),
        cmocka_unit_test_setup_teardown(streams_that_lack_fields_are_bounded, rig_setup_two_fields, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Frames that are wrong, sent to a real rank by a raw ZeroMQ socket: each is counted, none does harm. */
#include "tests/unit/intake_rig.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

static void corrupt_frames_are_counted_and_dropped(void **state)
{
    struct rig *rig = *state;
    uint8_t m[FRAME_HEADER_SIZE + BYTES] = {0}, copy[sizeof m];
    struct frame f = frame(FRAME_SAMPLE, 1, 0);
    struct stretto *s;
    int times[30] = {0};
    uint64_t count = 0;

    frame_encode(&f, m);
    for (size_t at = 0; at < FRAME_HEADER_SIZE; at++) {
        memcpy(copy, m, sizeof m);
        copy[at] ^= 0x10;
        zmq_send(rig->raw, copy, sizeof copy, 0);
        count++;
    }
    for (size_t size = 0; size < sizeof m; size += 8) {
        zmq_send(rig->raw, m, size, 0);
        count++;
    }
    zmq_send(rig->raw, "", 0, ZMQ_SNDMORE);
    zmq_send(rig->raw, m, sizeof m, 0);
    count++;
    f = frame(FRAME_SAMPLE, 1, 0), f.key++;
    send_sample(rig, f);
    f = frame(FRAME_SAMPLE, 1, 0), f.ensemble++;
    send_sample(rig, f);
    f = frame(FRAME_SAMPLE, 1, 0), f.generation++;
    send_sample(rig, f);
    send_sample(rig, frame(FRAME_ACK, 1, 0));
    count += 4;
    assert_rejected(rig, count);

    /* and the training is none the worse */
    s = fixture_member(2, 1);
    for (int step = 0; step < 10; step++)
        assert_int_equal(fixture_send(&rig->fx, s, 2, step), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_over(&rig->fx);
    fixture_draw_all(&rig->fx, rig->t, 10, times);
    for (int step = 0; step < 10; step++)
        assert_true(times[20 + step] >= 1);
}

static void refusals_name_the_reason(void **state)
{
    struct rig *rig = *state;
    struct frame f;

    hello(rig, 0, 0);
    assert_int_equal(expect(rig, FRAME_WELCOME), 0);
    f = frame(FRAME_SAMPLE, 1, 0), f.field = 1;
    send_sample(rig, f);
    expect(rig, FRAME_REFUSED);
    f = frame(FRAME_SAMPLE, 1, 0), f.field = UINT16_MAX;
    send_sample(rig, f);
    expect(rig, FRAME_REFUSED);
    f = frame(FRAME_SAMPLE, 1, 0), f.dtype = STRETTO_INT32;
    send_sample(rig, f);
    expect(rig, FRAME_REFUSED);
    f = frame(FRAME_SAMPLE, 1, 0), f.shape[0] = WIDTH + 1;
    send_sample(rig, f);
    expect(rig, FRAME_REFUSED);
    f = frame(FRAME_SAMPLE, 1, 0), f.member = 3; /* of 0, 1, 2 */
    send_sample(rig, f);
    expect(rig, FRAME_REFUSED);
    f = frame(FRAME_SAMPLE, 1, INT64_MAX);
    send_sample(rig, f);
    expect(rig, FRAME_REFUSED);
    assert_rejected(rig, 6);
}

/* One bad frame, by what is wrong with it. */
static void send_fault(struct rig *rig, const char *fault)
{
    struct frame f = frame(FRAME_SAMPLE, 1, 0);
    uint8_t m[FRAME_HEADER_SIZE + BYTES] = {0};
    size_t size = sizeof m;

    f.member = 2;
    if (strcmp(fault, "kind") == 0)
        f.kind = (enum frame_kind)99;
    else if (strcmp(fault, "flags") == 0)
        f.flags = 8;
    else if (strcmp(fault, "shape") == 0)
        f.ndim = 5;
    else if (strcmp(fault, "negative_step") == 0)
        f.step = -1;
    else if (strcmp(fault, "length") == 0)
        f.length = UINT64_MAX;
    else if (strcmp(fault, "payload_checksum") == 0)
        f.flags = FRAME_PAYLOAD_CHECKSUM, f.payload_checksum = 1;
    else if (strcmp(fault, "key") == 0)
        f.key++;
    else if (strcmp(fault, "generation") == 0)
        f.generation--;
    else if (strcmp(fault, "member") == 0)
        f.member = 3; /* of 0, 1, 2 */
    else if (strcmp(fault, "step") == 0)
        f.step = INT64_MAX;
    else if (strcmp(fault, "direction") == 0)
        f.kind = FRAME_ACK;
    else if (strcmp(fault, "parameters") == 0)
        f.kind = FRAME_HELLO;
    else if (strcmp(fault, "field") == 0)
        f.member = 0, f.shape[0] = 2, f.shape[1] = WIDTH / 2, f.ndim = 2; /* of a member that is known */
    else if (strcmp(fault, "memory") == 0)
        f.member = 0, f.flags = FRAME_IN_MEMORY, size = FRAME_HEADER_SIZE + FRAME_PLACE_SIZE; /* which it does not share */
    frame_encode(&f, m);
    if (strcmp(fault, "magic") == 0)
        m[0] = 's';
    else if (strcmp(fault, "version") == 0)
        m[4] = 2;
    else if (strcmp(fault, "header_checksum") == 0)
        m[50] ^= 1;
    else if (strcmp(fault, "short") == 0)
        size = FRAME_HEADER_SIZE - 1;
    else if (strcmp(fault, "parts") == 0)
        zmq_send(rig->raw, "", 0, ZMQ_SNDMORE);
    assert_int_equal(zmq_send(rig->raw, m, size, 0), size);
}

static int lines_with(const char *text, const char *first, const char *second)
{
    int lines = 0;

    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        char *copy = strndup(line, strcspn(line, "\n"));

        lines += strstr(copy, first) != NULL && strstr(copy, second) != NULL;
        free(copy);
        if (strchr(line, '\n') == NULL)
            break;
    }
    return lines;
}

static void each_fault_is_counted_by_itself_and_told_once(void **state)
{
    static const struct {
        const char *name, *sender;
    } faults[] = {
        {"short", "frame of connection"},
        {"magic", "frame of connection"},
        {"version", "frame of connection"},
        {"header_checksum", "frame of connection"},
        {"kind", "member 7.2, attempt 1, connection"},
        {"flags", "member 7.2, attempt 1, connection"},
        {"shape", "member 7.2, attempt 1, connection"},
        {"negative_step", "member 7.2, attempt 1, connection"},
        {"length", "member 7.2, attempt 1, connection"},
        {"payload_checksum", "member 7.2, attempt 1, connection"},
        {"parts", "frame of connection"},
        {"key", "member 7.2, attempt 1, connection"},
        {"generation", "member 7.2, attempt 1, connection"},
        {"member", "member 7.3, attempt 1, connection"},
        {"step", "member 7.2, attempt 1, connection"},
        {"direction", "member 7.2, attempt 1, connection"},
        {"parameters", "member 7.2, attempt 1, connection"},
        {"field", "member 7.0, attempt 1, connection"},
        {"memory", "member 7.0, attempt 1, connection"},
    };
    enum { COUNT = sizeof faults / sizeof *faults, TIMES = 3 };
    struct rig *rig = *state;
    struct stretto_train_stats s;
    char log[16384] = "";
    int times[30] = {0};
    struct stretto *member;

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < COUNT; i++)
            send_fault(rig, faults[i].name);
    await_rejected(rig, COUNT * TIMES);
    rewind(rig->log);
    assert_true(fread(log, 1, sizeof log - 1, rig->log) > 0);
    stretto_train_stats(rig->t, &s);
    assert_int_equal(s.rejected, COUNT * TIMES);
    for (int i = 0; i < COUNT; i++) {
        char told[64];

        snprintf(told, sizeof told, "counts them as \"%s\"", faults[i].name);
        if (s.rejected_by[fault_number(faults[i].name)] != TIMES)
            fail_msg("%s was counted %d times", faults[i].name, (int)s.rejected_by[fault_number(faults[i].name)]);
        if (lines_with(log, told, faults[i].sender) != 1 || lines_with(log, told, "") != 1)
            fail_msg("%s was not told once, with the sender:\n%s", faults[i].name, log);
    }

    member = fixture_member(1, 1);
    for (int step = 0; step < 10; step++)
        assert_int_equal(fixture_send(&rig->fx, member, 1, step), 0);
    assert_int_equal(stretto_close(member), 0);
    fixture_over(&rig->fx);
    fixture_draw_all(&rig->fx, rig->t, 10, times);
    for (int step = 0; step < 10; step++)
        assert_true(times[10 + step] >= 1);

    hello(rig, 0, 0);
    send_sample(rig, frame(FRAME_SAMPLE, 1, 0)); /* nobody will draw it */
    await_rejected(rig, COUNT * TIMES + 1);
    stretto_train_stats(rig->t, &s);
    assert_int_equal(s.rejected_by[fault_number("ended")], 1);
    assert_int_equal(s.received, 10);
}

/* Its samples are not taken, but it is not told that this is its end: what becomes of it, the daemon knows. */
static void a_training_that_stops_refuses_no_member(void **state)
{
    struct rig *rig = *state;
    struct stretto_train_stats s;
    struct frame f;

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    stretto_train_interrupt(rig->t);
    for (int n = 1; n <= 2; n++) /* put in the way of the first, known to be in vain with the second */
        send_sample(rig, frame(FRAME_SAMPLE, (uint64_t)n, n - 1));
    await_rejected(rig, 2);
    hello(rig, 0, 0);
    for (f = next_answer(rig); f.kind != FRAME_WELCOME; f = next_answer(rig)) {
        assert_int_equal(f.kind, FRAME_ACK);
        assert_int_equal(f.sequence, 0);
    }
    stretto_train_stats(rig->t, &s);
    assert_int_equal(s.rejected_by[fault_number("stopped")], 2);
    assert_int_equal(s.received, 0);
}

static void await_received(struct rig *rig, uint64_t count)
{
    struct stretto_train_stats s = {0};

    while (s.received < count) {
        usleep(1000);
        stretto_train_stats(rig->t, &s);
    }
}

/* Of samples that wait for room nothing is told that would let their member forget them: nobody may ever draw them. */
static void what_waits_for_room_is_not_held(void **state)
{
    struct rig *rig = *state;
    struct frame f;

    hello(rig, 0, 0);
    for (uint64_t n = 1; n <= CAPACITY + 1; n++) /* the last one waits, and the rank with it */
        send_sample(rig, frame(FRAME_SAMPLE, n, (int64_t)n));
    await_received(rig, CAPACITY + 1);
    for (uint64_t n = CAPACITY + 2; n <= CAPACITY + 4; n++)
        send_sample(rig, frame(FRAME_SAMPLE, n, (int64_t)n));
    hello(rig, CAPACITY, CAPACITY + 4);
    send_sample(rig, frame(FRAME_SAMPLE, CAPACITY + 9, CAPACITY + 9));
    assert_int_equal(stretto_train_batch(rig->t, NULL, NULL, NULL, NULL, -1), 1); /* makes room for one */
    assert_int_equal(expect(rig, FRAME_WELCOME), 0);
    do {
        f = next_answer(rig);
        assert_in_range(f.sequence, 0, CAPACITY + 1);
    } while (f.sequence < CAPACITY + 1);
    stretto_train_interrupt(rig->t);
    do {
        f = next_answer(rig);
        assert_in_range(f.sequence, 0, CAPACITY + 1);
    } while (f.kind != FRAME_WELCOME);
}

static void a_gap_is_asked_for_once(void **state)
{
    struct rig *rig = *state;
    struct stretto_train_stats s;

    send_sample(rig, frame(FRAME_SAMPLE, 1, 0));
    expect(rig, FRAME_WHO);
    hello(rig, 0, 1);
    assert_int_equal(expect(rig, FRAME_WELCOME), 0);
    send_sample(rig, frame(FRAME_SAMPLE, 1, 0));
    assert_int_equal(expect(rig, FRAME_ACK), 1);
    send_sample(rig, frame(FRAME_SAMPLE, 3, 2));
    assert_int_equal(expect(rig, FRAME_REWIND), 1);
    send_sample(rig, frame(FRAME_SAMPLE, 4, 3));
    hello(rig, 1, 4);
    assert_int_equal(expect(rig, FRAME_WELCOME), 1); /* no second REWIND before it */
    send_sample(rig, frame(FRAME_SAMPLE, 1, 0));
    assert_int_equal(expect(rig, FRAME_ACK), 1);
    send_sample(rig, frame(FRAME_SAMPLE, 2, 1));
    assert_int_equal(expect(rig, FRAME_ACK), 2);
    send_bytes(
        rig,
        &(struct frame){
            .kind = FRAME_FINALIZE, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .generation = 1, .sequence = 3},
        "", 0);
    assert_int_equal(expect(rig, FRAME_REWIND), 2);
    send_bytes(
        rig,
        &(struct frame){
            .kind = FRAME_FINALIZE, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .generation = 1, .sequence = 2},
        "", 0);
    expect(rig, FRAME_FINALIZED);
    stretto_train_stats(rig->t, &s);
    assert_int_equal(s.received, 2);
    assert_int_equal(s.duplicates, 0);
    assert_int_equal(s.finalized, 1);
}

static uint64_t finalized(struct rig *rig)
{
    struct stretto_train_stats s;

    stretto_train_stats(rig->t, &s);
    return s.finalized;
}

/* The answer to FINALIZE was lost: the member says who it is, and FINALIZE again, and counts once. Another attempt of
 * it may send more: the member has not ended until that says FINALIZE. */
static void a_member_that_begins_again_has_not_ended(void **state)
{
    const struct frame finalize = {.kind = FRAME_FINALIZE, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .generation = 1, .sequence = 1};
    struct rig *rig = *state;

    hello(rig, 0, 0);
    assert_int_equal(expect(rig, FRAME_WELCOME), 0);
    send_sample(rig, frame(FRAME_SAMPLE, 1, 0));
    assert_int_equal(expect(rig, FRAME_ACK), 1);
    send_bytes(rig, &finalize, "", 0);
    expect(rig, FRAME_FINALIZED);
    send_bytes(rig, &finalize, "", 0);
    expect(rig, FRAME_WHO);
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        hello_of_attempt(rig, attempt, 1, 1);
        assert_int_equal(expect(rig, FRAME_WELCOME), 1);
        assert_int_equal(finalized(rig), attempt == 1);
        send_bytes(rig, &finalize, "", 0);
        expect(rig, FRAME_FINALIZED);
        assert_int_equal(finalized(rig), 1);
    }
}

static void assert_names(const struct frame *sent, struct frame answer, enum frame_kind kind)
{
    if (answer.kind != kind)
        fail_msg("a frame of kind %d where %d was expected", answer.kind, kind);
    assert_true(answer.key == FIXTURE_KEY && answer.ensemble == 7 && answer.generation == 1);
    assert_int_equal(answer.member, sent->member);
    assert_int_equal(answer.session, sent->session);
    assert_int_equal(answer.attempt, sent->attempt);
}

/* An answer of any kind bears the id of the stream that it answers. */
static void each_answer_names_its_stream(void **state)
{
    struct rig *rig = *state;
    struct frame f = frame(FRAME_SAMPLE, 1, 0);

    f.session = 9;
    f.attempt = 4;
    f.member = 2;
    send_sample(rig, f);
    assert_names(&f, next_answer(rig), FRAME_WHO);
    f = frame(FRAME_HELLO, 0, 0);
    f.session = 9;
    f.attempt = 4;
    f.member = 2;
    f.dtype = f.ndim = 0;
    f.shape[0] = 0;
    f.length = strlen(HELLO);
    send_bytes(rig, &f, HELLO, strlen(HELLO));
    assert_names(&f, next_answer(rig), FRAME_WELCOME);
    f = frame(FRAME_SAMPLE, 1, 0);
    f.session = 9;
    f.attempt = 4;
    f.member = 2;
    send_sample(rig, f);
    assert_names(&f, next_answer(rig), FRAME_ACK);
    f.sequence = 3;
    f.step = 2;
    send_sample(rig, f);
    assert_names(&f, next_answer(rig), FRAME_REWIND);
    f.sequence = 2;
    f.field = 1;
    send_sample(rig, f);
    assert_names(&f, next_answer(rig), FRAME_REFUSED);
    f = frame(FRAME_FINALIZE, 1, 0);
    f.session = 9;
    f.attempt = 4;
    f.member = 2;
    f.dtype = f.ndim = 0;
    f.shape[0] = 0;
    f.length = 0;
    send_bytes(rig, &f, "", 0);
    assert_names(&f, next_answer(rig), FRAME_FINALIZED);
}

/* Answers go where a stream was heard of last: its connection may have been made anew. */
static void answers_follow_a_stream(void **state)
{
    struct rig *rig = *state;
    void *first = rig->raw, *second = connection(rig);

    say_hello(rig, 5);
    expect(rig, FRAME_WELCOME);
    for (uint64_t sequence = 1; sequence <= 4; sequence++) {
        rig->raw = sequence % 2 == 1 ? second : first;
        send_sample(rig, frame(FRAME_SAMPLE, sequence, (int64_t)sequence));
        assert_int_equal(expect(rig, FRAME_ACK), sequence);
    }
    rig->raw = first;
    zmq_close(second);
}

/* A payload that was damaged on the way is sent again: here by hand, after the rank has asked for it. */
static void a_damaged_payload_is_a_gap(void **state)
{
    struct rig *rig = *state;
    struct frame f = frame(FRAME_SAMPLE, 1, 0);

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    f.flags = FRAME_PAYLOAD_CHECKSUM;
    f.payload_checksum = 12345;
    send_sample(rig, f);
    assert_rejected(rig, 1);
    send_sample(rig, frame(FRAME_SAMPLE, 2, 1));
    assert_int_equal(expect(rig, FRAME_REWIND), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(corrupt_frames_are_counted_and_dropped, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(refusals_name_the_reason, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(each_fault_is_counted_by_itself_and_told_once, rig_setup_with_log,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_training_that_stops_refuses_no_member, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_waits_for_room_is_not_held, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_gap_is_asked_for_once, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_member_that_begins_again_has_not_ended, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(each_answer_names_its_stream, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(answers_follow_a_stream, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_payload_is_a_gap, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

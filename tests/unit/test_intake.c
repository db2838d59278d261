/* Frames that are wrong, sent to a real rank by a raw ZeroMQ socket: each is counted, none does harm. */
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#define WIDTH 6
#define BYTES (WIDTH * 4)
#define HELLO "{\"version\": 1, \"parameters\": {\"a\": 0, \"b\": 0.5}}"

struct rig {
    struct fixture fx;
    struct st_train *t;
    void *zmq, *raw;
};

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    int linger = 0;

    alarm(60);
    *state = rig;
    fixture_init(&rig->fx, WIDTH, 0, 3,
                 "{\"policy\": \"reservoir\", \"capacity\": 10, \"threshold\": 1, \"batch\": 1, \"seed\": 1}");
    rig->t = fixture_rank(0);
    rig->zmq = zmq_ctx_new();
    rig->raw = zmq_socket(rig->zmq, ZMQ_DEALER);
    zmq_setsockopt(rig->raw, ZMQ_LINGER, &linger, sizeof linger);
    return zmq_connect(rig->raw, fixture_endpoint(&rig->fx));
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    zmq_close(rig->raw);
    zmq_ctx_term(rig->zmq);
    st_train_close(rig->t);
    fixture_fini(&rig->fx);
    free(rig);
    return 0;
}

static struct frame frame(enum frame_kind kind, uint64_t sequence, int64_t step)
{
    return (struct frame){.kind = kind, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .attempt = 1, .generation = 1,
                          .sequence = sequence, .step = step, .dtype = STRETTO_FLOAT32, .ndim = 1, .shape = {WIDTH},
                          .length = BYTES};
}

static void send_bytes(struct rig *rig, const struct frame *f, const void *payload, size_t size)
{
    uint8_t *m = malloc(FRAME_HEADER_SIZE + size);

    frame_encode(f, m);
    memcpy(m + FRAME_HEADER_SIZE, payload, size);
    assert_true(zmq_send(rig->raw, m, FRAME_HEADER_SIZE + size, 0) > 0);
    free(m);
}

static void send_sample(struct rig *rig, struct frame f)
{
    float u[WIDTH];

    for (int i = 0; i < WIDTH; i++)
        u[i] = (float)f.member + (float)f.step / 8 + (float)i;
    send_bytes(rig, &f, u, sizeof u);
}

static void hello(struct rig *rig, uint64_t acked, uint64_t sent)
{
    struct frame f = frame(FRAME_HELLO, sent, (int64_t)acked);

    f.dtype = f.ndim = 0;
    f.shape[0] = 0;
    f.length = strlen(HELLO);
    send_bytes(rig, &f, HELLO, strlen(HELLO));
}

/* The rank's next answer, which must be of this kind; its sequence number. */
static uint64_t expect(struct rig *rig, enum frame_kind kind)
{
    uint8_t m[1000];
    struct frame f;
    int size = zmq_recv(rig->raw, m, sizeof m, 0);

    assert_true(size > 0);
    assert_int_equal(frame_decode(m, (size_t)size, &f), FRAME_OK);
    if (f.kind != kind)
        fail_msg("%s where %s was expected", frame_kind_name(f.kind), frame_kind_name(kind));
    return f.sequence;
}

struct wanted {
    struct st_train *t;
    uint64_t rejected;
};

static int rejected_so_many(void *arg)
{
    struct wanted *w = arg;
    struct st_train_stats s;

    st_train_stats(w->t, &s);
    return s.rejected == w->rejected;
}

static void assert_rejected(struct rig *rig, uint64_t count)
{
    struct st_train_stats s;

    assert_true(fixture_wait(rejected_so_many, &(struct wanted){rig->t, count}, 5000));
    st_train_stats(rig->t, &s);
    assert_int_equal(s.received, 0);
}

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

static void a_gap_is_asked_for_once(void **state)
{
    struct rig *rig = *state;
    struct st_train_stats s;

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
    st_train_stats(rig->t, &s);
    assert_int_equal(s.received, 2);
    assert_int_equal(s.duplicates, 0);
    assert_int_equal(s.finalized, 1);
}

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
        cmocka_unit_test_setup_teardown(corrupt_frames_are_counted_and_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals_name_the_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gap_is_asked_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_later_attempt_ends_the_earlier_sessions, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_payload_is_a_gap, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

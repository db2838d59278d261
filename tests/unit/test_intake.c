/* Frames that are wrong, sent to a real rank by a raw ZeroMQ socket: each is counted, none does harm. */
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <stdio.h>
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
    FILE *log; /* what goes to stderr from the rank's start on; NULL: stderr is as it was */
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

/* The rank's threads keep the stderr with which they were started. */
static int setup_with_log(void **state)
{
    FILE *log = tmpfile();
    int before = dup(STDERR_FILENO), rc;

    assert_true(log != NULL && before >= 0);
    fflush(stderr);
    dup2(fileno(log), STDERR_FILENO);
    rc = setup(state);
    dup2(before, STDERR_FILENO);
    close(before);
    ((struct rig *)*state)->log = log;
    return rc;
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    zmq_close(rig->raw);
    zmq_ctx_term(rig->zmq);
    st_train_close(rig->t);
    fixture_fini(&rig->fx);
    if (rig->log != NULL)
        fclose(rig->log);
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

static struct frame next_answer(struct rig *rig)
{
    uint8_t m[1000];
    struct frame f;
    int size = zmq_recv(rig->raw, m, sizeof m, 0);

    assert_true(size > 0);
    assert_int_equal(frame_decode(m, (size_t)size, &f), FRAME_OK);
    return f;
}

/* The rank's next answer, which must be of this kind; its sequence number. */
static uint64_t expect(struct rig *rig, enum frame_kind kind)
{
    struct frame f = next_answer(rig);

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

static int fault_number(const char *name)
{
    for (int i = 0; i < ST_TRAIN_FAULTS_MAX; i++)
        if (st_train_fault_name(i) != NULL && strcmp(st_train_fault_name(i), name) == 0)
            return i;
    fail_msg("no fault is called %s", name);
    return -1;
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
    struct st_train_stats s;
    char log[16384] = "";
    int times[30] = {0};
    struct stretto *member;

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < COUNT; i++)
            send_fault(rig, faults[i].name);
    fixture_wait(rejected_so_many, &(struct wanted){rig->t, COUNT * TIMES}, 10000);
    rewind(rig->log);
    assert_true(fread(log, 1, sizeof log - 1, rig->log) > 0);
    st_train_stats(rig->t, &s);
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
    assert_true(fixture_wait(rejected_so_many, &(struct wanted){rig->t, COUNT * TIMES + 1}, 10000));
    st_train_stats(rig->t, &s);
    assert_int_equal(s.rejected_by[fault_number("ended")], 1);
    assert_int_equal(s.received, 10);
}

/* Its samples are not taken, but it is not told that this is its end: what becomes of it, the daemon knows. */
static void a_training_that_stops_refuses_no_member(void **state)
{
    struct rig *rig = *state;
    struct st_train_stats s;
    struct frame f;

    hello(rig, 0, 0);
    expect(rig, FRAME_WELCOME);
    st_train_interrupt(rig->t);
    for (int n = 1; n <= 2; n++) /* put in the way of the first, known to be in vain with the second */
        send_sample(rig, frame(FRAME_SAMPLE, (uint64_t)n, n - 1));
    assert_true(fixture_wait(rejected_so_many, &(struct wanted){rig->t, 2}, 10000));
    hello(rig, 0, 0);
    for (f = next_answer(rig); f.kind != FRAME_WELCOME; f = next_answer(rig)) {
        assert_int_equal(f.kind, FRAME_ACK);
        assert_int_equal(f.sequence, 0);
    }
    st_train_stats(rig->t, &s);
    assert_int_equal(s.rejected_by[fault_number("stopped")], 2);
    assert_int_equal(s.received, 0);
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

/* The answer to FINALIZE was lost: the member says who it is, and FINALIZE again, and counts once. */
static void a_member_that_finalizes_again_counts_once(void **state)
{
    const struct frame finalize = {.kind = FRAME_FINALIZE, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .generation = 1, .sequence = 1};
    struct rig *rig = *state;
    struct st_train_stats s;

    hello(rig, 0, 0);
    assert_int_equal(expect(rig, FRAME_WELCOME), 0);
    send_sample(rig, frame(FRAME_SAMPLE, 1, 0));
    assert_int_equal(expect(rig, FRAME_ACK), 1);
    send_bytes(rig, &finalize, "", 0);
    expect(rig, FRAME_FINALIZED);
    send_bytes(rig, &finalize, "", 0);
    expect(rig, FRAME_WHO);
    hello(rig, 1, 1);
    assert_int_equal(expect(rig, FRAME_WELCOME), 1);
    send_bytes(rig, &finalize, "", 0);
    expect(rig, FRAME_FINALIZED);
    st_train_stats(rig->t, &s);
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
    hello(rig, 0, 1); /* which was not dead, and comes too late */
    expect(rig, FRAME_REFUSED);
    assert_rejected(rig, 1);
}

static struct frame of_session(struct frame f, uint64_t session)
{
    f.session = session;
    return f;
}

static void say_hello(struct rig *rig, uint64_t session)
{
    struct frame f = of_session(frame(FRAME_HELLO, 0, 0), session);

    f.dtype = f.ndim = 0;
    f.shape[0] = 0;
    f.length = strlen(HELLO);
    send_bytes(rig, &f, HELLO, strlen(HELLO));
}

static enum frame_kind answer_to(struct rig *rig, uint64_t session)
{
    struct frame f;

    do
        f = next_answer(rig);
    while (f.session != session);
    return f.kind;
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
    struct st_train_stats s;

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
    st_train_stats(rig->t, &s);
    assert_int_equal(s.received, 5);
    assert_int_equal(s.duplicates, 0);
    assert_int_equal(s.rejected, 0);
}

/* What is before a damaged frame is taken; nothing behind it can be believed. */
static void a_damaged_frame_ends_its_message(void **state)
{
    enum { SPAN = FRAME_HEADER_SIZE + BYTES };
    struct rig *rig = *state;
    struct st_train_stats s;
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
    st_train_stats(rig->t, &s);
    assert_int_equal(s.received, 4);
    assert_int_equal(s.rejected, 3);
    assert_int_equal(s.rejected_by[fault_number("header_checksum")], 1);
    assert_int_equal(s.rejected_by[fault_number("length")], 2);
    assert_int_equal(s.finalized, 0);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(corrupt_frames_are_counted_and_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals_name_the_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(each_fault_is_counted_by_itself_and_told_once, setup_with_log, teardown),
        cmocka_unit_test_setup_teardown(a_training_that_stops_refuses_no_member, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gap_is_asked_for_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_that_finalizes_again_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_later_attempt_ends_the_earlier_sessions, setup, teardown),
        cmocka_unit_test_setup_teardown(ever_new_sessions_are_forgotten_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_payload_is_a_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(frames_of_one_message_are_taken_in_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_frame_ends_its_message, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

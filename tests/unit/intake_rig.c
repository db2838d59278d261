#include "tests/unit/intake_rig.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

void *connection(const struct rig *rig)
{
    void *socket = zmq_socket(rig->zmq, ZMQ_DEALER);
    int linger = 0;

    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    assert_int_equal(zmq_connect(socket, fixture_endpoint(&rig->fx)), 0);
    return socket;
}

static int setup_fields(void **state, int with_n)
{
    struct rig *rig = calloc(1, sizeof *rig);

    test_limit(60);
    *state = rig;
    fixture_init(&rig->fx, WIDTH, with_n, 3,
                 "{\"policy\": \"reservoir\", \"capacity\": 10, \"threshold\": 1, \"batch\": 1, \"seed\": 1}");
    rig->t = fixture_rank(0);
    rig->zmq = zmq_ctx_new();
    rig->raw = connection(rig);
    return 0;
}

int rig_setup(void **state)
{
    return setup_fields(state, 0);
}

int rig_setup_two_fields(void **state)
{
    return setup_fields(state, 1);
}

/* The rank's threads keep the stderr with which they were started. */
int rig_setup_with_log(void **state)
{
    FILE *log = tmpfile();
    int before = dup(STDERR_FILENO), rc;

    assert_true(log != NULL && before >= 0);
    fflush(stderr);
    dup2(fileno(log), STDERR_FILENO);
    rc = rig_setup(state);
    dup2(before, STDERR_FILENO);
    close(before);
    ((struct rig *)*state)->log = log;
    return rc;
}

int rig_teardown(void **state)
{
    struct rig *rig = *state;

    zmq_close(rig->raw);
    zmq_ctx_term(rig->zmq);
    stretto_train_close(rig->t);
    fixture_fini(&rig->fx);
    if (rig->log != NULL)
        fclose(rig->log);
    free(rig);
    return 0;
}

struct frame frame(enum frame_kind kind, uint64_t sequence, int64_t step)
{
    return (struct frame){.kind = kind, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .attempt = 1, .generation = 1,
                          .sequence = sequence, .step = step, .dtype = STRETTO_FLOAT32, .ndim = 1, .shape = {WIDTH},
                          .length = BYTES};
}

void send_bytes(struct rig *rig, const struct frame *f, const void *payload, size_t size)
{
    uint8_t *m = malloc(FRAME_HEADER_SIZE + size);

    frame_encode(f, m);
    memcpy(m + FRAME_HEADER_SIZE, payload, size);
    assert_true(zmq_send(rig->raw, m, FRAME_HEADER_SIZE + size, 0) > 0);
    free(m);
}

void send_sample(struct rig *rig, struct frame f)
{
    float u[WIDTH];

    for (int i = 0; i < WIDTH; i++)
        u[i] = (float)f.member + (float)f.step / 8 + (float)i;
    send_bytes(rig, &f, u, sizeof u);
}

void hello(struct rig *rig, uint64_t acked, uint64_t sent)
{
    hello_of_attempt(rig, 1, acked, sent);
}

void hello_of_attempt(struct rig *rig, uint32_t attempt, uint64_t acked, uint64_t sent)
{
    struct frame f = frame(FRAME_HELLO, sent, (int64_t)acked);

    f.attempt = attempt;
    f.dtype = f.ndim = 0;
    f.shape[0] = 0;
    f.length = strlen(HELLO);
    send_bytes(rig, &f, HELLO, strlen(HELLO));
}

struct frame next_answer(struct rig *rig)
{
    uint8_t m[1000];
    struct frame f;
    int size = zmq_recv(rig->raw, m, sizeof m, 0);

    assert_true(size > 0);
    assert_int_equal(frame_decode(m, (size_t)size, &f), FRAME_OK);
    return f;
}

/* The rank's next answer, which must be of this kind; its sequence number. */
uint64_t expect(struct rig *rig, enum frame_kind kind)
{
    struct frame f = next_answer(rig);

    if (f.kind != kind)
        fail_msg("a frame of kind %d where %d was expected", f.kind, kind);
    return f.sequence;
}

struct wanted {
    struct stretto_train *t;
    uint64_t rejected;
};

static int rejected_so_many(void *arg)
{
    struct wanted *w = arg;
    struct stretto_train_stats s;

    stretto_train_stats(w->t, &s);
    return s.rejected == w->rejected;
}

void await_rejected(struct rig *rig, uint64_t count)
{
    assert_true(fixture_wait(rejected_so_many, &(struct wanted){rig->t, count}, 30000));
}

void assert_rejected(struct rig *rig, uint64_t count)
{
    struct stretto_train_stats s;

    await_rejected(rig, count);
    stretto_train_stats(rig->t, &s);
    assert_int_equal(s.received, 0);
}

int fault_number(const char *name)
{
    for (int i = 0; i < STRETTO_TRAIN_FAULTS_MAX; i++)
        if (stretto_train_fault_name(i) != NULL && strcmp(stretto_train_fault_name(i), name) == 0)
            return i;
    fail_msg("no fault is called %s", name);
    return -1;
}

struct frame of_session(struct frame f, uint64_t session)
{
    f.session = session;
    return f;
}

void say_hello(struct rig *rig, uint64_t session)
{
    struct frame f = of_session(frame(FRAME_HELLO, 0, 0), session);

    f.dtype = f.ndim = 0;
    f.shape[0] = 0;
    f.length = strlen(HELLO);
    send_bytes(rig, &f, HELLO, strlen(HELLO));
}

enum frame_kind answer_to(struct rig *rig, uint64_t session)
{
    struct frame f;

    do
        f = next_answer(rig);
    while (f.session != session);
    return f.kind;
}

/* Members and ranks that share memory: large payloads are read there, and all that holds of other frames holds of
 * these. */
#include "tasks/member/parcel.h"
#include "tasks/proto/frame.h"
#include "tasks/proto/shared.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

enum {
    WIDTH = 1 << 15,
    BYTES = WIDTH * 4,
    WINDOW = FRAME_WINDOW_BYTES / BYTES, /* so many go, at most, before the rank has answered for the first time */
    STEPS = WINDOW + 200,
};

static int times[STEPS];

/* Of every other step, "u" is written into lent memory. */
static int send_step(const struct fixture *fx, struct stretto *s, int64_t step)
{
    int64_t shape[] = {WIDTH}, n = step;
    void *lent;
    int u;

    if (step % 2 == 0)
        return fixture_send(fx, s, 0, step);
    u = stretto_field(s, "u", STRETTO_FLOAT32, 1, shape);
    if (u < 0 || stretto_lend(s, u, &lent) < 0)
        return -1;
    for (int i = 0; i < WIDTH; i++)
        ((float *)lent)[i] = (float)((double)step / 8 + i);
    if (stretto_send_lent(s, u, step) < 0)
        return -1;
    return fx->with_n ? stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), step, &n) : 0;
}

/* A member process; it waits for the rank. */
static pid_t start_member(const struct fixture *fx, int attempt)
{
    pid_t child = fork();
    struct stretto *s;

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    s = fixture_member(0, attempt);
    for (int step = 0; step < STEPS; step++)
        if (send_step(fx, s, step) < 0)
            _exit(1);
    _exit(stretto_close(s) == 0 ? 0 : 1);
}

static void assert_ended_well(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

struct wanted {
    struct stretto_train *t;
    uint64_t rejected, received;
};

static int has_come(void *arg)
{
    struct wanted *w = arg;
    struct stretto_train_stats s = fixture_stats(w->t);

    return s.rejected >= w->rejected && s.received >= w->received;
}

/* A rank that draws until the member has seen that it reads what is shared, then says so, and is killed. */
static void __attribute__((noreturn)) short_lived_rank(const struct fixture *fx, int tell)
{
    struct stretto_train *t;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    t = fixture_rank(0);
    while (fixture_stats(t).received < WINDOW || fixture_stats(t).memory_bytes == 0)
        fixture_draw(fx, t, 10, STEPS, times);
    if (write(tell, "x", 1) == 1)
        pause();
    _exit(1);
}

/* What it had not acknowledged comes to the next one with the payloads, where that does not read what is shared. */
static void another_rank_need_not_share_it(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    pid_t child, rank;
    int tell[2], first = 0;
    char byte;

    memset(times, 0, sizeof times);
    fixture_init(&fx, WIDTH, 0, 1, RESERVOIR(50, 1, 5));
    setenv("STRETTO_STREAM_CHECKSUM", "1", 1);
    setenv("STRETTO_STREAM_SILENCE_MS", "50", 1);
    assert_int_equal(pipe(tell), 0);
    child = start_member(&fx, 1);
    rank = fork();
    if (rank == 0)
        short_lived_rank(&fx, tell[1]);
    assert_int_equal(read(tell[0], &byte, 1), 1);
    assert_int_equal(kill(rank, SIGKILL), 0);
    assert_int_equal(waitpid(rank, NULL, 0), rank);
    setenv("STRETTO_STREAM_MEMORY", "0", 1);
    t = fixture_rank(0);
    unsetenv("STRETTO_STREAM_MEMORY");
    fixture_train(&fx, t, 1, STEPS, times);
    assert_ended_well(child);
    assert_int_equal(fixture_stats(t).memory_bytes, 0);
    while (first < STEPS && times[first] == 0) /* what the first rank had, and acknowledged in time, it took with it */
        first++;
    assert_in_range(first, 0, STEPS - 1);
    for (int i = first; i < STEPS; i++)
        assert_true(times[i] >= 1);
    stretto_train_close(t);
    unlink(fixture_path(&fx, "rank0.lock"));
    fixture_fini(&fx);
    close(tell[0]);
    close(tell[1]);
}

static void wait_until_held(struct stretto *s)
{
    if (stretto_checkpointed(s, "none", 0) < 0) /* nobody keeps it: it only waits */
        fail_msg("%s", stretto_error(s));
}

static void write_step(void *memory, int64_t step)
{
    for (int i = 0; i < WIDTH; i++)
        ((float *)memory)[i] = (float)((double)step / 8 + i);
}

/* The program still writes into it when the rank that reads it goes, and another comes. */
static void lent_memory_is_sent_to_a_rank_that_does_not_share_it(void **state)
{
    int64_t shape[] = {WIDTH};
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;
    void *lent, *other = malloc(BYTES);
    int u;

    memset(times, 0, sizeof times);
    fixture_init(&fx, WIDTH, 0, 1, RESERVOIR(50, 1, 1));
    unsetenv("STRETTO_CHECKPOINT_DIR");
    setenv("STRETTO_STREAM_SILENCE_MS", "50", 1);
    fixture_member_limit();
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
    wait_until_held(s); /* it knows by now that the rank shares its memory */
    u = stretto_field(s, "u", STRETTO_FLOAT32, 1, shape);
    assert_int_equal(stretto_lend(s, u, &lent), 0);
    write_step(lent, 1);
    assert_int_equal(stretto_send_lent(s, u, 1), 0);
    wait_until_held(s);
    assert_true(fixture_stats(t).memory_bytes >= BYTES);
    assert_int_equal(stretto_lend(s, u, &lent), 0);
    stretto_train_close(t);
    setenv("STRETTO_STREAM_MEMORY", "0", 1);
    t = fixture_rank(0);
    unsetenv("STRETTO_STREAM_MEMORY");
    write_step(other, 2);
    assert_int_equal(stretto_send(s, u, 2, other), 0);
    wait_until_held(s); /* and that this one does not */
    write_step(lent, 3);
    assert_int_equal(stretto_send_lent(s, u, 3), 0);
    if (stretto_close(s) < 0)
        fail_msg("the stream was not closed");
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    assert_true(times[2] >= 1 && times[3] >= 1);
    assert_int_equal(fixture_stats(t).memory_bytes, 0);
    assert_int_equal(fixture_stats(t).rejected, 0);
    free(other);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* Announced and not read when the member is killed; then a second attempt sends all of it. */
static void a_killed_member_does_no_harm(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    pid_t child;
    uint64_t before;

    memset(times, 0, sizeof times);
    fixture_init(&fx, WIDTH, 1, 1, RESERVOIR(50, 1, 5));
    setenv("STRETTO_STREAM_CHECKSUM", "1", 1);
    child = start_member(&fx, 1);
    t = fixture_rank(0);
    while (fixture_stats(t).received < WINDOW)
        fixture_draw(&fx, t, 10, STEPS, times);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    before = fixture_stats(t).received;
    child = start_member(&fx, 2);
    fixture_train(&fx, t, 1, STEPS, times);
    assert_ended_well(child);
    assert_true(fixture_stats(t).skipped >= before);
    fixture_check_books(t, times, STEPS, (int)fixture_stats(t).duplicates);
    stretto_train_close(t);
    fixture_fini(&fx);
}

struct raw {
    void *zmq, *socket;
    struct slots *slots;
    uint64_t sequence;
};

static struct frame raw_frame(struct raw *raw, enum frame_kind kind)
{
    return (struct frame){.kind = kind, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .attempt = 1, .generation = 1,
                          .sequence = raw->sequence};
}

static void raw_hello(struct raw *raw, json_t *memory)
{
    json_t *body =
        json_pack("{s:i, s:{s:i, s:f}, s:o}", "version", 1, "parameters", "a", 0, "b", 0.5, "memory", memory);
    struct frame f = raw_frame(raw, FRAME_HELLO), welcome;
    uint8_t m[1000];
    char *text = json_dumps(body, 0);
    int size;

    f.length = strlen(text);
    frame_encode(&f, m);
    memcpy(m + FRAME_HEADER_SIZE, text, f.length);
    assert_true(zmq_send(raw->socket, m, FRAME_HEADER_SIZE + f.length, 0) > 0);
    size = zmq_recv(raw->socket, m, sizeof m, 0);
    assert_true(size > 0);
    assert_int_equal(frame_decode(m, (size_t)size, &welcome), FRAME_OK);
    assert_int_equal(welcome.kind, FRAME_WELCOME);
    assert_int_equal(welcome.flags, FRAME_IN_MEMORY);
    free(text);
    json_decref(body);
}

static void raw_sample(struct raw *raw, uint64_t place, uint64_t checksum)
{
    struct frame f = raw_frame(raw, FRAME_SAMPLE);
    uint8_t m[FRAME_HEADER_SIZE + FRAME_PLACE_SIZE];

    f.flags = FRAME_IN_MEMORY | (checksum ? FRAME_PAYLOAD_CHECKSUM : 0);
    f.payload_checksum = checksum;
    f.step = (int64_t)raw->sequence - 1;
    f.dtype = STRETTO_FLOAT32;
    f.ndim = 1;
    f.shape[0] = WIDTH;
    f.length = BYTES;
    frame_encode(&f, m);
    frame_encode_place(place, m + FRAME_HEADER_SIZE);
    assert_true(zmq_send(raw->socket, m, sizeof m, 0) > 0);
}

static void places_that_lie_are_counted_and_dropped(void **state)
{
    enum { SIZE = 1 << 20 };
    struct raw raw = {.zmq = zmq_ctx_new(), .slots = slots_create(SIZE), .sequence = 1};
    struct lent_slot *slot;
    struct stretto_train_stats s;
    struct fixture fx;
    struct stretto_train *t;
    int linger = 0;

    memset(times, 0, sizeof times);
    fixture_init(&fx, WIDTH, 0, 1, RESERVOIR(50, 1, 1));
    t = fixture_rank(0);
    raw.socket = zmq_socket(raw.zmq, ZMQ_DEALER);
    zmq_setsockopt(raw.socket, ZMQ_LINGER, &linger, sizeof linger);
    assert_int_equal(zmq_connect(raw.socket, fixture_endpoint(&fx)), 0);
    raw_hello(&raw, slots_offer(raw.slots));
    slot = slot_take(raw.slots, BYTES);
    raw_sample(&raw, 1, 0);
    raw_sample(&raw, SIZE, 0);
    raw_sample(&raw, SIZE - BYTES + SHARED_UNIT, 0);
    raw_sample(&raw, UINT64_MAX, 0);
    raw_sample(&raw, UINT64_MAX - SHARED_UNIT + 1, 0);
    raw_sample(&raw, 0, 12345);
    assert_true(fixture_wait(has_come, &(struct wanted){t, 6, 0}, 30000));
    s = fixture_stats(t);
    assert_int_equal(s.rejected, 6);
    assert_int_equal(s.received, 0);
    assert_int_equal(s.memory_bytes, 0);
    /* and what is right afterwards is taken: the very end, and with a checksum */
    write_step((char *)slot_payload(slot) + SIZE - BYTES, 0);
    raw_sample(&raw, SIZE - BYTES, 0);
    raw.sequence = 2;
    write_step(slot_payload(slot), 1);
    raw_sample(&raw, 0, frame_checksum(slot_payload(slot), BYTES));
    assert_true(fixture_wait(has_come, &(struct wanted){t, 6, 2}, 30000));
    memset(slot_payload(slot), 0xff, BYTES); /* it is the rank's own by now */
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    assert_true(times[0] >= 1 && times[1] >= 1);
    assert_int_equal(fixture_stats(t).memory_bytes, 2 * BYTES);
    slot_give_back(slot);
    zmq_close(raw.socket);
    zmq_ctx_term(raw.zmq);
    slots_destroy(raw.slots);
    stretto_train_close(t);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_rank_need_not_share_it),
        cmocka_unit_test(lent_memory_is_sent_to_a_rank_that_does_not_share_it),
        cmocka_unit_test(a_killed_member_does_no_harm),
        cmocka_unit_test(places_that_lie_are_counted_and_dropped),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

/* Fields whose first extent each sample brings itself: what is sent comes out, and frames that lie about it do not. */
#include "common/files.h"
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

/* "p" can be too large for a sample's own memory, "q" cannot; "u" is fixed. Their numbers are 0, 1 and 2. */
enum { P, Q, U, P_MAX = 700, Q_MAX = 9, STEPS = 300, BATCH = 7 };

#define FIELDS                                                                                                         \
    "{\"u\": {\"dtype\": \"float32\", \"shape\": [2]}, \"q\": {\"dtype\": \"uint8\", \"shape\": [-1], \"max\": 9},"    \
    " \"p\": {\"dtype\": \"float32\", \"shape\": [-1, 3], \"max\": 700}}"

static const int64_t p_shape[] = {-1, 3}, q_shape[] = {-1}, u_shape[] = {2};

static struct stretto_train *start(struct fixture *fx)
{
    struct error err;
    json_t *value;

    fixture_init(fx, 2, 0, 2, RESERVOIR(50, 10, 7));
    value = file_read_json(fixture_path(fx, "training.json"), &err);
    assert_non_null(value);
    json_object_set_new(value, "fields", json_loads(FIELDS, 0, NULL));
    assert_int_equal(file_write_json(fixture_path(fx, "training.json"), value, 0600, &err), 0);
    json_decref(value);
    setenv("STRETTO_FIELDS", FIELDS, 1);
    return fixture_rank(0);
}

static int p_extent(int step)
{
    return step * 37 % (P_MAX + 1); /* 0 at the first, and at most 700 */
}

static int q_extent(int step)
{
    return step % (Q_MAX + 1);
}

static float p_value(int step, int i)
{
    return (float)(step + i / 8.0);
}

/* "p" by a copy that narrows it, and as it travels, copied or lent, by turns; "q" lent; "u" as ever. */
static void send_step(struct stretto *s, int step)
{
    double wide[3 * P_MAX];
    float narrow[3 * P_MAX], u[2] = {(float)step, -1};
    int np = p_extent(step), nq = q_extent(step);
    void *lent;

    for (int i = 0; i < 3 * np; i++)
        wide[i] = narrow[i] = p_value(step, i);
    assert_int_equal(stretto_field(s, "p", step % 3 ? STRETTO_FLOAT32 : STRETTO_FLOAT64, 2, p_shape), P);
    if (step % 3 == 0) {
        assert_int_equal(stretto_send_extent(s, P, step, np, np > 0 ? wide : NULL), 0);
    } else if (step % 3 == 1) {
        assert_int_equal(stretto_send_extent(s, P, step, np, narrow), 0);
    } else {
        assert_int_equal(stretto_lend_extent(s, P, P_MAX, &lent), 0);
        memset(lent, 1, sizeof narrow);
        assert_int_equal(stretto_lend_extent(s, P, np, &lent), 0);
        memcpy(lent, narrow, (size_t)np * 3 * sizeof *narrow);
        assert_int_equal(stretto_send_lent(s, P, step), 0);
    }
    assert_int_equal(stretto_lend_extent(s, Q, nq, &lent), 0);
    memset(lent, step % 256, (size_t)nq);
    assert_int_equal(stretto_send_lent(s, Q, step), 0);
    assert_int_equal(step % 2 ? stretto_send(s, U, step, u) : stretto_send_extent(s, U, step, 2, u), 0);
}

static struct stretto *member(void)
{
    struct stretto *s = fixture_member(0, 1);

    assert_int_equal(stretto_field(s, "p", STRETTO_FLOAT32, 2, p_shape), P);
    assert_int_equal(stretto_field(s, "q", STRETTO_UINT8, 1, q_shape), Q);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT32, 1, u_shape), U);
    return s;
}

static void wrong_calls_are_told_and_cost_nothing(void **state)
{
    int64_t shape[STRETTO_NDIM_MAX], other[] = {5, 3}, wrong[] = {3, -1};
    float data[3 * P_MAX] = {0};
    enum stretto_dtype dtype;
    struct fixture fx;
    struct stretto_train *t = start(&fx);
    struct stretto *s = member();
    void *const fields[] = {data, NULL, NULL};
    int ndim;
    void *lent;

    assert_int_equal(stretto_describe(s, "p", &dtype, &ndim, shape), 1);
    assert_true(ndim == 2 && shape[0] == -1 && shape[1] == 3 && shape[2] == 1);
    assert_int_equal(stretto_field(s, "p", STRETTO_FLOAT32, 2, other), -1);
    assert_non_null(strstr(stretto_error(s), "\"p\" is 5x3 here, but -1x3 in the spec"));
    assert_int_equal(stretto_field(s, "p", STRETTO_FLOAT32, 2, wrong), -1);
    assert_int_equal(stretto_send(s, P, 0, data), -1);
    assert_non_null(strstr(stretto_error(s), "the first extent of field \"p\" varies"));
    assert_int_equal(stretto_lend(s, P, &lent), -1);
    assert_null(lent);
    assert_int_equal(stretto_send_extent(s, P, 0, P_MAX + 1, data), -1);
    assert_non_null(strstr(stretto_error(s), "is from 0 to 700, not 701"));
    assert_int_equal(stretto_send_extent(s, P, 0, -1, data), -1);
    assert_int_equal(stretto_lend_extent(s, P, P_MAX + 1, &lent), -1);
    assert_int_equal(stretto_send_extent(s, U, 0, 1, data), -1);
    assert_non_null(strstr(stretto_error(s), "field \"u\" is always 2: its first extent cannot be 1"));
    send_step(s, 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_over(&fx);
    assert_int_equal(stretto_train_batch(t, fields, NULL, NULL, NULL, 30000), -1);
    assert_non_null(strstr(stretto_train_error(t), "the first extent of field \"p\" varies"));
    /* the field is not wanted: the other call lost nothing */
    assert_int_equal(stretto_train_batch(t, NULL, NULL, NULL, NULL, 30000), 1);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void an_idle_stream_lends_any_extent(void **state)
{
    struct stretto *s;
    void *lent;

    unsetenv("STRETTO_STREAM");
    unsetenv("STRETTO_DEADLINE");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_field(s, "p", STRETTO_FLOAT64, 2, p_shape), 0);
    for (int extent = 0; extent < 1000; extent += 333) {
        assert_int_equal(stretto_lend_extent(s, 0, extent, &lent), 0);
        memset(lent, 0, (size_t)extent * 3 * sizeof(double));
        assert_int_equal(stretto_send_lent(s, 0, extent), 0);
        assert_int_equal(stretto_send_extent(s, 0, extent, extent, NULL), 0);
    }
    assert_int_equal(stretto_close(s), 0);
}

static int refused(void *arg)
{
    return fixture_stats(arg).rejected > 0;
}

/* A HELLO and one SAMPLE of "p" that says of itself what is not so. */
static void lie(uint64_t extent, uint64_t width, int ndim, size_t bytes, enum stretto_dtype dtype)
{
    static const char hello[] = "{\"version\": 1, \"parameters\": {\"a\": 0, \"b\": 0.5}}";
    static uint8_t m[FRAME_HEADER_SIZE + (P_MAX + 1) * 12];
    struct frame f = {.kind = FRAME_HELLO, .key = FIXTURE_KEY, .ensemble = 7, .session = 5, .attempt = 1, .generation = 1,
                      .length = sizeof hello - 1};
    struct fixture fx;
    struct stretto_train *t = start(&fx);
    void *zmq = zmq_ctx_new(), *raw = zmq_socket(zmq, ZMQ_DEALER);
    struct stretto_train_stats stats;
    int linger = 0;

    zmq_setsockopt(raw, ZMQ_LINGER, &linger, sizeof linger);
    assert_int_equal(zmq_connect(raw, fixture_endpoint(&fx)), 0);
    frame_encode(&f, m);
    memcpy(m + FRAME_HEADER_SIZE, hello, f.length);
    assert_true(zmq_send(raw, m, FRAME_HEADER_SIZE + f.length, 0) > 0);
    f.kind = FRAME_SAMPLE;
    f.sequence = 1;
    f.dtype = (uint8_t)dtype;
    f.ndim = (uint8_t)ndim;
    f.shape[0] = extent;
    f.shape[1] = width;
    f.length = bytes;
    frame_encode(&f, m);
    assert_true(zmq_send(raw, m, FRAME_HEADER_SIZE + bytes, 0) > 0);
    if (!fixture_wait(refused, t, 10000))
        fail_msg("%llu x %llu in %zu bytes was taken", (unsigned long long)extent, (unsigned long long)width, bytes);
    stats = fixture_stats(t);
    assert_int_equal(stats.received, 0);
    for (int i = 0; i < STRETTO_TRAIN_FAULTS_MAX; i++)
        if (stats.rejected_by[i] > 0)
            assert_string_equal(stretto_train_fault_name(i), "field");
    zmq_close(raw);
    zmq_ctx_term(zmq);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void lying_frames_are_refused(void **state)
{
    lie(P_MAX + 1, 3, 2, (P_MAX + 1) * 12, STRETTO_FLOAT32); /* more than the spec allows */
    lie(UINT64_MAX, 3, 2, 12, STRETTO_FLOAT32);
    lie(((uint64_t)1 << 62) + 1, 3, 2, 12, STRETTO_FLOAT32); /* times 12 it is 12 again */
    lie(5, 3, 2, 4 * 12, STRETTO_FLOAT32);               /* shorter than it says */
    lie(5, 3, 2, 6 * 12, STRETTO_FLOAT32);               /* longer */
    lie(5, 3, 2, 5 * 12 + 1, STRETTO_FLOAT32);
    lie(0, 3, 2, 12, STRETTO_FLOAT32);
    lie(5, 4, 2, 5 * 16, STRETTO_FLOAT32);
    lie(15, 0, 1, 60, STRETTO_FLOAT32);
    lie(5, 3, 2, 5 * 12, STRETTO_INT32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_calls_are_told_and_cost_nothing),
        cmocka_unit_test(an_idle_stream_lends_any_extent),
        cmocka_unit_test(lying_frames_are_refused),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

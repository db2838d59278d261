/* Members and a rank, from stretto_send() to st_train_batch(). */
#include "common/files.h"
#include "tasks/member/lending.h"
#include "tasks/proto/frame.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/stream_proxy.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RESERVOIR(capacity, threshold, batch)                                                                          \
    "{\"policy\": \"reservoir\", \"capacity\": " #capacity ", \"threshold\": " #threshold ", \"batch\": " #batch       \
    ", \"seed\": 7}"

static struct st_train_stats stats_of(struct st_train *t)
{
    struct st_train_stats s;

    st_train_stats(t, &s);
    return s;
}

struct job {
    const struct fixture *fx;
    struct stretto *s;
    int member, steps;
    atomic_int sent;
    atomic_int rc;
    pthread_t thread;
};

static void *send_steps(void *arg)
{
    struct job *job = arg;

    for (int step = 0; step < job->steps && job->rc == 0; step++) {
        job->rc = fixture_send(job->fx, job->s, job->member, step);
        job->sent++;
    }
    if (job->rc == 0)
        job->rc = stretto_close(job->s);
    else
        stretto_abort(job->s);
    return NULL;
}

static void start(struct job *job, const struct fixture *fx, int member, int attempt, int steps)
{
    *job = (struct job){.fx = fx, .member = member, .steps = steps, .s = fixture_member(member, attempt)};
    assert_int_equal(pthread_create(&job->thread, NULL, send_steps, job), 0);
}

static void finish(struct job *job)
{
    pthread_join(job->thread, NULL);
    assert_int_equal(job->rc, 0);
}

/* Draw while members send, until so many have told their end; then until all is empty. */
static void train(const struct fixture *fx, struct st_train *t, uint64_t finalized, int steps, int *times)
{
    while (stats_of(t).finalized < finalized)
        assert_true(fixture_draw(fx, t, 10, steps, times) != ST_TRAIN_END);
    fixture_over(fx);
    fixture_draw_all(fx, t, steps, times);
}

static void check_books(struct st_train *t, const int *times, int samples, int duplicates)
{
    struct st_train_stats s = stats_of(t);
    uint64_t draws[ST_TRAIN_DRAWS] = {0};
    int total = 0;

    for (int i = 0; i < samples; i++) {
        int bin = 0;

        assert_true(times[i] >= 1);
        total += times[i];
        while (bin < ST_TRAIN_DRAWS - 1 && times[i] > 1 << bin)
            bin++;
        draws[bin]++;
    }
    assert_memory_equal(s.draws, draws, sizeof draws);
    assert_int_equal(s.received, samples + duplicates);
    assert_int_equal(s.unique, samples);
    assert_int_equal(s.duplicates, duplicates);
    assert_int_equal(s.drawn, samples);
    assert_int_equal(s.drawn + s.repeats, total);
    assert_int_equal(s.population + s.unseen, 0);
}

static void every_sample_of_several_members_is_drawn(void **state)
{
    enum { MEMBERS = 5, STEPS = 200 };
    int *times = calloc(MEMBERS * STEPS, sizeof *times);
    struct job job[MEMBERS];
    struct fixture fx;
    struct st_train *t;

    fixture_init(&fx, 100, 1, MEMBERS, RESERVOIR(60, 20, 10));
    t = fixture_rank(0);
    for (int m = 0; m < MEMBERS; m++)
        start(&job[m], &fx, m, 1, STEPS);
    train(&fx, t, MEMBERS, STEPS, times);
    for (int m = 0; m < MEMBERS; m++)
        finish(&job[m]);
    check_books(t, times, MEMBERS * STEPS, 0);
    assert_int_equal(stats_of(t).rejected, 0);
    st_train_close(t);
    fixture_fini(&fx);
    free(times);
}

static void what_a_bad_network_loses_is_sent_again(void **state)
{
    enum { STEPS = 300 };
    int times[STEPS] = {0};
    struct fixture fx;
    struct st_train *t;
    struct job job;
    struct proxy *proxy;
    char front[200];

    fixture_init(&fx, 10, 1, 1, RESERVOIR(50, 5, 5));
    setenv("STRETTO_STREAM_SILENCE_MS", "20", 1);
    t = fixture_rank(0);
    snprintf(front, sizeof front, "ipc://%s", fixture_path(&fx, "proxy"));
    /* the first message is HELLO */
    proxy = proxy_start(front, fixture_endpoint(&fx), 10, 1, 1);
    fixture_redirect(&fx, front);
    start(&job, &fx, 0, 1, STEPS);
    train(&fx, t, 1, STEPS, times);
    finish(&job);
    assert_true(proxy_stop(proxy) > 20);
    check_books(t, times, STEPS, 0);
    st_train_close(t);
    fixture_fini(&fx);
}

static int window_is_full(void *arg)
{
    struct job *job = arg;

    return job->sent >= 8 + 31;
}

static void a_trainer_that_stops_reading_stops_the_member(void **state)
{
    enum { STEPS = 200, CAPACITY = 8, WINDOW = 31 }; /* 32 MiB of frames a little above 1 MiB */
    int times[STEPS] = {0};
    struct fixture fx;
    struct st_train *t;
    struct job job;

    fixture_init(&fx, 1 << 18, 0, 1, RESERVOIR(8, 4, 4));
    t = fixture_rank(0);
    start(&job, &fx, 0, 1, STEPS);
    assert_true(fixture_wait(window_is_full, &job, 20000));
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* in which it must not get any further */
    assert_true(stats_of(t).room_wait_seconds > 0.2); /* and which is told */
    assert_in_range(job.sent, CAPACITY + WINDOW, CAPACITY + WINDOW);
    assert_int_equal(stats_of(t).population, CAPACITY);
    assert_int_equal(stats_of(t).unseen, CAPACITY);
    train(&fx, t, 1, STEPS, times);
    finish(&job);
    check_books(t, times, STEPS, 0);
    assert_int_equal(stats_of(t).bytes, (uint64_t)STEPS << 20);
    st_train_close(t);
    fixture_fini(&fx);
}

static void a_step_that_is_sent_again_counts_once(void **state)
{
    enum { STEPS = 20 };
    int times[STEPS] = {0};
    struct fixture fx;
    struct st_train *t;
    struct stretto *s;
    struct job job;

    fixture_init(&fx, 10, 1, 1, RESERVOIR(100, 1, 5));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    for (int step = 0; step < 10; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(fixture_send(&fx, s, 0, 3), 0);
    stretto_abort(s); /* killed: some of it may be lost, nothing of it counts as finished */
    s = fixture_member(0, 2);
    for (int step = 0; step < 10; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(stretto_close(s), 0);
    assert_int_equal(stats_of(t).finalized, 1);
    start(&job, &fx, 0, 3, STEPS);
    finish(&job);
    assert_int_equal(stats_of(t).finalized, 1);
    train(&fx, t, 1, STEPS, times);
    assert_int_equal(stats_of(t).unique, STEPS);
    assert_in_range(stats_of(t).duplicates, 10, 21);
    check_books(t, times, STEPS, (int)stats_of(t).duplicates);
    st_train_close(t);
    fixture_fini(&fx);
}

/* Also where a later attempt begins elsewhere: what it sends again must come to the rank that knows it. */
static void samples_are_dealt_to_all_ranks(void **state)
{
    enum { STEPS = 40, SECOND = 15 };
    int times[STEPS] = {0};
    struct fixture fx;
    struct st_train *t[2];
    struct stretto *s;

    fixture_init_ranks(&fx, 2, 10, 1, 1, RESERVOIR(100, 1, 5));
    t[0] = fixture_rank(0);
    t[1] = fixture_rank(1);
    s = fixture_member(0, 1);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(stretto_close(s), 0);
    s = fixture_member(0, 2);
    for (int step = SECOND; step < STEPS; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_over(&fx);
    for (int rank = 0; rank < 2; rank++) {
        fixture_draw_all(&fx, t[rank], STEPS, times);
        assert_int_equal(stats_of(t[rank]).unique, STEPS / 2);
        assert_int_equal(stats_of(t[rank]).finalized, 1);
        for (int step = 0; step < STEPS; step++)
            assert_int_equal(times[step] > 0, rank == 1 || step % 2 == 0);
    }
    assert_int_equal(stats_of(t[0]).duplicates + stats_of(t[1]).duplicates, STEPS - SECOND);
    st_train_close(t[0]);
    st_train_close(t[1]);
    fixture_fini(&fx);
}

static void *open_late(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    *(struct st_train **)arg = fixture_rank(0);
    return NULL;
}

static void a_loopback_address_is_listened_on_where_asked_for(void **state)
{
    enum { STEPS = 50 };
    int times[STEPS] = {0};
    struct fixture fx;
    struct st_train *t;
    struct job job;
    struct error err;
    json_t *endpoint;
    char tcp[100];

    fixture_init(&fx, 100000, 1, 1, RESERVOIR(50, 5, 5));
    setenv("STRETTO_STREAM_TCP", "0.0.0.0", 1); /* frames are not encrypted */
    assert_int_equal(st_train_open(&t), -1);
    assert_non_null(strstr(st_train_error(t), "loopback"));
    st_train_close(t);
    setenv("STRETTO_STREAM_TCP", "127.0.0.1", 1);
    t = fixture_rank(0);
    unsetenv("STRETTO_STREAM_TCP");
    endpoint = file_read_json(fixture_path(&fx, "g1-rank0.json"), &err);
    snprintf(tcp, sizeof tcp, "%s", json_string_value(json_array_get(json_object_get(endpoint, "endpoints"), 1)));
    json_decref(endpoint);
    assert_true(strncmp(tcp, "tcp://127.0.0.1:", 16) == 0);
    fixture_redirect(&fx, tcp);
    start(&job, &fx, 0, 1, STEPS);
    train(&fx, t, 1, STEPS, times);
    finish(&job);
    check_books(t, times, STEPS, 0);
    st_train_close(t);
    fixture_fini(&fx);
}

static void a_member_waits_for_its_rank(void **state)
{
    struct st_train *t = NULL;
    struct fixture fx;
    pthread_t late;
    struct stretto *s;
    int times[1] = {0};

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    pthread_create(&late, NULL, open_late, &t);
    s = fixture_member(0, 1);
    pthread_join(late, NULL);
    assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
    assert_int_equal(stretto_close(s), 0);
    /* below the threshold nothing is drawn, until reception is over */
    assert_int_equal(fixture_draw(&fx, t, 50, 1, times), ST_TRAIN_AGAIN);
    train(&fx, t, 1, 1, times);
    check_books(t, times, 1, 0);
    st_train_close(t);
    fixture_fini(&fx);
}

static void a_member_gives_up_at_its_deadline(void **state)
{
    struct fixture fx;
    struct stretto *s;
    char text[32];

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    snprintf(text, sizeof text, "%lld.25", (long long)time(NULL) + 1);
    setenv("STRETTO_DEADLINE", text, 1);
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{}", 1);
    assert_int_equal(stretto_open(&s), -1);
    assert_non_null(strstr(stretto_error(s), "walltime"));
    assert_true(stretto_time_left(s) <= 0);
    assert_int_equal(stretto_close(s), -1);
    fixture_fini(&fx);
}

static void a_member_without_a_parameter_is_refused(void **state)
{
    struct fixture fx;
    struct stretto *s;
    struct st_train *t;
    int rc = 0;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 1, \"b\": \"x\"}", 1);
    assert_int_equal(stretto_open(&s), 0);
    for (int64_t step = 0; step < 1000000 && rc == 0; step++)
        rc = fixture_send(&fx, s, 0, step);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(stretto_error(s), "\"b\""));
    assert_int_equal(stretto_close(s), -1);
    st_train_close(t);
    fixture_fini(&fx);
}

static void wrong_fields_are_refused_where_they_are_declared(void **state)
{
    int64_t right[] = {10, 1}, wrong[] = {11};
    struct fixture fx;
    struct stretto *s;
    struct st_train *t;
    float data[10] = {0};

    fixture_init(&fx, 10, 1, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(stretto_field(s, "v", STRETTO_FLOAT32, 1, right), -1);
    assert_non_null(strstr(stretto_error(s), "\"v\""));
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT32, 1, wrong), -1);
    assert_non_null(strstr(stretto_error(s), "11 here, but 10"));
    assert_int_equal(stretto_field(s, "u", STRETTO_INT32, 1, right), -1);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT32, 2, right), -1);
    assert_int_equal(stretto_send(s, 1, 0, data), -1); /* not declared */
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT32, 1, right), 1);
    assert_int_equal(stretto_send(s, 1, -1, data), -1);
    assert_int_equal(stretto_send(s, 1, 0, data), 0);
    assert_int_equal(stretto_finish(s), -1);
    assert_string_equal(stretto_error(s), "step 0 was sent without the field \"n\"");
    assert_int_equal(stretto_close(s), -1); /* "n" of step 0 is missing */
    assert_int_equal(stats_of(t).finalized, 0);
    st_train_close(t);
    fixture_fini(&fx);
}

static void without_a_stream_the_library_is_idle(void **state)
{
    int64_t shape[] = {3};
    float data[3] = {0};
    struct stretto *s;

    unsetenv("STRETTO_STREAM");
    unsetenv("STRETTO_DEADLINE");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_active(s), 0);
    assert_int_equal(stretto_field(s, "anything", STRETTO_FLOAT32, 1, shape), 0);
    assert_int_equal(stretto_send(s, 0, 1, data), 0);
    assert_true(isinf(stretto_time_left(s)));
    assert_int_equal(stretto_close(s), 0);
    assert_int_equal(stretto_close(NULL), 0);
}

static void an_idle_stream_lends_memory(void **state)
{
    int64_t shape[STRETTO_NDIM_MAX] = {3, 2}, wrong[] = {3, 0};
    enum stretto_dtype dtype;
    struct stretto *s;
    void *memory, *other;
    char name[16];
    int ndim;

    unsetenv("STRETTO_STREAM");
    unsetenv("STRETTO_DEADLINE");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_describe(s, "a", &dtype, &ndim, shape), 0);
    assert_int_equal(stretto_field(s, "a", STRETTO_FLOAT64, 2, shape), 0);
    assert_int_equal(stretto_field(s, "b", STRETTO_UINT8, 2, wrong), -1);
    assert_int_equal(stretto_lend(s, 0, &memory), 0);
    memset(memory, 1, 6 * sizeof(double));
    assert_int_equal(stretto_lend(s, 0, &other), 0);
    assert_ptr_equal(other, memory);
    assert_int_equal(stretto_send_lent(s, 0, 1), 0);
    assert_int_equal(stretto_send_lent(s, 0, 1), -1);
    assert_non_null(strstr(stretto_error(s), "nothing is lent for field \"a\""));
    assert_int_equal(stretto_lend(s, 3, &memory), -1);
    assert_null(memory);
    for (int i = 2; i < 64; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(stretto_field(s, name, STRETTO_FLOAT64, 0, NULL), i);
    }
    assert_int_equal(stretto_field(s, "one too many", STRETTO_FLOAT64, 0, NULL), -1);
    assert_int_equal(stretto_field(s, "f7", STRETTO_INT32, 0, NULL), 7);
    assert_int_equal(stretto_close(s), 0);
}

/* The memory that is lent is the message's own; other memory is narrowed when it is sent. */
static void what_is_written_into_lent_memory_is_sent(void **state)
{
    enum { STEPS = 3000, WIDTH = 100 };
    int *times = calloc(STEPS, sizeof *times);
    int64_t width = WIDTH, shape[STRETTO_NDIM_MAX];
    enum stretto_dtype dtype;
    struct fixture fx;
    struct stretto *s;
    struct st_train *t;
    void *n, *u, *again;
    int ndim;

    fixture_init(&fx, WIDTH, 1, 1, RESERVOIR(4000, 1, 10));
    setenv("STRETTO_STREAM_CHECKSUM", "1", 1);
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(stretto_describe(s, "u", &dtype, &ndim, shape), 1);
    assert_true(dtype == STRETTO_FLOAT32 && ndim == 1 && shape[0] == WIDTH && shape[1] == 1);
    assert_int_equal(stretto_describe(s, "v", &dtype, &ndim, shape), -1);
    assert_int_equal(stretto_lend(s, 1, &u), -1);
    assert_int_equal(stretto_field(s, "n", STRETTO_INT64, 0, NULL), 0);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 1);
    for (int step = 0; step < STEPS; step++) {
        if (step == STEPS / 2) { /* given as float64 up to here, and as the spec has it from here */
            assert_int_equal(stretto_lend(s, 1, &u), 0);
            assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT32, 1, &width), 1);
            assert_int_equal(stretto_send_lent(s, 1, step), -1);
        }
        assert_int_equal(stretto_lend(s, 0, &n), 0);
        assert_int_equal(stretto_lend(s, 1, &u), 0);
        assert_true(((uintptr_t)n | (uintptr_t)u) % 64 == 0);
        *(int64_t *)n = step;
        for (int i = 0; i < WIDTH; i++)
            if (step < STEPS / 2)
                ((double *)u)[i] = step / 8.0 + i;
            else
                ((float *)u)[i] = (float)(step / 8.0 + i);
        if (step == 7) {
            assert_int_equal(stretto_send_lent(s, 1, -1), -1); /* the mistake costs nothing */
            assert_int_equal(stretto_lend(s, 1, &again), 0);
            assert_ptr_equal(again, u);
        }
        assert_int_equal(stretto_send_lent(s, 1, step), 0);
        assert_int_equal(stretto_send_lent(s, 0, step), 0);
    }
    assert_int_equal(stretto_lend(s, 1, &u), 0); /* and never sent */
    assert_int_equal(stretto_close(s), 0);
    train(&fx, t, 1, STEPS, times);
    check_books(t, times, STEPS, 0);
    st_train_close(t);
    fixture_fini(&fx);
    free(times);
}

static void lent_memory_is_the_message_s_own(void **state)
{
    struct sendbuf_pool *pool = sendbuf_pool_create();
    struct lending l = {.lent = false};
    unsigned char *data, *next;
    zmq_msg_t msg;

    data = lending_lend(&l, pool, 1000);
    lending_take(&l, &msg);
    assert_ptr_equal((unsigned char *)zmq_msg_data(&msg) + FRAME_HEADER_SIZE, data);
    assert_int_equal(zmq_msg_size(&msg), FRAME_HEADER_SIZE + 1000);
    next = lending_lend(&l, pool, 1000);
    assert_ptr_not_equal(next, data);
    lending_fini(&l);
    zmq_msg_close(&msg);
    sendbuf_pool_destroy(pool);
}

static int again(int *rounds, int rc)
{
    *rounds += rc == STRETTO_AGAIN;
    return rc == STRETTO_AGAIN;
}

/* At open, in a full window, and at close; nothing is sent twice or lost by it. */
static void a_patient_stream_comes_back_while_it_waits(void **state)
{
    enum { STEPS = 60 };
    int times[STEPS] = {0}, opening = 0, sending = 0, closing = 0, rc;
    int64_t width = 1 << 18;
    struct fixture fx;
    struct stretto *s = NULL;
    struct st_train *t = NULL;
    double *data = calloc((size_t)width, sizeof *data);

    fixture_init(&fx, (int)width, 0, 1, RESERVOIR(8, 4, 4));
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    while (again(&opening, rc = stretto_open_patiently(&s, 5)))
        if (t == NULL && opening == 3)
            t = fixture_rank(0);
    assert_int_equal(rc, 0);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 0);
    for (int step = 0; step < STEPS; step++) {
        for (int64_t i = 0; i < width; i++)
            data[i] = step / 8.0 + (double)i;
        while (again(&sending, rc = stretto_send(s, 0, step, data)))
            assert_true(fixture_draw(&fx, t, 10, STEPS, times) != ST_TRAIN_END);
        assert_int_equal(rc, 0);
    }
    while (again(&closing, rc = stretto_finish(s)))
        assert_true(fixture_draw(&fx, t, 10, STEPS, times) != ST_TRAIN_END);
    assert_int_equal(rc, 0);
    assert_int_equal(stretto_send(s, 0, STEPS, data), -1);
    assert_non_null(strstr(stretto_error(s), "finished"));
    assert_int_equal(stretto_close(s), 0);
    assert_true(opening >= 3 && sending > 0 && closing > 0);
    train(&fx, t, 1, STEPS, times);
    check_books(t, times, STEPS, 0);
    assert_int_equal(stats_of(t).duplicates, 0);
    st_train_close(t);
    fixture_fini(&fx);
    free(data);
}

static void *interrupt_soon(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    st_train_interrupt(arg);
    return NULL;
}

static void a_wait_can_be_interrupted(void **state)
{
    struct fixture fx;
    struct st_train *t;
    pthread_t thread;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    assert_true(stats_of(t).sample_wait_seconds == 0);
    pthread_create(&thread, NULL, interrupt_soon, t);
    assert_int_equal(fixture_draw(&fx, t, -1, 1, NULL), ST_TRAIN_INTERRUPTED);
    assert_true(stats_of(t).sample_wait_seconds > 0.01);
    pthread_join(thread, NULL);
    st_train_close(t);
    fixture_fini(&fx);
}

static void the_daemon_is_told(void **state)
{
    struct fixture fx;
    struct st_train *t;
    struct stretto *s;
    struct error err;
    json_t *done, *status;
    size_t size;
    char *metrics;
    int times[1] = {0};

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
    assert_int_equal(stretto_close(s), 0);
    train(&fx, t, 1, 1, times);
    assert_int_equal(st_train_metric(t, "loss", 1, 0.5), 0);
    assert_int_equal(st_train_metric(t, "loss", 2, NAN), 0);
    assert_int_equal(st_train_metric(t, "", 2, 1), -1);
    assert_int_equal(access(fixture_path(&fx, "done-rank0.json"), F_OK), -1);
    assert_int_equal(st_train_done(t), 0);
    done = file_read_json(fixture_path(&fx, "done-rank0.json"), &err);
    status = file_read_json(fixture_path(&fx, "status-rank0.json"), &err);
    assert_string_equal(json_string_value(json_object_get(done, "state")), "done");
    assert_true(json_equal(done, status) || json_object_size(done) == json_object_size(status));
    for (size_t i = 0; i < 6; i++) {
        static const char *const keys[] = {"received", "unique", "drawn", "batches", "finalized", "version"};

        assert_int_equal(json_integer_value(json_object_get(done, keys[i])), 1);
    }
    assert_int_equal(file_read(fixture_path(&fx, "metrics-rank0.jsonl"), 10000, &metrics, &size, &err), 0);
    assert_non_null(strstr(metrics, "\"value\":0.5}\n{\"name\":\"loss\",\"step\":2,"));
    assert_non_null(strstr(metrics, "\"value\":null}\n"));
    free(metrics);
    json_decref(done);
    json_decref(status);
    st_train_close(t);
    fixture_fini(&fx);
}

static int time_limit(void **state)
{
    alarm(120);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_of_several_members_is_drawn),
        cmocka_unit_test(what_a_bad_network_loses_is_sent_again),
        cmocka_unit_test(a_trainer_that_stops_reading_stops_the_member),
        cmocka_unit_test(a_step_that_is_sent_again_counts_once),
        cmocka_unit_test(samples_are_dealt_to_all_ranks),
        cmocka_unit_test(a_loopback_address_is_listened_on_where_asked_for),
        cmocka_unit_test(a_member_waits_for_its_rank),
        cmocka_unit_test(a_member_gives_up_at_its_deadline),
        cmocka_unit_test(a_member_without_a_parameter_is_refused),
        cmocka_unit_test(wrong_fields_are_refused_where_they_are_declared),
        cmocka_unit_test(without_a_stream_the_library_is_idle),
        cmocka_unit_test(an_idle_stream_lends_memory),
        cmocka_unit_test(what_is_written_into_lent_memory_is_sent),
        cmocka_unit_test(lent_memory_is_the_message_s_own),
        cmocka_unit_test(a_patient_stream_comes_back_while_it_waits),
        cmocka_unit_test(a_wait_can_be_interrupted),
        cmocka_unit_test(the_daemon_is_told),
    };

    return cmocka_run_group_tests(tests, time_limit, NULL);
}

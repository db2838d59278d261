/* Members and a rank, from stretto_send() to stretto_train_batch(). */
#include "tests/unit/stream_checkpoints.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/stream_proxy.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void a_bad_network(int width, int steps, uint64_t seed)
{
    int *times = calloc((size_t)steps, sizeof *times);
    struct fixture fx;
    struct stretto_train *t;
    struct job job;
    struct proxy *proxy;
    char front[200];

    fixture_init(&fx, width, 1, 1, RESERVOIR(50, 5, 5));
    setenv("STRETTO_STREAM_SILENCE_MS", "20", 1);
    t = fixture_rank(0);
    snprintf(front, sizeof front, "ipc://%s", fixture_path(&fx, "proxy"));
    /* the first message is HELLO */
    proxy = proxy_start(front, fixture_endpoint(&fx), &(struct proxy_losses){.percent = 10, .seed = seed, .to_rank = 1});
    fixture_redirect(&fx, front);
    fixture_member_limit();
    start(&job, &fx, 0, 1, steps);
    fixture_train(&fx, t, 1, steps, times);
    finish(&job);
    assert_true(proxy_stop(proxy) > 0);
    fixture_check_books(t, times, steps, 0);
    stretto_train_close(t);
    fixture_fini(&fx);
    free(times);
}

static void what_a_bad_network_loses_is_sent_again(void **state)
{
    a_bad_network(3000, 300, 1); /* frames that travel alone, but for "n" */
    a_bad_network(1900, 1500, 1); /* and eight in a message */
    for (uint64_t seed = 2; seed <= 13; seed++)
        a_bad_network(3000, 8, seed); /* short, so that it is often one of the last messages */
}

/* One message is lost, which may be any of them, and no other. */
static void lose_one(struct proxy_losses losses)
{
    enum { ONE_STEPS = 4 };
    int times[ONE_STEPS] = {0};
    struct fixture fx;
    struct stretto_train *t;
    struct job job;
    struct proxy *proxy;
    char front[200];

    fixture_init(&fx, 3000, 1, 1, "{\"policy\": \"fifo\", \"capacity\": 50, \"batch\": 1}");
    setenv("STRETTO_STREAM_SILENCE_MS", "20", 1);
    t = fixture_rank(0);
    snprintf(front, sizeof front, "ipc://%s", fixture_path(&fx, "proxy"));
    proxy = proxy_start(front, fixture_endpoint(&fx), &losses);
    fixture_redirect(&fx, front);
    fixture_member_limit();
    start(&job, &fx, 0, 1, ONE_STEPS);
    for (int step = 0; step < ONE_STEPS; step++)
        assert_int_equal(fixture_draw(&fx, t, FIXTURE_LIMIT_SECONDS * 1000, ONE_STEPS, times), 1);
    finish(&job);
    assert_in_range(proxy_stop(proxy), 0, 1);
    assert_int_equal(fixture_stats(t).finalized, 1);
    fixture_check_books(t, times, ONE_STEPS, 0);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void each_message_may_be_lost(void **state)
{
    for (unsigned n = 1; n <= 12; n++) {
        lose_one((struct proxy_losses){.to_rank = n});
        lose_one((struct proxy_losses){.to_member = n});
    }
}

static int window_is_full(void *arg)
{
    struct job *job = arg;

    return job->sent >= 8 + 31;
}

static int has_waited(void *arg)
{
    return fixture_stats(arg).room_wait_seconds > 0.2;
}

static void a_trainer_that_stops_reading_stops_the_member(void **state)
{
    enum { STEPS = 200, CAPACITY = 8, WINDOW = 31 }; /* 32 MiB of frames a little above 1 MiB */
    int times[STEPS] = {0};
    struct fixture fx;
    struct stretto_train *t;
    struct job job;

    fixture_init(&fx, 1 << 18, 0, 1, RESERVOIR(8, 4, 4));
    t = fixture_rank(0);
    start(&job, &fx, 0, 1, STEPS);
    assert_true(fixture_wait(window_is_full, &job, 20000));
    assert_true(fixture_wait(has_waited, t, 20000));
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* in which it must not get any further */
    assert_in_range(job.sent, CAPACITY + WINDOW, CAPACITY + WINDOW);
    assert_int_equal(fixture_stats(t).population, CAPACITY);
    assert_int_equal(fixture_stats(t).unseen, CAPACITY);
    fixture_train(&fx, t, 1, STEPS, times);
    finish(&job);
    fixture_check_books(t, times, STEPS, 0);
    assert_int_equal(fixture_stats(t).bytes, (uint64_t)STEPS << 20);
    stretto_train_close(t);
    fixture_fini(&fx);
}

static void a_step_that_is_sent_again_counts_once(void **state)
{
    enum { STEPS = 20 };
    int times[STEPS] = {0};
    struct fixture fx;
    struct stretto_train *t;
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
    assert_int_equal(fixture_stats(t).finalized, 1);
    start(&job, &fx, 0, 3, STEPS);
    finish(&job);
    assert_int_equal(fixture_stats(t).finalized, 1);
    fixture_train(&fx, t, 1, STEPS, times);
    assert_int_equal(fixture_stats(t).unique, STEPS);
    assert_in_range(fixture_stats(t).duplicates, 0, 1); /* later attempts leave out what is there */
    assert_in_range(fixture_stats(t).skipped, 10, 20);
    fixture_check_books(t, times, STEPS, (int)fixture_stats(t).duplicates);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* The first draws of one of two ranks that hold so many samples each, as numbers in the order in which they came. */
static void note_draws(int rank, int steps, int64_t *drawn, int draws)
{
    char buffer[160];
    struct stretto_train_stats now;
    struct fixture fx;
    struct stretto_train *t[2];
    struct stretto *s;

    snprintf(buffer, sizeof buffer,
             "{\"policy\": \"reservoir\", \"capacity\": %d, \"threshold\": %d, \"batch\": %d, \"seed\": 7}",
             steps, steps, draws);
    fixture_init_ranks(&fx, 2, 10, 0, 1, buffer);
    for (int i = 0; i < 2; i++)
        t[i] = fixture_rank(i);
    s = fixture_member(0, 1);
    for (int step = 0; step < 2 * steps; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(stretto_close(s), 0);
    assert_int_equal(stretto_train_batch(t[rank], NULL, NULL, NULL, drawn, FIXTURE_LIMIT_SECONDS * 1000), draws);
    now = fixture_stats(t[rank]);
    assert_int_equal(now.unique, steps);
    for (int i = 0; i < draws; i++)
        drawn[i] /= 2;
    for (int i = 0; i < 2; i++)
        stretto_train_close(t[i]);
    fixture_fini(&fx);
}

/* Ranks that draw the same places of their buffers would train on the same moments of every member. */
static void each_rank_draws_its_own_way_and_the_same_again(void **state)
{
    enum { STEPS = 50, DRAWS = 30 };
    int64_t first[DRAWS], second[DRAWS], again[DRAWS];

    note_draws(0, STEPS, first, DRAWS);
    note_draws(1, STEPS, second, DRAWS);
    note_draws(1, STEPS, again, DRAWS);
    assert_memory_equal(second, again, sizeof again);
    assert_memory_not_equal(first, second, sizeof first);
}

/* Be it copied into the sample, as "n" is, or in a message of its own: what came first stays. */
static void a_field_that_is_sent_twice_is_taken_once(void **state)
{
    enum { WIDTH = 3000, STEPS = 2 };
    int64_t shape[] = {WIDTH}, n[STEPS] = {0, 1}, wrong = 7;
    double *first = calloc(WIDTH, sizeof *first), *again = calloc(WIDTH, sizeof *again);
    int times[STEPS] = {0}, number, u;
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;

    fixture_init(&fx, WIDTH, 1, 1, RESERVOIR(10, 1, 1));
    t = fixture_rank(0);
    fixture_member_limit();
    s = fixture_member(0, 1);
    number = stretto_field(s, "n", STRETTO_INT64, 0, NULL);
    u = stretto_field(s, "u", STRETTO_FLOAT64, 1, shape);
    for (int i = 0; i < WIDTH; i++)
        first[i] = i;
    assert_int_equal(stretto_send(s, number, 0, &n[0]), 0);
    assert_int_equal(stretto_send(s, number, 0, &wrong), 0);
    assert_int_equal(stretto_send(s, u, 0, first), 0);
    for (int i = 0; i < WIDTH; i++)
        first[i] = 1.0 / 8 + i;
    assert_int_equal(stretto_send(s, u, 1, first), 0);
    assert_int_equal(stretto_send(s, u, 1, again), 0);
    assert_int_equal(stretto_send(s, number, 1, &n[1]), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_train(&fx, t, 1, STEPS, times);
    fixture_check_books(t, times, STEPS, 0);
    stretto_train_close(t);
    fixture_fini(&fx);
    free(first);
    free(again);
}

/* The processes of a member may each open a stream: what one has sent of a step stays while the other comes and
 * goes. */
static void two_streams_of_one_attempt_are_both_served(void **state)
{
    enum { STEPS = 3 };
    int64_t shape[] = {10}, n = 0;
    int times[STEPS] = {0};
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s[2];
    double u[10];

    fixture_init(&fx, 10, 1, 1, "{\"policy\": \"fifo\", \"capacity\": 50, \"batch\": 1}");
    t = fixture_rank(0);
    fixture_member_limit();
    s[0] = fixture_member(0, 1);
    assert_int_equal(stretto_send(s[0], stretto_field(s[0], "n", STRETTO_INT64, 0, NULL), 0, &n), 0);
    s[1] = fixture_member(0, 1);
    assert_int_equal(fixture_send(&fx, s[1], 0, 1), 0);
    assert_int_equal(fixture_draw(&fx, t, FIXTURE_LIMIT_SECONDS * 1000, STEPS, times), 1);
    for (int i = 0; i < 10; i++)
        u[i] = i;
    assert_int_equal(stretto_send(s[0], stretto_field(s[0], "u", STRETTO_FLOAT64, 1, shape), 0, u), 0);
    assert_int_equal(fixture_draw(&fx, t, FIXTURE_LIMIT_SECONDS * 1000, STEPS, times), 1);
    assert_int_equal(stretto_close(s[1]), 0);
    assert_int_equal(fixture_send(&fx, s[0], 0, 2), 0);
    assert_int_equal(stretto_close(s[0]), 0);
    assert_int_equal(fixture_draw(&fx, t, FIXTURE_LIMIT_SECONDS * 1000, STEPS, times), 1);
    fixture_check_books(t, times, STEPS, 0);
    assert_int_equal(fixture_stats(t).finalized, 1);
    stretto_train_close(t);
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
    struct stretto_train *t;
    int rc = 0;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(100, 50, 5));
    t = fixture_rank(0);
    fixture_member_limit();
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 1, \"b\": \"x\"}", 1);
    assert_int_equal(stretto_open(&s), 0);
    for (int64_t step = 0; step < 1000000 && rc == 0; step++)
        rc = fixture_send(&fx, s, 0, step);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(stretto_error(s), "\"b\""));
    assert_int_equal(stretto_close(s), -1);
    stretto_train_close(t);
    fixture_fini(&fx);
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
    struct stretto_train *t = NULL;
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
            assert_true(fixture_draw(&fx, t, 10, STEPS, times) != STRETTO_TRAIN_END);
        assert_int_equal(rc, 0);
    }
    while (again(&closing, rc = stretto_finish(s)))
        assert_true(fixture_draw(&fx, t, 10, STEPS, times) != STRETTO_TRAIN_END);
    assert_int_equal(rc, 0);
    assert_int_equal(stretto_send(s, 0, STEPS, data), -1);
    assert_non_null(strstr(stretto_error(s), "finished"));
    assert_int_equal(stretto_close(s), 0);
    assert_true(opening >= 3 && sending > 0 && closing > 0);
    fixture_train(&fx, t, 1, STEPS, times);
    fixture_check_books(t, times, STEPS, 0);
    assert_int_equal(fixture_stats(t).duplicates, 0);
    stretto_train_close(t);
    fixture_fini(&fx);
    free(data);
}

/* A receiver that waits for room in the buffer when the training gives up is woken. */
static void a_full_buffer_does_not_hold_up_the_end(void **state)
{
    enum { WIDTH = 10 };
    double data[WIDTH] = {0};
    int64_t width = WIDTH, step = 0;
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s = NULL;

    fixture_init(&fx, WIDTH, 0, 1, RESERVOIR(8, 4, 4));
    t = fixture_rank(0);
    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    assert_int_equal(stretto_open_patiently(&s, 10), 0);
    assert_int_equal(stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 0);
    while (!has_waited(t)) {
        int rc = stretto_send(s, 0, step, data);

        assert_true(rc == 0 || rc == STRETTO_AGAIN);
        step += rc == 0;
    }
    test_limit(FIXTURE_LIMIT_SECONDS);
    stretto_train_close(t);
    fixture_time_limit(NULL);
    stretto_abort(s);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_bad_network_loses_is_sent_again),
        cmocka_unit_test(each_message_may_be_lost),
        cmocka_unit_test(a_trainer_that_stops_reading_stops_the_member),
        cmocka_unit_test(a_step_that_is_sent_again_counts_once),
        cmocka_unit_test(each_rank_draws_its_own_way_and_the_same_again),
        cmocka_unit_test(a_field_that_is_sent_twice_is_taken_once),
        cmocka_unit_test(two_streams_of_one_attempt_are_both_served),
        cmocka_unit_test(a_member_gives_up_at_its_deadline),
        cmocka_unit_test(a_member_without_a_parameter_is_refused),
        cmocka_unit_test(without_a_stream_the_library_is_idle),
        cmocka_unit_test(a_checkpoint_is_due_by_whichever_needs_more_time),
        cmocka_unit_test(a_checkpoint_is_in_its_directory),
        cmocka_unit_test(a_patient_stream_comes_back_while_it_waits),
        cmocka_unit_test(a_full_buffer_does_not_hold_up_the_end),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

/* Members and a rank, from stretto_send() to st_train_batch(). */
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RESERVOIR(capacity, threshold, batch) \
    "{\"policy\": \"reservoir\", \"capacity\": " #capacity ", \"threshold\": " #threshold ", \"batch\": " #batch ", \"seed\": 7}"

static struct st_train *open_rank(void)
{
    struct st_train *t;

    if (st_train_open(&t) < 0)
        fail_msg("%s", st_train_error(t));
    return t;
}

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
    int rc;
    pthread_t thread;
};

static void *send_steps(void *arg)
{
    struct job *job = arg;

    for (int step = 0; step < job->steps && job->rc == 0; step++) {
        job->rc = fixture_send(job->fx, job->s, job->member, step);
        atomic_fetch_add(&job->sent, 1);
    }
    if (job->rc == 0)
        job->rc = stretto_close(job->s);
    else
        stretto_abort(job->s);
    return NULL;
}

static void start(struct job *job, const struct fixture *fx, int member, int steps)
{
    *job = (struct job){.fx = fx, .member = member, .steps = steps, .s = fixture_member(member, 1)};
    assert_int_equal(pthread_create(&job->thread, NULL, send_steps, job), 0);
}

static void finish(struct job *job)
{
    pthread_join(job->thread, NULL);
    assert_int_equal(job->rc, 0);
}

static void every_sample_of_several_members_is_drawn(void **state)
{
    enum { MEMBERS = 5, STEPS = 200 };
    struct job job[MEMBERS];
    struct fixture fx;
    struct st_train_stats s;
    struct st_train *t;
    int *times = calloc(MEMBERS * STEPS, sizeof *times), total = 0;

    fixture_init(&fx, 100, 1, MEMBERS, RESERVOIR(60, 20, 10));
    t = open_rank();
    for (int m = 0; m < MEMBERS; m++)
        start(&job[m], &fx, m, STEPS);
    alarm(60);
    /* draws must go on for the members to come to their end */
    {
        pthread_t drawing;
        struct {
            const struct fixture *fx;
            struct st_train *t;
        } unused = {&fx, t};

        (void)unused;
        (void)drawing;
    }
    float u[10 * 100];
    int64_t n[10], member[10], step[10];
    double params[20];
    void *fields[] = {n, u};
    while (stats_of(t).finalized < MEMBERS) {
        int count = st_train_batch(t, fields, params, member, step, 20);

        assert_true(count == 10 || count == ST_TRAIN_AGAIN);
        for (int i = 0; i < count; i++)
            times[member[i] * STEPS + step[i]]++;
    }
    for (int m = 0; m < MEMBERS; m++)
        finish(&job[m]);
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    s = stats_of(t);
    for (int i = 0; i < MEMBERS * STEPS; i++) {
        assert_true(times[i] >= 1);
        total += times[i];
    }
    assert_int_equal(s.received, MEMBERS * STEPS);
    assert_int_equal(s.unique, MEMBERS * STEPS);
    assert_int_equal(s.duplicates + s.rejected + s.population + s.unseen, 0);
    assert_int_equal(s.drawn, MEMBERS * STEPS);
    assert_int_equal(s.drawn + s.repeats, total);
    st_train_close(t);
    fixture_fini(&fx);
    free(times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_of_several_members_is_drawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

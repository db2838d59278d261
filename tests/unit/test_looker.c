/* The thread on which errands are run: each once, in their order, also if there is no thread, and none after the
 * end. */
#include "tasks/runner/looker.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define N 50

static bool no_thread;
static int n_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *arg)
{
    if (no_thread)
        return EAGAIN;
    n_threads++;
    return __real_pthread_create(thread, attributes, routine, arg);
}

struct one {
    struct errand errand; /* must be first */
    int number;
    int run; /* how often */
    bool elsewhere;
};

static struct one all[N];
static int order[N];
static atomic_int n_run;
static pthread_t here;

static void run(struct errand *errand)
{
    struct one *one = (struct one *)errand;

    one->run++;
    one->elsewhere = !pthread_equal(pthread_self(), here);
    order[atomic_fetch_add(&n_run, 1)] = one->number;
}

static atomic_int n_stopped;

static void read_for_ever(struct errand *errand)
{
    while (!looker_is_stopped())
        usleep(1000);
    atomic_fetch_add(&n_stopped, 1);
}

static struct looker *begin(void)
{
    struct error err;
    struct looker *looker = looker_create(&err);

    assert_non_null(looker);
    assert_null(looker_next(looker));
    atomic_store(&n_run, 0);
    n_threads = 0;
    here = pthread_self();
    for (int i = 0; i < N; i++)
        all[i] = (struct one){.errand = {.run = run}, .number = i};
    return looker;
}

static bool is_readable(const struct looker *looker, int ms)
{
    struct pollfd fd = {.fd = looker_fd(looker), .events = POLLIN};

    return poll(&fd, 1, ms) == 1 && (fd.revents & POLLIN) != 0;
}

static struct one *wait_for_next(struct looker *looker)
{
    struct errand *errand = looker_next(looker);

    while (errand == NULL && is_readable(looker, 1000 * (int)test_wait_s()))
        errand = looker_next(looker);
    assert_non_null(errand);
    return (struct one *)errand;
}

static void errands_are_run_once_and_in_their_order(void **state)
{
    for (int without = 0; without < 2; without++) {
        struct looker *looker = begin();

        no_thread = without;
        for (int round = 0; round < 2; round++) { /* first many at once, then each after the other's end */
            for (int i = 0; i < N; i++)
                all[i].run = 0;
            atomic_store(&n_run, 0);
            for (int i = 0; i < N && round == 0; i++)
                looker_add(looker, &all[i].errand);
            for (int i = 0; i < N; i++) {
                if (round == 1)
                    looker_add(looker, &all[i].errand);
                assert_int_equal(wait_for_next(looker)->number, i);
            }
            for (int i = 0; i < N; i++) {
                assert_int_equal(all[i].run, 1);
                assert_int_equal(order[i], i);
                assert_int_equal(all[i].elsewhere, !without);
            }
            assert_null(looker_next(looker));
        }
        assert_int_equal(n_threads, !without);
        assert_false(is_readable(looker, 0)); /* or the runner would wake up all the time */
        looker_destroy(looker);
    }
    no_thread = false;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void run_behind_gate(struct errand *errand)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    run(errand);
}

/* The runner goes on meanwhile; and at its end it waits for the one that is being run, and for no other. */
static void an_errand_that_takes_long_delays_nobody(void **state)
{
    struct looker *looker = begin();

    pthread_mutex_lock(&gate);
    all[0].errand.run = run_behind_gate;
    looker_add(looker, &all[0].errand);
    looker_add(looker, &all[1].errand);
    assert_null(looker_next(looker));
    assert_false(is_readable(looker, 0));
    pthread_mutex_unlock(&gate);
    assert_int_equal(wait_for_next(looker)->number, 0);
    assert_int_equal(wait_for_next(looker)->number, 1);
    looker_destroy(looker);
}

static int next_fd(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void nothing_is_left_of_one(void **state)
{
    int fd = next_fd();
    struct looker *looker = begin();

    looker_destroy(looker); /* it never had a thread */
    looker = begin();
    looker_add(looker, &all[0].errand);
    wait_for_next(looker);
    looker_destroy(looker);
    looker_destroy(NULL);
    assert_int_equal(next_fd(), fd);
}

/* The rest of a file is not read any more, also by errands that have not begun. */
static void what_is_read_can_be_stopped(void **state)
{
    struct looker *looker = begin();

    all[0].errand.run = all[1].errand.run = read_for_ever;
    looker_add(looker, &all[0].errand);
    looker_add(looker, &all[1].errand);
    assert_false(looker_is_stopped()); /* here */
    looker_stop(looker);
    wait_for_next(looker);
    wait_for_next(looker);
    assert_int_equal(atomic_load(&n_stopped), 2);
    looker_destroy(looker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errands_are_run_once_and_in_their_order),
        cmocka_unit_test(an_errand_that_takes_long_delays_nobody),
        cmocka_unit_test(what_is_read_can_be_stopped),
        cmocka_unit_test(nothing_is_left_of_one),
    };

    test_limit(60); /* what never comes is a failure, too */
    return cmocka_run_group_tests_name("looker", tests, NULL, NULL);
}

/* Only the process that opened a stream can use it: in one that was forked from it each call fails and says why, at once,
 * and the stream goes on undisturbed. */
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 20

static bool is_refused(const struct stretto *s, int rc)
{
    return rc == -1 && strstr(stretto_error(s), "forked") != NULL;
}

static bool declares(struct stretto *s)
{
    return is_refused(s, stretto_field(s, "u", STRETTO_FLOAT64, 1, (int64_t[]){10}));
}

static bool describes(struct stretto *s)
{
    enum stretto_dtype dtype;
    int64_t shape[STRETTO_NDIM_MAX];
    int ndim;

    return is_refused(s, stretto_describe(s, "u", &dtype, &ndim, shape));
}

static bool sends(struct stretto *s)
{
    return is_refused(s, stretto_send(s, 0, STEPS, (double[10]){0}));
}

static bool lends(struct stretto *s)
{
    void *data;

    return is_refused(s, stretto_lend(s, 0, &data)) && is_refused(s, stretto_send_lent(s, 0, STEPS));
}

static bool leaves_a_checkpoint(struct stretto *s)
{
    return is_refused(s, stretto_checkpointed(s, "none", 0));
}

static bool finishes(struct stretto *s)
{
    return is_refused(s, stretto_finish(s));
}

static bool closes(struct stretto *s)
{
    return stretto_close(s) == -1;
}

static bool aborts(struct stretto *s)
{
    stretto_abort(s);
    return true;
}

static bool opens_another(struct stretto *s)
{
    struct stretto *other;

    return stretto_open(&other) == 0 && stretto_close(other) == 0;
}

static void a_forked_process_cannot_use_the_stream(void **state)
{
    static bool (*const calls[])(struct stretto *) = {declares, describes, sends, lends, leaves_a_checkpoint, finishes, closes, aborts, opens_another};
    static int times[STEPS];
    static struct stretto *s; /* which a child keeps, for the leak sanitizer */
    struct stretto_train *t;
    struct fixture fx;

    fixture_init(&fx, 10, 0, 1, RESERVOIR(50, 1, 1));
    t = fixture_rank(0);
    s = fixture_member(0, 1);
    for (size_t i = 0; i < STEPS; i++) {
        bool (*call)(struct stretto *) = i < sizeof calls / sizeof *calls ? calls[i] : NULL;
        int status;

        assert_int_equal(fixture_send(&fx, s, 0, (int64_t)i), 0);
        if (call != NULL) {
            pid_t child = fork();

            if (child == 0) {
                alarm(FIXTURE_LIMIT_SECONDS);
                _exit(call(s) ? 0 : 1);
            }
            assert_int_equal(waitpid(child, &status, 0), child);
            if (status != 0)
                fail_msg("call %zu ends a child with %#x", i, (unsigned)status);
        }
    }
    assert_int_equal(stretto_close(s), 0);
    fixture_train(&fx, t, 1, STEPS, times);
    fixture_check_books(t, times, STEPS, 0);
    stretto_train_close(t);
    fixture_fini(&fx);
}

/* It has neither connections nor threads. */
static void any_process_can_use_an_idle_stream(void **state)
{
    struct stretto *s;
    int status;
    pid_t child;

    unsetenv("STRETTO_STREAM");
    assert_int_equal(stretto_open(&s), 0);
    child = fork();
    if (child == 0)
        _exit(stretto_field(s, "u", STRETTO_FLOAT64, 1, (int64_t[]){10}) == 0 && stretto_send(s, 0, 0, (double[10]){0}) == 0 && stretto_close(s) == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(stretto_close(s), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_process_cannot_use_the_stream),
        cmocka_unit_test(any_process_can_use_an_idle_stream),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

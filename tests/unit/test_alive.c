/* The signs by which programs that use the libraries show the runner that they are not hung: each call that may be the
 * only one of a program's loop gives one. */
#include "tasks/proto/alive.h"

#include "common/timefmt.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[] = "/tmp/stretto-alive-XXXXXX", sign[64];

/* Takes the last sign away, and waits until the next one is due. */
static void forget(void)
{
    int64_t now = time_monotonic_ms();

    while (time_monotonic_ms() < now + 2)
        usleep(1000);
    unlink(sign);
}

#define GIVES_A_SIGN(call)                                                                                                       \
    do {                                                                                                                         \
        forget();                                                                                                                \
        (void)(call);                                                                                                            \
        if (access(sign, F_OK) != 0)                                                                                             \
            fail_msg("%s gives no sign", #call);                                                                                 \
    } while (0)

static void each_call_of_a_member_gives_a_sign(void **state)
{
    int64_t shape[] = {2};
    double u[2] = {0};
    struct stretto *s;
    void *lent;

    GIVES_A_SIGN(stretto_open(&s)); /* an idle one */
    stretto_field(s, "u", STRETTO_FLOAT64, 1, shape);
    GIVES_A_SIGN(stretto_send(s, 0, 0, u));
    GIVES_A_SIGN(stretto_send_extent(s, 0, 0, 2, u));
    assert_int_equal(stretto_lend(s, 0, &lent), 0);
    GIVES_A_SIGN(stretto_send_lent(s, 0, 0));
    GIVES_A_SIGN(stretto_checkpoint_due(s, 0));
    GIVES_A_SIGN(stretto_checkpointed(s, "none", 0));
    GIVES_A_SIGN(stretto_finish(s));
    GIVES_A_SIGN(stretto_close(s));
}

/* The runner names the pause in its environment, which is read once: another process has another one. */
static void signs_are_so_far_apart_as_the_runner_says(void **state)
{
    static const struct {
        const char *named, *ms;
        int64_t pause;
    } rows[] = {{"/tmp/x", "19", 19}, {"/tmp/x", "0", INT64_MAX}, {"/tmp/x", "-5", INT64_MAX},
                {"x", "19", INT64_MAX}, {NULL, "19", INT64_MAX}, {"/tmp/x", NULL, INT64_MAX}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            rows[i].named != NULL ? setenv("STRETTO_ALIVE", rows[i].named, 1) : unsetenv("STRETTO_ALIVE");
            rows[i].ms != NULL ? setenv("STRETTO_ALIVE_MS", rows[i].ms, 1) : unsetenv("STRETTO_ALIVE_MS");
            _exit(alive_pause_ms() == rows[i].pause ? 0 : 1);
        }
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (status != 0)
            fail_msg("row %zu", i);
    }
}

static off_t size_of_sign(void)
{
    struct stat st;

    assert_int_equal(stat(sign, &st), 0);
    return st.st_size;
}

static void each_call_of_a_training_gives_a_sign(void **state)
{
    struct fixture fx;
    struct stretto_train *t;
    struct stretto *s;
    int times[2] = {0};

    fixture_init(&fx, 4, 0, 1, "{\"policy\": \"fifo\", \"capacity\": 10, \"threshold\": 0, \"batch\": 1, \"seed\": 7}");
    t = fixture_rank(0);
    GIVES_A_SIGN(stretto_train_batch(t, NULL, NULL, NULL, NULL, 0));
    GIVES_A_SIGN(stretto_train_metric(t, "loss", 1, 1));
    GIVES_A_SIGN(stretto_train_report(t, 1, &(int64_t){0}, &(double){1}));
    GIVES_A_SIGN(stretto_train_checkpoint_due(t));
    GIVES_A_SIGN(stretto_train_checkpoint_begin(t, 1));
    GIVES_A_SIGN(stretto_train_checkpoint_cut(t, STRETTO_TRAIN_CHECKPOINT_DUE));
    GIVES_A_SIGN(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_DUE));
    assert_int_equal(size_of_sign(), 0);
    s = fixture_member(0, 1);
    for (int step = 0; step < 2; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(stretto_close(s), 0);
    for (int step = 0; step < 2; step++) {
        assert_int_equal(fixture_draw(&fx, t, FIXTURE_LIMIT_SECONDS * 1000, 2, times), 1);
        assert_int_equal(size_of_sign(), 1); /* it learns */
    }
    fixture_over(&fx);
    assert_int_equal(fixture_draw(&fx, t, FIXTURE_LIMIT_SECONDS * 1000, 2, times), STRETTO_TRAIN_END);
    assert_int_equal(size_of_sign(), 0); /* and does not any more */
    stretto_train_close(t);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_are_so_far_apart_as_the_runner_says), /* before the environment is read here */
        cmocka_unit_test(each_call_of_a_member_gives_a_sign),
        cmocka_unit_test(each_call_of_a_training_gives_a_sign),
    };
    int failed;

    if (mkdtemp(dir) == NULL)
        return 99;
    snprintf(sign, sizeof sign, "%s/sign", dir);
    setenv("STRETTO_ALIVE", sign, 1);
    setenv("STRETTO_ALIVE_MS", "1", 1);
    failed = cmocka_run_group_tests(tests, fixture_time_limit, NULL);
    unlink(sign);
    rmdir(dir);
    return failed;
}

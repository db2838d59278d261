/* The account that a member keeps of its stream: a checkpoint is offered once every sample before it is held whole by
 * the rank. */
#include "common/files.h"
#include "tasks/proto/ckptdir.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 10 };

static char dir[128];

/* Leave a checkpoint behind what was sent so far. */
static void leave(struct stretto *s, int step)
{
    struct error err;
    char path[160];

    snprintf(path, sizeof path, "%s/at-%d", dir, step);
    assert_int_equal(file_write_whole(path, "whole", 5, 0600, &err), 0);
    if (stretto_checkpointed(s, path, step) < 0)
        fail_msg("%s", stretto_error(s));
}

/* The step of the checkpoint that another attempt would go on from; -1 where there is none. */
static int64_t offered(void)
{
    struct ckpt_list list;
    struct error err;
    const struct ckpt *newest;
    int64_t step;

    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    newest = ckptdir_newest(dir, &list, &(struct ckpt_chain){.ensemble = 7, .generation = 1});
    step = newest != NULL ? newest->step : -1;
    ckptdir_free(&list);
    return step;
}

/* The rank forgets what it has of a step when the attempt is over before the rest has come. */
static void half_a_step_is_not_held(void **state)
{
    int64_t width = WIDTH, n = 1;
    double u[WIDTH] = {0};
    struct fixture fx;
    struct st_train *t;
    struct stretto *s;
    struct error err;
    char command[200];

    fixture_init(&fx, WIDTH, 1, 1, RESERVOIR(100, 1, 1));
    snprintf(dir, sizeof dir, "%s", fixture_path(&fx, "checkpoints"));
    assert_int_equal(ckptdir_make(dir, &err), 0);
    setenv("STRETTO_CHECKPOINT_DIR", dir, 1);
    t = fixture_rank(0);
    fixture_member_limit();
    for (int attempt = 1; attempt <= 2; attempt++) {
        s = fixture_member(0, attempt);
        assert_int_equal(fixture_send(&fx, s, 0, 0), 0);
        leave(s, 0);
        assert_int_equal(offered(), 0);
        assert_int_equal(stretto_send(s, stretto_field(s, "u", STRETTO_FLOAT64, 1, &width), 1, u), 0);
        leave(s, 1);
        assert_int_equal(offered(), -1); /* which would begin with step 2 */
        if (attempt == 1) { /* and no more comes of it */
            stretto_abort(s);
            assert_int_equal(offered(), -1);
            continue;
        }
        assert_int_equal(stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), 1, &n), 0);
        assert_int_equal(stretto_close(s), 0);
        assert_int_equal(offered(), 1);
    }
    st_train_close(t);
    unsetenv("STRETTO_CHECKPOINT_DIR");
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_step_is_not_held),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

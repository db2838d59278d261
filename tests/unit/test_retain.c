/* Real ranks and members, where drawn samples reach the limit up to which they are retained: reception waits for the
 * checkpoint, and never for one that does not come. */
#include "common/files.h"
#include "common/timefmt.h"
#include "tasks/proto/kept.h"
#include "tasks/train/state.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit_dir.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RETAIN = 10, CAPACITY = 10, BATCH = 5, STEPS = 400 };
#define LIMIT_MS (FIXTURE_LIMIT_SECONDS * 1000)
#define BUFFER(policy) "{\"policy\": \"" policy "\", \"capacity\": 10, \"threshold\": 0, \"batch\": 5, \"seed\": 7}"
#define ON_ITS_WAY 64 /* samples that the receiver puts in at once */

static char dir[64];
static int memory[2];
static int times[STEPS];
static atomic_bool slow; /* the disk takes its time for the list of checkpoints */

/* Takes the place of the C library's. */
int fsync(int fd)
{
    char link[40], name[256];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    while (atomic_load(&slow) && strstr(name, "checkpoints.json") != NULL)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return (int)syscall(SYS_fsync, fd);
}

static void configure(const struct fixture *fx, const char *key, json_t *value)
{
    struct error err;
    json_t *json = file_read_json(fixture_path(fx, "training.json"), &err);

    json_object_set_new(json, key, value);
    assert_int_equal(file_write_json(fixture_path(fx, "training.json"), json, 0600, &err), 0);
    json_decref(json);
}

static void set_up_fields(struct fixture *fx, int ranks, int with_n, const char *buffer)
{
    fixture_init_ranks(fx, ranks, 4, with_n, 1, buffer);
    unit_dir_make(dir);
    configure(fx, "checkpoint",
              json_pack("{s:s, s:i, s:i}", "dir", dir, "keep", 2, "retain", RETAIN));
    unsetenv("STRETTO_CHECKPOINT_SIGNAL");
    unsetenv("STRETTO_RESTART");
    memset(times, 0, sizeof times);
    for (int rank = 0; rank < ranks; rank++) {
        struct kept_head head = {.magic = KEPT_MAGIC};

        snprintf(head.owner, sizeof head.owner, "st-1/1.training.%d", rank);
        memory[rank] = memfd_create("kept", MFD_CLOEXEC);
        assert_int_equal(pwrite(memory[rank], &head, sizeof head, 0), sizeof head);
    }
}

static void set_up(struct fixture *fx, int ranks, const char *buffer)
{
    set_up_fields(fx, ranks, 0, buffer);
}

static void tear_down(struct fixture *fx)
{
    for (int rank = 0; rank < fx->ranks; rank++) {
        char name[40];

        close(memory[rank]);
        snprintf(name, sizeof name, "metrics-rank%d.jsonl", rank);
        unlink(fixture_path(fx, name));
        snprintf(name, sizeof name, "done-rank%d.json", rank);
        unlink(fixture_path(fx, name));
    }
    fixture_fini(fx);
    state_remove(unit_dir_top(dir));
    unsetenv("STRETTO_KEPT");
    unsetenv("STRETTO_RESTART");
}

static struct stretto_train *start(int rank)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), memory[rank]);
    setenv("STRETTO_KEPT", path, 1);
    snprintf(path, sizeof path, "st-1/1.training.%d", rank);
    setenv("STRETTO_TASK", path, 1);
    return fixture_rank(rank);
}

static enum kept_state told(int rank)
{
    struct kept_head head;

    assert_int_equal(pread(memory[rank], &head, sizeof head, 0), sizeof head);
    return (enum kept_state)head.state;
}

/* A member that sends all steps, in a thread of its own. */
struct sender {
    pthread_t thread;
    const struct fixture *fx;
    struct stretto *s;
    atomic_bool over;
};

static const char *send_steps(struct sender *sender)
{
    for (int step = 0; step < STEPS; step++)
        if (fixture_send(sender->fx, sender->s, 0, step) != 0)
            return "it could not send";
    return stretto_close(sender->s) == 0 ? NULL : "it could not close";
}

static void *send_all(void *arg)
{
    struct sender *sender = arg;
    const char *failed = send_steps(sender);

    atomic_store(&sender->over, true);
    return (void *)failed;
}

static void begin_to_send(struct sender *sender, const struct fixture *fx)
{
    sender->fx = fx;
    atomic_store(&sender->over, false);
    sender->s = fixture_member(0, 1);
    assert_int_equal(pthread_create(&sender->thread, NULL, send_all, sender), 0);
}

static void join(struct sender *sender)
{
    void *failed;

    pthread_join(sender->thread, &failed);
    if (failed != NULL)
        fail_msg("%s", (const char *)failed);
}

static int draw(const struct fixture *fx, struct stretto_train *t, int timeout_ms)
{
    return fixture_draw(fx, t, timeout_ms, STEPS, times);
}

/* Draws until nothing comes for so long. */
static void draw_out(const struct fixture *fx, struct stretto_train *t, int patience_ms)
{
    while (draw(fx, t, patience_ms) != STRETTO_TRAIN_AGAIN)
        ;
}

static void save(struct stretto_train *t, int64_t step)
{
    const char *path = stretto_train_checkpoint_begin(t, step);
    struct error err;

    if (path == NULL)
        fail_msg("%s", stretto_train_error(t));
    assert_int_equal(file_write_whole(path, "x", 1, 0600, &err), 0);
    assert_int_equal(stretto_train_checkpoint_end(t, STRETTO_TRAIN_CHECKPOINT_DUE), 0);
}

static void each_was_drawn(int steps)
{
    for (int i = 0; i < steps; i++)
        if (times[i] == 0)
            fail_msg("step %d was never drawn", i);
}

static int is_drawn(void *arg)
{
    return fixture_stats(arg).drawn == STEPS;
}

/* The checkpoint is begun and takes its time. Meanwhile what the buffer has is drawn, and no more comes. */
static void reception_waits_until_the_checkpoint_is_whole(void **state)
{
    struct sender sender;
    struct stretto_train *t;
    struct fixture fx;
    uint64_t most = 2 * RETAIN + CAPACITY + BATCH + ON_ITS_WAY;

    set_up(&fx, 1, BUFFER("fifo"));
    t = start(0);
    begin_to_send(&sender, &fx);
    while (fixture_stats(t).drawn < RETAIN)
        draw(&fx, t, 100);
    assert_int_equal(stretto_train_checkpoint_due(t), STRETTO_TRAIN_CHECKPOINT_DUE);
    assert_non_null(stretto_train_checkpoint_begin(t, 1));
    draw_out(&fx, t, 1500); /* much longer than reception waits for a program that does not save */
    assert_in_range(fixture_stats(t).drawn, 2 * RETAIN, most);
    assert_int_equal(told(0), KEPT_COMPLETE);
    assert_int_equal(stretto_train_checkpoint_end(t, 0), 0); /* it could not be saved */
    assert_int_equal(told(0), KEPT_LACKING);
    draw_out(&fx, t, 1500);
    assert_int_equal(fixture_stats(t).drawn, STEPS);
    join(&sender);
    stretto_train_close(t);
    each_was_drawn(STEPS);
    tear_down(&fx);
}

/* The program saves whenever a checkpoint is due. */
static void nothing_is_let_go_that_no_checkpoint_has(void **state)
{
    struct sender sender;
    struct stretto_train *t;
    struct fixture fx;
    int64_t step = 0;

    set_up(&fx, 1, BUFFER("reservoir"));
    t = start(0);
    begin_to_send(&sender, &fx);
    while (fixture_stats(t).drawn < STEPS) {
        draw(&fx, t, 100);
        if (stretto_train_checkpoint_due(t) == STRETTO_TRAIN_CHECKPOINT_DUE)
            save(t, ++step);
        assert_int_equal(told(0), KEPT_COMPLETE);
    }
    assert_in_range(step, STEPS / (2 * RETAIN + ON_ITS_WAY) - 1, STEPS / RETAIN);
    join(&sender);
    stretto_train_close(t);
    tear_down(&fx);
}

/* The parts are there, and the list takes long to be written. The program goes on, or waits for samples. */
static void a_checkpoint_that_is_added_to_the_list_is_waited_for(void **state)
{
    static const char *const buffers[] = {BUFFER("reservoir"), BUFFER("fifo")};

    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        struct sender sender;
        struct stretto_train *t;
        struct fixture fx;
        int64_t until;
        bool complete;

        set_up(&fx, 1, buffers[i]);
        t = start(0);
        begin_to_send(&sender, &fx);
        while (stretto_train_checkpoint_due(t) != STRETTO_TRAIN_CHECKPOINT_DUE)
            draw(&fx, t, 100);
        atomic_store(&slow, true);
        save(t, 1);
        until = time_monotonic_ms() + 1500; /* much longer than reception waits for a program that does not save */
        for (complete = true; time_monotonic_ms() < until; complete = complete && told(0) == KEPT_COMPLETE)
            draw(&fx, t, 100);
        atomic_store(&slow, false);
        assert_true(complete);
        while (!is_drawn(t))
            assert_true(draw(&fx, t, LIMIT_MS) > 0);
        join(&sender);
        stretto_train_close(t);
        each_was_drawn(STEPS);
        tear_down(&fx);
    }
}

/* The program never asks whether a checkpoint is due, in FIFO since it waits for samples, in a reservoir although it
 * goes on. */
static void a_program_that_does_not_save_is_not_waited_for(void **state)
{
    static const char *const buffers[] = {BUFFER("fifo"), BUFFER("reservoir"), BUFFER("firo")};

    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        struct sender sender;
        struct stretto_train *t;
        struct fixture fx;
        int64_t until;

        set_up(&fx, 1, buffers[i]);
        t = start(0);
        begin_to_send(&sender, &fx);
        until = time_monotonic_ms() + 2 * LIMIT_MS;
        while (!is_drawn(t)) {
            assert_true(draw(&fx, t, LIMIT_MS) > 0);
            assert_true(time_monotonic_ms() < until); /* a reservoir gives the same samples again and again */
        }
        assert_int_equal(told(0), KEPT_LACKING);
        join(&sender);
        stretto_train_close(t);
        each_was_drawn(STEPS);
        tear_down(&fx);
    }
}

/* The program of rank 0 waits for that of rank 1, as in a collective call, and this one for samples, which members
 * that wait for rank 0 do not send. It goes on to ask for them also when it has all of its own, as before the end of
 * reception. */
static void no_rank_starves_because_another_one_waits(void **state)
{
    struct sender sender;
    struct stretto_train *t[2];
    struct fixture fx;

    set_up(&fx, 2, "{\"policy\": \"fifo\", \"capacity\": 300, \"threshold\": 0, \"batch\": 5, \"seed\": 7}");
    for (int rank = 0; rank < 2; rank++)
        t[rank] = start(rank);
    begin_to_send(&sender, &fx);
    while (fixture_stats(t[0]).drawn < 2 * RETAIN + BATCH)
        draw(&fx, t[0], 100);
    while (!atomic_load(&sender.over))
        draw(&fx, t[1], 100);
    join(&sender);
    draw_out(&fx, t[1], 1000);
    draw_out(&fx, t[0], 1000);
    for (int rank = 0; rank < 2; rank++)
        stretto_train_close(t[rank]);
    each_was_drawn(STEPS);
    tear_down(&fx);
}

/* The rank is killed between the two fields of a step, which is whole once the second one has come; the member has sent
 * others whole. */
static void half_a_sample_outlives_its_process(void **state)
{
    int64_t shape[] = {4}, n = 0;
    double u[] = {0, 1, 2, 3};
    struct stretto_train *t;
    struct stretto *s;
    struct fixture fx;

    set_up_fields(&fx, 1, 1, BUFFER("fifo"));
    t = start(0);
    s = fixture_member(0, 1);
    for (int step = 1; step < 4; step++)
        assert_int_equal(fixture_send(&fx, s, 0, step), 0);
    assert_int_equal(stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), 0, &n), 0);
    assert_int_equal(stretto_checkpointed(s, "none", 0), 0); /* it is held */
    stretto_train_close(t);
    setenv("STRETTO_RESTART", "1", 1);
    t = start(0);
    assert_int_equal(fixture_stats(t).unique, 3);
    assert_int_equal(stretto_send(s, stretto_field(s, "u", STRETTO_FLOAT64, 1, shape), 0, u), 0);
    assert_int_equal(stretto_close(s), 0);
    fixture_over(&fx);
    fixture_draw_all(&fx, t, STEPS, times);
    for (int step = 0; step < 4; step++)
        assert_int_equal(times[step], 1);
    stretto_train_close(t);
    tear_down(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reception_waits_until_the_checkpoint_is_whole),
        cmocka_unit_test(nothing_is_let_go_that_no_checkpoint_has),
        cmocka_unit_test(a_checkpoint_that_is_added_to_the_list_is_waited_for),
        cmocka_unit_test(a_program_that_does_not_save_is_not_waited_for),
        cmocka_unit_test(no_rank_starves_because_another_one_waits),
        cmocka_unit_test(half_a_sample_outlives_its_process),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

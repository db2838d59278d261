/* A stream goes on from one generation of ranks to the next: every sample comes exactly once, to the ranks of the
 * former if these have acknowledged it, otherwise to those of the latter. */
#include "common/files.h"
#include "tasks/proto/ckptdir.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/stream_puppets.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIFO "{\"policy\": \"fifo\", \"capacity\": 200, \"threshold\": 0, \"batch\": 1}"

static int times[STEPS];

struct stretto *open_member(void)
{
    struct stretto *s = NULL;

    setenv("STRETTO_MEMBER", "0", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{\"a\": 0, \"b\": 0.5}", 1);
    setenv("STRETTO_STREAM_SILENCE_MS", "50", 1);
    fixture_member_limit();
    if (stretto_open_patiently(&s, 10) != 0)
        fail_msg("%s", stretto_error(s));
    return s;
}

void begin(struct fixture *fx, int ranks, int width, int with_n)
{
    memset(times, 0, sizeof times);
    fixture_init_ranks(fx, ranks, width, with_n, 1, FIFO);
    unsetenv("STRETTO_CHECKPOINT_DIR");
}

static struct crew start(const struct fixture *fx)
{
    struct crew crew = {.ranks = fx->ranks};

    for (int i = 0; i < crew.ranks; i++)
        crew.t[i] = fixture_rank(i);
    return crew;
}

static void stop(struct crew *crew)
{
    for (int i = 0; i < crew->ranks; i++)
        stretto_train_close(crew->t[i]);
    crew->ranks = 0;
}

void draw(const struct fixture *fx, struct crew *crew)
{
    for (int i = 0; i < crew->ranks; i++)
        while (fixture_stats(crew->t[i]).unseen > 0)
            assert_true(fixture_draw(fx, crew->t[i], 100, STEPS, times) >= STRETTO_TRAIN_AGAIN);
}

int send_field(const struct fixture *fx, struct stretto *s, int64_t step, int field)
{
    int64_t shape[] = {fx->width}, n = step;
    int u = stretto_field(s, "u", STRETTO_FLOAT32, 1, shape), rc;
    float *data;

    if (field == 1)
        return stretto_send(s, stretto_field(s, "n", STRETTO_INT64, 0, NULL), step, &n);
    data = malloc((size_t)fx->width * sizeof *data);
    for (int i = 0; i < fx->width; i++)
        data[i] = (float)((double)step / 8 + i);
    rc = stretto_send(s, u, step, data);
    free(data);
    return rc;
}

static void send_steps(const struct fixture *fx, struct stretto *s, struct crew *crew, int from, int to)
{
    for (int step = from; step < to; step++)
        for (int field = 0; field <= fx->with_n; field++)
            UNTIL_OVER(fx, s, crew, send_field(fx, s, step, field));
}

/* Sends until nothing more has room, to ranks that are gone. Returns the first step that was not sent whole, and the
 * field of it that is to be sent next. */
int fill_window(const struct fixture *fx, struct stretto *s, int from, int to, int *field)
{
    for (int step = from; step < to; step++)
        for (*field = 0; *field <= fx->with_n; ++*field) {
            int rc = send_field(fx, s, step, *field);

            if (rc == STRETTO_AGAIN)
                return step;
            assert_int_equal(rc, 0);
        }
    *field = 0;
    return to;
}

static void wait_until_held(const struct fixture *fx, struct stretto *s, struct crew *crew)
{
    UNTIL_OVER(fx, s, crew, stretto_checkpointed(s, "none", 0)); /* nobody keeps it: it only waits */
}

static void end_well(const struct fixture *fx, struct stretto *s, struct crew *crew)
{
    UNTIL_OVER(fx, s, crew, stretto_finish(s));
    stretto_abort(s);
    fixture_over(fx);
    for (int i = 0; i < crew->ranks; i++) {
        struct stretto_train_stats now;

        fixture_draw_all(fx, crew->t[i], STEPS, times);
        now = fixture_stats(crew->t[i]);
        assert_int_equal(now.finalized, 1);
        assert_int_equal(now.rejected, 0);
        assert_int_equal(now.duplicates, 0);
    }
}

static void each_came_once(int steps)
{
    for (int i = 0; i < steps; i++)
        if (times[i] != 1)
            fail_msg("step %d came %d times", i, times[i]);
}

/* One step further: the ranks end when all that they have acknowledged is drawn, the member goes on sending until
 * nothing has room, and then the next ranks begin. Returns the next step. */
static int go_on(struct fixture *fx, struct stretto *s, struct crew *crew, int ranks, int step, int most)
{
    int field, next;

    wait_until_held(fx, s, crew);
    draw(fx, crew);
    stop(crew);
    next = fill_window(fx, s, step, step + most, &field);
    assert_true(next > step);
    fixture_generation(fx, fx->generation + 1, ranks);
    *crew = start(fx);
    fixture_announce(fx, 1);
    for (; next < step + most && field > 0 && field <= fx->with_n; field++)
        UNTIL_OVER(fx, s, crew, send_field(fx, s, next, field));
    return field > 0 ? next + 1 : next;
}

static const struct {
    int width, with_n, most; /* steps that are sent while there are no ranks, at most */
} sizes[] = {
    {SMALL, 1, 300}, /* frames that share messages */
    {MEDIUM, 0, 4 * WINDOW}, /* as many messages as two ranks' windows have room for */
    {LARGE, 1, 400}, /* in shared memory */
};

static void every_sample_comes_once_to_changing_numbers_of_ranks(void **state)
{
    static const int ranks[] = {1, 3, 1, 1, 4, 2, 1};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fixture fx;
        struct stretto *s;
        struct crew crew;
        int step = 50;

        begin(&fx, 2, sizes[i].width, sizes[i].with_n);
        crew = start(&fx);
        s = open_member();
        send_steps(&fx, s, &crew, 0, step);
        for (size_t j = 0; j < sizeof ranks / sizeof *ranks && step + sizes[i].most + 50 <= STEPS; j++) {
            step = go_on(&fx, s, &crew, ranks[j], step, sizes[i].most);
            send_steps(&fx, s, &crew, step, step + 50);
            step += 50;
        }
        end_well(&fx, s, &crew);
        each_came_once(step);
        stop(&crew);
        fixture_fini(&fx);
    }
}

/* Memory that is shared with the former ranks is shared with the next ones, and nothing in it is copied; ranks that do
 * not share it get the payloads. */
static void shared_payloads_stay_where_they_are(void **state)
{
    static const char *const shares[] = {"1", "0"};

    for (size_t i = 0; i < 2; i++) {
        struct fixture fx;
        struct stretto *s;
        struct crew crew;
        int field, sent;
        uint64_t memory;

        begin(&fx, 1, LARGE, 0);
        setenv("STRETTO_STREAM_CHECKSUM", "1", 1);
        crew = start(&fx);
        s = open_member();
        send_steps(&fx, s, &crew, 0, 1);
        wait_until_held(&fx, s, &crew);
        draw(&fx, &crew);
        stop(&crew);
        sent = fill_window(&fx, s, 1, STEPS, &field);
        fixture_generation(&fx, 2, 2);
        setenv("STRETTO_STREAM_MEMORY", shares[i], 1);
        crew = start(&fx);
        unsetenv("STRETTO_STREAM_MEMORY");
        fixture_announce(&fx, 1);
        UNTIL_OVER(&fx, s, &crew, stretto_finish(s));
        memory = fixture_stats(crew.t[0]).memory_bytes + fixture_stats(crew.t[1]).memory_bytes;
        assert_int_equal(memory, i == 0 ? (uint64_t)(sent - 1) * LARGE * sizeof(float) : 0);
        end_well(&fx, s, &crew);
        each_came_once(sent);
        stop(&crew);
        fixture_fini(&fx);
    }
}

static void set_key(const struct fixture *fx, const char *name, const char *key, json_t *value)
{
    struct error err;
    json_t *file = file_read_json(fixture_path(fx, name), &err);

    assert_non_null(file);
    json_object_set_new(file, key, value);
    assert_int_equal(file_write_json(fixture_path(fx, name), file, 0600, &err), 0);
    json_decref(file);
}

/* Makes the first rank of that generation appear to be on another host, which is reached by its second address only. */
static void put_elsewhere(const struct fixture *fx, int generation)
{
    struct error err;
    json_t *rank, *endpoints;
    char name[40];

    snprintf(name, sizeof name, "g%d-rank0.json", generation);
    rank = file_read_json(fixture_path(fx, name), &err);
    assert_non_null(rank);
    endpoints = json_deep_copy(json_object_get(rank, "endpoints"));
    json_array_set_new(endpoints, 0, json_string("tcp://127.0.0.1:9"));
    json_decref(rank);
    set_key(fx, name, "endpoints", endpoints);
    set_key(fx, name, "host", json_string("elsewhere"));
}

/* From a rank on this host to one on another, and back. */
static void ranks_on_other_hosts_are_followed_as_well(void **state)
{
    struct fixture fx;
    struct stretto *s;
    struct crew crew;
    int field, step = 1;

    begin(&fx, 1, LARGE, 0);
    set_key(&fx, "training.json", "network", json_true());
    set_key(&fx, "training.json", "interface", json_string("lo"));
    crew = start(&fx);
    s = open_member();
    send_steps(&fx, s, &crew, 0, step);
    for (int generation = 2; generation <= 3; generation++) {
        wait_until_held(&fx, s, &crew);
        draw(&fx, &crew);
        stop(&crew);
        step = fill_window(&fx, s, step, STEPS, &field);
        fixture_generation(&fx, generation, 1);
        crew = start(&fx);
        if (generation == 2)
            put_elsewhere(&fx, generation);
        fixture_announce(&fx, 1);
        wait_until_held(&fx, s, &crew);
        assert_int_equal(fixture_stats(crew.t[0]).memory_bytes, 0); /* none was shared with the rank before */
    }
    end_well(&fx, s, &crew);
    each_came_once(step);
    stop(&crew);
    fixture_fini(&fx);
}

static int has_ended(void *arg)
{
    return fixture_stats(arg).finalized > 0;
}

static int has_come(void *arg)
{
    return fixture_stats(arg).received == 3;
}

/* One of two ranks has noted the member's end when both go. */
static void the_end_is_told_to_all_new_ranks(void **state)
{
    struct fixture fx;
    struct stretto *s;
    struct crew crew;
    int rc;

    begin(&fx, 2, SMALL, 1);
    crew = start(&fx);
    s = open_member();
    send_steps(&fx, s, &crew, 0, 10);
    wait_until_held(&fx, s, &crew);
    draw(&fx, &crew);
    stretto_train_close(crew.t[1]);
    rc = stretto_finish(s);
    assert_true(rc == STRETTO_AGAIN && fixture_wait(has_ended, crew.t[0], FIXTURE_LIMIT_SECONDS * 1000));
    assert_int_equal(stretto_finish(s), STRETTO_AGAIN);
    stretto_train_close(crew.t[0]);
    fixture_generation(&fx, 2, 3);
    crew = start(&fx);
    fixture_announce(&fx, 1);
    end_well(&fx, s, &crew);
    each_came_once(10);
    stop(&crew);
    fixture_fini(&fx);
}

/* Ranks that do not keep what the member's have acknowledged are not its ranks. */
static void a_generation_that_begins_anew_is_not_followed(void **state)
{
    struct fixture fx;
    struct stretto *s;
    struct crew crew;
    int field;

    begin(&fx, 1, SMALL, 1);
    crew = start(&fx);
    s = open_member();
    send_steps(&fx, s, &crew, 0, 10);
    wait_until_held(&fx, s, &crew);
    draw(&fx, &crew);
    stop(&crew);
    assert_int_equal(fill_window(&fx, s, 10, 20, &field), 20);
    for (int generation = 2; generation <= 3; generation++) {
        fixture_generation(&fx, generation, 1);
        crew = start(&fx);
        fixture_announce(&fx, generation == 2 ? 0 : 2);
        for (int i = 0; i < 60; i++)
            assert_int_equal(stretto_finish(s), STRETTO_AGAIN);
        assert_int_equal(fixture_stats(crew.t[0]).received + fixture_stats(crew.t[0]).rejected, 0);
        stop(&crew);
    }
    fixture_generation(&fx, 4, 1);
    fixture_announce(&fx, 1);
    for (int i = 0; i < 20; i++) /* it waits until they are there */
        assert_int_equal(stretto_finish(s), STRETTO_AGAIN);
    crew = start(&fx);
    end_well(&fx, s, &crew);
    each_came_once(20);
    stop(&crew);
    fixture_fini(&fx);
}

/* Returns whether another attempt would go on from the checkpoint of that step, with ranks of that generation. */
static bool is_offered(const char *dir, int step, int generation)
{
    struct ckpt_list list;
    struct error err;
    const struct ckpt *newest;
    bool offered;

    assert_int_equal(ckptdir_read(dir, &list, &err), 0);
    newest = ckptdir_newest(dir, &list, &(struct ckpt_chain){.ensemble = 7, .generation = generation});
    offered = newest != NULL && newest->step == step;
    ckptdir_free(&list);
    return offered;
}

static int is_covered(void *dir)
{
    return is_offered(dir, 4, 2);
}

/* Leaves a checkpoint behind that step, and waits until what was sent before it is held. */
static void leave(const struct fixture *fx, struct stretto *s, struct crew *crew, const char *dir, int step)
{
    struct error err;
    char path[200];

    snprintf(path, sizeof path, "%s/at-%d", dir, step);
    assert_int_equal(file_write_whole(path, "whole", 5, 0600, &err), 0);
    UNTIL_OVER(fx, s, crew, stretto_checkpointed(s, path, step));
}

/* A program that computes and does not call the library, and whose checkpoints wait for what is held. */
static void the_account_goes_on_while_the_program_computes(void **state)
{
    struct fixture fx;
    struct stretto *s;
    struct crew crew;
    struct error err;
    char dir[160], command[200];
    int field;

    begin(&fx, 1, SMALL, 0);
    snprintf(dir, sizeof dir, "%s", fixture_path(&fx, "checkpoints"));
    assert_int_equal(ckptdir_make(dir, &err), 0);
    setenv("STRETTO_CHECKPOINT_DIR", dir, 1);
    crew = start(&fx);
    s = open_member();
    send_steps(&fx, s, &crew, 0, 5);
    leave(&fx, s, &crew, dir, 4);
    assert_true(is_offered(dir, 4, 1));
    draw(&fx, &crew);
    stop(&crew);
    assert_int_equal(fill_window(&fx, s, 5, 8, &field), 8);
    fixture_generation(&fx, 2, 1);
    crew = start(&fx);
    assert_false(is_offered(dir, 4, 2)); /* the stream has not gone there, and what is held might not be */
    fixture_announce(&fx, 1);
    assert_true(fixture_wait(has_come, crew.t[0], FIXTURE_LIMIT_SECONDS * 1000));
    assert_true(fixture_wait(is_covered, dir, FIXTURE_LIMIT_SECONDS * 1000));
    assert_false(is_offered(dir, 4, 3));
    leave(&fx, s, &crew, dir, 7);
    assert_true(is_offered(dir, 7, 2));
    end_well(&fx, s, &crew);
    each_came_once(8);
    stop(&crew);
    unsetenv("STRETTO_CHECKPOINT_DIR");
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    fixture_fini(&fx);
}

/* Ends all ranks as planned: they hand over what they hold. */
static void hand_over(struct crew *crew, int step)
{
    struct error err;

    for (int i = crew->ranks - 1; i >= 0; i--) { /* rank 0 waits for the parts of the others */
        const char *path = stretto_train_checkpoint_begin(crew->t[i], step);

        if (path == NULL || file_write_whole(path, "state", 5, 0600, &err) < 0 ||
            stretto_train_checkpoint_end(crew->t[i], STRETTO_TRAIN_CHECKPOINT_LAST) < 0)
            fail_msg("%s", stretto_train_error(crew->t[i]));
    }
    stop(crew);
}

/* The ranks hold much that they have not drawn, and of one step only some fields, when they end. */
static void planned_ends_of_ranks_cost_no_sample(void **state)
{
    static const int ranks[] = {2, 1, 3, 1};
    struct fixture fx;
    struct stretto *s;
    struct crew crew;
    char dir[160], name[40], command[200];
    int step = 0;

    begin(&fx, 1, SMALL, 1);
    snprintf(dir, sizeof dir, "%s", fixture_path(&fx, "checkpoints"));
    assert_int_equal(mkdir(dir, 0700), 0);
    set_key(&fx, "training.json", "checkpoint", json_pack("{s:s, s:i}", "dir", dir, "keep", 2));
    crew = start(&fx);
    s = open_member();
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct crew nobody = {.ranks = 0};

        send_steps(&fx, s, &nobody, step, step + 40);
        UNTIL_OVER(&fx, s, &nobody, send_field(&fx, s, step + 40, 0));
        wait_until_held(&fx, s, &nobody);
        for (int j = 0; j < 3; j++)
            assert_int_equal(fixture_draw(&fx, crew.t[0], FIXTURE_LIMIT_SECONDS * 1000, STEPS, times), 1);
        snprintf(name, sizeof name, "g%d-s%d", fx.generation, step + 1);
        hand_over(&crew, step + 1);
        assert_int_equal(send_field(&fx, s, step + 40, 1), 0);
        send_steps(&fx, s, &nobody, step + 41, step + 60);
        step += 60;
        fixture_generation(&fx, fx.generation + 1, ranks[i]);
        set_key(&fx, "training.json", "resume", json_pack("{s:s, s:i}", "name", name, "step", step - 59));
        crew = start(&fx);
        fixture_announce(&fx, 1);
    }
    end_well(&fx, s, &crew);
    each_came_once(step);
    assert_int_equal(fixture_stats(crew.t[0]).received, step);
    stop(&crew);
    for (int i = 0; i < FIXTURE_RANKS_MAX; i++) {
        snprintf(name, sizeof name, "done-rank%d.json", i);
        unlink(fixture_path(&fx, name));
    }
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    fixture_fini(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_comes_once_to_changing_numbers_of_ranks),
        cmocka_unit_test(shared_payloads_stay_where_they_are),
        cmocka_unit_test(ranks_on_other_hosts_are_followed_as_well),
        cmocka_unit_test(the_end_is_told_to_all_new_ranks),
        cmocka_unit_test(a_generation_that_begins_anew_is_not_followed),
        cmocka_unit_test(the_account_goes_on_while_the_program_computes),
        cmocka_unit_test(planned_ends_of_ranks_cost_no_sample),
        cmocka_unit_test(only_what_was_not_acknowledged_is_dealt_to_the_new_ranks),
        cmocka_unit_test(frames_of_several_ranks_come_in_their_order),
        cmocka_unit_test(a_refusal_by_one_of_several_ranks_is_told),
    };

    return cmocka_run_group_tests(tests, fixture_time_limit, NULL);
}

/* A rank has ended its own part of a checkpoint, and no look has found the checkpoint whole yet: what it tells then.
 * The list of checkpoints and the parts of other ranks (saved.h) are of this file: so it decides what a look sees, and
 * how long the look takes. */
#include "common/files.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/train/saved.h"
#include "tasks/train/saver.h"
#include "tests/unit/unit_dir.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "g1-s1"
#define SECOND "g1-s2"

static char dir[64];
static pthread_t test_thread;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char written[16], whole[16]; /* the checkpoint of which all parts are there, and the one on the list; "": none */
    char held[16];               /* the saver's look at this one is held up; "": at none */
    bool looking;                /* a look is held up */
} scene = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set(char *which, const char *name)
{
    pthread_mutex_lock(&scene.lock);
    strcpy(which, name);
    pthread_cond_broadcast(&scene.changed);
    pthread_mutex_unlock(&scene.lock);
}

static bool is(const char *which, const char *name)
{
    bool same;

    pthread_mutex_lock(&scene.lock);
    same = strcmp(which, name) == 0;
    pthread_mutex_unlock(&scene.lock);
    return same;
}

/* The saver's thread looks at a checkpoint. Returns whether it is of that kind at the end of the look. */
static bool look(const char *which, const char *name)
{
    bool same;

    pthread_mutex_lock(&scene.lock);
    while (strcmp(scene.held, name) == 0) {
        scene.looking = true;
        pthread_cond_broadcast(&scene.changed);
        pthread_cond_wait(&scene.changed, &scene.lock);
    }
    scene.looking = false;
    same = strcmp(which, name) == 0;
    pthread_mutex_unlock(&scene.lock);
    return same;
}

static void wait_until_it_looks(void)
{
    pthread_mutex_lock(&scene.lock);
    while (!scene.looking)
        pthread_cond_wait(&scene.changed, &scene.lock);
    pthread_mutex_unlock(&scene.lock);
}

char *saved_path(const struct train_config *config, const char *name, const char *file)
{
    return file != NULL ? alloc_printf("%s/%s/%s", config->checkpoint.dir, name, file)
                        : alloc_printf("%s/%s", config->checkpoint.dir, name);
}

int saved_part_write(const struct train_config *config, const char *name, const struct saved_part *part,
                     struct error *err)
{
    return 0;
}

int saved_part_read(const struct train_config *config, const char *name, int rank, struct saved_part *part,
                    struct error *err)
{
    errno = ENOENT;
    return error_set(err, "train_checkpoint", "there is none");
}

bool saved_is_written(const struct train_config *config, const char *name)
{
    return is(scene.written, name);
}

bool saved_is_whole(const struct train_config *config, const char *name)
{
    return pthread_equal(pthread_self(), test_thread) ? is(scene.whole, name) : look(scene.whole, name);
}

int saved_add(const struct train_config *config, const char *name, struct error *err)
{
    return look(scene.written, name) ? 1 : 0;
}

static struct {
    int given_up;           /* how often reception was told not to wait */
    uint32_t cut;           /* the newest that was told to be whole */
    char name[16];
} kept;

void kept_cut_is_whole(struct kept *k, uint32_t cut, const char *name)
{
    pthread_mutex_lock(&scene.lock);
    kept.cut = cut;
    snprintf(kept.name, sizeof kept.name, "%s", name);
    pthread_mutex_unlock(&scene.lock);
}

void kept_give_up(struct kept *k, const char *why)
{
    kept.given_up++;
}

static struct saver *set_up(struct train_config *config, int rank)
{
    static char nobody; /* stands for what the rank keeps, which only the functions above get */
    struct error err;
    struct saver *c;

    unit_dir_make(dir);
    test_thread = pthread_self();
    set(scene.written, "");
    set(scene.whole, "");
    memset(&kept, 0, sizeof kept);
    *config = (struct train_config){.dir = dir, .rank = rank, .ranks = 2, .generation = 1, .checkpoint.dir = dir};
    c = saver_create(config, (struct kept *)&nobody, &err);
    assert_non_null(c);
    return c;
}

static void tear_down(struct saver *c)
{
    saver_destroy(c);
    assert_int_equal(kept.given_up, 0);
    state_remove(unit_dir_top(dir));
}

/* Saves this rank's part. */
static void save(struct saver *c, int64_t step)
{
    struct cut cut = {.number = 100 + (uint32_t)step};
    struct error err;
    const char *path = saver_begin(c, step, &err);

    assert_non_null(path);
    assert_int_equal(file_write_whole(path, "state", 5, 0600, &err), 0);
    saver_cut(c, &cut);
    saver_end(c);
}

static void wait_until_none_is_pending(struct saver *c)
{
    while (saver_is_pending(c))
        usleep(1000);
}

static void rank_0_settles_a_checkpoint_since_all_parts_are_written(void **state)
{
    struct train_config config;
    struct saver *c = set_up(&config, 0);

    assert_false(saver_is_settling(c));
    set(scene.held, FIRST);
    save(c, 1);
    wait_until_it_looks();
    assert_true(saver_is_pending(c));
    assert_false(saver_is_settling(c)); /* the part of rank 1 is missing */
    set(scene.written, FIRST);
    assert_true(saver_is_settling(c));
    set(scene.held, "");
    wait_until_none_is_pending(c);
    assert_false(saver_is_settling(c));
    assert_int_equal(kept.cut, 101);
    assert_string_equal(kept.name, FIRST);
    tear_down(c);
}

static void another_rank_settles_a_checkpoint_since_it_is_on_the_list(void **state)
{
    struct train_config config;
    struct saver *c = set_up(&config, 1);

    set(scene.held, FIRST);
    save(c, 1);
    wait_until_it_looks();
    set(scene.written, FIRST);
    assert_true(saver_is_written(c));
    assert_false(saver_is_settling(c)); /* rank 0 has not added it */
    set(scene.whole, FIRST);
    assert_true(saver_is_settling(c));
    set(scene.held, "");
    wait_until_none_is_pending(c);
    assert_false(saver_is_settling(c));
    tear_down(c);
}

static void a_newer_checkpoint_settles_while_an_older_one_is_pending(void **state)
{
    struct train_config config;
    struct saver *c = set_up(&config, 0);

    save(c, 1);
    set(scene.held, SECOND);
    save(c, 2);
    wait_until_it_looks(); /* after a look at the first, whose part of rank 1 is missing */
    assert_false(saver_is_settling(c));
    set(scene.written, SECOND);
    assert_true(saver_is_settling(c));
    set(scene.held, "");
    wait_until_none_is_pending(c);
    tear_down(c);
}

/* Makes a saver that has been told that its time ends in so many seconds. */
static struct saver *with_deadline(struct train_config *config, int64_t seconds)
{
    char text[32];
    struct saver *c;

    snprintf(text, sizeof text, "%lld", (long long)(time_now_ms() / 1000 + seconds));
    setenv("STRETTO_DEADLINE", text, 1);
    c = set_up(config, 0);
    unsetenv("STRETTO_DEADLINE");
    return c;
}

static void the_last_one_is_due_before_the_end_of_the_time(void **state)
{
    struct train_config config;
    struct saver *c = with_deadline(&config, 10000);

    assert_int_equal(saver_due(c), SAVER_NOT_DUE);
    assert_true(saver_has_time(c));
    config.checkpoint.before_ms = 5000000;
    assert_int_equal(saver_due(c), SAVER_NOT_DUE);
    config.checkpoint.before_ms = 15000000;
    assert_int_equal(saver_due(c), SAVER_LAST);
    assert_true(saver_has_time(c)); /* for what is not needed: the half of it */
    config.checkpoint.before_ms = 25000000;
    assert_false(saver_has_time(c));
    tear_down(c);

    c = with_deadline(&config, -10000); /* the spec says nothing of the end */
    assert_int_equal(saver_due(c), SAVER_NOT_DUE);
    assert_false(saver_has_time(c));
    tear_down(c);

    c = set_up(&config, 0); /* there is no end */
    config.checkpoint.before_ms = 15000000;
    assert_int_equal(saver_due(c), SAVER_NOT_DUE);
    assert_true(saver_has_time(c));
    saver_warn(c);
    assert_int_equal(saver_due(c), SAVER_LAST);
    assert_true(saver_has_time(c));
    tear_down(c);
}

static void one_is_due_some_time_after_the_one_before_was_begun(void **state)
{
    struct train_config config;
    struct saver *c = set_up(&config, 1);
    struct cut cut = {0};
    struct error err;
    const char *path;

    assert_int_equal(saver_due(c), SAVER_NOT_DUE);
    config.checkpoint.every_ms = 3600000;
    assert_int_equal(saver_due(c), SAVER_NOT_DUE);
    config.checkpoint.every_ms = 1;
    while (saver_due(c) != SAVER_DUE)
        usleep(1000);
    path = saver_begin(c, 1, &err);
    assert_non_null(path);
    while (saver_due(c) != SAVER_DUE)
        usleep(1000);
    saver_cut(c, &cut);
    assert_int_equal(saver_due(c), SAVER_NOT_DUE); /* while that one is written */
    saver_warn(c);
    assert_int_equal(saver_due(c), SAVER_LAST);
    saver_abandon(c);
    assert_int_equal(kept.given_up, 1);
    kept.given_up = 0;
    tear_down(c);
}

static void a_rank_saves_from_the_beginning_until_the_list_has_it(void **state)
{
    struct train_config config;
    struct saver *c = set_up(&config, 0);
    struct cut cut = {.number = 7};
    struct error err;
    const char *path;

    assert_true(!saver_is_saving(c) && saver_saves(c) == 0 && !saver_has_cut(c) && !saver_is_pending(c));
    path = saver_begin(c, 1, &err);
    assert_true(saver_is_saving(c) && saver_saves(c) == 1 && !saver_has_cut(c));
    saver_abandon(c);
    assert_true(!saver_is_saving(c) && saver_saves(c) == 1);
    path = saver_begin(c, 1, &err); /* the same step again */
    assert_non_null(strstr(path, "/" FIRST "/state-rank0"));
    assert_int_equal(file_write_whole(path, "state", 5, 0600, &err), 0);
    saver_cut(c, &cut);
    assert_true(saver_is_saving(c) && saver_has_cut(c) && cut.number == 0);
    saver_abandon(c);
    assert_true(!saver_is_saving(c) && !saver_has_cut(c) && access(path, F_OK) < 0);
    assert_int_equal(kept.given_up, 2);
    kept.given_up = 0;
    set(scene.held, FIRST);
    save(c, 1);
    assert_true(saver_is_saving(c) && saver_saves(c) == 3);
    wait_until_it_looks();
    assert_true(saver_is_pending(c) && !saver_has_cut(c));
    set(scene.written, FIRST);
    set(scene.held, "");
    assert_int_equal(saver_wait(c, &err), 0);
    assert_false(saver_is_pending(c));
    assert_false(saver_is_saving(c));
    tear_down(c);
}

/* A rank that is alone has saved nothing; and the next one is saved. */
static void one_that_cannot_be_written_is_told_once(void **state)
{
    struct train_config config;
    struct saver *c = set_up(&config, 0);
    struct cut cut = {0};
    struct error err;

    config.ranks = 1; /* otherwise another rank may have saved the state */
    assert_non_null(saver_begin(c, 1, &err));
    saver_cut(c, &cut);
    saver_end(c);
    assert_int_equal(saver_wait(c, &err), -1);
    assert_string_equal(err.code, "train_checkpoint");
    assert_false(saver_is_saving(c) || saver_is_pending(c));
    assert_int_equal(kept.given_up, 1);
    kept.given_up = 0;
    set(scene.written, SECOND);
    save(c, 2);
    assert_int_equal(saver_wait(c, &err), 0);
    assert_int_equal(kept.cut, 102);
    assert_string_equal(kept.name, SECOND);
    tear_down(c);
}

static void names_tell_the_generation_the_process_and_the_step(void **state)
{
    static const struct {
        bool begins; /* a process */
        int64_t step;
        const char *name; /* of the next number, where the step does not grow */
    } all[] = {{true, 5, "g3.2-s5"},    {false, 5, "g3.2-s5-b"}, {false, 5, "g3.2-s6"},  {false, 4, "g3.2-s7"},    {false, -1, "g3.2-s8"},
               {false, 8, "g3.2-s8-b"}, {false, 11, "g3.2-s11"}, {false, 11, "g3.2-s11-b"}, {true, -1, "g3.2-s6"}};
    struct train_config config;
    struct saver *c = set_up(&config, 1);
    struct error err;

    config.generation = 3;
    config.restart = 2;
    config.checkpoint.resume_step = 5;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct cut cut = {0};
        const char *path;
        char wanted[100], *more;

        if (all[i].begins) {
            saver_destroy(c);
            c = saver_create(&config, NULL, &err);
            assert_non_null(c);
        }
        path = saver_begin(c, all[i].step, &err);
        assert_non_null(path);
        snprintf(wanted, sizeof wanted, "%s/%s/state-rank1", dir, all[i].name);
        assert_string_equal(path, wanted);
        more = saver_path(c, "buffer", "bin");
        snprintf(wanted, sizeof wanted, "%s/%s/buffer-rank1.bin", dir, all[i].name);
        assert_string_equal(more, wanted);
        free(more);
        saver_cut(c, &cut);
        saver_end(c);
    }
    tear_down(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_settles_a_checkpoint_since_all_parts_are_written),
        cmocka_unit_test(another_rank_settles_a_checkpoint_since_it_is_on_the_list),
        cmocka_unit_test(a_newer_checkpoint_settles_while_an_older_one_is_pending),
        cmocka_unit_test(the_last_one_is_due_before_the_end_of_the_time),
        cmocka_unit_test(one_is_due_some_time_after_the_one_before_was_begun),
        cmocka_unit_test(a_rank_saves_from_the_beginning_until_the_list_has_it),
        cmocka_unit_test(one_that_cannot_be_written_is_told_once),
        cmocka_unit_test(names_tell_the_generation_the_process_and_the_step),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

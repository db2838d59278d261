/* A rank has ended its own part of a checkpoint, and no look has found the checkpoint whole yet: what it tells then. The
 * list of checkpoints and the parts of other ranks (saved.h) are of this file: so it decides what a look sees, and how
 * long the look takes. */
#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/train/saved.h"
#include "tasks/train/saver.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST "g1-s1"
#define SECOND "g1-s2"

static char dir[40];
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

void kept_cut_is_whole(struct kept *k, uint32_t cut, const char *name) {}

void kept_give_up(struct kept *k, const char *why)
{
    fail_msg("reception does not wait: %s", why);
}

static struct saver *set_up(struct train_config *config, int rank)
{
    static char nobody; /* stands for what the rank keeps, which only the functions above get */
    struct error err;
    struct saver *c;

    strcpy(dir, "/tmp/stretto-looks-XXXXXX");
    assert_non_null(mkdtemp(dir));
    test_thread = pthread_self();
    set(scene.written, "");
    set(scene.whole, "");
    *config = (struct train_config){.rank = rank, .ranks = 2, .generation = 1, .checkpoint.dir = dir};
    c = saver_create(config, (struct kept *)&nobody, &err);
    assert_non_null(c);
    return c;
}

static void tear_down(struct saver *c)
{
    saver_destroy(c);
    state_remove(dir);
}

/* Saves this rank's part. */
static void save(struct saver *c, int64_t step)
{
    struct cut cut = {0};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_settles_a_checkpoint_since_all_parts_are_written),
        cmocka_unit_test(another_rank_settles_a_checkpoint_since_it_is_on_the_list),
        cmocka_unit_test(a_newer_checkpoint_settles_while_an_older_one_is_pending),
    };

    test_limit(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

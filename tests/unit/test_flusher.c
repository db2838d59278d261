/* The thread that looks after a stream while the program does not call: it looks as early as it was ever asked to. */
#include "tasks/member/link_flusher.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_MS 3600000
#define LIMIT_SECONDS 20 /* what never comes has failed */

struct watch {
    struct link_flusher *flusher;
    int looks, further; /* so many more are asked for by the next look */
};

static int look(void *arg)
{
    struct watch *w = arg;

    w->looks++;
    return w->further-- > 0 ? 1 : 0;
}

static int set_up(void **state)
{
    static struct watch w;

    w = (struct watch){.flusher = link_flusher_create(look, &w)};
    *state = &w;
    test_limit(LIMIT_SECONDS);
    return w.flusher != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    link_flusher_destroy(((struct watch *)*state)->flusher);
    return 0;
}

static void ask(struct watch *w, int ms)
{
    link_flusher_lock(w->flusher);
    assert_int_equal(link_flusher_unlock(w->flusher, ms), 0);
}

/* The lock keeps the thread from looking while the number is read. */
static void wait_for(struct watch *w, int looks)
{
    int seen = 0;

    while (seen < looks) {
        usleep(1000);
        link_flusher_lock(w->flusher);
        seen = w->looks;
        assert_int_equal(link_flusher_unlock(w->flusher, 0), 0);
    }
    assert_int_equal(seen, looks);
}

/* Waits until the flusher's thread sleeps. Its lock is free, so it waits for the time to look. */
static void wait_until_it_sleeps(void)
{
    char path[300], text[256], state = 0;
    struct dirent *entry;

    while (state != 'S') {
        DIR *tasks = opendir("/proc/self/task");

        usleep(1000);
        assert_non_null(tasks);
        while ((entry = readdir(tasks)) != NULL) {
            FILE *file;

            if (atoi(entry->d_name) == 0 || atoi(entry->d_name) == (int)getpid())
                continue;
            snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
            file = fopen(path, "re");
            if (file == NULL)
                continue;
            if (fgets(text, sizeof text, file) != NULL && strrchr(text, ')') != NULL)
                state = strrchr(text, ')')[2];
            fclose(file);
        }
        closedir(tasks);
    }
}

static void a_sleeping_one_is_woken_for_an_earlier_look(void **state)
{
    struct watch *w = *state;

    for (int i = 1; i <= 20; i++) {
        ask(w, HOUR_MS);
        wait_until_it_sleeps();
        ask(w, 1);
        wait_for(w, i);
    }
}

/* A frame that is held back for a moment does not wait for acknowledgements that are looked for much later. */
static void an_earlier_look_does_not_wait_for_a_later_one(void **state)
{
    struct watch *w = *state;

    ask(w, HOUR_MS);
    ask(w, 1);
    wait_for(w, 1);
    ask(w, 2);
    wait_for(w, 2);
}

static void a_later_look_does_not_put_off_an_earlier_one(void **state)
{
    struct watch *w = *state;

    ask(w, 50);
    ask(w, HOUR_MS);
    ask(w, 0);
    wait_for(w, 1);
}

static void a_look_may_ask_for_the_next(void **state)
{
    struct watch *w = *state;

    w->further = 3;
    ask(w, 1);
    wait_for(w, 4);
    ask(w, 1);
    wait_for(w, 5);
}

/* Whatever it waits for. */
static void it_ends_at_once(void **state)
{
    struct watch *w = *state;

    ask(w, HOUR_MS);
    link_flusher_destroy(w->flusher);
    w->flusher = NULL;
    assert_int_equal(w->looks, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sleeping_one_is_woken_for_an_earlier_look),
        TEST(an_earlier_look_does_not_wait_for_a_later_one),
        TEST(a_later_look_does_not_put_off_an_earlier_one),
        TEST(a_look_may_ask_for_the_next),
        TEST(it_ends_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

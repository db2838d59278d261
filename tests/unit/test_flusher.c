/* The thread that looks after a stream while the program does not call: it looks as early as it was ever asked to. */
#include "tasks/member/flusher.h"
#include "tests/unit/unit.h"

#include <unistd.h>

#define HOUR_MS 3600000
#define LIMIT_SECONDS 60 /* what never comes has failed */

struct watch {
    struct flusher *flusher;
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

    w = (struct watch){.flusher = flusher_create(look, &w)};
    *state = &w;
    test_limit(LIMIT_SECONDS);
    return w.flusher != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    flusher_destroy(((struct watch *)*state)->flusher);
    return 0;
}

static void ask(struct watch *w, int ms)
{
    flusher_lock(w->flusher);
    assert_int_equal(flusher_unlock(w->flusher, ms), 0);
}

/* The lock keeps the thread from looking while the number is read. */
static void wait_for(struct watch *w, int looks)
{
    int seen = 0;

    while (seen < looks) {
        usleep(1000);
        flusher_lock(w->flusher);
        seen = w->looks;
        assert_int_equal(flusher_unlock(w->flusher, 0), 0);
    }
    assert_int_equal(seen, looks);
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
    flusher_destroy(w->flusher);
    w->flusher = NULL;
    assert_int_equal(w->looks, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_earlier_look_does_not_wait_for_a_later_one),
        TEST(a_later_look_does_not_put_off_an_earlier_one),
        TEST(a_look_may_ask_for_the_next),
        TEST(it_ends_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

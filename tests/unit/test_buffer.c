/* The buffer's policies. Items are pointers into an array of marks, so that an item is known by its index. */
#include "tasks/proto/buffer_policies.h"
#include "tasks/train/buffer.h"
#include "tasks/train/random.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char marks[100000];

static void *item(size_t index)
{
    return &marks[index];
}

static size_t index_of(const void *p)
{
    return (size_t)((const char *)p - marks);
}

static struct buffer *make(const char *policy, size_t capacity, size_t threshold, uint64_t seed)
{
    struct buffer_config config = {policy, capacity, threshold, 10, seed};
    struct error err;
    struct buffer *b = buffer_create(&config, &err);

    if (b == NULL)
        fail_msg("%s", err.text);
    return b;
}

static size_t draw(struct buffer *b)
{
    bool removed;

    assert_true(buffer_can_draw(b));
    return index_of(buffer_draw(b, &removed));
}

/* Chi-square of counts against equal shares, with n - 1 degrees of freedom, scaled to a standard normal deviate. */
static double deviate(const int *counts, int n)
{
    double sum = 0, chi = 0, expected;

    for (int i = 0; i < n; i++)
        sum += counts[i];
    expected = sum / n;
    for (int i = 0; i < n; i++)
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    /* the variance of chi-square with k degrees of freedom is 2 k */
    return (chi - (n - 1)) * (chi - (n - 1)) / (2.0 * (n - 1));
}

static void assert_uniform(const int *counts, int n)
{
    double squared = deviate(counts, n);

    if (squared > 16) /* four standard deviations, on either side: too even is wrong as well */
        fail_msg("not uniform: %g standard deviations squared", squared);
}

static void the_generator_is_the_published_one(void **state)
{
    /* the first numbers from the state 1, 2, 3, 4 */
    struct random r = {{1, 2, 3, 4}};

    assert_true(random_next(&r) == 11520);
    assert_true(random_next(&r) == 0);
    assert_true(random_next(&r) == 1509978240);
}

static void nothing_is_drawn_below_the_threshold(void **state)
{
    struct buffer *b = make("reservoir", 20, 10, 1);

    assert_false(buffer_can_draw(b));
    for (size_t i = 0; i < 10; i++) {
        assert_false(buffer_can_draw(b));
        buffer_put(b, item(i));
    }
    assert_true(buffer_can_draw(b));
    buffer_destroy(b);

    b = make("reservoir", 20, 10, 1);
    buffer_put(b, item(0));
    assert_false(buffer_can_draw(b));
    buffer_over(b);
    assert_int_equal(draw(b), 0);
    assert_false(buffer_can_draw(b));
    buffer_destroy(b);
}

static void no_unseen_item_is_evicted(void **state)
{
    enum { CAPACITY = 50, ITEMS = 20000 };
    struct buffer *b = make("reservoir", CAPACITY, 5, 3);
    struct random r;
    char *seen = calloc(ITEMS, 1), *inside = calloc(ITEMS, 1);
    size_t next = 0, waits = 0;

    random_seed(&r, 9);
    while (next < ITEMS) {
        if (random_below(&r, 3) > 0) {
            void *evicted;

            if (!buffer_has_room(b)) {
                assert_int_equal(buffer_unseen(b), CAPACITY);
                waits++;
                seen[draw(b)] = 1;
                assert_true(buffer_has_room(b));
                continue;
            }
            evicted = buffer_put(b, item(next));
            inside[next++] = 1;
            if (evicted != NULL) {
                assert_true(seen[index_of(evicted)] && inside[index_of(evicted)]);
                inside[index_of(evicted)] = 0;
            }
        } else if (buffer_can_draw(b)) {
            size_t at = draw(b);

            assert_true(inside[at]);
            seen[at] = 1;
        }
        assert_true(buffer_population(b) <= CAPACITY);
    }
    assert_true(waits > 100);
    buffer_over(b);
    while (buffer_can_draw(b)) {
        size_t at = draw(b);

        assert_true(inside[at]);
        inside[at] = 0;
        seen[at] = 1;
    }
    assert_int_equal(buffer_population(b), 0);
    for (size_t i = 0; i < ITEMS; i++)
        assert_true(seen[i] && !inside[i]);
    free(seen);
    free(inside);
    buffer_destroy(b);
}

static void when_all_are_unseen_reception_waits(void **state)
{
    struct buffer *b = make("reservoir", 4, 0, 1);

    for (size_t i = 0; i < 4; i++) {
        assert_true(buffer_has_room(b));
        assert_null(buffer_put(b, item(i)));
    }
    assert_false(buffer_has_room(b));
    draw(b);
    assert_int_equal(buffer_unseen(b), 3);
    assert_true(buffer_has_room(b));
    assert_non_null(buffer_put(b, item(4)));
    assert_false(buffer_has_room(b));
    buffer_destroy(b);
}

static void draws_are_uniform_over_seen_and_unseen(void **state)
{
    enum { ITEMS = 100, DRAWS = 100000 };
    struct buffer *b = make("reservoir", ITEMS, 0, 42);
    int counts[ITEMS] = {0}, pairs[ITEMS] = {0}, last = 0;

    for (size_t i = 0; i < ITEMS; i++)
        buffer_put(b, item(i));
    for (int i = 0; i < DRAWS; i++) {
        int now = (int)draw(b);

        counts[now]++;
        pairs[(now + ITEMS - last) % ITEMS]++; /* two draws in a row have nothing to do with each other */
        last = now;
    }
    assert_uniform(counts, ITEMS);
    assert_uniform(pairs, ITEMS);
    buffer_destroy(b);
}

/* The first draw out of a half-seen buffer, over many buffers. */
static void a_draw_prefers_neither_seen_nor_unseen(void **state)
{
    enum { ITEMS = 10, RUNS = 20000 };
    int counts[2] = {0};

    for (int run = 0; run < RUNS; run++) {
        struct buffer *b = make("reservoir", ITEMS, 0, (uint64_t)run);
        char seen[ITEMS] = {0};

        for (size_t i = 0; i < ITEMS; i++)
            buffer_put(b, item(i));
        while (buffer_unseen(b) > ITEMS / 2)
            seen[draw(b)] = 1;
        counts[(int)seen[draw(b)]]++;
        buffer_destroy(b);
    }
    assert_uniform(counts, 2);
}

static void evictions_are_uniform_over_the_seen(void **state)
{
    enum { ITEMS = 50, SEEN = 30, RUNS = 30000 };
    int counts[SEEN] = {0};

    for (int run = 0; run < RUNS; run++) {
        struct buffer *b = make("reservoir", ITEMS, 0, (uint64_t)run * 3 + 1);
        size_t order[ITEMS], drawn = 0;
        char seen[ITEMS] = {0};

        for (size_t i = 0; i < ITEMS; i++)
            buffer_put(b, item(i));
        while (drawn < SEEN) {
            size_t at = draw(b);

            if (!seen[at])
                order[drawn++] = at;
            seen[at] = 1;
        }
        {
            size_t evicted = index_of(buffer_put(b, item(ITEMS))), rank = 0;

            while (order[rank] != evicted)
                assert_true(++rank < SEEN);
            counts[rank]++;
        }
        buffer_destroy(b);
    }
    assert_uniform(counts, SEEN);
}

/* If every item has been seen by the next insertion, each insertion evicts any one of them. So an item stays for a
 * geometrically distributed number of insertions, whose mean is the capacity. */
static void an_item_stays_as_long_as_theory_says(void **state)
{
    enum { CAPACITY = 40, ITEMS = 60000, BINS = 8 };
    struct buffer *b = make("reservoir", CAPACITY, 1, 77);
    int counts[BINS] = {0};
    double sum = 0, n = 0;

    for (size_t i = 0; i < ITEMS; i++) {
        void *evicted = buffer_put(b, item(i));

        if (evicted != NULL) {
            double stay = (double)(i - index_of(evicted));
            /* the share of those that stay longer, spread over the one value that is exactly `stay` */
            double longer = pow(1 - 1.0 / CAPACITY, stay), as_long = pow(1 - 1.0 / CAPACITY, stay - 1);
            int bin = (int)(BINS * (longer + (as_long - longer) * (double)(i % 97) / 97));

            sum += stay;
            n++;
            counts[bin < BINS ? bin : BINS - 1]++;
        }
        while (buffer_unseen(b) > 0)
            draw(b);
    }
    /* the standard deviation of one stay is about the capacity, too */
    assert_true(fabs(sum / n - CAPACITY) < 4 * CAPACITY / sqrt(n));
    assert_uniform(counts, BINS);
    buffer_destroy(b);
}

static void the_same_seed_gives_the_same_draws(void **state)
{
    size_t drawn[3][500];

    for (int run = 0; run < 3; run++) {
        struct buffer *b = make("reservoir", 40, 10, run < 2 ? 5 : 6);
        size_t n = 0;

        for (size_t i = 0; n < 500; i++) {
            if (buffer_has_room(b))
                buffer_put(b, item(i));
            for (int k = 0; k < 2 && n < 500 && buffer_can_draw(b); k++)
                drawn[run][n++] = draw(b);
        }
        buffer_destroy(b);
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    assert_memory_not_equal(drawn[0], drawn[2], sizeof drawn[0]);
}

static void draining_gives_each_once_in_random_order(void **state)
{
    enum { ITEMS = 1000 };
    struct buffer *b = make("reservoir", ITEMS, 500, 2);
    char gone[ITEMS] = {0};
    int ascending = 0;
    size_t last = 0;

    for (size_t i = 0; i < ITEMS; i++)
        buffer_put(b, item(i));
    for (int i = 0; i < 300; i++)
        draw(b);
    buffer_over(b);
    for (int i = 0; i < ITEMS; i++) {
        bool removed;
        size_t at = index_of(buffer_draw(b, &removed));

        assert_true(removed && !gone[at]);
        gone[at] = 1;
        ascending += at > last;
        last = at;
    }
    assert_false(buffer_can_draw(b));
    assert_in_range(ascending, 400, 600);
    buffer_destroy(b);
}

static void fifo_keeps_the_order(void **state)
{
    struct buffer *b = make("fifo", 3, 0, 1);
    size_t in = 0;

    for (size_t out = 0; out < 20; out++) {
        while (buffer_has_room(b))
            assert_null(buffer_put(b, item(in++)));
        assert_int_equal(buffer_population(b), 3);
        assert_int_equal(draw(b), out);
    }
    buffer_destroy(b);
}

enum { TURNS = 200 };

static void count_visit(void *visited, void *arg)
{
    ((char *)arg)[index_of(visited)]++;
}

/* Each item that was put in and has not come out again is visited once: whoever ends the buffer lets go of just
 * these. */
static void what_is_held_is_visited_once(void **state)
{
#define POLICY_NAME(name) #name,
    static const char *const policies[] = {BUFFER_POLICIES(POLICY_NAME)};

    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        struct buffer *b = make(policies[p], 5, 0, 1);
        char held[TURNS] = {0}, visited[TURNS];

        for (size_t turn = 0; turn < TURNS; turn++) {
            if (turn % 4 != 3 && buffer_has_room(b)) {
                void *evicted = buffer_put(b, item(turn));

                if (evicted != NULL)
                    held[index_of(evicted)] = 0;
                held[turn] = 1;
            } else {
                bool removed = false;
                void *drawn = buffer_draw(b, &removed);

                held[index_of(drawn)] = !removed;
            }
            memset(visited, 0, sizeof visited);
            buffer_each(b, count_visit, visited);
            if (memcmp(visited, held, sizeof held) != 0)
                fail_msg("%s, after %zu turns: another set of items is visited", policies[p], turn + 1);
        }
        buffer_destroy(b);
    }
}

static void firo_removes_what_it_draws_above_the_threshold(void **state)
{
    struct buffer *b = make("firo", 10, 4, 1);
    char gone[10] = {0};

    for (size_t i = 0; i < 10; i++)
        buffer_put(b, item(i));
    assert_false(buffer_has_room(b));
    for (int i = 0; i < 10; i++) {
        size_t at;

        if (i == 6) {
            assert_false(buffer_can_draw(b));
            buffer_over(b);
        }
        at = draw(b);
        assert_false(gone[at]);
        gone[at] = 1;
    }
    assert_int_equal(buffer_population(b), 0);
    buffer_destroy(b);
}

/* The first draw may give any item, also the first and the last that came. */
static void firo_draws_from_anywhere(void **state)
{
    int counts[10] = {0};

    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct buffer *b = make("firo", 10, 4, seed);

        for (size_t i = 0; i < 10; i++)
            buffer_put(b, item(i));
        counts[draw(b)]++;
        buffer_destroy(b);
    }
    assert_uniform(counts, 10);
}

/* An item that an earlier buffer has drawn is drawn again like any other, makes room for new items, and takes
 * nobody's place. */
static void seen_items_can_be_put_back(void **state)
{
    int counts[10] = {0};
    struct buffer *b;

    for (int run = 0; run < 20000; run++) {
        b = make("reservoir", 10, 1, (uint64_t)run);
        for (size_t i = 0; i < 10; i++) {
            if (i % 3 == 0)
                assert_true(buffer_put_seen(b, item(i)));
            else
                buffer_put(b, item(i));
        }
        assert_int_equal(buffer_unseen(b), 6);
        assert_false(buffer_put_seen(b, item(10)));
        counts[draw(b)]++;
        buffer_destroy(b);
    }
    assert_uniform(counts, 10);

    b = make("reservoir", 2, 1, 1);
    assert_true(buffer_put_seen(b, item(0)));
    buffer_put(b, item(1));
    assert_int_equal(index_of(buffer_put(b, item(2))), 0);
    assert_int_equal(buffer_unseen(b), 2);
    assert_false(buffer_has_room(b));
    buffer_over(b);
    assert_int_equal(draw(b) + draw(b), 3);
    assert_false(buffer_can_draw(b));
    buffer_destroy(b);

    for (int i = 0; i < 2; i++) {
        b = make(i == 0 ? "fifo" : "firo", 10, 1, 1);
        assert_false(buffer_put_seen(b, item(0)));
        assert_int_equal(buffer_population(b), 0);
        buffer_destroy(b);
    }
}

static void sizes_that_would_wait_for_ever_are_refused(void **state)
{
    static const struct buffer_config wrong[] = {
        {"lifo", 10, 5, 1, 0},       {"reservoir", 0, 0, 1, 0}, {"reservoir", 10, 5, 0, 0},
        {"reservoir", 10, 11, 1, 0}, {"firo", 10, 10, 1, 0},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error err = {.text = ""};

        assert_null(buffer_create(&wrong[i], &err));
        assert_true(strlen(err.text) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_the_published_one),
        cmocka_unit_test(nothing_is_drawn_below_the_threshold),
        cmocka_unit_test(no_unseen_item_is_evicted),
        cmocka_unit_test(when_all_are_unseen_reception_waits),
        cmocka_unit_test(draws_are_uniform_over_seen_and_unseen),
        cmocka_unit_test(a_draw_prefers_neither_seen_nor_unseen),
        cmocka_unit_test(evictions_are_uniform_over_the_seen),
        cmocka_unit_test(an_item_stays_as_long_as_theory_says),
        cmocka_unit_test(the_same_seed_gives_the_same_draws),
        cmocka_unit_test(draining_gives_each_once_in_random_order),
        cmocka_unit_test(fifo_keeps_the_order),
        cmocka_unit_test(what_is_held_is_visited_once),
        cmocka_unit_test(firo_removes_what_it_draws_above_the_threshold),
        cmocka_unit_test(firo_draws_from_anywhere),
        cmocka_unit_test(seen_items_can_be_put_back),
        cmocka_unit_test(sizes_that_would_wait_for_ever_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The heap, against a plain array that is searched. */
#include "common/heap.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

#define NODES 200
#define STEPS 200000

struct thing {
    int other;
    struct heap_node node;
};

static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (state >> 33) % below;
}

static struct thing *least(struct thing things[NODES])
{
    struct thing *best = NULL;

    for (struct thing *t = things; t < things + NODES; t++)
        if (heap_holds(&t->node) && (best == NULL || t->node.key < best->node.key ||
                                     (t->node.key == best->node.key && t->node.tie < best->node.tie)))
            best = t;
    return best;
}

static void the_first_is_always_the_least(void **unused)
{
    static struct thing things[NODES];
    struct heap heap = {0};
    size_t held = 0;

    for (int step = 0; step < STEPS; step++) {
        struct thing *t = &things[draw(NODES)];

        if (draw(3) > 0) {
            held += !heap_holds(&t->node);
            heap_set(&heap, &t->node, (int64_t)draw(50) - 25, t - things); /* few keys, so that ties are common */
        } else {
            held -= heap_holds(&t->node);
            heap_remove(&heap, &t->node);
            assert_false(heap_holds(&t->node));
        }
        assert_int_equal(heap.n, held);
        if (least(things) == NULL)
            assert_null(heap_first(&heap));
        else
            assert_ptr_equal(heap_entry(heap_first(&heap), struct thing, node), least(things));
    }
    heap_fini(&heap);
}

/* Takes out the first until none is left, each of which must come after the one before. Returns how many there were. */
static size_t empty(struct heap *heap)
{
    const struct heap_node *last = NULL;
    size_t n = 0;

    for (struct heap_node *first; (first = heap_first(heap)) != NULL; n++, last = first) {
        assert_true(last == NULL || last->key < first->key || (last->key == first->key && last->tie < first->tie));
        heap_remove(heap, first);
    }
    return n;
}

static void it_empties_in_order(void **unused)
{
    static struct thing things[NODES];
    struct heap heap = {0};

    for (int i = 0; i < NODES; i++)
        heap_set(&heap, &things[i].node, draw(2) ? INT64_MAX : (int64_t)draw(1000), i);
    assert_int_equal(empty(&heap), NODES);
    heap_fini(&heap);
}

/* The heap empties in order, after any insertions, changes and removals. */
static void it_empties_in_order_after_changes(void **unused)
{
    static struct thing things[NODES];
    struct heap heap = {0};

    for (int round = 0; round < 1000; round++) {
        size_t held = 0;

        for (int i = 0; i < NODES; i++)
            heap_set(&heap, &things[i].node, (int64_t)draw(1000), i);
        for (int change = 0; change < NODES; change++) {
            struct thing *t = &things[draw(NODES)];

            if (draw(2) == 0)
                heap_remove(&heap, &t->node);
            else
                heap_set(&heap, &t->node, (int64_t)draw(1000), t - things);
        }
        for (int i = 0; i < NODES; i++)
            held += heap_holds(&things[i].node);
        assert_int_equal(empty(&heap), held);
    }
    heap_fini(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_always_the_least),
        cmocka_unit_test(it_empties_in_order),
        cmocka_unit_test(it_empties_in_order_after_changes),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
        if (heap_holds(&t->node) &&
            (best == NULL || t->node.key < best->node.key || (t->node.key == best->node.key && t->node.tie < best->node.tie)))
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

static void it_empties_in_order(void **unused)
{
    static struct thing things[NODES];
    struct heap heap = {0};
    int64_t last = INT64_MIN;

    for (int i = 0; i < NODES; i++)
        heap_set(&heap, &things[i].node, draw(2) ? INT64_MAX : (int64_t)draw(1000), i);
    for (int i = 0; i < NODES; i++) {
        struct heap_node *first = heap_first(&heap);

        assert_true(first->key >= last);
        last = first->key;
        heap_remove(&heap, first);
    }
    assert_null(heap_first(&heap));
    heap_fini(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_always_the_least),
        cmocka_unit_test(it_empties_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "common/heap.h"

#include "common/xalloc.h"

#include <stdlib.h>

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

static void heap_place(struct heap *heap, struct heap_node *node, size_t i)
{
    heap->nodes[i] = node;
    node->at = i + 1;
}

/* Moves the node from place i towards the root until it is in order; the nodes that it passes move down. */
static size_t rise(struct heap *heap, struct heap_node *node, size_t i)
{
    while (i > 0 && before(node, heap->nodes[(i - 1) / 2])) {
        heap_place(heap, heap->nodes[(i - 1) / 2], i);
        i = (i - 1) / 2;
    }
    return i;
}

static size_t sink(struct heap *heap, struct heap_node *node, size_t i)
{
    size_t child;

    while ((child = 2 * i + 1) < heap->n) {
        if (child + 1 < heap->n && before(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (!before(heap->nodes[child], node))
            break;
        heap_place(heap, heap->nodes[child], i);
        i = child;
    }
    return i;
}

static void heap_settle(struct heap *heap, struct heap_node *node, size_t i)
{
    heap_place(heap, node, sink(heap, node, rise(heap, node, i)));
}

void heap_set(struct heap *heap, struct heap_node *node, int64_t key, int64_t tie)
{
    node->key = key;
    node->tie = tie;
    if (node->at > 0) {
        heap_settle(heap, node, node->at - 1);
        return;
    }
    if (heap->n == heap->cap) {
        heap->cap = heap->cap ? 2 * heap->cap : 64;
        heap->nodes = xrealloc(heap->nodes, heap->cap, sizeof(struct heap_node *));
    }
    heap->n++;
    heap_settle(heap, node, heap->n - 1);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    size_t i = node->at;
    struct heap_node *last;

    if (i == 0)
        return;
    node->at = 0;
    last = heap->nodes[--heap->n];
    if (last != node)
        heap_settle(heap, last, i - 1);
}

struct heap_node *heap_first(const struct heap *heap)
{
    return heap->n > 0 ? heap->nodes[0] : NULL;
}

bool heap_holds(const struct heap_node *node)
{
    return node->at != 0;
}

void heap_fini(struct heap *heap)
{
    free(heap->nodes);
    *heap = (struct heap){0};
}

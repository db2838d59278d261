/* A heap of things that are embedded in others: the least is at hand, any can be moved or taken out, in O(log n). */
#ifndef COMMON_HEAP_H
#define COMMON_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    int64_t tie; /* the lesser goes first among equal keys */
    size_t at;   /* the heap's own: 1 + its place, 0 while it is in none */
};

struct heap {
    struct heap_node **nodes;
    size_t n, cap;
};

/* The struct in which a node is embedded. */
#define heap_entry(node, type, member) ((type *)(void *)((char *)(node) - offsetof(type, member)))

/* Put the node where this key belongs, whether it is in the heap or not. Nodes begin as all zeros, and are borrowed until
 * they are removed. */
void heap_set(struct heap *heap, struct heap_node *node, int64_t key, int64_t tie);
void heap_remove(struct heap *heap, struct heap_node *node); /* nothing where it is not in */
struct heap_node *heap_first(const struct heap *heap);       /* NULL where it is empty */
bool heap_holds(const struct heap_node *node);               /* in the heap that it was set in */
void heap_fini(struct heap *heap);                           /* its nodes are left as they are */
#endif

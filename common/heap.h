/* A heap of nodes that are embedded in other structs. The least is found at once; any node is moved or removed in O(log
 * n). */
#ifndef COMMON_HEAP_H
#define COMMON_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    int64_t tie; /* among equal keys, the node with the smaller tie goes first */
    size_t at;   /* private: 1 + the node's place in the heap, 0 while it is in none */
};

struct heap {
    struct heap_node **nodes;
    size_t n, cap;
};

/* The struct in which a node is embedded, as container_of() in other projects. */
#define heap_entry(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Puts the node where its key belongs, whether it is in the heap already or not. A node must be all zeros before it is
 * used, and stays borrowed until it is removed. */
void heap_set(struct heap *heap, struct heap_node *node, int64_t key, int64_t tie);
void heap_remove(struct heap *heap, struct heap_node *node); /* does nothing if the node is in no heap */
struct heap_node *heap_first(const struct heap *heap);       /* NULL if the heap is empty */
bool heap_holds(const struct heap_node *node);               /* true from heap_set() until heap_remove() */
void heap_fini(struct heap *heap);                           /* leaves the nodes as they are */
#endif

/* Values that a program reports of members, until they are told to the daemon: of each member their mean. */
#ifndef TASKS_TRAIN_TALLIES_H
#define TASKS_TRAIN_TALLIES_H
#include <stddef.h>
#include <stdint.h>

struct tally {
    int64_t member;
    double sum;
    int64_t count;
};

/* Empty when it is all zeros. */
struct tallies {
    struct tally *list; /* in the order in which members came */
    size_t n;
    uint32_t *places; /* a hash table of positions in the list, from 1 on; 0: free */
    size_t size;      /* of the table: a power of two, at least twice n */
};

/* Adds a value. Returns -1 if there is no memory; nothing has changed then. */
int tallies_add(struct tallies *tallies, int64_t member, double value);
void tallies_fini(struct tallies *tallies);
#endif

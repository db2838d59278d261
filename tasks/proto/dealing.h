/* The rank that gets a member's sample: a function of member and step alone, so that a later attempt, and the ranks of
 * a later generation, find the same rank. Each rank gets its share of every member (docs/protocol.md, "Dealing"). */
#ifndef TASKS_PROTO_DEALING_H
#define TASKS_PROTO_DEALING_H
#include <stdint.h>

struct dealing;

/* Deals to so many ranks, at least 1. NULL if there is no memory. */
struct dealing *dealing_create(int ranks);
void dealing_destroy(struct dealing *dealing); /* NULL is allowed */

/* Returns the rank of a step (>= 0). The numbers of a member's steps that two ranks get differ by 2 at most if its
 * steps are consecutive. If they have any other equal distance, the difference is bounded, too: it stays below 100 for
 * thousands of steps. For all other steps it is about the square root of their number, as by chance. */
int dealing_rank(const struct dealing *dealing, uint64_t member, int64_t step);
#endif

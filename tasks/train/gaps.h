/* Finds steps that a member left out between two of its attempts: the later one went on behind steps that the earlier
 * one had not reached. The distances between steps show it. A rank gets only a part of a member's steps, so it finds
 * the greatest distance of which all its steps are multiples. If it has every such step that is dealt to it, of both
 * attempts, the steps between the attempts were left out. Nothing is reported for a program whose steps have changing
 * distances, or come in another order. */
#ifndef TASKS_TRAIN_GAPS_H
#define TASKS_TRAIN_GAPS_H
#include "tasks/proto/dealing.h"
#include "tasks/proto/stepset.h"

/* The steps that came in one session; all zero at first. */
struct gaps {
    int64_t samples, first, last; /* samples that came, and the first and last of their steps */
    int64_t distance;             /* the greatest common divisor of the distances between them */
    bool unordered;               /* they did not come in their order */
    /* the same of the attempt before; distance 0: not known */
    int64_t before_first, before, before_distance;
    int64_t from, to, between; /* steps that earlier attempts left out among themselves; between 0: none */
};

/* The rank and the member of which gaps are. */
struct gaps_of {
    const struct stepset *have; /* the steps that the rank has */
    const struct dealing *dealing;
    int rank;
    uint64_t member;
};

/* Notes that a sample of that step has come. */
void gaps_note(struct gaps *g, int64_t step);

/* Notes that the session's attempt follows that earlier one, which is over. */
void gaps_follow(struct gaps *g, const struct gaps *earlier, const struct gaps_of *of);

/* Counts steps that were left out and that nobody has sent since, 0 if none are known; *from and *to are the first
 * and the last of them. It counts a million at most. */
int64_t gaps_count(const struct gaps *g, const struct gaps_of *of, int64_t *from, int64_t *to);
#endif

/* Finds steps that a member left out between two of its attempts: the later one went on behind steps that the earlier
 * one had not reached. The distances between steps show it: where they are the same at the end of the earlier attempt
 * and at the beginning of the later one, and the distance between the two attempts is a multiple of that, the steps
 * between were left out. For a program whose steps have changing distances nothing is reported. */
#ifndef TASKS_TRAIN_GAPS_H
#define TASKS_TRAIN_GAPS_H
#include "tasks/train/stepset.h"

/* The steps that came in one session; all zero at first. */
struct gaps {
    int64_t samples, first, last;      /* samples that came, and the first and last of their steps */
    int64_t first_stride, last_stride; /* distances between the first two steps, and between the last two */
    /* the last step of earlier attempts, and its distance to the one before; 0: not known */
    int64_t before, stride_before;
    int64_t from, to, stride; /* steps that earlier attempts left out among themselves; stride 0: none */
};

/* Notes that a sample of that step has come. */
void gaps_note(struct gaps *g, int64_t step);

/* Notes that the session's attempt follows that earlier one, which is over. */
void gaps_follow(struct gaps *g, const struct gaps *earlier);

/* Counts steps that were left out and that nobody has sent since, 0 where none are known; *from and *to are the first
 * and the last of them. It counts a million at most. */
int64_t gaps_count(const struct gaps *g, const struct stepset *have, uint64_t member, int64_t *from, int64_t *to);
#endif

/* Steps that a member left out between two of its attempts: the later one went on behind steps that the earlier one had not come to.
 * It is told by the distances between steps. Where they are the same at the end of the earlier attempt and at the beginning of the
 * later one, and the distance between the two is a multiple of that, what lies between was left out. Of a program whose steps come at
 * changing distances nothing is told. */
#ifndef TASKS_TRAIN_GAPS_H
#define TASKS_TRAIN_GAPS_H
#include "tasks/train/stepset.h"

/* The steps that came in one session; all zero at first. */
struct gaps {
    int64_t samples, first, last;        /* samples that came, and their steps */
    int64_t first_stride, last_stride;   /* between the first two, and the last two */
    int64_t before, stride_before;       /* the last step of earlier attempts, and the distance to the one before it; 0: not known */
    int64_t from, to, stride;            /* what earlier attempts left out among themselves; stride 0: nothing */
};

/* A sample of that step has come. */
void gaps_note(struct gaps *g, int64_t step);

/* The session is of an attempt that is later than that one, which is over. */
void gaps_follow(struct gaps *g, const struct gaps *earlier);

/* How many steps were left out that nobody has sent since, 0 where nothing is known of any; *from and *to are the first and the last
 * of them. No more than a million are counted. */
int64_t gaps_count(const struct gaps *g, const struct stepset *have, uint64_t member, int64_t *from, int64_t *to);
#endif

/* The samples that a rank has drawn at least once: its model has learnt from these. The record is kept only if the
 * training saves checkpoints. Only the training's thread uses it. */
#ifndef TASKS_TRAIN_DRAWN_H
#define TASKS_TRAIN_DRAWN_H
#include "tasks/proto/stepset.h"

struct drawn;

/* For members 0 to count - 1. NULL if there is no memory. */
struct drawn *drawn_create(uint64_t count);
void drawn_destroy(struct drawn *drawn); /* NULL is allowed */

/* Notes that a sample was drawn for the first time. If there is no memory, the sample is left out, as if it had not
 * been drawn: a training that goes on from the next checkpoint gets it once more. Returns the number of the first
 * checkpoint that has it; KEPT_FOREVER if it is left out. */
uint32_t drawn_add(struct drawn *drawn, uint64_t member, int64_t step);

/* Adds what an earlier generation had drawn. Returns 0; -1 if there is no memory, or the run's member is unknown. */
int drawn_add_run(struct drawn *drawn, const struct stepset_run *run);

/* Returns how many samples were drawn: of all members, and of one. */
uint64_t drawn_count(const struct drawn *drawn);
uint32_t drawn_of(const struct drawn *drawn, uint64_t member);

/* Returns the number of the next checkpoint, from 1; and counts one, whose samples were taken. */
uint32_t drawn_cut(const struct drawn *drawn);
void drawn_next_cut(struct drawn *drawn);

const struct stepset *drawn_set(const struct drawn *drawn);
#endif

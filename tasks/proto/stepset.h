/* The set of (member, step) that a rank has, by which it knows samples that a replay or a later attempt sends again. 64
 * neighbouring steps of a member share one 16-byte entry, so a million members of 100 steps take about 60 MB. */
#ifndef TASKS_PROTO_STEPSET_H
#define TASKS_PROTO_STEPSET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPSET_MEMBER_MAX UINT32_MAX
#define STEPSET_STEP_MAX (((int64_t)1 << 38) - 1)

struct stepset;

/* NULL if there is no memory. */
struct stepset *stepset_create(void);
void stepset_destroy(struct stepset *set);

/* Makes room for one more. -1 if there is no memory. */
int stepset_reserve(struct stepset *set);

/* Adds a step, after stepset_reserve(); member and step are within the limits above. true if it was not in the set
 * before. */
bool stepset_add(struct stepset *set, uint64_t member, int64_t step);
bool stepset_has(const struct stepset *set, uint64_t member, int64_t step);

/* 64 neighbouring steps of a member, the first of which is a multiple of 64: a bit for each that is in a set. */
struct stepset_run {
    uint64_t key; /* member << 32 | step / 64 */
    uint64_t bits;
};

/* Returns the bits of the run with that key. */
uint64_t stepset_bits(const struct stepset *set, uint64_t key);
/* Returns how many runs the set has, and copies all of them, in no order. */
size_t stepset_runs(const struct stepset *set);
void stepset_copy(const struct stepset *set, struct stepset_run *runs);
/* Adds all steps of a run. Returns how many of them were not in the set before; -1 if there is no memory. */
int stepset_add_run(struct stepset *set, const struct stepset_run *run);
#endif

/* The set of (member, step) that a rank has: what a replay or a later attempt sends again is known by it. 64
 * neighbouring steps of a member share one 16-byte entry, so a million members of 100 steps are about 60 MB. */
#ifndef TASKS_TRAIN_STEPSET_H
#define TASKS_TRAIN_STEPSET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPSET_MEMBER_MAX UINT32_MAX
#define STEPSET_STEP_MAX (((int64_t)1 << 38) - 1)

struct stepset;

/* NULL where there is no memory. */
struct stepset *stepset_create(void);
void stepset_destroy(struct stepset *set);

/* Make room for one more. -1 where there is no memory. */
int stepset_reserve(struct stepset *set);

/* After stepset_reserve(). member and step within the limits above. true where it was not in the set before. */
bool stepset_add(struct stepset *set, uint64_t member, int64_t step);
bool stepset_has(const struct stepset *set, uint64_t member, int64_t step);

/* Bytes of memory that the set takes. */
size_t stepset_bytes(const struct stepset *set);
#endif

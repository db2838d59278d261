/* A member's checkpoints: when one is due, and that one is whole. */
#ifndef TASKS_MEMBER_CHECKPOINT_H
#define TASKS_MEMBER_CHECKPOINT_H
#include "tasks/member/environment.h"

/* Whether less time is left than `needed`, or than the spec's `before`. */
bool checkpoint_due(const struct environment *env, double needed);

/* Record the file, which is flushed to the disk first. Where there is no checkpoint directory, nothing is done, and that is said
 * once. */
int checkpoint_record(const char *path, int64_t step, struct error *err);
#endif

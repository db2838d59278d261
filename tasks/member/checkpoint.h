/* A member's checkpoints: reports when one is due, and records one that is complete. */
#ifndef TASKS_MEMBER_CHECKPOINT_H
#define TASKS_MEMBER_CHECKPOINT_H
#include "tasks/member/environment.h"

/* Returns whether less time is left than `needed`, or than the spec's `before`. */
bool checkpoint_due(const struct environment *env, double needed);

/* Flushes the file to the disk and records it. Without a checkpoint directory it does nothing, and logs that once. */
int checkpoint_record(const char *path, int64_t step, struct error *err);
#endif

/* The memory that a member of this host shares, which contains its large payloads. It is only read here, and sealed so
 * that its owner cannot take any of it away: a member that lies, or dies, does no harm. */
#ifndef TASKS_TRAIN_MAPPING_H
#define TASKS_TRAIN_MAPPING_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping;

/* Opens the memory that a HELLO offers: {"pid": …, "fd": …, "inode": …}. NULL if it is no such memory of this
 * user, is larger than size_max, or cannot be reached from here. */
struct mapping *mapping_open(const json_t *offer, size_t size_max);
void mapping_close(struct mapping *m); /* NULL is allowed */

/* Returns the payload at that offset, or NULL if it would lie outside. */
const void *mapping_at(const struct mapping *m, uint64_t place, uint64_t length);

/* Returns whether the process that shares it still runs. */
bool mapping_has_owner(const struct mapping *m);
#endif

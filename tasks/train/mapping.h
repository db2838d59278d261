/* The memory that a member of this host shares, in which its large payloads lie. It is only read here, and made so that its
 * owner cannot take any of it away: a member that lies, or dies, does no harm. */
#ifndef TASKS_TRAIN_MAPPING_H
#define TASKS_TRAIN_MAPPING_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping;

/* As a HELLO offers it: {"pid": …, "fd": …, "inode": …}. NULL where that is no such memory of this user, is larger than
 * size_max, or cannot be reached from here. */
struct mapping *mapping_open(const json_t *offer, size_t size_max);
void mapping_close(struct mapping *m); /* NULL is taken */

/* What lies there, or NULL where that is no place in it. */
const void *mapping_at(const struct mapping *m, uint64_t place, uint64_t length);

/* Whether the process that shares it still runs. */
bool mapping_has_owner(const struct mapping *m);
#endif

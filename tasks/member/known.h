/* The steps of this member that the ranks had when its stream began, sent by earlier attempts: a later attempt does not
 * send them again. Each rank reports its own (WELCOME in docs/protocol.md). */
#ifndef TASKS_MEMBER_KNOWN_H
#define TASKS_MEMBER_KNOWN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known;

struct known *known_create(void);        /* NULL if there is no memory */
void known_destroy(struct known *known); /* NULL is allowed */

/* Adds what a rank has reported, the payload of WELCOME. Steps for which there is no memory are left out, and sent
 * again. */
void known_add(struct known *known, const void *payload, size_t size);

bool known_has(const struct known *known, int64_t step);
#endif

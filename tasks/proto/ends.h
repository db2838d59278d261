/* For each member of an ensemble, the attempt that reported its end, packed: ranks write it with a checkpoint
 * (whole-rankR.bin in docs/run-directory.md), and the daemon keeps it. The first byte is the number of binary digits of
 * the highest attempt. Then there are so many bytes for each eight members, the lowest digit first, with a bit for each
 * member (member m: bit m % 8). Bytes that are missing at the end count as 0. */
#ifndef TASKS_PROTO_ENDS_H
#define TASKS_PROTO_ENDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No packed ones of so many members are longer. */
#define ENDS_SIZE_MAX(members) (1 + 32 * (((size_t)(members) + 7) / 8))

/* Packs ended[members], where 0 stands for no reported end. Returns memory from malloc, and its size; NULL if there is
 * no memory. */
unsigned char *ends_pack(const uint32_t *ended, size_t members, size_t *size);

/* Returns whether it was packed of so many members, and nothing is missing. */
bool ends_are_all(const unsigned char *packed, size_t size, size_t members);

/* Sets ended[n] to the ends of the members from `from` on; 0 for bytes that cannot be read. */
void ends_unpack(const unsigned char *packed, size_t size, size_t from, uint32_t *ended, size_t n);
#endif

/* Points of a metric series packed into bytes, so that the database has one row for several of them. */
#ifndef DAEMON_STORE_CHUNK_H
#define DAEMON_STORE_CHUNK_H
#include <stdbool.h>
#include <stddef.h>

/* Bytes: 11 points, or 4 entries of merged ones. A row of a table without rowid that is larger than 488 bytes would
 * need a page of its own. */
#define CHUNK_SIZE 451

struct series_point;

struct chunk {
    size_t size;
    unsigned char bytes[CHUNK_SIZE];
};

bool chunk_add(struct chunk *chunk, const struct series_point *point); /* false: there is no room */
/* Reads the entry that begins at `*at`, and moves on. Returns false at the end, and if the bytes make no sense. */
bool chunk_next(const struct chunk *chunk, size_t *at, struct series_point *point);
/* Returns where the last entry begins; 0 also if there is none. */
size_t chunk_last(const struct chunk *chunk);
#endif

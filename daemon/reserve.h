/* Room on the disk of the state directory that is kept for stopping what fills it: a file that is given up when an ensemble is
 * cancelled or paused and there is no other room, and at a start for which there is none. New work is refused until it is there again. */
#ifndef DAEMON_RESERVE_H
#define DAEMON_RESERVE_H
#include "common/error.h"

#include <stdbool.h>
#include <uv.h>

#define RESERVE_BYTES ((size_t)1 << 20)

struct reserve;

/* The database could not be opened: give the reserve of an earlier daemon up where there is no other room. Whether it was: then
 * trying again may help. */
bool reserve_open_up(const char *state_dir);

/* The file is made, once a second where it is missing, by a worker thread. */
struct reserve *reserve_create(uv_loop_t *loop, const char *state_dir);

/* All of these take NULL: no room is kept. Callbacks that are under way may come after reserve_destroy(). */
void reserve_destroy(struct reserve *reserve);

/* A change is to be stored that makes room: give the reserve up where there is no other room. A program that goes on writing may take
 * that room before the change is stored. */
void reserve_use(struct reserve *reserve);

/* Returns 0 if new work may be accepted, or -1 with code "store_full" while there is no room for the reserve. */
int reserve_check(const struct reserve *reserve, struct error *err);
#endif

/* Checks once a second whether the state directory is still the one that the daemon has open, so that its loss is
 * noticed even if nothing is stored. A loss shows as the turn's trouble (turn.h), and changes are refused with the
 * code "store_gone". Once the directory is back, the daemon goes on. */
#ifndef DAEMON_STATE_WATCH_H
#define DAEMON_STATE_WATCH_H
#include "daemon/turn.h"

struct state_watch;

/* `each` (may be NULL) is called each second besides, for what else is looked at so often. */
struct state_watch *state_watch_create(uv_loop_t *loop, struct store *store, struct turn *turn, void (*each)(void *arg),
                                       void *arg);
void state_watch_destroy(struct state_watch *watch); /* takes NULL; must come before turn_destroy() */
#endif

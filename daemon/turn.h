/* A loop turn: whatever the callbacks of one turn changed is committed once, before the loop waits again; what depends
 * on it (replies, submissions) runs after that. */
#ifndef DAEMON_TURN_H
#define DAEMON_TURN_H
#include "daemon/store/store.h"

#include <uv.h>

struct turn;

/* `rolled_back` is called when a commit failed, after the callbacks were told: what memory says must then be read
 * again from the store. */
struct turn *turn_create(uv_loop_t *loop, struct store *store, void (*rolled_back)(void *arg), void *arg);
void turn_destroy(struct turn *turn); /* commits what is open */

/* Changes for whose commit nobody waits may be committed up to `ms` later, with others: 0, as it is at first, at once. */
void turn_be_patient(struct turn *turn, unsigned ms);

/* Between two commits, where they are wanted one close upon the other, leave a pause of `share` times what the former took,
 * a few milliseconds at most: some are then one, and a slow disk leaves the loop its time. 0, as it is at first: none. */
void turn_pause(struct turn *turn, unsigned share);

/* From now on a thread of its own flushes what is committed to the disk, while the loop goes on; those who wait are told once it has,
 * and nothing is committed meanwhile. `lost` is called where a flush fails: what memory and the store say may then not be on the disk,
 * now or ever, so it must end the process without telling anybody anything. */
void turn_flush_apart(struct turn *turn, void (*lost)(void *arg, const struct error *err), void *arg);

/* Call cb once the turn's changes are on disk (err NULL), or are rolled back (err says why). Never from inside. */
void turn_after_commit(struct turn *turn, void (*cb)(void *arg, const struct error *err), void *arg);

/* Call cb after every commit that wrote something, before those who waited for it: at that moment all that is committed is
 * on disk. It must not write. One at most; NULL ends it. */
void turn_on_commit(struct turn *turn, void (*cb)(void *arg), void *arg);

/* NULL while the last commit went well, else why it did not: for /readyz. */
const struct error *turn_trouble(const struct turn *turn);
void turn_trouble_over(struct turn *turn, const char *code); /* what it told with this code is no more */
#endif

/* A loop turn: all changes that the callbacks of one turn make are committed together before the loop waits again.
 * Actions that depend on the commit (replies, submissions) run after it. */
#ifndef DAEMON_TURN_H
#define DAEMON_TURN_H
#include "daemon/store/store.h"

#include <uv.h>

struct turn;

/* `rolled_back` is called when a commit has failed, after those who waited got the error. The caller must then read its
 * memory again from the store. */
struct turn *turn_create(uv_loop_t *loop, struct store *store, void (*rolled_back)(void *arg), void *arg);
void turn_destroy(struct turn *turn); /* commits the open changes */

/* Changes for whose commit nobody waits may then be committed up to `ms` later, together with others. The default of 0
 * commits them at once. */
void turn_be_patient(struct turn *turn, unsigned ms);

/* Leaves a pause between commits that follow closely on each other: `share` times the time that the last one took, a
 * few milliseconds at most. Several changes then share a commit, and a slow disk leaves the loop its time. The default
 * is 0, without a pause. */
void turn_pause(struct turn *turn, unsigned share);

/* From now on a thread flushes commits to the disk while the loop goes on. Callbacks that wait are called once it has,
 * and nothing else is committed meanwhile. `lost` is called if a flush fails. The state of the disk is then unknown, so
 * `lost` must end the process without any further reply. */
void turn_flush_apart(struct turn *turn, void (*lost)(void *arg, const struct error *err), void *arg);

/* Calls cb once the turn's changes are on disk (err is NULL) or rolled back (err says why), never before this
 * returns. */
void turn_after_commit(struct turn *turn, void (*cb)(void *arg, const struct error *err), void *arg);

/* Calls cb after every commit that wrote something, before those who waited for it. At that moment everything that is
 * committed is on disk. cb must not write. There can be only one; NULL removes it. */
void turn_on_commit(struct turn *turn, void (*cb)(void *arg), void *arg);

/* Returns NULL if the last commit went well, else its error, which /readyz shows. */
const struct error *turn_trouble(const struct turn *turn);
void turn_trouble_over(struct turn *turn, const char *code); /* ends a trouble that has this code */
#endif

/* Authenticates control messages: a job finds a key in its descriptor (job.json, training.json) and sends it with every
 * message. The key is derived from the job's name and a secret of this database, so that no key is stored, keys survive
 * a restart, and the key of one job does not reveal that of another. */
#ifndef DAEMON_CONTROL_KEY_H
#define DAEMON_CONTROL_KEY_H
#include "daemon/store/store.h"
#include "tasks/proto/control.h"

#include <stdbool.h>

void control_key_make(const struct store *store, const char *job, char key[CONTROL_KEY_SIZE]);

/* Returns whether a message has the key of the job that it names. The time that this takes does not depend on where the
 * keys differ. */
bool control_key_fits(const struct store *store, const struct control_message *message);
#endif

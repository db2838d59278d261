/* What makes a control message the word of a job: a key that the job finds in its descriptor (job.json, training.json)
 * and says with every message. It is made of the job's name and a secret of this database, so that nothing is stored
 * for it, a restart changes nothing, and one job's key says nothing about another's. */
#ifndef DAEMON_CONTROL_KEY_H
#define DAEMON_CONTROL_KEY_H
#include "daemon/store/store.h"
#include "tasks/proto/control.h"

#include <stdbool.h>

void control_key_make(const struct store *store, const char *job, char key[CONTROL_KEY_SIZE]);

/* In a time that does not depend on where the keys differ. */
bool control_key_fits(const struct store *store, const struct control_message *message);
#endif

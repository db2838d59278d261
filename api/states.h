/* Reads the member states that a body names. */
#ifndef API_STATES_H
#define API_STATES_H
#include "common/error.h"
#include "daemon/store/member.h"

#include <jansson.h>

/* Reads "states" of obj, which may have "failed" and "unfinished", and "stopped" if `stopped` says so, each once.
 * `verb` says for messages what can be done with such members. *states and *n are left alone if the key is
 * missing. */
int states_read(const json_t *obj, const char *verb, enum member_state states[MEMBER_STATE_COUNT], size_t *n,
                bool stopped, struct error *err);
#endif

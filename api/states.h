/* Member states that a body chooses among. */
#ifndef API_STATES_H
#define API_STATES_H
#include "common/error.h"
#include "daemon/store/member.h"

#include <jansson.h>

/* "states" of obj, some of those that are failed or unfinished, each once: `verb` is what can be done with such members.
 * Where the key is missing, *states and *n stay. */
int states_read(const json_t *obj, const char *verb, enum member_state states[MEMBER_STATE_COUNT], size_t *n,
                struct error *err);
#endif

/* Reads the bodies of calls that make follow-ups. */
#ifndef API_FOLLOW_UP_BODY_H
#define API_FOLLOW_UP_BODY_H
#include "daemon/engine/engine.h"

/* Checks the body, whether a follow-up will be made or not. Its "states" are put into wish->states; if wish is NULL, it
 * must not have them. */
int follow_up_body_check(const json_t *body, struct engine_follow_up *wish, struct error *err);
#endif

/* What the calls that make follow-ups are asked for. */
#ifndef API_FOLLOW_UP_BODY_H
#define API_FOLLOW_UP_BODY_H
#include "daemon/engine/engine.h"

/* Is the body one, whether a follow-up will be made or not? "states", where it has them, into wish->states; NULL: it may not
 * have them. */
int follow_up_body_check(const json_t *body, struct engine_follow_up *wish, struct error *err);
#endif

/* A member's checkpoint as clients see it. */
#ifndef API_CHECKPOINT_JSON_H
#define API_CHECKPOINT_JSON_H
#include "api/request.h"
#include "daemon/store/member_checkpoint.h"

/* Returns a new reference. */
json_t *checkpoint_json(const struct request *r, const struct member_checkpoint_row *row);
#endif

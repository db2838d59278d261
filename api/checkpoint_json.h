/* Checkpoints of members and of trainings as clients see them. */
#ifndef API_CHECKPOINT_JSON_H
#define API_CHECKPOINT_JSON_H
#include "api/request.h"
#include "daemon/store/member_checkpoint.h"
#include "daemon/store/training_checkpoint.h"

/* Both return a new reference. */
json_t *checkpoint_json(const struct request *r, const struct member_checkpoint_row *row);
json_t *training_checkpoint_json(const struct request *r, const struct training_checkpoint_row *row);
#endif

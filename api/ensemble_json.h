/* An ensemble and a training as clients see them. */
#ifndef API_ENSEMBLE_JSON_H
#define API_ENSEMBLE_JSON_H
#include "api/idempotency.h"
#include "api/request.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/training.h"

/* Both return a new reference; NULL with err if the store cannot be read. */
json_t *ensemble_json(const struct request *r, const struct ensemble_row *row, struct error *err);
json_t *training_json(const struct request *r, const struct training_row *row, struct error *err);
/* Measures how many of its members succeed a second; 0 if it is over, or none has succeeded. Returns 0 or -1. */
int ensemble_rate(const struct request *r, const struct ensemble_row *row, double *rate, struct error *err);
/* Adds the Location header of an ensemble. */
void ensemble_add_location(struct request *r, const json_t *ensemble);
/* Answers a change with the ensemble as the engine has left it. */
void ensemble_reply(struct request *r, int status, const struct ensemble_row *row);
/* Answers with a new ensemble and its Location. */
void ensemble_reply_new(struct request *r, const struct idempotency *key, int status, const struct ensemble_row *row);
/* Answers with the training. */
void training_reply(struct request *r, const struct training_row *row);
/* Answers with the ensemble and how many of its members were resubmitted. */
void resubmission_reply(struct request *r, const struct idempotency *key, int64_t n, const struct ensemble_row *row);
/* Reads `from` of a body that asks for a resubmission: "checkpoint" (also if it is missing) or "start". Returns 0 or
 * -1. */
int resubmission_from(const json_t *json, bool *afresh, struct error *err);
#endif

/* Looks up what the numbers of a path name. Each function returns 0, or -1 after having answered with the problem. */
#ifndef API_FIND_H
#define API_FIND_H
#include "api/request.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/job.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"

/* Finds the ensemble of the first number. */
int find_ensemble(struct request *r, struct ensemble_row *row);
/* Finds the member of the second number in the ensemble of the first. One without a row gets the state that this
 * means. */
int find_member(struct request *r, struct ensemble_row *ensemble, struct member_row *row);
int find_training(struct request *r, struct training_row *row);
int find_job(struct request *r, struct job_row *row);

/* Finds the ensemble that a query parameter names. Returns -1 with err, without an answer, if there is none, too. */
int find_named_ensemble(struct request *r, int64_t id, struct ensemble_row *row, struct error *err);

/* Returns how many indices members can have. An index means the same member in all ensembles of a family, so that a
 * follow-up has as many as its root. Returns -1 with err. */
int64_t find_places(struct request *r, const struct ensemble_row *ensemble, struct error *err);

/* Returns 1 if the standard error of the ensemble's members, or of its training, goes into their standard output, 0 if
 * not. Returns -1 with err, without an answer. */
int find_merged(struct request *r, int64_t ensemble, bool training, struct error *err);

/* Returns when the next attempt of a member that waits for its retry is due, or 0 if it does not wait for one. */
int64_t find_retry_ms(const struct request *r, const struct member_row *row);

/* Returns the state of members without a row. */
enum member_state find_rowless_state(const struct ensemble_row *ensemble);
/* Returns what a row of such a member would be. */
struct member_row find_rowless(const struct ensemble_row *ensemble, int64_t index);
#endif

/* What the numbers of a path name. Each returns 0, or -1 after having answered with the problem. */
#ifndef API_FIND_H
#define API_FIND_H
#include "api/request.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/job.h"
#include "daemon/store/member.h"
#include "daemon/store/training.h"

/* The path's first number. */
int find_ensemble(struct request *r, struct ensemble_row *row);
/* First number the ensemble, second the member; one without a row gets the state that this means. */
int find_member(struct request *r, struct ensemble_row *ensemble, struct member_row *row);
int find_training(struct request *r, struct training_row *row);
int find_job(struct request *r, struct job_row *row);

/* The ensemble that a query parameter names. -1 with err, and nothing answered, also where there is none. */
int find_named_ensemble(struct request *r, int64_t id, struct ensemble_row *row, struct error *err);

/* An index of a family means the same member in all its ensembles: a follow-up has places for those of its root. -1 with err. */
int64_t find_places(struct request *r, const struct ensemble_row *ensemble, struct error *err);

/* State of members without a row. */
enum member_state find_rowless_state(const struct ensemble_row *ensemble);
#endif

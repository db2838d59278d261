/* A job as clients see it. */
#ifndef API_JOB_JSON_H
#define API_JOB_JSON_H
#include "api/request.h"
#include "daemon/store/job.h"

json_t *job_json(const struct request *r, const struct job_row *row); /* returns a new reference */

#endif

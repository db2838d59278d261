/* A job as clients see it. */
#ifndef API_JOB_JSON_H
#define API_JOB_JSON_H
#include "api/request.h"
#include "daemon/store/job.h"

/* Returns a new reference; NULL, with err, if the name of its pilot cannot be read. */
json_t *job_json(const struct request *r, const struct job_row *row, struct error *err);

#endif

/* A job as replies show it. */
#ifndef API_JOB_JSON_H
#define API_JOB_JSON_H
#include "daemon/store/job.h"

#include <jansson.h>

json_t *job_json(const struct job_row *row); /* a new reference */

#endif

/* The hosts on which ranks and members run. */
#ifndef DAEMON_ENGINE_JOBS_HOSTS_H
#define DAEMON_ENGINE_JOBS_HOSTS_H
#include <stdbool.h>

struct live_job;

/* Returns whether the job runs, and its claim, which says where, was not read yet. */
bool job_lacks_hosts(const struct live_job *job);

#endif

/* The hosts on which ranks and members run. */
#ifndef DAEMON_ENGINE_HOSTS_H
#define DAEMON_ENGINE_HOSTS_H
#include <stdbool.h>
#include <stdint.h>

struct live_job;
struct training;

void hosts_note_rank(struct training *training, int64_t rank, const char *host); /* NULL: it does not say it yet */
void hosts_forget(struct training *training);
/* Returns whether the job runs, and its claim, which says where, was not read yet. */
bool job_lacks_hosts(const struct live_job *job);

#endif

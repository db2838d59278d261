/* The reasons why jobs wait, in words. */
#ifndef DAEMON_ENGINE_JOBS_WAITING_H
#define DAEMON_ENGINE_JOBS_WAITING_H

struct live_ensemble;
struct live_job;

void job_note_waits_for(struct live_job *job, const char *words); /* "" if it waits for nothing */
/* Returns what the job waits for, or why it is not submitted; "" if that is not known. */
const char *job_words(const struct live_job *job);
/* Returns the first job of members, or the first allocation, whose scheduler says why it waits, or else the first that
 * is submitted; NULL if one of them runs. */
const struct live_job *waiting_job(const struct live_ensemble *ens);

#endif

/* Handing jobs over to a pilot. */
#ifndef DAEMON_ENGINE_JOBS_PILOT_INBOX_H
#define DAEMON_ENGINE_JOBS_PILOT_INBOX_H
#include "daemon/engine/memory/job_scheduler.h"

struct pilot_node;

extern const struct job_scheduler pilot_scheduler;                                /* of the jobs inside */
char *pilot_node_dir(const struct engine *engine, const struct pilot_node *node); /* to be freed */
/* Takes back jobs that are not on their way yet: their pilot is over. */
void pilot_take_back(struct engine *engine, struct pilot_node *node);

#endif

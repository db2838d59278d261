/* The composition root: every part of the daemon, made in order and ended in reverse. */
#ifndef DAEMON_APP_H
#define DAEMON_APP_H
#include "daemon/config.h"

/* Runs the daemon until SIGTERM or SIGINT. Returns 0, or -1 if it could not start; jobs under way go on in either
 * case. */
int app_run(struct config *config, struct error *err);

#endif
